"""Comparison of a night with the nights before it: causes of failures, changes, the order of cases.

The cause of a failure is made of codes and facts: the verdict, the kind of fault, the class of error or the strongest
pattern of the values, the kernel and the source line. It holds no message, no number of elements, sizes or times, and
no pattern of the indices: one mistake differs in one thread of a case, and in one column of the next. The extent tells
such differences of one case apart, whose shape stays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import field

from gpuregress.foundation.records import (
    NIGHT_STATUSES,
    Case,
    Comparison,
    EarlierVerdict,
    ErrorFigures,
    Extent,
    Fault,
    Figures,
    JobOwner,
    LackingDevice,
    NightChanges,
    NightFailure,
    NightRemark,
    RunSummary,
    Since,
    Suspects,
    Verdict,
)
from gpuregress.foundation.wording import joined
from gpuregress.gpu.records import Record, replace
from gpuregress.judge.verdict.decision import over_limits
from gpuregress.report.case_lines import NEAR, percentage

FLAKY_NIGHTS = 10
_FLIPS = 3
"""Changes of the verdict from which on a case is flaky: one bug and its fix are two."""
_MAY_BE_FLAKY = ("differ", "timeout")
_STEADY = 3
"""Failures in a row from which on a case just fails, however often its verdict changed before."""
_NOT_ITS_OWN = ("error", "missing")
"""Verdicts that tell of the device, the disk or the job, and not of what a case computes: no case is flaky by them."""


def _never(_verdict: Verdict) -> Since | None:
    return None


def _is_untouched(_case: str) -> bool:
    return False


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
        suspects: such a case → the commits that may be to blame, likewise.
        owners: of jobs on the last night.
        is_touched: whether a commit since the last night touches a file of a case, so that its verdict may well change.
        slower_since: verdict on a slower case → when the level of its times began; None: tonight, or not known.
    """

    against: str = ""
    unknown: str = ""
    last: Mapping[str, EarlierVerdict] = field(default_factory=dict)
    trend: Callable[[str], Sequence[EarlierVerdict]] = _no_trend
    since: Mapping[str, Since] = field(default_factory=dict)
    suspects: Mapping[str, Suspects] = field(default_factory=dict)
    owners: tuple[JobOwner, ...] = ()
    is_touched: Callable[[str], bool] = _is_untouched
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
    new: list[NightFailure] = []
    changed: list[NightFailure] = []
    still: list[NightFailure] = []
    unaccepted: list[NightFailure] = []
    for plain in _failures(summary):
        failure = _with_history(plain, earlier, extents.get(plain.case))
        if failure.status == "new":
            unaccepted.append(failure)
        elif failure.since is None:
            new.append(failure)
        elif failure.before:
            changed.append(failure)
        else:
            still.append(failure)
    fixed = list(_fixed(summary, earlier))
    flaky = dict(_flaky(summary, (*new, *changed, *still, *fixed), earlier))

    def without_flaky(failures: Sequence[NightFailure]) -> tuple[NightFailure, ...]:
        return tuple(failure for failure in failures if failure.case not in flaky)

    passing = [verdict for verdict in summary.verdicts if verdict.status == "pass"]
    return NightChanges(
        against=earlier.against,
        unknown=earlier.unknown,
        new=without_flaky(new),
        changed=without_flaky(changed),
        still=without_flaky(still),
        unaccepted=tuple(unaccepted),
        fixed=without_flaky(fixed),
        slower=tuple(_slower(summary, earlier)),
        near=tuple(_near(passing, earlier)),
        known=tuple(_known(summary)),
        flaky=tuple(flaky.values()),
        lacking=left_out.lacking,
        no_turn=left_out.no_turn,
        held_back=left_out.held_back,
    )


def diagnosis(verdict: Verdict) -> str:
    """`b: 689 of 1000 differ; all are 1/10 of what they should be`: the reason, and a pattern or the worst element."""
    failing = verdict.failing
    if verdict.status != "differ" or not failing:
        return verdict.reason
    if failing[0].findings:
        strongest = failing[0].findings[0]
        return f"{verdict.reason}; {strongest.summary or strongest.message}"
    worst = failing[0].worst
    if worst is None or not worst.expected:
        return verdict.reason
    return f"{verdict.reason}; {worst.place}: {worst.actual or 'missing'}, was {worst.expected}"


def _failures(summary: RunSummary) -> Iterator[NightFailure]:
    for verdict in summary.verdicts:
        if verdict.status in NIGHT_STATUSES or verdict.status == "new":
            yield NightFailure(verdict.case, verdict.status, diagnosis(verdict), verdict.cause)
    for missing in summary.missing:
        yield NightFailure(missing.case, "missing", missing.lines[0], "missing")


