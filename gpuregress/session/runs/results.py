"""Results of a run: journal, `results.json` and `report.txt`.

The journal is for ourselves, `results.json` for other programs, `report.txt` for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.escapes import json_text
from gpuregress.foundation.records import Case, Dump, InputFile, MadeOf, Outcome, Program, RunSummary, Verdict
from gpuregress.gpu.records import Record, replace
from gpuregress.judge import parameter_spaces
from gpuregress.judge.accepted import made_of
from gpuregress.report import coverage_report, json_report, morning, terminal
from gpuregress.session.runs import journal, run_folders
from gpuregress.session.runs.journal import Journal, JournalEnd, JournalEntry, JournalWriter
from gpuregress.store import launch_log
from gpuregress.store.dumps import files

_ADVICE = f"remove it: all that it holds is in {journal.FILE}, too"


class FinishedCase(Record):
    """A case as a run left it; `accept` needs no more, even if the job has changed since.

    Attributes:
        case: without its launches.
        outcome: the worker's.
        made_of: the inputs that decided its results.
    """

    case: Case
    verdict: Verdict
    outcome: Outcome
    made_of: MadeOf

    @property
    def has_dumps(self) -> bool:
        """Whether the case ran to its end and left dumps."""
        return self.outcome.state == "done" and bool(self.outcome.dumps)

    @property
    def device_kind(self) -> str:
        """`cpu` or `cuda`, "" where no device is known."""
        device = self.outcome.device
        return "" if device is None else device.name.partition(":")[0]


# --- writing ----------------------------------------------------------------------------------------------------------


def entry(verdict: Verdict, case: Case, programs: Sequence[Program]) -> JournalEntry:
    """A case's line in the journal."""
    if verdict.outcome is None:
        return JournalEntry(verdict)
    provenance = made_of(case, verdict.outcome, programs)
    return JournalEntry(verdict, replace(case, launches=()), provenance, journal.launches_digest(case))


def write(folder: Path, summary: RunSummary, writer: JournalWriter, *, root: Path) -> None:
    """End the journal and write the other files, `results.json` last: with it, all of the run is on disk.

    Raises:
        StorageError: no space, no permission.
    """
    text = json_report.render(summary).encode()
    writer.end(end_of(summary, text))
    write_reports(folder, summary, text, root)


def end_of(summary: RunSummary, text: bytes) -> JournalEnd:
    """The last line of a run's journal.

    Args:
        summary: the run.
        text: its `results.json`.
    """
    return JournalEnd(
        state=summary.state,
        seconds=summary.seconds,
        exit_code=summary.exit_code,
        notes=summary.notes,
        results=storage.digest_text(text),
        cut=summary.cut,
        remarks=summary.remarks,
        missing=summary.missing,
        log=log_digest(Path(summary.folder)),
        changes=summary.changes,
        false_alarms=summary.false_alarms,
    )


def log_digest(folder: Path) -> str:
    """The xxh3-128 of a run's launch log, "" where there is none."""
    path = folder / run_folders.LAUNCH_LOG
    return storage.digest_file(path) if path.is_file() else ""


def write_reports(folder: Path, summary: RunSummary, text: bytes, root: Path) -> None:
    """Write `report.txt`, flush the run's folder to disk, then write `results.json`.

    Raises:
        StorageError: no space, no permission.
    """
    text_report = morning.full(summary) + terminal.full(summary, root=root)
    storage.write_atomic(folder / terminal.FULL_TEXT, text_report.encode(), durable=False)
    covered = coverage_report.document(summary)
    if covered is not None:
        storage.write_atomic(
            folder / coverage_report.FILE, (json_text(covered, indent=1) + "\n").encode(), durable=False
        )
    storage.sync_tree(folder)
    storage.write_atomic(folder / run_folders.RESULTS, text)


# --- reading ----------------------------------------------------------------------------------------------------------


def document(folder: Path) -> dict[str, Any]:
    """A run's `results.json`; one rebuilt from the journal while the run goes on, or after it was cut short.

    Raises:
        StorageError: the journal or `results.json` was edited or cut short.
    """
    read = journal.read(folder)
    path = _intact_results(read)
    if path is None:
        rebuilt: dict[str, Any] = json_report.finite(json_report.document(summary_of(read)))
        return rebuilt
    stored: dict[str, Any] = storage.read_json(path, _ADVICE)
    return stored


def read_verdicts(folder: Path) -> tuple[Verdict, ...]:
    """The verdicts of a run, broken jobs first, then in the order of its plan; a case that was left out is skipped.

    Raises:
        StorageError: the journal or `results.json` was edited or cut short.
    """
    read = journal.read(folder)
    _intact_results(read)
    summary = summary_of(read)
    if summary.state != "finished":
        return summary.verdicts
    left_out = [Verdict(name.partition("/")[0], name, "skip") for name in summary.unfinished]  # by --fail-fast
    return (*summary.verdicts, *left_out)


