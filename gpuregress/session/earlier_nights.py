"""Earlier nights of a project on one kind of device, and the comparison of tonight with them.

A history that is missing or damaged makes no failure vanish: each of them is new then, and the report says so.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import field

from gpuregress.foundation import git
from gpuregress.foundation.errors import ExitCode, StorageError, UsageError
from gpuregress.foundation.records import (
    Case,
    EarlierVerdict,
    JobOwner,
    NightChanges,
    NightPoint,
    PastResult,
    PastRun,
    RunSummary,
    Since,
    Suspects,
    Verdict,
)
from gpuregress.gpu.records import Record, replace
from gpuregress.judge.nights import FLAKY_NIGHTS, EarlierNights, LeftOut, compare_nights, flaky_verdicts, ordered
from gpuregress.judge.verdict import exit_code
from gpuregress.session import repository
from gpuregress.session import suspects as suspect_commits
from gpuregress.session.repository import Repository
from gpuregress.session.run_context import RunContext
from gpuregress.session.runs import history_entry, journal
from gpuregress.store.history import History, series
from gpuregress.store.history.series import device_kind
from gpuregress.store.project import Project

_NIGHTS = 40
"""Nights in which the last verdict of a case is looked for: some may have had other cases."""
FEW_NIGHTS = 3
FEW_CASES = 200
"""Cases that are looked for one by one, where the last few nights had no verdict on them."""
_LOOKED_AT = 60
_NO_NIGHT = "no earlier night on {} is known"


@contextlib.contextmanager
def opened(project: Project, device: str, run: str, cases: Collection[str]) -> Iterator[EarlierNights]:
    """Open the history and read the last verdicts of some cases.

    Args:
        device: of tonight.
        run: tonight's name.
        cases: tonight's; the search ends when each of them is found.

    Raises:
        StorageError: the history cannot be read.
    """
    kind = device_kind(device)
    path = project.runs / history_entry.FILE
    if not path.exists():
        yield EarlierNights(unknown=_NO_NIGHT.format(kind))
        return
    with History(path) as history:
        if history.note:
            raise StorageError(history.note)
        nights = itertools.islice(_nights(history, kind, run), _NIGHTS)
        first = next(nights, None)
        if first is None:
            yield EarlierNights(unknown=_NO_NIGHT.format(kind))
            return

        written = reversed([one.run for one in history.all_runs() if not one.imported])
        numbers = {name: number for number, name in enumerate(written, 1)}

        def earlier(result: PastResult) -> EarlierVerdict:
            return _earlier(result, numbers.get(result.run, 0))

        def past_nights(case: str) -> list[PastResult]:
            past = history.trend(case, _LOOKED_AT, kind, is_own=True)
            return [result for result in past if result.kind == "nightly" and result.run != run]

        def trend(case: str) -> list[EarlierVerdict]:
            return [earlier(result) for result in past_nights(case)]

        def slower_since(verdict: Verdict) -> Since | None:
            return _level_since(past_nights(verdict.case), verdict)

        recorded = _recorded(project.runs, first)
        last = {case: EarlierVerdict(first.run, first.started, "missing", "missing") for case in recorded.missing}
        for number, night in enumerate(itertools.chain((first,), nights)):
            absent = [case for case in cases if case not in last]
            if (number and not absent) or (number >= FEW_NIGHTS and len(absent) <= FEW_CASES):
                for case in absent:
                    judged = [verdict for verdict in trend(case) if verdict.verdict != "skip"]
                    if judged:
                        last[case] = judged[0]
                break
            for result in history.results_of(night):
                if result.verdict != "skip":
                    last.setdefault(result.case, earlier(result))
        yield EarlierNights(
            against=first.run,
            last=last,
            trend=trend,
            since=recorded.since,
            suspects=_suspects(project.runs, history, kind, run),
            owners=recorded.owners,
            slower_since=slower_since,
        )


def _level_since(past: Sequence[PastResult], verdict: Verdict) -> Since | None:
    """The night on which the present level of a case's times began; None where that is tonight."""
    timing = verdict.timing
    if timing is None or not timing.expected or not timing.actual:
        return None
    device = verdict.outcome.device if verdict.outcome is not None else None
    if timing.measure == "time" and device is not None:
        past = [result for result in past if result.model == device.model]
    first = series.level_since(past, timing.measure, timing.expected, timing.actual)
    if first is None:
        return None
    return Since(first.run, first.started, first.commit, dirty=first.dirty)


def _nights(history: History, kind: str, run: str) -> Iterator[PastRun]:
    """The finished nights on a kind of device before a run, the newest first."""
    before = run
    for _ in range(_LOOKED_AT):
        night = history.previous_night(before)
        if night is None:
            return
        end = journal.end_of(history.path.parent / night.run)  # None where its folder was removed
        if device_kind(night.device) == kind and (end is None or end.state == "finished"):
            yield night
        before = night.run


