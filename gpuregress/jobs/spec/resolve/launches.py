"""Resolution of a case's launches: expressions evaluated, repeats unrolled, scalars packed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.forms import Spec
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.dtypes import ElementType, Scalar
from gpuregress.foundation.numeric import conversion
from gpuregress.foundation.records import SM_90, Dim3
from gpuregress.foundation.wording import suggestion
from gpuregress.jobs.spec import expressions, templates
from gpuregress.jobs.spec.expressions import Number
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.launch import PYTHON_SETTINGS, ArgumentSpec, LaunchSpec, count_problem
from gpuregress.jobs.spec.resolve.scope import Scope, complete, resolved_dtype, shown

MAX_LAUNCHES = 1_000_000
MAX_THREADS, MAX_BLOCK, MAX_GRID, MAX_SHARED = SM_90.max_threads, SM_90.max_block, SM_90.max_grid, SM_90.shared
_AXES = "xyz"
DIM = "dim"
"""The text of a first argument that is the `dim` of a launch by Warp."""


def launches(file: JobFile, scope: Scope, buffers: Mapping[str, records.Buffer]) -> tuple[records.Launch, ...]:
    """Resolve all launches of a case, in order.

    Args:
        file: the job.
        scope: the case's numbers; errors are reported there.
        buffers: the case's buffers.
    """
    return _unrolled(file, scope, buffers, file.launches, ("launches",))


def of_reference(
    file: JobFile, scope: Scope, buffers: Mapping[str, records.Buffer], name: str
) -> tuple[records.Launch, ...]:
    """Resolve all launches of a reference of trusted kernels.

    Args:
        file: the job.
        scope: the case's numbers; errors are reported there.
        buffers: the case's buffers.
        name: of the buffer.
    """
    section = ("reference", name, "launches")
    entries = dict(enumerate(file.job.reference[name].launches or []))
    for position, launch in entries.items():
        if launch.source is not None:
            text = f"a reference has one source: name it in reference.{name}.source"
            scope.problems.add((*section, position, "source"), text)
        for setting in PYTHON_SETTINGS:
            if setting in launch.written:
                text = f"a reference has one kernel in Python: say it in reference.{name}.{setting}"
                scope.problems.add((*section, position, setting), text)
    return _unrolled(file, scope, buffers, entries, section)


def changed_once(
    launches: Sequence[records.Launch], change: Callable[[records.Launch], records.Launch]
) -> tuple[records.Launch, ...]:
    """Change launches; a step that is repeated a million times stays one object."""
    changed: dict[int, records.Launch] = {}
    for launch in launches:
        if id(launch) not in changed:
            changed[id(launch)] = change(launch)
    return tuple(changed[id(launch)] for launch in launches)


def first_of_entries(launches: Sequence[records.Launch]) -> dict[int, records.Launch]:
    """Return the first launch of each entry of `launches`, for checks whose answer is the same for all of its steps."""
    return {launch.origin: launch for launch in reversed(launches)}


def kernel_name(scope: Scope, text: str, key: Key) -> str | None:
    """Replace `{tile}` in a kernel's name by its value; None if that is wrong, which is reported.

    Args:
        scope: the case's values.
        text: as the job has it.
        key: its key.
    """
    filled = scope.text(text, key, strict=True)
    return None if filled is None else filled.strip()


def expected_place(file: JobFile, scope: Scope, written: Sequence[records.Launch]) -> tuple[str, int | None]:
    """Resolve the kernel and the entry of `launches` (from 0) in which a fault is expected; "" and None: any.

    Args:
        file: the job.
        scope: the case's numbers; errors are reported there.
        written: the case's launches.
    """
    expect = file.job.expect
    if expect is None or not written:
        return "", None
    if expect.fault == "status" and (expect.kernel, expect.launch) != (None, None):
        key = "kernel" if expect.kernel is not None else "launch"
        scope.error(
            ("expect", key), "is given, but a status is read after the last launch and belongs to no one kernel"
        )
        return "", None
    index = None
    if expect.launch is not None:
        number = scope.whole(expect.launch, ("expect", "launch"), low=1, what="it, which counts from 1,")
        count = len(file.positions("launches")) or 1  # a function has one launch
        if number is not None and number > count:
            scope.error(("expect", "launch"), f"is {number}, and the job has {count} launches", expect.launch)
        if number is not None:
            index = number - 1
    kernel = ""
    if expect.kernel is not None:
        kernel = launched_kernel(scope, expect.kernel, ("expect", "kernel"), written, index)
    return kernel, index


def launched_kernel(
    scope: Scope, text: str, key: Key, written: Sequence[records.Launch], index: int | None = None
) -> str:
    """Resolve the name of a kernel that the case launches; "" if it is wrong, which is reported.

    Args:
        scope: the case's values.
        text: as the job has it.
        key: its key.
        written: the case's launches.
        index: the entry of `launches` (from 0) that must be of this kernel; None: any.
    """
    kernel = kernel_name(scope, text, key) or ""
    launched = dict.fromkeys(launch.kernel for launch in written if index in (None, launch.origin))
    overloads = [name for name in launched if name.partition("(")[0] == kernel]
    if len(overloads) == 1:
        kernel = overloads[0]  # with its parameters
    if kernel and launched and kernel not in launched:
        if index is None:
            problem = f"no launch is of a kernel {kernel!r}{suggestion(kernel, launched)}"
        else:
            hint = suggestion(kernel, launched, there_are="it is")
            problem = f"no launch {index + 1} is of a kernel {kernel!r}{hint}"
        scope.error(key, problem, text)
    return kernel


def _unrolled(
    file: JobFile,
    scope: Scope,
    buffers: Mapping[str, records.Buffer],
    entries: Mapping[int, LaunchSpec],
    section: Key,
) -> tuple[records.Launch, ...]:
    written: list[records.Launch] = []
    for position, launch in entries.items():
        key = (*section, position)
        resolver = _LaunchResolver(file, launch, key, buffers)
        repeat = scope.whole(launch.repeat, (*key, "repeat"), low=1, high=MAX_LAUNCHES, what="repeats")
        if repeat is None:
            resolver.steps(scope, 1)  # what else is wrong with it
            continue
        if len(written) + repeat > MAX_LAUNCHES:
            scope.error((*key, "repeat"), f"makes more than {MAX_LAUNCHES:,} launches in one case")
            break
        written += resolver.steps(scope, repeat)
    return tuple(written)


class _LaunchResolver:
    """One entry of `launches`."""

    def __init__(self, file: JobFile, launch: LaunchSpec, key: Key, buffers: Mapping[str, records.Buffer]) -> None:
        self.file = file
        self.launch = launch
        self.key = key
        self.position = int(key[-1])
        self.buffers = buffers

    def steps(self, scope: Scope, repeat: int) -> list[records.Launch]:
        swap = self._swap(scope)
        if "repeat" not in self.launch.written:
            launch = self._step(scope, swap)
            return [] if launch is None else [launch]
        if not _uses_step(self.launch):
            launch = self._step(scope.with_step(0), swap)
            return [] if launch is None else [launch] * repeat
        launches = []
        for step in range(repeat):
            launch = self._step(scope.with_step(step), swap)
            if launch is None:
                return []
            launches.append(launch)
        return launches

    def _step(self, scope: Scope, swap: tuple[tuple[str, str], ...]) -> records.Launch | None:
        kernel = kernel_name(scope, self.launch.kernel, (*self.key, "kernel"))
        grid = self._grid(scope)
        block = block_extents(scope, self.launch.block, (*self.key, "block"))
        what = "bytes of dynamic shared memory"
        shared = scope.whole(self.launch.shared, (*self.key, "shared"), low=0, what=what)
        if shared is not None and shared > MAX_SHARED:
            text = f"{shown(self.launch.shared, shared)}: {what} must be at most {MAX_SHARED}"
            scope.refuse((*self.key, "shared"), text, self.launch.shared)
        arguments = self._arguments(scope, self.launch.args, (*self.key, "args"))
        if self.launch.dim is not None:
            bounds = self._bounds(scope, self.launch.dim)
            arguments = None if bounds is None or arguments is None else (bounds, *arguments)
        if kernel is None or grid is None or block is None or shared is None or arguments is None:
            return None
        return records.Launch(
            kernel=kernel,
            grid=grid,
            block=block,
            shared=shared,
            args=arguments,
            swap=swap,
            origin=self.position,
        )

    def _bounds(self, scope: Scope, dim: Sequence[float | str]) -> records.Argument | None:
        """Return the extents of a launch by Warp; they become its launch bounds when the kernel is compiled."""
        counts = scope.wholes(dim, (*self.key, "dim"), low=1, high=MAX_GRID[0], what="threads")
        if counts is None:
            return None
        extents = tuple(number_argument("uint32", (count,)) for count in counts)
        return records.Argument("struct", text=DIM, fields=extents)

    def _grid(self, scope: Scope) -> Dim3 | None:
        grid = self.launch.grid
        key = (*self.key, "grid")
        if grid.blocks is not None:
            counts = axis_counts(scope, grid.blocks, key, "blocks")
            for axis, (value, count) in enumerate(zip(grid.blocks, counts, strict=True)):
                if count is not None and count > MAX_GRID[axis]:
                    text = f"{shown(value, count)}: blocks along {_AXES[axis]} must be at most {MAX_GRID[axis]}"
                    scope.refuse((*key, axis), text, value)
            return dim3(counts)
        counts = [self._block_count(scope, axis) for axis in range(len(grid.problem or ()))]
        for axis, count in enumerate(counts):
            if count is not None and count > MAX_GRID[axis]:
                text = f"{count} blocks: the limit along {_AXES[axis]} is {MAX_GRID[axis]}"
                scope.refuse((*key, "problem", axis), text)
        return dim3(counts)

    def _block_count(self, scope: Scope, axis: int) -> int | None:
        """Compute ceil(problem / product of its divisors), exactly."""
        grid = self.launch.grid
        key = (*self.key, "grid")
        assert grid.problem is not None
        size = scope.whole(grid.problem[axis], (*key, "problem", axis), low=1, what="the size")
        divisors: tuple[int, ...] | None = ()
        if axis < len(grid.divide):
            divisors = scope.wholes(grid.divide[axis], (*key, "divide", axis), low=1, what="a divisor")
        if size is None or divisors is None:
            return None
        return -(-size // math.prod(divisors))

    def _swap(self, scope: Scope) -> tuple[tuple[str, str], ...]:
        pairs = []
        for position, (first, second) in enumerate(self.launch.swap):
            key = (*self.key, "swap", position)
            if not (self._is_known(scope, first, key) and self._is_known(scope, second, key)):
                continue
            if first not in self.buffers or second not in self.buffers:
                continue
            problem = _swap_problem(self.buffers[first], self.buffers[second])
            if problem is None:
                pairs.append((first, second))
            else:
                scope.problems.add(key, problem)
        return tuple(pairs)

    def _arguments(self, scope: Scope, items: Sequence[ArgumentSpec], key: Key) -> tuple[records.Argument, ...] | None:
        resolved = [self._argument(scope, item, (*key, position)) for position, item in enumerate(items)]
        arguments = complete(resolved)
        return None if arguments is None else tuple(arguments)

    def _argument(self, scope: Scope, item: ArgumentSpec, key: Key) -> records.Argument | None:
        if item.kind == "null":
            return records.Argument("null", text="null")
        if item.kind == "struct":
            return self._struct(scope, item, (*key, "struct"))
        if item.kind == "scalar":
            return _scalar(scope, item, key)
        if not self._is_known(scope, item.buffer, key):
            return None
        buffer = self.buffers.get(item.buffer)
        has_map = buffer is not None and buffer.tensor_map is not None
        if item.in_memory and buffer is not None and not has_map:
            scope.error(key, f"{item.buffer} has no tensor map: give it `tensormap:`")
        offset = self._offset(scope, item, key)
        if offset is None:
            return None
        return records.Argument(
            "buffer",
            item.buffer,
            as_map=has_map and not item.as_pointer,
            in_memory=item.in_memory,
            untyped=item.as_pointer and not has_map,
            offset=offset,
        )

    def _struct(self, scope: Scope, item: ArgumentSpec, key: Key) -> records.Argument | None:
        """Resolve the members of a structure, which are in order or by name."""
        if not item.struct:
            for position, member in enumerate(item.fields):
                if member.struct:  # where it is, only the names around it would tell
                    first, *_ = member.struct
                    scope.error(
                        (*key, position),
                        f"a structure with its members by name ({first}, …) in a list: give the members of the "
                        f"structure around it by name, too, {{struct: {{…: {{struct: {{{first}: …}}}}}}}}",
                    )
            fields = self._arguments(scope, item.fields, key)
            return None if fields is None else records.Argument("struct", fields=fields)
        resolved = [self._argument(scope, member, (*key, name)) for name, member in item.struct.items()]
        members = complete(resolved)
        if members is None:
            return None
        return records.Argument("struct", fields=tuple(members), names=tuple(item.struct))

    def _is_known(self, scope: Scope, name: str, key: Key) -> bool:
        """Tell whether a job has a buffer; report an unknown one, unless its own definition was invalid."""
        if name in self.buffers or name in self.file.job.buffers:
            return True
        written = self.file.document.data.get("buffers")
        if self.file.is_broken("buffers") and isinstance(written, dict) and name in written:
            return True
        hint = suggestion(name, self.file.job.buffers)
        if name in scope.names:
            hint += f" (a number is written with its type: {{int32: {name}}})"
        scope.problems.add(key, f"unknown buffer {name!r}{hint}")
        return False

    def _offset(self, scope: Scope, item: ArgumentSpec, key: Key) -> int | None:
        """The byte of its buffer that an argument points to."""
        offset = scope.whole(item.offset, (*key, "offset"), low=0, what="bytes") if item.offset else 0
        buffer = self.buffers.get(item.buffer)
        if not offset or buffer is None:
            return offset
        if buffer.texture is not None:
            scope.error((*key, "offset"), f"{item.buffer} is a texture or surface object, which has no offset")
        elif offset >= buffer.size:
            scope.error((*key, "offset"), f"offset {offset} is outside of {item.buffer}, which has {buffer.size} bytes")
        return offset


def _swap_problem(first: records.Buffer, second: records.Buffer) -> str | None:
    """Explain why the memory of two buffers cannot swap; None if it can."""
    if first.name == second.name:
        return f"{first.name!r} cannot be exchanged with itself"
    if first.symbol or second.symbol:
        symbol = first.name if first.symbol else second.name
        return f"{symbol!r} is a symbol: its memory cannot move"
    if (first.dtype, first.shape) != (second.dtype, second.shape):
        return f"{_shape(first)} and {_shape(second)} differ: only buffers of one dtype and shape can swap"
    if first.texture != second.texture:
        return f"{first.name!r} and {second.name!r} are not sampled alike: their memory cannot swap"
    if first.tensor_map != second.tensor_map:
        return f"{first.name!r} and {second.name!r} have different tensor maps: their memory cannot swap"
    return None


def _scalar(scope: Scope, item: ArgumentSpec, key: Key) -> records.Argument | None:
    values = complete([scope.number(value, key) for value in item.values])
    if values is None:
        return None
    dtype = resolved_dtype(scope, item.dtype, key)
    if dtype is None:
        return None
    problem = count_problem(dtypes.parse(dtype), len(values))
    if problem:
        scope.error(key, problem, item.dtype)
        return None
    label = expressions.label(item.values[0]) if len(item.values) == 1 else ""
    try:
        return number_argument(dtype, tuple(values), label)
    except ValueError as error:
        scope.error(key, str(error), *(value for value in item.values if not isinstance(value, bool)))
        return None


def _uses_step(launch: LaunchSpec) -> bool:
    if "step" in templates.names_in(launch.kernel):
        return True
    for name, value in launch.present().items():
        if name in ("repeat", "swap", "kernel", "source"):
            continue
        if any("step" in expressions.names_in(text) for text in _texts(value)):
            return True
    return False


def _texts(value: Any) -> Iterator[str]:
    """List the texts in a value of a model, at any depth."""
    items: Iterable[Any] = ()
    if isinstance(value, str):
        yield value
    elif isinstance(value, Spec):
        items = value.present().values()
    elif isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list):
        items = value
    for item in items:
        yield from _texts(item)


def axis_counts(scope: Scope, values: Sequence[float | str], key: Key, what: str) -> list[int | None]:
    """Evaluate the extents of a grid or a block; None for one that is invalid, which is reported.

    Args:
        scope: the case's numbers.
        values: along x, y and z, as far as given.
        key: of the list.
        what: `blocks` or `threads`.
    """
    return [
        scope.whole(value, (*key, axis), low=1, what=f"{what} along {_AXES[axis]}") for axis, value in enumerate(values)
    ]


def block_extents(scope: Scope, extents: Sequence[float | str], key: Key) -> Dim3 | None:
    """Evaluate the threads of a block along x, y and z; None if one is invalid. What is over the limits is refused.

    Args:
        scope: the case's numbers.
        extents: as the job has them.
        key: of the list.
    """
    block = dim3(axis_counts(scope, extents, key, "threads"))
    if block is None:
        return None
    threads = math.prod(block)
    shape = " x ".join(map(str, block))
    if threads > MAX_THREADS:
        text = f"{shape} has {threads} threads; the limit of a block is {MAX_THREADS}"
        scope.refuse(key, text, *extents)
        return block
    for axis, count in enumerate(block):
        if count > MAX_BLOCK[axis]:
            text = f"{shape}: the limit along {_AXES[axis]} is {MAX_BLOCK[axis]} threads"
            scope.refuse((*key, axis), text, *extents)
            break
    return block


def dim3(counts: Sequence[int | None]) -> Dim3 | None:
    """Return the extents along x, y and z, 1 where none is given; None if one is None."""
    known = complete(counts)
    if known is None:
        return None
    x, y, z = (*known, 1, 1)[:3]
    return x, y, z


def _shape(buffer: records.Buffer) -> str:
    return f"{buffer.name} ({buffer.dtype} [{','.join(map(str, buffer.shape))}])"


def number_argument(dtype: str, values: tuple[Number, ...], label: str = "") -> records.Argument:
    """Return the argument of a number or a vector.

    Args:
        dtype: its type.
        values: a number for each part.
        label: the name that it has in the job, for the launch log.

    Raises:
        ValueError: a number that the part cannot hold.
    """
    data, text = pack(dtypes.parse(dtype), values)
    return records.Argument("scalar", dtype=dtype, data=data.hex(), text=text, label=label)


# --- encoding of scalar arguments: the bytes for the kernel, and the text for the launch log --------------------------


def pack(element: ElementType, values: tuple[Number, ...]) -> tuple[bytes, str]:
    """One element's little-endian bytes and its text.

    Args:
        element: the argument's type.
        values: a number for each part.

    Raises:
        ValueError: a number that the part cannot hold.
    """
    data = bytearray(element.size)
    words = []
    for part, value in zip(element.parts, values, strict=True):
        part_data, word = _pack_one(part.scalar, value)
        data[part.offset : part.offset + len(part_data)] = part_data
        words.append(word)
    return bytes(data), words[0] if len(words) == 1 else f"({', '.join(words)})"


def _pack_one(scalar: Scalar, value: Number) -> tuple[bytes, str]:
    problem = conversion.number_problem(value, scalar)
    if problem:
        raise ValueError(problem)
    if scalar.is_float:
        return _pack_float(scalar, value)
    number = int(value)
    data = number.to_bytes(scalar.size, "little", signed=scalar.kind == "int")
    if scalar.kind == "bool":
        return data, "true" if number else "false"
    return data, str(number)


def _pack_float(scalar: Scalar, value: Number) -> tuple[bytes, str]:
    """The bytes, and the fewest digits that give the number back; bfloat16 as the float32 that it is."""
    if scalar.kind == "bfloat":
        column = dtypes.from_float32(np.array([value], "<f4"))
    else:
        column = np.array([value], scalar.storage)
    number = dtypes.to_float(column, scalar)[0]
    return column.tobytes(), repr(float(str(number)))
