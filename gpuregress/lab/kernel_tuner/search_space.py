"""Search space of a tuning run: valid configurations, and functions of them as expressions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gpuregress.foundation.errors import UsageError
from gpuregress.jobs.spec import expressions
from gpuregress.jobs.spec.resolve.parameter_combinations import MAX_CASES, MAX_COMBINATIONS
from gpuregress.lab.kernel_tuner import evaluation
from gpuregress.lab.kernel_tuner.evaluation import Configuration

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
        listed = _restrictions(restrictions)
        if count > (MAX_COMBINATIONS if listed else MAX_CASES):
            limit = f"{MAX_COMBINATIONS:,} are tried" if listed else f"{MAX_CASES:,} become a job"
            raise UsageError(f"tune_params make {count:,} configurations: at most {limit}")
        self.valid: list[Configuration] = []
        self.where: list[str] = []
        of_a_job = [one for one in listed if isinstance(one, str)]
        while (failed := self._divide(listed, of_a_job)) is not None:
            of_a_job.remove(failed)
        if not self.valid:
            raise UsageError(
                "restrictions leave no configuration" if count else "tune_params: a parameter has no value"
            )

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

    def _divide(self, restrictions: Sequence[Any], of_a_job: Sequence[str]) -> str | None:
        """Divide all combinations into valid configurations and those that are left out; none of them is kept twice.

        Args:
            restrictions: all.
            of_a_job: those that a job can evaluate as they are; the others leave out one by one.

        Returns:
            One of `of_a_job` that a job cannot evaluate, so that nothing was divided; None if there is none.
        """
        python_only = [one for one in restrictions if one not in of_a_job]
        valid: list[Configuration] = []
        left: list[Configuration] = []
        left_out = 0
        for values in itertools.product(*self.parameters.values()):
            one = dict(zip(self.parameters, values, strict=True))
            keeps = True
            for text in of_a_job:
                try:
                    keeps = bool(expressions.evaluate_any(text, one))
                except expressions.ExpressionError:
                    return text
                if not keeps:
                    break
            if not keeps:
                continue
            if all(evaluation.holds(restriction, one) for restriction in python_only):
                valid.append(one)
            else:
                left_out += 1
                if left_out <= _MOST_EXCEPTIONS:
                    left.append(one)
            if len(valid) > MAX_CASES:
                raise UsageError(f"tune_params make more than {MAX_CASES:,} configurations that meet the restrictions")
        if left_out > _MOST_EXCEPTIONS:
            raise UsageError(
                f"restrictions: {left_out:,} configurations are left out by a function: write an expression"
            )
        self.valid, self.where = valid, [*of_a_job, *map(_exception, left)]
        return None


def _exception(left_out: Configuration) -> str:
    """The condition that leaves out one configuration."""
    return f"not ({' and '.join(f'{name} == {_literal(value)}' for name, value in left_out.items())})"


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
