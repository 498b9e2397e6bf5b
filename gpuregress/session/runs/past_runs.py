"""Past runs in a project's history: imports, queries, and steps in the times of cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError, NothingToDo, StorageError, UsageError
from gpuregress.foundation.records import PastResult, PastRun, RunKind, RunSummary, ShortResult, TimingStep
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.judge import timing_comparison
from gpuregress.report import morning
from gpuregress.session.runs import history_entry, journal, results, run_folders
from gpuregress.store.dumps import run_names
from gpuregress.store.history import FAILING, History, periods, series
from gpuregress.store.history.series import device_kind
from gpuregress.store.project import Project

_DEEPEST = 3
"""Folders between one that is named and a run: the artifact, the project, `runs`."""


class ImportedRun(Record):
    """The import of one run.

    Attributes:
        summary: the run; None where it could not be read.
        kind: `run` or `nightly`.
        is_new: False where the history had it.
        problem: why it could not be imported, "" if it could.
    """

    folder: Path
    summary: RunSummary | None = None
    kind: RunKind = "run"
    is_new: bool = False
    problem: str = ""


def import_runs(project: Project, folders: Sequence[Path]) -> Iterator[ImportedRun]:
    """Add runs to a project's history; one that is in it stays as it is.

    Args:
        project: whose history.
        folders: of runs, or folders of such folders.

    Raises:
        UsageError: a folder is no run and holds none.
        StorageError: the history cannot be written.
    """
    runs: dict[Path, None] = {}
    for folder in folders:
        runs |= dict.fromkeys(runs_of(folder))
    with History(project.runs / history_entry.FILE) as history:
        if history.note:
            raise StorageError(history.note)
        for run in runs:
            yield _imported(project, history, run)
        history.forget(history_entry.KEPT)


def runs_of(folder: Path) -> list[Path]:
    """Return the folder of a run, or the folders of the runs in it, also in folders of artifacts.

    Raises:
        UsageError: it is no run and holds none.
    """
    if not (folder / journal.FILE).exists() and (folder / run_folders.RESULTS).exists():
        raise UsageError(
            f"{folder} has no {journal.FILE}, whose digests show that nothing was changed: "
            "copy the whole folder of the run"
        )
    runs = _runs_below(folder.absolute(), _DEEPEST)
    if not runs:
        raise UsageError(f"{folder} is not the folder of a run ({journal.FILE} is missing), and holds none")
    return runs


def _runs_below(folder: Path, levels: int) -> list[Path]:
    """The runs in a folder, and in the folders below it that are no runs."""
    if (folder / journal.FILE).exists():
        return [folder]
    named = run_names.every(folder)
    # One that lacks its journal is an error of its own: its cases must not be lost in silence.
    runs = [run for run in named if (run / journal.FILE).exists() or (run / run_folders.RESULTS).exists()]
    if levels and folder.is_dir():
        with storage.disk_errors(folder, "read"):
            entries = sorted(folder.iterdir())
        for entry in entries:
            # Where artifacts are packed, the link to the latest run becomes a copy of it.
            is_other = entry not in named and entry.name != run_names.LATEST and not entry.name.startswith(".")
            if is_other and entry.is_dir() and not entry.is_symlink():
                runs += _runs_below(entry, levels - 1)
    return runs


def _imported(project: Project, history: History, folder: Path) -> ImportedRun:
    try:
        read = journal.read(folder)
        if read.end is None:
            raise StorageError(f"{folder}: the run goes on, or was cut short: the next run there gives it its end")
        results.document(folder)
        summary = results.summary_of(read)
        is_own = folder.resolve().parent == project.runs.resolve()
        is_new = history.add_new(summary, read.start.kind, is_imported=not is_own)
    except GpuregressError as error:
        return ImportedRun(folder, problem=str(error))
    return ImportedRun(folder, summary, read.start.kind, is_new)


class HistoryQuery(Record):
    """A query.

    Attributes:
        selectors: case names, job names or globs; none: every case.
        since: the beginning of the period, as `history.periods` reads it; "" for all.
        last: the number of runs, or of results of a case; None: all.
        removed: with cases that no job has any more.
    """

    selectors: Sequence[str] = ()
    since: str = ""
    last: int | None = None
    removed: bool = False


class CaseTrend(Record):
    """One case on one kind of device, of one source, through a period.

    Attributes:
        case: its name.
        device: `cpu` or `cuda`.
        source: the host whose runs were imported; "" for the project's own.
        results: position of a run in the period → the result in it.
    """

    case: str
    device: str
    source: str
    results: dict[int, ShortResult]


class FailingCase(Record):
    """A case whose last result in a period is a failure.

    Attributes:
        newest: that result.
        since: the run in which the present unbroken series of failures began.
        failures: their number.
    """

    newest: PastResult
    since: PastRun
    failures: int


class Overview(Record):
    """The runs of a period and the cases in them.

    Attributes:
        runs: the newest first, with the numbers of their results.
        trends: of the cases, in natural order.
    """

    runs: tuple[PastRun, ...]
    trends: tuple[CaseTrend, ...]


_Series = tuple[str, str, str]
"""Case, kind of device, and the host whose runs were imported; "" for the project's own."""