class _Recorded(Record):
    """The record of a night on its failures: the history has only verdicts.

    Attributes:
        since: case → when its failure began.
        suspects: case → the commits that may be to blame.
        missing: cases that were missing.
        quarantined: cases that were known to be flaky: they failed no night.
        owners: of jobs.
    """

    since: Mapping[str, Since] = field(default_factory=dict)
    suspects: Mapping[str, Suspects] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    quarantined: frozenset[str] = frozenset()
    owners: tuple[JobOwner, ...] = ()


def _suspects(runs: Path, history: History, kind: str, run: str) -> Mapping[str, Suspects]:
    """The suspects of each case's failure, from the last few nights: not every night has a turn for each case."""
    suspects: dict[str, Suspects] = {}
    for night in itertools.islice(_nights(history, kind, run), FEW_NIGHTS):
        suspects = {**_recorded(runs, night).suspects, **suspects}
    return suspects


def _recorded(runs: Path, night: PastRun) -> _Recorded:
    """Read the record of a night."""
    end = journal.end_of(runs / night.run)
    if end is None:
        return _Recorded()
    missing = tuple(entry.case for entry in end.missing)
    first = Since(night.run, night.started, night.commit, dirty=night.dirty)
    if end.changes is None:
        return _Recorded(since=dict.fromkeys(missing, first), missing=missing)
    since: dict[str, Since] = {}
    suspects: dict[str, Suspects] = {}
    for failure in (*end.changes.new, *end.changes.changed, *end.changes.still, *end.changes.unaccepted):
        began = failure.since or first
        if failure.suspects is not None:
            suspects[failure.case] = failure.suspects
            if failure.since is None:
                began = replace(began, good=failure.suspects.good)
        since[failure.case] = began
    return _Recorded(
        since=since,
        suspects=suspects,
        missing=missing,
        quarantined=end.changes.quarantined,
        owners=end.changes.owners,
    )


class FlakyCase(Record):
    """A case whose verdict changes from night to night, and whose code does not.

    Attributes:
        case: its name.
        device: `cpu` or `cuda`.
        revision: of its source, "" where that is unknown.
        verdicts: of the nights that tell, the oldest first.
        run: the last night that ran it.
    """

    case: str
    device: str
    revision: str
    verdicts: tuple[str, ...]
    run: str


def flaky_cases(history: History) -> Iterator[FlakyCase]:
    """Find the flaky cases of the last night on each kind of device.

    Raises:
        StorageError: the history was damaged.
    """
    seen: set[str] = set()
    for night in history.all_runs():
        kind = device_kind(night.device)
        if night.kind != "nightly" or night.imported or kind in seen:
            continue
        seen.add(kind)
        for result in history.results_of(night):
            past = history.trend(result.case, _LOOKED_AT, kind, is_own=True)
            nights = [_earlier(entry) for entry in past if entry.kind == "nightly"]
            words = flaky_verdicts(nights)
            if words:
                yield FlakyCase(result.case, kind, result.revision, tuple(words.split()), night.run)


_MOST_COMMITS = 12


def trend(project: Project, history: History, last: int) -> dict[str, tuple[NightPoint, ...]]:
    """Read the trend of a project's nights.

    Args:
        project: whose repository has the commits.
        history: of all runs.
        last: the number of nights of each kind of device.

    Returns:
        Kind of device → its nights, the oldest first.
    """
    nights: dict[str, list[PastRun]] = {}
    for run in history.all_runs():
        if run.kind == "nightly" and not run.imported:
            nights.setdefault(device_kind(run.device), []).append(run)
    found = repository.find(project.root)
    return {kind: tuple(_points(history, runs[:last][::-1], found)) for kind, runs in nights.items()}


def _points(history: History, nights: Sequence[PastRun], found: Repository | None) -> Iterator[NightPoint]:
    """The points of some nights of one kind of device, the oldest first."""
    pasts: dict[str, deque[PastResult]] = {}  # what the rule on flaky cases looks at, the newest first
    failing: set[str] = set()
    counted: dict[str, int] = {}
    level: float | None = None
    before: PastRun | None = None
    for night in nights:
        recorded = _recorded(history.path.parent, night)
        verdicts: Counter[str] = Counter()
        tonight: dict[str, int] = {}
        flaky = quarantined = 0
        for result in history.results_of(night):
            verdicts[result.verdict] += 1
            past = pasts.setdefault(result.case, deque(maxlen=FLAKY_NIGHTS))
            if result.verdict not in ("skip", "new"):
                past.appendleft(result)
            if result.verdict == "pass":
                if result.instructions:
                    tonight[result.case] = result.instructions
            elif result.verdict != "skip":
                failing.add(result.case)
                quarantined += result.case in recorded.quarantined
            if result.case in failing:  # few, and the rule takes long
                flaky += bool(flaky_verdicts([_earlier(entry) for entry in past]))
        # Only cases that both nights counted: what changed while a case failed is of no known night.
        ratios = [math.log(count / counted[case]) for case, count in tonight.items() if case in counted]
        if ratios:
            level = (level or 1.0) * math.exp(sum(ratios) / len(ratios))
        elif tonight and level is None:
            level = 1.0
        counted = tonight or counted
        commits = _commits_between(before, night, found)
        before = night
        yield NightPoint(
            night=replace(night, counts=verdicts),
            flaky=flaky,
            quarantined=quarantined,
            instructions=level if tonight else None,
            missing=len(recorded.missing),
            commits=commits,
        )


