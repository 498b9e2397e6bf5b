"""Files of a case's coverage by their paths."""

from __future__ import annotations

from pathlib import Path

from gpuregress.execution.runner.source_counts import located, path_of
from gpuregress.foundation.records import Coverage, FileCoverage, Source


def test_files_of_the_project_get_paths_and_libraries_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "h.cuh").write_text("")
    source = Source(str(tmp_path / "k.cu"), include=(str(tmp_path / "include"),))
    files = tuple(FileCoverage(name, ((1, 1),)) for name in ("k.cu", "h.cuh", "cooperative_groups.h"))
    assert [one.path for one in located(Coverage(files), source).files] == [
        str(tmp_path / "include" / "h.cuh"),
        str(tmp_path / "k.cu"),
    ]


def test_code_without_a_line_is_the_ptx_itself(tmp_path: Path) -> None:
    assert path_of("", Source(str(tmp_path / "k.ptx"))) == str(tmp_path / "k.ptx")
    assert path_of("", Source(str(tmp_path / "k.cu"))) == ""
