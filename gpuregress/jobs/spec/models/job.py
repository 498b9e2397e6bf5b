"""Model of a whole job file.

Numbers are still expressions here; `spec.resolve` evaluates them for each case.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from gpuregress.foundation.document.problems import show
from gpuregress.foundation.records import FAULT_KINDS
from gpuregress.gpu.architecture_names import CARDS
from gpuregress.jobs.spec import expressions
from gpuregress.jobs.spec.models.base import Spec
from gpuregress.jobs.spec.models.buffer import BufferSpec
from gpuregress.jobs.spec.models.compilation import CompileSpec
from gpuregress.jobs.spec.models.function import CallScope, FunctionSpec, Twins
from gpuregress.jobs.spec.models.launch import Extents, LaunchSpec
from gpuregress.jobs.spec.models.reference import ReferenceSpec
from gpuregress.jobs.spec.models.rules import CheckSpec, RuleSpec
from gpuregress.jobs.spec.models.values import (
    NUMBER_SCHEMA,
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
    Text,
)
from gpuregress.jobs.spec.models.variants import VariantsSpec

MOST_TIMEOUTS = 1_000_000
MOST_RETRIES = 10


def _count(low: int, high: int) -> Callable[[Any], int]:
    def count(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"expected a whole number from {low} to {high:,}, got {show(value)}")
        return value

    return count


def _count_schema(low: int, high: int) -> WithJsonSchema:
    return WithJsonSchema({"type": "integer", "minimum": low, "maximum": high})


TimeoutCount = Annotated[int, PlainValidator(_count(1, MOST_TIMEOUTS)), _count_schema(1, MOST_TIMEOUTS)]
RetryCount = Annotated[int, PlainValidator(_count(0, MOST_RETRIES)), _count_schema(0, MOST_RETRIES)]


class LimitsSpec(Spec):
    """Limits of a case."""

    timeout: Seconds | None = Field(None, description="seconds, or 30s, 2min")
    memory: Size | None = Field(None, description="bytes of device memory, or 4GiB")
    timeouts: TimeoutCount | None = Field(
        None, description="timeouts of one kernel in a run, after which its other cases are skipped; at night 3"
    )
    heap: Size | None = Field(
        None, description="bytes that kernels may hold by `malloc` and `new`, or 64MiB; beyond them they get null; 8MiB"
    )


def _day(value: Any) -> str:
    """A day; YAML libraries may have made a date of it."""
    text = value.isoformat() if isinstance(value, date) else value
    try:
        if isinstance(text, str) and len(text) == len("2026-12-24"):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise ValueError(f"expected a day such as 2026-12-24, got {show(value)}")


Day = Annotated[str, PlainValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]


class KnownFailingSpec(Spec):
    """A failure that is known: until that day the case is skipped if it fails so, and fails if it passes."""

    until: Day = Field(description="the day from which on the failure counts again")
    why: Text = Field(description="the reason, shown with the case")
    status: Literal["differ", "fault", "timeout", "error"] | None = Field(
        None,
        description="the status of the failure; `error` is source or a function that does not compile or run. "
        "Default: `differ`, beside `fault` and `kernel` the status of a fault. Another failure counts",
    )
    fault: Literal[tuple(FAULT_KINDS)] | None = Field(None, description="the kind of the fault")  # type: ignore[valid-type] # as above
    kernel: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        None, description="the kernel that faults or is not finished in time, as in launches"
    )
    buffer: Name | None = Field(None, description="the only buffer that differs")
    where: list[Expr] = Field([], description="conditions that select the cases; default: all of the job")

    @property
    def failure(self) -> str:
        """The status that is named, or that follows from the other keys."""
        if self.status is not None:
            return self.status
        if self.fault == "timeout":
            return "timeout"
        return "fault" if self.fault is not None or self.kernel is not None else "differ"

    @model_validator(mode="after")
    def _is_possible(self) -> KnownFailingSpec:
        status = self.failure
        if self.fault is not None and status != ("timeout" if self.fault == "timeout" else "fault"):
            raise ValueError(f"a case with the status {status!r} has no fault {self.fault!r}: leave one of them out")
        if self.kernel is not None and status not in ("fault", "timeout"):
            raise ValueError(f"`kernel` is that of a fault or a timeout, and the status is {status!r}")
        if self.kernel is not None and self.fault == "status":
            raise ValueError("`kernel` is given, and a status is read after the last launch: it is of no one kernel")
        if self.buffer is not None and status != "differ":
            raise ValueError(f"`buffer` is that of a difference, and the status is {status!r}")
        return self


class ExpectSpec(Spec):
    """The expected fault of a case. It must happen in a launch, not in a fill, a reference or a repeat."""

    fault: Literal[tuple(FAULT_KINDS)] = Field(description="the kind of fault")  # type: ignore[valid-type] # from the one list
    kernel: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        None, description="the kernel that must fault, as in launches"
    )
    launch: Expr | None = Field(None, description="the entry of launches that must fault, from 1")


class TimingSpec(Spec):
    """Timed runs of the launches, and how much slower than accepted they may be."""

    warmup: Expr = Field(3, description="runs before the first sample")
    samples: Expr = Field(30, description="samples that are kept")
    limit: Expr | None = Field(
        None,
        description="the largest ratio to the accepted time, above 1; on the CPU device, to the accepted number of "
        "executed instructions",
    )


class CostSpec(Spec):
    """Largest ratios, 1 or more, of exact costs to the accepted ones; counted on the CPU device."""

    instructions: Expr | None = Field(None, description="instructions that warps issue")
    thread_instructions: Expr | None = Field(None, description="instructions that threads execute")
    sectors: Expr | None = Field(None, description="sectors of 32 bytes of global and local memory")
    requests: Expr | None = Field(None, description="requests of warps for global and local memory")
    bank_conflicts: Expr | None = Field(None, description="further passes over shared memory")
    divergent_branches: Expr | None = Field(None, description="branches at which lanes of a warp go both ways")
    atomic_conflicts: Expr | None = Field(None, description="lanes of a request that update an address of another lane")
    barriers: Expr | None = Field(None, description="barriers of blocks and clusters at which warps wait")
    tensor_operations: Expr | None = Field(None, description="matrix instructions that warps issue")
    bytes: Expr | None = Field(None, description="bytes that threads load and store")


class FuzzSpec(Spec):
    """What `gpuregress fuzz` and `audit` may change."""

    keep: list[Text] = Field(
        [], description="parameters and buffers that stay as they are: other values are no input of the kernels"
    )


class ResourcesSpec(Spec):
    """Limits of the resources of compiled kernels."""

    registers: Expr | None = Field(None, description="the largest number per thread")
    spills: Expr | None = Field(None, description="the largest number of bytes spilt to local memory")


class RepeatSpec(Spec):
    """Further runs of a case: with the same inputs, to see whether it is deterministic, and with other seeds."""

    runs: Expr = Field(1, description="the number of runs on the same inputs, which are compared with each other")
    seeds: Expr | None = Field(
        None, description="the number of seeds: each is judged by the buffers' `statistics` and checks"
    )

    @model_validator(mode="before")
    @classmethod
    def _forms(cls, value: Any) -> Any:
        if isinstance(value, dict) and not value:
            raise ValueError("expected a number, or a mapping such as {seeds: 20}; got an empty mapping")
        return value if isinstance(value, dict) else {"runs": value}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        """Either a number, or a mapping."""
        mapping = dict(handler.resolve_ref_schema(handler(core)))
        return {"anyOf": [NUMBER_SCHEMA, mapping], "description": cls.__doc__}


class StatusSpec(Spec):
    """The buffer in which the kernel reports its own errors: any code but 0 is a fault of the case."""

    buffer: Name = Field(description="an integer buffer, or a __device__ variable of the source")
    codes: dict[StatusCode, Text] = Field({}, description="code → its name, shown in the fault")

    @model_validator(mode="before")
    @classmethod
    def _forms(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        return {"buffer": value}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        """Either a buffer's name, or a mapping."""
        mapping = dict(handler.resolve_ref_schema(handler(core)))
        return {"anyOf": [mapping["properties"]["buffer"], mapping], "description": cls.__doc__}


