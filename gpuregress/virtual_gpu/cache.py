"""Protocol of the cache that keeps what the virtual GPU compiles from one process to the next.

A device without one compiles each program anew. `gpuregress.toolchain.cache` is a module with these functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol


class Cache(Protocol):
    """Entries by key, each a record of plain JSON with files beside it.

    What cannot be written costs time and nothing else. Reading raises an error where others may write the cache.
    """

    def digest(self, parts: Iterable[str | bytes]) -> str:
        """Make a key of all that decides an entry."""

    def load(self, key: str) -> dict[str, Any] | None:
        """Load an entry's record; None if it is missing or damaged."""

    def keep(self, key: str, record: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
        """Write an entry: its record, and suffix -> content of its files."""

    def file_path(self, key: str, suffix: str) -> Path:
        """Return the path of an entry's file."""

    def making(self, key: str) -> AbstractContextManager[None]:
        """Hold an entry's lock while the entry is made."""

    def note_stages(self, program: str, seconds: Mapping[str, float]) -> None:
        """Keep the wall times of the stages of compiling a program: stage -> seconds."""

    def note_slow(self, program: str, *, is_slow: bool = True) -> None:
        """Keep that a launch of a program took long without optimised code, or (False) with it, too."""

    def is_slow(self, program: str) -> bool:
        """Tell whether a launch of the program took long before."""

    def table_path(self, name: str) -> Path:
        """Return the path of an unpacked table; it may be missing."""

    def keep_table(self, name: str, data: memoryview) -> None:
        """Write an unpacked table."""
