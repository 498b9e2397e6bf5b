"""Resolution of comparison rules and checks. Rules that could never fail are errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.dtypes import ElementType, Part
from gpuregress.foundation.numeric import conversion
from gpuregress.foundation.numeric.tolerances import Unsound, ks_p_value, loose, over_largest, tight
from gpuregress.foundation.records import METRICS, Outliers, Rule
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.models.rules import DEVICE, DEVICE_CHECKS, CheckSpec, CountSpec, RuleSpec, SumSpec
from gpuregress.jobs.spec.resolve.scope import Scope, complete, existing_user_function, record


def rule(scope: Scope, item: RuleSpec, element: ElementType, key: Key) -> records.Rule:
    """Resolve one buffer's comparison rule.

    Args:
        scope: the case's numbers; errors are reported there.
        item: as the job has it.
        element: the buffer's type.
        key: its key.
    """
    result = record(scope, item, records.Rule, key) or records.Rule()
    if result.rtol is not None or result.atol is not None:
        result = replace(result, rtol=result.rtol or 0.0, atol=result.atol or 0.0)
    _check_outliers(scope, result.outliers, (*key, "outliers"))
    for name, part in (("metric", item.metric), ("statistics", item.statistics)):
        if part is not None and not part.present():
            scope.error((*key, name), f"expected one of {', '.join(part.key_names())}, got none")
    _check_columns(scope, item, element, (*key, "key"))
    others = [name for name in item.written if name not in ("verify", "rtol", "atol", "ulp")]
    if item.verify and others:
        text = f"stands in place of all rules but a tolerance: take out {', '.join(sorted(others))}"
        scope.error((*key, "verify"), text)
    return result


def _check_outliers(scope: Scope, outliers: Outliers | None, key: Key) -> None:
    if outliers is None:
        return
    if outliers.fraction >= 1:
        text = f"is {outliers.fraction:g}: it must be below 1, or the first bound can never fail"
        scope.error((*key, "fraction"), text)
    if outliers.rtol == 0 and outliers.atol == 0:
        scope.error(key, "needs the second bound, rtol or atol, above 0")


def _check_columns(scope: Scope, item: RuleSpec, element: ElementType, key: Key) -> None:
    columns = [part.name for part in element.parts if part.name]
    for position, column in enumerate(item.key):
        if column not in columns:
            hint = suggestion(column, columns, there_are="the columns are") or f"; {element.name} has no columns"
            scope.error((*key, position), f"unknown column {column!r}{hint}")
        elif column in item.key[:position]:
            scope.error((*key, position), f"duplicate column {column!r}")


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
            key = ("checks", name, position)
            is_of_device = item.kind in DEVICE_CHECKS
            if is_of_device and name == DEVICE:
                wanted.append(item.kind)
            elif is_of_device:
                scope.error(key, f"is a check of the device, not of a buffer: write device: [{item.kind}]")
            elif name == DEVICE:
                scope.error(key, f"is not a check of the device: use {', '.join(DEVICE_CHECKS)}")
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
    resolved: list[records.Check] = []
    for position, item in enumerate(items):
        check = _check(scope, item, buffer, buffers, (*key, position))
        if check is not None:
            resolved.append(check)
    return tuple(resolved)


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
        return records.Check(kind, existing_user_function(scope, setting, inner))
    if kind == "all_equal" and setting is not True:
        return _all_equal(scope, setting, dtypes.parse(buffer.dtype), inner)
    if kind == "finite" and not dtypes.parse(buffer.dtype).is_float:
        scope.error(key, f"can never fail: {buffer.dtype} has no NaN and no infinity")
    return records.Check(kind, None if setting is True else setting)


def _nonzero(scope: Scope, setting: CountSpec, buffer: records.Buffer, key: Key) -> records.Check | None:
    """A number of elements: a plain number where only the smallest is given."""
    given = setting.present()
    if list(given) == ["at_least"]:
        number = scope.whole(given["at_least"], key, low=1, what="elements")
        return None if number is None else records.Check("nonzero", number)
    count = math.prod(buffer.shape)
    numbers: dict[str, int] = {}
    for name, value in given.items():
        number = scope.whole(value, (*key, name), low=1 if name == "at_least" else 0, high=count, what="elements")
        if number is not None:
            numbers[name] = number
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
    parts, count = dtypes.parse(buffer.dtype).parts, buffer.shape[0]
    width = math.prod(buffer.shape[1:]) * len(parts)
    rows: dict[str, tuple[float, ...]] = {}
    for text, written in setting.items():
        row_key = (*key, text)
        row = scope.whole(text, row_key, low=-count, high=count - 1, what="a row's number")
        values = written if isinstance(written, list) else [written]
        numbers = complete([scope.number(value, row_key) for value in values])
        if row is None or numbers is None:
            continue
        if isinstance(written, list) and len(values) != width:
            scope.error(row_key, f"has {len(values)} values; a row of {buffer.name} has {width}", text, *values)
            continue
        number_text = str(row % count)
        if number_text in rows:
            scope.error(row_key, f"row {number_text} is given twice", text)
        for position, (value, number) in enumerate(zip(values, numbers, strict=True)):
            problem = _problem_of_parts(number, parts if len(values) == 1 else [parts[position % len(parts)]])
            if problem is not None:
                scope.error(row_key, problem, value)
        rows[number_text] = tuple(numbers)
    return records.Check("rows", records.KnownRows(rows))


def _problem_of_parts(number: float, parts: Sequence[Part]) -> str | None:
    """Explain why one of the parts of an element cannot hold a number; None if all can."""
    for part in parts:
        problem = conversion.number_problem(number, part.scalar)
        if problem:
            return problem
    return None


def _sum(scope: Scope, setting: SumSpec, buffer: records.Buffer, key: Key) -> records.Check | None:
    expected = record(scope, setting, records.ExpectedSum, key)
    if expected is None:
        return None
    atol = expected.atol
    if expected.rtol >= 1:
        scope.error((*key, "rtol"), f"is {expected.rtol:g}: it must be below 1, or a sum of 0 passes for everything")
    count = math.prod(buffer.shape)
    largest = count * max(part.scalar.largest for part in dtypes.parse(buffer.dtype).parts)
    if atol >= largest:
        text = f"is {atol:g}: the largest sum of {count} {buffer.dtype} is {largest:.8g}, so it could hardly fail"
        scope.error((*key, "atol"), text)
    return records.Check("sum", expected)


def _range(scope: Scope, setting: list[Any], element: ElementType, key: Key) -> records.Check | None:
    low, high = (scope.number(value, (*key, position)) for position, value in enumerate(setting))
    if low is None or high is None:
        return None
    if not low <= high:
        scope.error(key, f"[{low}, {high}] is empty: low comes first")
    elif all(_holds_every_number(low, high, part) for part in element.parts):
        instead = "; `finite` refuses NaN and infinities" if element.is_float else ""
        scope.error(key, f"[{low}, {high}] holds every number of {element.name}: it could hardly fail{instead}")
    return records.Check("range", (low, high))


def _holds_every_number(low: float, high: float, part: Part) -> bool:
    smallest, largest = -part.scalar.largest, part.scalar.largest
    if not part.scalar.is_float:
        smallest, largest = part.scalar.bounds
    return low <= smallest and largest <= high


def _all_equal(scope: Scope, setting: Any, element: ElementType, key: Key) -> records.Check:
    value = scope.number(setting, key)
    if value is not None:
        problem = _problem_of_parts(value, element.parts)
        if problem is not None:
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
    paths: dict[str, str] = {}
    for name, text in given.items():
        path = existing_user_function(scope, text, (*section, name))
        if path is not None:
            paths[name] = path
    return paths


# --- validation of rules before anything runs: comparisons that cannot be right, or that can never fail ---------------


def validate_rule(rule: Rule, element_type: ElementType) -> list[Unsound]:
    """Find the problems of a rule for an element type, each with the keys below the rule.

    Args:
        rule: as the job gives it.
        element_type: of the buffer.
    """
    if rule.verify:
        return []
    problems = [*_numbers(rule), *_bounds(rule, element_type), *_order(rule, element_type), *_unsound_statistics(rule)]
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
    smallest = ks_p_value(1.0, count, count) if count else 1.0
    if not limit <= smallest:
        return []
    text = f"is {limit:g}: {count} values cannot have a p-value under {smallest:.2g}, so it can never fail"
    return [(("statistics", "ks"), text)]


def _numbers(rule: Rule) -> list[Unsound]:
    given: dict[tuple[str, ...], Any] = {("rtol",): rule.rtol, ("atol",): rule.atol, ("ulp",): rule.ulp}
    given |= {("metric", name): limit for name, limit in rule.metric.items()}
    if rule.outliers is not None:
        given |= {("outliers", name): getattr(rule.outliers, name) for name in ("fraction", "rtol", "atol")}
    problems: list[Unsound] = []
    for key, value in given.items():
        if value is not None and not (math.isfinite(value) and value >= 0):
            text = f"is {value}: it must be 0 or more, and finite: with infinity the comparison could never fail"
            problems.append((key, text))
    unknown = [name for name in rule.metric if name not in METRICS]
    problems += [
        (("metric", name), f"unknown metric {name!r}; expected one of {', '.join(METRICS)}") for name in unknown
    ]
    return problems


def _bounds(rule: Rule, element_type: ElementType) -> list[Unsound]:
    problems: list[Unsound] = []
    if rule.ulp is not None and not element_type.is_float:
        text = f"counts steps between floats, and {element_type.name} holds none: use atol"
        problems.append((("ulp",), text))
    if all(part.scalar.kind == "bool" for part in element_type.parts):
        text = "has no meaning for booleans, which are equal or not"
        if rule.rtol is not None:
            problems.append((("rtol",), text))
        elif rule.atol is not None:
            problems.append((("atol",), text))
        if rule.metric:
            problems.append((("metric",), text))
    if rule.nan == "never" and not element_type.is_float:
        problems.append((("nan",), f"never has no meaning for {element_type.name}, which has no NaN"))
    if rule.outliers is not None:
        problems += _unsound_outliers(rule, rule.outliers)
    return problems


def _unsound_outliers(rule: Rule, outliers: Outliers) -> list[Unsound]:
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


def _unsound_statistics(rule: Rule) -> list[Unsound]:
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
    outliers = rule.outliers
    if outliers is not None:
        for key, text in (
            *tight(element_type, outliers.rtol, exact=rule.key),
            *loose(element_type, rtol=outliers.rtol, atol=outliers.atol, exact=rule.key),
        ):
            yield ("outliers", *key), text
    for name, limit in rule.metric.items():
        if name != "l2":
            for text in over_largest(limit, element_type.parts):
                yield ("metric", name), text
        elif limit >= 1:
            yield ("metric", name), f"is {limit:g}: it must be below 1, or a result of zeros passes for everything"


_MOST_SIGMAS = 100.0
