"""Contents of buffers before the first launch.

A fill is a pure function of seed, name, shape and dtype, the same on every machine and numpy version: random ones draw
raw 64-bit words from Philox4x64-10, whose stream numpy promises to keep, and turn them into numbers by the exact steps
in `inputs.streams`. A vector's or record's parts are the last axis: all parts of an element, then the next element.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuregress.foundation.records import Buffer
from gpuregress.jobs.inputs import files, fills
from gpuregress.jobs.inputs.file_names import is_dump, split_member
from gpuregress.jobs.inputs.fill_check import fill_problem

if TYPE_CHECKING:
    import numpy.typing as npt

    from gpuregress.foundation.dtypes import ElementType

__all__ = ["array_dtype", "fill", "fill_problem", "is_dump", "read_file", "same", "seed_for", "split_member"]


def seed_for(job_seed: int, buffer_name: str) -> int:
    """The seed of a buffer's fill: the first 8 bytes, little-endian, of SHA-256 of `SEED:NAME`."""
    return int.from_bytes(hashlib.sha256(f"{job_seed}:{buffer_name}".encode()).digest()[:8], "little")


def fill(buffer: Buffer, *, read_dump: Callable[[Path], Any] | None = None) -> npt.NDArray[Any]:
    """A buffer's contents before the first launch.

    Args:
        buffer: with a fill.
        read_dump: `dump.reader.read`, for fills from a dump: a path → an object with an `array`.

    Returns:
        An array of the buffer's shape and its element type's storage dtype, padding zeroed.

    Raises:
        HarnessError: a file or function that does not give what the buffer needs.
    """
    return fills.fill(buffer, read_dump=read_dump)


def same(buffer: Buffer, contents: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A buffer's contents from those of the buffer that its fill names; see `fills.same`."""
    return fills.same(buffer, contents)


def read_file(text: str, element: ElementType, *, read_dump: Callable[[Path], Any]) -> npt.NDArray[Any]:
    """The values of any file that a fill can read, in its own dtype and shape; see `files.read`."""
    return files.read(text, element, read_dump).array


def array_dtype(text: str) -> str:
    """The dtype of a `.npy` or an array of a `.npz`, as numpy names it; "" for other files and for records.

    Raises:
        HarnessError: the file cannot be read.
    """
    if split_member(text)[0].suffix not in (".npy", ".npz"):
        return ""

    return files.array_dtype(text)
