from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress import toolchain
from gpuregress.errors import CompileError
from gpuregress.records import Source
from gpuregress.toolchain import header_macros


def compiled(folder: Path, name: str) -> None:
    source = folder / "empty.cu"
    source.write_text('extern "C" __global__ void k() {}\n')
    toolchain.compile(Source(str(source), defines={name: "7"}, kernels=("k",)))


@pytest.mark.parametrize("name", ["T", "x", "w"])
def test_these_names_break_an_empty_source(name: str, tmp_path: Path) -> None:
    assert header_macros.breaks_headers(name)
    with pytest.raises(CompileError):
        compiled(tmp_path, name)


@pytest.mark.parametrize("name", ["n", "tile", "block", "TILE", "real", "block_size_x", "N", "fast"])
def test_usual_names_do_not(name: str, tmp_path: Path) -> None:
    assert not header_macros.breaks_headers(name)
    compiled(tmp_path, name)
