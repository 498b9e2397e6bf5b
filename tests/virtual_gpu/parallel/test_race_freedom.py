"""Buffers without races: random footprints against all threads enumerated."""

from __future__ import annotations

import struct

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gpuregress.foundation.records import Dim3, Texture
from gpuregress.gpu.descriptors import TextureDescription
from gpuregress.virtual_gpu.parallel.affine import AddressMap, Affine, KernelLaunch, NotAffineError
from gpuregress.virtual_gpu.parallel.dependence import DependenceTest, RaceFreedom, is_injective
from gpuregress.virtual_gpu.runtime.footprint_ir import Footprint, Write
from gpuregress.virtual_gpu.runtime.machine_layout import region_of
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.textures import Textures
from tests.virtual_gpu.parallel import enumerated
from tests.virtual_gpu.parallel.test_dependence import footprints


@settings(max_examples=60, deadline=None)
@given(
    footprint=footprints(),
    grid=st.sampled_from([(4, 1, 1), (2, 3, 1), (8, 1, 1)]),
    block=st.sampled_from([(4, 1, 1), (1, 1, 1), (8, 1, 1)]),
    numbers=st.tuples(*[st.sampled_from([0, 1, 2, 4, 8, 16, 32, -1, (1 << 32) // 3 + 1])] * 3),
)
def test_threads_do_not_meet_where_no_race_is_possible(
    footprint: Footprint, grid: Dim3, block: Dim3, numbers: tuple[int, ...]
) -> None:
    space = AddressSpace()
    buffers = [space.allocate(name, 4096).address for name in "ab"]
    parameters = struct.pack("<QQiii", *buffers, *numbers)
    launch = KernelLaunch(None, grid, block, parameters, AddressMap(space, Textures(), {}))
    try:
        racy = DependenceTest(footprint, launch).shared_regions(is_injective)
    except NotAffineError:
        return
    event("some races" if racy else "no races")
    try:
        assert _shared(footprint, parameters, grid, block) <= racy
    except enumerated.EndlessError:
        event("endless")


def _shared(footprint: Footprint, parameters: bytes, grid: Dim3, block: Dim3) -> set[int]:
    """The regions in which a thread touches a byte that another one writes."""
    written, touched = set[int](), dict[int, set[int]]()
    for number, (_, thread) in enumerate(enumerated.threads(footprint, parameters, grid, block)):
        for access in footprint.accesses:
            for byte in thread.touched(access):  # type: ignore[arg-type]  # the strategy makes no textures
                touched.setdefault(byte, set()).add(number)
                if isinstance(access, Write):
                    written.add(byte)
    return {region_of(byte) for byte in written if len(touched[byte]) > 1}


RANGES = {"tid.x": (0, 31), "tid.y": (0, 7), "ctaid.x": (0, 9), "tid.z": (0, 0), "k4": (0, 1 << 200)}


@pytest.mark.parametrize(
    ("coefficients", "offsets", "expected"),
    [
        ({"tid.x": 4, "tid.y": 128, "ctaid.x": 1024}, [0], True),
        ({"tid.y": 4, "tid.x": 32, "ctaid.x": 1024}, [0], True),
        ({"tid.x": -4, "tid.y": 128, "ctaid.x": 1024}, [0], True),
        ({"tid.x": 8, "tid.y": 256, "ctaid.x": 2048}, [0, 4], True),
        ({"tid.x": 4, "tid.y": 128, "ctaid.x": 1024}, [0, 4], False),
        ({"tid.x": 4, "tid.y": 124, "ctaid.x": 1024}, [0], False),
        ({"tid.x": 4, "ctaid.x": 1024}, [0], False),
        ({"tid.x": 4, "tid.y": 128, "ctaid.x": 1024, "k4": 10240}, [0], True),
        ({"tid.x": 4, "tid.y": 128, "ctaid.x": 1024, "k4": 4}, [0], False),
        ({"tid.x": 4, "tid.y": 128, "ctaid.x": 1024, "&7": 10240}, [0], False),
    ],
)
def test_addresses_of_a_mixed_radix_are_injective(
    coefficients: dict[str, int],
    offsets: list[int],
    expected: bool,  # noqa: FBT001 - a parameter
) -> None:
    assert is_injective([(Affine(item, coefficients), 4) for item in offsets], RANGES) is expected


def test_a_buffer_that_no_thread_writes_has_no_race() -> None:
    space = AddressSpace()
    first, second = (space.allocate(name, 64) for name in "ab")
    parameters = struct.pack("<QQ", first.address, second.address)
    launch = KernelLaunch(None, (1, 1, 1), (32, 1, 1), parameters, AddressMap(space, Textures(), {"v": second.address}))
    numbers = (first.number, second.number)
    known = RaceFreedom()
    assert known.regions("k", launch, (0,), numbers) == {second.number}
    assert known.regions("k", launch, ("v",), numbers) == {first.number}
    assert known.regions("k", launch, (), numbers) == set(numbers)
    assert known.regions("k", launch, None, numbers) == set()


def test_a_surface_that_a_kernel_writes_is_its_buffer() -> None:
    space, textures = AddressSpace(), Textures()
    first, second = (space.allocate(name, 64) for name in "ab")
    surface = textures.add(second, TextureDescription("float32", 1, (16, 0, 0), Texture(surface=True)))
    parameters = struct.pack("<QQ", first.address, surface)
    launch = KernelLaunch(None, (1, 1, 1), (32, 1, 1), parameters, AddressMap(space, textures, {}))
    assert RaceFreedom().regions("k", launch, (8,), (first.number, second.number)) == {first.number}
