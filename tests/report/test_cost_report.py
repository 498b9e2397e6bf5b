"""Columns and totals of profiles."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import Costs, InstructionCost
from gpuregress.report import cost_report

COUNTS = {
    "instructions": 10,
    "thread_instructions": 160,
    "requests": 4,
    "sectors": 34,
    "bytes": 512,
    "requests.shared": 2,
    "bank_conflicts": 3,
    "branches": 5,
    "divergent_branches": 1,
    "barriers": 7,
    "atomic_conflicts": 9,
}


def costs(path: str = "/p/k.cu", line: int = 2) -> Costs:
    """The costs of one instruction."""
    return Costs((InstructionCost("k", path, line, 1, "ld", "load.global", COUNTS),), {"k": 12}, "something")


def test_cells_tell_what_there_is() -> None:
    assert cost_report.cells(COUNTS) == ("10", "16.0", "4", "8.5", "3", "1 of 5")
    assert cost_report.cells({"instructions": 1, "thread_instructions": 32}) == ("1", "32.0", "", "", "", "")
    assert cost_report.cells({}) == ("",) * 6


def test_lines_between_those_with_code_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("a\nb\n\n// c\nd\n")
    both = Costs((*costs(str(path), 2).instructions, *costs(str(path), 5).instructions))
    assert [(line.number, line.source, bool(line.counts)) for line in cost_report.lines(both)] == [
        (2, "b", True),
        (4, "// c", False),
        (5, "d", True),
    ]


def test_the_summary_has_a_line_for_each_kind_of_cost() -> None:
    assert list(cost_report.summary(costs())) == [
        "instructions: 10 by warps, 16.0 lanes each, 160 by threads",
        "  load.global 10",
        "memory: 4 requests, 34 sectors (8.5 each), 512 bytes",
        "shared memory: 2 requests, 3 bank conflicts",
        "branches: 5 by warps, 1 divergent",
        "atomics: 9 lanes wait for another one of their request; 12 updates of one address",
        "barriers at which warps wait: 7",
        "not all is counted: something",
    ]


def test_what_is_not_counted_is_told() -> None:
    assert list(cost_report.summary(Costs(left_out=("a (k.cu:1)", "b"))))[-1] == "not counted: a (k.cu:1); b"
