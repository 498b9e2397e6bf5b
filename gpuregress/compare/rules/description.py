"""A rule in words, with its formula: what a report prints beside the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuregress.compare.rules.bound import Bound
from gpuregress.records import Rule

_METRICS = {"max": "largest |error|", "mean": "mean |error|", "rms": "rms error", "l2": "|error|2 / |baseline|2"}


def number(value: float) -> str:
    """A number as short as it can be: `1e-05`, `0`, `3`."""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def bound(limits: Bound) -> str:
    """A bound for one element."""
    said = []
    if limits.has_tolerance:
        said.append(f"|actual - baseline| <= {number(limits.atol or 0)} + {number(limits.rtol or 0)} * |baseline|")
    if limits.ulp is not None:
        said.append(f"within {limits.ulp} ulp of the same sign")
    return " or ".join(said) if said else "every bit equal"


def rule(wanted: Rule) -> str:
    """A whole rule, as one line."""
    if wanted.verify:
        return f"verify: {wanted.verify}"
    limits = Bound.of_rule(wanted)
    said = [] if limits.is_exact and (wanted.metric or wanted.statistics) else [bound(limits)]
    if wanted.outliers:
        second = bound(Bound.of_outliers(wanted.outliers, wanted))
        said.append(f"but for {number(wanted.outliers.fraction)} of the elements, which keep {second}")
    said += [f"{_METRICS.get(name, name)} <= {number(limit)}" for name, limit in wanted.metric.items()]
    said += [_statistic(name, setting) for name, setting in wanted.statistics.items() if setting is not None]
    said += _order(wanted)
    if wanted.nan == "never":
        said.append("no NaN")
    if wanted.signed_zero == "equal":
        said.append("-0 is 0")
    return ", ".join(said)


def _statistic(name: str, setting: Any) -> str:
    limit = setting["sigmas"] if isinstance(setting, Mapping) else setting
    if name == "ks":
        return f"Kolmogorov-Smirnov p >= {number(limit)}"
    return f"{name}s within {number(limit)} standard errors"


def _order(wanted: Rule) -> list[str]:
    if wanted.key:
        return [f"records matched by {', '.join(wanted.key)}"]
    return ["in any order"] if wanted.order == "any" else []
