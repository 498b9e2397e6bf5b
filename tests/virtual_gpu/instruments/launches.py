"""Launches as instruments see them, without a program."""

from __future__ import annotations

import numpy as np

from gpuregress.foundation.records import Instruments
from gpuregress.virtual_gpu.instruments.launch_instrument import InstrumentedLaunch
from gpuregress.virtual_gpu.parallel.affine import AddressMap, KernelLaunch
from gpuregress.virtual_gpu.runtime.arena import Arena
from gpuregress.virtual_gpu.runtime.bulk_copies import BulkCopies
from gpuregress.virtual_gpu.runtime.fault_context import FaultContext
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.probe_sites import COUNTERS, ProbeSite, Stretch
from gpuregress.virtual_gpu.runtime.program import KernelFacts, ModuleFacts
from gpuregress.virtual_gpu.runtime.textures import Textures


def launch_of(
    wanted: Instruments,
    *,
    probes: tuple[ProbeSite, ...] = (),
    stretches: tuple[Stretch, ...] = (),
    granules: tuple[int, ...] = (),
    unwatched: tuple[str, ...] = (),
) -> InstrumentedLaunch:
    """A launch of one block of a kernel without code."""
    kernel = KernelFacts("k", 0, 0, 0, (), 1024, None, False, None, (1, 1, 1), granules=granules, unwatched=unwatched)
    program = ModuleFacts({"k": kernel}, (), (), (), (), {}, 0, {}, 0, probes, stretches)
    machine, space, arena = Machine(), AddressSpace(), Arena()
    arena.prepare(b"", 1024, kernel, 32)
    bulk = BulkCopies(machine, space, (), ())
    counters = np.zeros(sum(COUNTERS[site.kind] for site in probes) or 1, np.uint64)

    def scene() -> FaultContext:
        return FaultContext(program, kernel, "k", space, 0, (32, 1, 1), b"", arena.context)

    shape = KernelLaunch(None, (1, 1, 1), (32, 1, 1), b"", AddressMap(space, Textures(), {}))
    return InstrumentedLaunch(wanted, program, kernel, [program], shape, machine, [arena], space, bulk, counters, scene)
