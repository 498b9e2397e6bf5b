"""Changes of a night: each failure is new, another one than before, or the same; and what is fixed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import field

from gpuregress.foundation.records import (
    NIGHT_STATUSES,
    PLACES,
    Case,
    Comparison,
    EarlierVerdict,
    ErrorFigures,
    Extent,
    Fault,
    Figures,
    LackingDevice,
    NightChanges,
    NightFailure,
    NightRemark,
    RunSummary,
    Since,
    Verdict,
)
from gpuregress.gpu.records import Record, replace
from gpuregress.judge.verdict.decision import over_limits


def ordered(cases: Sequence[Case], last: Mapping[str, EarlierVerdict]) -> tuple[Case, ...]:
    """Order the cases of a night; equal ones stay as they are.

    Args:
        cases: in the order of the plan.
        last: case → its last verdict; a case without one has never run, or not for some nights.
    """

    def rank(case: Case) -> tuple[int, int, str]:
        verdict = last.get(case.name)
        if verdict is None:
            return 1, 0, ""
        return (0, 0, "") if verdict.has_failed else (2, verdict.number, verdict.started)

    return tuple(sorted(cases, key=rank))


# Cause of a failure in words, the same for all failures of one kind, and the extent of a difference.
# The cause is made of codes and facts: the verdict, the kind of fault or the class of error or the strongest
# pattern of the values, the kernel and the source line. No message is in it, no number of elements, sizes or times,
# and no pattern of the indices: one mistake differs in one thread of a case, and in one column of the next. The
# extent tells such differences of one case apart, whose shape stays.
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
