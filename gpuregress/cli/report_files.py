"""Report files of `--report`, `--json`, `--junit` and `--html`, which never describe an earlier run.

A file is written when the command starts, as of an unfinished run, and again at its end. So it is true also after a
kill, and where the command line, a job or the disk let nothing run.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from gpuregress.cli import console, context, values
from gpuregress.cli.values import Target
from gpuregress.foundation.errors import GpuregressError, HarnessError, Interrupted, JobErrors, StorageError, UsageError
from gpuregress.foundation.records import Problem, RunSummary, SourceLocation, State
from gpuregress.gpu.records import MutableRecord
from gpuregress.report import formats, json_report
from gpuregress.report.formats import github
from gpuregress.session.runs import history_entry
from gpuregress.session.runs.source_texts import SourceTexts

_COMMANDS = ("run", "nightly")
_REPORT = "--report"
_UNFINISHED = "this run has not finished; if it is no longer running, it was killed"


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
    if is_action and ("github", "-") not in targets:
        console.say_document(github.render(summary, root), err=to_stderr, is_inert=True)
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(github.step_summary(summary, root) + "\n")
        except OSError as error:
            console.say(f"gpuregress: the step's summary is not written: {error.strerror or error}", err=True)


class Reports(MutableRecord):
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
        summary = reports.summary
        if summary is None:
            code = exit_code_of(error)
            state: State = "interrupted" if code == Interrupted.exit_code else "finished"
            summary = _failed(message_of(error), code, state, _problems(error))
            _replace(reports.targets, summary)
        else:
            with contextlib.suppress(StorageError):  # the first error is reported
                _write(reports.targets, summary)
        annotate(summary, repository_root(), reports.targets, to_stderr=reports.to_stderr)
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
    words = list(arguments)
    while words and words[0].startswith(("-C", "--directory")):
        option = words.pop(0)
        if option in ("-C", "--directory"):
            del words[:1]
    if not words or words[0] not in _COMMANDS:
        return
    failed = _failed(message, UsageError.exit_code)
    targets = [(name, target) for name, target in _named_targets(words) if values.is_report(target)]
    _replace(targets, failed)
    annotate(failed, repository_root(), targets, to_stderr=True)


def _named_targets(arguments: Sequence[str]) -> Iterator[Target]:
    """The report files of arguments that were not parsed."""
    for argument, following in itertools.pairwise([*arguments, ""]):
        option, has_value, value = argument.partition("=")
        if not has_value:
            value = following
        name = option.removeprefix("--")
        if option == _REPORT:
            name, _, target = value.partition("=")
            if name in values.FORMATS:
                yield name, target
        elif option.startswith("--") and name in values.OWN_OPTIONS:
            yield name, value


def _failed(message: str, code: int, state: State = "finished", problems: tuple[Problem, ...] = ()) -> RunSummary:
    """The summary of a run without verdicts."""
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return RunSummary(
        run="",
        folder="",
        device="",
        started=now,
        seconds=0.0,
        verdicts=(),
        notes=tuple(message.splitlines()) or ("no details are known",),
        state=state,
        exit_code=code,
        is_kept=False,
        problems=problems,
    )


def _problems(error: BaseException) -> tuple[Problem, ...]:
    """The errors of wrong jobs, each with its line."""
    if not isinstance(error, JobErrors):
        return ()
    return tuple(Problem(str(wrong), SourceLocation(str(wrong.path), wrong.line or 0)) for wrong in error.errors)


def message_of(error: BaseException) -> str:
    """The message of an error that ends a run, for people."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "interrupted"
    if isinstance(error, GpuregressError):
        return str(error)
    return f"{type(error).__name__}: {error}"


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
        return json_report.render(summary)
    if name == "html":
        from gpuregress.report import html  # noqa: PLC0415 - it loads jinja2 in 40 ms, which most runs do without

        runs = Path(summary.folder).parent
        with history_entry.trends(runs, html.LAST) as trends:
            return html.render(summary, trends, SourceTexts(runs).versions)
    return formats.render(name, summary, repository_root())


def repository_root() -> Path:
    """The folder that source locations are relative to: the git repository's that holds the project."""
    ctx = click.get_current_context(silent=True)
    directory = ctx.find_root().obj if ctx is not None else None
    start = Path(directory or ".").absolute()
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return start
