"""The CPU device against Triton's interpreter (TRITON_INTERPRET=1), the usual way to run Triton kernels without a GPU.

Time, and bits: how many elements of the interpreter's result are not those of the CPU device, which for these kernels
are an H200's (`gpuregress run configs/triton --device cuda` shows it).
"""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.rows import Row, missing
from benchmarks.virtual_gpu import KERNELS
from gpuregress.execution import device_registry as registry
from gpuregress.foundation.records import LaunchShape, PythonKernel, Source
from gpuregress.toolchain import programs
from gpuregress.virtual_gpu.parallel import cores

SCRIPT = Path(__file__).with_name("triton_peer.py")
GOAL = 3.0
REPEATS = 3
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Kernel:
    """A kernel, its arguments (buffer names, or numbers), and the buffer of its result."""

    name: str
    arrays: Mapping[str, Array]
    args: tuple[str | int | float, ...]
    signature: Mapping[str, str]
    constants: Mapping[str, bool | int | float | str | None]
    grid: tuple[int, int, int]
    result: str


def measure() -> list[Row]:
    if importlib.util.find_spec("triton") is None:
        return [missing("Triton's interpreter", "Triton is not installed; pip install 'gpuregress[triton]'")]
    return [_row(kernel) for kernel in (softmax(), matmul(), attention())]


def softmax() -> Kernel:
    x = np.random.default_rng(1).normal(size=(256, 781)).astype(np.float32)
    types = {"out": "*fp32:16", "x": "*fp32:16", "columns": "i32", "stride": "i32"}
    return Kernel(
        "softmax", {"out": np.zeros_like(x), "x": x}, ("out", "x", 781, 781), types, {"BLOCK": 1024}, (256, 1, 1), "out"
    )


def matmul() -> Kernel:
    size, tile = 256, 64
    random = np.random.default_rng(2)
    arrays = {name: random.normal(size=(size, size)).astype(np.float16) for name in "ab"}
    types = {"c": "*fp32:16", "a": "*fp16:16", "b": "*fp16:16", "M": "i32:16", "N": "i32:16", "K": "i32:16"}
    constants = {"BLOCK_M": tile, "BLOCK_N": tile, "BLOCK_K": 32, "GROUP": 4}
    arrays["c"] = np.zeros((size, size), np.float32)
    return Kernel(
        "matmul", arrays, ("c", "a", "b", size, size, size), types, constants, ((size // tile) ** 2, 1, 1), "c"
    )


def attention() -> Kernel:
    length, head, tile = 256, 64, 64
    random = np.random.default_rng(3)
    arrays = {name: random.normal(size=(4, length, head)).astype(np.float16) for name in "qkv"}
    arrays["out"] = np.zeros_like(arrays["q"])
    types = {**dict.fromkeys(("out", "q", "k", "v"), "*fp16:16"), "length": "i32:16", "scale": "fp32"}
    constants = {"HEAD": head, "BLOCK_M": tile, "BLOCK_N": tile, "CAUSAL": True}
    args = ("out", "q", "k", "v", length, 0.125)
    return Kernel("attention", arrays, args, types, constants, (length // tile, 4, 1), "out")


def _row(kernel: Kernel) -> Row:
    what = f"{kernel.name}, Triton's interpreter"
    own, ours = _device(kernel)
    try:
        interpreted, peer = _interpreter(kernel)
    except RuntimeError as error:
        return missing(what, str(error))
    bits = np.dtype(f"u{own.dtype.itemsize}")
    differing = int(np.count_nonzero(own.view(bits) != interpreted.view(bits)))
    note = f"{differing:,} of {own.size:,} elements of the interpreter differ in bits"
    return Row(what, f"{ours * 1e3:,.1f} ms", f"{peer * 1e3:,.1f} ms", peer / ours, GOAL, note)


def _file(kernel: Kernel) -> Path:
    return KERNELS / "triton" / f"{kernel.name}.py"


def _device(kernel: Kernel) -> tuple[Array, float]:
    """The result and the best seconds of a launch on one core, after one that compiles."""
    os.environ[cores.VARIABLE] = "1"
    python = PythonKernel("triton", kernel.name, kernel.signature, kernel.constants)
    compiled = programs.compile(Source(str(_file(kernel)), kernels=(kernel.name,), python=python))
    entry = compiled.entries[kernel.name]
    assert entry.launch is not None
    assert entry.launch.block is not None
    with registry.open_device("cpu") as device:
        module = device.load(compiled)
        memories = {
            name: device.allocate(name, array.nbytes, itemsize=array.itemsize) for name, array in kernel.arrays.items()
        }
        for name, array in kernel.arrays.items():
            memories[name].write(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        packed = [
            struct.pack("<Q", memories[item].address)
            if isinstance(item, str)
            else struct.pack("<f" if isinstance(item, float) else "<i", item)
            for item in kernel.args
        ]
        packed += [bytes(8) for _ in entry.launch.hidden]
        shape = LaunchShape(kernel.grid, entry.launch.block, entry.launch.shared or 0)
        device.launch(module, entry.mangled, shape, tuple(packed))
        times = [device.launch(module, entry.mangled, shape, tuple(packed)).elapsed_ms / 1e3 for _ in range(REPEATS)]
        data = memories[kernel.result].read()
    array = kernel.arrays[kernel.result]
    return np.frombuffer(bytes(data), array.dtype).reshape(array.shape), min(times)


def _interpreter(kernel: Kernel) -> tuple[Array, float]:
    """The interpreter's result and seconds; it runs once, and has nothing to compile."""
    task = {
        "file": str(_file(kernel)),
        "kernel": kernel.name,
        "grid": kernel.grid,
        "args": kernel.args,
        "constants": kernel.constants,
        "dtypes": {name: f"torch.{array.dtype}" for name, array in kernel.arrays.items()},
    }
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        arrays: dict[str, Any] = {"task": json.dumps(task), **kernel.arrays}
        np.savez(source, **arrays)
        done = subprocess.run(
            [sys.executable, "-P", str(SCRIPT), str(source), str(target)],
            env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
        with np.load(target) as result:
            return result[kernel.result], float(result["seconds"])
