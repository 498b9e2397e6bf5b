"""What is wrong with a rule, before anything runs: a comparison that cannot be right, or that can never fail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gpuregress.dtypes import ElementType, Scalar
from gpuregress.records import Rule


def validate_rule(rule: Rule, element_type: ElementType) -> list[str]:
    """Messages for all that is wrong with a rule for this type; none if it is sound.

    Args:
        rule: as the job gives it.
        element_type: of the buffer.
    """
    if rule.verify:
        return []
    said = [*_numbers(rule), *_bounds(rule, element_type), *_order(rule, element_type), *_statistics(rule)]
    return said + ([] if said else [*_never_fails(rule, element_type), *_too_wide(rule, element_type)])


def validate_sample(rule: Rule, count: int) -> list[str]:
    """What is wrong with a rule for a buffer of so many elements: a p-value that no sample of that size can reach.

    Args:
        rule: as the job gives it.
        count: elements in the buffer.
    """
    limit = _number(rule.statistics.get("ks"))
    if math.isnan(limit):
        return []
    from gpuregress.compare import sampling  # noqa: PLC0415 - loads numpy, which the start of a run does without

    smallest = sampling.ks_p_value(1.0, count, count) if count else 1.0
    if not limit <= smallest:
        return []
    return [f"ks is {limit:g}: {count} values cannot have a p-value under {smallest:.2g}, so it can never fail"]


def _numbers(rule: Rule) -> list[str]:
    given: dict[str, Any] = {"rtol": rule.rtol, "atol": rule.atol, "ulp": rule.ulp}
    given |= {f"metric.{name}": limit for name, limit in rule.metric.items()}
    if rule.outliers is not None:
        given |= {f"outliers.{name}": getattr(rule.outliers, name) for name in ("fraction", "rtol", "atol")}
    said = [
        f"{name} is {value}: it must be 0 or more, and finite: with infinity the comparison could never fail"
        for name, value in given.items()
        if value is not None and not (math.isfinite(value) and value >= 0)
    ]
    if rule.metric:
        from gpuregress.compare.metrics import METRICS  # noqa: PLC0415 - as above

        said += [f"{name!r} is no metric: {', '.join(METRICS)}" for name in rule.metric if name not in METRICS]
    return said


def _bounds(rule: Rule, element_type: ElementType) -> list[str]:
    said = []
    scalars = [part.scalar for part in element_type.parts]
    if rule.ulp is not None and not element_type.is_float:
        said.append(f"ulp counts steps between floats, and {element_type.name} holds none: use atol")
    if (rule.rtol is not None or rule.atol is not None) and all(scalar.kind == "bool" for scalar in scalars):
        said.append("booleans are equal or not: a tolerance means nothing to them")
    if rule.nan == "never" and not element_type.is_float:
        said.append(f"nan: never means nothing to {element_type.name}, which knows no NaN")
    if rule.outliers is not None:
        said += _outliers(rule)
    return said


def _outliers(rule: Rule) -> list[str]:
    assert rule.outliers is not None
    said = []
    if rule.rtol is None and rule.atol is None and rule.ulp is None:
        said.append("outliers need a first bound: rtol, atol or ulp")
    if rule.outliers.fraction >= 1:
        said.append("outliers.fraction is 1 or more: every element may be one")
    if rule.outliers.rtol < (rule.rtol or 0) and rule.outliers.atol <= (rule.atol or 0):
        said.append("the outliers' bound is tighter than the first one: it must be wider")
    return said


def _order(rule: Rule, element_type: ElementType) -> list[str]:
    said = []
    if rule.key:
        from gpuregress.compare.records_matched import key_parts  # noqa: PLC0415 - as above

        try:
            key_parts(element_type, rule.key)
        except ValueError as wrong:
            said.append(f"key: {wrong}")
    if rule.order != "any" and not rule.key:
        return said
    if (rule.rtol or 0) >= 1 or (rule.outliers is not None and rule.outliers.rtol >= 1):
        said.append("rtol of 1 or more cannot be decided in any order: sorted pairs are then not the best ones")
    many = len(element_type.parts) > 1
    if rule.metric and many and not rule.key and rule.rtol is None and rule.atol is None and rule.ulp is None:
        said.append("a metric of records in any order needs a bound or key columns to tell which belong together")
    return said


def _statistics(rule: Rule) -> list[str]:
    if not rule.statistics:
        return []
    from gpuregress.compare import sampling  # noqa: PLC0415 - as above

    said = []
    for name, setting in rule.statistics.items():
        if setting is None:
            continue
        if name not in sampling.STATISTICS:
            said.append(f"{name!r} is no statistic: {', '.join(sampling.STATISTICS)}")
        elif name == "ks":
            if not 0 < _number(setting) < 1:
                said.append("ks is the smallest p-value that passes: over 0 and under 1")
        elif not 0 < _number(sampling_setting(setting)) < math.inf:
            said.append(f"{name}.sigmas must be over 0 and finite")
        elif _number(sampling_setting(setting)) > _MOST_SIGMAS:
            said.append(f"{name}.sigmas is {sampling_setting(setting):g}, over {_MOST_SIGMAS:g}: it could hardly fail")
    if (rule.rtol, rule.atol, rule.ulp, rule.outliers) != (None, None, None, None):
        said.append("statistics stand in place of the element's bound: give one of the two")
    return said


def sampling_setting(setting: Any) -> Any:
    """The number in `{sigmas: 4}`, or the setting itself."""
    return setting.get("sigmas") if isinstance(setting, Mapping) else setting


def _number(setting: Any) -> float:
    return float(setting) if isinstance(setting, int | float) and not isinstance(setting, bool) else math.nan


def _never_fails(rule: Rule, element_type: ElementType) -> list[str]:
    """A bound that is wider than the type: every value passes."""
    if rule.metric or rule.statistics or rule.key:
        return []
    if rule.atol is not None and all(rule.atol >= _widest(part.scalar) for part in element_type.parts):
        return [f"atol {rule.atol:g} is wider than {element_type.name}: the comparison could never fail"]
    floats = [part.scalar for part in element_type.parts if part.scalar.is_float]
    if rule.ulp is not None and len(floats) == len(element_type.parts):
        from gpuregress import ordinals  # noqa: PLC0415 - as above

        steps = [ordinals.exponent_mask(scalar) for scalar in floats]
        if all(rule.ulp >= step for step in steps):
            return [f"ulp {rule.ulp} is more than {element_type.name} has floats of one sign: it could hardly fail"]
    return []


def _too_wide(rule: Rule, element_type: ElementType) -> list[str]:
    """Relative bounds under which every digit may be wrong, and metrics that no two buffers of the type reach."""
    scalars = [part.scalar for part in element_type.parts]
    most = max(_most_relative(scalar) for scalar in scalars)
    given = {"rtol": rule.rtol, "metric.l2": rule.metric.get("l2")}
    said = [
        f"{name} {value:g} lets a result of {element_type.name} be {value:g} times off: it could hardly fail"
        for name, value in given.items()
        if value is not None and value >= most
    ]
    return said + [
        f"metric.{name} {limit:g} is wider than {element_type.name}: it could never fail"
        for name, limit in rule.metric.items()
        if name != "l2" and all(limit >= _widest(scalar) for scalar in scalars)
    ]


def _most_relative(scalar: Scalar) -> float:
    """The relative error from which on a bound says nothing: one over a float's rounding, an integer's whole range."""
    if scalar.is_float:
        return 2.0 ** _SIGNIFICANT[scalar.name]
    return 1.0 if scalar.kind == "bool" else _widest(scalar)


def _widest(scalar: Scalar) -> float:
    """The largest difference between two numbers of a type."""
    if scalar.is_float:
        return 2 * _LARGEST[scalar.name]
    return math.inf if scalar.kind == "bool" else float((1 << (8 * scalar.size)) - 1)


_MOST_SIGMAS = 1e4
_SIGNIFICANT = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_LARGEST = {"float16": 65504.0, "bfloat16": 3.39e38, "float32": 3.4028235e38, "float64": 1.7976931348623157e308}
