"""Element by element, in order: exact, tolerance, ulp, outliers, metrics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuregress import ordinals
from gpuregress.compare import bounds, describe, fingerprint, metrics, multiset
from gpuregress.compare.bound import Bound
from gpuregress.compare.request import Request
from gpuregress.compare.tally import Indices, Tally, finite
from gpuregress.ordinals import Array, Mask
from gpuregress.records import Comparison, Rule

BLOCK = 1 << 18
_MOST_CHANGED_KEPT = 1 << 24


class _Run:
    """One comparison under way: the tally, the metrics' sums, and the multiset's fingerprints."""

    def __init__(self, request: Request) -> None:
        rule = request.rule
        self.request = request
        second = Bound.of_outliers(rule.outliers, rule) if rule.outliers else None
        self.tally = Tally(request.element_type, Bound.of_rule(rule), second)
        self.baselines = metrics.Baselines(request.element_type)
        self.sums = [0, 0]
        self.kept: list[tuple[Array, Array]] | None = []

    def add(self, indices: Indices, expected: Array, actual: Array) -> None:
        """Rows that may differ."""
        self.tally.add(indices, expected, actual)
        kind = self.request.element_type
        self.sums[0] += fingerprint.total(expected, kind)
        self.sums[1] += fingerprint.total(actual, kind)
        if self.kept is not None:
            self.kept = [*self.kept, (expected, actual)] if self.tally.changed <= _MOST_CHANGED_KEPT else None

    @property
    def same_values(self) -> bool:
        """Whether both sides hold the same values, in any order."""
        return self.sums[0] % (1 << 64) == self.sums[1] % (1 << 64)


def compare(request: Request, expected: Array, actual: Array) -> Comparison:
    """Compares two whole arrays, block by block.

    Args:
        request: what to compare and how.
        expected: one dimension, `request.element_type.storage`.
        actual: the same.
    """
    run = _Run(request)
    for start in range(0, len(expected), BLOCK):
        e, a = expected[start : start + BLOCK], actual[start : start + BLOCK]
        if request.rule.metric:
            run.baselines.add(e, a)
        rows = np.flatnonzero(_to_look_at(request, e, a))
        if rows.size:
            run.add(rows + start, e[rows], a[rows])
    return _finish(run, expected, actual)


def compare_sparse(request: Request, indices: Indices, expected: Array, actual: Array) -> Comparison:
    """Compares the rows that differ, all others being equal to the bit.

    Args:
        request: what to compare and how; `sameness.needs_all(request.rule)` is false.
        indices: the rows' places in the buffer, rising.
        expected: those rows, one dimension.
        actual: the same.
    """
    run = _Run(request)
    run.baselines.assume(request.total)
    for start in range(0, len(indices), BLOCK):
        block = slice(start, start + BLOCK)
        run.add(indices[block], expected[block], actual[block])
    return _finish(run, None, None)


def _to_look_at(request: Request, expected: Array, actual: Array) -> Mask:
    kind = request.element_type
    look = np.zeros(expected.shape, np.bool_)
    for part, e, a in zip(kind.parts, kind.columns(expected), kind.columns(actual), strict=True):
        look |= bounds.changed(e, a, part.scalar)
        if request.rule.nan == "never" and part.scalar.is_float:
            look |= ordinals.is_nan(e, part.scalar)
    return look


def _finish(run: _Run, expected: Array | None, actual: Array | None) -> Comparison:
    request, tally, rule = run.request, run.tally, run.request.rule
    listed = tally.listed()
    numbers = tally.numbers(listed)
    problems = _bound_problems(run, numbers)
    if rule.metric:
        found = metrics.values(tally.sums, run.baselines)
        numbers["metrics"] = {name: finite(value) for name, value in found.items()}
        problems += metrics.failures(rule.metric, found)
    same = not problems
    differing = 0 if same else (tally.broken or tally.changed)
    facts = _other_order(run, expected, actual, same=same, numbers=numbers)
    return request.result(
        same=same,
        rule=describe.rule(rule),
        numbers=numbers,
        identical=tally.changed == 0,
        differing=differing,
        changed=tally.changed,
        worst=None if tally.changed == 0 and same else listed.worst_by(measure(rule)),
        first=() if same else listed.first,
        message="; ".join(problems),
        **facts,
    )


def measure(rule: Rule) -> str:
    """What makes an element the worst under a rule."""
    if rule.ulp is not None and not rule.rtol and not rule.atol:
        return "ulp"
    return "relative" if rule.rtol and not rule.atol else "absolute"


def _bound_problems(run: _Run, numbers: dict[str, Any]) -> list[str]:
    """What breaks the bound of the elements, with the outliers' budget taken off."""
    tally, rule, total = run.tally, run.request.rule, run.request.total
    if rule.metric and tally.bound.is_exact:
        kept_out = tally.misplaced or (rule.nan == "never" and tally.broken and sum(tally.nan))
        return [f"{tally.misplaced or sum(tally.nan)} NaN or infinite where they may not be"] if kept_out else []
    if not tally.broken:
        return []
    share = f"{tally.broken} of {total} differ"
    if rule.outliers is None:
        return [share + _not_numbers(tally)]
    allowed = math.floor(rule.outliers.fraction * total + 1e-9)
    numbers["outliers"] = {"missed": tally.broken, "allowed": allowed, "beyond": tally.beyond}
    said = []
    if tally.broken > allowed:
        said.append(f"{tally.broken} of {total} miss the bound, {allowed} may")
    if tally.beyond:
        said.append(f"{tally.beyond} of {total} miss the outliers' bound too, none may")
    return said


def _not_numbers(tally: Tally) -> str:
    return f", {tally.misplaced} of them NaN or infinite on one side" if tally.misplaced else ""


def _other_order(
    run: _Run, expected: Array | None, actual: Array | None, *, same: bool, numbers: dict[str, Any]
) -> dict[str, Any]:
    """The verdict as a multiset, beside the one in order."""
    tally, kind = run.tally, run.request.element_type
    numbers["in_order"] = {"same": same, "differing": 0 if same else tally.broken or tally.changed}
    if tally.changed == 0:
        numbers["any_order"] = {"same": same}
        return {"multiset_same": True}
    if run.same_values:
        numbers["any_order"] = {"same": True, "only_expected": 0, "only_actual": 0}
        return {"multiset_same": True}
    if len(kind.parts) > 1 or run.request.rule.nan == "never":
        numbers["any_order"] = {"same": same}
        return {"multiset_same": False}
    if expected is None or actual is None or tally.bound.is_exact:
        if run.kept is None:
            return {"multiset_same": False}
        expected = np.concatenate([e for e, _ in run.kept])
        actual = np.concatenate([a for _, a in run.kept])
    only = (0, 0) if same else multiset.count_unmatched(expected, actual, kind.parts[0].scalar, tally.bound)
    numbers["any_order"] = {"same": same or not any(only), "only_expected": only[0], "only_actual": only[1]}
    return {"multiset_same": False, "only_expected": only[0], "only_actual": only[1]}
