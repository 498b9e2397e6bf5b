"""A job as its file says it: pydantic models that do not leave `plan`.

Numbers are still expressions here; `spec.workout` gives them their values, a case at a time.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
)

from gpuregress.document.problems import show
from gpuregress.records import FAULT_KINDS
from gpuregress.spec.models.base import Spec
from gpuregress.spec.models.buffer import BufferSpec
from gpuregress.spec.models.compilation import CompileSpec
from gpuregress.spec.models.launch import LaunchSpec
from gpuregress.spec.models.reference import ReferenceSpec
from gpuregress.spec.models.rules import CheckSpec, RuleSpec
from gpuregress.spec.models.values import (
    Expr,
    FunctionPath,
    Name,
    ParameterName,
    Seconds,
    Size,
    Text,
)


class LimitsSpec(Spec):
    """What a case may use."""

    timeout: Seconds | None = Field(None, description="seconds, or 30s, 2min")
    memory: Size | None = Field(None, description="bytes of device memory, or 4GiB")


class ExpectSpec(Spec):
    """The fault that makes the case pass: one in a launch, never in a fill, a reference or a repeat."""

    fault: Literal[tuple(FAULT_KINDS)] = Field(description="the kind of fault")  # type: ignore[valid-type] # from the one list
    kernel: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        None, description="the kernel that it must be in, as launches: names it"
    )
    launch: Expr | None = Field(None, description="the entry of launches: that it must be in, from 1")


class TimingSpec(Spec):
    """How often the launches are timed."""

    warmup: Expr = Field(3, description="runs before the first sample")
    samples: Expr = Field(30, description="samples that are kept")


class ResourcesSpec(Spec):
    """What the compiled kernels may use."""

    registers: Expr | None = Field(None, description="of a thread, at most")
    spills: Expr | None = Field(None, description="bytes spilt to local memory, at most")


def _dump(value: Any) -> Any:
    if value == "all" or (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        return value
    raise ValueError(f"expected `all` or a list of the job's buffers, got {show(value)}")


Dump = Annotated[
    list[str] | Literal["all"],
    PlainValidator(_dump),
    WithJsonSchema({"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}}]}),
]


T = TypeVar("T")


def _not_empty(value: T, info: ValidationInfo) -> T:
    """At least one, except where `spec.load` has taken out those that were wrong."""
    if not value and not (info.context or {}).get("partial"):
        raise ValueError("expected at least one entry, got none")
    return value


class JobSpec(Spec):
    """A kernel source, its buffers, its launches, and what correct means."""

    job: Text | None = Field(None, description="its name; default: the file's name without .yaml")
    source: Text = Field(description="relative to this file; .cu is compiled, .ptx and .cubin are taken as they are")
    revision: Text = Field("auto", description="auto, or a literal label for the dumps")
    compile: CompileSpec = CompileSpec.model_validate({})
    seed: Expr = Field(0, description="every random fill derives from it and the buffer's name")
    parameters: dict[ParameterName, Annotated[list[Expr], Field(min_length=1)]] = Field(
        {}, description="every combination is a case"
    )
    where: list[Expr] = Field([], description="conditions on the combinations to keep")
    buffers: Annotated[dict[Name, BufferSpec], AfterValidator(_not_empty)] = Field(
        description="by name", json_schema_extra={"minProperties": 1}
    )
    launches: Annotated[list[LaunchSpec], AfterValidator(_not_empty)] = Field(
        description="in order", json_schema_extra={"minItems": 1}
    )
    dump: Dump | None = Field(
        None, description="buffers to dump; default: those without a fill, and those compared, checked or referenced"
    )
    compare: dict[Name, RuleSpec] = Field({}, description="buffer → rule")
    checks: dict[Name, Annotated[list[CheckSpec], Field(min_length=1)]] = Field({}, description="buffer → checks")
    status: Name | None = Field(None, description="the buffer in which the kernel reports its own errors")
    reference: dict[Name, ReferenceSpec] = Field(
        {}, description="buffer → a gold standard: module.py:function, or more"
    )
    verify: dict[Name, FunctionPath] = Field({}, description="buffer → module.py:function, your own comparison")
    repeat: Expr = Field(1, description="run the case so often and compare the runs with each other")
    limits: LimitsSpec = LimitsSpec.model_validate({})
    devices: Annotated[list[Literal["cpu", "cuda"]], Field(min_length=1)] = Field(
        ["cpu", "cuda"], description="where it can run"
    )
    tags: list[Text] = Field([], description="for --tag")
    expect: ExpectSpec | None = None
    inputs: Literal["unchanged"] | None = Field(
        None, description="unchanged: every filled buffer that is not dumped must still hold its fill after the case"
    )
    timing: TimingSpec | None = None
    resources: ResourcesSpec | None = None
