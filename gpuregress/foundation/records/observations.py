"""Observations of a worker beside a case's dumps.

They hold what was written, the further runs, timing, the reports of instruments and tools, and errors.
Fields at their defaults have no key in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from gpuregress.foundation.records.dumps import LaunchDigests
from gpuregress.foundation.records.further_runs import (
    CLASSES,
    Axis,
    Determinism,
    FurtherRun,
    PoisonComparison,
    UnwrittenElements,
)
from gpuregress.gpu.instruments import CheckFinding, Costs, Coverage, ResultAccuracy
from gpuregress.gpu.records import Record, Sparse
from gpuregress.gpu.schedules import ConflictSurvey


class OverwrittenInput(Record):
    """A filled buffer that the launches changed, bit for bit and without padding.

    Attributes:
        elements: changed elements.
        of: elements of the buffer.
        first: index of the first changed one.
        expected: its bytes before the first launch, hexadecimal; `was` in JSON.
        actual: its bytes after the last launch; `now` in JSON.
    """

    elements: int
    of: int
    first: int
    expected: str = field(name="was")
    actual: str = field(name="now")


class WriteSurvey(Sparse):
    """What the launches of the first run wrote, buffer by buffer.

    Attributes:
        poison: the two bytes that fill outputs before the first launch, hexadecimal.
        unwritten: elements that hold the poison after the last launch.
        partly: number of elements of which one part holds the poison and another does not.
        nan: number of elements with a NaN.
        unchanged: dumped buffers that hold the bytes they held before the first launch.
        overwritten: filled buffers that do not hold their fill after the last launch.
    """

    poison: str = ""
    unwritten: Mapping[str, UnwrittenElements] = field(default_factory=dict)
    partly: Mapping[str, int] = field(default_factory=dict)
    nan: Mapping[str, int] = field(default_factory=dict)
    unchanged: tuple[str, ...] = ()
    overwritten: Mapping[str, OverwrittenInput] = field(default_factory=dict)


class InstrumentReports(Sparse):
    """What the instruments of a device report of a case's launches; most of them only the CPU device has.

    Attributes:
        counters: kernel → event → number.
        instructions: kernel → PTX instructions that its threads executed in the first run.
        uncounted: source lines of the loops whose instructions are not in it, because they wait for other threads.
        exchanges: how lanes of a warp exchanged values with no wait between, for each kernel.
        findings: of the dynamic checks.
        unwatched: what those checks could not watch, for each kernel.
        coverage: what the first run of the case's launches executed.
        costs: of each instruction in the first run of the case's launches.
        conflicts: the accesses that only the schedule orders, where the adversarial schedule asked for them.
        accuracy: of the results, beside higher precision.
    """

    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    instructions: Mapping[str, int] = field(default_factory=dict)
    uncounted: tuple[str, ...] = ()
    exchanges: tuple[str, ...] = ()
    findings: tuple[CheckFinding, ...] = ()
    unwatched: tuple[str, ...] = ()
    coverage: Coverage | None = None
    costs: Costs | None = None
    conflicts: ConflictSurvey | None = None
    accuracy: ResultAccuracy | None = None


class Timing(Sparse):
    """The samples of a timing loop.

    Attributes:
        clock: what measured them.
        warmup: runs before the first sample.
        samples_ms: elapsed time of each run of all launches.
        median_ms: of the samples.
        kernels_ms: kernel → its part of each sample.
        run: number of the loop's last run among the case's runs, counted from 1.
        sm_clock: the GPU's clock after the last sample, as `1980 MHz`; likewise the others, "" where not known.
    """

    clock: str
    warmup: int
    samples_ms: tuple[float, ...]
    median_ms: float
    kernels_ms: Mapping[str, tuple[float, ...]]
    run: int
    sm_clock: str = ""
    memory_clock: str = ""
    temperature: str = ""
    throttle: str = ""


class SanitizerFinding(Record):
    """One finding of compute-sanitizer; see `SanitizerReport` of `execution.workers.sanitize`.

    Attributes:
        message: its first line.
        location: `saxpy.cu:12`, "" if unknown.
        thread: `thread (0,0,0) of block (3,0,0)`, "" if unknown.
        details: further lines.
        repeated: number of equal findings at the same location.
        kind: one of FAULT_KINDS, "" for a warning.
        text: all of it in one line.
    """

    message: str
    location: str = field(name="place")
    thread: str
    details: tuple[str, ...]
    repeated: int
    kind: str
    text: str


class SanitizerResult(Record):
    """The pass of a case under compute-sanitizer.

    Attributes:
        tool: `memcheck` and the like.
        problem: why the tool could not run, "" if it could.
        findings: in the order of the report.
    """

    tool: str
    problem: str
    findings: tuple[SanitizerFinding, ...]


class Observations(Sparse):
    """Observations of one case.

    Attributes:
        writes: what the first run wrote.
        order: of blocks and threads in the first run, where one was chosen.
        schedule: that made the dumps, "" for the usual one, and where a device has no choice.
        runs: the further runs, in their order.
        timing: of `timing:`.
        instruments: what they report.
        sanitizer: of `--sanitize`.
        sticky: whether the device's context is lost.
        error: class name of the error for state `error`.
        details: further lines of that error.
        traceback: of an internal error.
        launch_digests: of the buffers after the launches of the first run, where there are several.
        host: of a cluster on which the case ran, "" without a cluster.
        lost_hosts: on which it ran before, and which were lost.
        refused: what a whole program asked for and a GPU refuses, too: launches and images.
    """

    writes: WriteSurvey = WriteSurvey()
    order: str = ""
    schedule: str = ""
    runs: tuple[FurtherRun, ...] = ()
    timing: Timing | None = None
    instruments: InstrumentReports = InstrumentReports()
    sanitizer: SanitizerResult | None = None
    sticky: bool = False
    error: str = ""
    details: tuple[str, ...] = ()
    traceback: str = ""
    launch_digests: LaunchDigests | None = None
    host: str = ""
    lost_hosts: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def along(self, axis: Axis) -> tuple[FurtherRun, ...]:
        """The further runs that differ in one respect."""
        return tuple(run for run in self.runs if run.axis == axis)

    @property
    def reference(self) -> FurtherRun:
        """The run of the case's references; an empty one where it has none."""
        return next(iter(self.along("reference")), FurtherRun("reference", ""))

    @property
    def orders(self) -> tuple[str, ...]:
        """The order of blocks and threads of each run, where one was chosen."""
        labels = (self.order, *(run.facts.label for run in self.along("repeat")))
        return tuple(label for label in labels if label)

    @property
    def determinism(self) -> dict[str, Determinism]:
        """How far the repeats agree: buffer → the worst class of its repeats."""
        worst: dict[str, Determinism] = {}
        for run in self.along("repeat"):
            for buffer, found in run.facts.determinism.items():
                worst[buffer] = max(worst.get(buffer, found), found, key=CLASSES.index)
        return worst

    @property
    def poisons(self) -> Mapping[str, PoisonComparison]:
        """Buffer → its comparison with a run under the other poison."""
        return next((run.facts.poisons for run in self.along("poison")), {})
