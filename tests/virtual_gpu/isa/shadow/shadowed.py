"""Runs PTX with shadow values on the CPU device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.records import Instruments, LaunchShape
from gpuregress.gpu.base import LaunchReport, Shadow
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu.device import CpuDevice
from tests.devices.bench import argument_bytes, as_bytes
from tests.virtual_gpu.running import compile_text

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGISTERS = """
    .reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<16>; .reg .f64 %d<8>;
    .shared .align 8 .b8 tile[256];
    ld.param.u64 %rd1, [k_param_0]; ld.param.u64 %rd2, [k_param_1];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
"""


def kernel(body: str) -> str:
    """A kernel of two pointers, %rd1 and %rd2; %rd3 is four times the thread's number."""
    parameters = ".param .u64 k_param_0, .param .u64 k_param_1"
    return f"{HEAD}.visible .entry k({parameters}) {{{REGISTERS}{body}\n    ret;\n}}\n"


class Shadowed:
    """One launch of a kernel: `out` is its second buffer, and `shadow` that buffer in higher precision.

    Args:
        folder: where the source is written.
        body: of the kernel, see `kernel`.
        x: its first buffer.
        out: what the second buffer holds first.
        threads: of the block.
    """

    def __init__(
        self,
        folder: Path,
        body: str,
        x: npt.NDArray[np.generic],
        out: npt.NDArray[np.generic],
        threads: int = 1,
        instruments: Instruments | None = None,
    ) -> None:
        self.device = CpuDevice(cache)
        self.device.instrument(Instruments(accuracy=True) if instruments is None else instruments)
        program = compile_text(folder, kernel(body))
        module = self.device.load(program, 1)
        regions = []
        for name, array in (("x", x), ("out", out)):
            region = self.device.allocate(name, array.nbytes, itemsize=array.itemsize)
            region.write(as_bytes(array))
            regions.append(region)
        packed = tuple(argument_bytes(region) for region in regions)
        self.report: LaunchReport = self.device.launch(module, "k", LaunchShape((1, 1, 1), (threads, 1, 1), 0), packed)
        self.out = regions[1].read().view(out.dtype)
        found = self.device.shadow(regions[1], out.itemsize)
        self.shadow = found or Shadow(np.zeros(0), np.zeros(0), np.zeros(0, np.bool_))
