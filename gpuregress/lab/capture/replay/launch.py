"""Replay of a captured launch on the CPU device, in a process of its own.

The process is given a request as JSON, and answers with a result as JSON. It is killed at its time limit, and a kernel
that crashes ends only it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.records import Dim3, from_json, to_plain
from gpuregress.gpu.records import Record


class ReplayMemory(Record):
    """A buffer of a replay: a part of the contents that were kept.

    Attributes:
        name: in messages.
        before: file of the contents; "": zeros.
        start: first byte in the file.
        size: bytes.
        symbol: mangled name of the variable that it is; "" for a buffer.
        after: file of the contents after the launch; "": not known.
    """

    name: str
    before: str
    start: int
    size: int
    symbol: str = ""
    after: str = ""


class Patch(Record):
    """A pointer in the parameters: byte of the parameter space, buffer, byte of the buffer."""

    at: int
    memory: int
    offset: int


class Request(Record):
    """A launch to be replayed.

    Attributes:
        ptx: file of the module.
        kernel: mangled name.
        grid: blocks.
        block: threads of a block.
        shared: dynamic shared memory, bytes.
        parameters: hexadecimal bytes of each.
        offsets: of the parameters in the parameter space.
        memories: the buffers.
        patches: the pointers.
        notes: whether accesses are noted.
    """

    ptx: str
    kernel: str
    grid: Dim3
    block: Dim3
    shared: int
    parameters: tuple[str, ...]
    offsets: tuple[int, ...]
    memories: tuple[ReplayMemory, ...]
    patches: tuple[Patch, ...]
    notes: bool = False


class Replay(Record):
    """The result.

    Attributes:
        problem: why there is none, in words; "" where there is one.
        is_fault: whether the kernel faulted.
        read: for each buffer, the stretches of bytes (first, end) that were read.
        written: those that were written.
        differing: for each buffer, how many bytes differ from the contents after the launch; -1: not known.
        first: for each buffer, the first byte that differs, -1 where none does.
    """

    problem: str = ""
    is_fault: bool = False
    read: tuple[tuple[tuple[int, int], ...], ...] = ()
    written: tuple[tuple[tuple[int, int], ...], ...] = ()
    differing: tuple[int, ...] = ()
    first: tuple[int, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether every buffer is as the GPU left it."""
        return not self.problem and all(count == 0 for count in self.differing)


def run(request: Request, seconds: float) -> Replay:
    """Replay a launch.

    Args:
        request: the launch.
        seconds: the time limit.
    """
    if seconds <= 0:
        return Replay("no time was given for it (--replay)")
    with storage.scratch() as folder:
        path = folder / "request.json"
        path.write_text(json.dumps(to_plain(request)), encoding="utf-8")
        command: Sequence[str] = (sys.executable, "-m", "gpuregress.lab.capture.replay.process", str(path))
        try:
            done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return Replay(f"it takes more than {seconds:g} s on the CPU device")
        answer = path.with_suffix(".answer")
        if not answer.exists():
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return Replay(f"the replay ended with code {done.returncode}{': ' + lines[-1] if lines else ''}")
        return read_answer(answer)


def read_answer(path: Path) -> Replay:
    """Read the result of a replay process."""
    return from_json(Replay, json.loads(storage.read_bytes(path)))
