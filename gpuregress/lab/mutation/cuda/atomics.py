"""Plain forms of atomic functions: a load, the operation, a store."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ATOMIC = re.compile(r"(?:::)?atomic(Add|Sub|Min|Max|And|Or|Xor|Exch|CAS|Inc|Dec)(?:_block|_system)?")
_VALUES = {
    "Add": "{was} + {first}",
    "Sub": "{was} - {first}",
    "Min": "{was} < {first} ? {was} : {first}",
    "Max": "{was} > {first} ? {was} : {first}",
    "And": "{was} & {first}",
    "Or": "{was} | {first}",
    "Xor": "{was} ^ {first}",
    "Exch": "{first}",
    "CAS": "{was} == {first} ? {second} : {was}",
    "Inc": "{was} >= {first} ? 0 : {was} + 1",
    "Dec": "{was} == 0 || {was} > {first} ? {first} : {was} - 1",
}
_NAMES = {"at": "mutant_at", "was": "mutant_was", "first": "mutant_first", "second": "mutant_second"}
"""Names that no kernel has: the operands are computed beside them."""


def plain(function: str, arguments: Sequence[str]) -> str:
    """Return an expression with the value and the effect of an atomic function on one thread; "" for any other call.

    The operands are computed once, as the function's parameters are, and before the load. That of an addition is
    volatile: a product and the sum must not become one operation with one rounding.

    Args:
        function: its name.
        arguments: as they are written.
    """
    match = _ATOMIC.fullmatch(function)
    if match is None or len(arguments) != (3 if match[1] == "CAS" else 2):
        return ""
    address, *operands = arguments
    at, was = _NAMES["at"], _NAMES["was"]
    kept = "volatile " if match[1] == "Add" else ""
    names = (_NAMES["first"], _NAMES["second"])
    values = [f"{kept}decltype({was}) {name} = {text};" for name, text in zip(names, operands, strict=False)]
    steps = (f"auto {at} = {address};", f"auto {was} = *{at};", *values, f"{was} = *{at};")
    return f"[&] {{ {' '.join(steps)} *{at} = {_VALUES[match[1]].format(**_NAMES)}; return {was}; }}()"
