"""Sources of kernels: paths and texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.api import kernel_source
from gpuregress.foundation.errors import CompileError, UsageError

CU = 'extern "C" __global__ void k(int *x) { *x = 1; }'
PTX = "// by hand\n.version 8.0\n.target sm_90\n"


def test_a_text_becomes_a_file_of_its_kind() -> None:
    cu, ptx = kernel_source.path_of(CU), kernel_source.path_of(PTX)
    assert (cu.name, cu.read_text()) == ("kernel.cu", CU)
    assert (ptx.name, ptx.read_text()) == ("kernel.ptx", PTX)
    assert kernel_source.path_of(CU) == cu
    assert kernel_source.text_of(cu) == CU
    assert kernel_source.text_of(ptx) == ""


def test_a_path_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k.cu").write_text(CU)
    monkeypatch.chdir(tmp_path)
    assert kernel_source.path_of("k.cu") == kernel_source.path_of(Path("k.cu")) == tmp_path / "k.cu"


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no file missing\.cu: pass a path, or the text of a kernel"):
        kernel_source.path_of("missing.cu")
    for name, words in (("k.py", "needs a job"), ("k.txt", "not CUDA C\\+\\+")):
        (tmp_path / name).write_text("")
        with pytest.raises(UsageError, match=words):
            kernel_source.path_of(tmp_path / name)
    with pytest.raises(CompileError, match="cannot read"):
        kernel_source.text_of(tmp_path / "gone.cu")


def test_macros_and_options_are_texts() -> None:
    assert kernel_source.macros({"N": 3, "FAST": True, "T": "float"}) == {"N": "3", "FAST": "1", "T": "float"}
    assert kernel_source.macros(None) == {}
