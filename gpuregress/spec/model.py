"""A job as its file says it: pydantic models that do not leave `plan`.

Numbers are still expressions here; `spec.workout` gives them their values, a case at a time.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from gpuregress import dtypes
from gpuregress.document.problems import show, suggestion
from gpuregress.records import FAULT_KINDS
from gpuregress.spec.compiling import Compile
from gpuregress.spec.gold import Reference
from gpuregress.spec.judged import Check, Rule
from gpuregress.spec.launched import Launch, dtype_hint
from gpuregress.spec.scalars import (
    Expr,
    FunctionPath,
    Literal_,
    LiteralOrList,
    Name,
    ParameterName,
    Seconds,
    Size,
    Text,
)
from gpuregress.spec.strict import Model, OneOf
from gpuregress.spec.textured import Surface, Texture

# --- buffers ----------------------------------------------------------------------------------------------------------


class Arange(Model):
    """The numbers 0, 1, 2 and so on."""

    start: Expr = Field(0, description="the first value")
    step: Expr = Field(1, description="from one value to the next")


class Uniform(Model):
    """Floats, evenly spread."""

    low: Expr = Field(0.0, description="the smallest value")
    high: Expr = Field(1.0, description="above every value")


class Normal(Model):
    """Floats, normally distributed."""

    mean: Expr = Field(0.0, description="the mean")
    std: Expr = Field(1.0, description="the standard deviation")


class Integers(Model):
    """Whole numbers, each as likely as the others."""

    low: Expr = Field(description="the smallest value")
    high: Expr = Field(description="one above the largest value, as in Python's range")


class ParkMiller(Model):
    """The minimal-standard generator: x → 16807 x mod 2^31-1."""

    seed: Expr = Field(1, description="x before the first step, 1 to 2^31-2")


FILL_WORDS = ("zeros", "ones", "arange", "permutation")


class Fill(OneOf):
    """What a buffer holds before the first launch: one of these."""

    zeros: Literal[True] | None = None
    ones: Literal[True] | None = None
    permutation: Literal[True] | None = None
    arange: Arange | None = None
    value: LiteralOrList | None = Field(None, description="one value everywhere; a list: one for each part")
    uniform: Uniform | None = None
    normal: Normal | None = None
    integers: Integers | None = None
    choice: Annotated[list[Literal_], Field(min_length=1)] | None = Field(None, description="one of these each")
    park_miller: ParkMiller | None = None
    file: Text | None = Field(None, description="a dump, .npy, or .bin, relative to the job")
    python: FunctionPath | None = Field(None, description="module.py:function, relative to the job")

    words: ClassVar[tuple[str, ...]] = FILL_WORDS
    only_words: ClassVar[tuple[str, ...]] = ("zeros", "ones", "permutation")

    @model_validator(mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        kinds = list(cls.model_fields)
        if isinstance(value, str):
            if value in FILL_WORDS:
                return {value: {} if value == "arange" else True}
            if value in kinds:
                raise ValueError(f"{value!r} needs its setting: {{{value}: …}}")
            raise ValueError(f"{value!r} is no fill{suggestion(value, kinds)}")
        if not isinstance(value, dict):
            raise ValueError(f"is {show(value)}: a fill is needed, as zeros or {{normal: {{std: 2.0}}}}")  # noqa: TRY004 - pydantic's
        if len(value) != 1:
            raise ValueError(f"exactly one fill is needed, not {len(value)}: {', '.join(value) or 'none'}")
        ((kind, setting),) = value.items()
        if kind in cls.only_words:
            raise ValueError(f"{kind} takes no setting: write fill: {kind}")
        return {kind: {} if setting is None and kind not in ("value", "file", "python", "choice") else setting}


def _dtype(value: Any) -> str:
    if isinstance(value, dict):
        fields = {name: _field_dtype(name, inner) for name, inner in value.items()}
        return dtypes.from_fields(fields).name
    if not isinstance(value, str):
        raise ValueError(f"is {show(value)}: a dtype is needed, as float32, float4 or {{id: int32, score: float32}}")  # noqa: TRY004 - pydantic's
    try:
        return dtypes.parse(value).name
    except ValueError as error:
        raise ValueError(f"{error}{dtype_hint(value)}") from None


def _field_dtype(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"field {name!r} is {show(value)}: a dtype is needed")  # noqa: TRY004 - pydantic's
    try:
        dtypes.parse(value)
    except ValueError as error:
        raise ValueError(f"field {name!r}: {error}{dtype_hint(value)}") from None
    return value


_DTYPE_SCHEMA = {
    "$comment": "dtype",
    "anyOf": [
        {"type": "string", "enum": list(dtypes.known_names())},
        {"type": "string", "pattern": r"^\s*\{.+\}\s*$", "description": "a record, as {id:int32,score:float32}"},
        {
            "type": "object",
            "minProperties": 1,
            "patternProperties": {f"^{dtypes.FIELD_NAME}$": {"enum": list(dtypes.known_names())}},
            "additionalProperties": False,
            "description": "a record: field → dtype",
        },
    ],
}
Dtype = Annotated[str, PlainValidator(_dtype), WithJsonSchema(_DTYPE_SCHEMA)]


class Buffer(Model):
    """A stretch of device memory."""

    dtype: Dtype = Field(description="numpy's names, bfloat16, CUDA's vectors (float4), or a record")
    shape: Annotated[list[Expr], Field(min_length=1, max_length=32)] = Field(
        description="elements along each axis, slowest first"
    )
    fill: Fill | None = Field(None, description="its contents before the first launch; none: an output, poisoned")
    symbol: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        None, description="the __constant__ or __device__ variable that this buffer is"
    )
    texture: Texture | None = Field(None, description="kernels are given a texture object, and sample it so")
    surface: Surface = Field(
        False, description="true: kernels are given a surface object (cudaSurfaceObject_t); layered: one with layers"
    )


# --- limits and the rest ----------------------------------------------------------------------------------------------


class Limits(Model):
    """What a case may use."""

    timeout: Seconds | None = Field(None, description="seconds, or 30s, 2min")
    memory: Size | None = Field(None, description="bytes of device memory, or 4GiB")


class Expect(Model):
    """The fault that makes the case pass: one in a launch, never in a fill, a reference or a repeat."""

    fault: Literal[tuple(FAULT_KINDS)] = Field(description="the kind of fault")  # type: ignore[valid-type] # from the one list
    kernel: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        None, description="the kernel that it must be in, as launches: names it"
    )
    launch: Expr | None = Field(None, description="the entry of launches: that it must be in, from 1")


class Timing(Model):
    """How often the launches are timed."""

    warmup: Expr = Field(3, description="runs before the first sample")
    samples: Expr = Field(30, description="samples that are kept")


class Resources(Model):
    """What the compiled kernels may use."""

    registers: Expr | None = Field(None, description="of a thread, at most")
    spills: Expr | None = Field(None, description="bytes spilt to local memory, at most")


def _dump(value: Any) -> Any:
    if value == "all" or (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        return value
    raise ValueError(f"is {show(value)}: `all` or a list of the job's buffers is needed")


Dump = Annotated[
    list[str] | Literal["all"],
    PlainValidator(_dump),
    WithJsonSchema({"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}}]}),
]


T = TypeVar("T")


def _not_empty(value: T, info: ValidationInfo) -> T:
    """At least one, except where `spec.load` has taken out those that were wrong."""
    if not value and not (info.context or {}).get("partial"):
        raise ValueError("is empty: at least one is needed")
    return value


class Job(Model):
    """A kernel source, its buffers, its launches, and what correct means."""

    job: Text | None = Field(None, description="its name; default: the file's name without .yaml")
    source: Text = Field(description="relative to this file; .cu is compiled, .ptx and .cubin are taken as they are")
    revision: Text = Field("auto", description="auto, or a literal label for the dumps")
    compile: Compile = Compile.model_validate({})
    seed: Expr = Field(0, description="every random fill derives from it and the buffer's name")
    parameters: dict[ParameterName, Annotated[list[Expr], Field(min_length=1)]] = Field(
        {}, description="every combination is a case"
    )
    where: list[Expr] = Field([], description="conditions on the combinations to keep")
    buffers: Annotated[dict[Name, Buffer], AfterValidator(_not_empty)] = Field(
        description="by name", json_schema_extra={"minProperties": 1}
    )
    launches: Annotated[list[Launch], AfterValidator(_not_empty)] = Field(
        description="in order", json_schema_extra={"minItems": 1}
    )
    dump: Dump | None = Field(
        None, description="buffers to dump; default: those without a fill, and those compared, checked or referenced"
    )
    compare: dict[Name, Rule] = Field({}, description="buffer → rule")
    checks: dict[Name, Annotated[list[Check], Field(min_length=1)]] = Field({}, description="buffer → checks")
    status: Name | None = Field(None, description="the buffer in which the kernel reports its own errors")
    reference: dict[Name, Reference] = Field({}, description="buffer → a gold standard: module.py:function, or more")
    verify: dict[Name, FunctionPath] = Field({}, description="buffer → module.py:function, your own comparison")
    repeat: Expr = Field(1, description="run the case so often and compare the runs with each other")
    limits: Limits = Limits.model_validate({})
    devices: Annotated[list[Literal["cpu", "cuda"]], Field(min_length=1)] = Field(
        ["cpu", "cuda"], description="where it can run"
    )
    tags: list[Text] = Field([], description="for --tag")
    expect: Expect | None = None
    inputs: Literal["unchanged"] | None = Field(
        None, description="unchanged: every filled buffer that is not dumped must still hold its fill after the case"
    )
    timing: Timing | None = None
    resources: Resources | None = None
