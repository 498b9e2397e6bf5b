"""Reading of our own files: bytes, JSON, records, digests; a damaged one is an error with advice."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import xxhash

from gpuregress.foundation.errors import DumpError, StorageError
from gpuregress.foundation.json_form import from_json, to_json
from gpuregress.foundation.storage.atomic_writes import write_atomic
from gpuregress.foundation.storage.compressed import open_frames
from gpuregress.foundation.storage.os_errors import disk_errors, open_file
from gpuregress.gpu.records import Record

R = TypeVar("R")
_PIECE = 1 << 20
_SEAL = "whole"
"""The key of the digest of all other values."""


def read_bytes(path: Path) -> bytes:
    """Read a small file.

    Raises:
        StorageError: it is not there or cannot be read.
    """
    with disk_errors(path, "read"), open_file(path) as file:
        return file.read()


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


def read_record(path: Path, kind: type[R], advice: str, *, is_sealed: bool = True) -> R:
    """Read a record that was written as JSON.

    Args:
        path: the file.
        kind: its class.
        advice: what to do if it is damaged.
        is_sealed: whether it was written by `write_record`; else it has no digest of its values.

    Raises:
        StorageError: it is not there, cannot be read, or does not hold such a record.
    """
    try:
        document = read_json(path, advice)
        return from_json(kind, _unsealed(document) if is_sealed else document)
    except (TypeError, ValueError):
        raise damaged(path, advice) from None


def write_record(path: Path, record: Record, *, durable: bool = True) -> None:
    """Write a record as JSON with a digest of all its values; `read_record` refuses one that was changed.

    Args:
        path: the file.
        record: the content.
        durable: whether it is on disk afterwards.

    Raises:
        StorageError: no space, no permission.
    """
    document = to_json(record)
    sealed = {**document, _SEAL: _digest(document)}
    write_atomic(path, json.dumps(sealed, indent=1).encode(), durable=durable)


def _unsealed(document: Any) -> Any:
    """Return a document without its seal."""
    if not isinstance(document, dict):
        raise TypeError("not an object")
    plain = {key: value for key, value in document.items() if key != _SEAL}
    if document.get(_SEAL) != _digest(plain):
        raise ValueError("it has no seal, or that of another document")
    return plain


def _digest(document: Mapping[str, Any]) -> str:
    return digest_text(json.dumps(document, sort_keys=True, separators=(",", ":")).encode())


def damaged(path: Path, advice: str) -> StorageError:
    """The error for a file of ours whose content was changed."""
    return StorageError(f"{path}: edited or cut short; {advice}")


def digest_file(path: Path) -> str:
    """Compute the xxh3-128 of a file's text, hexadecimal.

    A compressed file has the digest of its text; one that is damaged has that of its bytes, which is no text's.

    Raises:
        StorageError: it is not there or cannot be read.
    """
    digest = xxhash.xxh3_128()
    with disk_errors(path, "read"), open_file(path) as file:
        with contextlib.suppress(DumpError):
            frames = open_frames(file, path)
            if frames is not None:
                for text in frames.pieces():
                    digest.update(text)
                return digest.hexdigest()
        digest.reset()
        piece = memoryview(bytearray(_PIECE))
        while size := file.readinto(piece):  # type: ignore[attr-defined] # of every binary file
            digest.update(piece[:size])
    return digest.hexdigest()


def digest_unchanged(path: Path) -> str:
    """Compute the digest of a file's text, or return that of its last reading, if its time and size are the same.

    Raises:
        StorageError: it is not there or cannot be read.
    """
    with disk_errors(path, "read"):
        state = path.stat()
    return _digest_in_state(path, (state.st_ino, state.st_size, state.st_mtime_ns))


@lru_cache(maxsize=256)
def _digest_in_state(path: Path, _state: tuple[int, ...]) -> str:
    return digest_file(path)


def digest_text(data: bytes) -> str:
    """Compute the xxh3-128 of bytes, hexadecimal."""
    return xxhash.xxh3_128_hexdigest(data)


# --- generated files --------------------------------------------------------------------------------------------------
# A mark in the first line tells them from a user's own, which are never overwritten.


def is_foreign(path: Path, mark: str) -> bool:
    """Tell whether a file is there that does not begin with a mark, so that its generator must leave it.

    Args:
        path: of the file.
        mark: how the first line of a generated file begins.

    Raises:
        StorageError: it cannot be read.
    """
    return path.exists() and not read_bytes(path).startswith(mark.encode())
