"""Checks: properties that a buffer must have by itself, by the names of a job's `checks:`.

Each check is a function of its setting and a `CheckedBuffer`. It returns a `CheckResult`: the elements that break the
property, and a message. A check of a vector or record looks at each part, but for `unique`, `all_equal`, `permutation`
and `equals`, which look at whole elements.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import field

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import ElementType, Scalar
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.numeric import conversion, float_environment, ordinals, row_hash
from gpuregress.foundation.numeric.decimals import word
from gpuregress.foundation.numeric.ordinals import Array, Mask
from gpuregress.foundation.records import (
    Check,
    CheckSetting,
    Comparison,
    Element,
    ElementCount,
    ExpectedSum,
    KnownRows,
    Rule,
    to_json,
)
from gpuregress.foundation.wording import first_names, joined
from gpuregress.gpu.records import Record, replace
from gpuregress.judge.compare import comparators, user_functions
from gpuregress.judge.compare.comparison_request import ComparisonRequest
from gpuregress.judge.compare.difference_statistics import FIRST

_MOST_ROWS = 8
"""Rows, and values of a row, that a message shows."""


class CheckedBuffer(Record):
    """The buffer under check.

    Attributes:
        array: flat, `element_type.storage`.
        element_type: of its elements.
        shape: of the buffer.
        inputs: buffer name → its contents before the first launch, flat.
        case: argument of the user's function.
    """

    array: Array
    element_type: ElementType
    shape: tuple[int, ...]
    inputs: Mapping[str, Array] = field(default_factory=dict)
    case: Any = None


class CheckResult(Record):
    """Result of a check.

    Attributes:
        message: "" if the property holds.
        broken: mask of the elements that break it; None if the property is of the whole buffer.
        worst: the element that breaks it most, if the property has degrees.
        unanswered: whether the user's function raised, or returned no bool.
    """

    message: str = ""
    broken: Mask | None = None
    worst: int | None = None
    unanswered: bool = False


@float_environment.default()
def run(
    check: Check,
    array: Array,
    element_type: ElementType,
    inputs: Mapping[str, Array] | None = None,
    *,
    buffer: str = "",
    shape: tuple[int, ...] | None = None,
    case: Any = None,
) -> Comparison:
    """Check one property.

    Args:
        check: a name from `CHECKS` and its setting.
        array: any shape, `element_type.storage`.
        element_type: of its elements.
        inputs: buffer name → its contents before the first launch, for `permutation` and `equals`.
        buffer: the buffer's name.
        shape: elements along each axis; None: the array's.
        case: argument of the user's function.

    Returns:
        A Comparison against `check`; `first` has the first few elements that break the property as `actual`, and
        `worst` the one that is farthest outside of a range.
    """
    subject = CheckedBuffer(np.asarray(array).reshape(-1), element_type, shape or np.shape(array), inputs or {}, case)
    result = _result(subject, check)
    rule = check.name
    if check.setting is not None:
        rule += f": {_shown(check.setting)}"
    compared = Comparison(
        buffer,
        "check",
        rule,
        same=not result.message,
        identical=False,
        of=len(subject.array),
        message=result.message and f"{check.name}: {result.message}",
        unanswered=result.unanswered,
    )
    if result.worst is not None:
        compared = replace(compared, worst=_element(subject, result.worst))
    if result.broken is None:
        return compared
    first = tuple(_element(subject, index) for index in np.flatnonzero(result.broken)[:FIRST].tolist())
    return replace(compared, differing=int(np.count_nonzero(result.broken)), first=first)


def _result(subject: CheckedBuffer, check: Check) -> CheckResult:
    if check.name not in CHECKS:
        return CheckResult(f"unknown check {check.name!r}")
    if not len(subject.array):
        return CheckResult("there is no element to check")
    return CHECKS[check.name](subject, check.setting)


def _shown(setting: CheckSetting) -> str:
    """A setting in words: `exactly 273`, `0: 0.0, 1: [1.0, 2.0]`."""
    if isinstance(setting, ElementCount):
        return ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in to_json(setting).items())
    if isinstance(setting, KnownRows):
        return first_names([f"{row}: {_values_text(values)}" for row, values in setting.rows.items()], _MOST_ROWS)
    return str(to_json(setting))


def _element(subject: CheckedBuffer, index: int) -> Element:
    columns = subject.element_type.part_columns(subject.array)
    return Element(index, "", "", " ".join(word(column, index, part.scalar) for part, column in columns))


def _any_part(subject: CheckedBuffer, test: Callable[[Array, Scalar], Mask]) -> Mask:
    broken = np.zeros(len(subject.array), np.bool_)
    for part, column in subject.element_type.part_columns(subject.array):
        broken |= test(column, part.scalar)
    return broken


def _share(broken: Mask, what: str) -> CheckResult:
    count = int(np.count_nonzero(broken))
    if not count:
        return CheckResult()
    return CheckResult(f"{count} of {len(broken)} {what}", broken)


def _finite(subject: CheckedBuffer, _setting: object) -> CheckResult:
    return _share(_any_part(subject, lambda column, scalar: ~ordinals.is_finite(column, scalar)), "are NaN or infinite")


def _nonzero(subject: CheckedBuffer, setting: ElementCount | int | None) -> CheckResult:
    """The number of elements with a part that is a number other than 0 is within its bounds."""
    if setting is None:
        setting = 1
    bounds = setting if isinstance(setting, ElementCount) else ElementCount(at_least=setting)
    count = int(np.count_nonzero(_any_part(subject, _is_not_zero)))
    for name, limit in to_json(bounds).items():
        if not _COUNTS[name](count, limit):
            wanted = f"{name.replace('_', ' ')} {limit} must be"
            return CheckResult(f"{count} of {len(subject.array)} are not 0, {wanted}")
    return CheckResult()


_COUNTS: dict[str, Callable[[int, int], bool]] = {
    "exactly": operator.eq,
    "at_least": operator.ge,
    "at_most": operator.le,
}


def _is_not_zero(column: Array, scalar: Scalar) -> Mask:
    if scalar.is_float:
        return np.asarray((ordinals.magnitude_bits(column, scalar) != 0) & ~ordinals.is_nan(column, scalar))
    return np.asarray(ordinals.bits(column, scalar) != 0)


def _range(subject: CheckedBuffer, setting: tuple[float, float]) -> CheckResult:
    low, high = setting

    def outside(column: Array, scalar: Scalar) -> Mask:
        numbers: Any = dtypes.to_float(column, scalar)
        if scalar.is_float:
            with np.errstate(invalid="ignore"):
                numbers = numbers.astype(np.float64)
            return np.asarray(~((numbers >= low) & (numbers <= high)))  # so that NaN is outside
        return _integers_outside(column, low, high)

    result = _share(_any_part(subject, outside), f"are outside [{low:g}, {high:g}]")
    if result.broken is None:
        return result
    return replace(result, worst=_farthest(subject, low, high))


def _farthest(subject: CheckedBuffer, low: float, high: float) -> int:
    """The element farthest outside of a range; a NaN is farther outside than any number."""
    off = np.zeros(len(subject.array))
    for part, column in subject.element_type.part_columns(subject.array):
        with np.errstate(all="ignore"):
            numbers = dtypes.to_float(column, part.scalar).astype(np.float64)
            outside = np.maximum(np.maximum(low - numbers, numbers - high), 0.0)
        off = np.maximum(off, np.where(np.isnan(numbers), np.inf, outside))
    return int(off.argmax())


def _integers_outside(column: Array, low: float, high: float) -> Mask:
    """Compared as integers: a float would round 2^53 + 1 into the range."""
    if column.dtype.kind == "b":
        column = column.view(np.uint8)
    info = np.iinfo(column.dtype)
    if not low <= info.max or not high >= info.min:
        return np.ones(len(column), np.bool_)
    lowest, highest = int(info.min), int(info.max)
    if math.isfinite(low):
        lowest = max(lowest, math.ceil(low))
    if math.isfinite(high):
        highest = min(highest, math.floor(high))
    return np.asarray((column < lowest) | (column > highest))


def _sum(subject: CheckedBuffer, setting: ExpectedSum) -> CheckResult:
    """|sum - value| <= atol + rtol |value|; integers are added exactly, floats in float64 with pairwise rounding."""
    value, rtol, atol = setting.value, setting.rtol, setting.atol
    for part, column in subject.element_type.part_columns(subject.array):
        total = exact_sum(column, part.scalar)
        if not abs(total - value) <= atol + rtol * abs(value):
            what = joined(" ", part.name, "sums")
            return CheckResult(f"{what} to {total!r}, not {value!r}")
    return CheckResult()


def exact_sum(column: Array, scalar: Scalar) -> int | float:
    """The sum of a column: exact for integers of any width, in float64 for floats.

    A 64-bit column is added as its high and low 32 bits, each of which fits an int64 for up to 2^31 elements.
    """
    if scalar.is_float:
        with np.errstate(invalid="ignore", over="ignore"):
            return float(dtypes.to_float(column, scalar).astype(np.float64).sum())
    if scalar.size < 8:
        return int(column.astype(np.int64).sum())
    high, low = column >> column.dtype.type(32), column & column.dtype.type(0xFFFFFFFF)
    return (int(high.sum()) << 32) + int(low.sum())


def _hashes(subject: CheckedBuffer) -> row_hash.Hashes:
    return row_hash.rows(subject.array, subject.element_type)


def _unique(subject: CheckedBuffer, _setting: object) -> CheckResult:
    hashes = _hashes(subject)
    _, first, count = np.unique(hashes, return_index=True, return_counts=True)
    broken = np.ones(len(hashes), np.bool_)
    broken[first] = False
    repeated = int(np.count_nonzero(count > 1))
    if not repeated:
        return CheckResult()
    return CheckResult(f"{repeated} duplicate values", broken)


def _all_equal(subject: CheckedBuffer, setting: float | None) -> CheckResult:
    if setting is not None:
        off = _any_part(subject, lambda column, scalar: _is_not(column, scalar, [setting]))
        return _share(off, f"are not {setting!r}")
    hashes = _hashes(subject)
    return _not_a_number(subject) or _share(hashes != hashes[:1], "are not the first element's value")


def _is_not(column: Array, scalar: Scalar, values: Sequence[Any]) -> Mask:
    """Mask of elements other than their value, which is rounded as a fill's is; NaN equals NaN, -0 equals 0."""
    wanted = dtypes.to_float(conversion.stored(np.array(values), scalar), scalar)
    numbers = dtypes.to_float(column, scalar)
    return np.asarray((numbers != wanted) & ~(ordinals.is_nan(column, scalar) & (wanted != wanted)))  # noqa: PLR0124


