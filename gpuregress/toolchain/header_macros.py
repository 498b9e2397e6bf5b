"""Names of macros that break the headers which the compiler includes by itself."""

from __future__ import annotations

_NAMES = frozenset(["T", "x", "y", "z", "w"])


def breaks_headers(name: str) -> bool:
    """Tell whether a macro with this name breaks the compiler's own headers."""
    return name in _NAMES