class WantedCases:
    """The cases that a query is for.

    Args:
        project: whose jobs have the cases that are not removed.
        names: of all cases in the history.

    Raises:
        NothingToDo: no case of the history is selected, or all of them are removed ones.
    """

    def __init__(self, project: Project, query: HistoryQuery, names: Sequence[str]) -> None:
        for selector in query.selectors:
            if not any(_matches(name, selector) for name in names):
                raise NothingToDo(f"no run in the history has a case {selector!r}")
        selected = set(names)
        if query.selectors:
            selected = {name for name in names if any(_matches(name, selector) for selector in query.selectors)}
        self.names = frozenset(selected)
        if not query.removed:
            self.names = present_cases(project, selected) | selected.intersection(query.selectors)
        self.hidden = len(selected) - len(self.names)
        if selected and not self.names:
            raise NothingToDo("no job has these cases any more; --removed shows them")


def period(history: History, query: HistoryQuery) -> tuple[PastRun, ...]:
    """Return the runs of a period, the newest first.

    Raises:
        UsageError: its beginning means nothing.
        NothingToDo: there is none.
    """
    runs = history.all_runs()
    if query.since:
        moments = history.moments()
        dated = [replace(run, started=moment) for run, moment in zip(runs, moments, strict=True)]
        first = periods.beginning(query.since, dated, datetime.now(UTC))
        runs = tuple(run for run, moment in zip(runs, moments, strict=True) if moment >= first)
    if not runs:
        since = f" since {query.since}" if query.since else ""
        raise NothingToDo(f"no run in {history.path.parent} has ended{since or ' yet'}")
    return runs[: query.last]


def overview(history: History, runs: Sequence[PastRun], wanted: WantedCases) -> Overview:
    """Read the runs of a period and the results of each case in them."""
    trends: dict[_Series, CaseTrend] = {}
    counted = []
    own_hosts = _own_hosts(history.all_runs())
    for position, run in enumerate(runs):
        verdicts: Counter[str] = Counter()
        for result in history.short_results(run):
            verdicts[result.verdict] += 1
            if result.case in wanted.names:
                key = result.case, device_kind(result.device), _source(run, own_hosts)
                trends.setdefault(key, CaseTrend(*key, {})).results[position] = result
        counted.append(replace(run, counts=verdicts))
    return Overview(tuple(counted), tuple(trends[key] for key in sorted(trends, key=_order)))


def failing(history: History, runs: Sequence[PastRun], wanted: WantedCases) -> tuple[FailingCase, ...]:
    """Return the cases that fail at the end of some runs, in natural order; their series may begin before these runs.

    Imported runs are series of their own, one for each host: a pass on one host ends no series of another.

    Args:
        history: all runs.
        runs: the period, the newest first.
        wanted: the cases.
    """
    open_series: dict[_Series, list[PastRun]] = {}
    closed: set[_Series] = set()
    all_runs = history.all_runs()
    own_hosts = _own_hosts(all_runs)
    first, last = all_runs.index(runs[0]), all_runs.index(runs[-1])
    for place, run in enumerate(all_runs[first:], first):
        is_inside = place <= last
        if not is_inside and not open_series.keys() - closed:
            break
        for result in history.short_results(run):
            key = result.case, device_kind(result.device), _source(run, own_hosts)
            if result.case not in wanted.names or key in closed or not (is_inside or key in open_series):
                continue
            if result.verdict in FAILING:
                open_series.setdefault(key, []).append(run)
            elif result.verdict == "pass":
                closed.add(key)
    cases = []
    for case, device, source in sorted(open_series, key=_order):
        failed = open_series[case, device, source]
        cases.append(FailingCase(history.result(failed[0], case, device), failed[-1], len(failed)))
    return tuple(cases)