def _known(summary: RunSummary) -> Iterator[NightRemark]:
    for verdict in summary.verdicts:
        known = verdict.known
        if known is not None:
            yield NightRemark(verdict.case, f"{known.status}, known until {known.until}: {known.why}")


def _with_history(failure: NightFailure, earlier: EarlierNights, extent: Extent | None) -> NightFailure:
    """Add the night of the first failure, and cause and counts before where they were other ones."""
    last = earlier.last.get(failure.case)
    if last is None or (failure.status == "new") != (last.verdict == "new"):
        return failure
    if failure.status != "new" and not last.has_failed:
        return failure
    before, counts = "", ""
    if failure.status != "new" and (last.verdict, last.cause) != (failure.status, failure.cause):
        before = last.cause or last.verdict
    if extent is not None and last.extent is not None:
        if last.extent.counts != extent.counts:
            counts = last.extent.counts
        if failure.status != "new" and not extent.is_like(last.extent):
            before = _described(last, last.extent)
    since = _since(earlier, failure.case, last)
    since = replace(since, nights=since.nights + 1)
    suspects = earlier.suspects.get(failure.case)
    return replace(failure, since=since, before=before, counts_before=counts, suspects=suspects)


def _described(last: EarlierVerdict, extent: Extent) -> str:
    """`zeros, periodic, by up to 1.5`: an earlier failure whose extent was another one."""
    error = f"by up to {extent.max_abs:.3g}" if extent.max_abs is not None else ""
    return joined(", ", last.cause or last.verdict, extent.place, error)


def _since(earlier: EarlierNights, case: str, last: EarlierVerdict) -> Since:
    """Find the series of failures that the last night belongs to; nights that skipped the case do not break it."""
    if case in earlier.since and last.run == earlier.against:
        return earlier.since[case]
    first, nights, good = last, 0, ""
    for night in earlier.trend(case):
        if night.verdict == "skip":
            continue
        if night.has_failed != last.has_failed or (night.verdict == "new") != (last.verdict == "new"):
            good = night.commit
            break
        first, nights = night, nights + 1
    return Since(
        run=first.run,
        started=first.started,
        commit=first.commit,
        nights=max(nights, 1),
        dirty=first.dirty,
        good=good,
    )


def last_night_before(failure: NightFailure, earlier: EarlierNights) -> EarlierVerdict | None:
    """Return the last night before a failure began, or changed; None where none is known.

    Args:
        failure: of tonight; one that failed before has another cause tonight.
        earlier: the nights before.
    """
    last = earlier.last.get(failure.case)
    if last is None or last.verdict == "pass" or failure.since is not None:
        return last
    for night in earlier.trend(failure.case):
        if night.verdict == "pass":
            return night
    return None


def _fixed(summary: RunSummary, earlier: EarlierNights) -> Iterator[NightFailure]:
    """The cases that pass and failed before, and the jobs that were wrong and are not."""
    passing = {verdict.case for verdict in summary.verdicts if verdict.status == "pass"}
    cases = {verdict.case for verdict in summary.verdicts}
    jobs = {verdict.job for verdict in summary.verdicts}
    for case, last in earlier.last.items():
        if last.has_failed and (case in passing or (case in jobs - cases and last.verdict == "error")):
            yield NightFailure(case, last.verdict, cause=last.cause, since=_since(earlier, case, last))


def _slower(summary: RunSummary, earlier: EarlierNights) -> Iterator[NightRemark]:
    """The cases that are slower than accepted, and do not fail for it."""
    for verdict in summary.verdicts:
        timing = verdict.timing
        if timing is not None and timing.status == "slower" and not timing.fails:
            since = earlier.slower_since(verdict)
            yield NightRemark(verdict.case, timing.message, since is None, since, timing.ratio or 0.0)


def _near(passing: Sequence[Verdict], earlier: EarlierNights) -> Iterator[NightRemark]:
    """The cases that pass and have used most of their tolerance."""
    for verdict in passing:
        share, last = verdict.tolerance_share, earlier.last.get(verdict.case)
        if share is None or share <= NEAR:
            continue
        text = f"{percentage(share)} of its tolerance is used"
        if last is None or last.tolerance_share is None:
            yield NightRemark(verdict.case, text, is_new=True, size=share)
        else:
            text += f", {percentage(last.tolerance_share)} on the last night"
            yield NightRemark(verdict.case, text, is_new=last.tolerance_share <= NEAR, size=share)


