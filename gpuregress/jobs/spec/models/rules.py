"""Models of correctness: comparison rules and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from gpuregress.foundation.document.problems import show
from gpuregress.jobs.spec.models.base import OneOfSpec, Spec
from gpuregress.jobs.spec.models.values import (
    NUMBER_SCHEMA,
    Expr,
    FunctionPath,
    LiteralValue,
    LiteralValues,
    RowNumber,
    Text,
)

Rows = Annotated[dict[RowNumber, LiteralValues], Field(min_length=1)]


class OutliersSpec(Spec):
    """Elements that may exceed the first bound. All must keep this second bound."""

    fraction: Expr = Field(description="the share of the elements, 0 to 1")
    rtol: Expr = Field(0.0, description="the second bound, relative")
    atol: Expr = Field(0.0, description="the second bound, absolute")


class MetricSpec(Spec):
    """Error norms of the whole buffer, and their bounds."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    rms: Expr | None = Field(None, description="root of the mean squared difference")
    max: Expr | None = Field(None, description="largest difference")
    mean: Expr | None = Field(None, description="mean absolute difference")
    l2: Expr | None = Field(None, description="norm of the difference over the norm of the baseline")


class SigmasSpec(Spec):
    """Largest deviation of a statistic, in standard errors."""

    sigmas: Expr = Field(description="standard errors")


class StatisticsSpec(Spec):
    """Statistical tests, for results that are random by design."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    mean: SigmasSpec | None = None
    variance: SigmasSpec | None = None
    ks: Expr | None = Field(None, description="Kolmogorov-Smirnov: the smallest p-value that passes")


class RuleSpec(Spec):
    """Comparison rule of a buffer. Without one, every bit must be equal, in order."""

    rtol: Expr | None = Field(None, description="|actual - expected| <= atol + rtol * |expected|")
    atol: Expr | None = Field(None, description="see rtol; if only one is given, the other is 0")
    ulp: Expr | None = Field(None, description="the largest number of steps between floats of the dtype")
    nan: Literal["equal", "never"] = Field("equal", description="equal: NaN equals NaN; never: NaN fails")
    signed_zero: Literal["distinct", "equal"] = Field("distinct", description="equal: -0 counts as 0")
    outliers: OutliersSpec | None = None
    metric: MetricSpec | None = None
    order: Literal["indexed", "any"] = Field("indexed", description="any: compare the values as a multiset")
    key: list[Text] = Field([], description="the columns that identify a record")
    statistics: StatisticsSpec | None = None
    verify: FunctionPath | None = Field(
        None, description="your f(expected, actual, …), which decides; rtol, atol and ulp are its tolerance"
    )


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


class CountSpec(Spec):
    """A number of elements: exact, or between two bounds. A plain number is the smallest."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    exactly: Expr | None = Field(None, description="the number")
    at_least: Expr | None = Field(None, description="the smallest number")
    at_most: Expr | None = Field(None, description="the largest number")

    @model_validator(mode="before")
    @classmethod
    def _bounds(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not value:
            raise ValueError(f"expected a number or a mapping such as {{exactly: 273}}, got {show(value)}")
        if "exactly" in value and len(value) > 1:
            raise ValueError("exactly stands alone: at_least and at_most are bounds")
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> Any:
        """Either a number, or a mapping."""
        mapping = dict(handler.resolve_ref_schema(handler(core)))
        return {"anyOf": [NUMBER_SCHEMA, mapping], "description": cls.__doc__}


DEVICE = "device"
"""The key of `checks` that is no buffer: what the CPU device watches."""
DEVICE_CHECKS = ("races", "uninitialized", "barriers", "leaks", "all")


class CheckSpec(OneOfSpec):
    """A property that a buffer must have by itself, or a dynamic check of the device: one of these."""

    words: ClassVar[Mapping[str, Any]] = {
        "finite": True,
        "unique": True,
        "all_equal": True,
        "nonzero": {"at_least": 1},
        "sorted": "ascending",
        "monotone": "increasing",
        **dict.fromkeys(DEVICE_CHECKS, True),
    }

    finite: Literal[True] | None = Field(None, description="no NaN, no infinity")
    nonzero: CountSpec | None = Field(
        None, description="how many elements are not 0: at least this number, or `{exactly: 273}`"
    )
    range: Annotated[list[LiteralValue], Field(min_length=2, max_length=2)] | None = Field(
        None, description="all elements are in [low, high]"
    )
    sum: SumSpec | None = Field(None, description="the sum of all elements: a number, or one with a tolerance")
    unique: Literal[True] | None = Field(None, description="no two elements are equal")
    sorted: Literal["ascending", "descending"] | None = Field(
        None, description="the order; equal neighbours are allowed"
    )
    monotone: Literal["increasing", "decreasing"] | None = Field(None, description="the strict order")
    all_equal: LiteralValue | None = Field(None, description="all elements are equal, or equal this value")
    equals: Text | None = Field(None, description="equal to this buffer before the first launch")
    permutation: Text | None = Field(None, description="the values of this buffer (before the launch), in any order")
    rows: Rows | None = Field(None, description="row → its value, or a list of the values of all its elements")
    python: FunctionPath | None = Field(None, description="module.py:function, f(array, case)")
    races: Literal[True] | None = Field(None, description="of `device`: two threads touch the same bytes in no order")
    uninitialized: Literal[True] | None = Field(None, description="of `device`: memory is read that nobody wrote")
    barriers: Literal[True] | None = Field(None, description="of `device`: threads do not meet at a barrier")
    leaks: Literal[True] | None = Field(None, description="of `device`: memory from malloc is not freed")
    all: Literal[True] | None = Field(None, description="of `device`: all of its checks")

    @model_validator(mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        if isinstance(value, str):
            return cls.of_word(value, "check")
        if not isinstance(value, dict) or len(value) != 1:
            raise ValueError(f"expected one check, such as finite or {{nonzero: 8}}, got {show(value)}")
        ((kind, setting),) = value.items()
        if kind == "sum" and setting is not None and not isinstance(setting, dict):
            return {"sum": {"value": setting}}
        if kind == "nonzero" and setting is not None and not isinstance(setting, dict):
            return {"nonzero": {"at_least": setting}}
        return value
