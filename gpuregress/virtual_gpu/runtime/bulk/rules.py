"""Rules of tensor copies, the breach of which is an illegal instruction on an H200."""

from __future__ import annotations

from gpuregress.gpu.tensor_maps import TensorMap
from gpuregress.virtual_gpu.runtime.bulk.tiles import CHUNK, row_bytes, spatial_axes

_BITS = "and or xor"
_REDUCTIONS = {
    "uint32": f"add min max inc dec {_BITS}", "int32": f"add min max {_BITS}", "uint64": f"add min max {_BITS}",
    "int64": "min max", "float16": "add min max", "bfloat16": "add min max", "float32": "add", "float32_ftz": "add",
    "float64": "add", "tfloat32": "add", "tfloat32_ftz": "add",
}  # fmt: skip
"""Type of a tensor → the reductions that there are for it."""


def breach(given: TensorMap, start: tuple[int, ...], *, is_load: bool, reduction: str = "") -> str:
    """Return the rule that a copy breaks; "" if it breaks none.

    Args:
        given: the map.
        start: the coordinates, fastest axis first.
        is_load: whether it goes to shared memory.
        reduction: of a reduction, its operation.
    """
    byte = start[0] * given.unit
    if byte % CHUNK:
        return f"coordinate {start[0]} of the fastest axis is byte {byte}: it must be a multiple of {CHUNK}"
    row = row_bytes(given)
    if row % CHUNK:
        return f"the tensor map has {row} bytes along the fastest axis of its box: they must be a multiple of {CHUNK}"
    if not is_load:
        return _wrong_store(given, start, reduction)
    return _wrong_pixel(given, start)


def _wrong_store(given: TensorMap, start: tuple[int, ...], reduction: str) -> str:
    if min(start) < 0:
        number = next(number for number, value in enumerate(start) if value < 0)
        return f"coordinate {number} is {start[number]}: a box that is stored cannot begin in front of the tensor"
    known = _REDUCTIONS.get(given.type, "").split()
    if reduction and reduction not in known:
        only = f", only {', '.join(known)}" if known else ""
        return f"there is no {reduction} of {given.type} elements{only}"
    if given.im2col is not None and given.interleave != "none":
        return (
            f"pixels are stored, and the tensor map has interleave: {given.interleave}: not supported by the cpu device"
        )
    if given.im2col is not None and (min(given.im2col.lower) < 0 or max(given.im2col.upper) > 0):
        return "the bounding box reaches out of the tensor: pixels cannot be stored with such a tensor map"
    return _wrong_pixel(given, start)


def _wrong_pixel(given: TensorMap, start: tuple[int, ...]) -> str:
    """An im2col copy begins in the bounding box; the image that is loaded may be outside the tensor."""
    box = given.im2col
    if box is None:
        return ""
    for axis, low, high in zip(spatial_axes(given), box.lower, box.upper, strict=True):
        first, last = start[axis], given.extents[axis] - 1 + high
        if not low <= first <= last:
            return f"coordinate {axis} is {first}: the bounding box is {low} to {last} there"
    return ""
