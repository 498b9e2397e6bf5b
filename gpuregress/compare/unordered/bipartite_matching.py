"""A largest matching between two sets of rows, exactly: Hopcroft and Karp (1973) over windows.

Rows whose bits are equal are paired first. That alone may not be the best: of 0, 1 and 1, 2 under atol 1, pairing the
ones leaves 0 and 2. So those pairs are only where the search starts, and augmenting paths may break them up. A row's
candidates are worked out when a path first reaches it, a whole layer of the search at a time.
"""

from __future__ import annotations

import numpy as np

from gpuregress.compare import row_hash
from gpuregress.compare.unordered.candidates import CandidateWindows, MatchCriterion, Places, windows
from gpuregress.ordinals import Array

MOST_CANDIDATES = 50_000_000
_FREE = -1


class TooManyCandidates(Exception):
    """The windows hold more pairs than can be looked at."""


def match(criterion: MatchCriterion, expected: Array, actual: Array) -> Places:
    """For each actual row the place of its partner among the expected ones, or -1; as many partners as can be.

    Args:
        criterion: what makes two rows partners.
        expected: one dimension, `criterion.element_type.storage`.
        actual: the same.

    Raises:
        TooManyCandidates: the tolerance is so wide that an exact matching cannot be found in sensible time.
    """
    partner = pair_equal(criterion, expected, actual)
    exact = criterion.bound.is_exact
    if not exact and (partner == _FREE).any():
        _Search(criterion, expected, actual, partner).run()
    return partner


def pair_equal(criterion: MatchCriterion, expected: Array, actual: Array) -> Places:
    """Pairs rows of the same values, each at most once: the n-th here with the n-th there."""
    merge = criterion.bound.signed_zero == "equal"
    kind = criterion.element_type
    hash_e = row_hash.rows(expected, kind, merge_zeros=merge)
    hash_a = row_hash.rows(actual, kind, merge_zeros=merge)
    order_e, order_a = np.argsort(hash_e, kind="stable"), np.argsort(hash_a, kind="stable")
    hash_e, hash_a = hash_e[order_e], hash_a[order_a]
    nth = np.arange(len(hash_a)) - np.searchsorted(hash_a, hash_a, side="left")
    at = np.searchsorted(hash_e, hash_a, side="left") + nth
    inside = at < len(hash_e)
    found = np.zeros(len(hash_a), np.bool_)
    found[inside] = hash_e[at[inside]] == hash_a[inside]
    partner = np.full(len(actual), _FREE, np.int64)
    rows, places = order_a[found], order_e[at[found]]
    good = criterion.near(expected[places], actual[rows])  # a hash may lie, once in 2^64
    partner[rows[good]] = places[good]
    return partner


class _Search:
    """Augmenting paths from the rows that have no partner."""

    def __init__(self, criterion: MatchCriterion, expected: Array, actual: Array, partner: Places) -> None:
        self.criterion, self.expected, self.actual, self.partner = criterion, expected, actual, partner
        self.taken = np.full(len(expected), _FREE, np.int64)
        paired = np.flatnonzero(partner != _FREE)
        self.taken[partner[paired]] = paired
        self.windows: CandidateWindows = windows(criterion, expected, actual[partner == _FREE])
        self.candidates: dict[int, list[int]] = {}
        self.looked_at = 0

    def run(self) -> None:
        """Augments until no path is left: then the matching is as large as any (Berge 1957)."""
        while True:
            layers = self._layers()
            if layers is None:
                return
            for row in np.flatnonzero(self.partner == _FREE).tolist():
                self._augment(row, layers)

    def _layers(self) -> dict[int, int] | None:
        """Breadth first: each reachable actual row's distance from a free one; None where no free partner is near."""
        frontier = np.flatnonzero(self.partner == _FREE)
        layer = dict.fromkeys(frontier.tolist(), 0)
        depth = 0
        while frontier.size:
            self._look_up([row for row in frontier.tolist() if row not in self.candidates])
            reached = {place for row in frontier.tolist() for place in self.candidates[row]}
            owners = self.taken[np.fromiter(reached, np.int64, len(reached))]
            if (owners == _FREE).any():
                return layer
            depth += 1
            fresh = [owner for owner in owners.tolist() if owner not in layer]
            layer.update(dict.fromkeys(fresh, depth))
            frontier = np.array(fresh, np.int64)
        return None

    def _augment(self, root: int, layer: dict[int, int]) -> None:
        """Depth first along the layers; each row is tried once a phase."""
        path: list[tuple[int, int]] = []
        stack = [(root, iter(self.candidates[root]))]
        while stack:
            row, places = stack[-1]
            for place in places:
                owner = int(self.taken[place])
                if owner == _FREE:
                    self._flip([*path, (row, place)])
                    for visited, _ in stack:
                        layer[visited] = _FREE
                    return
                if owner in self.candidates and layer.get(owner, _FREE) == layer[row] + 1:
                    path.append((row, place))
                    stack.append((owner, iter(self.candidates[owner])))
                    break
            else:
                layer[row] = -2
                stack.pop()
                if path:
                    path.pop()

    def _flip(self, path: list[tuple[int, int]]) -> None:
        for row, place in path:
            self.partner[row], self.taken[place] = place, row

    def _look_up(self, rows: list[int]) -> None:
        """Works out the candidates of some actual rows at once."""
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
        places = self.windows.order[first + np.arange(len(which))]
        near = self.criterion.near(self.expected[places], self.actual[wanted[which]])
        kept = np.split(places[near], np.cumsum(np.bincount(which[near], minlength=len(rows)))[:-1])
        for row, found in zip(rows, kept, strict=True):
            self.candidates[row] = found.tolist()
