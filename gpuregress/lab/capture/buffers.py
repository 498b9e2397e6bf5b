"""Buffers of a captured launch, cut to the bytes that the kernel touched.

An allocation may hold the arrays of many kernels, as PyTorch's pools do. Where the accesses were noted, each pointer
gets a buffer of its own, from the first to the last byte that was touched. Two that reach into each other share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gpuregress.foundation import dtypes
from gpuregress.foundation.wording import free_name
from gpuregress.gpu.records import Record, replace
from gpuregress.lab.capture import signature
from gpuregress.lab.capture.records import CapturedLaunch, CapturedRegion
from gpuregress.lab.capture.replay import instrumentation
from gpuregress.lab.capture.replay.launch import Patch, Replay
from gpuregress.lab.capture.signature import ParameterType

_ALIGNMENT = 16
"""Bytes to which the beginning of a cut is rounded, so that vectors stay aligned."""
Stretches = Sequence[tuple[int, int]]


class JobBuffer(Record):
    """A buffer of the job.

    Attributes:
        name: unique in the job.
        dtype: of its elements.
        region: number of the region that it is a part of.
        start: first byte, in the part of the region that was kept.
        size: bytes.
        symbol: mangled name of the variable that it is; "" for memory behind a pointer.
        is_filled: whether the kernel needs what was there before.
        is_output: whether the kernel wrote to it.
    """

    name: str
    dtype: str
    region: int
    start: int
    size: int
    symbol: str = ""
    is_filled: bool = True
    is_output: bool = False

    @property
    def count(self) -> int:
        """Elements."""
        return self.size // dtypes.parse(self.dtype).size


class Layout(Record):
    """The buffers of a launch, and where its pointers point.

    Attributes:
        buffers: in the order of the pointers, then the variables.
        pointers: in the order of their place.
        is_split: whether an allocation became several buffers.
    """

    buffers: tuple[JobBuffer, ...]
    pointers: tuple[Patch, ...]
    is_split: bool = False


class _Target(Record):
    """A pointer with what it is called."""

    at: int
    offset: int
    name: str
    dtype: str
    is_const: bool


def lay_out(
    launch: CapturedLaunch,
    types: Sequence[ParameterType],
    replay: Replay | None,
    symbols: Iterable[str],
    *,
    split: bool = True,
) -> Layout:
    """Make the buffers of a launch.

    Args:
        launch: with contents of all regions.
        types: of its parameters, as far as they are known.
        replay: what it touched; None: not known.
        symbols: mangled names of the variables that the kernel may use.
        split: whether the pointers into one allocation may get buffers of their own.
    """
    buffers: list[JobBuffer] = []
    placed: list[Patch] = []
    is_split = False
    names: set[str] = set()
    for number, region in enumerate(launch.regions):
        targets = _targets(launch, number, types)
        if region.symbol or not targets:
            continue
        touched = None if replay is None else (replay.read[number], replay.written[number])
        groups = _groups(targets, region, touched, split=split)
        is_split |= len(groups) > 1
        for members, start, end in groups:
            buffer = _buffer(launch, number, members, (start, end), touched)
            buffer = replace(buffer, name=_unique(buffer.name, names))
            placed += [Patch(target.at, len(buffers), target.offset - start) for target in members]
            buffers.append(buffer)
    wanted = set(symbols)
    for number, region in enumerate(launch.regions):
        if region.symbol in wanted and _is_worth_keeping(region):
            dtype = "uint32" if region.length % 4 == 0 else "uint8"
            name = _unique(_plain(region.symbol), names)
            buffers.append(
                JobBuffer(
                    name=name,
                    dtype=dtype,
                    region=number,
                    start=0,
                    size=region.length,
                    symbol=region.symbol,
                    is_output=_changed(region, 0, region.length),
                )
            )
    by_place = {pointer.at: pointer for pointer in placed}
    return Layout(tuple(buffers), tuple(by_place[at] for at in sorted(by_place)), is_split)


def _targets(launch: CapturedLaunch, region: int, types: Sequence[ParameterType]) -> list[_Target]:
    targets = []
    for position, parameter in enumerate(launch.parameters):
        type_ = types[position] if position < len(types) else ParameterType()
        own = type_.name or f"arg{position}"
        for pointer in launch.pointers:
            if pointer.region != region or not 0 <= pointer.at - parameter.offset < len(parameter.data):
                continue
            is_plain = len(parameter.data) == 8
            name = own if is_plain else f"{own}_{pointer.at - parameter.offset}"
            dtype = type_.dtype if is_plain and type_.is_pointer else ""
            offset = pointer.address - launch.regions[region].start
            if 0 <= offset < launch.regions[region].length:
                targets.append(_Target(pointer.at, offset, name, dtype, is_plain and type_.is_const))
    return targets


def _groups(
    targets: list[_Target], region: CapturedRegion, touched: tuple[Stretches, Stretches] | None, *, split: bool
) -> list[tuple[list[_Target], int, int]]:
    """Return the pointers that share a buffer, with the buffer's first byte and its end."""
    if touched is None:
        return [(targets, 0, region.length)]
    members: dict[int, list[_Target]] = {}
    for target in sorted(targets, key=lambda target: target.offset):
        start = target.offset if split or not members else min(members)
        members.setdefault(start, []).append(target)
    starts = list(members)
    reached = {start: (start, min(start + _ALIGNMENT, region.length)) for start in starts}
    for first, end in [*touched[0], *touched[1]]:
        position = first
        while position < end:  # a stretch may go on after the next pointer
            owner = max([start for start in starts if start <= position], default=starts[0])
            until = min([start for start in starts if start > max(position, owner)], default=end)
            until = min(end, until)
            low, high = reached[owner]
            reached[owner] = min(low, position), max(high, until)
            position = until
    groups = []
    for start in starts:
        low, high = reached[start]
        groups.append((members[start], low - low % _ALIGNMENT, high))
    return groups


