"""Values of `@triton.heuristics`: functions of a launch's arguments, called when a kernel is compiled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import PythonKernel
from gpuregress.gpu.records import Record


class _Tensor(Record):
    """A buffer as a heuristic sees it: its shape, without gaps, and an aligned address; no elements."""

    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def numel(self) -> int:
        return math.prod(self.shape)

    def size(self, axis: int | None = None) -> int | tuple[int, ...]:
        return self.shape if axis is None else self.shape[axis]

    def stride(self, axis: int | None = None) -> int | tuple[int, ...]:
        steps = tuple(math.prod(self.shape[at + 1 :]) for at in range(len(self.shape)))
        return steps if axis is None else steps[axis]

    def is_contiguous(self) -> bool:
        return True

    def data_ptr(self) -> int:
        return 1 << 20


def values(given: Any, kernel: PythonKernel, constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the heuristics above a kernel, but for those that the job gives.

    Args:
        given: the decorated function.
        kernel: what is compiled, with the arguments of its launches.
        constants: the job's, as Triton takes them.

    Raises:
        CompileError: a heuristic failed.
    """
    arguments: dict[str, Any] = {
        name: _Tensor(tuple(value)) if isinstance(value, tuple | list) else value
        for name, value in kernel.arguments.items()
    }
    found: dict[str, Any] = {}
    for layer in _layers(given):
        for name, compute in layer.values.items():
            if name in constants:
                continue
            seen = {**arguments, **constants, **kernel.settings, **found}
            try:
                found[name] = compute(seen)
            except Exception as wrong:
                reason = f"{type(wrong).__name__}: {wrong}".partition("\n")[0]
                text = f"{kernel.function}: @triton.heuristics of {name!r} failed with {reason}"
                raise CompileError(f"{text}; its value can be given in constants") from wrong
    return found


def _layers(given: Any) -> list[Any]:
    """The decorators of a kernel that have heuristics, the outermost first."""
    layers = []
    while given is not None and not hasattr(given, "params"):
        if isinstance(getattr(given, "values", None), Mapping):
            layers.append(given)
        given = getattr(given, "fn", None)
    return layers
