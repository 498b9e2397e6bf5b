"""What a run keeps on disk while it goes on; a disk that refuses is told at the end, and hides no verdict."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gpuregress import __version__
from gpuregress.errors import StorageError
from gpuregress.project import Project
from gpuregress.records import Case, RunSummary, Verdict
from gpuregress.session import journal, retention, run_folders

if TYPE_CHECKING:
    from gpuregress.history import Kind
    from gpuregress.workers.task import Task

_NOT_KEPT = "nothing of this run can be accepted: make room, then run it again"


@dataclass(slots=True)
class Recording:
    """The folder and the journal of a run that goes on. A context manager: frees the journal's lock.

    Attributes:
        project: whose run it is.
        folder: the run's.
        writer: its journal.
        before: what `runs/latest` named.
        kind: `run` or `nightly`.
        refused: why `runs/latest` could not be moved.
        said: what the user should know of the disk.
    """

    project: Project
    folder: Path
    writer: journal.Writer
    before: Path | None
    kind: Kind = "run"
    refused: StorageError | None = None
    said: list[str] = field(default_factory=list)

    @classmethod
    def begin(
        cls,
        project: Project,
        cases: Sequence[Case],
        *,
        device: str,
        kind: Kind,
        started: datetime,
        owed: Sequence[str] = (),
    ) -> Self:
        """Makes the folder, with the journal's first line in it, and lets `runs/latest` name it.

        Args:
            project: whose run it is.
            cases: the plan.
            device: where they run.
            kind: `run` or `nightly`.
            started: UTC.
            owed: see `journal.Start`.

        Raises:
            StorageError: no space, no permission.
        """

        def start(run: str) -> journal.Start:
            names = tuple(case.name for case in cases)
            when, who = f"{started:%Y-%m-%dT%H:%M:%SZ}", journal.process()
            return journal.Start(journal.VERSION, run, when, device, kind, __version__, who, names, tuple(owed))

        before = run_folders.latest(project.runs)
        said = _made_room(project)
        folder, writer = run_folders.create(project.runs, start, started)
        recording = cls(project, folder, writer, before, kind, said=said)
        try:
            run_folders.point_latest(project.runs, folder)
        except StorageError as error:
            recording.refused = error
        return recording

    def __enter__(self) -> Self:
        """The recording."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Frees the journal's lock: who ends here without an end was cut short."""
        self.writer.close()

    @contextlib.contextmanager
    def nothing_run(self) -> Iterator[None]:
        """Where its block fails, nothing was run: the run leaves no trace."""
        try:
            yield
        except BaseException:
            run_folders.discard(self.project.runs, self.folder, self.before)
            raise

    def add(self, found: Verdict, task: Task | None = None) -> None:
        """Keeps a verdict.

        Args:
            found: the verdict.
            task: what ran; None where nothing did.
        """
        entry = journal.Entry(found)
        if task is not None:
            from gpuregress.session import results  # noqa: PLC0415 - the first case does not wait for it

            entry = results.entry(found, task.case, task.program)
        try:
            self.writer.add(entry)
        except StorageError:  # the journal tries again with its next line, and at the end it counts
            self.said += _made_room(self.project)
        else:
            if found.status == "error" and retention.is_full(self.project.runs):  # the next cases may find room
                self.said += _made_room(self.project)

    def leave(self, summary: RunSummary) -> RunSummary:
        """Writes what stays of the run; where the disk refuses, the verdicts are still reported, and the refusal."""
        from gpuregress.session import history_entry, results  # noqa: PLC0415 - the first case does not wait for them

        project, said = self.project, tuple(results.settle(self.project))
        summary = dataclasses.replace(summary, notes=(*said, *self.said, *summary.notes))
        is_kept = False
        try:
            try:
                results.write(self.folder, summary, self.writer, root=project.root)
            except StorageError:
                room = _made_room(project)
                if not room:
                    raise
                summary = dataclasses.replace(summary, notes=(*summary.notes, *room))
                results.write(self.folder, summary, self.writer, root=project.root)
            is_kept = True
            if self.refused is not None:
                raise self.refused
            run_folders.point_latest_if_over(project.runs, self.folder)
            notes = history_entry.record(project, summary, self.kind)
            retention.retire(project)
        except StorageError as error:
            code = summary.exit_code if summary.interrupted else StorageError.exit_code
            said = (*summary.notes, str(error), *(() if is_kept else (_NOT_KEPT,)))
            return dataclasses.replace(summary, notes=said, exit_code=code, is_kept=is_kept)
        return dataclasses.replace(summary, notes=(*summary.notes, *notes)) if notes else summary


def _made_room(project: Project) -> list[str]:
    """Removes old runs where the disk is short; what is to be said of it."""
    try:
        return list(retention.make_room(project))
    except (StorageError, OSError) as error:
        return [str(error)]
