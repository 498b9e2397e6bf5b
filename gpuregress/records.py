"""What travels between the rooms: frozen, free of I/O, and JSON on the wire.

`to_json` and `from_json` turn any record into plain JSON and back, so a case can go to a worker or another host.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeVar, Union, cast

Dim3 = tuple[int, int, int]
Word = Literal["pass", "differ", "new", "fault", "timeout", "error", "skip"]
WORDS: tuple[Word, ...] = ("pass", "differ", "new", "fault", "timeout", "error", "skip")

FaultKind = str
FAULT_KINDS: dict[str, str] = {
    "out-of-bounds": "an access outside every buffer, or past the end of one",
    "misaligned": "an access whose address is not a multiple of its size",
    "assert": "a device-side assert() failed",
    "trap": "the kernel executed a trap",
    "status": "the kernel's status buffer is not all zero",
    "deadlock": "no thread can go on: a barrier or warp operation that not all threads reach",
    "illegal-instruction": "the device met an instruction that is not one",
    "stack-overflow": "calls or local memory went over the stack",
    "launch": "the launch itself was refused",
    "timeout": "the kernel was killed at its time limit",
    "crash": "the worker process died",
    "illegal-access": "the GPU reports an illegal address and no more",
    "red-zone": "the bytes before or after a buffer were written",
    "race": "two threads touched one address without a barrier between",
    "uninitialized": "global memory was read that nobody had written",
}


# --- what to run ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fill:
    """How a buffer is filled before the first launch.

    Attributes:
        kind: a name from `inputs.FILLS`.
        options: its settings: plain numbers, strings (absolute paths) and lists.
        seed: derived from the job's seed and the buffer's name.
    """

    kind: str
    options: Mapping[str, Any]
    seed: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """A stretch of device memory.

    Attributes:
        name: as the job calls it.
        dtype: a name that `dtypes.parse` takes.
        shape: elements along each axis, slowest first.
        fill: None for an output, which is poisoned.
        symbol: the `__constant__` or `__device__` variable that this buffer is, if it is one.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    fill: Fill | None = None
    symbol: str | None = None


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
    """

    kind: Literal["buffer", "scalar", "null", "struct"]
    buffer: str = ""
    dtype: str = ""
    data: str = ""
    text: str = ""
    label: str = ""
    fields: tuple[Argument, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of one kernel, every number worked out.

    Attributes:
        kernel: its C++ name, as `block_sum<float>`.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        shared: dynamic shared memory, bytes.
        args: in the kernel's order.
        swap: pairs of buffers that exchange their memory after this launch.
        origin: which entry of the job's `launches` it comes from.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    shared: int
    args: tuple[Argument, ...]
    swap: tuple[tuple[str, str], ...] = ()
    origin: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A kernel source and how to compile it.

    Attributes:
        path: absolute; `.cu`, `.ptx` or `.cubin`.
        options: handed to NVRTC.
        include: absolute folders.
        defines: macro → its text.
        contract: `pinned` or `native`.
        arch: `sm_90`.
        kernels: the C++ names that must be there.
        symbols: the variables that must be there.
    """

    path: str
    options: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    contract: Literal["pinned", "native"] = "pinned"
    arch: str = "sm_90"
    kernels: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outliers:
    """So many elements may miss the first bound, none this second one."""

    fraction: float
    rtol: float = 0.0
    atol: float = 0.0


@dataclass(frozen=True, slots=True)
class Rule:
    """What "the same" means for a buffer; all defaults: every bit, in order.

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
        statistics: statistic → its limit, for results random by design.
        verify: `/abs/module.py:function`, the user's own comparison, in place of all this.
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
    statistics: Mapping[str, Any] = field(default_factory=dict)
    verify: str | None = None

    @property
    def is_exact(self) -> bool:
        """Whether only identical bits, in order, pass."""
        return self == Rule()


@dataclass(frozen=True, slots=True)
class Check:
    """A property that a buffer must have by itself: a name from `compare.checks` and its setting."""

    name: str
    setting: Any = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a case may use: seconds, and bytes of device memory (0: what the device has)."""

    timeout: float = 30.0
    memory: int = 0


