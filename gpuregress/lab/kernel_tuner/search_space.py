"""Search space of a tuning run: valid configurations, and functions of them as expressions."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np

from gpuregress.foundation.errors import UsageError
from gpuregress.jobs.spec import expressions
from gpuregress.jobs.spec.expressions import Expression, ExpressionError
from gpuregress.jobs.spec.resolve.parameter_combinations import MAX_CASES, MAX_COMBINATIONS

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
        values = [function(configuration) for configuration in self.valid]
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
            return [expressions.evaluate_any(text, configuration) for configuration in self.valid] == values
        except expressions.ExpressionError:
            return False

    def _deciding(self, values: Sequence[int]) -> list[str]:
        """Return the fewest parameters that decide a value."""
        for count in range(1, len(self.parameters) + 1):
            for names in itertools.combinations(self.parameters, count):
                if self._decide(names, values):
                    return list(names)
        raise AssertionError("all parameters together decide every value")

    def _decide(self, names: Sequence[str], values: Sequence[int]) -> bool:
        known: dict[tuple[Any, ...], int] = {}
        for configuration, value in zip(self.valid, values, strict=True):
            key = tuple(configuration[name] for name in names)
            if known.setdefault(key, value) != value:
                return False
        return True

    def _table(self, names: Sequence[str], values: Sequence[int]) -> str:
        if len(names) == 1 and [configuration[names[0]] for configuration in self.valid] == values:
            return names[0]
        rows: dict[str, int] = {}
        for configuration, value in zip(self.valid, values, strict=True):
            rows[_condition({name: configuration[name] for name in names})] = value
        return " + ".join(f"({condition}) * {value}" for condition, value in rows.items() if value)

    def _divide(self, restrictions: Sequence[Any], of_a_job: Sequence[str]) -> str | None:
        """Divide all combinations into valid configurations and those that are left out; none of them is kept twice.

        Args:
            restrictions: all.
            of_a_job: those that a job can evaluate as they are; the others leave out one by one.

        Returns:
            One of `of_a_job` that a job cannot evaluate, so that nothing was divided; None if there is none.
        """
        python_only = [restriction for restriction in restrictions if restriction not in of_a_job]
        valid: list[Configuration] = []
        left: list[Configuration] = []
        left_out = 0
        for values in itertools.product(*self.parameters.values()):
            configuration = dict(zip(self.parameters, values, strict=True))
            keeps = True
            for text in of_a_job:
                try:
                    keeps = bool(expressions.evaluate_any(text, configuration))
                except expressions.ExpressionError:
                    return text
                if not keeps:
                    break
            if not keeps:
                continue
            if all(holds(restriction, configuration) for restriction in python_only):
                valid.append(configuration)
            else:
                left_out += 1
                if left_out <= _MOST_EXCEPTIONS:
                    left.append(configuration)
            if len(valid) > MAX_CASES:
                raise UsageError(f"tune_params make more than {MAX_CASES:,} configurations that meet the restrictions")
        if left_out > _MOST_EXCEPTIONS:
            raise UsageError(
                f"restrictions: {left_out:,} configurations are left out by a function: write an expression"
            )
        self.valid = valid
        self.where = [*of_a_job, *[f"not ({_condition(configuration)})" for configuration in left]]
        return None


def _condition(configuration: Configuration) -> str:
    """Return the condition that parameters have these values."""
    return " and ".join(f"{name} == {_literal(value)}" for name, value in configuration.items())


def _values(name: str, given: Any) -> list[Any]:
    """Return the values of a parameter as plain values of Python."""
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
    if _is_restriction(given) or not isinstance(given, Sequence):
        given = [given]
    for restriction in given:
        if not _is_restriction(restriction):
            raise UsageError(f"restrictions: {restriction!r} is neither an expression nor a function")
    return list(given)


def _is_restriction(given: Any) -> bool:
    """Tell whether a restriction is an expression, a function, or a function with the names of its parameters."""
    if isinstance(given, str) or callable(given):
        return True
    return isinstance(given, tuple) and len(given) > 1 and callable(given[0]) and isinstance(given[1], list | tuple)


def _literal(value: Any) -> str:
    """A value in an expression."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    return repr(value)


