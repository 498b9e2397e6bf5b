"""Resolution of a case's launches: expressions evaluated, repeats unrolled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.forms import Spec
from gpuregress.foundation.document.problems import suggestion
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.records import SM_90, Dim3
from gpuregress.jobs.spec import expressions, templates
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.launch import ArgumentSpec, LaunchSpec, count_problem
from gpuregress.jobs.spec.resolve import element_types, scalar_arguments
from gpuregress.jobs.spec.resolve.scope import Scope, shown

MAX_LAUNCHES = 1_000_000
MAX_THREADS, MAX_BLOCK, MAX_GRID, MAX_SHARED = SM_90.max_threads, SM_90.max_block, SM_90.max_grid, SM_90.shared
_AXES = "xyz"
_LANGUAGE_SETTINGS = frozenset({"signature", "constants", "num_warps", "num_stages", "num_ctas"})


def launches(file: JobFile, scope: Scope, buffers: Mapping[str, records.Buffer]) -> tuple[records.Launch, ...]:
    """Resolve all launches of a case, in order.

    Args:
        file: the job.
        scope: the case's numbers; errors are reported there.
        buffers: the case's buffers.
    """
    numbered = zip(file.positions("launches"), file.job.launches, strict=True)
    return _unrolled(file, scope, buffers, numbered, ("launches",))


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
    given = file.job.reference[name].launches or []
    for position, launch in enumerate(given):
        if launch.source is not None:
            key = ("reference", name, "launches", position, "source")
            scope.problems.add(key, f"a reference has one source: name it in reference.{name}.source")
        for setting in _LANGUAGE_SETTINGS & launch.written:
            key = ("reference", name, "launches", position, setting)
            scope.problems.add(key, f"a reference has one kernel in Python: say it in reference.{name}.{setting}")
    return _unrolled(file, scope, buffers, enumerate(given), ("reference", name, "launches"))


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
        scope.error(("expect", key), "is given, and a status is read after the last launch: it is of no one kernel")
        return "", None
    count, index, kernel = len(file.positions("launches")) or 1, None, ""  # a function has one launch
    if expect.launch is not None:
        number = scope.whole(expect.launch, ("expect", "launch"), low=1, what="it, which counts from 1,")
        if number is not None and number > count:
            scope.error(("expect", "launch"), f"is {number}, and the job has {count} launches", expect.launch)
        index = None if number is None else number - 1
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
    there = dict.fromkeys(launch.kernel for launch in written if index in (None, launch.origin))
    same = [name for name in there if name.partition("(")[0] == kernel]  # an overloaded one, with its parameters
    if len(same) == 1:
        kernel = same[0]
    if kernel and there and kernel not in there:
        where = "launch" if index is None else f"launch {index + 1}"
        hint = suggestion(kernel, there, there_are="it is" if index is not None else "there are")
        scope.error(key, f"no {where} is of a kernel {kernel!r}{hint}", text)
    return kernel


def _unrolled(
    file: JobFile,
    scope: Scope,
    buffers: Mapping[str, records.Buffer],
    numbered: Iterable[tuple[int, LaunchSpec]],
    section: Key,
) -> tuple[records.Launch, ...]:
    written: list[records.Launch] = []
    for position, launch in numbered:
        key = (*section, position)
        repeat = scope.whole(launch.repeat, (*key, "repeat"), low=1, high=MAX_LAUNCHES, what="repeats")
        if repeat is None:
            _LaunchResolver(file, launch, key, buffers).steps(scope, 1)  # what else is wrong with it
            continue
        if len(written) + repeat > MAX_LAUNCHES:
            scope.error((*key, "repeat"), f"makes more than {MAX_LAUNCHES:,} launches in one case")
            break
        maker = _LaunchResolver(file, launch, key, buffers)
        written += maker.steps(scope, repeat)
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
            return [launch for launch in [self._step(scope, swap)] if launch]
        if not _uses_step(self.launch):
            launch = self._step(scope.with_step(0), swap)
            return [launch] * repeat if launch else []
        result = []
        for step in range(repeat):
            launch = self._step(scope.with_step(step), swap)
            if launch is None:
                return []
            result.append(launch)
        return result

    def _step(self, scope: Scope, swap: tuple[tuple[str, str], ...]) -> records.Launch | None:
        kernel = kernel_name(scope, self.launch.kernel, (*self.key, "kernel"))
        grid = self._grid(scope)
        block = self._block(scope)
        what = "bytes of dynamic shared memory"
        shared = scope.whole(self.launch.shared, (*self.key, "shared"), low=0, what=what)
        if shared is not None and shared > MAX_SHARED:
            text = f"{shown(self.launch.shared, shared)}: {what} must be at most {MAX_SHARED}"
            scope.refuse((*self.key, "shared"), text, self.launch.shared)
        args = [self._argument(scope, item, (*self.key, "args", at)) for at, item in enumerate(self.launch.args)]
        if kernel is None or grid is None or block is None or shared is None:
            return None
        arguments = tuple(argument for argument in args if argument is not None)
        if len(arguments) != len(args):
            return None
        return records.Launch(kernel, grid, block, shared, arguments, swap, self.position)

    def _grid(self, scope: Scope) -> Dim3 | None:
        grid, key = self.launch.grid, (*self.key, "grid")
        if grid.blocks is not None:
            counts = [
                scope.whole(value, (*key, axis), low=1, what=f"blocks along {_AXES[axis]}")
                for axis, value in enumerate(grid.blocks)
            ]
            for axis, (value, count) in enumerate(zip(grid.blocks, counts, strict=True)):
                if count is not None and count > MAX_GRID[axis]:
                    text = f"{shown(value, count)}: blocks along {_AXES[axis]} must be at most {MAX_GRID[axis]}"
                    scope.refuse((*key, axis), text, value)
            return _dim3(counts)
        sizes = [self._block_count(scope, axis) for axis in range(len(grid.problem or ()))]
        for axis, count in enumerate(sizes):
            if count is not None and count > MAX_GRID[axis]:
                scope.refuse(
                    (*key, "problem", axis), f"{count} blocks: the limit along {_AXES[axis]} is {MAX_GRID[axis]}"
                )
        return _dim3(sizes)

    def _block_count(self, scope: Scope, axis: int) -> int | None:
        """Compute ceil(problem / product of its divisors), exactly."""
        grid, key = self.launch.grid, (*self.key, "grid")
        assert grid.problem is not None
        size = scope.whole(grid.problem[axis], (*key, "problem", axis), low=1, what="the size")
        divisors = grid.divide[axis] if axis < len(grid.divide) else []
        factors = [
            scope.whole(value, (*key, "divide", axis, at), low=1, what="a divisor") for at, value in enumerate(divisors)
        ]
        if size is None or None in factors:
            return None
        return -(-size // math.prod(factor for factor in factors if factor is not None))

    def _block(self, scope: Scope) -> Dim3 | None:
        key = (*self.key, "block")
        counts = [
            scope.whole(value, (*key, axis), low=1, what=f"threads along {_AXES[axis]}")
            for axis, value in enumerate(self.launch.block)
        ]
        block = _dim3(counts)
        if block is None:
            return None
        threads = math.prod(block)
        shape = " x ".join(str(count) for count in block)
        if threads > MAX_THREADS:
            text = f"{shape} has {threads} threads; the limit of a block is {MAX_THREADS}"
            scope.refuse(key, text, *self.launch.block)
            return block
        for axis, count in enumerate(block):
            if count > MAX_BLOCK[axis]:
                text = f"{shape}: the limit along {_AXES[axis]} is {MAX_BLOCK[axis]} threads"
                scope.refuse((*key, axis), text, *self.launch.block)
                break
        return block

    def _swap(self, scope: Scope) -> tuple[tuple[str, str], ...]:
        pairs = []
        for position, (first, second) in enumerate(self.launch.swap):
            key = (*self.key, "swap", position)
            if not all(_known(self.file, scope, self.buffers, name, key) for name in (first, second)):
                continue
            one, two = self.buffers.get(first), self.buffers.get(second)
            if one is None or two is None:
                continue
            if first == second:
                scope.problems.add(key, f"{first!r} cannot be exchanged with itself")
            elif one.symbol or two.symbol:
                scope.problems.add(key, f"{first if one.symbol else second!r} is a symbol: its memory cannot move")
            elif (one.dtype, one.shape) != (two.dtype, two.shape):
                scope.error(
                    key, f"{_shape(one)} and {_shape(two)} differ: only buffers of one dtype and shape can swap"
                )
            elif one.texture != two.texture:
                scope.problems.add(key, f"{first!r} and {second!r} are not sampled alike: their memory cannot swap")
            elif one.tensor_map != two.tensor_map:
                scope.problems.add(
                    key, f"{first!r} and {second!r} have different tensor maps: their memory cannot swap"
                )
            else:
                pairs.append((first, second))
        return tuple(pairs)

    def _argument(self, scope: Scope, item: ArgumentSpec, key: Key) -> records.Argument | None:
        if item.kind == "null":
            return records.Argument("null", text="null")
        if item.kind == "struct":
            members = [self._argument(scope, member, (*key, "struct", at)) for at, member in enumerate(item.fields)]
            fields = tuple(member for member in members if member is not None)
            return records.Argument("struct", fields=fields) if len(fields) == len(members) else None
        if item.kind == "scalar":
            return _scalar(scope, item, key)
        if not _known(self.file, scope, self.buffers, item.buffer, key):
            return None
        buffer = self.buffers.get(item.buffer)
        has_map = buffer is not None and buffer.tensor_map is not None
        if item.in_memory and buffer is not None and not has_map:
            scope.error(key, f"{item.buffer} has no tensor map: give it `tensormap:`")
        as_map = has_map and not item.as_pointer
        offset = self._offset(scope, item, key)
        if offset is None:
            return None
        untyped = item.as_pointer and not has_map
        return records.Argument(
            "buffer", item.buffer, as_map=as_map, in_memory=item.in_memory, untyped=untyped, offset=offset
        )

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


def _scalar(scope: Scope, item: ArgumentSpec, key: Key) -> records.Argument | None:
    numbers = [scope.number(value, key) for value in item.values]
    values = tuple(number for number in numbers if number is not None)
    if len(values) != len(numbers):
        return None
    dtype = element_types.dtype(scope, item.dtype, key)
    if dtype is None:
        return None
    element = dtypes.parse(dtype)
    problem = count_problem(element, len(values))
    if problem:
        scope.error(key, problem, item.dtype)
        return None
    try:
        data, text = scalar_arguments.pack(element, values)
    except ValueError as error:
        scope.error(key, str(error), *(value for value in item.values if not isinstance(value, bool)))
        return None
    label = expressions.label(item.values[0]) if len(item.values) == 1 else ""
    return records.Argument("scalar", dtype=dtype, data=data.hex(), text=text, label=label)


def _known(file: JobFile, scope: Scope, buffers: Mapping[str, Any], name: str, key: Key) -> bool:
    """Report an unknown buffer, unless its own definition was invalid."""
    if name in buffers or name in file.job.buffers or (file.is_broken("buffers") and name in _written_names(file)):
        return True
    hint = suggestion(name, file.job.buffers)
    scope.problems.add(key, f"unknown buffer {name!r}{hint}{_scalar_hint(scope, name)}")
    return False


def _scalar_hint(scope: Scope, name: str) -> str:
    return f" (a number is written with its type: {{int32: {name}}})" if name in scope.names else ""


def _written_names(file: JobFile) -> tuple[str, ...]:
    buffers = file.document.data.get("buffers")
    return tuple(buffers) if isinstance(buffers, dict) else ()


def _uses_step(launch: LaunchSpec) -> bool:
    given = [value for name, value in launch.present().items() if name not in ("repeat", "swap", "kernel", "source")]
    texts: Iterator[str] = _texts(given)
    of_kernel = "step" in templates.names_in(launch.kernel)
    return of_kernel or any("step" in expressions.names_in(text) for text in texts)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Spec):
        yield from _texts(list(value.present().values()))
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _dim3(counts: list[int | None]) -> Dim3 | None:
    known = [count for count in counts if count is not None]
    if len(known) != len(counts):
        return None
    x, y, z = (*known, 1, 1)[:3]
    return x, y, z


def _shape(buffer: records.Buffer) -> str:
    return f"{buffer.name} ({buffer.dtype} [{','.join(map(str, buffer.shape))}])"
