"""Findings as a fault: the first one, and the others as details."""

from __future__ import annotations

from gpuregress.execution.runner.checks.findings import MOST_SHOWN, fault_of, has_chief_of, merged, with_launch
from gpuregress.foundation.errors import FaultLocation
from gpuregress.foundation.records import CheckFinding
from gpuregress.gpu.records import replace


def _finding(line: int, count: int = 1) -> CheckFinding:
    return CheckFinding("race", f"data race at line {line}", location=f"k.cu:{line}", count=count, lines=f"k.cu:{line}")


def test_findings_at_the_same_lines_are_one() -> None:
    assert merged([_finding(3, 2), _finding(4), _finding(3, 5)]) == (_finding(3, 7), _finding(4))


def test_calls_of_one_inlined_line_are_one_finding_for_each_variable() -> None:
    def called(line: int, variable: str = "s") -> CheckFinding:
        return replace(_finding(3), lines="h.cuh:1, h.cuh:2", calls=((f"k.cu:{line}",),) * 2, variable=variable)

    first, other = merged([called(5), called(6), called(6), called(5, "t")])
    also = "also at h.cuh:1, called at k.cu:6, and h.cuh:2, called at k.cu:6"
    assert first == replace(called(5), count=3, details=(also,))
    assert other == called(5, "t")
    assert fault_of([first]).location == FaultLocation("s", file="k.cu", line=3, calls=("k.cu:5",))


def test_the_widest_scope_is_told_first() -> None:
    warp, block = (replace(_finding(4), message=f"scope {scope}", scope=scope) for scope in (0, 1))
    assert merged([_finding(3), warp, block]) == (replace(block, count=2), _finding(3))
    assert merged([_finding(3), block, warp]) == (replace(block, count=2), _finding(3))


def test_the_first_finding_is_the_fault() -> None:
    fault = fault_of([_finding(3, 2000), _finding(4), _finding(5, 2)], 2)
    assert (fault.kind, fault.message, fault.position) == ("race", "data race at line 3", 2)
    assert fault.details == ("2,000 times at these lines", "data race at line 4", "data race at line 5 (2 times)")


def test_many_findings_are_counted() -> None:
    fault = fault_of([_finding(line) for line in range(MOST_SHOWN + 5)])
    assert len(fault.details) == MOST_SHOWN
    assert fault.details[-1] == "5 more findings"


def test_what_is_not_freed_counts_behind_the_last_launch() -> None:
    leak = CheckFinding("leak", "an allocation", location="k.cu:1", lines="k.cu:1")
    assert with_launch([leak, _finding(3)], [_finding(3)]) == (_finding(3, 2),)
    assert with_launch([], [leak]) == (leak,)


def test_the_first_finding_stays_the_same_however_often_it_comes() -> None:
    assert has_chief_of([_finding(3, 9), _finding(4)], [_finding(3)])
    assert not has_chief_of([_finding(4)], [_finding(3)])
    assert not has_chief_of([_finding(3)], [])