def _commits_between(before: PastRun | None, night: PastRun, found: Repository | None) -> tuple[str, ...]:
    """The commits since the night before, in words."""
    if found is None or before is None or not (before.commit and night.commit) or before.commit == night.commit:
        return ()
    try:
        commits = found.commits_after(before.commit, night.commit)
    except UsageError:
        return (f"unknown: git lacks {before.commit[:7]} or {night.commit[:7]}",)
    texts = [f"{commit.short} {commit.subject} ({commit.author})" for commit in commits[:_MOST_COMMITS]]
    if len(commits) > _MOST_COMMITS:
        texts.append(f"and {len(commits) - _MOST_COMMITS} more")
    return tuple(texts)


def _earlier(result: PastResult, number: int = 0) -> EarlierVerdict:
    return EarlierVerdict(
        run=result.run,
        started=result.started,
        verdict=result.verdict,
        cause=result.cause,
        tolerance_share=result.tolerance_share,
        commit=result.commit,
        revision=result.revision,
        dirty=result.dirty,
        extent=result.extent,
        number=number,
    )


def night_order(context: RunContext, cases: tuple[Case, ...], run: str) -> tuple[tuple[Case, ...], str]:
    """Order the cases of a night, recent failures first; those of another run stay as they are.

    Args:
        cases: in the order of the plan.
        run: tonight's name.

    Returns:
        The cases; and why the earlier nights are not known, "" where they are.
    """
    if context.request.kind != "nightly":
        return cases, ""
    names = {case.name for case in cases}
    try:
        with opened(context.project, context.devices.kind, run, names) as earlier:
            return ordered(cases, earlier.last), ""
    except StorageError as error:
        return cases, f"the earlier nights are not known: {error}"


def _with_gone_commits(changes: NightChanges, root: Path) -> NightChanges:
    """Mark the commits that the repository has no more."""

    @functools.cache
    def is_gone(commit: str) -> bool:
        return bool(commit) and git.lacks_commit(root, commit)

    marked: dict[str, Any] = {}
    for name in ("changed", "still", "unaccepted", "fixed", "slower"):
        entries = []
        for entry in getattr(changes, name):
            since = entry.since
            if since is not None:
                since = replace(since, gone=is_gone(since.commit))
            entries.append(replace(entry, since=since))
        marked[name] = tuple(entries)
    return replace(changes, **marked)


def with_changes(
    context: RunContext, summary: RunSummary, planned: Collection[Case], left_out: LeftOut, unknown: str = ""
) -> RunSummary:
    """Add the changes to a night's summary; another run's stays as it is.

    Args:
        summary: its verdicts.
        planned: its cases.
        left_out: cases that did not run.
        unknown: why the earlier nights are not known, "" where they are.
    """
    if context.request.kind != "nightly":
        return summary
    cases = {verdict.case for verdict in summary.verdicts}
    owners = dict.fromkeys(JobOwner(case.job, address) for case in planned for address in case.owners)
    jobs = {case.job for case in planned}
    try:
        with opened(context.project, context.devices.kind, summary.run, cases) as earlier:
            # A job that is broken or gone cannot name its owners, who must hear of that.
            owners.update(dict.fromkeys(owner for owner in earlier.owners if owner.job not in jobs))
            known = EarlierNights(unknown=unknown) if unknown else earlier
            search = suspect_commits.opened(context.project, summary, planned)
            if search is not None:
                known = replace(known, is_touched=functools.partial(search.touches, earlier=known))
            changes = _with_gone_commits(compare_nights(summary, known, left_out), context.project.root)
            if search is not None:
                changes = suspect_commits.with_suspects(changes, search, known)
    except StorageError as error:
        unknown = f"the earlier nights are not known: {error}"
        changes = compare_nights(summary, EarlierNights(unknown=unknown), left_out)
    if unknown:
        summary = replace(summary, notes=(*summary.notes, unknown))
    changes = replace(changes, owners=tuple(owners))
    return _without_quarantined(replace(summary, changes=changes), changes, has_lost_device=context.request.lost)


def _without_quarantined(summary: RunSummary, changes: NightChanges, *, has_lost_device: bool) -> RunSummary:
    """The summary with the exit code that it has without the cases that are known to be flaky."""
    if summary.state != "finished" or not changes.quarantined:
        return summary
    verdicts = [verdict for verdict in summary.verdicts if verdict.case not in changes.quarantined]
    vanished = bool(summary.missing or changes.no_turn or changes.held_back)
    code = exit_code(verdicts, vanished=vanished, has_lost_device=has_lost_device)
    if code == ExitCode.NOTHING_TO_DO:  # the cases in quarantine did run
        code = 0
    return replace(summary, exit_code=code)
