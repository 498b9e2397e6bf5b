"""Maximum bipartite matching of two sets of rows: Hopcroft and Karp (1973) over candidate windows.

Rows with equal bits are paired first. That alone may not be the maximum: of 0, 1 and 1, 2 under atol 1, pairing the
ones leaves 0 and 2. So the search starts with those pairs, and augmenting paths may break them up. A row's candidates
are determined when a path first reaches it, for a whole layer of the search at a time.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType, Scalar
from gpuregress.foundation.numeric import ordinals, row_hash
from gpuregress.foundation.numeric.ordinals import Array, Mask
from gpuregress.foundation.records.rules import Bound
from gpuregress.gpu.records import Record
from gpuregress.judge.compare import bounds
from gpuregress.judge.compare.bounds import Floats

# --- match criterion and candidate windows ----------------------------------------------------------------------------
# Key columns must be equal to the bit; all other parts keep the bound. A window holds every possible partner of a
# record.

Indices = npt.NDArray[np.int64]
_SAMPLE = 256


class MatchCriterion(Record):
    """Criterion by which two records match.

    Attributes:
        element_type: of the records.
        bound: of the parts that are not keys; a NaN equals a NaN.
        keys: positions of the key parts.
    """

    element_type: ElementType
    bound: Bound
    keys: tuple[int, ...] = ()

    def matches(self, expected: Array, actual: Array) -> Mask:
        """Tell which pairs of rows match.

        Args:
            expected: one dimension, `element_type.storage`.
            actual: as many rows.
        """
        good = np.ones(len(expected), np.bool_)
        for position, (part, e, a) in enumerate(self.element_type.column_pairs(expected, actual)):
            good &= ~bounds.broken(e, a, part.scalar, self.bound_of(position))
        return good

    def bound_of(self, position: int) -> Bound:
        """The bound of one part."""
        if position in self.keys:
            return Bound(signed_zero=self.bound.signed_zero)
        return self.bound.for_pairing()


class CandidateWindows(Record):
    """The expected rows sorted by one part, so that the possible partners of a row are contiguous.

    Attributes:
        part: the position of the part.
        order: the rows in sorted order.
        values: that part, sorted, as float64; NaN as inf.
    """

    criterion: MatchCriterion
    part: int
    order: Indices
    values: Floats

    def span(self, actual: Array) -> tuple[Indices, Indices]:
        """Begin and end of each row's window in `order`."""
        low, high = _interval(self.criterion, self.part, actual)
        return (
            np.searchsorted(self.values, low, side="left").astype(np.int64),
            np.searchsorted(self.values, high, side="right").astype(np.int64),
        )


def windows(criterion: MatchCriterion, expected: Array, actual: Array) -> CandidateWindows:
    """Sort by the part that leaves the fewest candidates, judged by a sample.

    Args:
        criterion: by which rows match.
        expected: the possible partners.
        actual: the rows to be matched.
    """
    sample = actual[:: max(1, len(actual) // _SAMPLE)]
    best: tuple[int, CandidateWindows] | None = None
    for position in range(len(criterion.element_type.parts)):
        values = _line(criterion.element_type, position, expected)
        order = np.argsort(values, kind="stable").astype(np.int64)
        sorted_by = CandidateWindows(criterion, position, order, values[order])
        begin, end = sorted_by.span(sample)
        size = int((end - begin).sum())
        if best is None or size < best[0]:
            best = size, sorted_by
    assert best is not None, "an element has a part"
    return best[1]


def _line(element_type: ElementType, position: int, rows: Array) -> Floats:
    column, scalar = element_type.columns(rows)[position], element_type.parts[position].scalar
    values = _as_float(column, scalar)
    values[np.isnan(values)] = np.inf
    return values


def _as_float(column: Array, scalar: Scalar) -> Floats:
    with np.errstate(invalid="ignore"):
        return dtypes.to_float(column, scalar).astype(np.float64)


def _interval(criterion: MatchCriterion, position: int, actual: Array) -> tuple[Floats, Floats]:
    """An interval that holds every expected value within the bound of each row's: slightly too wide.

    From |a - b| <= atol + rtol |b| follows |b| <= (|a| + atol) / (1 - rtol), which bounds the right-hand side.
    """
    scalar, bound = criterion.element_type.parts[position].scalar, criterion.bound_of(position)
    column = criterion.element_type.columns(actual)[position]
    values = _line(criterion.element_type, position, actual)
    low, high = values.copy(), values.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        if bound.has_tolerance:
            rtol, atol = bound.rtol or 0.0, bound.atol or 0.0
            width = (atol + rtol * (np.abs(values) + atol) / (1.0 - rtol)) * (1 + 1e-9) if rtol < 1 else np.inf
            width = width + np.abs(values) * 2.0**-51  # 64-bit integers were rounded on the way
            width = np.where(np.isfinite(values), width, 0.0)
            low, high = np.nextafter(values - width, -np.inf), np.nextafter(values + width, np.inf)
        if bound.ulp is not None and scalar.is_float:
            low, high = _widen_by_ulps(column, scalar, bound.ulp, low, high)
    return low, high


def _widen_by_ulps(column: Array, scalar: Scalar, ulp: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Move the ends out by ULPs; past infinity they are infinite."""
    limits = np.iinfo(f"i{scalar.size}")
    keys = ordinals.keys(column, scalar).tolist()
    ends = []
    for step in (-ulp, ulp):
        moved = np.array([min(max(key + step, limits.min), limits.max) for key in keys], f"<i{scalar.size}")
        end = _as_float(ordinals.values(moved, scalar), scalar)
        end[np.isnan(end)] = math.copysign(math.inf, step)
        ends.append(end)
    return np.minimum(low, ends[0]), np.maximum(high, ends[1])


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