def _buffer(
    launch: CapturedLaunch,
    number: int,
    members: list[_Target],
    extent: tuple[int, int],
    touched: tuple[Stretches, Stretches] | None,
) -> JobBuffer:
    region = launch.regions[number]
    start, end = extent
    size = end - start
    is_exact = False
    dtype = ""
    for target in members:
        dtype = dtype or target.dtype
    if dtype:
        step = dtypes.parse(dtype).size
        is_exact = step % instrumentation.GRANULE == 0
        size = min(-(-size // step) * step, region.length - start)
        if size % step:
            dtype = ""
    if not dtype:
        dtype = "uint32" if size % 4 == 0 else "uint8"
    changed = _changed(region, start, size)
    buffer = JobBuffer(name=members[0].name, dtype=dtype, region=number, start=start, size=size)
    if touched is None:
        # The host may have written to memory that it can access.
        is_const = region.memory != "device" and all(target.is_const for target in members)
        return replace(buffer, is_output=changed and not is_const)
    reads = _inside(touched[0], start, start + size)
    writes = _inside(touched[1], start, start + size)
    is_covered = is_exact and writes == ((start, start + size),)  # of smaller elements a few may be unwritten
    return replace(buffer, is_filled=bool(reads) or not is_covered, is_output=bool(writes) or changed)


def _inside(stretches: Stretches, start: int, end: int) -> Stretches:
    cut = [(max(first, start), min(last, end)) for first, last in stretches]
    return tuple((first, last) for first, last in cut if first < last)


def _changed(region: CapturedRegion, start: int, size: int) -> bool:
    """Whether the launch changed a part of a region; False where its result is not known."""
    if region.before is None or region.after is None:
        return False
    return not np.array_equal(part(region, start, size), part(region, start, size, after=True))


def part(
    region: CapturedRegion, start: int, size: int, *, after: bool = False
) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Read a part of a region's contents before or after the launch."""
    path = region.after if after else region.before
    assert path is not None, "only a region whose contents were kept becomes a buffer"
    return np.fromfile(path, np.uint8, size, offset=start)


def _is_worth_keeping(region: CapturedRegion) -> bool:
    if region.before is None:
        return False
    if _changed(region, 0, region.length):
        return True
    if region.is_initial is not None:
        return not region.is_initial
    return bool(part(region, 0, region.length).any())


def _plain(symbol: str) -> str:
    """A variable's name as a buffer's name."""
    text = signature.short_name(symbol).rpartition("::")[2]
    plain = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in text)[:60]
    if plain[:1].isalpha() or plain[:1] == "_":
        return plain
    return f"v_{plain}"


def _unique(name: str, names: set[str]) -> str:
    unique = free_name(name[:56], names)
    names.add(unique)
    return unique
