"""Messages of the process of single launches, and the layout of the memory that it shares.

Parent to child: `{"do": "launch", "call": LaunchCall}`. Child to parent, over `workers.channel`:

    {"say": "ready", "device": DeviceInfo}       once, before any call; or `refused`, as a worker
    {"say": "phase", "phase": "launching"}       the launch begins: its clock starts; or `trying`, as a worker
    {"say": "done", "report": LaunchResult}      the outputs are in the shared memory
    {"say": "failed", …}                         as `channel.encode_error` has it
"""

from __future__ import annotations

from gpuregress.foundation.records import Argument, Dim3, LaunchShape, Program
from gpuregress.gpu.records import Record

ALIGNMENT = 64
"""Bytes between the beginnings of two contents in the shared memory."""


class Contents(Record):
    """The bytes of one buffer or variable in the shared memory.

    Attributes:
        name: for messages, and in `Argument.buffer`.
        offset: bytes from the start of the shared memory.
        size: bytes.
        itemsize: bytes of an element.
        is_output: whether they are read back after the launch.
        symbol: the variable of the program that they are; "": a buffer.
    """

    name: str
    offset: int
    size: int
    itemsize: int
    is_output: bool = False
    symbol: str = ""


class LaunchCall(Record):
    """One launch.

    Attributes:
        program: has the kernel.
        kernel: its C++ name.
        shape: its threads.
        arguments: in the kernel's order; a buffer is named as in `contents`.
        contents: of every buffer and variable.
        cluster: blocks of a cluster along x, y, z that the caller asks for; None: whatever the kernel has.
        memory: bytes of the shared memory.
        heap: bytes that kernels may allocate themselves.
    """

    program: Program
    kernel: str
    shape: LaunchShape
    arguments: tuple[Argument, ...]
    contents: tuple[Contents, ...]
    memory: int
    heap: int
    cluster: Dim3 | None = None


class LaunchResult(Record):
    """The result of a launch, beside its outputs.

    Attributes:
        elapsed_ms: time on the device.
        output: what the kernel printed.
        instructions: executed by all threads; None where the device does not count.
    """

    elapsed_ms: float
    output: str = ""
    instructions: int | None = None


def laid_out(sizes: list[int]) -> tuple[list[int], int]:
    """Return the offset of each of some contents in the shared memory, and the bytes of all.

    Args:
        sizes: bytes.
    """
    offsets, end = [], 0
    for size in sizes:
        offsets.append(end)
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return offsets, end