def _flaky(
    summary: RunSummary, failures: Sequence[NightFailure], earlier: EarlierNights
) -> Iterator[tuple[str, NightRemark]]:
    """The cases among some whose verdict moves back and forth without a change of the code.

    An error and a missing case are never among them: they say nothing of what the case computes.
    """
    verdicts = {verdict.case: verdict for verdict in summary.verdicts}
    for failure in failures:
        verdict = verdicts.get(failure.case)
        if verdict is None or failure.status not in _MAY_BE_FLAKY or verdict.status not in ("pass", *_MAY_BE_FLAKY):
            continue
        tonight = EarlierVerdict(
            run=summary.run,
            started=summary.started,
            verdict=verdict.status,
            cause=verdict.cause,
            commit=summary.commit,
            revision=verdict.revision,
            extent=verdict.extent,
        )
        trend = earlier.trend(verdict.case)
        words = flaky_verdicts((tonight, *trend))
        if not words or earlier.is_touched(verdict.case):
            continue
        text = "its verdict changes, and its code does not"
        if verdict.revision:
            text += f" (revision {verdict.revision})"
        yield verdict.case, NightRemark(verdict.case, f"{text}: {words}", is_new=not flaky_verdicts(trend))


def flaky_verdicts(nights: Sequence[EarlierVerdict]) -> str:
    """Return `pass differ pass differ` of a case whose verdict changed three times; "" of any other case.

    A fault is a bug, however often it shows: only the nights after it count. A newest failure that no earlier night
    had is news. Three failures in a row are a bug that stays.

    Args:
        nights: the newest first. Those of the last ten count that ran the revision of the newest one.
    """
    ran = [night for night in nights if night.verdict == "pass" or night.has_failed][:FLAKY_NIGHTS]
    counted: list[EarlierVerdict] = []
    for night in ran:
        if night.verdict in _NOT_ITS_OWN or night.revision != ran[0].revision:
            continue
        if night.verdict not in ("pass", *_MAY_BE_FLAKY):
            break
        counted.append(night)
    flips = sum(later.has_failed != before.has_failed for later, before in itertools.pairwise(counted))
    if flips < _FLIPS or all(night.has_failed for night in counted[:_STEADY]):
        return ""
    newest, *before = counted
    if newest.has_failed and not any(_is_alike(newest, night) for night in before):
        return ""
    return " ".join(night.verdict for night in reversed(counted))


def _is_alike(tonight: EarlierVerdict, before: EarlierVerdict) -> bool:
    """Whether two failures of a case may be of one mistake."""
    if (tonight.verdict, tonight.cause) != (before.verdict, before.cause):
        return False
    return tonight.extent is None or before.extent is None or tonight.extent.is_like(before.extent)


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
        if verdict.has_failed:
            return 0, 0, ""
        return 2, verdict.number, verdict.started

    return tuple(sorted(cases, key=rank))


# --- causes -----------------------------------------------------------------------------------------------------------


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
    if verdict.status in ("fault", "timeout") and verdict.fault is not None:
        return _of_fault(verdict.fault, case)
    if verdict.status == "differ":
        return _of_difference(verdict, case)
    error = verdict.error
    if not error and verdict.outcome is not None:
        error = verdict.outcome.observations.error
    place = ""
    if verdict.location is not None and verdict.location.line:
        place = f" at {Path(verdict.location.file).name}:{verdict.location.line}"
    return joined(": ", verdict.status, error + place)


def extent_of(verdict: Verdict) -> Extent | None:
    """Return the extent of the difference that names the cause; None where nothing differs.

    Args:
        verdict: on the case.
    """
    if verdict.status != "differ" or not verdict.failing:
        return None
    failing = verdict.failing[0]
    extent = Extent(failing.differing, failing.of)
    if isinstance(failing.figures, ErrorFigures):
        extent = replace(extent, max_abs=failing.figures.max_abs)
    for finding in failing.findings:
        if finding.place:
            return replace(extent, place=finding.place)
    return extent


def _of_fault(fault: Fault, case: Case | None) -> str:
    """`out-of-bounds in scale at scale.cu:5`; the kernel where it was a launch of the case itself."""
    words = [fault.kind]
    if case is not None and fault.position is not None and fault.position < len(case.launches):
        words.append(f"in {case.launches[fault.position].kernel}")
    if fault.location.file and fault.location.line is not None:
        words.append(f"at {fault.location.file}:{fault.location.line}")
    return " ".join(words)


def _of_difference(verdict: Verdict, case: Case | None) -> str:
    if verdict.failing:
        return f"differ: {_of_comparison(verdict.failing[0])}"
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


def _of_comparison(comparison: Comparison) -> str:
    """The strongest pattern of the values with the first wrong kernel, else what was compared."""
    wrong, where = comparison.first_wrong, ""
    if wrong is not None and wrong.among == 1:
        where = f", first in {wrong.kernel}"
    for finding in comparison.findings:
        if not finding.place:
            return f"{finding.pattern}{where}"
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
