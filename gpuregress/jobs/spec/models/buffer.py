"""Models of buffers and of how they are filled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    Field,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.problems import show
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.models.base import OneOfSpec, Spec
from gpuregress.jobs.spec.models.launch import dtype_hint
from gpuregress.jobs.spec.models.tensor_map import TensorMapSpec
from gpuregress.jobs.spec.models.texture import Surface, TextureSpec
from gpuregress.jobs.spec.models.values import Expr, FunctionPath, LiteralValue, LiteralValues, Name, Text


class ArangeSpec(Spec):
    """The numbers 0, 1, 2 and so on."""

    start: Expr = Field(0, description="the first value")
    step: Expr = Field(1, description="from one value to the next")


class UniformSpec(Spec):
    """Uniformly distributed floats."""

    low: Expr = Field(0.0, description="the smallest value")
    high: Expr = Field(1.0, description="above every value")


class NormalSpec(Spec):
    """Normally distributed floats."""

    mean: Expr = Field(0.0, description="the mean")
    std: Expr = Field(1.0, description="the standard deviation")


class IntegersSpec(Spec):
    """Uniformly distributed integers."""

    low: Expr = Field(description="the smallest value")
    high: Expr = Field(description="one above the largest value, as in Python's range")


class ParkMillerSpec(Spec):
    """The minimal-standard generator: x → 16807 x mod 2^31-1."""

    seed: Expr = Field(1, description="x before the first step, 1 to 2^31-2")


class FillSpec(OneOfSpec):
    """Contents of a buffer before the first launch: one of these."""

    zeros: Literal[True] | None = None
    ones: Literal[True] | None = None
    permutation: Literal[True] | None = None
    arange: ArangeSpec | None = None
    value: LiteralValues | None = Field(None, description="one value everywhere; a list: one value for each part")
    uniform: UniformSpec | None = None
    normal: NormalSpec | None = None
    integers: IntegersSpec | None = None
    choice: Annotated[list[LiteralValue], Field(min_length=1)] | None = Field(None, description="possible elements")
    park_miller: ParkMillerSpec | None = None
    file: Text | None = Field(
        None,
        description="a dump, .npy, .npz:array, .bin or text of numbers, relative to the job; or an earlier result, "
        "baseline:CASE/BUFFER or run:latest/CASE/BUFFER; {n} is replaced by the parameter",
    )
    python: FunctionPath | None = Field(None, description="module.py:function, relative to the job")
    same: Name | None = Field(None, description="the buffer whose contents before the first launch it gets, too")

    words: ClassVar[Mapping[str, Any]] = {"zeros": True, "ones": True, "arange": {}, "permutation": True}
    only_words: ClassVar[tuple[str, ...]] = ("zeros", "ones", "permutation")

    @model_validator(mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
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
Dtype = Annotated[str, PlainValidator(_dtype), WithJsonSchema(_DTYPE_SCHEMA)]


class BufferSpec(Spec):
    """An array in device memory."""

    dtype: Dtype = Field(description="a numpy name, bfloat16, a CUDA vector (float4) or a record")
    shape: Annotated[list[Expr], Field(min_length=1, max_length=32)] = Field(
        description="elements along each axis, slowest first"
    )
    fill: FillSpec | None = Field(None, description="contents before the first launch; without it: an output, poisoned")
    symbol: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        None, description="the __constant__ or __device__ variable that this buffer is"
    )
    texture: TextureSpec | None = Field(None, description="pass a texture object (cudaTextureObject_t)")
    tensormap: TensorMapSpec | None = Field(None, description="pass a tensor map (CUtensorMap)")
    surface: Surface = Field(
        False, description="true: pass a surface object (cudaSurfaceObject_t); layered: one with layers"
    )
