"""Process that replays one captured launch on the CPU device; see `launch`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError, KernelFault
from gpuregress.foundation.records import LaunchShape, Source, from_json, to_plain
from gpuregress.gpu.base import DeviceModule, Memory
from gpuregress.lab.capture.replay import instrumentation
from gpuregress.lab.capture.replay.launch import Replay, ReplayMemory, Request
from gpuregress.toolchain import cache, programs
from gpuregress.virtual_gpu.device import CpuDevice

Bytes = npt.NDArray[np.uint8]
_MOST_STRETCHES = 1 << 16


def main(arguments: list[str]) -> int:
    """Replay the launch that a file describes, and write the result beside it."""
    path = Path(arguments[0])
    request = from_json(Request, json.loads(storage.read_bytes(path)))
    try:
        answer = replay(request)
    except KernelFault as error:
        answer = Replay(str(error), is_fault=True)
    except GpuregressError as error:
        answer = Replay(str(error))
    storage.write_atomic(path.with_suffix(".answer"), json.dumps(to_plain(answer)).encode(), durable=False)
    return 0


def replay(request: Request) -> Replay:
    """Replay a launch.

    Raises:
        KernelFault: the kernel faults.
        UnsupportedError: the CPU device cannot run it, or an access cannot be noted.
    """
    with storage.scratch() as folder, CpuDevice(cache) as device:
        path = Path(request.ptx)
        plain = [number for number, one in enumerate(request.memories) if not one.symbol]
        if request.notes:
            text = instrumentation.instrument(path.read_text(encoding="utf-8"), request.kernel, len(plain))
            path = folder / "instrumented.ptx"
            path.write_text(text, encoding="utf-8")
        program = programs.compile(Source(str(path), kernels=(request.kernel,)))
        module = device.load(program, None, (request.kernel,))
        memories = [_prepare(device, module, one) for one in request.memories]
        maps = _maps(device, module, [memories[number] for number in plain]) if request.notes else []
        shape = LaunchShape(request.grid, request.block, request.shared)
        device.launch(module, request.kernel, shape, _arguments(request, memories))
        read: list[tuple[tuple[int, int], ...]] = [()] * len(memories)
        written = list(read)
        for number, (reads, writes) in zip(plain, maps, strict=False):
            size = request.memories[number].size
            read[number], written[number] = _stretches(reads.read(), size), _stretches(writes.read(), size)
        compared = [_compare(memory, one) for memory, one in zip(memories, request.memories, strict=True)]
        return Replay(
            read=tuple(read),
            written=tuple(written),
            differing=tuple(count for count, _ in compared),
            first=tuple(first for _, first in compared),
        )


def _prepare(device: CpuDevice, module: DeviceModule, wanted: ReplayMemory) -> Memory:
    memory = module.symbol(wanted.symbol) if wanted.symbol else device.allocate(wanted.name, max(1, wanted.size))
    memory.write(_part(wanted.before, wanted) if wanted.before else np.zeros(max(1, wanted.size), np.uint8))
    return memory


def _part(path: str, wanted: ReplayMemory) -> Bytes:
    return np.fromfile(path, np.uint8, wanted.size, offset=wanted.start)


def _maps(device: CpuDevice, module: DeviceModule, memories: list[Memory]) -> list[tuple[Memory, Memory]]:
    """Allocate the maps of all buffers, and fill the table."""
    maps: list[tuple[Memory, Memory]] = []
    rows = []
    for memory in memories:
        size = -(-memory.size // instrumentation.GRANULE)
        pair = (device.allocate("map of reads", size), device.allocate("map of writes", size))
        for one in pair:
            one.write(np.zeros(size, np.uint8))
        maps.append(pair)
        rows.append((memory.address, memory.size, pair[0].address, pair[1].address))
    if rows:
        module.symbol(instrumentation.TABLE).write(np.array(rows, np.uint64).view(np.uint8).reshape(-1))
    return maps


def _arguments(request: Request, memories: list[Memory]) -> tuple[bytes, ...]:
    packed = []
    for text, offset in zip(request.parameters, request.offsets, strict=True):
        data = bytearray.fromhex(text)
        for patch in request.patches:
            if offset <= patch.at < offset + len(data):
                address = memories[patch.memory].address + patch.offset
                data[patch.at - offset : patch.at - offset + 8] = address.to_bytes(8, "little")
        packed.append(bytes(data))
    return tuple(packed)


def _stretches(noted: Bytes, size: int) -> tuple[tuple[int, int], ...]:
    """The stretches of bytes for which a map has a mark; close ones are joined where there are very many."""
    edges = np.flatnonzero(np.diff(noted != 0, prepend=False, append=False))
    starts, ends = edges[::2], edges[1::2]
    if len(starts) > _MOST_STRETCHES:
        starts, ends = starts[:1], ends[-1:]
    granule = instrumentation.GRANULE
    pairs: list[Any] = [starts.tolist(), ends.tolist()]
    return tuple((first * granule, min(end * granule, size)) for first, end in zip(*pairs, strict=True))


def _compare(memory: Memory, wanted: ReplayMemory) -> tuple[int, int]:
    if not wanted.after:
        return -1, -1
    differing = np.flatnonzero(memory.read(0, wanted.size) != _part(wanted.after, wanted))
    return len(differing), int(differing[0]) if len(differing) else -1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
