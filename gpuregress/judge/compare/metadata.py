"""Comparison by metadata alone: element types, shapes and digests.

It loads no numpy: most comparisons end here.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.records import Comparison, Rule
from gpuregress.foundation.records.rules import rule_text
from gpuregress.judge.compare.comparison_request import ComparisonRequest


def is_in_order(rule: Rule) -> bool:
    """Whether elements are compared index by index, so that both buffers can be compared in pieces."""
    return rule.order == "indexed" and not (rule.key or rule.statistics.given or rule.verify)


def needs_all(rule: Rule) -> bool:
    """Whether a comparison in order also needs the elements that are equal to the bit."""
    return not is_in_order(rule) or rule.nan == "never" or any(name != "max" for name in rule.metric)


def needs_array_when_identical(rule: Rule, element_type: ElementType) -> bool:
    """Whether two buffers of the same bytes must be read: to find NaNs, or for the user's function."""
    return bool(rule.verify) or (rule.nan == "never" and element_type.is_float)


def identical(request: ComparisonRequest) -> Comparison:
    """The comparison of two buffers whose bytes have the same digest.

    Args:
        request: what to compare and how.

    Raises:
        ValueError: the rule `needs_array_when_identical`.
    """
    if needs_array_when_identical(request.rule, request.element_type):
        raise ValueError("this rule must see the array even where the bytes are the same")
    facts = {"multiset_same": True, "tolerance_share": _unused(request.rule)}
    return request.result(same=True, rule=rule_text(request.rule), identical=True, **facts)


def _unused(rule: Rule) -> float | None:
    """The use of the tolerance by equal buffers: 0, or None where there is no tolerance."""
    tests = [limit for name, limit in rule.statistics.given.items() if name != "ks"]
    limits = (rule.rtol, rule.atol, rule.ulp, *rule.metric.values(), *tests)
    return 0.0 if any(limit is not None for limit in limits) and not rule.verify else None


def mismatch(
    request: ComparisonRequest, expected_type: ElementType, expected_shape: tuple[int, ...]
) -> Comparison | None:
    """A failed comparison if element types or shapes differ, else None.

    Args:
        request: with the actual element type and shape.
        expected_type: the expected element type.
        expected_shape: the expected shape.
    """
    problems = []
    if expected_type != request.element_type:
        problems.append(f"the {request.against} holds {expected_type.name}, this run {request.element_type.name}")
    if expected_shape != request.shape:
        problems.append(f"the {request.against}'s shape is {list(expected_shape)}, this run's {list(request.shape)}")
    return incomparable(request, problems) if problems else None


def incomparable(request: ComparisonRequest, problems: Sequence[str]) -> Comparison:
    """A failed comparison of buffers that cannot be compared, with the reasons."""
    return request.result(
        same=False,
        rule=rule_text(request.rule),
        differing=request.total,
        changed=request.total,
        message="cannot be compared: " + "; ".join(problems),
    )
