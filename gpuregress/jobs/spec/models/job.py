"""Model of a whole job file.

Numbers are still expressions here; `spec.resolve` evaluates them for each case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from gpuregress.foundation.document import units
from gpuregress.foundation.document.forms import (
    FormError,
    FormErrors,
    Reads,
    Spec,
    doc,
    one_of,
    plain_text,
)
from gpuregress.foundation.document.keys import show
from gpuregress.foundation.records import FAULT_KINDS
from gpuregress.gpu.architectures import CARDS
from gpuregress.jobs.spec import expressions
from gpuregress.jobs.spec.models.buffer import BufferSpec, Dtype
from gpuregress.jobs.spec.models.compilation import CompileSpec, VariantsSpec
from gpuregress.jobs.spec.models.launch import CallScope, Extents, FunctionSpec, LaunchSpec, Twins
from gpuregress.jobs.spec.models.rules import DEVICE, CheckSpec, ReferenceSpec, RuleSpec
from gpuregress.jobs.spec.models.values import (
    NAME_SCHEMA,
    NUMBER_SCHEMA,
    BufferPattern,
    Constant,
    Expr,
    FunctionPath,
    Name,
    ParameterName,
    ParameterValue,
    Seconds,
    Size,
    SourceText,
    StatusCode,
    Switch,
    Text,
    real,
    whole,
)
from gpuregress.store.settings import addresses

MOST_TIMEOUTS = 1_000_000
MOST_RETRIES = 10


def _count(low: int, high: int) -> Reads:
    return Reads(units.whole_number(low, high), {"type": "integer", "minimum": low, "maximum": high})


TimeoutCount = Annotated[int, _count(1, MOST_TIMEOUTS)]
RetryCount = Annotated[int, _count(0, MOST_RETRIES)]
Slowdown = Annotated[float, Reads(units.slowdown, {"type": "number", "minimum": 1})]
FaultKind = Annotated[str, one_of(FAULT_KINDS)]
Card = Annotated[str, one_of(CARDS)]


class LimitsSpec(Spec, frozen=True):
    """Limits of a case."""

    timeout: Annotated[Seconds | None, doc("seconds, or 30s, 2min")] = None
    memory: Annotated[Size | None, doc("bytes of device memory, or 4GiB")] = None
    timeouts: Annotated[
        TimeoutCount | None, doc("timeouts of one kernel in a run, after which its other cases are skipped; at night 3")
    ] = None
    instructions: Annotated[
        Slowdown | None, doc("on the CPU device, more times the accepted instructions fail a case")
    ] = None
    time: Annotated[Slowdown | None, doc("on a GPU, more times the accepted time fail a timed case")] = None
    heap: Annotated[
        Size | None, doc("bytes that kernels may hold by `malloc` and `new`, or 64MiB; beyond them they get null; 8MiB")
    ] = None


def _day(value: Any) -> str:
    """A day; YAML libraries may have made a date of it."""
    text = value.isoformat() if isinstance(value, date) else value
    try:
        if isinstance(text, str) and len(text) == len("2026-12-24"):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise ValueError(f"expected a day such as 2026-12-24, got {show(value)}")


Day = Annotated[str, Reads(_day, {"type": "string", "format": "date"})]


class KnownFailingSpec(Spec, frozen=True):
    """A failure that is known: until that day the case is skipped if it fails so, and fails if it passes."""

    until: Annotated[Day, doc("the day (UTC) from which the failure counts again")]
    why: Annotated[Text, doc("the reason, shown with the case")]
    status: Annotated[
        Literal["differ", "fault", "timeout", "error"] | None,
        doc(
            "the status of the failure; `error`: source that does not compile, or a function that does not run. "
            "Default: that of a fault if `fault` or `kernel` is given, else `differ`. Any other failure counts as usual"
        ),
    ] = None
    fault: Annotated[FaultKind | None, doc("the kind of the fault")] = None
    kernel: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1000)] | None,
        doc("the kernel that faults or is not finished in time, as in launches"),
    ] = None
    buffer: Annotated[Name | None, doc("the only buffer that differs")] = None
    where: Annotated[list[Expr], doc("conditions that select the cases; default: all of the job")] = []

    @property
    def failure(self) -> str:
        """The status that is named, or that follows from the other keys."""
        if self.status is not None:
            return self.status
        if self.fault == "timeout":
            return "timeout"
        return "fault" if self.fault is not None or self.kernel is not None else "differ"

    def check(self) -> None:
        """Refuse keys that do not fit together."""
        status = self.failure
        if self.fault is not None and status != ("timeout" if self.fault == "timeout" else "fault"):
            raise ValueError(f"a case with the status {status!r} has no fault {self.fault!r}: leave one of them out")
        if self.kernel is not None and status not in ("fault", "timeout"):
            raise ValueError(f"`kernel` is that of a fault or a timeout, and the status is {status!r}")
        if self.kernel is not None and self.fault == "status":
            raise ValueError(
                "`kernel` is given, but a status is read after the last launch and belongs to no one kernel"
            )
        if self.buffer is not None and status != "differ":
            raise ValueError(f"`buffer` is that of a difference, and the status is {status!r}")


class ExpectSpec(Spec, frozen=True):
    """The expected fault of a case. It must happen in a launch, not in a fill, a reference or a repeat."""

    fault: Annotated[FaultKind, doc("the kind of fault")]
    kernel: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1000)] | None, doc("the kernel that must fault, as in launches")
    ] = None
    launch: Annotated[Expr | None, doc("the entry of launches that must fault, from 1")] = None


class TimingSpec(Spec, frozen=True):
    """Timed runs of the launches, and how much slower than accepted they may be."""

    warmup: Annotated[Expr, whole(0), doc("runs before the first sample")] = 3
    samples: Annotated[Expr, whole(1), doc("samples that are kept")] = 30
    limit: Annotated[
        Expr | None,
        real(1, above=True, high=units.LARGEST_SLOWDOWN),
        doc(
            "the largest ratio to the accepted time, above 1; on the CPU device, to the accepted number of "
            "executed instructions"
        ),
    ] = None


Ratio = Annotated[Expr | None, real(1, high=units.LARGEST_SLOWDOWN)]


class CostSpec(Spec, frozen=True):
    """Largest ratios, 1 or more, of exact costs to the accepted ones; counted on the CPU device."""

    instructions: Annotated[Ratio, doc("instructions that warps issue")] = None
    thread_instructions: Annotated[Ratio, doc("instructions that threads execute")] = None
    sectors: Annotated[Ratio, doc("sectors of 32 bytes of global and local memory")] = None
    requests: Annotated[Ratio, doc("requests of warps for global and local memory")] = None
    bank_conflicts: Annotated[Ratio, doc("further passes over shared memory")] = None
    divergent_branches: Annotated[Ratio, doc("branches at which lanes of a warp go both ways")] = None
    atomic_conflicts: Annotated[Ratio, doc("lanes of a request that update an address of another lane")] = None
    barriers: Annotated[Ratio, doc("barriers of blocks and clusters at which warps wait")] = None
    tensor_operations: Annotated[Ratio, doc("matrix instructions that warps issue")] = None
    bytes: Annotated[Ratio, doc("bytes that threads load and store")] = None


class FuzzSpec(Spec, frozen=True):
    """What `gpuregress fuzz` and `audit` may change."""

    keep: Annotated[
        list[Text], doc("parameters and buffers that stay as they are: other values are no input of the kernels")
    ] = []


class ResourcesSpec(Spec, frozen=True):
    """Limits of the resources of compiled kernels."""

    registers: Annotated[Expr | None, whole(0), doc("the largest number per thread")] = None
    spills: Annotated[Expr | None, whole(0), doc("the largest number of bytes spilt to local memory")] = None


class RepeatSpec(Spec, frozen=True):
    """Further runs of a case: with the same inputs, to see whether it is deterministic, and with other seeds."""

    short_forms: ClassVar[tuple[Mapping[str, Any], ...]] = (NUMBER_SCHEMA,)

    runs: Annotated[Expr, doc("the number of runs on the same inputs, which are compared with each other")] = 1
    seeds: Annotated[
        Expr | None, doc("the number of seeds: each is judged by the buffers' `statistics` and checks")
    ] = None

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
        if isinstance(value, dict) and not value:
            raise ValueError("expected a number, or a mapping such as {seeds: 20}; got an empty mapping")
        return value if isinstance(value, dict) else {"runs": value}


_STATUS_BUFFER = "an integer buffer, or a __device__ variable of the source"


class StatusSpec(Spec, frozen=True):
    """The buffer in which the kernel reports its own errors: any code but 0 is a fault of the case."""

    short_forms: ClassVar[tuple[Mapping[str, Any], ...]] = ({**NAME_SCHEMA, "description": _STATUS_BUFFER},)

    buffer: Annotated[Name, doc(_STATUS_BUFFER)]
    codes: Annotated[dict[StatusCode, Text], doc("code → its name, shown in the fault")] = {}

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
        if isinstance(value, dict):
            return value
        return {"buffer": value}


def _dump(value: Any) -> Any:
    if value == "all" or (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        return value
    raise ValueError(f"expected `all` or a list of the job's buffers, got {show(value)}")


Dump = Annotated[
    list[str] | Literal["all"],
    Reads(_dump, {"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}}]}),
]


def _autotune(value: Any) -> Any:
    """YAML 1.1 reads `off` as false, so both are taken."""
    if value is False:
        return "off"
    is_list = isinstance(value, list) and bool(value)
    if value in ("all", "off") or (is_list and all(type(one) is int and one >= 0 for one in value)):
        return value
    raise ValueError(f"expected all, off, or a list of configurations, counted from 0; got {show(value)}")


Autotune = Annotated[
    list[int] | Literal["all", "off"],
    Reads(
        _autotune,
        {
            "anyOf": [
                {"enum": ["all", "off", False]},
                {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
            ]
        },
    ),
]


def _with_language(data: dict[str, Any]) -> dict[str, Any]:
    """Name the kernel of each launch by the function of its source, and take Triton's block from its warps."""
    filled = dict(data)
    if isinstance(data.get("launches"), list):
        filled["launches"] = _launches_with_language(data, data["launches"])
    if isinstance(data.get("reference"), dict):
        filled["reference"] = {name: _reference_with_language(data, one) for name, one in data["reference"].items()}
    return filled


