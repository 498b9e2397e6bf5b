"""Entry of a run in the project's history, which outlives the run's folder.

Damage to the history stops no run.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from gpuregress.foundation.errors import NothingToDo, StorageError
from gpuregress.foundation.records import PastResult, RunKind, RunSummary
from gpuregress.gpu.records import replace
from gpuregress.store.history import History, Reader
from gpuregress.store.project import Project

FILE = "history.sqlite"
KEPT = 1000
"""Runs that the history remembers; the folders of all but the last few are removed long before."""


def record(project: Project, summary: RunSummary, kind: RunKind) -> tuple[str, ...]:
    """Add a run to the project's history, without cases that only `--set` makes: no job has them.

    Args:
        summary: the run.
        kind: `run` or `nightly`.

    Returns:
        A line where the history was damaged, or could not be written, and one where the clock went back.
    """
    verdicts = tuple(verdict for verdict in summary.verdicts if not verdict.overridden)
    if summary.verdicts and not verdicts:
        return ()
    summary = replace(summary, verdicts=verdicts)
    try:
        with History(project.runs / FILE) as history:
            history.add(summary, kind)
            history.forget(KEPT)
            notes = [history.note]
            # An earlier run's record is damaged, not this one's.
            with contextlib.suppress(StorageError):
                notes.append(history.clock_note(summary.run))
            return tuple(filter(None, notes))
    except StorageError as error:
        return (f"this run is not in the history: {error}",)


@contextlib.contextmanager
def trends(runs: Path, last: int, until: str = "") -> Iterator[Callable[[str, str], tuple[PastResult, ...]]]:
    """Open the history for the trends of a page; without one, or with one that cannot be read, there are none.

    Args:
        runs: the project's folder of runs.
        last: the number of results of a trend.
        until: the start of the run whose page it is, where that may be an old one; "": all results count.

    Yields:
        A function of a case and a kind of device: the last results, the newest first.
    """
    found = dict[tuple[str, str], tuple[PastResult, ...]]()
    with contextlib.ExitStack() as opened:
        history = None
        with contextlib.suppress(StorageError, OSError, sqlite3.Error):  # a page changes nothing in the history
            if (runs / FILE).stat().st_size:
                history = opened.enter_context(contextlib.closing(Reader.open(runs / FILE)))

        def trend(case: str, device: str) -> tuple[PastResult, ...]:
            if history is None:
                return ()
            if (case, device) not in found:
                with contextlib.suppress(StorageError):
                    found[case, device] = history.trend(case, last, device, is_own=True, until=until)
            return found.get((case, device), ())

        yield trend


@contextlib.contextmanager
def opened(project: Project) -> Iterator[History]:
    """Open a project's history for questions.

    Raises:
        NothingToDo: no run has ended yet.
        StorageError: it is damaged, or cannot be read.
    """
    path = project.runs / FILE
    if not path.exists():
        raise NothingToDo(f"no run in {project.runs} has ended yet")
    if not path.stat().st_size:
        raise StorageError(f"{path}: edited or cut short: it is empty; remove it to begin a new history")
    with History(path) as history:
        if history.note:  # what was asked for is in the damaged file
            raise StorageError(history.note)
        yield history
