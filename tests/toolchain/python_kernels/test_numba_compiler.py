from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import CodeLine, CompileError
from gpuregress.foundation.records import CompiledLaunch, LaunchShape, PythonKernel, Source
from gpuregress.toolchain import cache, programs
from gpuregress.virtual_gpu.device import CpuDevice

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: pip install 'gpuregress[numba]'")

TEXT = """\
from numba import cuda


@cuda.jit
def axpy(y, x, a):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += a * x[i, 0]


def broken(y):
    y[0] = nothing
"""


def source(folder: Path, function: str, **signature: str) -> Source:
    path = folder / "kernel.py"
    path.write_text(TEXT)
    return Source(str(path), kernels=(function,), python=PythonKernel("numba", function, signature))


def test_arrays_are_passed_as_their_fields(tmp_path: Path) -> None:
    program = programs.compile(source(tmp_path, "axpy", y="float32[::1]", x="float32[:, :]", a="float32"))
    entry = program.entries["axpy"]
    assert entry.launch == CompiledLaunch(arguments=(1, 2, 0))
    assert len(entry.parameters) == 7 + 9 + 1
    assert '"kernel.py"' in Path(program.ptx).read_text()


def test_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"kernel.py: NameError: .*nothing"):
        programs.compile(source(tmp_path, "broken", y="float32[::1]"))


LINKING = '''\
from numba import cuda, int32
from numba.types import float16

SOURCE = """
__device__ static int half_of(int x) { return x / 2; }
extern "C" __device__ int linked(int* result, int x) { *result = half_of(x); return 0; }
"""
linked = cuda.declare_device("linked", int32(int32), link=cuda.CUSource(SOURCE))


@cuda.jit(device=True)
def twice(x):
    return x + x


@cuda.jit("void(int32[::1])")
def eager(y):
    y[0] = twice(1)


@cuda.jit
def kernel(y):
    y[0] = twice(linked(y[0])) + int32(float16(y[1]) * float16(y[2]))
'''


@pytest.fixture(scope="module")
def linking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("linking") / "linking.py"
    path.write_text(LINKING)
    return path


def test_what_a_kernel_calls_is_linked(linking: Path) -> None:
    python = PythonKernel("numba", "kernel", {"y": "int32[::1]"})
    program = programs.compile(Source(str(linking), kernels=("kernel",), python=python))
    device = CpuDevice(cache)
    y = device.allocate("y", 12, itemsize=4)
    y.write(np.array([10, 3, 5], np.int32).view(np.uint8))
    fields = [0, 0, 3, 4, y.address, 3, 4]
    module = device.load(program, 1)
    packed = tuple(field.to_bytes(8, "little") for field in fields)
    device.launch(module, program.entries["kernel"].mangled, LaunchShape((1, 1, 1), (1, 1, 1), 0), packed)
    assert list(y.read().view(np.int32)) == [10 + 15, 3, 5]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y[0] = 'x'", r"kernel.py: No implementation of function .* found for signature: >>> setitem\("),
        ("y.nothing()", "kernel.py:6: Unknown attribute 'nothing'"),
        ("y[0] = cubin(1)", "kernel.py: part is linked, of the kind Cubin: link CUDA C\\+\\+ or PTX"),
    ],
)
def test_an_error_has_its_reason(tmp_path: Path, body: str, message: str) -> None:
    path = tmp_path / "kernel.py"
    cubin = "cubin = cuda.declare_device('c', 'int32(int32)', link=cuda.Cubin(b'', name='part'))"
    path.write_text(f"from numba import cuda\n\n{cubin}\n@cuda.jit\ndef kernel(y):\n    {body}\n")
    python = PythonKernel("numba", "kernel", {"y": "int32[::1]"})
    with pytest.raises(CompileError, match=message) as caught:
        programs.compile(Source(str(path), kernels=("kernel",), python=python))
    line = CodeLine(str(path), 6) if "kernel.py:6" in message else None
    assert caught.value.source_line == line
