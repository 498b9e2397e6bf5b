"""Generated files: a mark in the first line tells them from a user's own, which are never overwritten."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.storage.reading import read_bytes


def is_foreign(path: Path, mark: str) -> bool:
    """Tell whether a file is there that does not begin with a mark, so that its generator must leave it.

    Args:
        path: of the file.
        mark: how the first line of a generated file begins.

    Raises:
        StorageError: it cannot be read.
    """
    return path.exists() and not read_bytes(path).startswith(mark.encode())