def _not_a_number(subject: CheckedBuffer) -> CheckResult | None:
    """NaN is unordered and equals nothing: a buffer with one is neither sorted nor all equal."""
    result = _share(_any_part(subject, ordinals.is_nan), "are NaN")
    if not result.message:
        return None
    return result


def _ordered(subject: CheckedBuffer, problem: str, out_of_order: Callable[[Array, Array], Mask]) -> CheckResult:
    """No element is out of order with the one before it; the first part decides.

    Args:
        subject: the buffer.
        problem: what an element is that is out of order, in words.
        out_of_order: of the keys of the elements, and of those before them.
    """
    part, column = next(subject.element_type.part_columns(subject.array))
    keys = ordinals.keys(column, part.scalar, merge_zeros=True)
    broken = np.zeros(len(keys), np.bool_)
    broken[1:] = out_of_order(keys[1:], keys[:-1])
    return _not_a_number(subject) or _share(broken, f"are {problem} the one before")


def _sorted(subject: CheckedBuffer, setting: str | None) -> CheckResult:
    if setting == "descending":
        return _ordered(subject, "over", operator.gt)
    return _ordered(subject, "under", operator.lt)


def _monotone(subject: CheckedBuffer, setting: str | None) -> CheckResult:
    if setting == "decreasing":
        return _ordered(subject, "not under", operator.ge)
    return _ordered(subject, "not over", operator.le)


