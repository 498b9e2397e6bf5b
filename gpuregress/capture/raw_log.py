"""Launch log of an application, from the raw logs of its processes.

A process writes mangled names and hexadecimal arguments, which takes a fraction of a microsecond. Here the names become
readable, the arguments get their types, and the launches of all processes are numbered in the order of their time.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from gpuregress import storage
from gpuregress.capture import signature
from gpuregress.launch_log import VERSION

_BEGIN = re.compile(r"begin (\d+) (\S+) (\S+) (\S+) (.*?)(<<<\([^)]*\),\([^)]*\),\d+>>>)\((.*)\) seed=0")
_EVENT = re.compile(r"(end|fault|retry) (\d+) (.*)")


def merge(folder: Path, target: Path, header: Mapping[str, str], *, has_ended_well: bool) -> tuple[int, dict[int, int]]:
    """Write the launch log of an application.

    Args:
        folder: with the raw logs `PID.log`.
        target: the log; replaced if it is there.
        header: its facts.
        has_ended_well: whether launches without an end have ended, too: the application did not fail.

    Returns:
        the number of launches, and the log's number of each launch that failed → its process.

    Raises:
        StorageError: it cannot be written.
    """
    numbers: dict[tuple[int, int], int] = {}
    failed: dict[int, int] = {}
    open_launches: dict[int, None] = {}

    def lines() -> Iterator[bytes]:
        facts = "".join(f"# {key}: {_one_line(text)}\n" for key, text in header.items())
        yield f"# gpuregress log {VERSION}\n{facts}".encode()
        streams = [_timed(path) for path in sorted(folder.glob("*.log")) if path.stem.isdecimal()]
        for _, process, line in heapq.merge(*streams, key=lambda one: one[0]):
            text = _renumbered(process, line, numbers, failed, open_launches)
            if text:
                yield text.encode()
        if has_ended_well:
            for number in open_launches:
                yield f"end {number} nan ms\n".encode()

    storage.write_atomic(target, lines())
    return len(numbers), failed


def _timed(path: Path) -> Iterator[tuple[str, int, str]]:
    """Each line of a process with the time of the last launch before it; the file's end is filled with zeros."""
    process, time = int(path.stem), ""
    with path.open("rb") as file:
        for raw in file:
            line = raw.rstrip(b"\n")
            if not raw.endswith(b"\n") or b"\0" in line:
                return
            text = line.decode("ascii", "replace")
            if text.startswith("begin "):
                time = text.split(" ", 3)[2]
            yield time, process, text


def _renumbered(
    process: int,
    line: str,
    numbers: dict[tuple[int, int], int],
    failed: dict[int, int],
    open_launches: dict[int, None],
) -> str:
    if match := _BEGIN.fullmatch(line):
        number = numbers[process, int(match[1])] = len(numbers) + 1
        open_launches[number] = None
        arguments = ", ".join(_arguments(match[5], match[7]))
        name = _escaped(_readable(match[5]))
        return f"begin {number} {match[2]} {match[3]} {match[4]} {name}{match[6]}({arguments}) seed=0\n"
    event = _EVENT.fullmatch(line)
    known = numbers.get((process, int(event[2]))) if event else None
    if event is None or known is None:
        return ""
    open_launches.pop(known, None)
    if event[1] == "fault":
        failed[known] = process
    return f"{event[1]} {known} {event[3]}\n"


def _readable(name: str) -> str:
    """The C++ name of a kernel, or those of a graph's kernels: `graph:_Z1kv,_Z1lv` gives `graph of k, l`."""
    if not name.startswith("graph:"):
        return signature.short_name(name)
    kernels = [signature.short_name(one) for one in name.removeprefix("graph:").split(",") if one]
    return f"graph of {', '.join(kernels)}" if kernels else "graph"


def _arguments(kernel: str, text: str) -> Iterator[str]:
    types = _types(kernel)
    for position, word in enumerate(_split(text)):
        type_ = types[position] if position < len(types) else None
        if type_ is None or type_.is_pointer or not type_.dtype or not word.startswith("0x"):
            yield word
        else:
            yield _number(int(word, 16), type_.dtype)


@lru_cache(maxsize=4096)
def _types(kernel: str) -> tuple[signature.ParameterType, ...]:
    return signature.of_name(kernel)


def _number(bits: int, dtype: str) -> str:
    try:
        kind = np.dtype(dtype)
    except TypeError:  # a vector, bfloat16
        return hex(bits)
    return str(np.array([bits], np.uint64).view(np.uint8)[: kind.itemsize].view(kind)[0])


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()] if text else []


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\")


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in text.replace("\\", "\\\\"))
