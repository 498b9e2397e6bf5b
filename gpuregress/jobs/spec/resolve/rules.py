"""Resolution of comparison rules, checks and user functions. Rules that could never fail are errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.problems import suggestion
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.dtypes import ElementType, Part
from gpuregress.foundation.numeric import conversion
from gpuregress.jobs.spec.models.rules import DEVICE, DEVICE_CHECKS, CheckSpec, CountSpec, RuleSpec, SigmasSpec, SumSpec
from gpuregress.jobs.spec.resolve import functions as user_functions
from gpuregress.jobs.spec.resolve.scope import Scope


def rule(scope: Scope, item: RuleSpec, element: ElementType, key: Key) -> records.Rule:
    """Resolve one buffer's comparison rule.

    Args:
        scope: the case's numbers; errors are reported there.
        item: as the job has it.
        element: the buffer's type.
        key: its key.
    """
    rtol, atol = _tolerances(scope, item, key)
    result = records.Rule(
        rtol=rtol,
        atol=atol,
        ulp=None if item.ulp is None else scope.whole(item.ulp, (*key, "ulp"), low=0, what="ulp"),
        nan=item.nan,
        signed_zero=item.signed_zero,
        outliers=_outliers(scope, item, key),
        metric=_metric(scope, item, key),
        order=item.order,
        key=_columns(scope, item, element, key),
        statistics=_statistics(scope, item, key),
        verify=user_functions.existing(scope, item.verify, (*key, "verify")) if item.verify else None,
    )
    others = [name for name in item.written if name not in ("verify", "rtol", "atol", "ulp")]
    if item.verify and others:
        text = f"stands in place of all rules but a tolerance: take out {', '.join(sorted(others))}"
        scope.error((*key, "verify"), text)
    return result


def _tolerances(scope: Scope, item: RuleSpec, key: Key) -> tuple[float | None, float | None]:
    if item.rtol is None and item.atol is None:
        return None, None
    rtol = scope.real(item.rtol, (*key, "rtol"), low=0) if item.rtol is not None else 0.0
    atol = scope.real(item.atol, (*key, "atol"), low=0) if item.atol is not None else 0.0
    return rtol, atol


def _outliers(scope: Scope, item: RuleSpec, key: Key) -> records.Outliers | None:
    if item.outliers is None:
        return None
    inner = (*key, "outliers")
    fraction = scope.real(item.outliers.fraction, (*inner, "fraction"), low=0, above=True)
    if fraction is not None and fraction >= 1:
        scope.error((*inner, "fraction"), f"is {fraction:g}: it must be below 1, or the first bound can never fail")
    rtol = scope.real(item.outliers.rtol, (*inner, "rtol"), low=0)
    atol = scope.real(item.outliers.atol, (*inner, "atol"), low=0)
    if rtol == 0 and atol == 0:
        scope.error(inner, "needs the second bound, rtol or atol, above 0")
    return records.Outliers(fraction or 0.0, rtol or 0.0, atol or 0.0)


def _metric(scope: Scope, item: RuleSpec, key: Key) -> dict[str, float]:
    if item.metric is None:
        return {}
    given = {name: getattr(item.metric, name) for name in item.metric.key_names()}
    limits = {
        name: scope.real(value, (*key, "metric", name), low=0) for name, value in given.items() if value is not None
    }
    if not limits:
        scope.error((*key, "metric"), f"expected one of {', '.join(given)}, got none")
    return {name: value for name, value in limits.items() if value is not None}


def _columns(scope: Scope, item: RuleSpec, element: ElementType, key: Key) -> tuple[str, ...]:
    columns = [part.name for part in element.parts if part.name]
    for position, column in enumerate(item.key):
        if column not in columns:
            there = "the columns are" if columns else ""
            hint = suggestion(column, columns, there_are=there) or f"; {element.name} has no columns"
            scope.error((*key, "key", position), f"unknown column {column!r}{hint}")
        elif column in item.key[:position]:
            scope.error((*key, "key", position), f"duplicate column {column!r}")
    return tuple(item.key)


def _statistics(scope: Scope, item: RuleSpec, key: Key) -> records.StatisticLimits:
    given, inner = item.statistics, (*key, "statistics")
    if given is None:
        return records.StatisticLimits()
    if given.mean is None and given.variance is None and given.ks is None:
        scope.error(inner, "expected one of mean, variance, ks, got none")
    ks = None if given.ks is None else scope.real(given.ks, (*inner, "ks"), low=0, above=True, high=1)
    return records.StatisticLimits(
        _sigmas(scope, given.mean, (*inner, "mean")), _sigmas(scope, given.variance, (*inner, "variance")), ks
    )


def _sigmas(scope: Scope, given: SigmasSpec | None, key: Key) -> records.Sigmas | None:
    sigmas = None if given is None else scope.real(given.sigmas, (*key, "sigmas"), low=0, above=True)
    return None if sigmas is None else records.Sigmas(sigmas)


def device_checks(
    scope: Scope, checks: Mapping[str, list[CheckSpec]], buffers: Mapping[str, object]
) -> tuple[str, ...]:
    """The dynamic checks of the device, which stand where a buffer's do.

    Args:
        scope: errors are reported there.
        checks: as the job has them.
        buffers: of the job.
    """
    if DEVICE in checks and DEVICE in buffers:
        scope.error(("checks", DEVICE), "names the checks of the device: rename the buffer that is called device")
        return ()
    wanted = []
    for name, items in checks.items():
        for position, item in enumerate(items):
            is_of_device = item.kind in DEVICE_CHECKS
            if is_of_device != (name == DEVICE):
                place = "is a check of the device, not of a buffer: write device: " if is_of_device else ""
                text = (
                    f"{place}[{item.kind}]" if place else f"is no check of the device: say {', '.join(DEVICE_CHECKS)}"
                )
                scope.error(("checks", name, position), text)
            elif is_of_device:
                wanted.append(item.kind)
    return records.checks_named(wanted, "checks.device")


def checks(
    scope: Scope, items: list[CheckSpec], buffer: records.Buffer, buffers: Mapping[str, records.Buffer], key: Key
) -> tuple[records.Check, ...]:
    """Resolve one buffer's checks.

    Args:
        scope: the case's numbers; errors are reported there.
        items: as the job has them.
        buffer: what they look at.
        buffers: all of the case.
        key: where they stand.
    """
    resolved = [_check(scope, item, buffer, buffers, (*key, position)) for position, item in enumerate(items)]
    return tuple(item for item in resolved if item is not None)


def _check(
    scope: Scope, item: CheckSpec, buffer: records.Buffer, buffers: Mapping[str, records.Buffer], key: Key
) -> records.Check | None:
    kind = item.kind
    setting = getattr(item, kind)
    inner = (*key, kind)
    if kind == "nonzero":
        return _nonzero(scope, setting, buffer, inner)
    if kind == "rows":
        return _rows(scope, setting, buffer, inner)
    if kind == "range":
        return _range(scope, setting, dtypes.parse(buffer.dtype), inner)
    if kind == "sum":
        return _sum(scope, setting, buffer, inner)
    if kind in ("equals", "permutation"):
        return _partner(scope, kind, setting, buffer, buffers, inner)
    if kind == "python":
        return records.Check(kind, user_functions.existing(scope, setting, inner))
    if kind == "all_equal" and setting is not True:
        return _all_equal(scope, setting, dtypes.parse(buffer.dtype), inner)
    if kind == "finite" and not dtypes.parse(buffer.dtype).is_float:
        scope.error(key, f"can never fail: {buffer.dtype} has no NaN and no infinity")
    return records.Check(kind, None if setting is True else setting)


def _nonzero(scope: Scope, setting: CountSpec, buffer: records.Buffer, key: Key) -> records.Check | None:
    """A number of elements: a plain number where only the smallest is given."""
    written = {name: getattr(setting, name) for name in setting.key_names()}
    given = {name: value for name, value in written.items() if value is not None}
    if list(given) == ["at_least"]:
        number = scope.whole(given["at_least"], key, low=1, what="elements")
        return None if number is None else records.Check("nonzero", number)
    count = math.prod(buffer.shape)
    limits = {
        name: scope.whole(value, (*key, name), low=1 if name == "at_least" else 0, high=count, what="elements")
        for name, value in given.items()
    }
    numbers = {name: number for name, number in limits.items() if number is not None}
    if len(numbers) < len(given):
        return None
    if numbers.get("at_least", 0) > numbers.get("at_most", count):
        scope.error(key, f"at_least {numbers['at_least']} is over at_most {numbers['at_most']}", *given.values())
    if numbers.get("at_most") == count:
        instead = "; take at_most out" if "at_least" in numbers else ""
        scope.error((*key, "at_most"), f"is {count}: {buffer.name} has no more elements, so it can never fail{instead}")
    return records.Check("nonzero", records.ElementCount(**numbers))


def _rows(scope: Scope, setting: Mapping[str, Any], buffer: records.Buffer, key: Key) -> records.Check:
    """Row → its values as numbers; rows are counted along the first axis, negative ones from the end."""
    element, count = dtypes.parse(buffer.dtype), buffer.shape[0]
    width = math.prod(buffer.shape[1:]) * len(element.parts)
    rows: dict[str, tuple[float, ...]] = {}
    for text, written in setting.items():
        at = (*key, text)
        row = scope.whole(text, at, low=-count, high=count - 1, what="a row's number")
        values = written if isinstance(written, list) else [written]
        numbers = [scope.number(value, at) for value in values]
        if row is None or None in numbers:
            continue
        if isinstance(written, list) and len(values) != width:
            scope.error(at, f"has {len(values)} values; a row of {buffer.name} has {width}", text, *values)
            continue
        if str(row % count) in rows:
            scope.error(at, f"row {row % count} is given twice", text)
        for position, number in enumerate(number for number in numbers if number is not None):
            parts = element.parts if len(values) == 1 else [element.parts[position % len(element.parts)]]
            problem = next((p for part in parts if (p := conversion.number_problem(number, part.scalar))), None)
            if problem:
                scope.error(at, problem, values[position])
        rows[str(row % count)] = tuple(number for number in numbers if number is not None)
    return records.Check("rows", records.KnownRows(rows))


def _sum(scope: Scope, setting: SumSpec, buffer: records.Buffer, key: Key) -> records.Check | None:
    value = scope.number(setting.value, (*key, "value"))
    rtol, atol = (scope.real(getattr(setting, name), (*key, name), low=0) for name in ("rtol", "atol"))
    if rtol is not None and rtol >= 1:
        scope.error((*key, "rtol"), f"is {rtol:g}: it must be below 1, or a sum of 0 passes for everything")
    count = math.prod(buffer.shape)
    largest = count * max(part.scalar.largest for part in dtypes.parse(buffer.dtype).parts)
    if atol is not None and atol >= largest:
        text = f"is {atol:g}: the largest sum of {count} {buffer.dtype} is {largest:.8g}, so it could hardly fail"
        scope.error((*key, "atol"), text)
    if value is None or rtol is None or atol is None:
        return None
    return records.Check("sum", records.ExpectedSum(value, rtol, atol))


def _range(scope: Scope, setting: list[Any], element: ElementType, key: Key) -> records.Check | None:
    low, high = (scope.number(value, (*key, at)) for at, value in enumerate(setting))
    if low is None or high is None:
        return None
    if not low <= high:
        scope.error(key, f"[{low}, {high}] is empty: low comes first")
    elif all(low <= smallest and largest <= high for smallest, largest in map(_ends, element.parts)):
        instead = "; `finite` refuses NaN and infinities" if element.is_float else ""
        scope.error(key, f"[{low}, {high}] holds every number of {element.name}: it could hardly fail{instead}")
    return records.Check("range", (low, high))


def _ends(part: Part) -> tuple[float, float]:
    return (-part.scalar.largest, part.scalar.largest) if part.scalar.is_float else part.scalar.bounds


def _all_equal(scope: Scope, setting: Any, element: ElementType, key: Key) -> records.Check:
    value = scope.number(setting, key)
    problems = (conversion.number_problem(value, part.scalar) for part in element.parts if value is not None)
    problem = next((problem for problem in problems if problem), None)
    if problem:
        scope.error(key, problem, setting)
    return records.Check("all_equal", value)


def _partner(
    scope: Scope, kind: str, name: str, buffer: records.Buffer, buffers: Mapping[str, records.Buffer], key: Key
) -> records.Check | None:
    other = buffers.get(name)
    if other is None:
        scope.problems.add(key, f"unknown buffer {name!r}{suggestion(name, buffers)}")
        return None
    if other.fill is None:
        scope.error(key, f"{name} has no fill: {kind} compares with what a buffer held before the first launch")
    elif (other.dtype, math.prod(other.shape)) != (buffer.dtype, math.prod(buffer.shape)):
        scope.error(key, f"{name} and {buffer.name} differ in dtype or size")
    return records.Check(kind, name)


def functions(scope: Scope, given: Mapping[str, str], *section: str) -> dict[str, str]:
    """Resolve user functions: buffer → `/abs/module.py:function`, without those that do not exist.

    Args:
        scope: errors are reported there.
        given: buffer → `module.py:function`, as the job has it.
        section: the key they stand under.
    """
    resolved = {name: user_functions.existing(scope, text, (*section, name)) for name, text in given.items()}
    return {name: path for name, path in resolved.items() if path is not None}
