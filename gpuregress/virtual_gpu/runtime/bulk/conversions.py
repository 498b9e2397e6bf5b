"""Conversion of the elements that a tensor copy loads, and the fill for those outside the tensor.

Measured on an H200.
"""

from __future__ import annotations

import numpy as np

from gpuregress.gpu.tensor_maps import TensorMap
from gpuregress.virtual_gpu.runtime.bulk.tiles import Bytes

_ROUNDED = ("tfloat32", "tfloat32_ftz")
_DROPPED = 13
"""Bits of the fraction that float32 has and tfloat32 has not."""
_MAGNITUDE, _INFINITY, _NAN = 0x7FFF_FFFF, 0x7F80_0000, 0x7FFF_E000
_FILL = b"\xf7\x7f"
"""Pattern of the NaN fill: one NaN of every floating-point type."""


def fill(given: TensorMap) -> bytes:
    """Return an element outside of the tensor."""
    return bytes(given.unit) if given.oob_fill == "zeros" else (_FILL * given.unit)[: given.unit]


def loaded(data: Bytes, type_: str) -> Bytes:
    """Convert what a copy has read: float32 to tfloat32, to nearest even; others and subnormal numbers stay.

    Args:
        data: bytes of whole elements.
        type_: of the map.
    """
    if type_ not in _ROUNDED:
        return data
    bits = data.view(np.uint32)
    kept = np.uint32((1 << _DROPPED) - 1)
    half = (kept >> np.uint32(1)) + (bits >> np.uint32(_DROPPED) & np.uint32(1))
    rounded = (bits & np.uint32(_MAGNITUDE)) + half & ~kept | bits & np.uint32(1 << 31)
    is_nan = bits & np.uint32(_MAGNITUDE) > _INFINITY
    return np.where(is_nan, np.uint32(_NAN), rounded).astype(np.uint32).view(np.uint8)
