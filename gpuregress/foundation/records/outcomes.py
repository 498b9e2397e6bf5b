"""The outcome of a case, as its worker reports it, and the task that asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from gpuregress.foundation.errors import NOWHERE, CodeLine, FaultLocation
from gpuregress.foundation.records.cases import Case
from gpuregress.foundation.records.dumps import Dump
from gpuregress.foundation.records.observations import Observations
from gpuregress.gpu.programs import DeviceInfo, Program
from gpuregress.gpu.records import Record, replace

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


# --- tasks ------------------------------------------------------------------------------------------------------------
# Request to a worker: one case to run.

COMPRESS_ABOVE = 64 << 20
"""Bytes of text above which dumps are compressed, by default."""


class DumpStorage(Record):
    """The storage of dumps.

    Attributes:
        contents: the folder of the contents that runs share, absolute; "": they share none.
        compress_above: bytes of text above which a dump is compressed.
    """

    contents: str = ""
    compress_above: int = COMPRESS_ABOVE


class Task(Record):
    """One case to run, and the files that it writes.

    Attributes:
        case: what to run.
        program: its compiled source; of several, the first.
        log: the launch log, absolute.
        first_launch: the log number of its first launch.
        dumps: the folder for dumps, absolute.
        known: buffer → digest of raw bytes → an existing dump file that holds them.
        device_label: the device as people call it, `cuda:3`.
        references: buffer → the compiled source of the kernels that are its reference.
        shared: the folder of what the workers of this run share while it goes on, absolute; "": they share nothing.
        variants: name of a variant → its compiled sources, in the order of the case's own.
        other_programs: the case's further sources, compiled.
        storage: of its dumps.
        launch_limit_s: limit of its own launches, seconds; 0: the case's. Where they had less than half of it as CPU
            time, they go on up to the case's. Functions of the user and the kernels of its references have the case's
            always.
    """

    case: Case
    program: Program
    log: str
    first_launch: int
    dumps: str
    known: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    device_label: str = field(default="", name="place")
    references: Mapping[str, Program] = field(default_factory=dict)
    shared: str = ""
    variants: Mapping[str, tuple[Program, ...]] = field(default_factory=dict)
    other_programs: tuple[Program, ...] = ()
    storage: DumpStorage = DumpStorage()
    launch_limit_s: float = 0.0

    @property
    def programs(self) -> tuple[Program, ...]:
        """The compiled sources of the case, in the order of `Case.sources`."""
        return (self.program, *self.other_programs)

    def alone(self, *, poison: bool = True) -> Task:
        """Return the task of the case's own launches, run once, for `execution.workers.alone`.

        Args:
            poison: fill outputs with the poison, as the run did.
        """
        case = self.case.alone()
        if not poison:
            case = case.with_settings(poison="none")
        return replace(self, case=case, known={}, references={}, shared="", variants={})
