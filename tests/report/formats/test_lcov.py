"""Trace files of lcov."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import BranchCount, FileCoverage
from gpuregress.report.formats import lcov
from tests.report.samples import summary
from tests.report.test_coverage_report import covered


def test_a_record_has_branches_and_lines() -> None:
    text = lcov.render(covered(), Path("/p"))
    assert text.splitlines()[:4] == ["TN:gpuregress", "SF:k.cu", "BRDA:2,0,0,0", "BRDA:2,0,1,4"]
    assert "DA:2,0\n" in text
    assert text.endswith("BRF:8\nBRH:5\nDA:1,4\nDA:2,0\nDA:3,4\nDA:4,4\nDA:5,4\nLF:5\nLH:4\nend_of_record\n")


def test_each_condition_of_a_line_is_a_block_of_branches() -> None:
    branches = (BranchCount(7, 1, 2, 2, "branch", "a"), BranchCount(7, 1, 0, 0, "branch", "b"))
    lines = lcov.render(covered(FileCoverage("/p/k.cu", ((7, 4),), branches)), Path("/p")).splitlines()
    assert [line for line in lines if line.startswith("BR")] == [
        "BRDA:7,0,0,2",
        "BRDA:7,0,1,2",
        "BRDA:7,1,0,-",
        "BRDA:7,1,1,-",
        "BRF:4",
        "BRH:2",
    ]


def test_without_counts_it_has_the_notes_alone() -> None:
    lines = lcov.render(summary(), Path("/p")).splitlines()
    assert len(lines) == len(summary().notes)
    assert all(line.startswith("# ") for line in lines)
