"""The dump of a buffer: its file, its type and its digests."""

from __future__ import annotations

import math

from gpuregress.gpu.records import Sparse


class Dump(Sparse):
    """A buffer's contents as a file.

    Attributes:
        buffer: its name.
        path: absolute.
        dtype: the element type's name.
        shape: elements along each axis.
        digest: xxh3-128 of the raw bytes (padding zeroed), hexadecimal.
        text_digest: xxh3-128 of the text.
        remote: the address of an accepted dump that is not in the repository; then `path` is that of its local copy,
            which may have to be fetched. "": the file is at `path`.
    """

    buffer: str
    path: str
    dtype: str
    shape: tuple[int, ...]
    digest: str
    text_digest: str
    remote: str = ""

    @property
    def count(self) -> int:
        """Elements in the buffer."""
        return math.prod(self.shape)
