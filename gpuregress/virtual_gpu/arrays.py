"""Run of a kernel from PTX and arrays alone, as README.md shows."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.errors import DeviceError
from gpuregress.gpu.programs import Dim3, Entry, LaunchShape, Parameter, Program
from gpuregress.virtual_gpu.cache import Cache
from gpuregress.virtual_gpu.device import CpuDevice
from gpuregress.virtual_gpu.ptx.modifiers import byte_size
from gpuregress.virtual_gpu.ptx.parser import parse

Array = npt.NDArray[np.generic]


def run(
    ptx: str,
    kernel: str,
    grid: Dim3,
    block: Dim3,
    arguments: Sequence[Array | np.generic],
    *,
    shared: int = 0,
    cache: Cache | None = None,
) -> list[Array]:
    """Run a kernel on copies of arrays, and return the arrays as it leaves them.

    Args:
        ptx: a whole module.
        kernel: the name of its entry.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        arguments: in the kernel's order; it is given the address of an array, and a numpy scalar by value.
        shared: dynamic shared memory, bytes.
        cache: where compiled modules are kept; None: nowhere.

    Raises:
        KernelFault: the kernel fails; `thread`, `block` and `line` tell where.
        CompileError: the PTX does not follow the grammar.
        UnsupportedError: the kernel needs an instruction that is not there.
        DeviceError: there is no such kernel, its arguments are others, or the launch is over the limits.
    """
    with tempfile.TemporaryDirectory() as folder, CpuDevice(cache) as device:
        path = Path(folder, "kernel.ptx")
        path.write_text(ptx, encoding="utf-8")
        module = device.load(_program(ptx, kernel, path), kernels=(kernel,))
        packed = []
        memories = []
        for position, argument in enumerate(arguments):
            if not isinstance(argument, np.ndarray):
                packed.append(argument.tobytes())
                continue
            memory = device.allocate(f"argument {position}", argument.nbytes, itemsize=argument.itemsize)
            memory.write(np.ascontiguousarray(argument).reshape(-1).view(np.uint8))
            packed.append(memory.address.to_bytes(8, "little"))
            memories.append((memory, argument))
        device.launch(module, kernel, LaunchShape(grid, block, shared), tuple(packed))
        return [memory.read().view(array.dtype).reshape(array.shape) for memory, array in memories]


def _program(ptx: str, kernel: str, path: Path) -> Program:
    """Describe a PTX text as a compiler would, with the parameters of one kernel."""
    functions = {function.name: function for function in parse(ptx, (kernel,)).functions if function.is_entry}
    if kernel not in functions:
        raise DeviceError(f"no kernel {kernel} in this PTX; there are: {', '.join(functions) or 'none'}")
    parameters = tuple(
        Parameter(byte_size(declared), declared.alignment, "word", declared.name)
        for declared in functions[kernel].parameters
    )
    return Program(
        key=hashlib.sha256(ptx.encode()).hexdigest(),
        ptx=str(path),
        cubin="",
        entries={kernel: Entry(kernel, parameters)},
        symbols={},
        compiler="ptx as given",
        options=(),
        arch=SM_90.name,
    )
