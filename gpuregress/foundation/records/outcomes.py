"""The outcome of a case, as its worker reports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from gpuregress.foundation.errors import NOWHERE, CodeLine, FaultLocation
from gpuregress.foundation.records.dumps import Dump
from gpuregress.foundation.records.observations import Observations
from gpuregress.gpu.programs import DeviceInfo
from gpuregress.gpu.records import Record

FAULT_KINDS: dict[str, str] = {
    "out-of-bounds": "an access outside every buffer, or past the end of one",
    "misaligned": "an access whose address is not a multiple of its size",
    "assert": "a device-side assert() failed",
    "trap": "the kernel executed a trap",
    "status": "the kernel's status buffer is not all zero",
    "deadlock": "threads do not meet at a barrier or warp operation; most often none of them can go on",
    "illegal-instruction": "the device met an instruction that is not one",
    "stack-overflow": "calls or local memory went over the stack",
    "launch": "the launch itself was refused",
    "timeout": "the kernel was killed at its time limit",
    "crash": "the worker process died",
    "illegal-access": "the GPU reports an illegal address and no more",
    "red-zone": "the bytes before or after a buffer were written",
    "race": "two threads touched one address, at least one wrote, and nothing orders the two accesses",
    "uninitialized": "memory was read that nobody had written",
    "barrier": "threads do not reach a barrier that others wait at, or reach it with a wrong mask or count",
    "leak": "memory that a kernel allocated was not freed",
}


class Fault(Record):
    """A fault of a kernel.

    Attributes:
        kind: one of FAULT_KINDS.
        message: a line for people.
        details: further lines.
        launch: the log number of the last launch that began.
        position: which of the case's own launches failed, from 0; None where it was none of them, but a fill, a
            reference, a repeat, a timed launch. A status is the last launch's.
        location: the place that the message tells, as far as it is known.
    """

    kind: str
    message: str
    details: tuple[str, ...] = ()
    launch: int | None = None
    position: int | None = None
    location: FaultLocation = NOWHERE


class LaunchTime(Record):
    """A launch's number in the log and its time on the device."""

    number: int
    kernel: str
    elapsed_ms: float


class Outcome(Record):
    """The result of a case on a worker.

    Attributes:
        case: its name.
        state: `done`, `fault`, `timeout` or `error` (could not be run).
        fault: for `fault` and `timeout`.
        message: for `error`.
        source_line: of the error, or of the fault: the line that reports point at; None where there is none.
        dumps: what was written, in the case's order.
        inputs: filled buffer → digest of its bytes before the first launch.
        launches: those that ended.
        output: what the kernels printed.
        device: where it ran.
        resources: kernel → registers, shared, local, spill bytes.
        seconds: wall time of the case in the worker.
        observations: beside the dumps; `extra` in JSON.
    """

    case: str
    state: Literal["done", "fault", "timeout", "error"]
    fault: Fault | None = None
    message: str = ""
    source_line: CodeLine | None = None
    dumps: tuple[Dump, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    launches: tuple[LaunchTime, ...] = ()
    output: str = ""
    device: DeviceInfo | None = None
    resources: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    seconds: float = 0.0
    observations: Observations = field(default=Observations(), name="extra")
