"""Remarks on a case: lanes, poison, timing, resources, compute-sanitizer, tolerances."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import (
    BufferVerdict,
    Case,
    CostComparison,
    Outcome,
    PastResult,
    TimingComparison,
    Verdict,
    pattern_of,
    without_set,
)
from gpuregress.foundation.wording import first_names, plural
from gpuregress.judge import write_coverage
from gpuregress.report.case_lines import NEAR, percentage
from gpuregress.store.history import Reader

_MOST_FINDINGS = 5
_NOTABLE = 2.0
"""The ratio of instructions from which a case is reported as slower although it has no `timing:`."""


def of_measurements(
    case: Case, outcome: Outcome, timing: TimingComparison | None = None, costs: Sequence[CostComparison] = ()
) -> tuple[str, ...]:
    """The remarks on a case, one line each.

    Args:
        case: what was run.
        outcome: its result on the worker.
        timing: its times compared with the accepted ones.
        costs: its costs compared with the accepted ones.
    """
    tolerated = [cost for cost in costs if not cost.fails]
    return (
        *outcome.observations.instruments.exchanges,
        *outcome.observations.instruments.unwatched,
        *_poison(outcome),
        *_timing(outcome, timing),
        *(cost.message for cost in tolerated if not cost.measure or cost.actual != cost.expected),
        *_resources(case, outcome),
        *_sanitizer(case, outcome),
    )


def of_program(case: Case, outcome: Outcome) -> Iterator[str]:
    """Yield remarks on launches of a program that were refused, and on names in its job that no buffer has."""
    if case.program is None or outcome.state != "done":
        return
    if outcome.observations.refused:
        more = len(outcome.observations.refused) - 1
        further = f", and {plural(more, 'further refusal')}" if more else ""
        yield f"{outcome.observations.refused[0]}{further}; the program ended with 0 all the same"
    buffers = [dump.buffer for dump in outcome.dumps]
    named = {"compare": case.program.compare, "dtypes": case.program.dtypes, "dump": case.program.dump}
    for key, patterns in named.items():
        for pattern in patterns:
            if not any(pattern_of(buffer, (pattern,)) for buffer in buffers):
                own = dict.fromkeys(map(without_set, buffers))
                yield f"{key}: no buffer is called {pattern}; there are {first_names(list(own))}"


def of_untyped_buffers(case: Case, outcome: Outcome) -> Iterator[str]:
    """Yield remarks on the buffers of a program that are compared as bytes, for the job does not say what they hold."""
    if case.program is None:
        return
    untyped: dict[str, None] = {}
    for dump in outcome.dumps:
        wanted = case.program.dtype_of(dump.buffer)
        if wanted is None:
            untyped[without_set(dump.buffer)] = None
        elif wanted != dump.dtype:
            yield f"{dump.buffer}: compared as bytes: {plural(dump.count, 'byte')} are not whole elements of {wanted}"
    if untyped:
        names = list(untyped)
        key = f"dtypes: {{{names[0]}: float32}}"
        yield f"{first_names(names)}: compared as bytes; give the type of their elements, such as {key}"


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
    if compared is not None and not compared.fails:
        is_large = compared.ratio is not None and compared.ratio >= _NOTABLE
        is_changed_count = compared.measure == "instructions" and compared.status in ("faster", "slower")
        if timing is not None or is_large:
            parts.append(f"{compared.status}: {compared.message}" if is_changed_count else compared.message)
    if parts:
        yield "; ".join(parts)


def _resources(case: Case, outcome: Outcome) -> Iterator[str]:
    counted = any(used.get("registers") for used in outcome.resources.values())
    if case.settings.resources and outcome.state == "done" and not counted:
        yield "resources: not judged, because this device counts no registers"


def _sanitizer(case: Case, outcome: Outcome) -> Iterator[str]:
    tool = case.settings.sanitize
    if tool is None:
        return
    report = outcome.observations.sanitizer
    if report is None:
        yield f"{tool}: not run, because the case did not run to its end"
        return
    if report.problem:
        yield f"{tool}: {report.problem}"
    elif not report.findings:
        yield f"{tool}: nothing found"
    yield from (f"{tool}: {finding.text}" for finding in report.findings[:_MOST_FINDINGS])
    if len(report.findings) > _MOST_FINDINGS:
        yield f"{tool}: {len(report.findings) - _MOST_FINDINGS} more findings are in results.json"


_FEWEST = 0.1
_NOISE = 0.05
"""A smaller share counts as this one."""
_LAST = 100


class ToleranceRemarks:
    """Remarks on the cases of one run, from the history as it was before, which is opened where it is needed.

    Args:
        path: the history's file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader: Reader | None = None

    def close(self) -> None:
        """Close the history."""
        if self._reader is not None:
            self._reader.close()

    def remarks(self, verdict: Verdict) -> tuple[str, ...]:
        """Return the remarks on a case that passes, one line each."""
        share = verdict.tolerance_share
        if verdict.status not in ("pass", "new") or share is None or share < _FEWEST:
            return ()
        line = doubled(verdict, self._past(verdict))
        if line or share > NEAR:
            return (f"{percentage(share)} of its tolerance used{_buffer(verdict)}{line}",)
        return ()

    def _past(self, verdict: Verdict) -> tuple[PastResult, ...]:
        kind = ""
        if verdict.outcome is not None and verdict.outcome.device is not None:
            kind = verdict.outcome.device.name
        # A damaged history is reported at the end of the run.
        with contextlib.suppress(StorageError, sqlite3.Error):
            if self._reader is None and self._path.is_file():
                self._reader = Reader.open(self._path)
            if self._reader is not None:
                return self._reader.trend(verdict.case, _LAST, kind, is_own=True)
        return ()


def doubled(verdict: Verdict, newest_first: Sequence[PastResult]) -> str:
    """Compare the use of a tolerance with earlier ones.

    Args:
        verdict: of this run.
        newest_first: earlier results of the case.

    Returns:
        `; 30 % in the previous run, 20261120T020000Z-3f2a`; "" where it has not doubled.
    """
    share = verdict.tolerance_share or 0.0
    previous, accepted = None, None
    for result in newest_first:
        if result.verdict in ("pass", "new") and result.tolerance_share is not None:
            previous = previous or result
            if verdict.baseline_revision and result.revision == verdict.baseline_revision:
                accepted = result
                break
    for name, past in (("previous run", previous), ("last run of the accepted revision", accepted)):
        if past is None or share < _FEWEST:
            continue
        before = past.tolerance_share or 0.0
        if share >= 2 * max(before, _NOISE):
            return f"; {percentage(before)} in the {name}, {past.run}"
    return ""


def _buffer(verdict: Verdict) -> str:
    """Name the buffer that uses most, where there are several."""
    if len(verdict.buffers) < 2:
        return ""
    largest = max(verdict.buffers, key=_largest_share)
    return f" by {largest.name}"


def _largest_share(buffer: BufferVerdict) -> float:
    return max((comparison.tolerance_share or 0.0 for comparison in buffer.comparisons), default=0.0)
