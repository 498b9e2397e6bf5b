"""What a job calls correct: rules and checks, as pydantic models that do not leave `plan`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from gpuregress.document.problems import show, suggestion
from gpuregress.spec.models.base import OneOfSpec, Spec
from gpuregress.spec.models.values import NUMBER_SCHEMA, Expr, FunctionPath, LiteralValue, Text


class OutliersSpec(Spec):
    """So many elements may miss the first bound, none this second one."""

    fraction: Expr = Field(description="the share of the elements, 0 to 1")
    rtol: Expr = Field(0.0, description="the second bound, relative")
    atol: Expr = Field(0.0, description="the second bound, absolute")


class MetricSpec(Spec):
    """Bounds of the whole buffer."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    rms: Expr | None = Field(None, description="root of the mean squared difference")
    max: Expr | None = Field(None, description="largest difference")
    mean: Expr | None = Field(None, description="mean absolute difference")
    l2: Expr | None = Field(None, description="norm of the difference over the norm of the baseline")


class SigmasSpec(Spec):
    """How many standard errors a statistic may be off."""

    sigmas: Expr = Field(description="standard errors")


class StatisticsSpec(Spec):
    """For results that are random by design."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    mean: SigmasSpec | None = None
    variance: SigmasSpec | None = None
    ks: Expr | None = Field(None, description="Kolmogorov-Smirnov: the smallest p-value that passes")


class RuleSpec(Spec):
    """When a buffer is the same as its baseline; nothing said: every bit equal, in order."""

    rtol: Expr | None = Field(None, description="|actual - baseline| <= atol + rtol * |baseline|")
    atol: Expr | None = Field(None, description="see rtol; one given means that the other is 0")
    ulp: Expr | None = Field(None, description="steps between floats of the dtype")
    nan: Literal["equal", "never"] = Field("equal", description="is a NaN the same as a NaN")
    signed_zero: Literal["distinct", "equal"] = Field("distinct", description="is -0 the same as 0")
    outliers: OutliersSpec | None = None
    metric: MetricSpec | None = None
    order: Literal["indexed", "any"] = Field("indexed", description="any: the values as a multiset")
    key: list[Text] = Field([], description="a record's columns that find its partner")
    statistics: StatisticsSpec | None = None
    verify: FunctionPath | None = Field(None, description="your own f(expected, actual, case), in place of all this")


class SumSpec(Spec):
    """A bound on the sum of all elements."""

    value: Expr = Field(description="what the sum must be")
    rtol: Expr = Field(0.0, description="relative tolerance")
    atol: Expr = Field(0.0, description="absolute tolerance")

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        """Either a number, or a mapping."""
        mapping = dict(handler.resolve_ref_schema(handler(core)))
        return {"anyOf": [NUMBER_SCHEMA, mapping], "description": cls.__doc__}


_ALONE: dict[str, Any] = {
    "finite": True,
    "unique": True,
    "all_equal": True,
    "nonzero": 1,
    "sorted": "ascending",
    "monotone": "increasing",
}


class CheckSpec(OneOfSpec):
    """A property that a buffer must have by itself: one of these."""

    words: ClassVar[tuple[str, ...]] = tuple(_ALONE)

    finite: Literal[True] | None = Field(None, description="no NaN, no infinity")
    nonzero: Expr | None = Field(None, description="at least so many elements are not 0")
    range: Annotated[list[LiteralValue], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[low, high]"
    )
    sum: SumSpec | None = Field(None, description="what all elements add up to: a number, or one with a tolerance")
    unique: Literal[True] | None = Field(None, description="no value stands twice")
    sorted: Literal["ascending", "descending"] | None = Field(None, description="equal neighbours are right")
    monotone: Literal["increasing", "decreasing"] | None = Field(None, description="strictly")
    all_equal: LiteralValue | None = Field(None, description="every element is the same; or this very value")
    equals: Text | None = Field(None, description="the same as this buffer was before the first launch")
    permutation: Text | None = Field(None, description="the values of this buffer (before the launch), in any order")
    python: FunctionPath | None = Field(None, description="module.py:function, f(array, case)")

    @model_validator(mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        kinds = list(cls.model_fields)
        if isinstance(value, str):
            if value in _ALONE:
                return {value: _ALONE[value]}
            if value in kinds:
                raise ValueError(f"{value!r} needs its setting: {{{value}: …}}")
            raise ValueError(f"unknown check {value!r}{suggestion(value, kinds)}")
        if not isinstance(value, dict) or len(value) != 1:
            raise ValueError(f"expected one check, such as finite or {{nonzero: 8}}, got {show(value)}")
        ((kind, setting),) = value.items()
        if kind == "sum" and setting is not None and not isinstance(setting, dict):
            return {"sum": {"value": setting}}
        return value
