"""Record of a case: its settings, and all that decides what runs and what must come out."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from msgspec import field

from gpuregress.foundation.records.dumps import Dump
from gpuregress.foundation.records.launches import Buffer, Fill, InputFile, Launch, PythonFunction
from gpuregress.foundation.records.programs import PROGRAM_LAUNCHES, FunctionCall, Source, WholeProgram
from gpuregress.foundation.records.rules import Check, Rule
from gpuregress.foundation.wording import joined
from gpuregress.gpu.architectures import DEFAULT_HEAP
from gpuregress.gpu.instruments import Instruments
from gpuregress.gpu.records import Record, Sparse, replace
from gpuregress.gpu.schedules import FORWARD


class Limits(Record):
    """The resources that a case may use.

    Attributes:
        timeout: seconds.
        memory: bytes of device memory; 0: all of the device.
        timeouts: of one kernel in a run, after which its other cases are skipped; 0: neither job nor project say.
        heap: bytes that kernels may allocate themselves.
        instructions: the ratio to the accepted count above which the case fails on the CPU device; None: none.
        time: the ratio to the accepted time above which it fails on a GPU if it is timed; None: none.
    """

    timeout: float = 30.0
    memory: int = 0
    timeouts: int = 0
    heap: int = DEFAULT_HEAP
    instructions: float | None = None
    time: float | None = None


class KnownFailing(Sparse):
    """A failure that is known and tolerated for a while; any other failure of the case counts.

    Attributes:
        until: the day in UTC from which on it fails again, ISO 8601.
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
        text = self.status
        if self.fault != self.status:
            text = joined(": ", text, self.fault)
        return joined(" in ", joined(" of ", text, self.kernel), self.buffer)


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
        overridden: parameters with a value of `--set` that its job does not have; such a case has no baseline.
        is_partner: whether it is run only because overridden cases are compared with it.
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
    overridden: tuple[str, ...] = ()
    is_partner: bool | None = None

    @property
    def main_schedule(self) -> str:
        """The schedule that makes the dumps."""
        return next(iter(self.schedules), FORWARD)


# --- record of a planned case: a job with one choice of its parameters ------------------------------------------------


TRIALS = 3
"""Runs on the device that explain a difference from the host, at most."""
SWITCH_TRIALS = 200
"""Runs under other schedules that explain a difference between two schedules, at most."""


class ReferenceKernel(Record):
    """A reference computed by trusted kernels.

    Attributes:
        source: of the kernels.
        launches: on freshly filled buffers.
        buffer: the one that holds the reference then; "": the one that is compared.
    """

    source: Source
    launches: tuple[Launch, ...]
    buffer: str = ""


class Seeded(Record):
    """What another seed changes in a case.

    Attributes:
        seed: in place of the job's.
        fills: buffer → its fill, for those that it changes.
        launches: with other arguments; empty where they are the case's own.
    """

    seed: int
    fills: Mapping[str, Fill]
    launches: tuple[Launch, ...] = ()


class Variants(Record):
    """Other combinations of compiler settings in which a case is built and run.

    Attributes:
        first: the combination of the case itself, `fmad=on,fast_math=off`.
        sources: the settings that differ from it, `fast_math=on` → the case's sources with them.
        must_agree: whether a result that breaks its buffer's rule fails the case.
    """

    first: str
    sources: Mapping[str, tuple[Source, ...]]
    must_agree: bool = False


def independent_of(names: Collection[str], parameters: Mapping[str, object]) -> tuple[str, ...]:
    """Write the parameters without some of them: `("n=1000", "real='float'")`."""
    return tuple(f"{name}={value!r}" for name, value in parameters.items() if name not in names)


