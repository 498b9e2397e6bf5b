"""A run while it goes on: a bar on a terminal, a plain line a case in a pipe, nothing where nothing is wanted."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click

from gpuregress.cli import context
from gpuregress.pipeline.events import Compiling, Event, Judged, Planned, Started
from gpuregress.report import terminal

if TYPE_CHECKING:
    from rich.progress import Progress


class Plain:
    """A line for each case as it ends.

    Args:
        verbosity: -1 says nothing, 0 a line a case, 1 also starts and compilations.
        to_stderr: stdout is taken by a report.
    """

    def __init__(self, verbosity: int, *, to_stderr: bool) -> None:
        self._verbosity = verbosity
        self._to_stderr = to_stderr

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to clear away."""

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        line = _line(event, self._verbosity)
        if line is None:
            return
        try:
            click.echo(line, err=self._to_stderr)
        except BrokenPipeError:
            # The reader (head, less) has left; the run goes on, for its results are kept, and its exit code counts.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2 if self._to_stderr else 1)


class Bar:
    """A progress bar under the lines of the cases that did not pass.

    Args:
        verbosity: as for `Plain`; at 0 passing cases only move the bar.
        to_stderr: stdout is taken by a report.
    """

    def __init__(self, verbosity: int, *, to_stderr: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._verbosity = verbosity
        console = Console(stderr=to_stderr, highlight=False, soft_wrap=True)
        columns: tuple[Any, ...] = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )
        self._progress: Progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task("", total=None)

    def __enter__(self) -> Self:
        """Shows the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes it away."""
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        self._move(event)
        passed = isinstance(event, Judged) and event.verdict.word in ("pass", "skip")
        line = None if passed and self._verbosity < 1 else _line(event, self._verbosity)
        if line is None:
            return
        from rich.text import Text

        word = event.verdict.word if isinstance(event, Judged) else None
        style = terminal.COLOURS[word] if word is not None else ""
        self._progress.console.print(Text(line, style=style))

    def _move(self, event: Event) -> None:
        if isinstance(event, Planned):
            self._progress.update(self._task, total=event.cases)
        elif isinstance(event, Compiling):
            self._progress.update(self._task, description=f"compiling {event.source}")
        elif isinstance(event, Started):
            self._progress.update(self._task, description=event.case)
        elif isinstance(event, Judged):
            self._progress.update(self._task, completed=event.number)


def listener(verbosity: int, *, to_stderr: bool = False) -> Plain | Bar:
    """The bar where somebody looks, else plain lines."""
    looked_at = (sys.stderr if to_stderr else sys.stdout).isatty()
    if looked_at and verbosity >= 0:
        return Bar(verbosity, to_stderr=to_stderr)
    return Plain(verbosity, to_stderr=to_stderr)


def show_closing(summary: Any, root: Any, verbosity: int, *, to_stderr: bool) -> None:
    """The report after the last case; quiet: only if something is wrong, or must be said."""
    if verbosity < 0 and summary.exit_code == 0:
        for note in summary.notes:
            click.echo(f"note: {note}", err=to_stderr)
        return
    words = {verdict.word for verdict in summary.verdicts}
    if verbosity < 0:  # a lone reason stands in its case's line, and none was shown
        for verdict in summary.verdicts:
            if verdict.word not in ("pass", "skip"):
                click.echo(context.style(verdict.word, terminal.case_line(verdict)), err=to_stderr)
    for line in terminal.closing(summary, root=root, verbose=verbosity > 0):
        first = line.partition(" ")[0]
        click.echo(context.style(first, line) if first in words else line, err=to_stderr)


def _line(event: Event, verbosity: int) -> str | None:
    if verbosity < 0:
        return None
    if isinstance(event, Judged):
        return terminal.case_line(event.verdict)
    if isinstance(event, Planned) and event.why:
        return f"device {event.device}: {event.why}"
    if verbosity < 1:
        return None
    if isinstance(event, Compiling):
        return f"compiling {event.source} ({event.number} of {event.total})"
    if isinstance(event, Started):
        return f"started  {event.case} on {event.place}"
    return None
