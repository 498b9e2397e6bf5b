"""Delta debugging: a smallest subset of changes that is enough for a failure.

The algorithm is `ddmin` of Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

_Change = TypeVar("_Change")


def smallest(changes: Sequence[_Change], fails: Callable[[Sequence[_Change]], bool | None]) -> list[_Change]:
    """Return a subset that fails, and of which no change can be left out.

    Args:
        changes: all of them, which fail together.
        fails: whether a subset fails; None: no more subsets are tried, and the smallest one so far is returned.
    """
    left, parts = list(changes), 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        pieces = [left[start : start + size] for start in range(0, len(left), size)]
        rests = [[one for other in pieces if other is not piece for one in other] for piece in pieces]
        for candidate in pieces if len(pieces) < 3 else [*pieces, *rests]:
            answer = fails(candidate)
            if answer is None:
                return left
            if answer:
                parts = 2 if len(candidate) <= size else max(len(pieces) - 1, 2)
                left = candidate
                break
        else:
            if size == 1:
                return left
            parts = min(len(left), 2 * len(pieces))
    return left
