"""Wording of messages: counts with nouns, first names of several, near words, joined texts."""

from __future__ import annotations

import difflib
import json
import re
import shlex
from collections.abc import Container, Iterable, Mapping, Sequence


def plural(count: int, noun: str) -> str:
    """A count with its noun: `1 case`, `2 cases`, `2 launches`."""
    if count == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith(("s", "ch")) else "s"
    return f"{count} {noun}{ending}"


def first_names(names: Sequence[str], most: int = 3, noun: str = "") -> str:
    """Name the first of several things in one line: `a, b, c and 2 more`.

    Args:
        names: of all things.
        most: how many are named.
        noun: of one of the others, as `job`; "" for none.
    """
    text = ", ".join(names[:most])
    others = len(names) - most
    if others > 0 and noun:
        text += f" and {plural(others, f'more {noun}')}"
    elif others > 0:
        text += f" and {others} more"
    return text


def free_name(name: str, taken: Container[str], mark: str = "_") -> str:
    """Return a name that is not taken: `x`, or `x_2` where there is an `x`.

    Args:
        name: the wanted one.
        taken: those that there are.
        mark: before the number.
    """
    free = name
    number = 1
    while free in taken:
        number += 1
        free = f"{name}{mark}{number}"
    return free


def suggestion(word: str, known: Iterable[str], *, there_are: str = "there are") -> str:
    """Return `; did you mean 'shape'?`, or the list of known words if none is near.

    Args:
        word: what was written.
        known: what would have been right.
        there_are: how the list is introduced.
    """
    options = list(known)
    # Letters swapped or in the wrong case come first, for a shorter word can score higher.
    near = [option for option in options if sorted(option.lower()) == sorted(word.lower())]
    near = near or difflib.get_close_matches(word, options, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    if not options:
        return ""
    shown = ", ".join(options[:20]) + (", …" if len(options) > 20 else "")
    return f"; {there_are}: {shown}"


def joined(separator: str, *texts: str) -> str:
    """Join the texts that are not empty."""
    return separator.join(text for text in texts if text)


def value_text(value: object) -> str:
    """A value of a parameter as a job writes it."""
    text = str(value)
    if isinstance(value, bool):
        return text.lower()
    return text


_PLAIN_WORDS = re.compile(r"(?!(?:true|false|null)\Z)[A-Za-z_]\w*(?: \w+)*", re.ASCII | re.IGNORECASE)
"""Text that YAML and the expressions of a job take for text without quotes."""


def set_options(parameters: Mapping[str, object], names: Sequence[str]) -> str:
    """The options of the command line that give some parameters their values: `--set n=4096 --set real=double`."""
    words = []
    for name in names:
        value = parameters[name]
        text = value_text(value)
        if isinstance(value, str) and not _PLAIN_WORDS.fullmatch(value):
            text = f"{{text: {json.dumps(value)}}}"
        words += ["--set", f"{name}={text}"]
    return shlex.join(words)
