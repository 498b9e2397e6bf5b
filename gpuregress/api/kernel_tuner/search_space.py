"""Search space of a tuning run: valid configurations, and functions of them as expressions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpuregress.api.kernel_tuner import evaluation
from gpuregress.api.kernel_tuner.evaluation import Configuration
from gpuregress.errors import UsageError
from gpuregress.spec import expressions

_MOST_CONFIGURATIONS = 100_000
_MOST_EXCEPTIONS = 2_000


class SearchSpace:
    """The configurations that Kernel Tuner would try.

    Args:
        parameters: name → values.
        restrictions: expressions, functions, pairs of a function and names.

    Attributes:
        parameters: name → plain values of Python.
        valid: the configurations that meet the restrictions.
        where: the restrictions as expressions of a job; what none says is left out configuration by configuration.

    Raises:
        UsageError: there is no configuration, there are too many, or a restriction is none.
    """

    def __init__(self, parameters: Mapping[str, Iterable[Any]], restrictions: Any) -> None:
        self.parameters = {name: _values(name, values) for name, values in parameters.items()}
        count = math.prod(len(values) for values in self.parameters.values())
        if count > _MOST_CONFIGURATIONS:
            raise UsageError(
                f"tune_params make {count:,} configurations: at most {_MOST_CONFIGURATIONS:,} become a job"
            )
        listed = _restrictions(restrictions)
        combinations = itertools.product(*self.parameters.values())
        self._all = [dict(zip(self.parameters, values, strict=True)) for values in combinations]
        is_valid = [all(evaluation.holds(restriction, one) for restriction in listed) for one in self._all]
        self.valid = [one for one, holds in zip(self._all, is_valid, strict=True) if holds]
        self._invalid = [one for one, holds in zip(self._all, is_valid, strict=True) if not holds]
        if not self.valid:
            raise UsageError(
                "restrictions leave no configuration" if count else "tune_params: a parameter has no value"
            )
        self.where = list(self._where(listed))

    def expression(self, what: str, function: Callable[[Configuration], int], text: str = "") -> int | str:
        """Return an expression of the parameters with the values of a function; a number where it is constant.

        Args:
            what: for messages.
            function: a configuration → a whole number.
            text: an expression that may have these values; else it is a sum over the values of those parameters that
                decide it.

        Raises:
            UsageError: it has too many values.
        """
        values = [function(one) for one in self.valid]
        if len(set(values)) == 1:
            return values[0]
        if text and self._has_values(text, values):
            return text
        table = self._table(self._deciding(values), values)
        if len(table) > expressions.MAX_LENGTH:
            raise UsageError(f"{what} has too many different values for an expression of a job: write it by hand")
        return table

    def _has_values(self, text: str, values: Sequence[int]) -> bool:
        try:
            return [expressions.evaluate_any(text, one) for one in self.valid] == values
        except expressions.ExpressionError:
            return False

    def _deciding(self, values: Sequence[int]) -> list[str]:
        """The fewest parameters that decide a value."""
        for count in range(1, len(self.parameters) + 1):
            for names in itertools.combinations(self.parameters, count):
                seen: dict[tuple[Any, ...], int] = {}
                pairs = zip(self.valid, values, strict=True)
                if all(seen.setdefault(tuple(one[name] for name in names), value) == value for one, value in pairs):
                    return list(names)
        raise AssertionError("all parameters together decide every value")

    def _table(self, names: Sequence[str], values: Sequence[int]) -> str:
        if len(names) == 1 and all(one[names[0]] == value for one, value in zip(self.valid, values, strict=True)):
            return names[0]
        rows: dict[str, int] = {}
        for one, value in zip(self.valid, values, strict=True):
            rows[" and ".join(f"{name} == {_literal(one[name])}" for name in names)] = value
        return " + ".join(f"({condition}) * {value}" for condition, value in rows.items() if value)

    def _where(self, restrictions: Sequence[Any]) -> Iterator[str]:
        kept = [one for one in restrictions if isinstance(one, str) and self._is_same(one)]
        left = [one for one in self._invalid if all(expressions.evaluate_any(text, one) for text in kept)]
        if len(left) > _MOST_EXCEPTIONS:
            raise UsageError(
                f"restrictions: {len(left):,} configurations are left out by a function: write an expression"
            )
        yield from kept
        for one in left:
            yield f"not ({' and '.join(f'{name} == {_literal(value)}' for name, value in one.items())})"

    def _is_same(self, text: str) -> bool:
        """Whether an expression of Python is one of a job, and means the same."""
        try:
            return all(bool(expressions.evaluate_any(text, one)) == evaluation.holds(text, one) for one in self._all)
        except expressions.ExpressionError:
            return False


def _values(name: str, given: Any) -> list[Any]:
    """The values of a parameter as plain values of Python."""
    if isinstance(given, str | Mapping) or not np.iterable(given):
        raise UsageError(f"tune_params: {name} is {given!r}: pass a list of its values")
    plain = [value.item() if isinstance(value, np.generic) else value for value in given]
    for value in plain:
        if not isinstance(value, bool | int | float | str):
            raise UsageError(f"tune_params: {name}: {value!r} is neither a number, a boolean nor text")
    return plain


def _restrictions(given: Any) -> list[Any]:
    if given is None:
        return []
    listed = [given] if isinstance(given, str) or callable(given) or _is_pair(given) else given
    if not isinstance(listed, Sequence):
        listed = [listed]
    for one in listed:
        if not (isinstance(one, str) or callable(one) or _is_pair(one)):
            raise UsageError(f"restrictions: {one!r} is neither an expression nor a function")
    return list(listed)


def _is_pair(given: Any) -> bool:
    """Whether a restriction is a function with the names of its parameters."""
    return isinstance(given, tuple) and len(given) > 1 and callable(given[0]) and isinstance(given[1], list | tuple)


def _literal(value: Any) -> str:
    """A value in an expression."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else repr(value)
