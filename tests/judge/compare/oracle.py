"""The brute force that matchings are held against."""

from __future__ import annotations


def largest_matching(near: list[list[bool]]) -> int:
    """The size of the largest matching between rows and columns, by trying every subset of columns (at most 2^n)."""
    reachable = {0}
    for row in near:
        grown = set(reachable)
        for used in reachable:
            grown |= {used | (1 << at) for at, good in enumerate(row) if good and not used >> at & 1}
        reachable = grown
    return max(used.bit_count() for used in reachable)