# --- grid and block of a tuned kernel, as Kernel Tuner computes them from a configuration -----------------------------


_BLOCK = ("block_size_x", "block_size_y", "block_size_z")
_GRID = ("grid_size_x", "grid_size_y", "grid_size_z")
_DEFAULT_EXTENTS = (256, 1, 1)
"""The block of Kernel Tuner where no parameter gives it."""


class ThreadGrid:
    """The blocks of the grid and the threads of a block along each axis: numbers, or expressions of a job.

    Args:
        space: the configurations.
        problem_size: as for `tune_kernel`.
        divisors: `grid_div_x`, `grid_div_y`, `grid_div_z`.
        block_size_names: parameters that are the block's extents; None: Kernel Tuner's own.

    Raises:
        UsageError: an argument has no value in a configuration.
    """

    def __init__(
        self, space: SearchSpace, problem_size: Any, divisors: Sequence[Any], block_size_names: Sequence[str] | None
    ) -> None:
        self._names = _block_names(block_size_names, space.parameters)
        self._problem_size = problem_size
        self._divisors = divisors
        self.block = [space.expression("the block", self._threads(axis)) for axis in range(3)]
        self.grid = [
            space.expression("the grid", self._blocks(axis), self._quotient(axis, space.parameters))
            for axis in range(3)
        ]

    def macros(self, parameters: Mapping[str, Any], text: str) -> dict[str, int | str]:
        """Return the macros that Kernel Tuner defines besides the parameters, where the source names them.

        Args:
            parameters: those of the space.
            text: of the source.
        """
        words = set(re.findall(r"\w+", text))
        pairs = [*zip(_GRID, self.grid, strict=True), *zip(self._names, self.block, strict=True)]
        return {name: value for name, value in pairs if name in words and name not in parameters}

    def _threads(self, axis: int) -> Callable[[Configuration], int]:
        name, default = self._names[axis], _DEFAULT_EXTENTS[axis]
        return lambda names: whole(f"tune_params: {name}", names.get(name, default), names)

    def _blocks(self, axis: int) -> Callable[[Configuration], int]:
        def blocks(names: Configuration) -> int:
            given = self._problem_size
            sizes = _listed(value("problem_size", given, names) if callable(given) else given)
            if len(sizes) > 3:
                raise UsageError(f"problem_size has {len(sizes)} axes; a grid has three")
            size = whole("problem_size", sizes[axis], names) if axis < len(sizes) else 1
            what = f"grid_div_{'xyz'[axis]}"
            divisor = _divisor(what, self._divisors[axis], self._names[axis], names)
            if divisor == 0:
                raise UsageError(f"{what}: the divisor of the problem size is 0")
            return math.ceil(size / divisor)

        return blocks

    def _quotient(self, axis: int, parameters: Mapping[str, Any]) -> str:
        """The number of blocks as a person would write it; "" where functions are involved."""
        sizes = self._problem_size
        if callable(sizes) or axis >= len(_listed(sizes)):
            return ""
        given = self._divisors[axis]
        words = [self._names[axis]] if given is None else _listed(given)
        if any(callable(word) for word in words):
            return ""
        texts = [str(word) for word in words if word in parameters or not str(word).isidentifier()]
        factors = [text if re.fullmatch(r"\w+", text) else f"({text})" for text in texts]
        size = str(_listed(sizes)[axis])
        if not factors:
            return size
        if len(factors) == 1:
            return f"ceil({size} / {factors[0]})"
        return f"ceil({size} / ({' * '.join(factors)}))"


def _listed(given: Any) -> list[Any]:
    """Return a number, text or function as a list of one."""
    if np.iterable(given) and not isinstance(given, str):
        return list(given)
    return [given]