def _permutation(subject: CheckedBuffer, setting: str) -> CheckResult:
    return _against_input(subject, setting, Rule(order="any"))


def _equals(subject: CheckedBuffer, setting: str) -> CheckResult:
    return _against_input(subject, setting, Rule())


def _against_input(subject: CheckedBuffer, name: str, rule: Rule) -> CheckResult:
    """Compare with the contents of another buffer before the first launch."""
    if name not in subject.inputs:
        known = ", ".join(subject.inputs) or "none"
        return CheckResult(f"there is no input {name!r}; there is {known}")
    other = np.asarray(subject.inputs[name]).reshape(-1)
    if len(other) != len(subject.array) or other.dtype != subject.element_type.storage:
        return CheckResult(
            f"{name} has {len(other)} elements of {other.dtype}, this buffer {len(subject.array)} of "
            f"{subject.element_type.name}"
        )
    request = ComparisonRequest("", subject.element_type, (len(other),), rule, "check")
    compared = comparators.compare(request, other, subject.array)
    if compared.same:
        return CheckResult()
    if rule.order == "any":
        return CheckResult(
            f"{compared.only_actual} values are not in {name}, {compared.only_expected} of its values are missing"
        )
    return CheckResult(
        f"{compared.differing} of {compared.of} are not what {name} was",
        row_hash.rows(other, subject.element_type) != _hashes(subject),
    )