def _dump(value: Any) -> Any:
    if value == "all" or (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        return value
    raise ValueError(f"expected `all` or a list of the job's buffers, got {show(value)}")


Dump = Annotated[
    list[str] | Literal["all"],
    PlainValidator(_dump),
    WithJsonSchema({"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}}]}),
]


def _on_off(value: Any) -> Any:
    """YAML 1.1 reads `off` as false, so both are taken."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


OnOff = Annotated[Literal["on", "off"], BeforeValidator(_on_off), WithJsonSchema({"enum": ["on", "off", True, False]})]
_ABSENT = ()
"""The launches of a job that has no such key: a list in the file is never a tuple."""


def _launches(value: Any, info: ValidationInfo) -> Any:
    """Require launches or a function, and not both."""
    if (info.context or {}).get("partial") or "function" not in info.data:
        return value
    has_function = info.data["function"] is not None
    if value == _ABSENT and isinstance(value, tuple):
        if not has_function:
            raise PydanticCustomError("missing", "Field required")
        return value
    if has_function:
        raise ValueError("a job has launches or a function, and both are given: leave one out")
    if value == []:
        raise ValueError("expected at least one entry, got none")
    return value


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
    PlainValidator(_autotune),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["all", "off", False]},
                {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1},
            ]
        }
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
    ],
    "if": {"not": {"anyOf": [{"required": ["language"]}, _IN_PYTHON]}},
    "then": {"properties": {"launches": {"items": {"required": ["kernel", "block"]}}}},
}


class JobSpec(Spec):
    """A kernel source, its buffers, its launches, and the criteria of a correct result."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra=_FORMS,
    )

    job: Text | None = Field(None, description="the job's name; default: the file's name without .yaml")
    source: SourceText | None = Field(
        None,
        description=".cu and .cuh are compiled, .ptx and .cubin are loaded; with language, softmax.py:softmax_kernel; "
        "{python: build.py:function} returns PTX; relative to the job; may be left out where every launch names its "
        "own",
    )
    language: Literal["triton", "numba"] | None = Field(
        None, description="the language of a kernel in Python, in place of CUDA C++"
    )
    signature: dict[Name, Text] = Field(
        {}, description="with language: parameter → its type, in the kernel's order: *fp32, i32, float32[::1]"
    )
    constants: dict[Name, Constant] = Field(
        {}, description="with language: triton: parameter → the value that is compiled in"
    )
    num_warps: Expr | None = Field(None, description="with language: triton: warps of a block; default 4")
    num_stages: Expr | None = Field(None, description="with language: triton: stages of pipelined loops; default 3")
    num_ctas: Expr | None = Field(None, description="with language: triton: blocks of a cluster; default 1")
    autotune: Autotune = Field(
        "all",
        description="with @triton.autotune: the configurations that are cases: all, numbers from 0, or off: constants "
        "and num_warps of the job alone",
    )
    revision: Text = Field("auto", description="auto, or a literal label for the dumps")
    compile: CompileSpec = CompileSpec.model_validate({})
    card: Literal[tuple(CARDS)] | None = Field(  # type: ignore[valid-type] # from the one table
        None,
        description="the card whose tensor cores the CPU device emulates; default: sm_90, an H200. sm_80 is from the "
        "literature",
    )
    seed: Expr = Field(0, description="random fills derive from it and the buffer's name")
    parameters: dict[ParameterName, Annotated[list[ParameterValue], Field(min_length=1)]] = Field(
        {}, description="every combination is a case; values are numbers, text, C++ types, `true`, `false`"
    )
    where: list[Expr] = Field([], description="conditions that select combinations")
    buffers: dict[Name, BufferSpec] = Field(
        {}, description="the buffers by name; none: the kernels take no pointer, and have to run to their end"
    )
    function: FunctionSpec | None = Field(
        None, description="a __device__ function to test, in place of launches: calls go to the elements of result"
    )
    scope: CallScope | None = Field(None, description="beside function: block: a whole block makes one call")
    block: Extents | None = Field(None, description="beside function: threads of a block along x, y, z")
    launches: Annotated[list[LaunchSpec], BeforeValidator(_launches)] = Field(
        _ABSENT,
        validate_default=True,
        description="the launches, in order; or a function",
        json_schema_extra={"minItems": 1},
    )
    dump: Dump | None = Field(
        None,
        description="buffers to dump; default: those without a fill, and those compared, checked or referenced; "
        "with agree and none of these, those that the launches take",
    )
    compare: dict[Name, RuleSpec] = Field({}, description="buffer → comparison rule")
    checks: dict[Name, Annotated[list[CheckSpec], Field(min_length=1)]] = Field({}, description="buffer → checks")
    status: StatusSpec | None = Field(
        None, description="the buffer in which the kernel reports its own errors; a mapping names its codes"
    )
    reference: dict[Name, ReferenceSpec] = Field(
        {}, description="buffer → gold standard: module.py:function or a mapping"
    )
    agree: list[Name] | None = Field(
        None,
        description="parameters on which results must not depend: cases that differ only in them are compared; "
        "default: those of an autotuner's configurations, unless there is a reference; []: none",
    )
    verify: dict[Name, FunctionPath] = Field({}, description="buffer → module.py:function that compares it")
    repeat: RepeatSpec = Field(
        RepeatSpec.model_validate(1), description="the number of runs, which are compared with each other; or of seeds"
    )
    schedules: Expr = Field(
        1, description="the number of orders of blocks, warps and lanes on the CPU device, whose results are compared"
    )
    limits: LimitsSpec = LimitsSpec.model_validate({})
    devices: Annotated[list[Literal["cpu", "cuda"]], Field(min_length=1)] = Field(
        ["cpu", "cuda"], description="the devices that can run it"
    )
    twins: Twins | None = Field(
        None, description="compare the results of this device with those of the host's compiler, or another device"
    )
    tags: list[Text] = Field([], description="labels that --tag selects")
    expect: ExpectSpec | None = None
    known_failing: KnownFailingSpec | None = None
    retries: RetryCount = Field(
        0,
        description="how often a case is run again after trouble with its device or worker; never after a difference, "
        "a fault or a timeout",
    )
    infeasible: Literal["error", "skip"] = Field(
        "error",
        description="skip: skip a case that the compiler or device refuses "
        "(threads, shared memory, `__launch_bounds__`, registers, a failing static_assert)",
    )
    inputs: Literal["unchanged"] | None = Field(
        None, description="unchanged: every filled buffer that is not dumped must hold its fill after the case"
    )
    timing: TimingSpec | None = None
    cost: CostSpec | None = None
    launch_digests: OnOff = Field(
        "on", description="off: keep no digests of the buffers after each launch, which tell the first wrong launch"
    )
    resources: ResourcesSpec | None = None
    fuzz: FuzzSpec = FuzzSpec.model_validate({})
    variants: VariantsSpec | None = None

    @model_validator(mode="before")
    @classmethod
    def _filled_in(cls, data: Any) -> Any:
        """Fill in what the language of a kernel tells about its launches."""
        return _with_language(data) if isinstance(data, dict) else data

    @property
    def status_buffer(self) -> str | None:
        """The status buffer's name, None without one."""
        return self.status.buffer if self.status else None
