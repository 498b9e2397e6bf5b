from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress import toolchain
from gpuregress.errors import CompileError
from gpuregress.records import CompiledLaunch, PythonKernel, Source

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
    program = toolchain.compile(source(tmp_path, "axpy", y="float32[::1]", x="float32[:, :]", a="float32"))
    entry = program.entries["axpy"]
    assert entry.launch == CompiledLaunch(arguments=(1, 2, 0))
    assert len(entry.parameters) == 7 + 9 + 1
    assert '"kernel.py"' in Path(program.ptx).read_text()


def test_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"kernel.py: NameError: .*nothing"):
        toolchain.compile(source(tmp_path, "broken", y="float32[::1]"))
