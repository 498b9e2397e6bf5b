"""Reader of the injection library's launch log, and writer of the application's.

A process appends binary records to a mapped file, which takes a fraction of a microsecond for each launch; see
`injection/launch_log.c`. Here the names become readable, the arguments get their types, and the launches of all
processes are numbered in the order of their time.
"""

from __future__ import annotations

import heapq
import math
import mmap
import struct
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np

from gpuregress.foundation import storage
from gpuregress.gpu.records import Record
from gpuregress.lab.capture import signature
from gpuregress.store.launch_log import VERSION

_PROCESS, _FUNCTION, _TIME, _SHAPE, _BEGIN, _END, _FAULT, _RETRY, _EXIT = range(1, 10)
_HEADER = struct.Struct("<HHI")
"""Size of the record, kind, and a word."""
_CONFIGURATION = struct.Struct("<3I3III")
"""Grid, block, shared memory, device."""
_ENDED = struct.Struct("<QQd")
_NUMBER = struct.Struct("<Q")
_LONGEST_STRUCT = 256
"""Bytes of a parameter that are shown."""
_PROGRAMS = 10_000_000
"""What is added to a process id for each program that it becomes by `exec`."""


class RawFunction(Record):
    """A kernel, or a graph: its mangled name, and offset and size of each parameter."""

    name: str
    parameters: tuple[tuple[int, int], ...]


