"""Changes of a night: each failure is new, another one than before, or the same; and what is fixed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import field

from gpuregress.foundation.records import (
    NIGHT_STATUSES,
    EarlierVerdict,
    Extent,
    LackingDevice,
    NightChanges,
    NightFailure,
    NightRemark,
    RunSummary,
    Since,
    Verdict,
)
from gpuregress.gpu.records import Record, replace

NEAR = 0.8
"""The share of the tolerance from which on a case is near it."""
_FLAKY_NIGHTS = 10
_FLIPS = 2
_NOT_ITS_OWN = ("error", "missing")
"""Verdicts that tell of the device, the disk or the job, and not of what a case computes: no case is flaky by them."""


def _never(_verdict: Verdict) -> Since | None:
    return None


def _no_trend(_case: str) -> Sequence[EarlierVerdict]:
    return ()


class EarlierNights(Record):
    """What the history knows of the nights before this one, on the same device.

    Attributes:
        against: the last finished night, "" where none is known.
        unknown: why none is known.
        last: case → its last verdict; nights that skipped it do not count.
        trend: case → its verdicts on earlier nights, the newest first.
        since: case that failed on the last night → when that began, as far as that night's record tells.
        slower_since: verdict on a slower case → when the level of its times began; None: tonight, or not known.
    """

    against: str = ""
    unknown: str = ""
    last: Mapping[str, EarlierVerdict] = field(default_factory=dict)
    trend: Callable[[str], Sequence[EarlierVerdict]] = _no_trend
    since: Mapping[str, Since] = field(default_factory=dict)
    slower_since: Callable[[Verdict], Since | None] = _never


class LeftOut(Record):
    """Cases that a night did not run.

    Attributes:
        no_turn: the deadline came before their turn.
        held_back: their kernel had timed out too often.
        lacking: devices that jobs name and this host lacks.
    """

    no_turn: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()
    lacking: tuple[LackingDevice, ...] = ()


NOTHING_LEFT_OUT = LeftOut()


def compare_nights(summary: RunSummary, earlier: EarlierNights, left_out: LeftOut = NOTHING_LEFT_OUT) -> NightChanges:
    """Compare a night with the nights before it.

    Args:
        summary: the night.
        earlier: from the history. Where it knows no night, every failure is new.
        left_out: cases that did not run.
    """
    extents = {verdict.case: verdict.extent for verdict in summary.verdicts}
    failures = [_with_history(one, earlier, extents.get(one.case)) for one in _failures(summary)]
    new = tuple(one for one in failures if one.since is None and one.status != "new")
    changed = tuple(one for one in failures if one.since is not None and one.before)
    unaccepted = tuple(one for one in failures if one.status == "new")
    fixed = tuple(_fixed(summary, earlier))
    moved = dict.fromkeys(one.case for one in (*new, *changed, *fixed) if one.status not in _NOT_ITS_OWN)
    passing = [verdict for verdict in summary.verdicts if verdict.status == "pass"]
    return NightChanges(
        against=earlier.against,
        unknown=earlier.unknown,
        new=new,
        changed=changed,
        still=tuple(one for one in failures if one.since is not None and not one.before and one.status != "new"),
        unaccepted=unaccepted,
        fixed=fixed,
        slower=tuple(_slower(passing, earlier)),
        near=tuple(near for verdict in passing if (near := _near(verdict, earlier.last.get(verdict.case)))),
        known=tuple(
            NightRemark(verdict.case, f"{verdict.known.status}, known until {verdict.known.until}: {verdict.known.why}")
            for verdict in summary.verdicts
            if verdict.known is not None
        ),
        flaky=tuple(_flaky(summary, moved, earlier)),
        lacking=left_out.lacking,
        no_turn=left_out.no_turn,
        held_back=left_out.held_back,
    )


def diagnosis(verdict: Verdict) -> str:
    """`b: 689 of 1000 differ; all are 1/10 of what they should be`: the reason with the strongest pattern."""
    failing = [one for buffer in verdict.buffers for one in buffer.comparisons if not one.same]
    if verdict.status != "differ" or not failing or not failing[0].findings:
        return verdict.reason
    pattern = re.sub(r"^all [\d,]+ differing elements\b", "all", failing[0].findings[0].message)
    pattern = re.sub(r"\b(1/[0-9]+) times what\b", r"\1 of what", pattern)
    return f"{verdict.reason}; {pattern}"


def _failures(summary: RunSummary) -> Iterator[NightFailure]:
    for verdict in summary.verdicts:
        if verdict.status in NIGHT_STATUSES or verdict.status == "new":
            yield NightFailure(verdict.case, verdict.status, diagnosis(verdict), verdict.cause)
    for one in summary.missing:
        yield NightFailure(one.case, "missing", one.lines[0], "missing")


def _with_history(failure: NightFailure, earlier: EarlierNights, extent: Extent | None) -> NightFailure:
    """Add the night of the first failure, and cause and counts before where they were other ones."""
    last = earlier.last.get(failure.case)
    goes_on = last is not None and (last.verdict == "new" if failure.status == "new" else last.has_failed)
    if last is None or not goes_on:
        return failure
    then = last.extent
    is_other = extent is not None and then is not None and not extent.is_like(then)
    before = ""
    if failure.status != "new" and (is_other or (last.verdict, last.cause) != (failure.status, failure.cause)):
        before = last.cause or last.verdict
        if is_other and then is not None:
            error = f"by up to {then.max_abs:.3g}" if then.max_abs is not None else ""
            before = ", ".join(filter(None, (before, then.place, error)))
    counts = then.counts if then is not None and extent is not None and then.counts != extent.counts else ""
    since = _since(earlier, failure.case, last)
    since = replace(since, nights=since.nights + 1)
    return replace(failure, since=since, before=before, counts_before=counts)


def _since(earlier: EarlierNights, case: str, last: EarlierVerdict) -> Since:
    """Find the series of failures that the last night belongs to; nights that skipped the case do not break it."""
    if case in earlier.since and last.run == earlier.against:
        return earlier.since[case]
    first, nights = last, 0
    for one in earlier.trend(case):
        if one.verdict == "skip":
            continue
        if one.has_failed != last.has_failed or (one.verdict == "new") != (last.verdict == "new"):
            break
        first, nights = one, nights + 1
    return Since(first.run, first.started, first.commit, max(nights, 1), first.dirty)


def _fixed(summary: RunSummary, earlier: EarlierNights) -> Iterator[NightFailure]:
    """The cases that pass and failed before, and the jobs that were wrong and are not."""
    passing = {verdict.case for verdict in summary.verdicts if verdict.status == "pass"}
    cases = {verdict.case for verdict in summary.verdicts}
    jobs = {verdict.job for verdict in summary.verdicts}
    for case, last in earlier.last.items():
        if last.has_failed and (case in passing or (case in jobs - cases and last.verdict == "error")):
            yield NightFailure(case, last.verdict, cause=last.cause, since=_since(earlier, case, last))


def _slower(passing: Sequence[Verdict], earlier: EarlierNights) -> Iterator[NightRemark]:
    """The cases that pass and are slower than accepted: within their limit, or without one."""
    for verdict in passing:
        timing = verdict.timing
        if timing is not None and timing.status == "slower":
            since = earlier.slower_since(verdict)
            yield NightRemark(verdict.case, timing.message, since is None, since)


def _near(verdict: Verdict, last: EarlierVerdict | None) -> NightRemark | None:
    share = verdict.tolerance_share
    if share is None or share <= NEAR:
        return None
    was = last.tolerance_share if last is not None else None
    before = f", {was:.0%} on the last night" if was is not None else ""
    return NightRemark(verdict.case, f"{share:.0%} of its tolerance is used{before}", is_new=was is None or was <= NEAR)


def _flaky(summary: RunSummary, moved: Mapping[str, None], earlier: EarlierNights) -> Iterator[NightRemark]:
    """The cases whose verdict moved tonight, and has moved back and forth without a change of the code."""
    for verdict in summary.verdicts:
        if verdict.case not in moved:
            continue
        now = summary.run, summary.started, verdict.status
        tonight = EarlierVerdict(*now, commit=summary.commit, revision=verdict.revision)
        ran = [one for one in (tonight, *earlier.trend(verdict.case)) if one.verdict == "pass" or one.has_failed]
        nights = [one for one in ran[:_FLAKY_NIGHTS] if one.verdict not in _NOT_ITS_OWN]
        same = [one for one in nights if one.revision == verdict.revision]
        flips = [pair for pair in itertools.pairwise(same) if pair[0].has_failed != pair[1].has_failed]
        of_commit = [one for one, other in flips if one.commit and one.commit == other.commit]
        if len(of_commit) >= _FLIPS or len(flips) > _FLIPS:  # one bug and its fix are two
            words = " ".join(one.verdict for one in reversed(same))
            of = f" (revision {verdict.revision})" if verdict.revision else ""
            yield NightRemark(verdict.case, f"its verdict changes, and its code does not{of}: {words}", is_new=True)
