"""Small pieces of HTML that several parts of the page use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpuregress.foundation.escapes import visible_html as escape

FAILED = ("differ", "fault", "timeout", "error")
"""The verdicts that fail a run."""
_LONG = 20
"""Lines of a text from which on it scrolls by itself."""


def status(word: str) -> str:
    """A verdict as a coloured word."""
    return f'<span class="st {escape(word)}">{escape(word)}</span>'


def listed(title: str, lines: Sequence[str]) -> Iterator[str]:
    """A titled list, one line in a paragraph; nothing without lines."""
    if len(lines) == 1:
        yield f'<p><span class="soft">{escape(title)}:</span> {escape(lines[0])}</p>'
    elif lines:
        yield (
            f'<p class="soft">{escape(title)}</p><ul>' + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
        )


def preformatted(lines: Sequence[str], label: str) -> Iterator[str]:
    """Lines as they are, which scroll by themselves where they are many; nothing without any."""
    text = "\n".join(map(str, lines))
    scrolls = (
        f' class="long" tabindex="0" role="group" aria-label="{escape(label)}"' if text.count("\n") > _LONG else ""
    )
    if lines:
        yield f"<pre{scrolls}>{escape(text)}</pre>"


def scrolling(label: str, lines: Iterator[str]) -> Iterator[str]:
    """A part that scrolls sideways by itself, also from the keyboard."""
    yield f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(label)}">'
    yield from lines
    yield "</div>"


def plural(count: int, word: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def short(value: Any) -> str:
    """A number in few digits, anything else as it is, nothing for None."""
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
