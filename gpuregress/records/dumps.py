"""The dump of a buffer: its file, its type and its digests."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dump:
    """A buffer's contents as a file.

    Attributes:
        buffer: its name.
        path: absolute.
        dtype: the element type's name.
        shape: elements along each axis.
        digest: xxh3-128 of the raw bytes (padding zeroed), hexadecimal.
        text_digest: xxh3-128 of the file.
    """

    buffer: str
    path: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    text_digest: str

    @property
    def count(self) -> int:
        """Elements in the buffer."""
        return math.prod(self.shape)
