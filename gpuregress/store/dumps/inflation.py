"""Decompression of a dump on demand, into memory that is read like a mapped file.

An anonymous mapping has the size of the whole text. `ensure` decompresses the frames up to an offset, and threads
decompress a few more ahead. The reader releases the pages that it has read, so that memory does not grow with the dump.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gpuregress.foundation.storage import Frames
from gpuregress.foundation.storage.compressed import THREADS

if TYPE_CHECKING:
    from concurrent.futures import Future

_NO_RESERVE = 0x4000  # linux/mman.h: MAP_NORESERVE, which Python names from 3.13 on


class Inflation:
    """The text of a compressed dump; a context manager, at whose end its threads end.

    Args:
        frames: of the open file.

    Attributes:
        data: of the text's size; valid up to the greatest offset that `ensure` was asked for.
    """

    def __init__(self, frames: Frames) -> None:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - few dumps are compressed

        self.data = mmap.mmap(
            -1,
            frames.text_size,
            flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE,
            prot=mmap.PROT_READ | mmap.PROT_WRITE,
        )
        self._frames = frames
        self._pool = ThreadPoolExecutor(THREADS)
        self._coming: deque[Future[bytes]] = deque()
        self._next, self._submitted = 0, 0

    def __enter__(self) -> Self:
        """The text."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the threads; the mapping stays while somebody holds a view of it."""
        self._pool.shutdown(cancel_futures=True)

    def ensure(self, end: int) -> None:
        """Decompress the text before an offset.

        Raises:
            DumpError: a frame of it is damaged.
            StorageError: the file cannot be read.
        """
        starts, last = self._frames.starts, len(self._frames)
        while self._next < last and starts[self._next] < end:
            while self._submitted < min(last, self._next + 2 * THREADS):
                self._coming.append(self._pool.submit(self._frames.text, self._submitted))
                self._submitted += 1
            text = self._coming.popleft().result()
            self.data[starts[self._next] : starts[self._next + 1]] = text
            self._next += 1

    def ends_with_newline(self) -> bool:
        """Tell whether the last byte of the text ends a line, without decompressing more than its frame."""
        return self._frames.text(len(self._frames) - 1).endswith(b"\n")

    def available_to(self, position: int) -> int:
        """The end of the frame that contains an offset; the end of the text behind it."""
        starts = self._frames.starts
        return starts[min(bisect_right(starts, position), len(starts) - 1)]
