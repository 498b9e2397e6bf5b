"""Recording of a run while it goes on, and the part of it that was done before it was cut short.

A disk that refuses is reported at the end, and hides no verdict.
"""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Self

from msgspec import field

from gpuregress import __version__
from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.records import Case, Program, RunSummary, Task, Verdict
from gpuregress.gpu.records import MutableRecord, Record, replace
from gpuregress.session.device_slots import DeviceSelection
from gpuregress.session.runs import cut_short, history_entry, journal, results, retention, run_folders
from gpuregress.session.runs.journal import Journal, JournalEntry, launches_digest
from gpuregress.store import launch_log
from gpuregress.store.dumps import run_names
from gpuregress.store.project import Project
from gpuregress.toolchain.programs import compiler_version

_CARD_FACTS = {
    "name": "",
    "uuid": "",
    "driver": "driver",
    "temperature": "",
    "sm_clock": "SM",
    "memory_clock": "memory",
    "throttle": "clocks held back by",
}
"""Key of `nvml.cards` → the word before its value."""


def log_header(
    cases: Sequence[Case], devices: DeviceSelection, programs: Iterable[Program], overrides: Sequence[str] = ()
) -> dict[str, str]:
    """Each fact's name and text, in order.

    Args:
        cases: those that run.
        devices: where.
        programs: of their sources.
        overrides: the values of `--set`, as `n=4096`.
    """
    compilers = dict.fromkeys(program.compiler for program in programs)
    header = {
        "gpuregress": __version__,
        "host": f"{platform.node()}, {_system()}, Python {platform.python_version()}",
        "device": devices.name,
        "compiler": ", ".join(compilers) or compiler_version(),
    }
    if overrides:
        header["set"] = ", ".join(map(one_line, overrides))
    if devices.is_remote:
        header["cluster"] = devices.why
    elif devices.kind == "cuda":
        header |= _cards(devices)
    return header | _seeds(cases)


def _system() -> str:
    """The operating system, as `platform.platform()` names it, which starts a process to ask for the processor."""
    if platform.system() != "Linux":
        return platform.platform()
    system = f"Linux-{platform.release()}-{platform.machine()}"
    libc = "".join(platform.libc_ver())
    return f"{system}-with-{libc}" if libc else system


def _seeds(cases: Sequence[Case]) -> dict[str, str]:
    """Every seed: `seed of JOB` and `seed of JOB.BUFFER`, by case where the cases of a job have different ones."""
    seeds: dict[str, set[int]] = {}
    for case in cases:
        seeds.setdefault(case.job, set()).add(case.seed)
    lines = {}
    for case in cases:
        name = case.job if len(seeds[case.job]) == 1 else case.name
        lines[f"seed of {name}"] = str(case.seed)
        for buffer in case.buffers.values():
            if buffer.fill is not None:
                lines[f"seed of {name}.{buffer.name}"] = str(buffer.fill.seed)
        for seeded in case.seeds:
            for filled, fill in seeded.fills.items():
                lines[f"seed of {name}.{filled} under {seeded.seed}"] = str(fill.seed)
    return lines


def _cards(devices: DeviceSelection) -> dict[str, str]:
    """What is known of each GPU that is used: `NVIDIA H200, GPU-…, driver 580.95, 34 C …`."""
    header = {}
    for label, card in devices.cards.items():
        facts = []
        for key, word in _CARD_FACTS.items():
            if key == "throttle" and card.get(key) == "none":
                facts.append("clocks not held back")
            elif key in card:
                facts.append(f"{word} {card[key]}" if word else card[key])
        header[label] = ", ".join(facts)
    return header


_OTHER_COMMIT = "this night was cut short, and continued at another commit: all of its cases were run again"


class EarlierPart(Record):
    """The part of a run that was done before it was cut short.

    Attributes:
        journal: of the run; None for a new run.
        kept: case → its verdict, which stays.
        cases: the kept cases, as they ran.
        next_launch: the first number that its launch log does not have.
        is_moved: whether another commit is checked out now; then no verdict is kept.
    """

    journal: Journal | None = None
    kept: Mapping[str, Verdict] = field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    next_launch: int = 1
    is_moved: bool = False

    @property
    def note(self) -> str:
        """A line for the user, "" for a new run."""
        if self.journal is None:
            return ""
        if self.is_moved:
            return _OTHER_COMMIT
        count = len(self.kept)
        had = f"{count} cases had their verdicts" if count != 1 else "1 case had its verdict"
        return f"this night was cut short and continued: {had} before"


NOTHING_BEFORE = EarlierPart()


def earlier_part(folder: Path | None, cases: Sequence[Case], commit: str) -> EarlierPart:
    """Read the verdicts of a run that is continued.

    A case that has changed since is run again, and so is each group of cases that must agree and is not whole. At
    another commit all are run again, so that every verdict is of the commit that the run has in its record.

    Args:
        folder: the run's; None for a new run.
        cases: planned now.
        commit: checked out now.

    Raises:
        StorageError: its journal or launch log was edited or cut short.
    """
    if folder is None:
        return NOTHING_BEFORE
    read = journal.read(folder)
    if read.start.commit != commit:
        return EarlierPart(read, next_launch=_next_launch(folder), is_moved=True)
    judged = read.judged
    unchanged = {case.name: case for case in cases if case.name in judged and _is_same(case, judged[case.name])}
    # ^C released groups without a comparison.
    is_stopped = read.state == "interrupted"
    open_groups = {case.agreement_group for case in cases if is_stopped or case.name not in unchanged} - {None}
    stays = tuple(case for case in unchanged.values() if case.agreement_group not in open_groups)
    verdicts = {case.name: judged[case.name].verdict for case in stays}
    return EarlierPart(read, verdicts, stays, _next_launch(folder))


def _is_same(case: Case, entry: JournalEntry) -> bool:
    """Whether a verdict is of the case as it is planned now; one that did not run is judged again."""
    is_as_before = entry.case == replace(case, launches=())
    return is_as_before and entry.launches == launches_digest(case)


def _next_launch(folder: Path) -> int:
    try:
        log = launch_log.read(folder / run_folders.LAUNCH_LOG)
    except StorageError:  # it was cut short before its first launch
        return 1
    return max((event.number for event in log.events), default=0) + 1


_NOT_KEPT = "nothing of this run can be accepted: make room, then run it again"


class Recording(MutableRecord):
    """The folder and the journal of a run that goes on, as a context manager that holds the journal's lock.

    Attributes:
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
            start: the journal's first line; the run's name is filled in.
            now: UTC.

        Raises:
            StorageError: no space, no permission.
        """
        previous = run_names.latest(project.runs)
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
            task: what ran; None where nothing did.
        """
        entry = journal.JournalEntry(verdict)
        if task is not None:
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
            summary = _with_notes(summary, (str(error),) if is_kept else (str(error), _NOT_KEPT))
            if not summary.interrupted:
                summary = replace(summary, exit_code=StorageError.exit_code)
            return replace(summary, is_kept=is_kept)
        return _with_notes(summary, notes)

    def _write(self, summary: RunSummary) -> RunSummary:
        """Write the results; where the disk is full, once more after old runs were removed."""
        # Somebody may have removed the run's folder: its files would be written beside nothing.
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
