"""Values of settings that come from the environment: `${VARIABLE}`, expanded late and never printed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlsplit

from gpuregress.foundation.errors import GpuregressError

VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")
_HIDDEN = "***"
_SHORTEST = 4
"""Shorter texts are no secrets, and hiding them would spoil the message."""


class UnsetVariable(GpuregressError):
    """A setting names an environment variable that is not set."""


def variables(text: str) -> tuple[str, ...]:
    """The names of the variables in a text."""
    return tuple(dict.fromkeys(match["name"] for match in VARIABLE.finditer(text)))


def expand(text: str, key: str, environment: Mapping[str, str] = os.environ) -> str:
    """The text with the values of its variables.

    Args:
        text: of a setting.
        key: of the setting, for the message.
        environment: of the process.

    Raises:
        UnsetVariable: a variable is not set, or empty.
    """
    for name in variables(text):
        if not environment.get(name):
            raise UnsetVariable(f"{key}: the environment variable {name} is not set")
    return VARIABLE.sub(lambda match: environment[match["name"]].strip(), text)


def hide(message: str, url: str, setting: str, environment: Mapping[str, str] = os.environ) -> str:
    """A message without the URL, its path and the values of its variables.

    Args:
        message: of a library, which may quote them.
        url: as it was used.
        setting: the text that it was expanded from.
        environment: of the process.
    """
    parts = urlsplit(url)
    values = [environment.get(name, "") for name in variables(setting)]
    texts = (url, f"{parts.path}?{parts.query}", parts.path, parts.query, *values, parts.password or "")
    for text in sorted(_spellings(texts), key=len, reverse=True):
        message = message.replace(text, _HIDDEN)
    return message


def _spellings(texts: Iterable[str]) -> set[str]:
    found = {spelling for text in texts for spelling in (text, text.strip(), quote(text), quote(text, safe=""))}
    return {text for text in found if len(text) >= _SHORTEST}