class Case(Record):
    """A job with one choice of its parameters: all that a worker needs, as plain numbers and strings.

    Attributes:
        job: the job's name.
        name: `reduce/n=1000,tile=128`, or the job's name where it has no parameters; also its folder.
        path: the job file, absolute.
        parameters: name → number, boolean or text.
        source: what to compile; of several sources, the first.
        revision: the label that its dumps carry.
        source_digest: of the source and all it includes.
        seed: the job's.
        buffers: name → buffer, in the job's order.
        launches: in order, repeats written out.
        dump: the buffers to dump, in order.
        compare: buffer → rule, for each dumped buffer.
        checks: buffer → checks.
        status: the buffer in which the kernel reports its own errors.
        reference: buffer → `/abs/module.py:function`.
        reference_kernels: buffer → trusted kernels that compute it, in place of a function.
        reference_rules: buffer → the rule of its reference, where it is not the buffer's own.
        reference_files: buffer → the absolute path of a file that holds its reference; `x.npz:name` for one array.
        improves: buffers whose accuracy is compared with the accepted revision's.
        repeat: how often to run the case, for determinism.
        limits: time and memory.
        devices: where it can run: `cpu`, `cuda`.
        tags: for `--tag`.
        owners: addresses that get a mail of the job's news.
        expect_fault: the fault that makes the case pass.
        expect_kernel: the kernel that it must be in; "": any.
        expect_launch: the entry of the job's `launches` that it must be in, from 0; None: any.
        status_codes: code in decimal → the job's name for it.
        variants: other builds of it, which are compared with its own.
        seeds: further seeds with which it is run.
        settings: optional settings.
        other_sources: further sources, each a program of its own.
        function: the device function that its one launch calls; None: its launches are the job's own.
        program: the whole program that it runs; its buffers are known when that has run. None: it has launches.
    """

    job: str
    name: str
    path: str
    parameters: Mapping[str, bool | int | float | str]
    source: Source
    revision: str
    source_digest: str
    seed: int
    buffers: Mapping[str, Buffer]
    launches: tuple[Launch, ...]
    dump: tuple[str, ...]
    compare: Mapping[str, Rule]
    checks: Mapping[str, tuple[Check, ...]] = field(default_factory=dict)
    status: str | None = None
    reference: Mapping[str, str] = field(default_factory=dict)
    repeat: int = 1
    limits: Limits = field(default_factory=Limits)
    devices: tuple[str, ...] = ("cpu", "cuda")
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    expect_fault: str | None = None
    settings: CaseSettings = field(default_factory=CaseSettings)
    reference_kernels: Mapping[str, ReferenceKernel] = field(default_factory=dict)
    reference_rules: Mapping[str, Rule] = field(default_factory=dict)
    reference_files: Mapping[str, str] = field(default_factory=dict)
    improves: tuple[str, ...] = ()
    expect_kernel: str = ""
    expect_launch: int | None = None
    status_codes: Mapping[str, str] = field(default_factory=dict)
    variants: Variants | None = None
    seeds: tuple[Seeded, ...] = ()
    other_sources: tuple[Source, ...] = ()
    function: FunctionCall | None = None
    program: WholeProgram | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources that the launches take kernels from; `Launch.source` is a position in them."""
        return (self.source, *self.other_sources)

    @property
    def source_names(self) -> tuple[str, ...]:
        """Name each source by its file, or by its path from the job's folder where two files share a name."""
        names = [source.name for source in self.sources]
        folder = os.path.dirname(self.path)  # noqa: PTH120 - the paths are text
        unique = []
        for source in self.sources:
            is_shared = names.count(source.name) > 1
            unique.append(os.path.relpath(source.path, folder) if is_shared else source.name)
        return tuple(unique)

    @property
    def kernel_labels(self) -> dict[tuple[int, str], str]:
        """Map a source's position and a kernel to `step`, or to `step (two.cu)` where two sources launch a `step`."""
        labels = {(launch.source, launch.kernel): launch.kernel for launch in self.launches}
        names = list(labels.values())
        for source, kernel in labels:
            if names.count(kernel) > 1:
                labels[source, kernel] = f"{kernel} ({self.source_names[source]})"
        return labels

    @property
    def references(self) -> tuple[str, ...]:
        """List the buffers that have a reference of any kind."""
        return tuple(dict.fromkeys((*self.reference, *self.reference_files, *self.reference_kernels)))

    @property
    def fills(self) -> list[Fill]:
        """List the fills of its buffers, also those of its further seeds."""
        fills = [buffer.fill for buffer in self.buffers.values() if buffer.fill is not None]
        for seeded in self.seeds:
            fills += seeded.fills.values()
        return fills

    @property
    def user_functions(self) -> tuple[str, ...]:
        """List the functions of the user that make its inputs and references, `/abs/module.py:function`, each once."""
        functions = [fill.options.function for fill in self.fills if isinstance(fill.options, PythonFunction)]
        return tuple(dict.fromkeys((*functions, *self.reference.values())))

    @property
    def data_files(self) -> tuple[str, ...]:
        """List the files that make its inputs and references, `/abs/x.bin` or `/abs/x.npz:name`."""
        files = [fill.options.path for fill in self.fills if isinstance(fill.options, InputFile)]
        return (*files, *self.reference_files.values())

    @property
    def own_buffers(self) -> frozenset[str]:
        """Collect the buffers that its own launches can use: arguments, partners of a swap, variables."""
        names = {name for name, buffer in self.buffers.items() if buffer.symbol is not None}
        for launch in self.launches:
            names.update(launch.buffers)
        return frozenset(names)

    @property
    def initial_buffers(self) -> dict[str, Buffer]:
        """Map each name to the buffer that its memory was before the first launch: launches may exchange buffers."""
        names = {name: name for name in self.buffers}
        for launch in self.launches:
            for first, second in launch.swap:
                names[first], names[second] = names[second], names[first]
        return {name: self.buffers[before] for name, before in names.items()}

    def with_dumps(self, dumps: Iterable[Dump]) -> Case:
        """Return the case with the buffers that its program had; a case with launches as it is."""
        if self.program is None:
            return self
        buffers, rules = {}, {}
        for dump in dumps:
            buffers[dump.buffer] = Buffer(dump.buffer, dump.dtype, dump.shape)
            rules[dump.buffer] = self.program.rule_of(dump.buffer, dump.dtype)
        return replace(self, buffers=buffers, dump=tuple(buffers), compare=rules)

    def with_seed(self, seeded: Seeded) -> Case:
        """Return the case as it is run with another seed, once."""
        buffers = dict(self.buffers)
        for name, buffer in self.buffers.items():
            if name in seeded.fills:
                buffers[name] = replace(buffer, fill=seeded.fills[name])
        launches = seeded.launches or self.launches
        return replace(self, seed=seeded.seed, buffers=buffers, launches=launches, seeds=(), repeat=1)

    def with_settings(self, **changes: Any) -> Case:
        """Return the case with other values of some of its optional settings."""
        return replace(self, settings=replace(self.settings, **changes))

    def alone(self) -> Case:
        """Return the case as it runs once by itself, as under a debugger.

        Left out are its further runs, all that judges its results by other runs, and what is watched, counted or kept
        beside them.
        """
        case = self.with_settings(
            timing=None,
            poison=None,
            sanitize=None,
            agree=(),
            launch_digests="off",
            dump_every_launch=None,
            twins=None,
            known_failing=None,
            retries=None,
            instruments=Instruments(),
            cost={},
            schedules=(),
        )
        return replace(
            case,
            repeat=1,
            reference={},
            reference_files={},
            reference_kernels={},
            reference_rules={},
            improves=(),
            variants=None,
            seeds=(),
        )

    def writer_of(self, buffer: str) -> Launch | None:
        """Return the last launch that takes the buffer as an argument."""
        taking = (one for one in reversed(self.launches) if any(item.buffer == buffer for item in one.args))
        return next(taking, None)

    @property
    def agreement_group(self) -> tuple[str, ...] | None:
        """Return what this case has in common with those whose results must agree with its own; None without any."""
        if not self.settings.agree:
            return None
        return (self.path, self.job, *independent_of(self.settings.agree, self.parameters))

    @property
    def launch_numbers(self) -> int:
        """Count the log numbers that it may take at most, with all runs that it may be asked for or explained by."""
        if self.program is not None:
            return PROGRAM_LAUNCHES * (self.repeat + len(self.settings.schedules[1:]))
        runs = self.repeat + len(self.seeds)
        if self.settings.poison == "twice":
            runs += 1
        if self.settings.timing is not None:
            runs += self.settings.timing.warmup + self.settings.timing.samples
        if self.variants is not None:
            runs += len(self.variants.sources)
        for twin in self.settings.twins or ():
            runs += TRIALS if twin == "host" else 1
        if self.settings.instruments.accuracy:
            runs += 1  # for the source lines at which errors arise
        if self.settings.schedules:
            runs += len(self.settings.schedules[1:]) + 1 + SWITCH_TRIALS  # one of them watches all accesses
        return len(self.launches) * runs + sum(len(kernel.launches) for kernel in self.reference_kernels.values())
