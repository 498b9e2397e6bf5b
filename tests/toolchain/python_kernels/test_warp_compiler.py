from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.records import PythonKernel, Source
from gpuregress.toolchain import programs

pytest.importorskip("warp", reason="warp-lang is not installed: pip install 'gpuregress[warp]'")

KERNEL = """\
@wp.kernel
def divide(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = {} / x[i]
"""
HEAD = "import warp as wp\n"
FAST = "wp.set_module_options({'fast_math': True})\n"


def compiled(path: Path, **settings: Any) -> tuple[int, str]:
    """The block of a program, and its PTX."""
    kernel = PythonKernel("warp", "divide", {}, settings=settings)
    program = programs.compile(Source(str(path), kernels=("divide",), python=kernel))
    launch = program.entries["divide"].launch
    assert launch is not None
    assert launch.block is not None
    return launch.block[0], Path(program.ptx).read_text()


@pytest.mark.slow
def test_options_are_those_of_one_case(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + KERNEL.format("9.0"))
    (tmp_path / "importer.py").write_text(f"{HEAD}from kernels import divide\n")
    for file in (path, tmp_path / "importer.py"):
        block, ptx = compiled(file, block_dim=128, fast_math=True)
        assert block == 128
        assert "div.approx" in ptx
        block, ptx = compiled(file)
        assert block == 256
        assert "div.rn" in ptx


@pytest.mark.slow
def test_files_of_one_name_share_nothing(tmp_path: Path) -> None:
    first, second = tmp_path / "first/kernels.py", tmp_path / "second/kernels.py"
    for path, text in ((first, HEAD + FAST + KERNEL.format("3.0")), (second, HEAD + KERNEL.format("5.0"))):
        path.parent.mkdir()
        path.write_text(text)
    assert "div.approx" in compiled(first)[1]
    assert "div.rn" in compiled(second)[1]
    _, ptx = compiled(first, block_dim=64)
    assert "div.approx" in ptx
    assert "0f40400000" in ptx  # 3.0
    first.write_text(HEAD + KERNEL.format("7.0"))
    assert "div.rn" in compiled(first)[1]
