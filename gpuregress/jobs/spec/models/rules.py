"""Models of correctness: comparison rules, checks and references."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from gpuregress.foundation.document.forms import OneOfSpec, Spec, doc
from gpuregress.foundation.document.keys import show
from gpuregress.jobs.spec.models.compilation import CompileSpec
from gpuregress.jobs.spec.models.launch import PYTHON_SETTINGS, LaunchSpec
from gpuregress.jobs.spec.models.values import (
    FUNCTION_SCHEMA,
    NUMBER_SCHEMA,
    Constant,
    Expr,
    FunctionPath,
    LiteralValue,
    LiteralValues,
    Name,
    RowNumber,
    Text,
    real,
    whole,
)

Rows = Annotated[dict[RowNumber, LiteralValues], Meta(min_length=1)]


class OutliersSpec(Spec, frozen=True):
    """Elements that may exceed the first bound. All must keep this second bound."""

    fraction: Annotated[Expr, real(0, above=True), doc("the share of the elements, 0 to 1")]
    rtol: Annotated[Expr, real(0), doc("the second bound, relative")] = 0.0
    atol: Annotated[Expr, real(0), doc("the second bound, absolute")] = 0.0


class MetricSpec(Spec, frozen=True):
    """Error norms of the whole buffer, and their bounds."""

    schema_extra: ClassVar[Mapping[str, Any]] = {"minProperties": 1}

    rms: Annotated[Expr | None, real(0), doc("root of the mean squared difference")] = None
    max: Annotated[Expr | None, real(0), doc("largest difference")] = None
    mean: Annotated[Expr | None, real(0), doc("mean absolute difference")] = None
    l2: Annotated[Expr | None, real(0), doc("norm of the difference over the norm of the baseline")] = None


class SigmasSpec(Spec, frozen=True):
    """Largest deviation of a statistic, in standard errors."""

    sigmas: Annotated[Expr, real(0, above=True), doc("standard errors")]


class StatisticsSpec(Spec, frozen=True):
    """Statistical tests, for results that are random by design."""

    schema_extra: ClassVar[Mapping[str, Any]] = {"minProperties": 1}

    mean: SigmasSpec | None = None
    variance: SigmasSpec | None = None
    ks: Annotated[
        Expr | None, real(0, above=True, high=1), doc("Kolmogorov-Smirnov: the smallest p-value that passes")
    ] = None


class RuleSpec(Spec, frozen=True):
    """Comparison rule of a buffer. Without one, every bit must be equal, in order."""

    rtol: Annotated[Expr | None, real(0), doc("|actual - expected| <= atol + rtol * |expected|")] = None
    atol: Annotated[Expr | None, real(0), doc("see rtol; if only one is given, the other is 0")] = None
    ulp: Annotated[
        Expr | None, whole(0, what="ulp"), doc("the largest number of steps between floats of the dtype")
    ] = None
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
    rtol: Annotated[Expr, real(0), doc("relative tolerance")] = 0.0
    atol: Annotated[Expr, real(0), doc("absolute tolerance")] = 0.0


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


# --- models of references: a Python function, a file, or trusted kernels ----------------------------------------------


_FORMS = ("python", "file", "launches")
_OF_LANGUAGE = ("language", *PYTHON_SETTINGS)
_OF_LAUNCHES = ("source", "compile", "buffer", *_OF_LANGUAGE)
_FILE = re.compile(r"^(baseline:|run:)|^(?![\s\S]*\.py(:|$))[\s\S]*\.")
"""A text that is a file: an earlier result, or a name with a suffix other than `.py`."""


class ReferenceSpec(Spec, frozen=True):
    """A gold standard: a Python function of the inputs, a file, or trusted kernels on the same inputs."""

    short_forms: ClassVar[tuple[Mapping[str, Any], ...]] = (
        FUNCTION_SCHEMA,
        {"$comment": "a file", "type": "string", "pattern": _FILE.pattern},
    )
    schema_extra: ClassVar[Mapping[str, Any]] = {
        "oneOf": [{"required": [form]} for form in _FORMS],
        "dependentRequired": {name: ["launches"] for name in _OF_LAUNCHES},
    }

    python: Annotated[FunctionPath | None, doc("module.py:function, f(inputs, case), relative to the job")] = None
    file: Annotated[Text | None, doc("any file that a fill can read, relative to the job")] = None
    source: Annotated[Text | None, doc("source of the kernels; default: the job's own")] = None
    compile: Annotated[CompileSpec | None, doc("compilation of the source; default: the job's own")] = None
    language: Annotated[
        Literal["triton", "numba", "warp"] | None,
        doc("the language of source, where it is in Python; default: the job's own"),
    ] = None
    signature: Annotated[dict[Name, Text] | None, doc("as the job's, for the reference's kernel")] = None
    constants: Annotated[dict[Name, Constant] | None, doc("as the job's, for the reference's kernel")] = None
    num_warps: Annotated[Expr | None, doc("as the job's, for the reference's kernel")] = None
    num_stages: Annotated[Expr | None, doc("as the job's, for the reference's kernel")] = None
    num_ctas: Annotated[Expr | None, doc("as the job's, for the reference's kernel")] = None
    launches: Annotated[
        Annotated[list[LaunchSpec], Meta(min_length=1)] | None,
        doc("launches on freshly filled buffers; the buffer then holds the gold standard"),
    ] = None
    buffer: Annotated[
        Name | None,
        doc("the buffer that the launches write the gold standard to, such as a float64 twin; default: this buffer"),
    ] = None
    compare: Annotated[RuleSpec | None, doc("the rule for this comparison; default: the buffer's own")] = None
    improves: Annotated[
        Literal[True, False], doc("true: report whether the result is more or less accurate than the accepted one")
    ] = False

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
        if isinstance(value, str):
            return {"file" if _FILE.search(value) else "python": value}
        if not isinstance(value, dict):
            wanted = "path.py:function, a file, {python: path.py:function, compare: …} or {source: …, launches: …}"
            raise ValueError(f"expected {wanted}, got {show(value)}")
        given = [form for form in _FORMS if form in value]
        if len(given) != 1:
            what = f"{' and '.join(f'{form}:' for form in given)} are given" if given else "none is given"
            raise ValueError(f"a reference is one of python:, file: and launches:, and {what}")
        if given != ["launches"] and any(name in value for name in _OF_LAUNCHES):
            wrong = [name for name in _OF_LANGUAGE if name in value]
            text = f"{wrong[0]} belongs" if wrong else "source, compile and buffer belong"
            raise ValueError(f"{text} to launches:, and {given[0]}: is given")
        return value
