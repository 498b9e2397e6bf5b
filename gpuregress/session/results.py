"""What a run leaves behind: the journal for us, results.json for others, report.txt for the eye."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuregress import launchlog, storage
from gpuregress.errors import BaselineError, StorageError
from gpuregress.judging.accepted import made_of
from gpuregress.project import Project
from gpuregress.records import Case, MadeOf, Outcome, Program, RunSummary, Verdict
from gpuregress.report import json_report, terminal
from gpuregress.session import history_entry, journal, run_folders
from gpuregress.session.journal import End, Entry, Journal

_CUT_SHORT_CODE = StorageError.exit_code


@dataclass(frozen=True, slots=True)
class Ran:
    """A case as a run left it: what `accept` needs, whatever became of the job since.

    Attributes:
        case: without its launches.
        verdict: its own.
        outcome: what the worker said.
        made_of: what decided its results.
    """

    case: Case
    verdict: Verdict
    outcome: Outcome
    made_of: MadeOf


# --- while it goes on -------------------------------------------------------------------------------------------------


def entry(verdict: Verdict, case: Case, program: Program | None) -> Entry:
    """A case's line in the journal."""
    if verdict.outcome is None:
        return Entry(verdict)
    return Entry(verdict, dataclasses.replace(case, launches=()), made_of(case, verdict.outcome, program))


def write(folder: Path, summary: RunSummary, writer: journal.Writer, *, root: Path) -> None:
    """Ends the journal and writes the files for others, results.json last: with it, all of the run is on disk.

    Raises:
        StorageError: no space, no permission.
    """
    text = json_report.render(summary).encode()
    writer.end(_end(summary, text))
    _write_reports(folder, summary, text, root)


def _end(summary: RunSummary, text: bytes) -> End:
    digest = storage.digest_text(text)
    return End(
        summary.state,
        summary.seconds,
        summary.exit_code,
        summary.notes,
        digest,
        summary.cut,
        summary.remarks,
        summary.missing,
    )


def _write_reports(folder: Path, summary: RunSummary, text: bytes, root: Path) -> None:
    storage.write_atomic(folder / terminal.FULL_TEXT, terminal.full(summary, root=root).encode(), durable=False)
    storage.sync_tree(folder)
    storage.write_atomic(folder / run_folders.RESULTS, text)


# --- afterwards -------------------------------------------------------------------------------------------------------


def document(folder: Path) -> dict[str, Any]:
    """A run's results.json, or what stands in the journal of one that goes on or was cut short.

    Raises:
        StorageError: the journal or results.json was edited or cut short.
    """
    read, path = journal.read(folder), folder / run_folders.RESULTS
    if read.end is None or not path.exists():
        rebuilt: dict[str, Any] = json_report.finite(json_report.document(summary_of(read)))
        return rebuilt
    advice = f"remove it: all that it holds is in {journal.FILE}, too"
    if not path.is_file() or storage.digest_text(storage.read_bytes(path)) != read.end.results:
        raise storage.damaged(path, advice)
    found: dict[str, Any] = storage.read_json(path, advice)
    return found


def read_cases(folder: Path) -> dict[str, Ran]:
    """The cases of a run that ran, by name.

    Raises:
        StorageError: the journal was edited or cut short.
    """
    return {
        one.case.name: Ran(one.case, one.verdict, one.verdict.outcome, one.made_of)
        for one in journal.read(folder).entries
        if one.case is not None and one.verdict.outcome is not None and one.made_of is not None
    }


def summary_of(read: Journal) -> RunSummary:
    """A run as its journal tells it."""
    start, end, judged = read.start, read.end, read.judged
    order = {name: number for number, name in enumerate(start.cases)}  # broken jobs, which are not in it, come first
    verdicts = tuple(judged[name].verdict for name in sorted(judged, key=lambda name: order.get(name, -1)))
    summary = RunSummary(
        run=start.run,
        folder=str(read.path.parent.absolute()),
        device=start.device,
        started=start.started,
        seconds=sum(verdict.seconds for verdict in verdicts),
        verdicts=verdicts,
        state=read.state,
        exit_code=_CUT_SHORT_CODE,
        unfinished=read.unfinished,
    )
    if end is not None:
        same = {name: getattr(end, name) for name in ("seconds", "exit_code", "notes", "cut", "remarks", "missing")}
        return dataclasses.replace(summary, **same)
    return dataclasses.replace(summary, cut=where(read)) if read.state == "cut short" else summary


