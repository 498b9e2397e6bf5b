"""Cache of compiled programs on disk, addressed by content.

An entry is named by the digest of all that decides its bits: the sources' text, the options, the architecture, the
contract, the names asked for, the compiler's minor version, and the code and headers of this package. No path of the
machine goes in, so that a folder filled on one host serves another: what `gpuregress build` makes, a host with no
compiler runs.

    programs/3f/3f2a….json    the program's record, the digest of each file beside it, and one of all this
    programs/3f/3f2a….ptx
    programs/3f/3f2a….cubin   where one was built

Digests find accidents, not intent: whoever may write here decides what others run. So nothing is taken from folders
and files that belong to another user (root may have them), or that the group or others may write.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import xxhash

from gpuregress.foundation import user_home
from gpuregress.foundation.errors import StorageError

FORMAT = 2
"""Counts up whenever an entry's meaning changes; old entries are then never found again."""

_VARIABLE = "GPUREGRESS_CACHE"
_LIMIT_BYTES = 1 << 30
_PRUNE_SECONDS = 3600.0
_UNFINISHED_SECONDS = 3600.0
_FOLDER_MODE = 0o755
"""Whatever the umask: a folder that the group may write is refused."""
STAND_INS = "GPUREGRESS_EXEC_LIBRARIES"
"""The variable that `gpuregress exec` sets: nvJitLink gives PTX in place of a cubin then, which no GPU runs."""


