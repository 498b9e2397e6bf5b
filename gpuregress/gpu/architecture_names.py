"""Architectures of the pinned compiler."""

from __future__ import annotations

import re

from gpuregress.gpu.architectures import ARCHITECTURES

KNOWN = tuple(sorted(row.number for row in ARCHITECTURES))
_VARIANTS = {row.number: ("", *row.variants) for row in ARCHITECTURES}
_NAME = re.compile(r"sm_([0-9]{2,3})([af]?)")


CARDS = tuple(sorted(row.name for row in ARCHITECTURES if row.tensor_core))
"""Architectures whose tensor cores the CPU device emulates."""


def number(arch: str) -> int:
    """The number of an architecture: 90 of `sm_90a`; 0 where it has none."""
    match = re.match(r"sm_(\d+)", arch)
    return int(match[1]) if match else 0


def problem(arch: str) -> str | None:
    """Explain why a text is not an architecture of this compiler; None if it is one."""
    match = _NAME.fullmatch(arch)
    if match and match[2] in _VARIANTS.get(int(match[1]), ()):
        return None
    names = ", ".join(f"sm_{known}" for known in KNOWN)
    return f"unknown architecture {arch[:40]!r}; this compiler knows {names}, and sm_90a, sm_100a, sm_100f and so on"


def is_specific(arch: str) -> bool:
    """Tell whether code for an architecture runs on it alone: `sm_90a`."""
    return arch.endswith("a")


def named(own: str, wanted: str) -> str:
    """Return what to build for when a GPU of architecture `wanted` is named, and a source says `own`.

    Features of `sm_90a` are those of an sm_90: a GPU is called sm_90, and the code for it stays that for sm_90a.
    """
    return own if is_specific(own) and number(own) == number(wanted) else wanted
