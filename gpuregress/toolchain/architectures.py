"""Architectures of the pinned compiler."""

from __future__ import annotations

import re

KNOWN = (75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)
"""The result of nvrtcGetSupportedArchs in 13.5."""

_WITH_OWN_FEATURES = 90
_WITH_FAMILIES = 100
_NAME = re.compile(r"sm_([0-9]{2,3})([af]?)")


def problem(arch: str) -> str | None:
    """Explain why a text is not an architecture of this compiler; None if it is one."""
    match = _NAME.fullmatch(arch)
    number = int(match[1]) if match else 0
    least = {"": 0, "a": _WITH_OWN_FEATURES, "f": _WITH_FAMILIES}[match[2] if match else ""]
    if number in KNOWN and number >= least:
        return None
    names = ", ".join(f"sm_{known}" for known in KNOWN)
    return f"unknown architecture {arch[:40]!r}; this compiler knows {names}, and sm_90a, sm_100a, sm_100f and so on"
