"""Remarks on a case: exchanges between lanes, poison, timing, resources, compute-sanitizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuregress.foundation.records import Case, CostComparison, Outcome, TimingComparison
from gpuregress.judge import write_coverage

_MOST_FINDINGS = 5
_NOTABLE = 2.0
"""The ratio of instructions from which on a case is told to be slower although nobody asked for its time."""


def remarks(
    case: Case, outcome: Outcome, timing: TimingComparison | None = None, costs: Sequence[CostComparison] = ()
) -> tuple[str, ...]:
    """The remarks on a case, one line each.

    Args:
        case: what was run.
        outcome: its result on the worker.
        timing: its times compared with the accepted ones.
        costs: its costs compared with the accepted ones.
    """
    return (
        *outcome.observations.instruments.exchanges,
        *outcome.observations.instruments.unwatched,
        *_poison(outcome),
        *_timing(outcome, timing),
        *(one.message for one in costs if not one.fails and (not one.measure or one.actual != one.expected)),
        *_resources(case, outcome),
        *_sanitizer(case, outcome),
    )


def _poison(outcome: Outcome) -> Iterator[str]:
    for name, compared in outcome.observations.poisons.items():
        unwritten, shows = compared.unwritten, compared.shows
        if unwritten:
            count = f"{unwritten.elements} of {unwritten.of}"
            yield f"{name}: {count} elements were never written: {write_coverage.ranges_text(unwritten)}"
        if shows:
            yield (
                f"{name}: {shows.elements} of {shows.of} elements changed with what was there before, "
                f"the first at [{shows.first}]: they are read before they are written, or written in part, or not "
                "deterministic (--repeat 2 tells)"
            )
        if not unwritten and not shows:
            yield f"{name}: every element was written"


def _timing(outcome: Outcome, compared: TimingComparison | None) -> Iterator[str]:
    """The times, and how they compare with the accepted ones: where that fails it is the case's reason, or a note."""
    parts = []
    timing = outcome.observations.timing
    if timing is not None:
        samples = timing.samples_ms
        spread = f"{min(samples):.4g} to {max(samples):.4g} ms"
        clock = f", SM clock {timing.sm_clock}" if timing.sm_clock else ""
        parts.append(
            f"{timing.median_ms:.4g} ms: the median of {len(samples)} samples, {spread}, {timing.clock}{clock}"
        )
    is_large = compared is not None and compared.ratio is not None and compared.ratio >= _NOTABLE
    if compared is not None and not compared.fails and (timing is not None or is_large):
        is_changed_count = compared.measure == "instructions" and compared.status in ("faster", "slower")
        parts.append(f"{compared.status}: {compared.message}" if is_changed_count else compared.message)
    if parts:
        yield "; ".join(parts)


def _resources(case: Case, outcome: Outcome) -> Iterator[str]:
    counted = any(used.get("registers") for used in outcome.resources.values())
    if case.settings.resources and outcome.state == "done" and not counted:
        yield "resources: not judged, for this device counts no registers"


def _sanitizer(case: Case, outcome: Outcome) -> Iterator[str]:
    tool = case.settings.sanitize
    if tool is None:
        return
    report = outcome.observations.sanitizer
    if report is None:
        yield f"{tool}: not run, for the case did not come to its end"
        return
    if report.problem:
        yield f"{tool}: {report.problem}"
    elif not report.findings:
        yield f"{tool}: nothing found"
    yield from (f"{tool}: {finding.text}" for finding in report.findings[:_MOST_FINDINGS])
    if len(report.findings) > _MOST_FINDINGS:
        yield f"{tool}: {len(report.findings) - _MOST_FINDINGS} more findings are in results.json"
