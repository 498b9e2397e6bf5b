"""Cause of a failure in words, the same for all failures of one kind, and the extent of a difference.

The cause is made of the verdict, the kind of fault or the strongest pattern of the values, the kernel and the source
line. No numbers of elements, sizes or times are in it, and no pattern of the indices: one mistake differs in one thread
of a case, and in one column of the next. The extent tells such differences of one case apart, whose shape stays.
"""

from __future__ import annotations

import re

from gpuregress.foundation.records import PLACES, Case, Comparison, ErrorFigures, Extent, Fault, Verdict

_NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_LINE = re.compile(r"\b([\w.-]+\.(?:cuh?|ptx|h|hpp|cpp|yaml|py)):(\d+)")
_MOST = 160
"""Characters of a message that a cause takes."""


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
        return " ".join(filter(None, (fault.kind, _kernel(fault, case), _place(fault))))
    failing = _failing(verdict)
    if verdict.status == "differ" and failing is not None:
        return f"differ: {_pattern(failing)}"
    if verdict.status == "differ" and verdict.timing is not None and verdict.timing.fails:
        return "slower than accepted"
    return f"{verdict.status}: {without_numbers(verdict.reason)}"


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


def _failing(verdict: Verdict) -> Comparison | None:
    comparisons = (one for buffer in verdict.buffers for one in buffer.comparisons)
    return next((one for one in comparisons if not one.same), None)


def _pattern(comparison: Comparison) -> str:
    """The strongest pattern of the values with the first wrong kernel, else what was compared."""
    wrong = comparison.first_wrong
    where = f", first in {wrong.kernel}" if wrong is not None and wrong.among == 1 else ""
    pattern = next((one.pattern for one in comparison.findings if one.pattern not in PLACES), "")
    if pattern:
        return f"{pattern}{where}"
    # A comparison of elements has nothing to say but their number; a check, or one that was impossible, has.
    has_reason = comparison.against in ("check", "verify") or not comparison.differing
    of = f": {without_numbers(comparison.message)}" if has_reason and comparison.message else ""
    return f"{comparison.buffer} ({comparison.against}){of}{where}"


def _kernel(fault: Fault, case: Case | None) -> str:
    """`in scale`, where it was a launch of the case itself."""
    if case is None or fault.position is None or fault.position >= len(case.launches):
        return ""
    return f"in {case.launches[fault.position].kernel}"


def _place(fault: Fault) -> str:
    """`at scale.cu:5`, the source line of a fault, else the first that its text names."""
    if fault.location.file and fault.location.line is not None:
        return f"at {fault.location.file}:{fault.location.line}"
    match = next((found for line in (fault.message, *fault.details) if (found := _LINE.search(line))), None)
    return f"at {match[1]}:{match[2]}" if match else ""


def without_numbers(text: str) -> str:
    """Replace the numbers of a message, and the names of runs and temporary files, by N."""
    line = (text.splitlines() or [""])[0]
    line = re.sub(r"\b\d{8}T\d{6}Z-[0-9a-f]{4}\b|/tmp/\S+|\b0x[0-9a-f]+\b|\b\d{4}-\d\d-\d\d\b", "N", line)
    return _NUMBER.sub("N", line)[:_MOST]
