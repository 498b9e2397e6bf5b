"""Reading of our own files: bytes, JSON, records, digests; a damaged one is an error with advice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from gpuregress.errors import StorageError
from gpuregress.storage.os_errors import disk_errors

R = TypeVar("R")
_PIECE = 1 << 20


def read_bytes(path: Path) -> bytes:
    """Read a small file.

    Raises:
        StorageError: it is not there or cannot be read.
    """
    with disk_errors(path, "read"):
        if path.exists() and not (path.is_file() or path.is_dir()):  # a FIFO would be waited for
            raise StorageError(f"cannot read {path}: it is not a file")
        return path.read_bytes()


def read_json(path: Path, advice: str) -> Any:
    """Read a JSON file of ours.

    Args:
        path: the file.
        advice: what to do if it is damaged.

    Raises:
        StorageError: it is not there, cannot be read, or is not whole JSON.
    """
    if path.exists() and not path.is_file():
        raise damaged(path, advice)
    try:
        return json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        raise damaged(path, advice) from None


def read_record(path: Path, kind: type[R], advice: str) -> R:
    """Read a record that was written as JSON.

    Args:
        path: the file.
        kind: its class.
        advice: what to do if it is damaged.

    Raises:
        StorageError: it is not there, cannot be read, or does not hold such a record.
    """
    from gpuregress.records import from_json  # noqa: PLC0415 - the first worker of a run starts without the records

    try:
        return from_json(kind, read_json(path, advice))
    except TypeError:
        raise damaged(path, advice) from None


def damaged(path: Path, advice: str) -> StorageError:
    """The error for a file of ours whose content was changed."""
    return StorageError(f"{path}: edited or cut short; {advice}")


def digest_file(path: Path) -> str:
    """Compute the xxh3-128 of a file's bytes, hexadecimal.

    Raises:
        StorageError: it is not there or cannot be read.
    """
    import xxhash  # noqa: PLC0415 - `--help` needs no digests

    digest = xxhash.xxh3_128()
    piece = memoryview(bytearray(_PIECE))
    with disk_errors(path, "read"), path.open("rb", buffering=0) as file:
        while size := file.readinto(piece):
            digest.update(piece[:size])
    return digest.hexdigest()


def digest_text(data: bytes) -> str:
    """Compute the xxh3-128 of bytes, hexadecimal."""
    import xxhash  # noqa: PLC0415 - see digest_file

    return xxhash.xxh3_128_hexdigest(data)
