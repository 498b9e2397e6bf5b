"""Records of a planned case, with every expression evaluated."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Literal

from gpuregress import dtypes
from gpuregress.frozen import dataclass
from gpuregress.records.fills import FillOptions
from gpuregress.records.instrumentation.instruments import Instruments
from gpuregress.records.instrumentation.schedules import FORWARD
from gpuregress.records.programs import FunctionCall, PythonKernel
from gpuregress.records.rules import CheckSetting, StatisticLimits
from gpuregress.records.serialization import Sparse
from gpuregress.records.tensors.tensor_maps import TensorMap

Dim3 = tuple[int, int, int]
TRIALS = 3
"""Runs on the device that explain a difference from the host, at most."""


@dataclass(frozen=True, slots=True)
class Fill:
    """The contents of a buffer before the first launch.

    Attributes:
        kind: a name from `inputs.FILLS`.
        options: its settings.
        seed: derived from the job's seed and the buffer's name.
        same: the buffer whose contents these are, for `same`.
    """

    kind: str
    options: FillOptions
    seed: int
    same: Buffer | None = None

    @property
    def runs_user_code(self) -> bool:
        """Tell whether a Python function of the user makes the contents."""
        origin = self.same.fill if self.same is not None else self
        return origin is not None and origin.kind == "python"


@dataclass(frozen=True, slots=True)
class Texture:
    """The sampling of a buffer that kernels take as a texture or a surface.

    Attributes:
        filter: `point` takes the nearest element, `linear` mixes its neighbours.
        address: along x, y, z: the address mode for coordinates outside.
        normalized: whether coordinates go from 0 to 1, not from 0 to the extent.
        read: `normalized_float` turns integers into 0 … 1 or -1 … 1.
        memory: `array`, or `linear` for tex1Dfetch.
        surface: whether it is a surface: then of the others only `kind` is used, which is `plain` or `layered`.
        kind: `layered`: the slowest axis counts images of their own; `cube`: six square faces, sampled by a direction;
            `cube-layered`: several such cubes.
    """

    filter: Literal["point", "linear"] = "point"
    address: tuple[str, str, str] = ("clamp", "clamp", "clamp")
    normalized: bool = False
    read: Literal["element", "normalized_float"] = "element"
    memory: Literal["array", "linear"] = "array"
    surface: bool = False
    kind: Literal["plain", "layered", "cube", "cube-layered"] = "plain"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A stretch of device memory.

    Attributes:
        name: as the job calls it.
        dtype: a name that `dtypes.parse` takes.
        shape: elements along each axis, slowest first.
        fill: None for an output, which is poisoned.
        symbol: the `__constant__` or `__device__` variable that this buffer is, if it is one.
        symbol_source: position of its source among the case's sources.
        texture: how it is read where kernels are given a texture or surface object; None: they are given a pointer.
        tensor_map: the tensor map that kernels are given; None: they are given a pointer.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    fill: Fill | None = None
    symbol: str | None = None
    texture: Texture | None = None
    symbol_source: int = 0
    tensor_map: TensorMap | None = None

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.shape) * dtypes.parse(self.dtype).size

    @property
    def is_poisoned(self) -> bool:
        """Tell whether it holds the poison before the first launch: it has neither a fill nor an initial value."""
        return self.fill is None and self.symbol is None


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a kernel.

    Attributes:
        kind: `buffer`, `scalar`, `null` or `struct`.
        buffer: the buffer's name, for `buffer`.
        dtype: the scalar's (or CUDA vector's) type, for `scalar`.
        data: the scalar's little-endian bytes in hexadecimal, for `scalar`.
        text: the scalar as the launch log writes it.
        label: the expression where it is a plain name, as `n`; "" otherwise.
        fields: the members, in order, for `struct`; laid out as C does.
        as_map: whether it is the buffer's tensor map, not its address.
        in_memory: whether the tensor map is in global memory, and its address is passed.
        untyped: whether the kernel may take the buffer's elements for others.
        offset: bytes from the buffer's beginning to the address that is passed.
    """

    kind: Literal["buffer", "scalar", "null", "struct"]
    buffer: str = ""
    dtype: str = ""
    data: str = ""
    text: str = ""
    label: str = ""
    fields: tuple[Argument, ...] = ()
    as_map: bool = False
    in_memory: bool = False
    untyped: bool = False
    offset: int = 0

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers that the kernel is given with it, those inside structs, too."""
        own = (self.buffer,) if self.kind == "buffer" else ()
        return (*own, *(name for member in self.fields for name in member.buffers))

    @property
    def maps_in_memory(self) -> tuple[str, ...]:
        """The buffers whose tensor maps it takes in global memory."""
        own = (self.buffer,) if self.in_memory else ()
        return (*own, *(name for member in self.fields for name in member.maps_in_memory))


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """The threads of a launch: blocks and threads of a block along x, y, z, and dynamic shared memory in bytes."""

    grid: Dim3
    block: Dim3
    shared: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of one kernel.

    Attributes:
        kernel: its C++ name, as `block_sum<float>`.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        shared: dynamic shared memory, bytes.
        args: in the kernel's order.
        swap: pairs of buffers that exchange their memory after this launch.
        origin: which entry of the job's `launches` it comes from.
        source: position of the kernel's source among the case's sources.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    shared: int
    args: tuple[Argument, ...]
    swap: tuple[tuple[str, str], ...] = ()
    origin: int = 0
    source: int = 0

    @property
    def shape(self) -> LaunchShape:
        """Its threads."""
        return LaunchShape(self.grid, self.block, self.shared)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers that it takes or exchanges."""
        pending, names = list(self.args), dict[str, None]()
        while pending:
            argument = pending.pop()
            names |= {argument.buffer: None} if argument.kind == "buffer" else {}
            pending += argument.fields
        return (*names, *(name for pair in self.swap for name in pair))