def _reference_with_language(data: dict[str, Any], reference: Any) -> Any:
    """A reference with a source of its own has settings of its own, too."""
    if not isinstance(reference, dict) or not isinstance(reference.get("launches"), list):
        return reference
    job = {} if "source" in reference else data
    own = {name: reference.get(name, job.get(name)) for name in ("source", "language", "num_warps")}
    own = {name: value for name, value in own.items() if value is not None}
    return {**reference, "launches": _launches_with_language(own, reference["launches"])}


def _launches_with_language(data: dict[str, Any], launches: list[Any]) -> list[Any]:
    if "language" not in data and ".py:" not in str(data.get("source")):
        return launches
    return [_launch_with_language(data, one) if isinstance(one, dict) else one for one in launches]


def _launch_with_language(data: dict[str, Any], launch: dict[str, Any]) -> dict[str, Any]:
    source = launch.get("source", data.get("source"))
    filled: dict[str, Any] = {}
    if isinstance(source, str) and ".py" in source:
        filled["kernel"] = source.rpartition(":")[2]
    if data.get("language") == "warp":
        return {**filled, "grid": [1], "block": [1], **launch}  # both follow from `dim` when the kernel is compiled
    warps = launch.get("num_warps", data.get("num_warps", 4))
    if data.get("language") != "numba" and isinstance(warps, int | float | str):
        filled["block"] = [f"({warps}) * 32"] if _is_expression(warps) else [32]  # num_warps is reported itself
    return {**filled, **launch}


