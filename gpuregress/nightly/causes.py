"""Cause of a failure in words, the same for all failures of one kind.

It is made of the verdict, the kind of fault or the strongest pattern, the kernel and the source line; no numbers of
elements, sizes or times are in it.
"""

from __future__ import annotations

import re

from gpuregress.records import Case, Comparison, Fault, Verdict

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
        return " ".join(filter(None, (fault.kind, _kernel(fault, case), _place((fault.message, *fault.details)))))
    failing = [one for buffer in verdict.buffers for one in buffer.comparisons if not one.same]
    if verdict.status == "differ" and failing:
        return f"differ: {_pattern(failing[0])}"
    if verdict.status == "differ" and verdict.timing is not None and verdict.timing.fails:
        return "slower than accepted"
    return f"{verdict.status}: {without_numbers(verdict.reason)}"


def _pattern(comparison: Comparison) -> str:
    """The strongest pattern of a difference with the first wrong kernel, else what was compared."""
    wrong = comparison.first_wrong
    where = f", first in {wrong.kernel}" if wrong is not None and wrong.among == 1 else ""
    if comparison.findings:
        return f"{comparison.findings[0].pattern}{where}"
    of = comparison.message and f": {without_numbers(comparison.message)}"
    return f"{comparison.buffer} ({comparison.against}){of}{where}"


def _kernel(fault: Fault, case: Case | None) -> str:
    """`in scale`, where it was a launch of the case itself."""
    if case is None or fault.position is None or fault.position >= len(case.launches):
        return ""
    return f"in {case.launches[fault.position].kernel}"


def _place(lines: tuple[str, ...]) -> str:
    """`at scale.cu:5`, the first source line that a fault names."""
    match = next((found for line in lines if (found := _LINE.search(line))), None)
    return f"at {match[1]}:{match[2]}" if match else ""


def without_numbers(text: str) -> str:
    """Replace the numbers of a message, and the names of runs and temporary files, by N."""
    line = (text.splitlines() or [""])[0]
    line = re.sub(r"\b\d{8}T\d{6}Z-[0-9a-f]{4}\b|/tmp/\S+|\b0x[0-9a-f]+\b|\b\d{4}-\d\d-\d\d\b", "N", line)
    return _NUMBER.sub("N", line)[:_MOST]
