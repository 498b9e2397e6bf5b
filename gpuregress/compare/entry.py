"""The ways of comparing, by what the rule asks for, and the functions that the pipeline calls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gpuregress.compare import bounds, custom, indexed, multiset, records_matched, sampling
from gpuregress.compare.bound import Bound
from gpuregress.compare.request import Request
from gpuregress.compare.sameness import incomparable, needs_all
from gpuregress.dtypes import ElementType
from gpuregress.ordinals import Array
from gpuregress.records import Comparison, Rule

Way = Callable[[Request, Array, Array], Comparison]

WAYS: dict[str, Way] = {
    "indexed": indexed.compare,
    "any": multiset.compare,
    "match": records_matched.compare_any,
    "key": records_matched.compare_keyed,
    "statistics": sampling.compare,
    "verify": custom.verify,
}


def way_of(rule: Rule, element_type: ElementType) -> str:
    """The name in `WAYS` of the way in which a rule compares buffers of this type."""
    if rule.verify:
        return "verify"
    if rule.statistics:
        return "statistics"
    if rule.key:
        return "key"
    if rule.order == "any":
        return "any" if len(element_type.parts) == 1 else "match"
    return "indexed"


def compare(request: Request, expected: Array, actual: Array) -> Comparison:
    """Compares two whole buffers.

    Args:
        request: what to compare and how.
        expected: `request.element_type.storage`, of `request.shape` or flat: the baseline or the reference.
        actual: the same: this run's.
    """
    refused = _refuse(request, expected, actual)
    if refused is not None:
        return refused
    way = WAYS[way_of(request.rule, request.element_type)]
    return way(request, np.asarray(expected).reshape(-1), np.asarray(actual).reshape(-1))


def compare_sparse(
    request: Request,
    indices: npt.NDArray[np.integer],
    expected_rows: Array,
    actual_rows: Array,
    total: int,
) -> Comparison:
    """Compares buffers that are equal to the bit but for a few rows.

    Args:
        request: what to compare and how; `needs_all(request.rule)` must be false.
        indices: the places of the rows that may differ, rising.
        expected_rows: those rows, `request.element_type.storage`, one dimension.
        actual_rows: the same.
        total: elements in the whole buffer.

    Raises:
        ValueError: the rule needs the whole arrays, or `total` is not the shape's.
    """
    if needs_all(request.rule):
        raise ValueError("this rule needs the whole arrays")
    if total != request.total:
        raise ValueError(f"{total} elements do not fill shape {list(request.shape)}")
    return indexed.compare_sparse(request, np.asarray(indices, np.int64), expected_rows, actual_rows)


def breaks(request: Request, expected_rows: Array, actual_rows: Array) -> npt.NDArray[np.bool_]:
    """Which rows break the rule's bound for elements, in order: what a diagnosis is made from.

    Args:
        request: what to compare and how; only its bound counts.
        expected_rows: one dimension, `request.element_type.storage`.
        actual_rows: the same.
    """
    kind, bound = request.element_type, Bound.of_rule(request.rule)
    broken = np.zeros(len(expected_rows), np.bool_)
    columns = zip(kind.columns(expected_rows), kind.columns(actual_rows), strict=True)
    for part, (e, a) in zip(kind.parts, columns, strict=True):
        broken |= bounds.broken(e, a, part.scalar, bound)
    return broken


def _refuse(request: Request, expected: Array, actual: Array) -> Comparison | None:
    said = []
    for side, array in ((f"the {request.against}", expected), ("this run", actual)):
        if array.dtype != request.element_type.storage:
            said.append(f"{side} holds {array.dtype}, not {request.element_type.name}")
        elif array.shape not in (request.shape, (request.total,)):
            said.append(f"{side} has shape {list(array.shape)}, not {list(request.shape)}")
    return incomparable(request, said) if said else None
