"""Encoding of tensor maps by the driver, with the constants of cuda.h."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from gpuregress.execution.cuda import cooperative
from gpuregress.foundation.records import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_BYTES, TensorMap
from gpuregress.gpu.descriptors import ELEMENT_SIZES, INTERLEAVES, OOB_FILLS, PROMOTIONS, SPANS


def encode(given: TensorMap, address: int, call: Any = cooperative.call) -> bytes:
    """Encode a tensor map.

    Args:
        given: the map.
        address: of the tensor's first element.
        call: `(name, arguments…)`: calls the driver, and raises its refusals.
    """
    space = ctypes.create_string_buffer(TENSOR_MAP_BYTES + TENSOR_MAP_ALIGNMENT)
    start = -ctypes.addressof(space) % TENSOR_MAP_ALIGNMENT
    tensor = (
        ctypes.c_void_p(ctypes.addressof(space) + start),
        list(ELEMENT_SIZES).index(given.type),
        ctypes.c_uint32(len(given.extents)),
        ctypes.c_void_p(address),
        _array(ctypes.c_uint64, given.extents),
        _array(ctypes.c_uint64, given.strides),
    )
    steps = _array(ctypes.c_uint32, given.element_strides)
    settings = (
        list(INTERLEAVES).index(given.interleave),
        list(SPANS).index(given.swizzle),
        PROMOTIONS.index(given.l2_promotion),
        OOB_FILLS.index(given.oob_fill),
    )
    if given.im2col is None:
        call("cuTensorMapEncodeTiled", *tensor, _array(ctypes.c_uint32, given.box), steps, *settings)
    else:
        corners = (_array(ctypes.c_int, given.im2col.lower), _array(ctypes.c_int, given.im2col.upper))
        sizes = (ctypes.c_uint32(given.im2col.channels), ctypes.c_uint32(given.im2col.pixels))
        call("cuTensorMapEncodeIm2col", *tensor, *corners, *sizes, steps, *settings)
    return space.raw[start : start + TENSOR_MAP_BYTES]


def _array(type_: Any, values: Sequence[int]) -> Any:
    return (type_ * max(1, len(values)))(*values)
