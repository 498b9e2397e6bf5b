"""Observations of a worker beside a case's dumps.

They hold unwritten elements, repeats, timing, references, the findings of tools, and errors.
The keys of their JSON form are those of `verdicts.jsonl` and results.json; fields at their defaults have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from gpuregress.foundation.records.dumps import Dump, ScheduleRun
from gpuregress.foundation.records.launch_digests import LaunchDigests
from gpuregress.gpu.accuracy import ResultAccuracy
from gpuregress.gpu.costs import Costs
from gpuregress.gpu.coverage import Coverage
from gpuregress.gpu.instruments import CheckFinding
from gpuregress.gpu.records import Record, Sparse
from gpuregress.gpu.schedules import ConflictSurvey

Determinism = Literal["bitwise", "order varies", "values vary"]


class UnwrittenElements(Record):
    """Elements of a buffer that still hold the poison after the last launch.

    Attributes:
        elements: their number.
        of: elements of the buffer.
        ranges: their index ranges, half open, ascending; the first few where there are many.
    """

    elements: int
    of: int
    ranges: tuple[tuple[int, int], ...]


class PoisonDependence(Record):
    """Written elements whose value depends on the poison.

    Attributes:
        elements: their number.
        of: elements of the buffer.
        first: index of the first one.
    """

    elements: int
    of: int
    first: int


class PoisonComparison(Record):
    """A buffer after a run under the poison and one under its complement.

    Attributes:
        unwritten: elements that hold each run's own poison; None where all were written.
        shows: written elements that differ between the runs; None where there are none.
    """

    unwritten: UnwrittenElements | None
    shows: PoisonDependence | None


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


class Timing(Sparse):
    """The samples of a timing loop.

    Attributes:
        clock: what measured them.
        warmup: runs before the first sample.
        samples_ms: elapsed time of each run of all launches.
        median_ms: of the samples.
        kernels_ms: kernel → its part of each sample.
        run: number of the loop's last run among the case's runs, counted from 1.
        sm_clock: the card's clock after the last sample, as `1980 MHz`; likewise the others, "" where not known.
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
    """One finding of compute-sanitizer; see `devices.cuda.sanitizer.SanitizerReport`.

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


class SeedRun(Record):
    """The run of a case with another seed.

    Attributes:
        seed: in place of the job's.
        fault: why the kernels failed, "" if they did not.
        dumps: buffer → its dump.
    """

    seed: int
    fault: str = ""
    dumps: Mapping[str, Dump] = field(default_factory=dict)


class InstructionChange(Record):
    """A source line whose floating-point instructions differ between two builds.

    Attributes:
        file: its name.
        line: counted from 1.
        before: instructions that only the first build has, `fma.rn.f32` or `4 fma.rn.f32`.
        after: those that only the other one has.
    """

    file: str
    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]


class VariantRun(Sparse):
    """The run of a case as another combination of its `variants` compiles it.

    Attributes:
        name: the settings in which it differs from the first combination: `fmad=off,arch=sm_80`.
        same_as: the combination that has the same PTX, so that this one was not run; "" where it was.
        fault: why the kernels failed, "" if they did not.
        problem: why it could not be run, "" if it could.
        dumps: buffer → its dump where its bytes are not the first combination's.
        instructions: source lines whose floating-point instructions are others.
    """

    name: str
    same_as: str = ""
    fault: str = ""
    problem: str = ""
    dumps: Mapping[str, Dump] = field(default_factory=dict)
    instructions: tuple[InstructionChange, ...] = ()


class TwinCause(Record):
    """A cause of differences between a case and its twin, by the elements that it explains.

    Attributes:
        name: `fma`, `fast math`, `library` or `unexplained`.
        message: in words, with its evidence.
        elements: that it explains.
        of: elements that differ.
    """

    name: str
    message: str
    elements: int
    of: int


class TwinResult(Sparse):
    """The results of a twin.

    Attributes:
        kind: `host`, `cpu` or `cuda`.
        device: for people: `cuda:0 (NVIDIA H200)`, `host (g++ 12.2.0)`.
        dumps: dumped buffer → the twin's dump.
        error: why it has no results, "" if it has.
        missing: why this machine cannot run it, "" if it can.
        causes: buffer → the causes of what differs.
    """

    kind: str
    device: str
    dumps: Mapping[str, Dump] = field(default_factory=dict)
    error: str = ""
    missing: str = ""
    causes: Mapping[str, tuple[TwinCause, ...]] = field(default_factory=dict)


class Observations(Sparse):
    """Observations of one case. The keys of all mappings but `counters` and `instructions` are buffer names.

    Attributes:
        poison: the two bytes that fill outputs before the first launch, hexadecimal.
        unwritten: elements that hold the poison after the last launch.
        partly: number of elements of which one part holds the poison and another does not.
        nan: number of elements with a NaN; None in runs of versions that did not count them.
        unchanged: dumped buffers that hold the bytes they held before the first launch.
        overwritten: filled buffers that do not hold their fill after the last launch.
        poison_twice: the comparison with a run under the other poison.
        determinism: how far the repeats agree.
        orders: the order of blocks and threads of each run, where one was chosen.
        repeat_dumps: number of a run, from 2 → the dump of its buffer where it is not the first run's.
        timing: of `timing:`.
        counters: kernel → event → number.
        instructions: kernel → PTX instructions that its threads executed in the first run; CPU device only.
        uncounted: source lines of the loops whose instructions are not in it, because they wait for other threads.
        exchanges: how lanes of a warp exchanged values with no wait between, for each kernel; CPU device only.
        references: the references' dumps, rounded to the buffer's type.
        unrounded_references: the same in float64, where rounding changed a value.
        reference_errors: why there is no reference.
        twins: the results on other devices, or on the host.
        sanitizer: of `--sanitize`.
        findings: of the dynamic checks, in the first run of the case's launches.
        unwatched: what those checks could not watch, for each kernel.
        costs: of each instruction in the first run of the case's launches; CPU device only.
        schedule: that made the dumps, "" for the usual one, and where a device has no choice.
        schedules: of `--schedules`, without the first one; None where a device has no choice.
        conflicts: the accesses that only the schedule orders, where the adversarial schedule asked for them.
        coverage: of `--coverage`: what the first run of the case's launches executed; CPU device only.
        accuracy: of the results, where it was asked for.
        variants: of `variants:`, without the first combination.
        seeds: of `repeat: {seeds: …}`, without the job's own seed.
        sticky: whether the device's context is lost.
        error: class name of the error for state `error`.
        details: further lines of that error.
        traceback: of an internal error.
        launch_digests: of the buffers after the launches of the first run, where there are several.
        host: of a cluster on which the case ran, "" without a cluster.
        lost_hosts: on which it ran before, and which were lost.
    """

    poison: str = ""
    unwritten: Mapping[str, UnwrittenElements] = field(default_factory=dict)
    partly: Mapping[str, int] = field(default_factory=dict)
    nan: Mapping[str, int] | None = None
    unchanged: tuple[str, ...] = ()
    overwritten: Mapping[str, OverwrittenInput] = field(default_factory=dict)
    poison_twice: Mapping[str, PoisonComparison] = field(default_factory=dict)
    determinism: Mapping[str, Determinism] = field(default_factory=dict)
    orders: tuple[str, ...] = ()
    repeat_dumps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    timing: Timing | None = None
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    instructions: Mapping[str, int] = field(default_factory=dict)
    uncounted: tuple[str, ...] = ()
    exchanges: tuple[str, ...] = ()
    references: Mapping[str, Dump] = field(default_factory=dict)
    unrounded_references: Mapping[str, Dump] = field(default_factory=dict)
    reference_errors: Mapping[str, str] = field(default_factory=dict)
    twins: tuple[TwinResult, ...] = ()
    sanitizer: SanitizerResult | None = None
    findings: tuple[CheckFinding, ...] = ()
    unwatched: tuple[str, ...] = ()
    coverage: Coverage | None = None
    costs: Costs | None = None
    schedule: str = ""
    schedules: tuple[ScheduleRun, ...] | None = None
    conflicts: ConflictSurvey | None = None
    accuracy: ResultAccuracy | None = None
    variants: tuple[VariantRun, ...] = ()
    seeds: tuple[SeedRun, ...] = ()
    sticky: bool = False
    error: str = ""
    details: tuple[str, ...] = ()
    traceback: str = ""
    launch_digests: LaunchDigests | None = None
    host: str = ""
    lost_hosts: tuple[str, ...] = ()
