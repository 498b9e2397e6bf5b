"""Verification of a dump's file by the digest of its text, before it is read for a verdict."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from gpuregress.foundation.errors import DumpError
from gpuregress.foundation.records import Dump
from gpuregress.foundation.storage import digest_file, disk_errors
from gpuregress.store import remote


def verify(dump: Dump) -> None:
    """Refuse a dump whose file was changed since it was written; fetch one that is elsewhere.

    Args:
        dump: with the digest of its text, "" where none is known. One whose two digests are equal was described from
            the file itself, and is taken as it is.

    Raises:
        DumpError: it was cut short, edited or exchanged.
        BaselineError: it is elsewhere, and cannot be fetched.
        StorageError: it is gone, or cannot be read.
    """
    if dump.remote:
        remote.local(dump)  # verifies it
        return
    if dump.text_digest in ("", dump.digest):
        return
    path = Path(dump.path)
    with disk_errors(path, "read"):
        state = path.stat()
    if _digest(path, (state.st_ino, state.st_size, state.st_mtime_ns)) != dump.text_digest:
        raise DumpError(f"{path}: edited or cut short since it was written; run the case again")


@lru_cache(maxsize=64)
def _digest(path: Path, _state: tuple[int, ...]) -> str:
    """A buffer may be read for several comparisons and checks."""
    return digest_file(path)
