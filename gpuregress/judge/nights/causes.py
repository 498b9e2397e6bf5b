"""Cause of a failure in words, the same for all failures of one kind, and the extent of a difference.

The cause is made of codes and facts: the verdict, the kind of fault or the class of error or the strongest pattern of
the values, the kernel and the source line. No message is in it, no number of elements, sizes or times, and no pattern
of the indices: one mistake differs in one thread of a case, and in one column of the next. The extent tells such
differences of one case apart, whose shape stays.
"""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import PLACES, Case, Comparison, ErrorFigures, Extent, Fault, Figures, Verdict
from gpuregress.judge.verdict.decision import over_limits


def cause_of(verdict: Verdict, case: Case | None = None) -> str:
    """Name the cause of a verdict; "" for one that is no failure.

    Args:
        verdict: on the case.
        case: what ran, whose launches name the kernel; None where nothing did.
    """
    if verdict.status in ("pass", "skip"):
        return ""
    if verdict.status == "new":
        return "no baseline"
    fault = verdict.outcome.fault if verdict.outcome is not None else None
    if verdict.status in ("fault", "timeout") and fault is not None:
        return _of_fault(fault, case)
    if verdict.status == "differ":
        return _of_difference(verdict, case)
    error = verdict.error
    if not error and verdict.outcome is not None:
        error = verdict.outcome.observations.error
    place = ""
    if verdict.location is not None and verdict.location.line:
        place = f" at {Path(verdict.location.file).name}:{verdict.location.line}"
    return f"{verdict.status}: {error}{place}" if error or place else verdict.status


def extent_of(verdict: Verdict) -> Extent | None:
    """Return the extent of the difference that names the cause; None where nothing differs.

    Args:
        verdict: on the case.
    """
    failing = _failing(verdict)
    if verdict.status != "differ" or failing is None:
        return None
    error = failing.figures.max_abs if isinstance(failing.figures, ErrorFigures) else None
    place = next((PLACES[one.pattern] for one in failing.findings if one.pattern in PLACES), "")
    return Extent(failing.differing, failing.of, error, place)


def _of_fault(fault: Fault, case: Case | None) -> str:
    """`out-of-bounds in scale at scale.cu:5`; the kernel where it was a launch of the case itself."""
    words = [fault.kind]
    if case is not None and fault.position is not None and fault.position < len(case.launches):
        words.append(f"in {case.launches[fault.position].kernel}")
    if fault.location.file and fault.location.line is not None:
        words.append(f"at {fault.location.file}:{fault.location.line}")
    return " ".join(words)


def _of_difference(verdict: Verdict, case: Case | None) -> str:
    failing = _failing(verdict)
    if failing is not None:
        return f"differ: {_of_comparison(failing)}"
    if verdict.timing is not None and verdict.timing.fails:
        return "slower than accepted"
    costly = [cost.measure for cost in verdict.costs if cost.fails]
    if costly:
        return f"differ: costs more than accepted ({', '.join(costly)})"
    if case is not None and verdict.outcome is not None:
        if over_limits(case, verdict.outcome):
            return "differ: over its limits of resources"
        if case.expect_fault is not None:
            return f"differ: expected {case.expect_fault}"
        if case.settings.known_failing is not None:
            return "differ: passes, but is known_failing"
    return "differ"


def _failing(verdict: Verdict) -> Comparison | None:
    comparisons = (one for buffer in verdict.buffers for one in buffer.comparisons)
    return next((one for one in comparisons if not one.same), None)


def _of_comparison(comparison: Comparison) -> str:
    """The strongest pattern of the values with the first wrong kernel, else what was compared."""
    wrong = comparison.first_wrong
    where = f", first in {wrong.kernel}" if wrong is not None and wrong.among == 1 else ""
    pattern = next((one.pattern for one in comparison.findings if one.pattern not in PLACES), "")
    if pattern:
        return f"{pattern}{where}"
    what = ""
    if comparison.figures.nothing_written:
        what = ": nothing written"
    elif comparison.unanswered:
        what = ": no answer"
    elif comparison.against == "check":
        what = f": {comparison.rule}"
    elif comparison.against != "verify" and comparison.worst is None and comparison.figures == Figures():
        what = ": not compared"  # of another type or shape, or one side could not be made
    return f"{comparison.buffer} ({comparison.against}){what}{where}"