def _own_hosts(runs: Sequence[PastRun]) -> set[str]:
    return {run.host for run in runs if not run.imported}


def _source(run: PastRun, own_hosts: Collection[str]) -> str:
    """The host of a run that another host's project ran; "" for a run of this project."""
    return run.host if run.imported and run.host not in own_hosts else ""


def _order(key: _Series) -> tuple[series.NaturalKey, str, str]:
    """Natural order of cases, then of devices and hosts."""
    case, device, source = key
    return series.natural_key(case), device, source


def all_results(history: History, runs: Sequence[PastRun], names: frozenset[str]) -> Iterator[PastResult]:
    """Yield all results of some cases, the oldest run first, in natural order within a run.

    Args:
        history: all runs.
        runs: the newest first.
        names: of the cases.
    """
    for run in reversed(runs):
        wanted = [result for result in history.results_of(run) if result.case in names]
        yield from sorted(wanted, key=lambda result: (series.natural_key(result.case), result.device))


def case_results(
    history: History, runs: Sequence[PastRun], last: int | None, names: frozenset[str]
) -> Iterator[PastResult]:
    """Yield the last results of some cases in some runs, case by case in natural order, the oldest first."""
    inside = {(run.run, run.host) for run in runs}
    for name in sorted(names, key=series.natural_key):
        results = [result for result in history.trend(name, None) if (result.run, result.host) in inside]
        yield from reversed(results[:last])


def present_cases(project: Project, names: Collection[str]) -> frozenset[str]:
    """Keep the names of cases that a job has; the cases of a wrong job are not known, and stay."""
    try:
        planned = plan.make(project, (), keep_going=True)
    except GpuregressError:
        return frozenset(names)
    cases = {case.name for case in planned.cases}
    wrong = {broken.name for broken in planned.broken}
    return frozenset(name for name in names if name in cases or name.partition("/")[0] in wrong)


def _matches(case: str, selector: str) -> bool:
    return case == selector or case.startswith(f"{selector}/") or fnmatchcase(case, selector)


_MOST_STEPS = 5


def timing_steps(
    results: Iterable[PastResult], is_gone: Callable[[str], bool] = lambda _commit: False
) -> Iterator[str]:
    """The last steps of each case on each kind of device, and one line on the false alarms of all runs.

    Args:
        results: of any cases, those of a case the newest first.
        is_gone: returns whether the repository lacks a commit, given its hash.
    """
    by_case: dict[tuple[str, str], list[PastResult]] = {}
    for result in results:
        by_case.setdefault((result.case, device_kind(result.device)), []).append(result)
    for (case, kind), past in sorted(by_case.items()):
        for step in series.find_steps(past)[-_MOST_STEPS:]:
            yield f"{case} on {kind}: {_step_text(step, past[0].started, is_gone)}"
    timed = []
    for (case, kind), past in by_case.items():
        if kind != "cpu":
            timed += [(case, result.samples) for result in past if result.samples]
    measured = timing_comparison.false_alarms_among(timed)
    if measured is not None:
        yield timing_comparison.text(measured, "run")


def _step_text(step: TimingStep, newest: str, is_gone: Callable[[str], bool]) -> str:
    """`983 times as many instructions since 20 Nov, 8eb0c1f (29.7 k → 29.2 M)`."""
    since = f"since {morning.day(step.first.started, newest)}, {step.first.short_commit or step.first.run}"
    if step.first.commit and is_gone(step.first.commit):
        since += ", gone from git"
    if step.measure == "instructions":
        levels = f"{timing_comparison.count_text(int(step.before))} → {timing_comparison.count_text(int(step.after))}"
        return f"{_ratio(step.ratio)} times as many instructions {since} ({levels})"
    change = f"{_ratio(1 / step.ratio)} times faster"
    if step.ratio > 1:
        change = f"{_ratio(step.ratio)} times slower"
    return f"{change} {since} ({step.before:.4g} → {step.after:.4g} ms)"


def _ratio(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"
