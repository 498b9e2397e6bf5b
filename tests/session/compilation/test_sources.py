from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Program, Source
from gpuregress.session import compilation


def source(folder: Path, name: str, text: str) -> Source:
    path = folder / name
    path.write_text(text)
    return Source(str(path), kernels=("k",))


def test_each_source_gets_its_program_or_its_error(tmp_path: Path) -> None:
    well = source(tmp_path, "well.cu", 'extern "C" __global__ void k(int *x) { *x = 1; }\n')
    broken = source(tmp_path, "broken.cu", 'extern "C" __global__ void k(int *x) { *x = }\n')
    first, second, third = compilation.compile_sources([well, broken, well])
    assert isinstance(first, Program)
    assert isinstance(second, CompileError)
    assert "broken.cu" in str(second)
    assert first == third
    assert compilation.compile_source(well) == first
    with pytest.raises(CompileError):
        compilation.compile_source(broken)
