"""Description of a rule in words, with its formula, for reports."""

from __future__ import annotations

from gpuregress.foundation.records import Rule
from gpuregress.judge.compare.bounds import Bound

_METRICS = {"max": "largest |error|", "mean": "mean |error|", "rms": "rms error", "l2": "|error|2 / |baseline|2"}


def number(value: float) -> str:
    """Format a number with the fewest digits: `1e-05`, `0`, `3`."""
    return repr(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def bound(limits: Bound) -> str:
    """Describe a bound of one element."""
    terms = []
    if limits.has_tolerance:
        terms.append(f"|actual - baseline| <= {number(limits.atol or 0)} + {number(limits.rtol or 0)} * |baseline|")
    if limits.ulp is not None:
        terms.append(f"within {limits.ulp} ulp of the same sign")
    return " or ".join(terms) if terms else "every bit equal"


def rule(wanted: Rule) -> str:
    """Describe a whole rule in one line."""
    if wanted.verify:
        return f"verify: {wanted.verify}"
    limits = Bound.of_rule(wanted)
    terms = [] if limits.is_exact and (wanted.metric or wanted.statistics.given) else [bound(limits)]
    if wanted.outliers:
        second = bound(Bound.of_outliers(wanted.outliers, wanted))
        terms.append(f"but for {number(wanted.outliers.fraction)} of the elements, which keep {second}")
    terms += [f"{_METRICS.get(name, name)} <= {number(limit)}" for name, limit in wanted.metric.items()]
    terms += [_statistic(name, limit) for name, limit in wanted.statistics.given.items()]
    terms += _order(wanted)
    if wanted.nan == "never":
        terms.append("no NaN")
    if wanted.signed_zero == "equal":
        terms.append("-0 is 0")
    return ", ".join(terms)


def _statistic(name: str, limit: float) -> str:
    text = number(limit)
    return f"Kolmogorov-Smirnov p >= {text}" if name == "ks" else f"{name}s within {text} standard errors"


def _order(wanted: Rule) -> list[str]:
    if wanted.key:
        return [f"records matched by {', '.join(wanted.key)}"]
    return ["in any order"] if wanted.order == "any" else []
