"""Plain forms of atomic functions: a load, the operation, a store."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ATOMIC = re.compile(r"(?:::)?atomic(Add|Sub|Min|Max|And|Or|Xor|Exch|CAS|Inc|Dec)(?:_block|_system)?")
_VALUES = {
    "Add": "was + ({0})",
    "Sub": "was - ({0})",
    "Min": "was < ({0}) ? was : ({0})",
    "Max": "was > ({0}) ? was : ({0})",
    "And": "was & ({0})",
    "Or": "was | ({0})",
    "Xor": "was ^ ({0})",
    "Exch": "({0})",
    "CAS": "was == ({0}) ? ({1}) : was",
    "Inc": "was >= ({0}) ? 0 : was + 1",
    "Dec": "was == 0 || was > ({0}) ? ({0}) : was - 1",
}


def plain(function: str, arguments: Sequence[str]) -> str:
    """Return an expression with the value and the effect of an atomic function on one thread; "" for any other call.

    Args:
        function: its name.
        arguments: as they are written.
    """
    match = _ATOMIC.fullmatch(function)
    if match is None or len(arguments) != (3 if match[1] == "CAS" else 2):
        return ""
    address, *operands = arguments
    value = _VALUES[match[1]].format(*operands)
    return f"[&] {{ auto at = {address}; auto was = *at; *at = {value}; return was; }}()"
