"""Coverage as text: the tables."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import FileCoverage
from gpuregress.report import coverage_report
from tests.report.samples import summary
from tests.report.test_coverage_report import covered

ROOT = Path("/p")


def test_the_tables_name_file_line_and_source(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("a\n  if (i < n)\n")
    lines = list(coverage_report.lines(covered(FileCoverage(str(path), ((1, 1), (2, 0)))), tmp_path))
    assert lines == [
        "",
        "coverage  lines   branches  loop counts  bounds",
        "k.cu      1 of 2",
        "",
        "line    no case         source",
        "k.cu:2  never executed  if (i < n)",
    ]


def test_nothing_is_printed_where_nothing_was_counted() -> None:
    assert list(coverage_report.lines(summary(), ROOT)) == []


def test_full_coverage_says_so() -> None:
    assert list(coverage_report.lines(covered(FileCoverage("/p/k.cu", ((1, 1),))), ROOT))[-1] == (
        "coverage: nothing is left out"
    )


def test_code_without_source_lines_is_not_called_covered() -> None:
    (*_, last) = coverage_report.lines(covered(FileCoverage("/p/k.cu")), ROOT)
    assert last == "coverage: the code has no source lines of the project"


def test_few_gaps_are_shown_unless_all_are_wanted() -> None:
    many = covered(FileCoverage("/p/k.cu", tuple((line, 0) for line in range(1, 100))))
    short, full = (list(coverage_report.lines(many, ROOT, verbose=verbose)) for verbose in (False, True))
    assert short[-1].startswith("… and 59 more in runs/")
    assert len(full) > 99
