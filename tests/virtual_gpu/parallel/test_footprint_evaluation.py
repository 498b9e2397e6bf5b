"""Each address that a thread touches lies within the bounds of an instance: random footprints, all threads."""

from __future__ import annotations

import struct

from hypothesis import event, given, settings
from hypothesis import strategies as st

from gpuregress.foundation.records import Dim3
from gpuregress.virtual_gpu.parallel.affine import AddressMap, KernelLaunch, NotAffineError
from gpuregress.virtual_gpu.parallel.footprint_evaluation import LaunchValues, instances
from gpuregress.virtual_gpu.runtime.footprint_ir import Footprint, Read, Write
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.textures import Textures
from tests.virtual_gpu.parallel import enumerated
from tests.virtual_gpu.parallel.test_dependence import footprints


@settings(max_examples=50, deadline=None)
@given(
    footprint=footprints(),
    grid=st.sampled_from([(4, 1, 1), (2, 3, 1)]),
    numbers=st.tuples(*[st.sampled_from([0, 1, 4, 9, 16, 30, -1])] * 3),
)
def test_bounds_hold_for_all_threads(footprint: Footprint, grid: Dim3, numbers: tuple[int, ...]) -> None:
    parameters = struct.pack("<QQiii", 1 << 40, 1 << 41, *numbers)
    launch = KernelLaunch(None, grid, (4, 1, 1), parameters, AddressMap(AddressSpace(), Textures(), {}))
    values = LaunchValues(footprint, launch.box, parameters, {})
    for access in footprint.accesses:
        assert isinstance(access, Write | Read)
        assert access.address is not None
        try:
            cases = instances(values, [access.address], access.conditions)
        except NotAffineError:
            event("not affine")
            continue
        ranges = [(case.system.lower_bound(case.values[0]), case.system.upper_bound(case.values[0])) for case in cases]
        for _, thread in enumerated.threads(footprint, parameters, grid, (4, 1, 1)):
            try:
                touched = list(thread.touched(access))[:: access.size]
            except enumerated.EndlessError:
                break
            for byte in touched:
                first = (byte - access.offset) % (1 << 64)
                assert any((first - low) % (1 << 64) <= high - low for low, high in ranges)
