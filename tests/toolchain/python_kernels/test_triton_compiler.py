from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import CompiledDescriptor, CompiledLaunch, PythonKernel, Source
from gpuregress.toolchain import programs

pytest.importorskip("triton", reason="Triton is not installed: pip install 'gpuregress[triton]'")

TEXT = """\
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def scale(y, x, n, BLOCK: tl.constexpr, KIND: tl.constexpr = 0):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def broken(y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, nothing)


def plain(y):
    pass
"""
TYPES = {"y": "*fp32", "x": "*fp32", "n": "i32"}


def source(folder: Path, function: str = "scale", /, **changes: object) -> Source:
    path = folder / "kernel.py"
    path.write_text(TEXT)
    given: dict[str, object] = {"signature": TYPES, "constants": {"BLOCK": 64}, "settings": {"num_warps": 2}}
    kernel = PythonKernel("triton", function, **(given | changes))  # type: ignore[arg-type] # the test's own
    return Source(str(path), kernels=(function,), python=kernel)


def test_a_kernel_is_compiled_with_its_launch(tmp_path: Path) -> None:
    program = programs.compile(source(tmp_path))
    entry = program.entries["scale"]
    assert entry.launch == CompiledLaunch(block=(64, 1, 1), shared=0, hidden=(0, 0))
    assert [one.name for one in entry.parameters] == ["y", "x", "n", "", ""]
    assert program.compiler.startswith("triton ")
    assert program.options == ("y: *fp32", "x: *fp32", "n: i32", "BLOCK=64", "num_warps=2")
    ptx = Path(program.ptx).read_text()
    assert '.file\t1 "kernel.py"' in ptx, "the same on every machine"


def test_the_promise_of_a_multiple_of_16_makes_vectors(tmp_path: Path) -> None:
    promised = {"y": "*fp32:16", "x": "*fp32:16", "n": "i32:16"}
    large: dict[str, object] = {"constants": {"BLOCK": 512}}
    assert (
        "ld.global.v4" in Path(programs.compile(source(tmp_path, "scale", **large, signature=promised)).ptx).read_text()
    )
    assert "ld.global.v4" not in Path(programs.compile(source(tmp_path, "scale", **large)).ptx).read_text()


@pytest.mark.parametrize(
    ("function", "changes", "message"),
    [
        ("broken", {"signature": {"y": "*fp32"}}, "kernel.py:15: "),
        ("plain", {"signature": {"y": "*fp32"}}, "plain is not a Triton kernel: it needs @triton.jit"),
        ("nobody", {}, "there is no 'nobody'"),
        ("scale", {"constants": {}}, "parameter 'BLOCK' has neither a type nor a value"),
        ("scale", {"signature": {**TYPES, "z": "i32"}}, "scale has no parameter 'z'"),
        ("scale", {"settings": {"maxnregs": 3}}, "Triton has no option 'maxnregs'; did you mean 'maxnreg'?"),
        ("scale", {"constants": {"BLOCK": 60}}, "power of 2"),
    ],
)
def test_errors_are_the_users(tmp_path: Path, function: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises(CompileError) as caught:
        programs.compile(source(tmp_path, function, **changes))
    assert message in str(caught.value)
    assert "Traceback" not in str(caught.value)
    line = caught.value.source_line
    shown = "kernel.py: " if line is None else f"kernel.py:{line.line}: "
    assert shown in str(caught.value)


def test_every_line_of_an_inline_assembly_is_that_of_its_beginning(tmp_path: Path) -> None:
    ptx = Path(programs.compile(source(tmp_path, "scale")).ptx).read_text()
    load = ptx.index("ld.global")
    assert ptx[:load].rpartition(".loc")[2].split()[:2] == ["1", "9"]


def test_descriptors_that_the_host_makes(tmp_path: Path) -> None:
    text = "import triton\n\n\n@triton.jit\ndef copy(y, x, n):\n    y.store([n, 0], x.load([n, 0]))\n"
    path = tmp_path / "copy.py"
    path.write_text(text)
    types = {"y": "tensordesc<fp16[16,64]>", "x": "tensordesc<fp16[16,64]>", "n": "i32"}
    kernel = PythonKernel("triton", "copy", types)
    entry = programs.compile(Source(str(path), kernels=("copy",), python=kernel)).entries["copy"]
    assert entry.launch is not None
    assert entry.launch.descriptors == tuple(CompiledDescriptor(at, 2, (16, 64), "128B") for at in (0, 1))
    names = [one.name for one in entry.parameters]
    assert names[:7] == ["y", "y.shape", "y.shape", "y.strides", "y.strides", "x", "x.shape"]
    old = programs.compile(Source(str(path), kernels=("copy",), python=kernel, arch="sm_80")).entries["copy"]
    assert old.launch is not None
    assert old.launch.descriptors == (CompiledDescriptor(0, 2), CompiledDescriptor(1, 2))
    assert [one.name for one in old.parameters][5:8] == ["y.padding", "y.rounding", "y.shape"]