def where(read: Journal) -> str:
    """Where a run was cut short: the launches of its log that were in flight, in words."""
    try:
        begun = launchlog.read(read.path.parent / run_folders.LAUNCH_LOG).unfinished
    except StorageError:  # it had not written one
        return "before its first launch"
    judged = read.judged
    flying = [
        f"in launch {one.number} on {one.device}, {one.case}: {one.call}" for one in begun if one.case not in judged
    ]
    return " and ".join(flying) or "between launches"


def told(folder: Path) -> str:
    """What became of a run that did not end by itself, in a line for people; "" for others.

    Raises:
        StorageError: the journal was edited or cut short.
    """
    end = journal.end_of(folder)
    if end is not None and end.state != "cut short":
        return ""
    read = journal.read(folder)
    return _told(summary_of(read), read.who)


def _told(summary: RunSummary, who: str) -> str:
    of = f"{len(summary.verdicts)} of {len(summary.verdicts) + len(summary.unfinished)} cases had their verdicts"
    if summary.state == "running":
        return f"run {summary.run} is not over ({who}); {of}"
    return f"run {summary.run} was cut short (killed, or its disk or machine failed) {summary.cut}; {of}"


def cut_short(runs: Path) -> Iterator[str]:
    """A line for people on each kept run that was cut short, the oldest first."""
    for folder in run_folders.every(runs):
        with contextlib.suppress(StorageError):  # one without a journal says nothing of itself
            said = told(folder)
            if said and " was cut short " in said:
                yield said


def chosen(runs: Path, name: str | None = None) -> Path:
    """The folder of the run whose dumps somebody decides on: the newest one, where it came to its end, or a named one.

    Args:
        runs: the project's `runs`.
        name: a run's name, its beginning or its end; None: the newest one.

    Raises:
        BaselineError: the newest run goes on or was cut short, and is not named; a named one goes on.
        NothingToDo: there is no run yet.
        UsageError: no run, or more than one, has that name.
        StorageError: the run's journal was edited or cut short.
    """
    folder = run_folders.find(runs, name)
    end = journal.end_of(folder)
    if end is not None and (name not in (None, run_folders.LATEST) or end.state != "cut short"):
        return folder
    said = told(folder)
    if journal.read(folder).state == "running":
        raise BaselineError(f"{said}: wait until it ends, or name another run with --run")
    if name in (None, run_folders.LATEST):
        raise BaselineError(
            f"the newest {said}: --run {folder.name} takes those; `gpuregress run --rerun-failed` runs the others first"
        )
    return folder


def settle(project: Project) -> Iterator[str]:
    """Gives every run that was cut short its end, its results.json and its line in the history.

    Args:
        project: whose runs.

    Yields:
        A line for people on each, so that they are told once.
    """
    for folder in run_folders.every(project.runs):
        if journal.end_of(folder) is not None or (folder / run_folders.RESULTS).exists():
            continue
        if not (folder / journal.FILE).exists():  # an earlier gpuregress made it: what became of it is not known
            continue
        try:
            read = journal.read(folder)
            if read.state != "cut short":
                continue
            summary = summary_of(read)
            text = json_report.render(summary).encode()
            if not journal.close_cut_short(read, _end(summary, text)):
                continue
            yield f"{_told(summary, read.who)}; `gpuregress log {folder.name}` and `report {folder.name}` tell more"
            _write_reports(folder, summary, text, project.root)
            yield from history_entry.record(project, summary, read.start.kind)
        except StorageError as error:
            yield str(error)