@dataclass(frozen=True, slots=True)
class ReferenceKernel:
    """A gold standard that is computed by kernels: their source, and their launches on freshly filled buffers."""

    source: Source
    launches: tuple[Launch, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A job with one choice of its parameters: all that a worker needs, as plain numbers and strings.

    Attributes:
        job: the job's name.
        name: `reduce/n=1000,tile=128`, or the job's name where it has no parameters; also its folder.
        path: the job file, absolute.
        parameters: name → number.
        source: what to compile.
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
        repeat: how often to run the case, for determinism.
        limits: time and memory.
        devices: where it can run: `cpu`, `cuda`.
        tags: for `--tag`.
        expect_fault: the fault that makes the case pass.
        settings: further keys of later rooms (`timing`, `resources`, …), plain JSON.
    """

    job: str
    name: str
    path: str
    parameters: Mapping[str, int | float]
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
    settings: Mapping[str, Any] = field(default_factory=dict)
    reference_kernels: Mapping[str, ReferenceKernel] = field(default_factory=dict)
    reference_rules: Mapping[str, Rule] = field(default_factory=dict)


# --- compiled things --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel parameter as the compiled code declares it.

    Attributes:
        size: bytes.
        alignment: bytes.
        kind: `pointer`, `integer`, `float`, `struct`, or `word` (8 bytes that may be either).
        name: from the C++ source where it could be read there, else "".
    """

    size: int
    alignment: int
    kind: Literal["pointer", "integer", "float", "struct", "word"]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel in a compiled program: its mangled name and its parameters."""

    mangled: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled source, on disk.

    Attributes:
        key: a digest of all that decided its bits.
        ptx: the PTX file (pinned, if the job wants it), absolute; "" where only a cubin is there.
        cubin: the cubin file, absolute; "" where none was built.
        entries: the C++ name of a kernel → its entry.
        symbols: the C++ name of a variable → its mangled name.
        compiler: `nvrtc 13.5.37`.
        options: all options that the compiler was given.
        arch: `sm_90`.
    """

    key: str
    ptx: str
    cubin: str
    entries: Mapping[str, Entry]
    symbols: Mapping[str, str]
    compiler: str
    options: tuple[str, ...]
    arch: str


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device as logs and baselines record it.

    Attributes:
        name: `cpu` or `cuda:0`.
        model: `virtual sm_90 on x86_64` or `NVIDIA H200`.
        arch: `sm_90`.
        driver: driver and runtime versions, one line.
        memory: bytes.
        limits: what launches are checked against: `max_threads`, `max_block_x` …, `max_grid_x` …, `max_shared`,
            `max_shared_optin`, `registers`.
        extra: further facts for the log's head (UUID, clocks, temperature).
    """

    name: str
    model: str
    arch: str
    driver: str
    memory: int
    limits: Mapping[str, int] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)


# --- what came of it --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dump:
    """A buffer's contents as a file.

    Attributes:
        buffer: its name.
        path: absolute.
        dtype: the element type's name.
        shape: elements along each axis.
        digest: xxh3-128 of the raw bytes (padding zeroed), hexadecimal.
        text_digest: xxh3-128 of the file.
    """

    buffer: str
    path: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    text_digest: str


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong in a kernel: one of FAULT_KINDS, a line for people, further lines, the launch's log number."""

    kind: str
    message: str
    details: tuple[str, ...] = ()
    launch: int | None = None


@dataclass(frozen=True, slots=True)
class LaunchTime:
    """A launch's number in the log and its time on the device."""

    number: int
    kernel: str
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a worker says of a case it ran.

    Attributes:
        case: its name.
        state: `done`, `fault`, `timeout` or `error` (could not be run).
        fault: for `fault` and `timeout`.
        message: for `error`.
        dumps: what was written, in the case's order.
        inputs: filled buffer → digest of its bytes before the first launch.
        repeats: the digests of each further run, for `repeat`: buffer → digests.
        launches: those that ended.
        output: what the kernels printed.
        device: where it ran.
        resources: kernel → registers, shared, local, spill bytes.
        seconds: wall time of the case in the worker.
        extra: further findings of a device (poison, timing samples, sanitizer), plain JSON.
    """

    case: str
    state: Literal["done", "fault", "timeout", "error"]
    fault: Fault | None = None
    message: str = ""
    dumps: tuple[Dump, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    repeats: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    launches: tuple[LaunchTime, ...] = ()
    output: str = ""
    device: DeviceInfo | None = None
    resources: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    seconds: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MadeOf:
    """What decided a case's results besides the harness: what a difference is explained with.

    Attributes:
        source: digest of the source and all it includes.
        inputs: filled buffer → digest of its bytes before the first launch.
        seed: the job's.
        compiler: `nvrtc 13.5.37`.
        options: the compiler's, without folders.
        contract: `pinned` or `native`.
        arch: what was compiled for.
        device: its model, `NVIDIA H200`.
        card: a GPU's UUID.
        driver: its driver's and runtime's versions.
        launches: each launch as the log writes it, repeats of one line once.
        resources: kernel → registers, shared, local, spill bytes.
        determinism: buffer → `bitwise`, `order varies` or `values vary`, where the case was run more than once.
    """

    source: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    compiler: str = ""
    options: tuple[str, ...] = ()
    contract: str = "pinned"
    arch: str = ""
    device: str = ""
    driver: str = ""
    launches: tuple[str, ...] = ()
    resources: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    determinism: Mapping[str, str] = field(default_factory=dict)
    card: str = ""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One `accept`: of what revision and source digest, when (ISO 8601, UTC), by whom, why, from which run."""

    revision: str
    source: str
    when: str
    who: str = ""
    why: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The dumps of a case that somebody accepted.

    Attributes:
        case: its name.
        path: its `baseline.yaml`, absolute.
        revision: the one accepted last.
        made_of: what it was made of.
        dumps: buffer → its dump, whole (the file's digest was compared), path absolute.
        history: every accept, the oldest first; the last is this one.
        first: buffer → the first dump ever accepted, for buffers whose drift is watched.
        arch: `sm_80`, `cpu` or `cuda` where it holds for that architecture or device only, "" for the common one.
        revisions: buffer → the revision its dump is of.
    """

    case: str
    path: str
    revision: str
    made_of: MadeOf
    dumps: Mapping[str, Dump]
    history: tuple[Acceptance, ...]
    first: Mapping[str, Dump] = field(default_factory=dict)
    arch: str = ""
    revisions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Element:
    """One element that differs.

    Attributes:
        index: row-major, counted from 0.
        part: the part's name, "" for a plain scalar.
        expected: the baseline's word, as a dump writes it; "" where only the actual side has it.
        actual: this run's word; "" where only the baseline has it.
        absolute: |actual - expected|, None where it has no meaning.
        relative: absolute / |expected|.
        ulp: steps between floats, None for integers.
    """

    index: int
    part: str
    expected: str
    actual: str
    absolute: float | None = None
    relative: float | None = None
    ulp: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a difference looks like, in words.

    Attributes:
        pattern: a name from `diagnose`'s list.
        message: one sentence with its evidence.
        weight: the share of the differing elements it explains, 0 to 1.
    """

    pattern: str
    message: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """One buffer against what it should be.

    Attributes:
        buffer: its name.
        against: `baseline`, `reference`, `check`, `verify`, `repeat` or `first` (the first accepted baseline).
        rule: the rule in words, with its formula.
        same: the verdict under the rule.
        identical: every bit the same, in order.
        of: elements compared.
        differing: elements that break the rule.
        changed: elements whose bits differ at all, in order.
        multiset_same: the same values in other places; None where it was not worked out.
        only_expected: under `order: any`, values only in the baseline.
        only_actual: values only in this run.
        worst: the worst element by the rule.
        first: the first few that break it.
        message: what is wrong in one line, "" if nothing is.
        findings: what it looks like, the strongest first.
        numbers: further figures (max_abs, max_rel, max_ulp, rms, ulp histogram, NaN counts), plain JSON.
    """

    buffer: str
    against: str
    rule: str
    same: bool
    identical: bool
    of: int
    differing: int = 0
    changed: int = 0
    multiset_same: bool | None = None
    only_expected: int = 0
    only_actual: int = 0
    worst: Element | None = None
    first: tuple[Element, ...] = ()
    message: str = ""
    findings: tuple[Finding, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BufferVerdict:
    """A buffer's verdict and all behind it: the paths are for people, "" where there is no such file."""

    name: str
    word: Word
    dump: str = ""
    baseline: str = ""
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """A case's verdict.

    Attributes:
        job: the job's name.
        case: the case's name.
        word: the verdict.
        reason: one line, "" for a plain pass.
        revision: the dumps' label.
        baseline_revision: the accepted one's, "" if there is none.
        seconds: wall time.
        buffers: each buffer's verdict.
        changes: what else changed since the baseline (compiler, options, inputs, device), a line each, said first.
        notes: what the user should know besides.
        exit_code: what this verdict alone would make of the exit code.
        against: of `baseline`, `reference`, `verify`: what it was compared with, where that is not a baseline alone.
        outcome: what the worker said, None where the case did not run.
    """

    job: str
    case: str
    word: Word
    reason: str = ""
    revision: str = ""
    baseline_revision: str = ""
    seconds: float = 0.0
    buffers: tuple[BufferVerdict, ...] = ()
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    exit_code: int = 0
    outcome: Outcome | None = None
    against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A whole run.

    Attributes:
        run: its name, `20261120T020000Z-3f2a`.
        folder: where its log and dumps are, absolute.
        device: what was asked for and taken, as `cpu`.
        started: ISO 8601, UTC.
        seconds: wall time.
        verdicts: in the order of the plan.
        notes: baselines whose case is gone, vanished cases, and the like.
        interrupted: ^C stopped it.
        exit_code: the run's.
    """

    run: str
    folder: str
    device: str
    started: str
    seconds: float
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    exit_code: int = 0

    def count(self, word: Word) -> int:
        """How many cases ended with this verdict."""
        return sum(verdict.word == word for verdict in self.verdicts)


# --- JSON -------------------------------------------------------------------------------------------------------------

R = TypeVar("R")


def to_json(record: Any) -> Any:
    """A record as plain JSON values: dataclasses become objects with every field, tuples become lists."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {f.name: to_json(getattr(record, f.name)) for f in dataclasses.fields(record)}
    if isinstance(record, Mapping):
        return {str(key): to_json(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [to_json(item) for item in record]
    return record


def from_json(kind: type[R], data: Any) -> R:
    """The record that `to_json` made `data` of.

    Args:
        kind: a record class.
        data: what `json.loads` gave.

    Raises:
        TypeError: a field is missing or not known.
    """
    hints = _hints(cast("Hashable", kind))
    values = {name: _value(hints[name], value) for name, value in data.items() if name in hints}
    unknown = set(data) - set(hints)
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    return kind(**values)


@lru_cache(maxsize=64)
def _hints(kind: Hashable) -> dict[str, Any]:
    return typing.get_type_hints(cast("type[Any]", kind))


def _value(hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, Union):
        if value is None:
            return None
        inner = [argument for argument in arguments if argument is not type(None)]
        return _value(inner[0], value) if len(inner) == 1 else value
    if origin is tuple:
        items = arguments[:1] * len(value) if len(arguments) == 2 and arguments[1] is ... else arguments
        return tuple(_value(item, entry) for item, entry in zip(items, value, strict=True))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _value(arguments[1], entry) for key, entry in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_json(hint, value)
    return value
