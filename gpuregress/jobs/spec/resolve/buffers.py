"""Resolution of a case's buffers: shapes, fills and files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gpuregress.foundation import records
from gpuregress.foundation.document import units
from gpuregress.foundation.document.problems import suggestion
from gpuregress.foundation.document.reader import Key
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.buffer import BufferSpec, FillSpec
from gpuregress.jobs.spec.resolve import data_files, element_types, functions, tensor_maps, textures
from gpuregress.jobs.spec.resolve.data_files import FindEarlier
from gpuregress.jobs.spec.resolve.scope import Scope

MAX_ELEMENTS = 2**40
T = TypeVar("T")
FillProblem = Callable[[records.Buffer], str | None]


class FillSources(Record):
    """The sources of fills besides the job itself.

    Attributes:
        seed_for: a buffer's name → the seed of its fill.
        problem: what keeps a buffer from being filled, None if nothing does.
        earlier: finds results of earlier runs.
    """

    seed_for: Callable[[str], int]
    problem: FillProblem
    earlier: FindEarlier


def buffers(file: JobFile, scope: Scope, *, memory: int, fills: FillSources) -> dict[str, records.Buffer]:
    """All buffers of a case, in the job's order; those that are wrong are left out.

    Args:
        file: the job.
        scope: the case's numbers; errors are reported there.
        memory: bytes that all of them may take.
        fills: where their contents come from.
    """
    given = file.job.buffers
    origins = {name: origin for name, item in given.items() if (origin := _origin(file, scope, name, item))}
    result: dict[str, records.Buffer] = {}
    for name in sorted(given, key=lambda name: name in origins):  # what others are filled from comes first
        item = given[name]
        if item.fill is not None and item.fill.same is not None:
            contents = result.get(origins.get(name, ""))
            fill = None if contents is None else _same(contents)
        else:
            fill = _fill(scope, item.fill, ("buffers", name, "fill"), name, fills) if item.fill else None
        buffer = _buffer(scope, name, item, fill)
        if buffer is not None and _is_sound(scope, item, buffer, memory, fills.problem):
            result[name] = buffer
    total = sum(buffer.size for buffer in result.values())
    if total > memory and len(result) == len(given):
        scope.error(
            ("buffers",),
            f"take {units.size_text(total)} together: {_over(memory)}",
            *(text for item in given.values() for text in item.shape),
        )
    return {name: result[name] for name in given if name in result}


def _same(contents: records.Buffer) -> records.Fill:
    """The fill of a buffer that holds what another one does; its seed is the other one's."""
    assert contents.fill is not None, "a chain of `same` ends at a buffer with a fill"
    return records.Fill("same", records.NoOptions(), contents.fill.seed, contents)


def _buffer(scope: Scope, name: str, item: BufferSpec, fill: records.Fill | None) -> records.Buffer | None:
    key: Key = ("buffers", name)
    shape = _shape(scope, item, key)
    dtype = element_types.dtype(scope, item.dtype, (*key, "dtype"))
    symbol = scope.text(item.symbol, (*key, "symbol"), strict=True) if item.symbol else None
    if shape is None or dtype is None or (item.fill and fill is None) or (item.symbol and symbol is None):
        return None
    buffer = records.Buffer(name, dtype, shape, fill, symbol)
    sampled = textures.texture(scope, item.texture, buffer, key, surface=item.surface)
    if item.tensormap is not None and (item.texture is not None or item.surface):
        scope.error(
            (*key, "tensormap"), "a buffer is a texture, a surface or a tensor map: kernels are given one of them"
        )
    mapped = tensor_maps.tensor_map(scope, item.tensormap, buffer, key)
    return replace(buffer, texture=sampled, tensor_map=mapped)


def _is_sound(scope: Scope, item: BufferSpec, buffer: records.Buffer, memory: int, fill_problem: FillProblem) -> bool:
    key: Key = ("buffers", buffer.name)
    if buffer.size > memory:
        text = f"{list(buffer.shape)} of {buffer.dtype} is {units.size_text(buffer.size)}: {_over(memory)}"
        scope.error((*key, "shape"), text, *item.shape)
        return False
    problem = fill_problem(buffer) if buffer.fill is not None else None
    if problem:
        scope.error((*key, "fill"), problem, *item.shape)
    return not problem


def _origin(file: JobFile, scope: Scope, name: str, item: BufferSpec) -> str | None:
    """The buffer at the end of a chain of `same`; None without one, or where the chain is wrong, which is reported."""
    if item.fill is None or item.fill.same is None:
        return None
    key: Key = ("buffers", name, "fill", "same")
    chain, following = [name], item.fill.same
    while following not in chain:
        chain.append(following)
        other = file.job.buffers.get(following)
        if other is None:
            if len(chain) == 2 and ("buffers", following) not in file.broken and ("buffers",) not in file.broken:
                scope.problems.add(key, f"unknown buffer {following!r}{suggestion(following, file.job.buffers)}")
            return None
        if other.fill is None:
            if len(chain) == 2:
                text = f"{following} has no fill: same takes what a buffer holds before the first launch"
                scope.problems.add(key, text)
            return None
        if other.fill.same is None:
            return following
        following = other.fill.same
    cycle = [*chain[chain.index(following) :], following]
    scope.problems.add(key, f"{' → '.join(cycle)} is a cycle: one of them needs contents of its own")
    return None


def _over(memory: int) -> str:
    return f"more than the limit of {units.size_text(memory)} (limits: {{memory: …}})"


def _shape(scope: Scope, item: BufferSpec, key: Key) -> tuple[int, ...] | None:
    return _known(
        [
            scope.whole(value, (*key, "shape", axis), low=1, high=MAX_ELEMENTS, what="elements")
            for axis, value in enumerate(item.shape)
        ]
    )


def _fill(scope: Scope, fill: FillSpec, key: Key, name: str, fills: FillSources) -> records.Fill | None:
    kind = fill.kind
    before = scope.problems.reported
    options = _options(scope, kind, getattr(fill, kind), (*key, kind), fills.earlier)
    if options is None or scope.problems.reported > before:
        return None
    return records.Fill(kind, options, fills.seed_for(name))


def _options(scope: Scope, kind: str, setting: Any, key: Key, earlier: FindEarlier) -> records.FillOptions | None:
    """Evaluate the options of a fill; None if one is invalid, which is reported."""
    if setting is True and kind in ("zeros", "ones", "permutation"):
        return records.NoOptions()
    if kind == "file":
        return data_files.resolve(scope, key, setting, earlier)
    if kind == "python":
        return records.PythonFunction(str(functions.existing(scope, setting, key)))
    if kind in ("value", "choice"):
        many = isinstance(setting, list)
        items = setting if many else [setting]
        values = _known([scope.number(value, (*key, at) if many else key) for at, value in enumerate(items)])
        return None if values is None else records.Values(values)
    names = setting.key_names()
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
