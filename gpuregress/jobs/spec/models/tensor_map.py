"""Models of buffers that kernels take as tensor maps."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from gpuregress.foundation.document.problems import show
from gpuregress.jobs.spec.models.base import Spec
from gpuregress.jobs.spec.models.values import Expr

Axes = Annotated[list[Expr], Field(min_length=1, max_length=5)]
InnerAxes = Annotated[list[Expr], Field(min_length=1, max_length=3)]


class Im2colSpec(Spec):
    """Pixels of an im2col map, in place of a box."""

    lower: InnerAxes = Field(description="lower corner of the bounding box along D, H, W; as many as the tensor has")
    upper: InnerAxes = Field(description="upper corner, from the end: 0 is the last element, -1 the one before")
    channels: Expr = Field(description="elements of each pixel that are loaded")
    pixels: Expr = Field(description="pixels that are loaded")


class TensorMapSpec(Spec):
    """Tensor map of a buffer. Kernels get a CUtensorMap in place of a pointer."""

    box: Axes | None = Field(None, description="elements of a copied box along each axis, slowest first like shape")
    shape: Axes | None = Field(None, description="elements of the tensor along each axis; default: the buffer's shape")
    strides: Annotated[list[Expr], Field(max_length=4)] | None = Field(
        None, description="bytes between elements along each axis but the last; default: without gaps"
    )
    element_strides: Axes | None = Field(
        None, description="step between copied elements along each axis, 1 to 8; default: 1"
    )
    swizzle: Literal["none", "32B", "64B", "128B"] = Field("none", description="order of chunks in shared memory")
    interleave: Literal["none", "16B", "32B"] = Field("none", description="slices of channels in global memory")
    oob_fill: Literal["zeros", "nan"] = Field("zeros", description="elements outside the tensor")
    l2_promotion: Literal["none", "64B", "128B", "256B"] = Field(
        "none", description="bytes that the L2 cache fetches at once; changes no result"
    )
    type: Literal["float32_ftz", "tfloat32", "tfloat32_ftz"] | None = Field(
        None, description="another type for float32 elements; default: the buffer's"
    )
    im2col: Im2colSpec | None = Field(None, description="an im2col map: pixels in place of a box")

    @model_validator(mode="before")
    @classmethod
    def _form(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"expected a mapping, such as {{box: [64, 64], swizzle: 128B}}, got {show(value)}")
        if ("box" in value) == ("im2col" in value):
            both = "both are given" if "box" in value else "neither is given"
            raise ValueError(f"a tensor map has a box, or im2col for an im2col map: {both}")
        return value
