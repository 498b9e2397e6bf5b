"""Accepted dumps by digest: uploaded once, and fetched into a cache when they are read.

    s3://bucket/prefix/9f/9f2c….zst                     the dump whose text has this digest, compressed
    ~/.cache/gpuregress/dumps/9f/9f2c…/sum.1.4.zst      its copy

Every copy is verified by the digest in `baseline.yaml` before it is read. The cache is bounded: the copies that were
not used for the longest time go first.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import BaselineError, DumpError, StorageError
from gpuregress.foundation.records import Dump
from gpuregress.store.remote import objects
from gpuregress.store.remote.objects import ObjectFolder
from gpuregress.toolchain import cache

LIMIT_BYTES = 10 << 30
"""Of the cache."""

_IN_USE_S = 3600.0
_AT_ONCE = 8


def described(url: str, dump: Dump, revision: str) -> Dump:
    """Describe a dump that is kept in a remote folder.

    Args:
        url: of the folder.
        dump: its buffer, type and digests.
        revision: its label.
    """
    name = storage.dump_name(dump.buffer, revision) + storage.SUFFIX
    path = cache.folder() / "dumps" / dump.text_digest[:2] / dump.text_digest / name
    remote = f"{url.rstrip('/')}/{_name(dump.text_digest)}"
    return Dump(dump.buffer, str(path), dump.dtype, dump.shape, dump.digest, dump.text_digest, remote)


def is_local(dump: Dump) -> bool:
    """Tell whether a dump can be read without a network; a damaged copy of a remote one cannot."""
    return not dump.remote or _is_whole(dump)


def local(dump: Dump) -> Path:
    """Return the file of a dump; a remote one is fetched and verified, unless a copy is here.

    Raises:
        BaselineError: the object is missing or damaged, or cannot be read; the message names the buffer.
        StorageError: the cache cannot be written.
    """
    path = Path(dump.path)
    if not dump.remote or _is_whole(dump):
        return path
    cache.check(path.parent)
    with storage.disk_errors(path):
        cache.make_folder(path.parent)
    url, name = dump.remote.rsplit("/", 2)[0], _name(dump.text_digest)
    with storage.atomic(path, durable=False) as file:
        try:
            is_there = ObjectFolder(url).download(name, Path(file.name))
        except StorageError as error:
            raise BaselineError(f"buffer {dump.buffer}: its accepted dump cannot be fetched: {error}") from None
        if not is_there:
            raise BaselineError(
                f"buffer {dump.buffer}: its accepted dump {dump.remote} is missing; restore the object, correct "
                "`folders: dumps`, or accept the case anew"
            )
        if storage.digest_file(Path(file.name)) != dump.text_digest:
            raise BaselineError(
                f"buffer {dump.buffer}: its accepted dump {dump.remote} is damaged: its digest is another one; "
                "restore the object, or delete it and accept the case anew"
            )
    prune()
    return path


def upload_all(dumps: Sequence[tuple[Dump, Dump]]) -> None:
    """Upload dumps, and return when all of them are complete.

    Args:
        dumps: a dump of a run or a baseline, and its description from `described`.

    Raises:
        BaselineError: one was changed since it was written.
        StorageError: one could not be uploaded, and the message names the buffer; or the cache cannot be written.
    """
    unique = list({target.remote: (source, target) for source, target in dumps}.values())
    if len(unique) > 1 and objects.is_parallel(unique[0][1].remote):
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only accepts need it

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(_upload, unique))
    else:
        for pair in unique:
            _upload(pair)
    prune()


def _upload(pair: tuple[Dump, Dump]) -> None:
    """Compress a dump into the cache, where it stays, and upload it."""
    source, target = pair
    path = Path(target.path)
    cache.check(path.parent)
    if not _is_whole(target):
        with storage.disk_errors(path):
            cache.make_folder(path.parent)
        with storage.atomic(path, durable=False) as file:
            storage.compress_file(Path(source.path), file)
        if not _is_whole(target):
            path.unlink(missing_ok=True)
            raise BaselineError(f"{source.path}: changed since the run wrote it; run the case again")
    url, name = target.remote.rsplit("/", 2)[0], _name(target.text_digest)
    try:
        ObjectFolder(url).upload(path, name)
    except StorageError as error:
        raise StorageError(f"buffer {target.buffer}: its dump {source.path} cannot be uploaded: {error}") from None


def _name(digest: str) -> str:
    return f"{digest[:2]}/{digest}{storage.SUFFIX}"


def _is_whole(dump: Dump) -> bool:
    """Tell whether a copy is in the cache with the text that it should have."""
    path = Path(dump.path)
    try:
        state = path.stat()
        if _digest(path, (state.st_ino, state.st_size, state.st_mtime_ns)) != dump.text_digest:
            return False
    except (OSError, StorageError, DumpError):
        return False
    with contextlib.suppress(OSError):  # the order of use, not the time of the change
        os.utime(path, ns=(time.time_ns(), state.st_mtime_ns))
    return True


@lru_cache(maxsize=256)
def _digest(path: Path, _state: tuple[int, ...]) -> str:
    return storage.digest_file(path)


def prune(limit_bytes: int = 0) -> None:
    """Remove the copies that were not used for the longest time; none of the last hour.

    Args:
        limit_bytes: what may stay; 0: LIMIT_BYTES.
    """
    copies = sorted(_copies(), key=lambda copy: copy[1].st_atime)
    total = sum(status.st_size for _, status in copies)
    for path, status in copies:
        if total <= (limit_bytes or LIMIT_BYTES) or time.time() - status.st_atime < _IN_USE_S:
            return
        with contextlib.suppress(OSError):  # another process was faster
            path.unlink()
            path.parent.rmdir()
        total -= status.st_size


def _copies() -> Iterable[tuple[Path, os.stat_result]]:
    for path in (cache.folder() / "dumps").glob("??/*/[!.]*"):
        with contextlib.suppress(OSError):
            yield path, path.stat()