def _is_expression(value: float | str) -> bool:
    try:
        expressions.parse(str(value))
    except ValueError:
        return False
    return True


_OWN_SOURCES = {"properties": {"launches": {"items": {"required": ["source"]}}}}
_IN_PYTHON = {"required": ["source"], "properties": {"source": {"type": "string", "pattern": r"\.py:"}}}
"""A function in Python, for which planning asks for the language."""
_FORMS: dict[str, Any] = {
    "oneOf": [
        {"required": ["launches"], "anyOf": [{"required": ["source"]}, _OWN_SOURCES]},
        {"required": ["function", "source"]},
        {"required": ["program"]},
    ],
    "if": {"not": {"anyOf": [{"required": ["language"]}, _IN_PYTHON]}},
    "then": {"properties": {"launches": {"items": {"required": ["kernel", "grid", "block"]}}}},
    "else": {"properties": {"launches": {"items": {"anyOf": [{"required": ["grid"]}, {"required": ["dim"]}]}}}},
}


def _command(value: Any) -> str | list[str]:
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list) and value and all(isinstance(word, str | int | float) for word in value):
        return [str(word) for word in value]
    raise ValueError(f"expected a command, as `./suite --n 100` or [./suite, --n, 100], got {show(value)}")


Command = Annotated[
    str | list[str],
    Reads(
        _command,
        {
            "$comment": "a command, or a list of its words",
            "anyOf": [
                {"type": "string", "pattern": r"\S"},
                {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1},
            ],
        },
    ),
]
VariableName = Annotated[
    str,
    Reads(plain_text, {"$comment": "name", "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}),
]
_OF_PROGRAMS = ("sources", "environment", "dumps", "dtypes")
"""Keys of a job with `program` alone."""
_BESIDE_PROGRAM = frozenset(
    (
        "job", "program", *_OF_PROGRAMS, "revision", "parameters", "where", "dump", "compare", "checks", "limits",
        "repeat", "schedules", "devices", "tags", "owners", "expect", "known_failing", "retries",
    )
)  # fmt: skip
"""Keys that a job with `program` may have."""


def _program_problems(job: JobSpec) -> Iterator[FormError]:
    """The keys of a job that do not go with `program`, or not without it."""
    if job.program is None:
        for name in _OF_PROGRAMS:
            if name in job.written:
                yield FormError((name,), "is for a job with `program`, which this one does not have")
        return
    for name in sorted(job.written - _BESIDE_PROGRAM):
        text = "is for jobs with launches, and this one has a program: take it out"
        if name == "buffers":
            text = "a program allocates its buffers itself: give their types alone, as dtypes: {alloc1: float32}"
        yield FormError((name,), text)
    if job.repeat.seeds is not None:
        yield FormError(("repeat", "seeds"), "a program chooses its own inputs: take it out, or make it a parameter")
    for name in sorted(job.limits.written - {"timeout", "instructions"}):
        yield FormError(("limits", name), "is for launches: a program has limits.timeout and limits.instructions alone")
    for name in job.checks:
        if name != DEVICE:
            yield FormError(("checks", name), "a program has the checks of the device alone: device: [races]")
    for name, value in (("kernel", job.expect and job.expect.kernel), ("launch", job.expect and job.expect.launch)):
        if value is not None:
            yield FormError(("expect", name), "a program's launches are not known before it runs: take it out")
    if "cuda" in job.devices and "devices" in job.written:
        yield FormError(("devices",), "programs run on the virtual GPU alone: devices: [cpu]")


class JobSpec(Spec, frozen=True):
    """A kernel source, its buffers, its launches, and the criteria of a correct result."""

    schema_extra: ClassVar[Mapping[str, Any]] = _FORMS

    job: Annotated[Text | None, doc("the job's name; default: the file's name without .yaml")] = None
    source: Annotated[
        SourceText | None,
        doc(
            ".cu, .cuh and other files of C++ are compiled, .ptx and .cubin are loaded; with language, "
            "softmax.py:softmax_kernel; {python: build.py:function} returns PTX; relative to the job; may be left out "
            "where every launch names its own"
        ),
    ] = None
    language: Annotated[
        Literal["triton", "numba", "warp"] | None, doc("the language of a kernel in Python, in place of CUDA C++")
    ] = None
    signature: Annotated[
        dict[Name, Text], doc("with language: parameter → its type, in the kernel's order: *fp32, i32, float32[::1]")
    ] = {}
    constants: Annotated[
        dict[Name, Constant], doc("with language: triton: parameter → the value that is compiled in")
    ] = {}
    num_warps: Annotated[Expr | None, doc("with language: triton: warps of a block; default 4")] = None
    num_stages: Annotated[Expr | None, doc("with language: triton: stages of pipelined loops; default 3")] = None
    num_ctas: Annotated[Expr | None, doc("with language: triton: blocks of a cluster; default 1")] = None
    autotune: Annotated[
        Autotune,
        doc(
            "with @triton.autotune: the configurations that are cases: all, numbers from 0, or off: constants "
            "and num_warps of the job alone"
        ),
    ] = "all"
    program: Annotated[
        Command | None,
        doc(
            "a whole CUDA program and its arguments, in place of launches; it runs in the project's folder on the "
            "virtual GPU, as by `gpuregress exec`"
        ),
    ] = None
    sources: Annotated[
        list[Text],
        doc(
            "with program: files, or patterns as ../src/*.cu, that its revision and --changed go by; default: those "
            "of the project that its command names"
        ),
    ] = []
    environment: Annotated[dict[VariableName, Text], doc("with program: further environment variables")] = {}
    dumps: Annotated[
        Literal["exit", "synchronize"],
        doc(
            "with program: exit: dump each buffer as it is when the program frees it or ends; synchronize: dump all "
            "buffers whenever the program waits for the GPU after a launch"
        ),
    ] = "exit"
    dtypes: Annotated[
        dict[BufferPattern, Dtype], doc("with program: buffer → the type of its elements; bytes without one")
    ] = {}
    revision: Annotated[Text, doc("auto, or a literal label for the dumps")] = "auto"
    compile: CompileSpec = CompileSpec()
    card: Annotated[
        Card | None,
        doc(
            "the GPU whose tensor cores the CPU device emulates; default: sm_90, an H200. sm_80 is from the literature"
        ),
    ] = None
    seed: Annotated[Expr, doc("random fills derive from it and the buffer's name")] = 0
    parameters: Annotated[
        dict[ParameterName, Annotated[list[ParameterValue], Meta(min_length=1)]],
        doc("every combination is a case; values are numbers, text, C++ types, `true`, `false`"),
    ] = {}
    where: Annotated[list[Expr], doc("conditions that select combinations")] = []
    buffers: Annotated[
        dict[Name, BufferSpec],
        doc("the buffers by name; none: the kernels take no pointer, and have to run to their end"),
    ] = {}
    function: Annotated[
        FunctionSpec | None,
        doc("a __device__ function to test, in place of launches: calls go to the elements of result"),
    ] = None
    scope: Annotated[CallScope | None, doc("beside function: block: a whole block makes one call")] = None
    block: Annotated[Extents | None, doc("beside function: threads of a block along x, y, z")] = None
    launches: Annotated[list[LaunchSpec], doc("the launches, in order; or a function", minItems=1)] = []
    dump: Annotated[
        Dump | None,
        doc(
            "buffers to dump; default: those without a fill, and those compared, checked or referenced; "
            "with agree and none of these, those that the launches take"
        ),
    ] = None
    compare: Annotated[
        dict[BufferPattern, RuleSpec], doc("buffer → comparison rule; with program also a pattern, as alloc*")
    ] = {}
    checks: Annotated[dict[Name, Annotated[list[CheckSpec], Meta(min_length=1)]], doc("buffer → checks")] = {}
    status: Annotated[
        StatusSpec | None, doc("the buffer in which the kernel reports its own errors; a mapping names its codes")
    ] = None
    reference: Annotated[dict[Name, ReferenceSpec], doc("buffer → gold standard: module.py:function or a mapping")] = {}
    agree: Annotated[
        list[Name] | None,
        doc(
            "parameters on which results must not depend: cases that differ only in them are compared; "
            "default: those of an autotuner's configurations, unless there is a reference; []: none"
        ),
    ] = None
    verify: Annotated[dict[Name, FunctionPath], doc("buffer → module.py:function that compares it")] = {}
    repeat: Annotated[RepeatSpec, doc("the number of runs, which are compared with each other; or of seeds")] = (
        RepeatSpec()
    )
    schedules: Annotated[
        Expr, doc("the number of orders of blocks, warps and lanes on the CPU device, whose results are compared")
    ] = 1
    limits: LimitsSpec = LimitsSpec()
    devices: Annotated[
        Annotated[list[Literal["cpu", "cuda"]], Meta(min_length=1)], doc("the devices that can run it")
    ] = msgspec.field(default_factory=lambda: ["cpu", "cuda"])
    twins: Annotated[
        Twins | None, doc("compare the results of this device with those of the host's compiler, or another device")
    ] = None
    tags: Annotated[list[Text], doc("labels that --tag selects")] = []
    owners: Annotated[
        tuple[str, ...],
        Reads(addresses, {"$comment": "an address such as team@example.org, or a list"}),
        doc("who gets a mail of their own if the job has news at night"),
    ] = ()
    expect: ExpectSpec | None = None
    known_failing: KnownFailingSpec | None = None
    retries: Annotated[
        RetryCount,
        doc(
            "how often a case is run again after a failure of its device or worker; never after a difference, "
            "a fault or a timeout"
        ),
    ] = 0
    infeasible: Annotated[
        Literal["error", "skip"],
        doc(
            "skip: skip a case that the compiler or device refuses "
            "(threads, shared memory, `__launch_bounds__`, registers, a failing static_assert)"
        ),
    ] = "error"
    inputs: Annotated[
        Literal["unchanged"] | None,
        doc("unchanged: every filled buffer that is not dumped must hold its fill after the case"),
    ] = None
    timing: TimingSpec | None = None
    cost: CostSpec | None = None
    launch_digests: Annotated[
        Switch, doc("off: keep no digests of the buffers after each launch, which show the first wrong launch")
    ] = "on"
    resources: ResourcesSpec | None = None
    fuzz: FuzzSpec = FuzzSpec()
    variants: VariantsSpec | None = None

    @classmethod
    def as_mapping(cls, data: Any) -> Any:
        """Fill in what the language of a kernel tells about its launches."""
        return _with_language(data) if isinstance(data, dict) else data

    def check(self) -> None:
        """Refuse keys that do not fit together."""
        problems = tuple(_program_problems(self))
        if problems:
            raise FormErrors(problems)

    @property
    def status_buffer(self) -> str | None:
        """The status buffer's name, None without one."""
        return self.status.buffer if self.status else None
