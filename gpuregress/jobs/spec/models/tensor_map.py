"""Models of buffers that kernels take as tensor maps."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from gpuregress.foundation.document.forms import Spec, doc
from gpuregress.foundation.document.problems import show
from gpuregress.jobs.spec.models.values import Expr

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
