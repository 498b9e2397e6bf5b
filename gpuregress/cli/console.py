"""Output to stdout and stderr, with text from outside escaped, and with colours on a terminal.

`NO_COLOR` (not empty) turns colours and the progress bar off, `FORCE_COLOR` (not empty, not 0) turns colours on in a
pipe, too; `NO_COLOR` wins. A terminal that is `dumb` gets neither, and a CI server (`CI`) no bar. stdout and stderr are
judged each for itself.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

import click

from gpuregress.foundation.escapes import entry, inert, visible

Colour = str | int | None
"""A name of click's, or one of xterm's 256."""


def width(stream: TextIO) -> int | None:
    """The width of the terminal; None in a pipe, where lines have any length."""
    if not stream.isatty():
        return None
    return shutil.get_terminal_size().columns


def say(text: str = "", *, err: bool = False, nl: bool = True, colour: Colour = None) -> None:
    """Print an entry of ours: one line, and further ones after a mark where text from outside has them.

    Args:
        text: see `escapes.entry`.
        err: to stderr.
        nl: end the line.
        colour: of the whole text.
    """
    say_spans([(text, colour)], err=err, nl=nl)


def say_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print entries, each in a line of its own."""
    for line in lines:
        say(line, err=err)


def say_notes(notes: Iterable[str], *, err: bool = True) -> None:
    """Print remarks on a command's results, by default to stderr."""
    for note in notes:
        say(f"note: {note}", err=err)


def say_document(text: str, *, err: bool = False, is_inert: bool = False) -> None:
    """Print a text that was made of whole lines, their control characters made visible.

    Args:
        text: ends with a newline.
        err: to stderr.
        is_inert: it holds no command to a CI server that is not ours.
    """
    shown = visible(text)
    is_log = os.environ.get("GITHUB_ACTIONS") == "true"
    _write(sys.stderr if err else sys.stdout, shown if is_inert or not is_log else inert(shown))


def say_spans(spans: Sequence[tuple[str, Colour]], *, err: bool = False, nl: bool = True) -> None:
    """Print texts, each in its colour, in one line.

    Args:
        spans: texts and their colours.
        err: to stderr.
        nl: end the line.
    """
    stream = sys.stderr if err else sys.stdout
    if has_colour(stream):
        parts = (click.style(entry(text), fg=colour) if colour is not None else entry(text) for text, colour in spans)
        line = "".join(parts)
    else:
        line = entry("".join(text for text, _ in spans))
    _write(stream, line + ("\n" if nl else ""))


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def has_colour(stream: TextIO) -> bool:
    """Whether colours are wanted on a stream."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and not _is_dumb()


def can_animate(stream: TextIO) -> bool:
    """Whether a progress bar is wanted on a stream."""
    is_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    return stream.isatty() and not _is_dumb() and not is_ci and not os.environ.get("NO_COLOR")


def _is_dumb() -> bool:
    return os.environ.get("TERM", "").lower() in ("dumb", "unknown")
