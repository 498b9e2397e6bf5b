"""Digests of a buffer's raw bytes: xxh3-128, hexadecimal."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from gpuregress.foundation.dtypes import ElementType

PIECE = 1 << 20


class RawDigest:
    """Streaming digest of a buffer.

    Args:
        element_type: of every piece; a record's padding counts as zero.
    """

    def __init__(self, element_type: ElementType) -> None:
        self._type = element_type
        self._hash = xxhash.xxh3_128()

    def add(self, array: npt.NDArray[np.generic]) -> None:
        """Add the next elements, row by row; any shape, dtype `element_type.storage`."""
        flat = np.ascontiguousarray(array).reshape(-1)
        if sum(part.scalar.size for part in self._type.parts) == self._type.size:
            self._hash.update(flat.view(np.uint8).data)
            return
        for start in range(0, flat.size, PIECE):
            self._hash.update(_zero_padding(flat[start : start + PIECE]).view(np.uint8).data)

    def hexdigest(self) -> str:
        """32 hexadecimal digits."""
        return self._hash.hexdigest()


def of_array(array: npt.NDArray[np.generic], element_type: ElementType) -> str:
    """Digest an array's raw bytes, row by row; a record's padding counts as zero.

    Args:
        array: any shape, dtype `element_type.storage`.
        element_type: of its elements.
    """
    digest = RawDigest(element_type)
    digest.add(array)
    return digest.hexdigest()


def _zero_padding(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    clean: npt.NDArray[Any] = np.zeros(array.shape, array.dtype)
    for name in array.dtype.names or ():
        clean[name] = array[name]
    return clean
