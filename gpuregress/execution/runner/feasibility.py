"""Registers of a case's kernels, where the device does not count them and an assembler does.

A GPU refuses a launch whose threads need more registers than a block has. The CPU device has no registers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuregress import toolchain
from gpuregress.foundation.errors import CompileError, HarnessError, InfeasibleSource
from gpuregress.foundation.records import Case, DeviceInfo, Program
from gpuregress.gpu import limits
from gpuregress.gpu.base import KernelInfo

_ALWAYS_LAUNCHED = 256
"""Threads that a block may have whatever registers they use: a thread has at most 255."""


def check_registers(device: DeviceInfo, case: Case, programs: Sequence[Program]) -> None:
    """Refuse launches that a GPU refuses for their registers; without an assembler, nothing is checked.

    Args:
        device: that runs the case.
        case: with `infeasible: skip`; others are not checked.
        programs: its compiled sources.

    Raises:
        LaunchRefused: names the registers and the limit.
        InfeasibleSource: the assembler refuses the kernels for their memory.
    """
    large = [launch for launch in case.launches if math.prod(launch.block) > _ALWAYS_LAUNCHED]
    if not large or case.settings.infeasible is None or device.name != "cpu":
        return
    try:
        used = [toolchain.resources(toolchain.build_cubin(program)) for program in programs]
    except InfeasibleSource:
        raise
    except (CompileError, HarnessError):
        return
    for launch in large:
        mangled = programs[launch.source].entries[launch.kernel].mangled
        registers = used[launch.source].get(mangled, {}).get("registers", 0)
        limits.check_launch(device, KernelInfo(mangled, registers), launch.grid, launch.block, 0)
