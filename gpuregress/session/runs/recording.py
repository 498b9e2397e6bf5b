"""Recording of a run while it goes on.

A disk that refuses is reported at the end, and hides no verdict.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import RunSummary, Verdict
from gpuregress.gpu.records import replace
from gpuregress.session.runs import journal, retention, run_folders
from gpuregress.store.project import Project

if TYPE_CHECKING:
    from gpuregress.foundation.records import Task

_NOT_KEPT = "nothing of this run can be accepted: make room, then run it again"


@dataclass(slots=True)
class Recording:
    """The folder and the journal of a run that goes on, as a context manager that holds the journal's lock.

    Attributes:
        project: whose run it is.
        folder: the run's.
        writer: its journal.
        start: the journal's first line.
        previous: the run that `runs/latest` named before.
        link_error: why `runs/latest` could not be moved.
        notes: what the user should know of the disk.
        compilers: those of the kernels.
        is_resumed: whether it was cut short and goes on.
    """

    project: Project
    folder: Path
    writer: journal.JournalWriter
    start: journal.JournalStart
    previous: Path | None
    link_error: StorageError | None = None
    notes: list[str] = field(default_factory=list)
    compilers: set[str] = field(default_factory=set)
    is_resumed: bool = False

    @classmethod
    def resume(cls, project: Project, folder: Path, start: journal.JournalStart, compilers: Iterable[str]) -> Self:
        """Continue a run that was cut short.

        Args:
            project: whose run it is.
            folder: the run's.
            start: the line of the journal that continues it.
            compilers: of its kernels so far.

        Raises:
            RunLocked: it goes on.
            StorageError: no space, no permission.
        """
        notes = _make_room(project)
        writer = journal.JournalWriter(folder, start, is_new=False)
        recording = cls(project, folder, writer, start, folder, notes=notes, compilers={*compilers}, is_resumed=True)
        try:
            storage.remove_tree(folder / run_folders.SHARED)
            run_folders.point_latest(project.runs, folder)
        except StorageError as error:
            recording.link_error = error
        return recording

    @classmethod
    def begin(cls, project: Project, start: journal.JournalStart, now: datetime) -> Self:
        """Make the folder, with the journal's first line in it, and let `runs/latest` name it.

        Args:
            project: whose run it is.
            start: the journal's first line; the run's name is filled in.
            now: UTC.

        Raises:
            StorageError: no space, no permission.
        """
        previous = run_folders.latest(project.runs)
        notes = _make_room(project)
        folder, writer = run_folders.create(project.runs, start, now)
        recording = cls(project, folder, writer, start, previous, notes=notes)
        try:
            run_folders.point_latest(project.runs, folder)
        except StorageError as error:
            recording.link_error = error
        return recording

    def __enter__(self) -> Self:
        """The recording."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Free the journal's lock; a run that has no end by now was cut short."""
        self.writer.close()

    @contextlib.contextmanager
    def discarded_on_error(self) -> Iterator[None]:
        """Leave no trace of the run where the block fails: nothing was run. A continued run stays as it was."""
        try:
            yield
        except BaseException:
            if self.is_resumed:
                raise
            run_folders.discard(self.project.runs, self.folder, self.previous)
            raise

    def add(self, verdict: Verdict, task: Task | None = None) -> None:
        """Keep a verdict.

        Args:
            verdict: the verdict.
            task: what ran; None where nothing did.
        """
        entry = journal.JournalEntry(verdict)
        if task is not None:
            from gpuregress.session.runs import results  # noqa: PLC0415 - the first case does not wait for it

            entry = results.entry(verdict, task.case, task.programs)
            self.compilers.add(task.program.compiler)
        try:
            self.writer.add(entry)
        except StorageError:  # the journal tries again with its next line, and at the end it counts
            self.notes += _make_room(self.project)
        else:
            if verdict.status == "error" and retention.is_full(self.project.runs):  # the next cases may find room
                self.notes += _make_room(self.project)

    def finish(self, summary: RunSummary) -> RunSummary:
        """Write the results; where the disk refuses, the summary says so and keeps its verdicts."""
        from gpuregress.session.runs import cut_short, history_entry  # noqa: PLC0415 - see `add`

        with contextlib.suppress(StorageError):  # some bytes that are of no use
            storage.remove_tree(self.folder / run_folders.SHARED)
        closed = tuple(cut_short.close_all(self.project))
        summary = replace(
            summary,
            notes=(*closed, *self.notes, *summary.notes),
            host=self.start.process.host,
            commit=self.start.commit,
            branch=self.start.branch,
            dirty=self.start.dirty,
            compiler=", ".join(sorted(self.compilers - {""})),
        )
        is_kept = False
        try:
            summary = self._write(summary)
            is_kept = True
            if self.link_error is not None:
                raise self.link_error
            run_folders.point_latest_if_over(self.project.runs, self.folder)
            notes = history_entry.record(self.project, summary, self.start.kind)
            retention.retire(self.project)
        except StorageError as error:
            summary = _with_notes(summary, (str(error), *(() if is_kept else (_NOT_KEPT,))))
            code = summary.exit_code if summary.interrupted else StorageError.exit_code
            return replace(summary, exit_code=code, is_kept=is_kept)
        return _with_notes(summary, notes)

    def _write(self, summary: RunSummary) -> RunSummary:
        """Write the results; where the disk is full, once more after old runs were removed."""
        from gpuregress.session.runs import results  # noqa: PLC0415 - see `add`

        self.writer.require()
        try:
            results.write(self.folder, summary, self.writer, root=self.project.root)
        except StorageError:
            room = _make_room(self.project)
            if not room:
                raise
            summary = _with_notes(summary, room)
            results.write(self.folder, summary, self.writer, root=self.project.root)
        return summary


def _with_notes(summary: RunSummary, notes: Iterable[str]) -> RunSummary:
    return replace(summary, notes=(*summary.notes, *notes))


def _make_room(project: Project) -> list[str]:
    """Remove old runs where the disk is short, and return notes for the user."""
    try:
        return list(retention.make_room(project))
    except (StorageError, OSError) as error:
        return [str(error)]