def _intact_results(read: Journal) -> Path | None:
    """The `results.json` of a run that is over, as it was written; None where there is none."""
    path = read.path.parent / run_folders.RESULTS
    if read.end is None or not path.exists():
        return None
    if not path.is_file() or storage.digest_text(storage.read_bytes(path)) != read.end.results:
        raise storage.damaged(path, _ADVICE)
    return path


def read_cases(folder: Path) -> dict[str, FinishedCase]:
    """The cases of a run that ran, by name.

    Raises:
        StorageError: the journal was edited or cut short.
    """
    cases = {}
    for line in journal.read(folder).entries:
        outcome = line.verdict.outcome
        if line.case is not None and outcome is not None and line.made_of is not None:
            cases[line.case.name] = FinishedCase(line.case, line.verdict, outcome, line.made_of)
    return cases


def summary_of(read: Journal) -> RunSummary:
    """The summary of a run, rebuilt from its journal."""
    start, end, judged = read.start, read.end, read.judged
    # Broken jobs are not in the plan, and come first.
    order = {name: number for number, name in enumerate(start.cases)}
    verdicts = tuple(judged[name].verdict for name in sorted(judged, key=lambda name: order.get(name, -1)))
    summary = RunSummary(
        run=start.run,
        folder=str(read.path.parent.absolute()),
        device=start.device,
        started=start.started,
        seconds=sum(verdict.seconds for verdict in verdicts),
        verdicts=verdicts,
        state=read.state,
        exit_code=StorageError.exit_code,
        unfinished=read.unfinished,
        spaces=parameter_spaces.summarize(verdicts),
        host=start.process.host,
        commit=start.commit,
        branch=start.branch,
        dirty=start.dirty,
        compiler=compilers(read.entries),
        shard=start.shard,
    )
    if end is not None:
        return replace(
            summary,
            seconds=end.seconds,
            exit_code=end.exit_code,
            notes=end.notes,
            cut=end.cut,
            remarks=end.remarks,
            missing=end.missing,
            changes=end.changes,
            false_alarms=end.false_alarms,
        )
    if read.state == "cut short":
        return replace(summary, cut=_launches_in_flight(read))
    return summary


def compilers(entries: Iterable[JournalEntry]) -> str:
    """The compilers of a run's kernels, as `nvrtc 13.5.37`."""
    names = {line.made_of.compiler for line in entries if line.made_of is not None}
    return ", ".join(sorted(names - {""}))


def _launches_in_flight(read: Journal) -> str:
    """The launches of the log that had not ended when a run was cut short, in words."""
    try:
        log = launch_log.read(read.path.parent / run_folders.LAUNCH_LOG)
    except StorageError:  # it had not written one
        return "before its first launch"
    judged = read.judged
    launches = [launch for launch in log.unfinished if launch.case not in judged]
    if launches:
        return " and ".join(
            f"in launch {launch.number} on {launch.device}, {launch.case}: {launch.call}" for launch in launches
        )
    if "cluster" in log.header:
        return "while its cases ran on a cluster, whose hosts kept the logs of those that had not ended"
    return "between launches"


def verify_dump(path: Path, case: str, runs: Path) -> None:
    """Refuse a dump of a run that was changed since; one that no journal knows is taken as it is.

    Args:
        path: of the dump, inside `runs`.
        case: that wrote it.
        runs: the folder of all runs.

    Raises:
        DumpError: it was cut short or edited.
        StorageError: the journal of its run was.
    """
    run = runs / path.relative_to(runs).parts[0]
    file = run / journal.FILE
    if not file.is_file():
        return
    for dump in _written_dumps(run, file.stat().st_mtime_ns).get(case, ()):
        if Path(dump.path).name == path.name:
            files.verify(replace(dump, path=str(path)))


def verify_inputs(case: Case, runs: Path) -> None:
    """Refuse dumps of earlier runs that a case takes as inputs or references, if one was changed since.

    Raises:
        DumpError: one was cut short or edited.
        StorageError: the journal of its run was.
    """
    fills = [buffer.fill.options for buffer in case.buffers.values() if buffer.fill is not None]
    inputs = [fill.path for fill in fills if isinstance(fill, InputFile)]
    for text in (*inputs, *case.reference_files.values()):
        path = Path(text)
        if path.is_relative_to(runs):
            # RUN / dumps / the case's folders / BUFFER.REVISION
            parts = path.relative_to(runs).parts
            verify_dump(path, "/".join(parts[2:-1]), runs)


@lru_cache(maxsize=8)
def _written_dumps(run: Path, _changed: int) -> dict[str, tuple[Dump, ...]]:
    """Case → the dumps that a run wrote."""
    return {name: finished.outcome.dumps for name, finished in read_cases(run).items()}
