"""Protocol of the instruments of a launch, and the launch as they see it.

`records.Instruments` says which ones a case asks for. It is part of the key of the compiled program, whose code calls
them or writes their counters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.instruments import Instruments
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.parallel.affine import KernelLaunch
from gpuregress.virtual_gpu.runtime.arena import Arena
from gpuregress.virtual_gpu.runtime.bulk_copies import BulkCopies
from gpuregress.virtual_gpu.runtime.fault_context import FaultContext
from gpuregress.virtual_gpu.runtime.lane_exchanges import LaneExchange
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace
from gpuregress.virtual_gpu.runtime.program import KernelFacts, ModuleFacts


class InstrumentedLaunch(Record):
    """A launch on one core that instruments watch.

    Attributes:
        wanted: what its code was compiled for.
        program: the facts of the program.
        kernel: the kernel's facts.
        programs: the facts of all programs on the device, by number.
        shape: grid, block, parameters.
        machine: the launch's; an instrument sets its fields.
        arenas: all of the device, the launch's first.
        space: all regions.
        bulk: the launch's bulk copies.
        counters: of the program's probes.
        scene: gives the facts that a message needs, while the launch runs.
        calls: number of a system call → what answers it, given the address of its arguments; instruments add theirs.
        exchange: the first exchange between lanes with no wait between; None without one, and until the launch ends.
        left_out: the first operation whose mask leaves out a lane that executes it, in words; "" likewise.
    """

    wanted: Instruments
    program: ModuleFacts
    kernel: KernelFacts
    programs: Sequence[ModuleFacts]
    shape: KernelLaunch
    machine: Machine
    arenas: Sequence[Arena]
    space: AddressSpace
    bulk: BulkCopies
    counters: npt.NDArray[np.uint64]
    scene: Callable[[], FaultContext]
    calls: dict[int, Callable[[int], None]] = field(default_factory=dict)
    exchange: LaneExchange | None = None
    left_out: str = ""


class LaunchInstrument(Protocol):
    """An instrument of a device. It keeps its state from launch to launch, and serves one launch at a time."""

    def serves(self, wanted: Instruments) -> bool:
        """Whether launches of programs that are compiled for these instruments use it."""

    def before(self, launch: InstrumentedLaunch) -> None:
        """Prepare a launch: its memory is there, nothing has run."""

    def after(self, launch: InstrumentedLaunch, report: LaunchReport) -> LaunchReport:
        """Add what was found to the report of a launch that has ended, also where a fault has ended it."""

    def clear(self) -> None:
        """Forget all memory of the device: it is freed."""
