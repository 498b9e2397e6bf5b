"""What no case executed, in words and numbers."""

from __future__ import annotations

from gpuregress.foundation.records import (
    BoundCount,
    BranchCount,
    Coverage,
    FileCoverage,
    InstrumentReports,
    LoopCount,
    Observations,
    Outcome,
    RunSummary,
)
from gpuregress.gpu.records import replace
from gpuregress.report import coverage_report
from tests.report.samples import summary, verdict

FILE = FileCoverage(
    "/p/k.cu",
    ((1, 4), (2, 0), (3, 4), (4, 4), (5, 4)),
    (BranchCount(2, 1, 0, 4), BranchCount(3, 1, 0, 4), BranchCount(4, 1, 0, 4), BranchCount(5, 1, 3, 1, "guard")),
    (LoopCount(4, 1, 0, 4, 0),),
    (BoundCount(5, 1, "lt", "threadIdx.x", "args[1]", 1, 0, 0),),
)


def covered(*files: FileCoverage) -> RunSummary:
    """A run of two cases, one without counts."""
    seen = Observations(instruments=InstrumentReports(coverage=Coverage(files or (FILE,))))
    counted = verdict("pass", outcome=Outcome("reduce/pass", "done", observations=seen))
    return replace(summary(), verdicts=(counted, verdict("skip")))


def test_gaps_name_what_never_happened_once() -> None:
    gaps = coverage_report.gaps(Coverage((FILE,)))
    assert [(gap.line, gap.kind, gap.text) for gap in gaps] == [
        (2, "line", "never executed"),
        (3, "branch", "never both sides of the branch"),
        (4, "loop", "never 0 iterations or more than 1 iteration"),
        (5, "bound", "never index (threadIdx.x) = args[1]"),
    ]


def test_totals_count_the_same_points() -> None:
    totals = coverage_report.totals((FILE,))
    assert {name: str(one) for name, one in totals.items()} == {
        "lines": "4 of 5",
        "branches": "3 of 4",
        "loops": "1 of 3",
        "bounds": "1 of 2",
    }


def test_a_document_has_files_gaps_and_jobs() -> None:
    document = coverage_report.document(covered())
    assert document is not None
    assert document["jobs"]["reduce"]["never"] == document["never"]
    assert document["files"][0]["lines"] == [[1, 4], [2, 0], [3, 4], [4, 4], [5, 4]]
    assert coverage_report.document(summary()) is None


def test_an_unrolled_loop_tells_only_whether_it_iterated() -> None:
    assert coverage_report.iteration_counts(LoopCount(1, 1, 3, 0, 2, is_unrolled=True)) == [("an iteration", 2)]
    assert coverage_report.iteration_counts(LoopCount(1, 1, 3, 0, 0)) == [("0 iterations", 3), ("an iteration", 0)]


def test_several_branches_of_a_line_are_told_together_and_count_apart() -> None:
    sides = {"a": (2, 2), "b": (0, 4), "never reached": (0, 0)}
    branches = tuple(BranchCount(1, 1, *counts, "branch", name) for name, counts in sides.items())
    guards = (BranchCount(3, 1, 4, 0, "guard", "a"), BranchCount(3, 1, 0, 4, "guard", "b"))
    one = FileCoverage("/p/k.cu", ((1, 4), (3, 4)), (*branches, *guards))
    assert [gap.text for gap in coverage_report.gaps(Coverage((one,)))] == [
        "never both sides of all 2 branches",
        "never the instructions with all 2 guards left out or the instructions with all 2 guards executed",
    ]
    assert str(coverage_report.totals((one,))["branches"]) == "5 of 8"


def test_a_branch_inside_of_a_loop_of_its_line_is_told() -> None:
    inside = BranchCount(4, 1, 0, 4, "branch", "a", is_inside=True)
    one = FileCoverage("/p/k.cu", ((4, 4),), (inside, BranchCount(4, 1, 0, 4)), (LoopCount(4, 1, 1, 1, 1),))
    assert [gap.text for gap in coverage_report.gaps(Coverage((one,)))] == ["never both sides of the branch"]
