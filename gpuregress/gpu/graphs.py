"""Reachability in directed graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def reachable_from(starts: Iterable[N], following: Callable[[N], Iterable[N]]) -> Iterator[N]:
    """Yield the nodes that can be reached from some nodes, these included, each once and depth first.

    Args:
        starts: the nodes.
        following: a node → the nodes to which its edges lead; asked after the node is yielded.
    """
    seen: set[N] = set()
    pending = list(starts)
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            pending += following(node)
