"""Report files of `--json`, `--junit` and `--html`, which never describe an earlier run.

A file is written when the command starts, as of an unfinished run, and again at its end. So it is true also after a
kill, and where the command line, a job or the disk let nothing run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuregress.cli import context, values
from gpuregress.errors import GpuregressError, HarnessError, Interrupted, StorageError, UsageError

if TYPE_CHECKING:
    from gpuregress.records import RunSummary, State

FORMATS = ("json", "junit", "html")
_COMMANDS = ("run", "nightly")
_UNFINISHED = "this run has not finished; where it no longer goes on, it was killed"


@dataclass(slots=True)
class Reports:
    """The reports of a command.

    Attributes:
        targets: format → the file it goes to, `-` for stdout.
        summary: the run, once it has ended.
    """

    targets: Mapping[str, str]
    summary: RunSummary | None = None


@contextlib.contextmanager
def written(options: Mapping[str, Any]) -> Iterator[Reports]:
    """Write the reports of a command's options when the block ends, with or without an error.

    Args:
        options: from click.

    Raises:
        UsageError: two have one destination.
        StorageError: one cannot be written; the others are.
    """
    reports = Reports({name: options[name] for name in FORMATS if options[name]})
    try:
        context.writes_to_stdout(options)
        _replace(reports.targets, _failed(_UNFINISHED, HarnessError.exit_code, "running"))
        yield reports
    except BaseException as error:
        if reports.summary is None:
            code = _code(error)
            state: State = "interrupted" if code == Interrupted.exit_code else "finished"
            _replace(reports.targets, _failed(_message(error), code, state))
        else:
            with contextlib.suppress(StorageError):  # the first error is reported
                _write(reports.targets, reports.summary)
        raise
    if reports.summary is not None:
        _write(reports.targets, reports.summary)


def refuse(arguments: Sequence[str], message: str) -> None:
    """Write the reports of a command line that cannot be parsed.

    Args:
        arguments: of the process.
        message: the error.
    """
    rest = list(arguments)
    while rest and rest[0].startswith(("-C", "--directory")):
        rest = rest[2 if rest[0] in ("-C", "--directory") else 1 :]
    if not rest or rest[0] not in _COMMANDS:
        return
    targets = {}
    for name in FORMATS:
        for at, argument in enumerate(rest):
            if argument == f"--{name}" and rest[at + 1 :]:
                targets[name] = rest[at + 1]
            elif argument.startswith(f"--{name}="):
                targets[name] = argument.partition("=")[2]
    good = {name: target for name, target in targets.items() if values.is_report(target)}
    _replace(good, _failed(message, UsageError.exit_code))


def _failed(message: str, code: int, state: State = "finished") -> RunSummary:
    """The summary of a run without verdicts."""
    from gpuregress.records import RunSummary

    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    notes = tuple(message.splitlines()) or ("no details are known",)
    return RunSummary("", "", "", now, 0.0, (), notes, state=state, exit_code=code, is_kept=False)


def _message(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "interrupted"
    return str(error) if isinstance(error, GpuregressError) else f"{type(error).__name__}: {error}"


def _code(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Interrupted.exit_code
    code: int = getattr(error, "exit_code", GpuregressError.exit_code)
    return code


def _replace(targets: Mapping[str, str], summary: RunSummary) -> None:
    """Overwrite the reports of an earlier run, or remove them; streams and devices are left alone."""
    for name, target in targets.items():
        path = Path(target)
        with contextlib.suppress(OSError, ValueError):
            if target == "-" or (path.exists() and not path.is_file()):
                continue
            try:
                context.write_report(target, _render(name)(summary))
            except StorageError:
                path.unlink(missing_ok=True)


def _write(targets: Mapping[str, str], summary: RunSummary) -> None:
    refused: StorageError | None = None
    for name, target in targets.items():
        try:
            context.write_report(target, _render(name)(summary))
        except StorageError as error:
            refused = refused or error
    if refused is not None:
        raise refused


def _render(name: str) -> Callable[[RunSummary], str]:
    if name == "json":
        from gpuregress.report import json_report

        return json_report.render
    if name == "junit":
        from gpuregress.report import junit

        return junit.render
    from gpuregress.report import html

    return html.render