class RawShape(Record):
    """How a function is launched: blocks, threads of a block, bytes of dynamic shared memory, number of the GPU."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    device: int


_NO_SHAPE = RawShape((0, 0, 0), (0, 0, 0), 0, 0)


class RawBegin(Record):
    """A launch.

    Attributes:
        number: in its process, from 1.
        time_ns: since 1970, to some milliseconds.
        process: its name and id.
        function: that is launched.
        shape: how.
        values: the parameters, the first bytes of them.
    """

    number: int
    time_ns: int
    process: str
    function: RawFunction
    shape: RawShape
    values: bytes


class RawEnd(Record):
    """These launches have ended; the time is NaN where it is not known."""

    first: int
    last: int
    elapsed_ms: float


class RawText(Record):
    """What is said of a launch: `fault` or `retry`, and the text."""

    number: int
    kind: str
    text: str


class RawExit(Record):
    """The process called `exit`."""

    status: int


RawEvent = RawBegin | RawEnd | RawText | RawExit


class MergedLog(Record):
    """What was written.

    Attributes:
        launches: the number of launches.
        cut: process ids of those that ended while launches were under way, without `exit`.
    """

    launches: int
    cut: tuple[int, ...]


def read(data: bytes | mmap.mmap) -> Iterator[RawEvent]:
    """Read the records of a process, up to the first that is not whole."""
    functions: dict[int, RawFunction] = {}
    shapes: dict[int, RawShape] = {}
    process, time_ns, at = "", 0, 0
    while at + _HEADER.size <= len(data):
        size, kind, word = _HEADER.unpack_from(data, at)
        body = data[at + _HEADER.size : at + size]
        if size < _HEADER.size or size % 8 or at + size > len(data):
            return
        at += size
        try:
            if kind == _PROCESS:
                process = body[8 : 8 + word].decode("ascii", "replace")
            elif kind == _FUNCTION:
                functions[word] = _function(body)
            elif kind == _TIME:
                (time_ns,) = _NUMBER.unpack_from(body)
            elif kind == _SHAPE:
                gx, gy, gz, bx, by, bz, shared, device = _CONFIGURATION.unpack_from(body)
                shapes[word] = RawShape((gx, gy, gz), (bx, by, bz), shared, device)
            elif kind == _BEGIN:
                (number,) = _NUMBER.unpack_from(body)
                yield RawBegin(
                    number=number,
                    time_ns=time_ns,
                    process=process,
                    function=functions[word],
                    shape=shapes.get(word, _NO_SHAPE),
                    values=body[_NUMBER.size :],
                )
            elif kind == _END:
                yield RawEnd(*_ENDED.unpack_from(body))
            elif kind in (_FAULT, _RETRY):
                (number,) = _NUMBER.unpack_from(body)
                text = body[8 : 8 + word].decode("utf-8", "replace")
                yield RawText(number, "fault" if kind == _FAULT else "retry", text)
            elif kind == _EXIT:
                yield RawExit(word)
        except (struct.error, KeyError):
            return


def merge(folder: Path, target: Path, header: Mapping[str, str], *, ended_well: int | None) -> MergedLog:
    """Write the launch log of an application.

    A launch without an end has ended, too, if its process ended well: it called `exit` with 0, or became another
    program.

    Args:
        folder: with the raw logs `PID.log`.
        target: the log; replaced if it is there.
        header: its facts.
        ended_well: id of a process that is known to have ended well, or None.

    Raises:
        StorageError: it cannot be written.
    """
    logs = {int(path.stem): path for path in sorted(folder.glob("*.log")) if path.stem.isdecimal()}
    well = {number for number in logs if number == ended_well or number + _PROGRAMS in logs}
    numbers: dict[tuple[int, int], int] = {}
    open_launches: dict[tuple[int, int], None] = {}
    cut: set[int] = set()

    def lines() -> Iterator[bytes]:
        facts = "".join(f"# {key}: {_one_line(text)}\n" for key, text in header.items())
        yield f"# gpuregress log {VERSION}\n{facts}".encode()
        for _, process, event in heapq.merge(*map(_timed, logs, logs.values()), key=lambda one: one[0]):
            if isinstance(event, RawBegin):
                number = numbers[process, event.number] = len(numbers) + 1
                open_launches[process, event.number] = None
                yield _begin_line(number, event).encode()
            elif isinstance(event, RawEnd) and event.last - event.first < len(numbers):
                for one in range(event.first, event.last + 1):
                    if open_launches.pop((process, one), 0) is None:
                        yield _end_line(numbers[process, one], event.elapsed_ms)
            elif isinstance(event, RawText) and (process, event.number) in numbers:
                open_launches.pop((process, event.number), None)
                yield f"{event.kind} {numbers[process, event.number]} {_one_line(event.text)}\n".encode()
            elif isinstance(event, RawExit) and event.status == 0:
                well.add(process)
        for process, one in open_launches:
            if process in well:
                yield _end_line(numbers[process, one], math.nan)
            else:
                cut.add(process % _PROGRAMS)

    storage.write_atomic(target, lines())
    return MergedLog(len(numbers), tuple(sorted(cut)))


def _function(body: bytes) -> RawFunction:
    count, length = struct.unpack_from("<II", body)
    words = struct.unpack_from(f"<{2 * count}I", body, 8)
    start = 8 + 8 * count
    name = body[start : start + length].decode("ascii", "replace")
    return RawFunction(name, tuple(zip(words[::2], words[1::2], strict=True)))


def _timed(process: int, path: Path) -> Iterator[tuple[int, int, RawEvent]]:
    """Each event of a process with the time of the last launch before it."""
    time_ns = 0
    with storage.disk_errors(path, "read"), path.open("rb") as file:
        if not path.stat().st_size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for event in read(data):
                if isinstance(event, RawBegin):
                    time_ns = max(time_ns, event.time_ns)
                yield time_ns, process, event


def _begin_line(number: int, launch: RawBegin) -> str:
    name = _readable(launch.function.name).replace("\\", "\\\\")
    shape = launch.shape
    grid, block = (",".join(map(str, size)) for size in (shape.grid, shape.block))
    arguments = ", ".join(_arguments(launch))
    time = datetime.fromtimestamp(launch.time_ns // 1_000_000 / 1000, UTC).isoformat(timespec="milliseconds")
    where = f"{time.removesuffix('+00:00')}Z cuda:{shape.device} {launch.process}"
    return f"begin {number} {where} {name}<<<({grid}),({block}),{shape.shared}>>>({arguments}) seed=0\n"


def _end_line(number: int, elapsed_ms: float) -> bytes:
    return (f"end {number} nan ms\n" if math.isnan(elapsed_ms) else f"end {number} {elapsed_ms:.3f} ms\n").encode()


@lru_cache(maxsize=4096)
def _readable(name: str) -> str:
    """The C++ name of a kernel, or those of a graph's kernels: `graph:_Z1kv,_Z1lv` gives `graph of k, l`."""
    if not name.startswith("graph:"):
        return signature.short_name(name)
    kernels = [signature.short_name(one) for one in name.removeprefix("graph:").split(",") if one]
    return f"graph of {', '.join(kernels)}" if kernels else "graph"


def _arguments(launch: RawBegin) -> Iterator[str]:
    types = signature.of_name(launch.function.name)
    for position, (offset, size) in enumerate(launch.function.parameters):
        data = launch.values[offset : offset + size]
        type_ = types[position] if position < len(types) else None
        if len(data) < size:
            yield "..."
            return
        if size > 8:
            words = (hex(int.from_bytes(data[at : at + 8], "little")) for at in range(0, min(size, _LONGEST_STRUCT), 8))
            yield f"{{{', '.join(words)}{', ...' if size > _LONGEST_STRUCT else ''}}}"
        elif type_ is None or type_.is_pointer or not type_.dtype:
            yield hex(int.from_bytes(data, "little"))
        else:
            yield _number(data, type_.dtype)


def _number(data: bytes, dtype: str) -> str:
    try:
        kind = np.dtype(dtype)
    except TypeError:  # a vector, bfloat16
        kind = None
    if kind is None or kind.itemsize != len(data):
        return hex(int.from_bytes(data, "little"))
    return str(np.frombuffer(data, kind)[0])


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text.replace("\\", "\\\\"))
