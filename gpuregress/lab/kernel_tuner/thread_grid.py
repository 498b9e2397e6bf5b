"""Grid and block of a tuned kernel, as Kernel Tuner computes them from a configuration."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpuregress.foundation.errors import UsageError
from gpuregress.lab.kernel_tuner import evaluation
from gpuregress.lab.kernel_tuner.evaluation import Configuration
from gpuregress.lab.kernel_tuner.search_space import SearchSpace

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
        self._problem_size, self._divisors = problem_size, divisors
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
        pairs = [*zip(_GRID, self.grid, strict=True), *zip(self._names, self.block, strict=True)]
        return {
            name: value
            for name, value in pairs
            if name not in parameters and re.search(rf"\b{re.escape(name)}\b", text)
        }

    def _threads(self, axis: int) -> Callable[[Configuration], int]:
        name, default = self._names[axis], _DEFAULT_EXTENTS[axis]
        return lambda names: evaluation.whole(f"tune_params: {name}", names.get(name, default), names)

    def _blocks(self, axis: int) -> Callable[[Configuration], int]:
        def blocks(names: Configuration) -> int:
            given = self._problem_size
            sizes = _listed(evaluation.value("problem_size", given, names) if callable(given) else given)
            if len(sizes) > 3:
                raise UsageError(f"problem_size has {len(sizes)} axes; a grid has three")
            size = evaluation.whole("problem_size", sizes[axis], names) if axis < len(sizes) else 1
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
        return f"ceil({size} / {factors[0]})" if len(factors) == 1 else f"ceil({size} / ({' * '.join(factors)}))"


def _listed(given: Any) -> list[Any]:
    """A number, text or function as a list of one."""
    return list(given) if np.iterable(given) and not isinstance(given, str) else [given]


def _block_names(given: Sequence[str] | None, parameters: Mapping[str, Any]) -> list[str]:
    if given is not None:
        if isinstance(given, str):
            raise UsageError(f"block_size_names is {given!r}: pass a list of names")
        if unknown := [name for name in given if name not in (*parameters, *_BLOCK)]:
            raise UsageError(f"block_size_names: {unknown[0]!r} is none of tune_params: {', '.join(parameters)}")
        return [*given, *_BLOCK[len(given) :]]
    own = sorted((name for name in parameters if name.lower() in _BLOCK and name not in _BLOCK), key=str.casefold)
    return [*own, *_BLOCK[len(own) :]]


def _divisor(what: str, given: Any, default: str, names: Configuration) -> float:
    """The divisor of the problem size; an expression is cut to a whole number, as Kernel Tuner does."""
    if given is None:
        return float(names.get(default, 1))
    if isinstance(given, str):
        return evaluation.whole(what, given, names)
    if np.iterable(given):
        return math.prod(_divisor(what, one, "", names) for one in given)
    divisor = evaluation.value(what, given, names)
    if not isinstance(divisor, int | float | np.integer | np.floating):
        raise UsageError(f"{what}: {divisor!r} is not a number")
    return float(divisor)
