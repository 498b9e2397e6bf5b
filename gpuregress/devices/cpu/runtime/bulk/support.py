"""Tensor maps that the CPU device refuses, because no manual says what a card does with them."""

from __future__ import annotations

from gpuregress.records import TensorMap
from gpuregress.records.tensors.tensor_maps import SPANS

_CONVERTED = ("float32_ftz", "tfloat32", "tfloat32_ftz")


def refusal(given: TensorMap) -> str:
    """Return the setting of a tensor map that is not supported; "" if all are."""
    if given.interleave != "none":
        return f"interleave: {given.interleave}"
    if given.type in _CONVERTED:
        return f"type: {given.type}"
    if given.oob_fill == "nan":
        return "oob_fill: nan"
    inner = (given.im2col.channels if given.im2col else given.box[0]) * given.element_size
    if inner < SPANS[given.swizzle]:
        return f"swizzle: {given.swizzle} with {inner} bytes along the last axis of the box"
    return ""
