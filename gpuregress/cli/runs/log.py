"""Command `gpuregress log`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context
from gpuregress.foundation.escapes import one_line

if TYPE_CHECKING:
    from gpuregress.foundation.records import State
    from gpuregress.store.launch_log import Event, LaunchBegin, Log


@click.command(
    "log",
    short_help="a run's launches, and which never came back",
    epilog="Example: gpuregress log   (the last run)",
)
@click.argument("run", required=False)
@click.option("--blame", is_flag=True, help="Only the launches that never came back, or ended with a fault.")
@context.json_option
@click.pass_context
def command(ctx: click.Context, /, run: str | None, blame: bool, as_json: bool) -> int:
    """Show the launch log of RUN (a name or its beginning; the last run if none; or the file of a log).

    The log is on disk before each launch happens, so after any crash, kill or power cut its last begin without an end
    names the launch to blame.
    """
    from gpuregress.foundation.errors import StorageError
    from gpuregress.session.runs import cut_short, journal, results, run_folders

    if run is not None and Path(run).is_file():
        return _captured(Path(run), blame=blame, as_json=as_json)
    project = context.find_project(ctx)
    folder = run_folders.find(project.runs, run)
    read, description = journal.read(folder), cut_short.describe(folder)
    log = _log(folder, read.state)
    is_edited = read.end is not None and read.end.log not in ("", results.log_digest(folder))
    code = StorageError.exit_code if is_edited else 0
    if is_edited:
        console.say(f"{folder / run_folders.LAUNCH_LOG}: edited or cut short after the run had ended", err=True)
    if as_json:
        context.print_json({"state": read.state, "said": description, **_document(folder.name, log)})
        return code
    _say(log, folder / run_folders.LAUNCH_LOG, blame=blame)
    if description:
        console.say(description)
    return code


def _captured(path: Path, *, blame: bool, as_json: bool) -> int:
    """Show a log that `gpuregress capture` wrote."""
    from gpuregress.store import launch_log

    log = launch_log.read(path)
    if as_json:
        context.print_json(_document(str(path), log))
    else:
        _say(log, path, blame=blame)
    return 0


def _say(log: Log, path: Path, *, blame: bool) -> None:
    if not blame:
        for key, value in log.header.items():
            console.say(one_line(f"# {key}: {value}"))
        for event in log.events:
            console.say(one_line(_line(event)))
    for number in log.unreadable:
        console.say(f"line {number} of {path} holds no event: it was cut short or edited", err=True)
    for begin in log.unfinished:
        console.say(f"never came back: launch {begin.number} on {begin.device}, {begin.case}: {begin.call}")
    faults = _faults(log) if blame else []
    for begin, text in faults:
        console.say(one_line(f"ended with a fault: launch {begin.number} on {begin.device}, {begin.case}: {text}"))
    if blame and not log.unfinished and not faults:
        console.say("every launch came back")


def _faults(log: Log) -> list[tuple[LaunchBegin, str]]:
    """Return the launches that ended with a fault, and its text."""
    from gpuregress.store.launch_log import LaunchBegin, LaunchFault

    begun = {event.number: event for event in log.events if isinstance(event, LaunchBegin)}
    faults = [event for event in log.events if isinstance(event, LaunchFault)]
    return [(begun[event.number], event.text) for event in faults if event.number in begun]


def _log(folder: Path, state: State) -> Log:
    """The run's launch log; an empty one where the run did not begin one."""
    from gpuregress.session.runs import run_folders
    from gpuregress.store import launch_log

    path = folder / run_folders.LAUNCH_LOG
    if state in ("running", "cut short") and not path.exists():
        return launch_log.Log({}, ())
    return launch_log.read(path)


def _line(event: Event) -> str:
    from gpuregress.store.launch_log import LaunchBegin, LaunchEnd, LaunchRetry

    if isinstance(event, LaunchBegin):
        return f"begin {event.number} {event.time} {event.device} {event.case} {event.text}"
    if isinstance(event, LaunchEnd):
        return f"end {event.number} {event.elapsed_ms:.3f} ms"
    return f"{'retry' if isinstance(event, LaunchRetry) else 'fault'} {event.number} {event.text}"


def _document(run: str, log: Log) -> dict[str, object]:
    from gpuregress.foundation.records import to_json
    from gpuregress.store.launch_log import LaunchBegin, LaunchEnd, LaunchRetry

    kinds = {LaunchBegin: "begin", LaunchEnd: "end", LaunchRetry: "retry"}
    return {
        "run": run,
        "head": dict(log.header),
        "events": [{"event": kinds.get(type(event), "fault"), **to_json(event)} for event in log.events],
        "unfinished": to_json(log.unfinished),
    }
