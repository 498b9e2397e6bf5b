"""Models of correctness: comparison rules and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from gpuregress.foundation.document.forms import OneOfSpec, Spec, doc
from gpuregress.foundation.document.problems import show
from gpuregress.jobs.spec.models.values import (
    NUMBER_SCHEMA,
    Expr,
    FunctionPath,
    LiteralValue,
    LiteralValues,
    RowNumber,
    Text,
)

Rows = Annotated[dict[RowNumber, LiteralValues], Meta(min_length=1)]


class OutliersSpec(Spec, frozen=True):
    """Elements that may exceed the first bound. All must keep this second bound."""

    fraction: Annotated[Expr, doc("the share of the elements, 0 to 1")]
    rtol: Annotated[Expr, doc("the second bound, relative")] = 0.0
    atol: Annotated[Expr, doc("the second bound, absolute")] = 0.0


class MetricSpec(Spec, frozen=True):
    """Error norms of the whole buffer, and their bounds."""

    schema_extra: ClassVar[Mapping[str, Any]] = {"minProperties": 1}

    rms: Annotated[Expr | None, doc("root of the mean squared difference")] = None
    max: Annotated[Expr | None, doc("largest difference")] = None
    mean: Annotated[Expr | None, doc("mean absolute difference")] = None
    l2: Annotated[Expr | None, doc("norm of the difference over the norm of the baseline")] = None


class SigmasSpec(Spec, frozen=True):
    """Largest deviation of a statistic, in standard errors."""

    sigmas: Annotated[Expr, doc("standard errors")]


class StatisticsSpec(Spec, frozen=True):
    """Statistical tests, for results that are random by design."""

    schema_extra: ClassVar[Mapping[str, Any]] = {"minProperties": 1}

    mean: SigmasSpec | None = None
    variance: SigmasSpec | None = None
    ks: Annotated[Expr | None, doc("Kolmogorov-Smirnov: the smallest p-value that passes")] = None


class RuleSpec(Spec, frozen=True):
    """Comparison rule of a buffer. Without one, every bit must be equal, in order."""

    rtol: Annotated[Expr | None, doc("|actual - expected| <= atol + rtol * |expected|")] = None
    atol: Annotated[Expr | None, doc("see rtol; if only one is given, the other is 0")] = None
    ulp: Annotated[Expr | None, doc("the largest number of steps between floats of the dtype")] = None
    nan: Annotated[Literal["equal", "never"], doc("equal: NaN equals NaN; never: NaN fails")] = "equal"
    signed_zero: Annotated[Literal["distinct", "equal"], doc("equal: -0 counts as 0")] = "distinct"
    outliers: OutliersSpec | None = None
    metric: MetricSpec | None = None
    order: Annotated[Literal["indexed", "any"], doc("any: compare the values as a multiset")] = "indexed"
    key: Annotated[list[Text], doc("the columns that identify a record")] = []
    statistics: StatisticsSpec | None = None
    verify: Annotated[
        FunctionPath | None, doc("your f(expected, actual, …), which decides; rtol, atol and ulp are its tolerance")
    ] = None


class SumSpec(Spec, frozen=True):
    """A bound on the sum of all elements."""

    short_forms: ClassVar[tuple[Mapping[str, Any], ...]] = (NUMBER_SCHEMA,)

    value: Annotated[Expr, doc("what the sum must be")]
    rtol: Annotated[Expr, doc("relative tolerance")] = 0.0
    atol: Annotated[Expr, doc("absolute tolerance")] = 0.0


class CountSpec(Spec, frozen=True):
    """A number of elements: exact, or between two bounds. A plain number is the smallest."""

    short_forms: ClassVar[tuple[Mapping[str, Any], ...]] = (NUMBER_SCHEMA,)
    schema_extra: ClassVar[Mapping[str, Any]] = {"minProperties": 1}

    exactly: Annotated[Expr | None, doc("the number")] = None
    at_least: Annotated[Expr | None, doc("the smallest number")] = None
    at_most: Annotated[Expr | None, doc("the largest number")] = None

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
        if not isinstance(value, dict) or not value:
            raise ValueError(f"expected a number or a mapping such as {{exactly: 273}}, got {show(value)}")
        if "exactly" in value and len(value) > 1:
            raise ValueError("exactly stands alone: at_least and at_most are bounds")
        return value


DEVICE = "device"
"""The key of `checks` that is no buffer: what the CPU device watches."""
DEVICE_CHECKS = ("races", "uninitialized", "barriers", "leaks", "all")


class CheckSpec(OneOfSpec, frozen=True):
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

    finite: Annotated[Literal[True] | None, doc("no NaN, no infinity")] = None
    nonzero: Annotated[
        CountSpec | None, doc("how many elements are not 0: at least this number, or `{exactly: 273}`")
    ] = None
    range: Annotated[
        Annotated[list[LiteralValue], Meta(min_length=2, max_length=2)] | None, doc("all elements are in [low, high]")
    ] = None
    sum: Annotated[SumSpec | None, doc("the sum of all elements: a number, or one with a tolerance")] = None
    unique: Annotated[Literal[True] | None, doc("no two elements are equal")] = None
    sorted: Annotated[Literal["ascending", "descending"] | None, doc("the order; equal neighbours are allowed")] = None
    monotone: Annotated[Literal["increasing", "decreasing"] | None, doc("the strict order")] = None
    all_equal: Annotated[LiteralValue | None, doc("all elements are equal, or equal this value")] = None
    equals: Annotated[Text | None, doc("equal to this buffer before the first launch")] = None
    permutation: Annotated[Text | None, doc("the values of this buffer (before the launch), in any order")] = None
    rows: Annotated[Rows | None, doc("row → its value, or a list of the values of all its elements")] = None
    python: Annotated[FunctionPath | None, doc("module.py:function, f(array, case)")] = None
    races: Annotated[Literal[True] | None, doc("of `device`: two threads touch the same bytes in no order")] = None
    uninitialized: Annotated[Literal[True] | None, doc("of `device`: memory is read that nobody wrote")] = None
    barriers: Annotated[Literal[True] | None, doc("of `device`: threads do not meet at a barrier")] = None
    leaks: Annotated[Literal[True] | None, doc("of `device`: memory from malloc is not freed")] = None
    all: Annotated[Literal[True] | None, doc("of `device`: all of its checks")] = None

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
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
