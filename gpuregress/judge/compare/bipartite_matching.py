"""Maximum bipartite matching of two sets of rows: Hopcroft and Karp (1973) over candidate windows.

Rows with equal bits are paired first. That alone may not be the maximum: of 0, 1 and 1, 2 under atol 1, pairing the
ones leaves 0 and 2. So the search starts with those pairs, and augmenting paths may break them up. A row's candidates
are determined when a path first reaches it, for a whole layer of the search at a time.
"""

from __future__ import annotations

import numpy as np

from gpuregress.foundation.numeric import row_hash
from gpuregress.foundation.numeric.ordinals import Array
from gpuregress.judge.compare.candidates import CandidateWindows, Indices, MatchCriterion, windows

MOST_CANDIDATES = 50_000_000
_FREE = -1


class TooManyCandidates(Exception):
    """The windows hold too many pairs for an exact matching."""


def match(criterion: MatchCriterion, expected: Array, actual: Array) -> Indices:
    """Find a maximum matching: for each actual row its partner among the expected ones, or -1.

    Args:
        criterion: by which two rows match.
        expected: one dimension, `criterion.element_type.storage`.
        actual: the same.

    Raises:
        TooManyCandidates: the tolerance is too wide for an exact matching.
    """
    partner = pair_equal(criterion, expected, actual)
    if not criterion.bound.is_exact and (partner == _FREE).any():
        _Search(criterion, expected, actual, partner).run()
    return partner


def pair_equal(criterion: MatchCriterion, expected: Array, actual: Array) -> Indices:
    """Pair rows of the same values: the n-th of equal actual rows with the n-th of the expected ones."""
    merge = criterion.bound.signed_zero == "equal"
    kind = criterion.element_type
    hash_e = row_hash.rows(expected, kind, merge_zeros=merge)
    hash_a = row_hash.rows(actual, kind, merge_zeros=merge)
    order_e, order_a = np.argsort(hash_e, kind="stable"), np.argsort(hash_a, kind="stable")
    hash_e, hash_a = hash_e[order_e], hash_a[order_a]
    nth = np.arange(len(hash_a)) - np.searchsorted(hash_a, hash_a, side="left")
    position = np.searchsorted(hash_e, hash_a, side="left") + nth
    inside = position < len(hash_e)
    equal = np.zeros(len(hash_a), np.bool_)
    equal[inside] = hash_e[position[inside]] == hash_a[inside]
    partner = np.full(len(actual), _FREE, np.int64)
    rows, partners = order_a[equal], order_e[position[equal]]
    good = criterion.matches(expected[partners], actual[rows])  # hashes collide once in 2^64
    partner[rows[good]] = partners[good]
    return partner


class _Search:
    """Augmenting paths from the rows that have no partner."""

    def __init__(self, criterion: MatchCriterion, expected: Array, actual: Array, partner: Indices) -> None:
        self.criterion, self.expected, self.actual, self.partner = criterion, expected, actual, partner
        self.taken = np.full(len(expected), _FREE, np.int64)
        paired = np.flatnonzero(partner != _FREE)
        self.taken[partner[paired]] = paired
        self.windows: CandidateWindows = windows(criterion, expected, actual[partner == _FREE])
        self.candidates: dict[int, list[int]] = {}
        self.looked_at = 0

    def run(self) -> None:
        """Augment until no path is left: then the matching is a maximum one (Berge 1957)."""
        while True:
            layers = self._layers()
            if layers is None:
                return
            for row in np.flatnonzero(self.partner == _FREE).tolist():
                self._augment(row, layers)

    def _layers(self) -> dict[int, int] | None:
        """Breadth-first search: the distance of each reachable actual row from a free one; None without a path."""
        frontier = np.flatnonzero(self.partner == _FREE)
        layer = dict.fromkeys(frontier.tolist(), 0)
        depth = 0
        while frontier.size:
            self._look_up([row for row in frontier.tolist() if row not in self.candidates])
            reached = {partner for row in frontier.tolist() for partner in self.candidates[row]}
            owners = self.taken[np.fromiter(reached, np.int64, len(reached))]
            if (owners == _FREE).any():
                return layer
            depth += 1
            fresh = [owner for owner in owners.tolist() if owner not in layer]
            layer.update(dict.fromkeys(fresh, depth))
            frontier = np.array(fresh, np.int64)
        return None

    def _augment(self, root: int, layer: dict[int, int]) -> None:
        """Depth-first search along the layers; each row is tried once a phase."""
        path: list[tuple[int, int]] = []
        stack = [(root, iter(self.candidates[root]))]
        while stack:
            row, partners = stack[-1]
            for partner in partners:
                owner = int(self.taken[partner])
                if owner == _FREE:
                    self._flip([*path, (row, partner)])
                    for visited, _ in stack:
                        layer[visited] = _FREE
                    return
                if owner in self.candidates and layer.get(owner, _FREE) == layer[row] + 1:
                    path.append((row, partner))
                    stack.append((owner, iter(self.candidates[owner])))
                    break
            else:
                layer[row] = -2
                stack.pop()
                if path:
                    path.pop()

    def _flip(self, path: list[tuple[int, int]]) -> None:
        for row, partner in path:
            self.partner[row], self.taken[partner] = partner, row

    def _look_up(self, rows: list[int]) -> None:
        """Determine the candidates of some actual rows."""
        if not rows:
            return
        wanted = np.array(rows, np.int64)
        begin, end = self.windows.span(self.actual[wanted])
        counts = np.maximum(end - begin, 0)
        self.looked_at += int(counts.sum())
        if self.looked_at > MOST_CANDIDATES:
            raise TooManyCandidates
        which = np.repeat(np.arange(len(rows)), counts)
        first = np.repeat(begin - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        partners = self.windows.order[first + np.arange(len(which))]
        matches = self.criterion.matches(self.expected[partners], self.actual[wanted[which]])
        kept = np.split(partners[matches], np.cumsum(np.bincount(which[matches], minlength=len(rows)))[:-1])
        for row, candidates in zip(rows, kept, strict=True):
            self.candidates[row] = candidates.tolist()
