"""Progress of a command: a bar on a terminal; of a run in a pipe, one line for each case."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Self

from gpuregress.cli import console
from gpuregress.foundation.escapes import entry, one_line
from gpuregress.foundation.records import RunSummary
from gpuregress.report import terminal
from gpuregress.session.events import Advanced, Compiled, Compiling, Event, Judged, Listener, Planned, Started, ignore


class PlainProgress:
    """One line for each case as it ends.

    Args:
        verbosity: -1 prints nothing, 0 one line for each case, 1 also starts and compilations.
        to_stderr: stdout is used by a report.
    """

    def __init__(self, verbosity: int, *, to_stderr: bool) -> None:
        self._verbosity = verbosity
        self._to_stderr = to_stderr

    def __call__(self, event: Event) -> None:
        """Show one event."""
        line = _line(event, self._verbosity)
        if line is None:
            return
        try:
            console.say(line, err=self._to_stderr, colour=_colour(event))
        except BrokenPipeError:
            # The reader (head, less) has left; the run goes on: its results are kept, and its exit code counts.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2 if self._to_stderr else 1)


class BarProgress:
    """A progress bar under the lines of the cases that did not pass.

    Args:
        verbosity: as for `PlainProgress`; at 0 passing cases only move the bar.
        to_stderr: stdout is taken by a report.
    """

    def __init__(self, verbosity: int, *, to_stderr: bool) -> None:
        # rich loads in 25 ms, and on a terminal alone it shows something.
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        self._verbosity = verbosity
        self._progress = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=to_stderr, highlight=False, soft_wrap=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=None)

    def __enter__(self) -> Self:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Remove the bar."""
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        self._move(event)
        if isinstance(event, Judged) and event.verdict.status in ("pass", "skip") and self._verbosity < 1:
            return
        line = _line(event, self._verbosity)
        if line is not None:
            from rich.text import Text  # noqa: PLC0415 - see __init__

            self._progress.console.print(Text(entry(line), style=_colour(event) or ""))

    def _move(self, event: Event) -> None:
        if isinstance(event, Advanced):
            self._progress.update(self._task, completed=event.done, total=event.of, description=one_line(event.what))
        elif isinstance(event, Planned):
            self._progress.update(self._task, completed=0, total=event.cases)
        elif isinstance(event, Compiling):
            self._progress.update(self._task, description=one_line(f"compiling {event.source}"))
        elif isinstance(event, Started):
            self._progress.update(self._task, description=one_line(event.case))
        elif isinstance(event, Judged):
            self._progress.update(self._task, completed=event.number)


def listener(verbosity: int, *, to_stderr: bool = False) -> AbstractContextManager[Listener]:
    """The bar on a terminal, else plain lines."""
    if verbosity >= 0 and console.can_animate(sys.stderr if to_stderr else sys.stdout):
        return BarProgress(verbosity, to_stderr=to_stderr)
    return nullcontext(PlainProgress(verbosity, to_stderr=to_stderr))


@contextmanager
def transient() -> Iterator[Listener]:
    """A bar on stderr while a command works that prints its results at its end; nothing where that is no terminal.

    It appears with the first event, so that a question before that is not overwritten.
    """
    if not console.can_animate(sys.stderr):
        yield ignore
        return
    with ExitStack() as shown:
        bars: list[BarProgress] = []

        def show(event: Event) -> None:
            if not bars:
                bars.append(shown.enter_context(BarProgress(-1, to_stderr=True)))
            bars[0](event)

        yield show


def show_closing(summary: RunSummary, root: Path, verbosity: int, *, to_stderr: bool) -> None:
    """Print the report after the last case; quiet: only failures and notes."""
    if verbosity < 0 and summary.exit_code == 0:
        console.say_notes(summary.notes, err=to_stderr)
        return
    statuses = {verdict.status for verdict in summary.verdicts}
    if verbosity < 0:  # the report relies on the lines of the cases, and none was shown
        for verdict in summary.verdicts:
            if verdict.status not in ("pass", "skip"):
                console.say(terminal.case_line(verdict), err=to_stderr, colour=terminal.colour(verdict.status))
    width = console.width(sys.stderr if to_stderr else sys.stdout)
    for line in terminal.closing(summary, root=root, verbose=verbosity > 0, width=width):
        first_word = line.partition(" ")[0]
        console.say(line, err=to_stderr, colour=terminal.colour(first_word) if first_word in statuses else None)


def _colour(event: Event) -> str | None:
    return terminal.colour(event.verdict.status) if isinstance(event, Judged) else None


def _line(event: Event, verbosity: int) -> str | None:
    if verbosity < 0:
        return None
    if isinstance(event, Judged):
        return terminal.case_line(event.verdict, verbose=verbosity > 0)
    if isinstance(event, Planned) and event.why:
        return f"device {event.device}: {event.why}"
    if verbosity < 1:
        return None
    if isinstance(event, Compiling):
        return f"compiling {event.source} ({event.number})"
    if isinstance(event, Compiled):
        stages = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in event.seconds.items())
        return f"compiled {event.source}: {stages}"
    if isinstance(event, Started):
        return f"started  {event.case} on {event.slot}"
    return None
