"""What can be said of two buffers from types, shapes and digests alone; loads no numpy, for most cases end here."""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.compare.request import ComparisonRequest
from gpuregress.compare.rules import description
from gpuregress.dtypes import ElementType
from gpuregress.records import Comparison, Rule


def is_in_order(rule: Rule) -> bool:
    """Whether each element is compared with the one in its place, so that both buffers can be compared in pieces."""
    return rule.order == "indexed" and not (rule.key or rule.statistics or rule.verify)


def needs_all(rule: Rule) -> bool:
    """Whether equal elements matter, too; else the rows that differ will do."""
    return not is_in_order(rule) or rule.nan == "never" or any(name != "max" for name in rule.metric)


def needs_array_when_identical(rule: Rule, element_type: ElementType) -> bool:
    """Whether even two buffers of the same bytes must be looked at: for NaN, or by the user's own function."""
    return bool(rule.verify) or (rule.nan == "never" and element_type.is_float)


def identical(request: ComparisonRequest) -> Comparison:
    """The comparison of two buffers whose bytes have the same digest.

    Args:
        request: what to compare and how.

    Raises:
        ValueError: `needs_array_when_identical`: such a rule must see the array.
    """
    if needs_array_when_identical(request.rule, request.element_type):
        raise ValueError("this rule must see the array even where the bytes are the same")
    return request.result(same=True, rule=description.rule(request.rule), identical=True, multiset_same=True)


def mismatch(
    request: ComparisonRequest, expected_type: ElementType, expected_shape: tuple[int, ...]
) -> Comparison | None:
    """A failed comparison where element type or shape are not the baseline's; None where they are.

    Args:
        request: with this run's element type and shape.
        expected_type: the baseline's.
        expected_shape: the baseline's.
    """
    said = []
    if expected_type != request.element_type:
        said.append(f"the {request.against} holds {expected_type.name}, this run {request.element_type.name}")
    if expected_shape != request.shape:
        said.append(f"the {request.against}'s shape is {list(expected_shape)}, this run's {list(request.shape)}")
    return incomparable(request, said) if said else None


def incomparable(request: ComparisonRequest, said: Sequence[str]) -> Comparison:
    """A failed comparison of buffers that have nothing to compare; `said` tells why."""
    return request.result(
        same=False,
        rule=description.rule(request.rule),
        differing=request.total,
        changed=request.total,
        message="cannot be compared: " + "; ".join(said),
    )
