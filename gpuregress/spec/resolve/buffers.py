"""Resolution of a case's buffers: shapes, fills and files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gpuregress import records
from gpuregress.document import units
from gpuregress.document.reader import Key
from gpuregress.spec.load import JobFile
from gpuregress.spec.models.buffer import BufferSpec, FillSpec
from gpuregress.spec.resolve import element_types, functions, paths, textures
from gpuregress.spec.resolve.scope import Scope

MAX_ELEMENTS = 2**40
T = TypeVar("T")
FillProblem = Callable[[records.Buffer], str | None]


def buffers(
    file: JobFile, scope: Scope, *, memory: int, seed_for: Callable[[str], int], fill_problem: FillProblem
) -> dict[str, records.Buffer]:
    """All buffers of a case, in the job's order; those that are wrong are left out.

    Args:
        file: the job.
        scope: the case's numbers; errors are reported there.
        memory: bytes that all of them may take.
        seed_for: a buffer's name → the seed of its fill.
        fill_problem: what keeps a buffer from being filled, None if nothing does.
    """
    result: dict[str, records.Buffer] = {}
    total = 0
    for name, item in file.job.buffers.items():
        key: Key = ("buffers", name)
        shape = _shape(scope, item, key)
        dtype = element_types.dtype(scope, item.dtype, (*key, "dtype"))
        symbol = scope.text(item.symbol, (*key, "symbol"), strict=True) if item.symbol else None
        fill = _fill(scope, item.fill, (*key, "fill"), seed_for(name)) if item.fill else None
        if shape is None or dtype is None or (item.fill and fill is None) or (item.symbol and symbol is None):
            continue
        buffer = records.Buffer(name, dtype, shape, fill, symbol)
        sampled = textures.texture(scope, item.texture, buffer, key, surface=item.surface)
        buffer = dataclasses.replace(buffer, texture=sampled)
        total += buffer.size
        if buffer.size > memory:
            text = f"{list(shape)} of {dtype} is {units.size_text(buffer.size)}: {_over(memory)}"
            scope.error((*key, "shape"), text, *item.shape)
            continue
        problem = fill_problem(buffer) if fill else None
        if problem:
            scope.error((*key, "fill"), problem, *item.shape)
            continue
        result[name] = buffer
    if total > memory and len(result) == len(file.job.buffers):
        scope.error(
            ("buffers",),
            f"take {units.size_text(total)} together: {_over(memory)}",
            *(text for item in file.job.buffers.values() for text in item.shape),
        )
    return result


def _over(memory: int) -> str:
    return f"more than the limit of {units.size_text(memory)} (limits: {{memory: …}})"


def _shape(scope: Scope, item: BufferSpec, key: Key) -> tuple[int, ...] | None:
    return _known(
        [
            scope.whole(value, (*key, "shape", axis), low=1, high=MAX_ELEMENTS, what="elements")
            for axis, value in enumerate(item.shape)
        ]
    )


def _fill(scope: Scope, fill: FillSpec, key: Key, seed: int) -> records.Fill | None:
    kind = fill.kind
    before = scope.problems.reported
    options = _options(scope, kind, getattr(fill, kind), (*key, kind))
    return None if options is None or scope.problems.reported > before else records.Fill(kind, options, seed)


def _options(scope: Scope, kind: str, setting: Any, key: Key) -> records.FillOptions | None:
    """Evaluate the options of a fill; None if one is invalid, which is reported."""
    if setting is True and kind in ("zeros", "ones", "permutation"):
        return records.NoOptions()
    if kind == "file":
        filled = scope.text(setting, key)
        return None if filled is None else records.InputFile(str(paths.existing(scope.problems, key, filled, "file")))
    if kind == "python":
        return records.PythonFunction(str(functions.existing(scope, setting, key)))
    if kind in ("value", "choice"):
        many = isinstance(setting, list)
        items = setting if many else [setting]
        values = _known([scope.number(value, (*key, at) if many else key) for at, value in enumerate(items)])
        return None if values is None else records.Values(values)
    names = type(setting).model_fields
    numbers = _known([scope.number(getattr(setting, name), (*key, name)) for name in names])
    if numbers is None:
        return None
    options = _NUMERIC[kind](**dict(zip(names, numbers, strict=True)))
    _check_options(scope, kind, options, key)
    return options


_NUMERIC: dict[str, Callable[..., records.FillOptions]] = {
    "arange": records.Progression,
    "uniform": records.Interval,
    "integers": records.Interval,
    "normal": records.NormalDistribution,
    "park_miller": records.GeneratorSeed,
}


def _known(values: Sequence[T | None]) -> tuple[T, ...] | None:
    """The values; None if one of them is."""
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else None


def _check_options(scope: Scope, kind: str, options: records.FillOptions, key: Key) -> None:
    match options:
        case records.Interval(low, high):
            if low >= high:
                scope.error(key, f"low is {low} and high is {high}: high must be above low")
            for name, value in (("low", low), ("high", high)) if kind == "integers" else ():
                if value != int(value):
                    scope.error((*key, name), f"expected a whole number, got {value}")
        case records.NormalDistribution(std=std) if std < 0:
            scope.error((*key, "std"), f"is {std}: a standard deviation must be at least 0")
        case records.GeneratorSeed(seed) if not (1 <= seed <= 2**31 - 2 and seed == int(seed)):
            scope.error((*key, "seed"), f"expected a whole number from 1 to {2**31 - 2}, got {seed}")
