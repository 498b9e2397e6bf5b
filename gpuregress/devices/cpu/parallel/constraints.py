"""What a comparison says of the difference of its two sides, and of a loop's rounds."""

from __future__ import annotations

from gpuregress.devices.cpu.parallel.affine_expressions import INFINITE, Knowledge, Sum

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def compared(order: str, low: int, high: int) -> bool | None:
    """Whether a difference that lies between two numbers is below, at, above 0; None where that is open."""
    below, above = high < 0, low > 0
    equal = low == high == 0
    if order in ("==", "!="):
        found = True if equal else False if below or above else None
        return found if order == "==" or found is None else not found
    if order in ("<", ">="):
        found = True if below else False if low >= 0 else None
        return found if order == "<" or found is None else not found
    found = True if above else False if high <= 0 else None
    return found if order == ">" or found is None else not found


def at_most_zero(order: str, difference: Sum, known: Knowledge) -> list[Sum]:
    """What is at most 0 where a difference is so to 0."""
    if order in ("<", "<="):
        return [difference.add(order == "<")]
    if order in (">", ">="):
        return [difference.times(-1).add(order == ">")]
    if known.most(difference) <= 0:
        return [difference.add(1)]
    if known.least(difference) >= 0:
        return [difference.times(-1).add(1)]
    return []


def counted(difference: Sum, atom: str, known: Knowledge) -> list[Sum]:
    """The same for a loop that ends when a difference is 0: where it comes there in whole steps, it is on one side."""
    step = difference.factors[atom]
    first = difference.replaced(atom, Sum(0))
    if any(number % step for number in (first.constant, *first.factors.values())):
        return []
    if step < 0:
        return [difference.times(-1).add(-step)] if known.least(first) >= 0 else []
    return [difference.add(step)] if known.most(first) <= 0 else []


def most_rounds(item: Sum, atom: str, known: Knowledge) -> int:
    """How many rounds there are at most, where a growing sum is at most 0 in each but the last."""
    least = known.least(item.replaced(atom, Sum(0)))
    if least <= -INFINITE:
        return INFINITE
    return max(0, -least // item.factors[atom] + 1)
