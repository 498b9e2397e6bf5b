"""Import of runs of other hosts and projects into the history, verified by their digests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.foundation.errors import GpuregressError, StorageError, UsageError
from gpuregress.foundation.records import RunKind, RunSummary
from gpuregress.gpu.records import Record
from gpuregress.session.runs import history_entry, journal, results, run_folders
from gpuregress.store.history import History
from gpuregress.store.project import Project


class ImportedRun(Record):
    """The import of one run.

    Attributes:
        folder: the run's.
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
    runs = [run for folder in folders for run in _runs_of(folder)]
    with History(project.runs / history_entry.FILE) as history:
        if history.note:
            raise StorageError(history.note)
        for folder in dict.fromkeys(runs):
            yield _imported(project, history, folder)
        history.forget(history_entry.KEPT)


def _runs_of(folder: Path) -> list[Path]:
    if (folder / journal.FILE).exists():
        return [folder.absolute()]
    if (folder / run_folders.RESULTS).exists():
        raise UsageError(
            f"{folder} has no {journal.FILE}, whose digests show that nothing was changed: "
            "copy the whole folder of the run"
        )
    found = [run.absolute() for run in run_folders.every(folder) if (run / journal.FILE).exists()]
    if not found:
        raise UsageError(f"{folder} is no folder of a run ({journal.FILE} is missing), and holds none")
    return found


def _imported(project: Project, history: History, folder: Path) -> ImportedRun:
    try:
        read = journal.read(folder)
        if read.end is None:
            raise StorageError(f"{folder}: the run goes on, or was cut short: the next run there gives it its end")
        results.document(folder)
        summary, kind = results.summary_of(read), read.start.kind
        is_own = folder.resolve().parent == project.runs.resolve()
        is_new = history.add_new(summary, kind, is_imported=not is_own)
    except GpuregressError as error:
        return ImportedRun(folder, problem=str(error))
    return ImportedRun(folder, summary, kind, is_new)
