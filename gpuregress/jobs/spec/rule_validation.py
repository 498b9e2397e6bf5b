"""Validation of rules before anything runs: comparisons that cannot be right, or that can never fail."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.numeric import kolmogorov_smirnov
from gpuregress.foundation.numeric.tolerances import Unsound, loose, over_largest, tight
from gpuregress.foundation.records import METRICS, Outliers, Rule


def validate_rule(rule: Rule, element_type: ElementType) -> list[Unsound]:
    """Find the problems of a rule for an element type, each with the keys below the rule.

    Args:
        rule: as the job gives it.
        element_type: of the buffer.
    """
    if rule.verify:
        return []
    problems = [*_numbers(rule), *_bounds(rule, element_type), *_order(rule, element_type), *_statistics(rule)]
    return problems or list(_of_size(rule, element_type))


def validate_sample(rule: Rule, count: int) -> list[Unsound]:
    """Find the problems of a rule for a buffer's size: a p-value that no sample of that size can reach.

    Args:
        rule: as the job gives it.
        count: elements in the buffer.
    """
    limit = rule.statistics.ks
    if limit is None:
        return []
    smallest = kolmogorov_smirnov.p_value(1.0, count, count) if count else 1.0
    if not limit <= smallest:
        return []
    text = f"is {limit:g}: {count} values cannot have a p-value under {smallest:.2g}, so it can never fail"
    return [(("statistics", "ks"), text)]


def _numbers(rule: Rule) -> list[Unsound]:
    given: dict[tuple[str, ...], Any] = {("rtol",): rule.rtol, ("atol",): rule.atol, ("ulp",): rule.ulp}
    given |= {("metric", name): limit for name, limit in rule.metric.items()}
    if rule.outliers is not None:
        given |= {("outliers", name): getattr(rule.outliers, name) for name in ("fraction", "rtol", "atol")}
    problems: list[Unsound] = [
        (key, f"is {value}: it must be 0 or more, and finite: with infinity the comparison could never fail")
        for key, value in given.items()
        if value is not None and not (math.isfinite(value) and value >= 0)
    ]
    if rule.metric:
        known = ", ".join(METRICS)
        problems += [
            (("metric", name), f"unknown metric {name!r}; expected one of {known}")
            for name in rule.metric
            if name not in METRICS
        ]
    return problems


def _bounds(rule: Rule, element_type: ElementType) -> list[Unsound]:
    problems: list[Unsound] = []
    if rule.ulp is not None and not element_type.is_float:
        text = f"counts steps between floats, and {element_type.name} holds none: use atol"
        problems.append((("ulp",), text))
    if all(part.scalar.kind == "bool" for part in element_type.parts):
        given = [name for name in ("rtol", "atol") if getattr(rule, name) is not None]
        text = "means nothing to booleans, which are equal or not"
        problems += [((name,), text) for name in (*given[:1], *(["metric"] if rule.metric else []))]
    if rule.nan == "never" and not element_type.is_float:
        problems.append((("nan",), f"never means nothing to {element_type.name}, which knows no NaN"))
    if rule.outliers is not None:
        problems += _outliers(rule, rule.outliers)
    return problems


def _outliers(rule: Rule, outliers: Outliers) -> list[Unsound]:
    problems: list[Unsound] = []
    if rule.rtol is None and rule.atol is None and rule.ulp is None:
        problems.append((("outliers",), "need a first bound: rtol, atol or ulp"))
    if outliers.fraction >= 1:
        problems.append((("outliers", "fraction"), f"is {outliers.fraction:g}: every element may be one"))
    if outliers.rtol < (rule.rtol or 0) and outliers.atol <= (rule.atol or 0):
        problems.append((("outliers",), "have a bound that is tighter than the first one: it must be wider"))
    return problems


def _order(rule: Rule, element_type: ElementType) -> list[Unsound]:
    problems: list[Unsound] = []
    if rule.key:
        try:
            dtypes.key_parts(element_type, rule.key)
        except ValueError as wrong:
            problems.append((("key",), str(wrong)))
    many = rule.order == "any" and len(element_type.parts) > 1
    if rule.metric and many and not rule.key and rule.rtol is None and rule.atol is None and rule.ulp is None:
        text = "of records in any order needs a bound or key columns to tell which belong together"
        problems.append((("metric",), text))
    return problems


def _statistics(rule: Rule) -> list[Unsound]:
    problems: list[Unsound] = []
    for name, limit in rule.statistics.given.items():
        key = ("statistics", name)
        if name == "ks":
            if not 0 < limit < 1:
                problems.append((key, "is the smallest p-value that passes: over 0 and under 1"))
        elif not 0 < limit < math.inf:
            problems.append(((*key, "sigmas"), "must be over 0 and finite"))
        elif limit > _MOST_SIGMAS:
            problems.append(((*key, "sigmas"), f"is {limit:g}, over {_MOST_SIGMAS:g}: it could hardly fail"))
    if rule.statistics.given and (rule.rtol, rule.atol, rule.ulp, rule.outliers) != (None, None, None, None):
        problems.append((("statistics",), "stand in place of the element's bound: give one of the two"))
    return problems


def _of_size(rule: Rule, element_type: ElementType) -> Iterator[Unsound]:
    """Find bounds and metrics that no finite value of ordinary data breaks, and tolerances below rounding."""
    yield from tight(element_type, rule.rtol, exact=rule.key)
    yield from loose(element_type, rtol=rule.rtol, atol=rule.atol, ulp=rule.ulp, exact=rule.key)
    if rule.outliers is not None:
        second = (
            *tight(element_type, rule.outliers.rtol, exact=rule.key),
            *loose(element_type, rtol=rule.outliers.rtol, atol=rule.outliers.atol, exact=rule.key),
        )
        yield from ((("outliers", *key), text) for key, text in second)
    for name, limit in rule.metric.items():
        if name != "l2":
            yield from ((("metric", name), text) for text in over_largest(limit, element_type.parts))
        elif limit >= 1:
            yield ("metric", name), f"is {limit:g}: it must be below 1, or a result of zeros passes for everything"


_MOST_SIGMAS = 100.0