@dataclass(frozen=True, slots=True)
class Source:
    """A kernel source and the options of its compilation.

    Attributes:
        path: absolute; `.cu`, `.ptx`, `.cubin`, or `.py`.
        options: handed to NVRTC.
        include: absolute folders.
        defines: macro → its text.
        contract: `pinned` or `native`.
        arch: `sm_90`.
        kernels: the C++ names that must be there.
        symbols: the variables that must be there.
        digest: of its text and of all that it includes when it was planned; "": it may be what it is.
        harness: C++ text behind the source that calls a device function; then `kernels` has that function's name alone.
        card: the architecture whose tensor cores the CPU device emulates, `sm_80`; "": its own.
        python: the function of a `.py` that becomes the program; None for other sources.
        host_code: `blank`: NVRTC gets the source and the project's headers without host code; `keep`: as they are.
    """

    path: str
    options: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    contract: Literal["pinned", "native"] = "pinned"
    arch: str = "sm_90"
    kernels: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    digest: str = ""
    harness: str = ""
    card: str = ""
    python: PythonKernel | None = None
    host_code: Literal["blank", "keep"] = "blank"

    @property
    def name(self) -> str:
        """Its file's name, with the function behind it where that is the source: `softmax.py:softmax_kernel`."""
        file = os.path.basename(self.path)  # noqa: PTH119 - text in, text out
        return file if self.python is None else f"{file}:{self.python.function}"


@dataclass(frozen=True, slots=True)
class Outliers:
    """A budget of elements that may miss the first bound, and the second bound that they must keep."""

    fraction: float
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class VerifyTolerance:
    """The tolerance of a rule as a `verify` function gets it; 0 where the rule does not give it.

    Attributes:
        rtol: relative.
        atol: absolute.
        ulp: steps between floats of the dtype.
    """

    rtol: float = 0.0
    atol: float = 0.0
    ulp: int = 0


