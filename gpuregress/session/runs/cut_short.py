"""Runs that were cut short by a kill or a power cut.

Each is reported once, closed by the next run, and never the default of `accept`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import BaselineError, StorageError
from gpuregress.foundation.records import RunSummary
from gpuregress.report import json_report
from gpuregress.session.runs import history_entry, journal, results, run_folders
from gpuregress.store.dumps import run_names
from gpuregress.store.project import Project


def describe(folder: Path) -> str:
    """The state of a run that did not end by itself, in one line; "" for others.

    Raises:
        StorageError: the journal was edited or cut short.
    """
    end = journal.end_of(folder)
    if end is not None and end.state != "cut short":
        return ""
    read = journal.read(folder)
    return _line(results.summary_of(read), read.process)


def _line(summary: RunSummary, process: str) -> str:
    of = f"{len(summary.verdicts)} of {len(summary.verdicts) + len(summary.unfinished)} cases had their verdicts"
    if summary.state == "running":
        return f"run {summary.run} is not over ({process}); {of}"
    return f"run {summary.run} was cut short (killed, or its disk, machine or cluster failed) {summary.cut}; {of}"


def describe_all(runs: Path) -> Iterator[str]:
    """One line on each kept run that was cut short, the oldest first."""
    for folder in run_names.every(runs):
        with contextlib.suppress(StorageError):  # a folder without a journal
            end = journal.end_of(folder)
            if (end or journal.read(folder)).state == "cut short":
                yield describe(folder)


def decidable_run(runs: Path, name: str | None = None) -> Path:
    """The folder of the run whose dumps are accepted, rejected or reviewed.

    Args:
        runs: the project's `runs`.
        name: a run's name, its beginning or its end; None: the newest one.

    Raises:
        BaselineError: the newest run goes on or was cut short, and is not named; a named one goes on.
        NothingToDo: there is no run yet.
        UsageError: no run, or more than one, has that name.
        StorageError: the run's journal was edited or cut short.
    """
    folder = run_names.find(runs, name)
    end = journal.end_of(folder)
    if end is not None and (name not in (None, run_names.LATEST) or end.state != "cut short"):
        return folder
    line = describe(folder)
    if journal.read(folder).state == "running":
        raise BaselineError(f"{line}: wait until it ends, or name another run with --run")
    if name in (None, run_names.LATEST):
        raise BaselineError(
            f"the newest {line}: --run {folder.name} takes those; `gpuregress run --rerun-failed` runs the others first"
        )
    return folder


def close_all(project: Project) -> Iterator[str]:
    """Give every run that was cut short its end, its `results.json` and its line in the history.

    Args:
        project: whose runs.

    Yields:
        A line on each: a run is reported once.
    """
    for folder in run_names.every(project.runs):
        if journal.end_of(folder) is not None or (folder / run_folders.RESULTS).exists():
            continue
        # Somebody removed it, and the end is unknown.
        if not (folder / journal.FILE).exists():
            continue
        # The run that calls this is one; reading its long journal would take time.
        if journal.is_running(folder):
            continue
        try:
            read = journal.read(folder)
            if read.state != "cut short":
                continue
            summary = results.summary_of(read)
            text = json_report.render(summary).encode()
            if not journal.close_cut_short(read, results.end_of(summary, text)):
                continue
            yield f"{_line(summary, read.process)}; `gpuregress log {folder.name}` and `report {folder.name}` show more"
            storage.remove_tree(folder / run_folders.SHARED)
            results.write_reports(folder, summary, text, project.root)
            yield from history_entry.record(project, summary, read.start.kind)
        except StorageError as error:
            yield str(error)
