"""Models of buffers, of how they are filled, and of their textures and tensor maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from gpuregress.foundation import dtypes
from gpuregress.foundation.document.forms import OneOfSpec, Reads, Spec, doc
from gpuregress.foundation.document.keys import show
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.models.launch import dtype_hint
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
            "description": "a record, such as {id:int32,score:float32}; or {parameter}",
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
    surface: Annotated[
        Literal[True, False, "layered"],
        doc("true: pass a surface object (cudaSurfaceObject_t); layered: one with layers"),
    ] = False


# --- models of buffers that kernels read as textures or surfaces ------------------------------------------------------


MODES = ("wrap", "clamp", "mirror", "border")


def _modes(value: Any) -> list[Any]:
    """One mode for all axes, or a list of them along x, y, z."""
    given = value if isinstance(value, list) else [value]
    wrong = next((mode for mode in given if mode not in MODES), None)
    if wrong is not None or not given:
        what = show(wrong) if given else "an empty list"
        raise ValueError(f"expected one of {', '.join(MODES)}, or a list of them along x, y, z; got {what}")
    return given


_MODES_SCHEMA = {
    "anyOf": [{"enum": list(MODES)}, {"type": "array", "items": {"enum": list(MODES)}, "minItems": 1, "maxItems": 3}]
}


Modes = Annotated[list[str], Reads(_modes, _MODES_SCHEMA)]


class TextureSpec(Spec, frozen=True):
    """Texture object of a buffer. Kernels get a cudaTextureObject_t in place of a pointer."""

    filter: Annotated[Literal["point", "linear"], doc("linear interpolates between the nearest elements")] = "point"
    address: Annotated[Modes, doc("mode for coordinates outside; a list: along x, y, z")] = msgspec.field(
        default_factory=lambda: ["clamp"]
    )
    normalized: Annotated[Literal[True, False], doc("coordinates go from 0 to 1 (wrap and mirror need it)")] = False
    read: Annotated[
        Literal["element", "normalized_float"],
        doc("normalized_float: 8- and 16-bit integers become 0 to 1, or -1 to 1"),
    ] = "element"
    kind: Annotated[
        Literal["plain", "layered", "cube", "cube-layered"],
        doc("layered for tex1DLayered, tex2DLayered; cube for texCubemap, with six faces"),
    ] = "plain"
    memory: Annotated[Literal["array", "linear"], doc("array for tex1D, tex2D, tex3D; linear for tex1Dfetch")] = "array"

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
        if not isinstance(value, dict):
            raise ValueError(f"expected a mapping, such as {{filter: linear}} or {{}}, got {show(value)}")
        return value


# --- models of buffers that kernels take as tensor maps ---------------------------------------------------------------


Axes = Annotated[list[Expr], Meta(min_length=1, max_length=5)]
InnerAxes = Annotated[list[Expr], Meta(min_length=1, max_length=3)]


class Im2colSpec(Spec, frozen=True):
    """Pixels of an im2col map, in place of a box."""

    lower: Annotated[InnerAxes, doc("lower corner of the bounding box along D, H, W; as many as the tensor has")]
    upper: Annotated[InnerAxes, doc("upper corner, from the end: 0 is the last element, -1 the one before")]
    channels: Annotated[Expr, doc("elements of each pixel that are loaded")]
    pixels: Annotated[Expr, doc("pixels that are loaded")]


class TensorMapSpec(Spec, frozen=True):
    """Tensor map of a buffer. Kernels get a CUtensorMap in place of a pointer."""

    box: Annotated[Axes | None, doc("elements of a copied box along each axis, slowest first like shape")] = None
    shape: Annotated[Axes | None, doc("elements of the tensor along each axis; default: the buffer's shape")] = None
    strides: Annotated[
        Annotated[list[Expr], Meta(max_length=4)] | None,
        doc("bytes between elements along each axis but the last; default: without gaps"),
    ] = None
    element_strides: Annotated[Axes | None, doc("step between copied elements along each axis, 1 to 8; default: 1")] = (
        None
    )
    swizzle: Annotated[Literal["none", "32B", "64B", "128B"], doc("order of chunks in shared memory")] = "none"
    interleave: Annotated[Literal["none", "16B", "32B"], doc("slices of channels in global memory")] = "none"
    oob_fill: Annotated[Literal["zeros", "nan"], doc("elements outside the tensor")] = "zeros"
    l2_promotion: Annotated[
        Literal["none", "64B", "128B", "256B"], doc("bytes that the L2 cache fetches at once; changes no result")
    ] = "none"
    type: Annotated[
        Literal["float32_ftz", "tfloat32", "tfloat32_ftz"] | None,
        doc("another type for float32 elements; default: the buffer's"),
    ] = None
    im2col: Annotated[Im2colSpec | None, doc("an im2col map: pixels in place of a box")] = None

    @classmethod
    def as_mapping(cls, value: Any) -> Any:
        """Take the short forms of the mapping."""
        if not isinstance(value, dict):
            raise ValueError(f"expected a mapping, such as {{box: [64, 64], swizzle: 128B}}, got {show(value)}")
        if ("box" in value) == ("im2col" in value):
            both = "both are given" if "box" in value else "neither is given"
            raise ValueError(f"a tensor map has a box, or im2col for an im2col map: {both}")
        return value
