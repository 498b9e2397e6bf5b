"""Records of the settings of a case: its limits, and what else is examined than its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from gpuregress.gpu.architectures import DEFAULT_HEAP
from gpuregress.gpu.instruments import Instruments
from gpuregress.gpu.records import Record, Sparse
from gpuregress.gpu.schedules import FORWARD


class Limits(Record):
    """The resources that a case may use.

    Attributes:
        timeout: seconds.
        memory: bytes of device memory; 0: all of the device.
        timeouts: of one kernel in a run, after which its other cases are skipped; 0: neither job nor project say.
        heap: bytes that kernels may allocate themselves.
    """

    timeout: float = 30.0
    memory: int = 0
    timeouts: int = 0
    heap: int = DEFAULT_HEAP


class KnownFailing(Sparse):
    """A failure that is known and tolerated for a while; any other failure of the case counts.

    Attributes:
        until: the day from which on it fails again, ISO 8601.
        why: the reason.
        status: `differ`, `fault`, `timeout` or `error`, of source or a function that does not compile or run; of a
            verdict: the case's.
        fault: one of FAULT_KINDS, "" for any.
        kernel: the kernel that faults or is not finished in time, "" for any.
        buffer: the only buffer that differs, "" for any.
    """

    until: str
    why: str
    status: str = "differ"
    fault: str = ""
    kernel: str = ""
    buffer: str = ""

    @property
    def failure(self) -> str:
        """The known failure in words: `fault: out-of-bounds of scale`, `differ in out`."""
        of = f" of {self.kernel}" if self.kernel else ""
        where = f" in {self.buffer}" if self.buffer else ""
        kind = f": {self.fault}" if self.fault not in ("", self.status) else ""
        return f"{self.status}{kind}{of}{where}"


class TimingLoop(Sparse):
    """Repetitions of a case's launches: `warmup` untimed ones, then `samples` timed ones.

    `limit` is the ratio to the accepted time above which a case fails; None: none.
    """

    warmup: int
    samples: int
    limit: float | None = None


class ResourceLimits(Sparse):
    """Upper bounds on a compiled kernel: registers of a thread, bytes spilt to local memory; None: unbounded."""

    registers: int | None = None
    spills: int | None = None


class CaseSettings(Sparse):
    """Optional settings of a case, from its job or the command line. Those that are None have no key in JSON.

    Attributes:
        arch: the architecture that the job itself names; None: a GPU's own is compiled for.
        inputs: `unchanged`: filled buffers that are not results must still hold their fill.
        timing: time the launches.
        resources: bounds that the compiled kernels must keep.
        poison: `twice`: run once more with outputs filled with the complement; `none`: leave outputs as they are.
        sanitize: a tool of compute-sanitizer that examines the case.
        infeasible: `skip`: the case is skipped where the compiler or the device refuses it.
        refused: why no device can launch it, as far as the job alone tells.
        agree: parameters on which its results must not depend.
        launch_digests: `off`: keep no digests of the buffers after each launch.
        dump_every_launch: dump the buffers after each launch.
        twins: the devices whose results this one's are compared with, `host` among them; the command line takes out
            the run's own.
        known_failing: its failure is known.
        retries: how often it is run again after trouble with the device.
        on: the devices that the job names, each of which a night runs it on; none where it names none.
        cost: measure → the ratio to the accepted cost above which the case fails; see `MEASURES`.
        instruments: what the CPU device watches and counts besides the results.
        schedules: what it runs under; the first one makes the dumps, and the results of all are compared. None: the
            usual one.
    """

    arch: str | None = None
    inputs: Literal["unchanged"] | None = None
    timing: TimingLoop | None = None
    resources: ResourceLimits | None = None
    poison: str | None = None
    sanitize: str | None = None
    infeasible: Literal["skip"] | None = None
    refused: str | None = None
    agree: tuple[str, ...] = ()
    launch_digests: Literal["off"] | None = None
    dump_every_launch: bool | None = None
    twins: tuple[str, ...] | None = None
    known_failing: KnownFailing | None = None
    retries: int | None = None
    on: tuple[str, ...] = ()
    instruments: Instruments = Instruments()
    cost: Mapping[str, float] = field(default_factory=dict)
    schedules: tuple[str, ...] = ()

    @property
    def main_schedule(self) -> str:
        """The schedule that makes the dumps."""
        return next(iter(self.schedules), FORWARD)