def _block_names(given: Sequence[str] | None, parameters: Mapping[str, Any]) -> list[str]:
    if given is not None:
        if isinstance(given, str):
            raise UsageError(f"block_size_names is {given!r}: pass a list of names")
        unknown = [name for name in given if name not in (*parameters, *_BLOCK)]
        if unknown:
            raise UsageError(f"block_size_names: {unknown[0]!r} is none of tune_params: {', '.join(parameters)}")
        return [*given, *_BLOCK[len(given) :]]
    spelled_otherwise = [name for name in parameters if name.lower() in _BLOCK and name not in _BLOCK]
    return [*sorted(spelled_otherwise, key=str.casefold), *_BLOCK[len(spelled_otherwise) :]]


def _divisor(what: str, given: Any, default: str, names: Configuration) -> float:
    """The divisor of the problem size; an expression is cut to a whole number, as Kernel Tuner does."""
    if given is None:
        return float(names.get(default, 1))
    if isinstance(given, str):
        return whole(what, given, names)
    if np.iterable(given):
        return math.prod(_divisor(what, factor, "", names) for factor in given)
    divisor = value(what, given, names)
    if not isinstance(divisor, int | float | np.integer | np.floating):
        raise UsageError(f"{what}: {divisor!r} is not a number")
    return float(divisor)


# --- values of Kernel Tuner's arguments in one configuration: of numbers, expressions and functions -------------------


Configuration = Mapping[str, Any]
_NAMES: dict[str, Any] = {"ceil": math.ceil, "floor": math.floor, "math": math, "np": np, "numpy": np}
"""Names that an expression of Python may use, besides the parameters and Python's own functions."""


def value(what: str, given: Any, configuration: Configuration) -> Any:
    """Return the value of a number, an expression, or a function of the configuration.

    Args:
        what: the argument, for messages.
        given: the number, text or function.
        configuration: parameter → value.

    Raises:
        UsageError: it is an expression that has no value.
    """
    if isinstance(given, str):
        return _evaluated(what, given, configuration)
    if callable(given):
        return given(dict(configuration))
    return given


def whole(what: str, given: Any, configuration: Configuration) -> int:
    """Return a whole number: that of an expression is cut, as Kernel Tuner cuts it.

    Args:
        what: as for `value`.
        given: likewise.
        configuration: likewise.

    Raises:
        UsageError: it has no value, or is no number.
    """
    number = value(what, given, configuration)
    is_number = isinstance(number, int | float | np.integer | np.floating)
    if not is_number or not math.isfinite(number) or (not isinstance(given, str) and number != int(number)):
        raise UsageError(f"{what}: {number!r} is not a whole number{_where(configuration)}")
    return int(number)


def holds(restriction: Any, configuration: Configuration) -> bool:
    """Tell whether a configuration meets a restriction.

    Args:
        restriction: an expression; a function of the configuration, or of its parameters by name; or a pair of a
            function and the names of the parameters that it takes.
        configuration: parameter → value.

    Raises:
        UsageError: it is an expression that has no value.
    """
    if isinstance(restriction, tuple):
        function, names = restriction[:2]
        return bool(function(**{name: configuration[name] for name in names}))
    if callable(restriction) and len(inspect.signature(restriction).parameters) != 1:
        return bool(restriction(**configuration))
    return bool(value("restrictions", restriction, configuration))


def _evaluated(what: str, text: str, configuration: Configuration) -> Any:
    problem = ""
    of_a_job = _parsed(text)
    if of_a_job is not None:
        try:
            return of_a_job.evaluate(configuration)
        except ExpressionError as error:
            problem = str(error)
    try:
        return eval(_compiled(text), dict(_NAMES), dict(configuration))  # noqa: S307 - the caller's own Python
    except Exception as error:  # noqa: BLE001 - whatever the caller's text raises
        problem = problem or f"cannot evaluate {text!r}: {type(error).__name__}: {error}"
        raise UsageError(f"{what}: {problem}{_where(configuration)}") from None


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> Expression | None:
    """The text as an expression of a job; None where it is none."""
    try:
        return expressions.parse(text)
    except ExpressionError:
        return None


@functools.lru_cache(maxsize=256)
def _compiled(text: str) -> CodeType:
    return compile(text.strip(), "<expression>", "eval")


def _where(configuration: Configuration) -> str:
    shown = ", ".join(f"{name}={value}" for name, value in configuration.items())
    return f" (where {shown})" if shown else ""
