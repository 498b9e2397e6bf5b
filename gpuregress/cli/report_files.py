"""Report files of `--report`, `--json`, `--junit` and `--html`, which never describe an earlier run.

A file is written when the command starts, as of an unfinished run, and again at its end. So it is true also after a
kill, and where the command line, a job or the disk let nothing run.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuregress.cli import console, context, values
from gpuregress.foundation.errors import GpuregressError, HarnessError, Interrupted, JobErrors, StorageError, UsageError

if TYPE_CHECKING:
    from gpuregress.cli.values import Target
    from gpuregress.foundation.records import Problem, RunSummary, State


def annotate(summary: RunSummary, root: Path, targets: Sequence[Target], *, to_stderr: bool) -> None:
    """Print the annotations of a run, and append to the step's summary; a refused summary is said on stderr.

    Args:
        summary: the run.
        root: the repository's folder.
        targets: the reports that were asked for.
        to_stderr: stdout is taken by one of them; the runner reads commands from both.
    """
    is_wanted = any(name == "github" for name, _ in targets)
    is_action = os.environ.get("GITHUB_ACTIONS") == "true"
    if not is_wanted and not is_action:
        return
    from gpuregress.report.formats import github

    if is_action and ("github", "-") not in targets:
        console.say_document(github.render(summary, root), err=to_stderr, is_inert=True)
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(github.step_summary(summary, root) + "\n")
        except OSError as error:
            console.say(f"gpuregress: the step's summary is not written: {error.strerror or error}", err=True)


_COMMANDS = ("run", "nightly")
_REPORT = "--report"
_UNFINISHED = "this run has not finished; where it no longer goes on, it was killed"


@dataclass(slots=True)
class Reports:
    """The reports of a command.

    Attributes:
        targets: each format with the file it goes to, `-` for stdout.
        to_stderr: stdout is taken by one of them.
        summary: the run, once it has ended.
    """

    targets: Sequence[Target]
    to_stderr: bool = False
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
    reports = Reports(context.report_targets(options))
    try:
        reports.to_stderr = context.writes_to_stdout(options)
        _replace(reports.targets, _failed(_UNFINISHED, HarnessError.exit_code, "running"))
        yield reports
    except BaseException as error:
        if reports.summary is None:
            code = exit_code_of(error)
            state: State = "interrupted" if code == Interrupted.exit_code else "finished"
            failed = _failed(message_of(error), code, state, _problems(error))
            _replace(reports.targets, failed)
            annotate(failed, repository_root(), reports.targets, to_stderr=reports.to_stderr)
        else:
            with contextlib.suppress(StorageError):  # the first error is reported
                _write(reports.targets, reports.summary)
            annotate(reports.summary, repository_root(), reports.targets, to_stderr=reports.to_stderr)
        raise
    if reports.summary is not None:
        try:
            _write(reports.targets, reports.summary)
        finally:
            annotate(reports.summary, repository_root(), reports.targets, to_stderr=reports.to_stderr)


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
    failed = _failed(message, UsageError.exit_code)
    good = [(name, target) for name, target in _named_targets(rest) if values.is_report(target)]
    _replace(good, failed)
    annotate(failed, repository_root(), good, to_stderr=True)


def _named_targets(arguments: Sequence[str]) -> Iterator[Target]:
    """The report files of arguments that were not parsed."""
    for at, argument in enumerate(arguments):
        option, has_value, value = argument.partition("=")
        if not has_value:
            value = next(iter(arguments[at + 1 :]), "")
        if option == _REPORT:
            name, _, target = value.partition("=")
            if name in values.FORMATS:
                yield name, target
        elif option in [f"--{name}" for name in values.OWN_OPTIONS]:
            yield option.removeprefix("--"), value


def _failed(message: str, code: int, state: State = "finished", problems: tuple[Problem, ...] = ()) -> RunSummary:
    """The summary of a run without verdicts."""
    from gpuregress.foundation.records import RunSummary

    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    notes = tuple(message.splitlines()) or ("no details are known",)
    return RunSummary("", "", "", now, 0.0, (), notes, state=state, exit_code=code, is_kept=False, problems=problems)


def _problems(error: BaseException) -> tuple[Problem, ...]:
    """The errors of wrong jobs, each with its line."""
    from gpuregress.foundation.records import Problem, SourceLocation

    if not isinstance(error, JobErrors):
        return ()
    return tuple(Problem(str(one), SourceLocation(str(one.path), one.line or 0)) for one in error.errors)


def message_of(error: BaseException) -> str:
    """The message of an error that ends a run, for people."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "interrupted"
    return str(error) if isinstance(error, GpuregressError) else f"{type(error).__name__}: {error}"


def exit_code_of(error: BaseException) -> int:
    """The exit code of the process that an error ends."""
    if isinstance(error, click.ClickException):
        return UsageError.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Interrupted.exit_code
    code: int = getattr(error, "exit_code", GpuregressError.exit_code)
    return code


def _replace(targets: Sequence[Target], summary: RunSummary) -> None:
    """Overwrite the reports of an earlier run, or remove them; streams and devices are left alone."""
    for name, target in targets:
        path = Path(target)
        with contextlib.suppress(OSError, ValueError):
            if target == "-" or (path.exists() and not path.is_file()):
                continue
            try:
                context.write_report(target, render(name, summary))
            except StorageError:
                path.unlink(missing_ok=True)


def _write(targets: Sequence[Target], summary: RunSummary) -> None:
    refused: StorageError | None = None
    for name, target in targets:
        try:
            context.write_report(target, render(name, summary))
        except StorageError as error:
            refused = refused or error
    if refused is not None:
        raise refused


def render(name: str, summary: RunSummary) -> str:
    """Render a run as one of `values.FORMATS`."""
    if name == "json":
        from gpuregress.report import json_report

        return json_report.render(summary)
    if name == "html":
        from gpuregress.report import html
        from gpuregress.session.runs import history_entry

        with history_entry.trends(Path(summary.folder).parent, html.LAST) as trends:
            return html.render(summary, trends)
    from gpuregress.report import formats

    return formats.render(name, summary, repository_root())


def repository_root() -> Path:
    """The folder that source locations are relative to: the git repository's that holds the project."""
    ctx = click.get_current_context(silent=True)
    start = Path((ctx.find_root().obj if ctx is not None else None) or ".").absolute()
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), start)