def _rows(subject: CheckedBuffer, setting: KnownRows) -> CheckResult:
    """The rows along the first axis that are known: row → its values, or one for all elements of the row."""
    width, parts = len(subject.array) // subject.shape[0], list(subject.element_type.part_columns(subject.array))
    broken, problem = np.zeros(len(subject.array), np.bool_), ""
    for text, values in setting.rows.items():
        start = int(text) * width
        row = slice(start, start + width)
        for at, (part, column) in enumerate(parts):
            broken[row] |= _is_not(column[row], part.scalar, values if len(values) == 1 else values[at :: len(parts)])
        if not problem and broken[row].any():
            problem = f"row {text} is {_row_text(subject, start, width)}, not {_values_text(values)}"
    result = _share(broken, "are not what their rows must be")
    return replace(result, message=joined("; ", problem, result.message))


def _row_text(subject: CheckedBuffer, start: int, width: int) -> str:
    last = start + min(width, _MOST_ROWS + 1)
    return _values_text([_element(subject, index).actual for index in range(start, last)])


def _values_text(values: Sequence[Any]) -> str:
    """`0.0`, or `[0.0, 1.0]`; the first few where there are many."""
    shown = [str(value) for value in values[:_MOST_ROWS]]
    if len(values) == 1:
        return shown[0]
    if len(values) > _MOST_ROWS:
        shown.append("…")
    return f"[{', '.join(shown)}]"


def _python(subject: CheckedBuffer, setting: str) -> CheckResult:
    """The user's f(array, case) → bool or (bool, message)."""
    try:
        function = user_functions.load(setting)
    except UsageError as error:
        return CheckResult(str(error), unanswered=True)
    shaped = user_functions.for_user(subject.array.reshape(subject.shape), subject.element_type)
    answer = user_functions.answer(function, shaped, subject.case)
    if answer.is_good:
        return CheckResult()
    return CheckResult(answer.message or "returned False", unanswered=not answer.is_given)


CHECKS: dict[str, Callable[[CheckedBuffer, Any], CheckResult]] = {
    "finite": _finite,
    "nonzero": _nonzero,
    "range": _range,
    "sum": _sum,
    "unique": _unique,
    "sorted": _sorted,
    "monotone": _monotone,
    "all_equal": _all_equal,
    "permutation": _permutation,
    "equals": _equals,
    "rows": _rows,
    "python": _python,
}
