"""Record of a planned case: a job with one choice of its parameters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from msgspec import field

from gpuregress.foundation.records.cases.buffers import Buffer, Fill
from gpuregress.foundation.records.cases.launches import Launch
from gpuregress.foundation.records.cases.settings import CaseSettings, Limits
from gpuregress.foundation.records.fills import PythonFunction
from gpuregress.foundation.records.programs import FunctionCall, Source
from gpuregress.foundation.records.rules import Check, Rule
from gpuregress.gpu.instruments import Instruments
from gpuregress.gpu.records import Record, replace

TRIALS = 3
"""Runs on the device that explain a difference from the host, at most."""


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
        expect_fault: the fault that makes the case pass.
        expect_kernel: the kernel that it must be in; "": any.
        expect_launch: the entry of the job's `launches` that it must be in, from 0; None: any.
        status_codes: code in decimal → the job's name for it.
        variants: other builds of it, which are compared with its own.
        seeds: further seeds with which it is run.
        settings: optional settings.
        other_sources: further sources, each a program of its own.
        function: the device function that its one launch calls; None: its launches are the job's own.
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

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources that the launches take kernels from; `Launch.source` is a position in them."""
        return (self.source, *self.other_sources)

    @property
    def source_names(self) -> tuple[str, ...]:
        """Name each source by its file, or by its path from the job's folder where two files share a name."""
        paths = [source.path for source in self.sources]
        names = [source.name for source in self.sources]
        folder = os.path.dirname(self.path)  # noqa: PTH120 - as above
        return tuple(
            name if names.count(name) == 1 else os.path.relpath(path, folder)
            for path, name in zip(paths, names, strict=True)
        )

    @property
    def kernel_labels(self) -> dict[tuple[int, str], str]:
        """Map a source's position and a kernel to `step`, or to `step (two.cu)` where two sources launch a `step`."""
        kernels = dict.fromkeys((launch.source, launch.kernel) for launch in self.launches)
        names, of = [kernel for _, kernel in kernels], self.source_names
        return {
            (source, kernel): kernel if names.count(kernel) == 1 else f"{kernel} ({of[source]})"
            for source, kernel in kernels
        }

    @property
    def references(self) -> tuple[str, ...]:
        """List the buffers that have a reference of any kind."""
        return tuple(dict.fromkeys((*self.reference, *self.reference_files, *self.reference_kernels)))

    @property
    def user_functions(self) -> tuple[str, ...]:
        """List the functions of the user that make its inputs and references, `/abs/module.py:function`, each once."""
        fills = (buffer.fill.options for buffer in self.buffers.values() if buffer.fill is not None)
        made = (options.function for options in fills if isinstance(options, PythonFunction))
        return tuple(dict.fromkeys((*made, *self.reference.values())))

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

    def with_seed(self, seeded: Seeded) -> Case:
        """Return the case as it is run with another seed, once."""
        buffers = {
            name: replace(buffer, fill=seeded.fills[name]) if name in seeded.fills else buffer
            for name, buffer in self.buffers.items()
        }
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
        others = (f"{name}={value!r}" for name, value in self.parameters.items() if name not in self.settings.agree)
        return (self.path, self.job, *others)

    @property
    def launch_numbers(self) -> int:
        """Count the log numbers that it may take, with its repeats, samples, references and twins."""
        timing = self.settings.timing
        runs = self.repeat + (self.settings.poison == "twice")
        runs += timing.warmup + timing.samples if timing else 0
        runs += (len(self.variants.sources) if self.variants else 0) + len(self.seeds)
        twins = self.settings.twins or ()
        runs += sum(TRIALS if twin == "host" else 1 for twin in twins)
        return len(self.launches) * runs + sum(len(kernel.launches) for kernel in self.reference_kernels.values())