@dataclass(frozen=True, slots=True)
class Rule:
    """A comparison rule of a buffer; all defaults: every bit equal, in order.

    Attributes:
        rtol: |actual - baseline| <= atol + rtol * |baseline|; None: not given.
        atol: see rtol.
        ulp: steps between floats of the dtype; None: not given.
        nan: whether a NaN equals a NaN.
        signed_zero: whether -0 is 0.
        outliers: a budget for elements that miss the bound.
        metric: whole-buffer metric (`rms`, `max`, `mean`, `l2`) → its limit.
        order: `any` compares the values as a multiset.
        key: a record's columns that find its partner.
        statistics: limits of statistical tests, in place of a bound of each element.
        verify: `/abs/module.py:function`, the user's own comparison, in place of all this; the rule supplies its
            tolerance.
    """

    rtol: float | None = None
    atol: float | None = None
    ulp: int | None = None
    nan: Literal["equal", "never"] = "equal"
    signed_zero: Literal["distinct", "equal"] = "distinct"
    outliers: Outliers | None = None
    metric: Mapping[str, float] = field(default_factory=dict)
    order: Literal["indexed", "any"] = "indexed"
    key: tuple[str, ...] = ()
    statistics: StatisticLimits = field(default=StatisticLimits())
    verify: str | None = None

    @property
    def is_exact(self) -> bool:
        """Tell whether only identical bits, in order, pass."""
        return self == Rule()

    @property
    def tolerance(self) -> VerifyTolerance:
        """The tolerance as a `verify` function gets it."""
        return VerifyTolerance(self.rtol or 0.0, self.atol or 0.0, self.ulp or 0)


@dataclass(frozen=True, slots=True)
class Check:
    """A property that a buffer must have by itself: a name from `compare.checks` and its setting."""

    name: str
    setting: CheckSetting = None


DEFAULT_HEAP = 8 << 20
"""Bytes of the heap of kernels where a job says nothing, as CUDA's own (`cudaLimitMallocHeapSize`)."""


@dataclass(frozen=True, slots=True)
class Limits:
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


@dataclass(frozen=True, slots=True)
class KnownFailing(Sparse):
    """A failure that is known and tolerated for a while.

    Attributes:
        until: the day from which on it fails again, ISO 8601.
        why: the reason.
        status: of a verdict: how the case failed; "" otherwise.
    """

    until: str
    why: str
    status: str = ""


@dataclass(frozen=True, slots=True)
class TimingLoop(Sparse):
    """Repetitions of a case's launches: `warmup` untimed ones, then `samples` timed ones.

    `limit` is the ratio to the accepted time above which a case fails; None: none.
    """

    warmup: int
    samples: int
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class ResourceLimits(Sparse):
    """Upper bounds on a compiled kernel: registers of a thread, bytes spilt to local memory; None: unbounded."""

    registers: int | None = None
    spills: int | None = None


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class ReferenceKernel:
    """A reference computed by trusted kernels.

    Attributes:
        source: of the kernels.
        launches: on freshly filled buffers.
        buffer: the one that holds the reference then; "": the one that is compared.
    """

    source: Source
    launches: tuple[Launch, ...]
    buffer: str = ""


@dataclass(frozen=True, slots=True)
class Seeded:
    """What another seed changes in a case.

    Attributes:
        seed: in place of the job's.
        fills: buffer → its fill, for those that it changes.
        launches: with other arguments; empty where they are the case's own.
    """

    seed: int
    fills: Mapping[str, Fill]
    launches: tuple[Launch, ...] = ()


@dataclass(frozen=True, slots=True)
class Variants:
    """Other combinations of compiler settings in which a case is built and run.

    Attributes:
        first: the combination of the case itself, `fmad=on,fast_math=off`.
        sources: the settings that differ from it, `fast_math=on` → the case's sources with them.
        must_agree: whether a result that breaks its buffer's rule fails the case.
    """

    first: str
    sources: Mapping[str, tuple[Source, ...]]
    must_agree: bool = False


@dataclass(frozen=True, slots=True)
class Case:
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