def folder() -> Path:
    """Return the folder of the cache: `GPUREGRESS_CACHE`, else `gpuregress` in the user's cache folder (XDG).

    A user without a home has one among the temporary files; as everywhere, it is only used where it is the user's own.
    """
    named = os.environ.get(_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    own = Path(base) if base else user_home.home()
    if own is None:
        return Path(tempfile.gettempdir(), f"gpuregress-{os.geteuid()}")
    return (own if base else own / ".cache").absolute() / "gpuregress"


@contextlib.contextmanager
def used_folder(path: Path) -> Iterator[None]:
    """Use another folder in this process and in those that it starts, until the block is over."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = str(path)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before


def digest(parts: Iterable[str | bytes]) -> str:
    """The xxh3-128 of a list of texts, as hexadecimal; the borders between the parts count."""
    state = xxhash.xxh3_128()
    for part in parts:
        # Names of files may hold bytes that are no UTF-8.
        data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


@functools.cache
def code_digest() -> str:
    """Compute the digest of all files of gpuregress, with their names; a developer's change makes another one.

    Measured tables of the CPU device and headers decide results as modules do.
    """
    root = Path(__file__).parents[1]
    files = sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return digest([part for path in files for part in (str(path.relative_to(root)), path.read_bytes())])[:12]


def file_path(key: str, suffix: str) -> Path:
    """Return the path of an entry's file with this suffix (`.ptx`, `.cubin`, `.json`)."""
    return folder() / "programs" / key[:2] / f"{key}{suffix}"


def load(key: str) -> dict[str, Any] | None:
    """Load an entry's record; None if it is missing or damaged.

    Args:
        key: the digest.

    Returns:
        What `store` was given as `record`; None where the entry is not there, or any of it is cut short or changed.

    Raises:
        StorageError: others may write what would be taken.
    """
    path = file_path(key, ".json")
    check(path.parent)
    try:
        document = json.loads(_read(path))
        if document["format"] != FORMAT or document["digest"] != _digest(key, document["digests"], document["record"]):
            return None
        for suffix, expected in document["digests"].items():
            if xxhash.xxh3_128_hexdigest(_read(file_path(key, suffix))) != expected:
                return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Gone, torn or not ours: the caller compiles again and overwrites it.
        return None
    _touch(path)
    record: dict[str, Any] = document["record"]
    return record


def store(key: str, record: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    """Write an entry, the record last, so that a record on disk always has its files.

    Args:
        key: the digest.
        record: plain JSON.
        files: suffix → content.

    Raises:
        StorageError: the cache's folder cannot be written, or others may write it.
    """
    digests = {suffix: xxhash.xxh3_128(data).hexdigest() for suffix, data in files.items()}
    record = json.loads(json.dumps(record))  # as it will be read: a number that is a key becomes text
    document = {"format": FORMAT, "digest": _digest(key, digests, record), "digests": digests, "record": record}
    check(file_path(key, "").parent)
    for suffix, data in files.items():
        _replace(file_path(key, suffix), data)
    _replace(file_path(key, ".json"), json.dumps(document, ensure_ascii=False, indent=1).encode())
    _prune_at_times()


def keep(key: str, record: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    """Write an entry as `store` does; a cache that cannot be written costs time and nothing else."""
    with contextlib.suppress(StorageError):
        store(key, record, files)


@contextlib.contextmanager
def making(key: str) -> Iterator[None]:
    """Hold an entry's lock while the entry is made; another process waits, and then finds the entry.

    The system frees the lock of a process that is killed. A cache that cannot be written, or whose file system knows no
    locks, is used without.

    Args:
        key: the digest. Only one entry may be made at a time by a thread.
    """
    path = file_path(key, ".lock")
    try:
        make_folder(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # Who waits for this file finds the entry; who comes later makes a new one.
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(descriptor)


def note_stages(program: str, seconds: Mapping[str, float]) -> None:
    """Keep the times of a program's stages; a cache that cannot be written costs the times and nothing else.

    Args:
        program: its key.
        seconds: stage, in words → its wall time.
    """
    now = time.time()
    with contextlib.suppress(StorageError):
        stages = {**_stages(program), **{stage: [taken, now] for stage, taken in seconds.items()}}
        store(_stages_key(program), {"stages": stages}, {})


def stages_since(program: str, start: float) -> dict[str, float]:
    """Return the stages of a program that ended after a time, each with its seconds of wall time.

    Args:
        program: its key.
        start: seconds since the epoch.
    """
    with contextlib.suppress(StorageError):
        return {stage: taken for stage, (taken, ended) in _stages(program).items() if ended >= start}
    return {}


def _stages(program: str) -> dict[str, list[float]]:
    record = load(_stages_key(program)) or {}
    stages: dict[str, list[float]] = record.get("stages", {})
    return stages


def _stages_key(program: str) -> str:
    return digest(["stages", program])


def note_slow(program: str, *, is_slow: bool = True) -> None:
    """Keep that a launch of a program took long without optimised code, so that the next run optimises it at once.

    Args:
        program: its key.
        is_slow: False: it did so with optimised code, too. Then the next run tries the other, which can tell where an
            endless launch stands.
    """
    keep(_slow_key(program), {"slow": is_slow}, {})


def is_slow(program: str) -> bool:
    """Tell whether a launch of the program with this key took long before.

    Raises:
        StorageError: others may write the cache.
    """
    record = load(_slow_key(program))
    return record is not None and bool(record["slow"])


def _slow_key(program: str) -> str:
    return digest(["slow", program])


def table_path(name: str) -> Path:
    """Return the path of an unpacked table of the virtual GPU; it may be missing.

    Raises:
        StorageError: others may write the cache.
    """
    path = folder() / "tables" / name
    check(path.parent)
    return path


def keep_table(name: str, data: memoryview) -> None:
    """Write an unpacked table; a cache that cannot be written costs time and nothing else.

    It is not flushed, as no entry is: to compute a table's digest takes 2 ms, to flush the table 50.
    """
    with contextlib.suppress(StorageError):
        _replace(table_path(name), data)


def check_folder() -> None:
    """Refuse a cache folder that other users may write.

    Raises:
        StorageError: it belongs to another user, or others may write it.
    """
    check(folder() / "programs")


def check(inner: Path) -> None:
    """Refuse folders of the cache, down to this one, that other users may write.

    Args:
        inner: a folder in the cache, or the cache's own; it may be missing.

    Raises:
        StorageError: one belongs to another user, or others may write it.
    """
    root = folder()
    for path in (root, *(root / part for part in _parts(inner.relative_to(root)))):
        try:
            _check_writers(path, path.stat())
        except OSError:
            return


def make_folder(inner: Path) -> None:
    """Make a folder in the cache that only this user may write.

    Raises:
        OSError: no space, no permission.
    """
    root = folder()
    root.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
    for part in _parts(inner.relative_to(root)):
        (root / part).mkdir(exist_ok=True, mode=_FOLDER_MODE)


def _parts(relative: Path) -> list[Path]:
    return [*reversed([parent for parent in relative.parents if parent.parts]), relative]


def _check_writers(path: Path, status: os.stat_result) -> None:
    if status.st_uid not in (0, os.geteuid()):
        why, cure = f"belongs to another user (number {status.st_uid})", f"chown -R {os.geteuid()}"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        who = "everybody" if status.st_mode & stat.S_IWOTH else "its group"
        why, cure = f"may be written by {who}", "chmod -R go-w"
    else:
        return
    raise StorageError(
        f"the cache of compiled programs is not used: {path} {why}, who could change what you run; "
        f"name another folder with GPUREGRESS_CACHE, or, if you trust all that is in it, `{cure} {folder()}`"
    )


def _read(path: Path) -> bytes:
    """A regular file's content.

    Raises:
        OSError: there is none.
        StorageError: others may write it.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would keep us waiting
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(errno.ENOENT, "no file", str(path))
        _check_writers(path, status)
        return file.read()


def _digest(key: str, digests: Mapping[str, str], record: Mapping[str, Any]) -> str:
    return digest((key, json.dumps([digests, record], sort_keys=True, separators=(",", ":"))))


def prune(root: Path, limit_bytes: int = _LIMIT_BYTES) -> int:
    """Delete the least recently used entries until a folder is below its limit.

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


def _replace(path: Path, data: bytes | memoryview) -> None:
    # No fsync, unlike storage.write_atomic: a torn entry is found by its digest and made again.
    temporary = ""
    try:
        make_folder(path.parent)
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
