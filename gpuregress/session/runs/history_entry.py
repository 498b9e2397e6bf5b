"""Entry of a run in the project's history, which outlives the run's folder.

Damage to the history stops no run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from gpuregress.errors import NothingToDo, StorageError
from gpuregress.history import History
from gpuregress.project import Project
from gpuregress.records import PastResult, PastRun, RunKind, RunSummary

FILE = "history.sqlite"
KEPT = 1000
"""Runs that the history remembers; the folders of all but the last few are removed long before."""


def record(project: Project, summary: RunSummary, kind: RunKind) -> tuple[str, ...]:
    """Add a run to the project's history.

    Args:
        project: whose.
        summary: the run.
        kind: `run` or `nightly`.

    Returns:
        A line where the history was damaged, or could not be written.
    """
    try:
        with History(project.runs / FILE) as history:
            history.add(summary, kind)
            history.forget(KEPT)
            return (history.note,) if history.note else ()
    except StorageError as error:
        return (f"this run is not in the history: {error}",)


def runs(project: Project, last: int) -> tuple[PastRun, ...]:
    """The last runs, the oldest first.

    Raises:
        NothingToDo: there is none.
        StorageError: the history cannot be read.
    """
    with _open(project) as history:
        runs_ = history.runs(last)
    if not runs_:
        raise NothingToDo(f"no run in {project.runs} has ended yet")
    return tuple(reversed(runs_))


def results(project: Project, selectors: Sequence[str], last: int) -> dict[str, tuple[PastResult, ...]]:
    """The last results of each case, the oldest first.

    Args:
        project: whose.
        selectors: case names, job names or globs; none: every case.
        last: the number of results of each.

    Raises:
        NothingToDo: no run ever had such a case.
        StorageError: the history cannot be read.
    """
    by_case: dict[str, tuple[PastResult, ...]] = {}
    with _open(project) as history:
        for result in history.results(last=last):
            by_case[result.case] = (result, *by_case.get(result.case, ()))
    for selector in selectors:
        if not any(_matches(name, selector) for name in by_case):
            raise NothingToDo(f"no run in the history has a case {selector!r}")
    return {name: rows for name, rows in by_case.items() if not selectors or any(_matches(name, s) for s in selectors)}


@contextlib.contextmanager
def trends(runs: Path, last: int) -> Iterator[Callable[[str, str], tuple[PastResult, ...]]]:
    """Open the history for the trends of a page; without one, or with one that cannot be read, there are none.

    Args:
        runs: the project's folder of runs.
        last: the number of results of a trend.

    Yields:
        A function of a case and a kind of device: the last results, the newest first.
    """
    found = dict[tuple[str, str], tuple[PastResult, ...]]()
    with contextlib.ExitStack() as opened:
        history = None
        with contextlib.suppress(StorageError, OSError):
            if (runs / FILE).stat().st_size:
                history = opened.enter_context(History(runs / FILE))

        def trend(case: str, device: str) -> tuple[PastResult, ...]:
            if history is None:
                return ()
            if (case, device) not in found:
                with contextlib.suppress(StorageError):
                    found[case, device] = history.trend(case, last, device)
            return found.get((case, device), ())

        yield trend


def _open(project: Project) -> History:
    if not (project.runs / FILE).exists():
        raise NothingToDo(f"no run in {project.runs} has ended yet")
    if not (project.runs / FILE).stat().st_size:
        raise StorageError(f"{project.runs / FILE}: edited or cut short: it is empty; remove it to begin a new history")
    history = History(project.runs / FILE)
    if history.note:  # what was asked for is in the damaged file
        history.close()
        raise StorageError(history.note)
    return history


def _matches(case: str, selector: str) -> bool:
    return case == selector or case.startswith(f"{selector}/") or fnmatchcase(case, selector)
