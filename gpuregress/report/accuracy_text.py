"""Accuracy of results in words."""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.foundation.records import Accuracy, AccuracyReport, Case, Verdict


def remarks(case: Case, verdict: Verdict) -> Iterator[str]:
    """Describe the accuracy of each buffer whose reference asks for it and agrees, one line each."""
    for buffer in verdict.buffers:
        for comparison in buffer.comparisons:
            if comparison.accuracy is not None and comparison.same and buffer.name in case.improves:
                yield f"{buffer.name}: {describe(comparison.accuracy)}"


def describe(report: AccuracyReport) -> str:
    """`at most 0.61 ulp of float32 from its reference, 0.29 rms; more accurate than the accepted …`."""
    text = _figures(report.actual, f" ulp of {report.dtype} from its reference")
    if report.baseline is None:
        return text
    named = "neither more nor less accurate" if report.trend == "mixed" else report.trend
    than = "as" if report.trend == "as accurate" else "than"
    return f"{text}; {named} {than} the accepted revision {report.revision} ({_figures(report.baseline, ' ulp')})"


def _figures(measured: Accuracy, unit: str) -> str:
    odd = f", {measured.misplaced} NaN or infinite on one side" if measured.misplaced else ""
    return f"at most {measured.max_ulp:.3g}{unit}, {measured.rms_ulp:.3g} rms{odd}"
