"""Models of buffers and of how they are filled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.forms import OneOfSpec, Reads, Spec, doc
from gpuregress.foundation.document.problems import show
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.models.launch import dtype_hint
from gpuregress.jobs.spec.models.tensor_map import TensorMapSpec
from gpuregress.jobs.spec.models.texture import Surface, TextureSpec
from gpuregress.jobs.spec.models.values import Expr, FunctionPath, LiteralValue, LiteralValues, Name, Text


class ArangeSpec(Spec, frozen=True):
    """The numbers 0, 1, 2 and so on."""

    start: Annotated[Expr, doc("the first value")] = 0
    step: Annotated[Expr, doc("from one value to the next")] = 1


class UniformSpec(Spec, frozen=True):
    """Uniformly distributed floats."""

    low: Annotated[Expr, doc("the smallest value")] = 0.0
    high: Annotated[Expr, doc("above every value")] = 1.0


class NormalSpec(Spec, frozen=True):
    """Normally distributed floats."""

    mean: Annotated[Expr, doc("the mean")] = 0.0
    std: Annotated[Expr, doc("the standard deviation")] = 1.0


class IntegersSpec(Spec, frozen=True):
    """Uniformly distributed integers."""

    low: Annotated[Expr, doc("the smallest value")]
    high: Annotated[Expr, doc("one above the largest value, as in Python's range")]


class ParkMillerSpec(Spec, frozen=True):
    """The minimal-standard generator: x → 16807 x mod 2^31-1."""

    seed: Annotated[Expr, doc("x before the first step, 1 to 2^31-2")] = 1


class FillSpec(OneOfSpec, frozen=True):
    """Contents of a buffer before the first launch: one of these."""

    zeros: Literal[True] | None = None
    ones: Literal[True] | None = None
    permutation: Literal[True] | None = None
    arange: ArangeSpec | None = None
    value: Annotated[LiteralValues | None, doc("one value everywhere; a list: one value for each part")] = None
    uniform: UniformSpec | None = None
    normal: NormalSpec | None = None
    integers: IntegersSpec | None = None
    choice: Annotated[Annotated[list[LiteralValue], Meta(min_length=1)] | None, doc("possible elements")] = None
    park_miller: ParkMillerSpec | None = None
    file: Annotated[
        Text | None,
        doc(
            "a dump, .npy, .npz:array, .bin or text of numbers, relative to the job; or an earlier result, "
            "baseline:CASE/BUFFER or run:latest/CASE/BUFFER; {n} is replaced by the parameter"
        ),
    ] = None
    python: Annotated[FunctionPath | None, doc("module.py:function, relative to the job")] = None
    same: Annotated[Name | None, doc("the buffer whose contents before the first launch it gets, too")] = None

    words: ClassVar[Mapping[str, Any]] = {"zeros": True, "ones": True, "arange": {}, "permutation": True}
    only_words: ClassVar[tuple[str, ...]] = ("zeros", "ones", "permutation")

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
        if isinstance(value, str):
            return cls.of_word(value, "fill")
        if not isinstance(value, dict):
            raise ValueError(f"expected a fill, such as zeros or {{normal: {{std: 2.0}}}}, got {show(value)}")
        if len(value) != 1:
            raise ValueError(f"expected exactly one fill, got {len(value)}: {', '.join(value) or 'none'}")
        ((kind, setting),) = value.items()
        if kind in cls.only_words:
            raise ValueError(f"{kind} takes no setting: write fill: {kind}")
        return {kind: {} if setting is None and kind not in ("value", "file", "python", "choice", "same") else setting}


def _dtype(value: Any) -> str:
    if isinstance(value, dict):
        fields = {name: _field_dtype(name, inner) for name, inner in value.items()}
        if any(map(templates.is_template, fields.values())):
            return f"{{{','.join(f'{name}:{inner}' for name, inner in fields.items())}}}"
        return dtypes.from_fields(fields).name
    if isinstance(value, str) and templates.is_template(value):
        return value
    if not isinstance(value, str):
        raise ValueError(
            f"expected a dtype, such as float32, float4 or {{id: int32, score: float32}}, got {show(value)}"
        )
    try:
        return dtypes.parse(value).name
    except ValueError as error:
        raise ValueError(f"{error}{dtype_hint(value)}") from None


def _field_dtype(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"field {name!r}: expected a dtype, got {show(value)}")
    if templates.is_template(value):
        return value
    try:
        dtypes.parse(value)
    except ValueError as error:
        raise ValueError(f"field {name!r}: {error}{dtype_hint(value)}") from None
    return value


_DTYPE_SCHEMA = {
    "$comment": "dtype",
    "anyOf": [
        {"type": "string", "enum": list(dtypes.known_names())},
        {
            "type": "string",
            "pattern": r"\{.+\}",
            "description": "a record, as {id:int32,score:float32}; or {parameter}",
        },
        {
            "type": "object",
            "minProperties": 1,
            "patternProperties": {
                f"^{dtypes.FIELD_NAME}$": {
                    "anyOf": [{"enum": list(dtypes.known_names())}, {"type": "string", "pattern": r"\{[^{}]+\}"}]
                }
            },
            "additionalProperties": False,
            "description": "a record: field → dtype",
        },
    ],
}
Dtype = Annotated[str, Reads(_dtype, _DTYPE_SCHEMA)]


class BufferSpec(Spec, frozen=True):
    """An array in device memory."""

    dtype: Annotated[Dtype, doc("a numpy name, bfloat16, a CUDA vector (float4) or a record")]
    shape: Annotated[
        Annotated[list[Expr], Meta(min_length=1, max_length=32)], doc("elements along each axis, slowest first")
    ]
    fill: Annotated[FillSpec | None, doc("contents before the first launch; without it: an output, poisoned")] = None
    symbol: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1000)] | None,
        doc("the __constant__ or __device__ variable that this buffer is"),
    ] = None
    texture: Annotated[TextureSpec | None, doc("pass a texture object (cudaTextureObject_t)")] = None
    tensormap: Annotated[TensorMapSpec | None, doc("pass a tensor map (CUtensorMap)")] = None
    surface: Annotated[Surface, doc("true: pass a surface object (cudaSurfaceObject_t); layered: one with layers")] = (
        False
    )
