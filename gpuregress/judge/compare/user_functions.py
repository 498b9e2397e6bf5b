"""Functions of the user, `file.py:function`: loading, calling and validating their results.

A function that raises an error or does not return a bool fails its check: an array that happens to be true must never
pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuregress.foundation import dtypes, usermodules
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.numeric import row_hash
from gpuregress.foundation.numeric.ordinals import Array
from gpuregress.foundation.records import Comparison
from gpuregress.foundation.records.rules import rule_text
from gpuregress.gpu.records import Record
from gpuregress.jobs.plan import comparison_rules
from gpuregress.judge.compare.comparison_request import ComparisonRequest

Function = Callable[..., Any]


class Answer(Record):
    """What a predicate of the user says.

    Attributes:
        is_good: its answer.
        message: its message, "" for none.
        is_given: whether it came to an answer; not where it raised, or returned something else.
    """

    is_good: bool
    message: str
    is_given: bool = True


def load(path: str) -> Function:
    """Load the function `/abs/file.py:function`.

    Raises:
        UsageError: no such file or function, or the file cannot be imported; the message says which.
    """
    try:
        return usermodules.load(path)
    except usermodules.UserModuleError as wrong:
        raise UsageError(f"{path}: {wrong}") from wrong


def for_user(array: Array, element_type: ElementType) -> Array:
    """Copy an array for a user's function: bfloat16 as float32, vectors with their lanes as the last axis."""
    if element_type.name == "bfloat16":
        return np.array(dtypes.to_float(array, element_type.parts[0].scalar))
    lanes = tuple(part.name for part in element_type.parts)
    if array.dtype.names is not None and not element_type.name.startswith("{") and lanes[0] == "x":
        columns = element_type.part_columns(array)
        return np.stack([dtypes.to_float(column, part.scalar) for part, column in columns], axis=-1)
    return np.array(array)


def answer(function: Function, *arguments: Any, **named: Any) -> Answer:
    """Call a predicate of the user.

    Args:
        function: returns a bool, or (bool, message).
        arguments: of the call, by position.
        named: of the call, by name.

    """
    try:
        returned = function(*arguments, **named)
    except Exception as wrong:  # noqa: BLE001 - whatever the user's code raises is their failure
        return Answer(False, f"{_name(function)} raised {usermodules.describe_error(wrong)}", is_given=False)
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[0], bool | np.bool_):
        return Answer(bool(returned[0]), str(returned[1]))
    if isinstance(returned, bool | np.bool_):
        return Answer(bool(returned), "" if returned else f"{_name(function)} returned False")
    message = f"{_name(function)} returned {_describe(returned)}, not a bool or (bool, message)"
    return Answer(False, message, is_given=False)


def _name(function: Function) -> str:
    return str(getattr(function, "__name__", function))


def _describe(returned: Any) -> str:
    if returned is None:
        return "nothing"
    if isinstance(returned, np.ndarray):
        return f"an array of shape {list(returned.shape)}"
    return f"{type(returned).__name__} {str(returned)[:60]!r}"


def verify(
    request: ComparisonRequest,
    expected: Array,
    actual: Array,
    unconverted: tuple[Array, ElementType] | None = None,
) -> Comparison:
    """Compare two buffers of one shape by the user's `verify` function, in place of every rule.

    Args:
        request: its `rule.verify` names the function, its `rule.tolerance` and `case` are arguments.
        expected: `request.element_type.storage`, flat.
        actual: the same.
        unconverted: `actual` in the buffer's own type, if that is another: the function's argument.
    """
    kind = request.element_type
    own, own_kind = unconverted or (actual, kind)
    verified = _verified(request, (expected.reshape(request.shape), kind), (own.reshape(request.shape), own_kind))
    changed, multiset_same = row_hash.differences(expected, actual, kind)
    return request.result(
        same=verified.is_good,
        rule=rule_text(request.rule),
        identical=changed == 0,
        changed=changed,
        differing=0 if verified.is_good else changed,
        multiset_same=multiset_same,
        message=verified.message,
        unanswered=not verified.is_given,
    )


def verify_unlike(request: ComparisonRequest, expected: Array, expected_type: ElementType, actual: Array) -> Comparison:
    """Compare two sides of different shapes or element types by the user's `verify` function.

    Args:
        request: see `verify`; its shape and element type are those of the actual side.
        expected: the expected side, in its own shape.
        expected_type: of its elements.
        actual: in its own shape.
    """
    verified = _verified(request, (expected, expected_type), (actual, request.element_type))
    return request.result(
        same=verified.is_good,
        rule=rule_text(request.rule),
        differing=0 if verified.is_good else request.total,
        message=verified.message,
        unanswered=not verified.is_given,
    )


def _verified(
    request: ComparisonRequest, expected: tuple[Array, ElementType], actual: tuple[Array, ElementType]
) -> Answer:
    """Ask the user's function, with the arguments that it declares."""
    sides = [for_user(*side) for side in (expected, actual)]
    given = {
        "case": request.case,
        "tolerance": request.rule.tolerance,
        "buffer": request.buffer,
        "dtype": actual[1].name,
    }
    try:
        function = load(str(request.rule.verify))
    except UsageError as error:
        return Answer(False, str(error), is_given=False)
    parameters = comparison_rules.parameters_of(function)
    wrong = comparison_rules.signature_problem(_name(function), parameters)
    if wrong:
        return Answer(False, wrong, is_given=False)
    chosen = comparison_rules.chosen_parameters(parameters)
    return answer(function, *sides, **{name: given[key] for name, key in chosen.items()})
