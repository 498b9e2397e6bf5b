"""Wording of messages: a count with its noun, the first of several names, joined texts."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence


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
        noun: of the others, as `jobs`; "" for none.
    """
    text = ", ".join(names[:most])
    if len(names) > most:
        text += f" and {len(names) - most} more"
        if noun:
            text += f" {noun}"
    return text


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
