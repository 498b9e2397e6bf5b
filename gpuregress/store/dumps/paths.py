"""Paths of dumps: FOLDER/CASE/BUFFER.REVISION."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.storage import dump_name, safe_join, split_name

__all__ = ["dump_name", "dump_path", "split_name"]


def dump_path(folder: Path, case: str, buffer: str, revision: str) -> Path:
    """The path of a buffer's dump at a revision.

    Args:
        folder: `runs/RUN/dumps` or `baselines`.
        case: `reduce/n=1000,tile=128`.
        buffer: its name.
        revision: its label.

    Raises:
        StorageError: the names lead out of the folder.
    """
    return safe_join(folder, f"{case}/{dump_name(buffer, revision)}")
