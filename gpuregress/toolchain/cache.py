"""Compiled programs on disk, by content.

An entry is named by the digest of all that decides its bits: the sources' text, the options, the architecture, the
contract, the names asked for, and the compiler's minor version. No path of the machine goes in, so that a folder
filled on one host serves another: what `gpuregress build` makes, a host with no compiler runs.

    programs/3f/3f2a….json    the program's record, and the digest of each file beside it
    programs/3f/3f2a….ptx
    programs/3f/3f2a….cubin   where one was built
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import xxhash

from gpuregress.errors import StorageError

FORMAT = 1
"""Counts up whenever an entry's meaning changes; old entries are then never found again."""

_LIMIT_BYTES = 1 << 30
_PRUNE_SECONDS = 3600.0
_UNFINISHED_SECONDS = 3600.0


def folder() -> Path:
    """Where compiled things are kept: `GPUREGRESS_CACHE`, else `gpuregress` in the user's cache folder (XDG)."""
    named = os.environ.get("GPUREGRESS_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "gpuregress"


def digest(parts: Iterable[str | bytes]) -> str:
    """The xxh3-128 of a list of texts, as hexadecimal; the borders between the parts count."""
    state = xxhash.xxh3_128()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def file_path(key: str, suffix: str) -> Path:
    """Where the entry `key` keeps its file with this suffix (`.ptx`, `.cubin`, `.json`)."""
    return folder() / "programs" / key[:2] / f"{key}{suffix}"


def load(key: str) -> dict[str, Any] | None:
    """An entry's record, if it is there and whole.

    Args:
        key: the digest.

    Returns:
        What `store` was given as `record`; None where the entry is not there, or a file of it is cut short or changed.
    """
    path = file_path(key, ".json")
    try:
        record = json.loads(path.read_bytes())
        whole = all(
            xxhash.xxh3_128(file_path(key, suffix).read_bytes()).hexdigest() == expected
            for suffix, expected in record["digests"].items()
        )
        if not whole or record["format"] != FORMAT:
            return None
        _touch(path)
        content: dict[str, Any] = record["record"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Gone, torn or not ours: the caller compiles again and overwrites it.
        return None
    return content


def store(key: str, record: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    """Writes an entry, the record last, so that a record on disk always has its files.

    Args:
        key: the digest.
        record: plain JSON.
        files: suffix → content.

    Raises:
        StorageError: the cache's folder cannot be written.
    """
    digests = {suffix: xxhash.xxh3_128(data).hexdigest() for suffix, data in files.items()}
    document = {"format": FORMAT, "digests": digests, "record": record}
    for suffix, data in files.items():
        _replace(file_path(key, suffix), data)
    _replace(file_path(key, ".json"), json.dumps(document, ensure_ascii=False, indent=1).encode())
    _prune_at_times()


def prune(root: Path, limit_bytes: int = _LIMIT_BYTES) -> int:
    """Deletes the entries used longest ago until a folder is below its limit.

    Args:
        root: a folder of `XX/KEY.suffix` files; files of one key go together.
        limit_bytes: what may stay.

    Returns:
        Bytes deleted.
    """
    entries: dict[str, tuple[float, int, list[Path]]] = {}
    for path in root.glob("??/*"):
        try:
            status = path.stat()
        except OSError:
            continue
        key = path.name.partition(".")[0]
        if not key:  # a temporary file: somebody's write that goes on, or one that a kill left behind
            if time.time() - status.st_mtime > _UNFINISHED_SECONDS:
                path.unlink(missing_ok=True)
            continue
        used, size, paths = entries.get(key, (0.0, 0, []))
        entries[key] = (max(used, status.st_mtime), size + status.st_size, [*paths, path])
    total = sum(size for _, size, _ in entries.values())
    deleted = 0
    for _, size, paths in sorted(entries.values()):
        if total - deleted <= limit_bytes:
            break
        for path in sorted(paths, key=lambda path: path.suffix != ".json"):  # the record first, as it comes last
            path.unlink(missing_ok=True)
        deleted += size
    return deleted


def _prune_at_times() -> None:
    root = folder() / "programs"
    stamp = root / "pruned"
    try:
        if stamp.exists() and time.time() - stamp.stat().st_mtime < _PRUNE_SECONDS:
            return
        stamp.touch()
        prune(root)
    except OSError:
        return  # tidying may fail; what was compiled is there


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        return  # a read-only cache, carried from a build host, has no order of use to keep


def _replace(path: Path, data: bytes) -> None:
    # No fsync, unlike storage.write_atomic: a torn entry is found by its digest and made again.
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise StorageError(
            f"cannot write the cache of compiled programs, {path.parent}: {error.strerror}; "
            "name another folder with GPUREGRESS_CACHE",
        ) from error
