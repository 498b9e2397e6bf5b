"""Accepted dumps outside the repository: objects named by digest, in any storage that fsspec knows.

An operation of the network that makes no progress is an error, not a hang. Libraries have timeouts of their own, but
not all of them, and retries multiply them. So each operation runs in a thread that is left alone when its time is over;
the process does not wait for it at its end.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from gpuregress.foundation import storage
from gpuregress.foundation.background import Background
from gpuregress.foundation.errors import BaselineError, HarnessError, StorageError
from gpuregress.foundation.records import Dump
from gpuregress.foundation.storage import TEMPORARY_PREFIX, explain, sync_all
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain import cache

R = TypeVar("R")


class NoAnswer(StorageError):
    """An operation made no progress and was given up."""


STALLED_S = 60.0
"""Seconds without progress after which an operation is given up."""
SLOWEST_BYTES_PER_S = 1 << 20
"""Speed that is assumed where nothing tells the progress."""
_LOOK_S = 0.5


def within(
    action: Callable[[], R], what: str, *, size: int = 0, progress: Callable[[], int] = lambda: 0, stalled_s: float = 0
) -> R:
    """Run an operation in a thread, and give it up when it stalls.

    Args:
        action: the operation.
        what: for the message: `reading s3://bucket/x`.
        size: bytes that it moves.
        progress: grows while bytes move; constant where nothing is known.
        stalled_s: seconds without progress; 0: STALLED_S.

    Raises:
        NoAnswer: it made no progress for that long.
        Exception: what the operation raised.
    """
    limit = stalled_s or STALLED_S
    begin = moved = time.monotonic()
    before = progress()
    operation = Background(action, "gpuregress-remote")
    while not operation.ends_within(min(_LOOK_S, limit / 4)):
        now, count = time.monotonic(), progress()
        if count != before:
            before, moved = count, now
        if now - moved > limit and now - begin > limit + size / SLOWEST_BYTES_PER_S:
            raise NoAnswer(f"{what}: no answer for {now - moved:.0f} s; check the network, then run again")
    return operation.result()


_OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss", "memory"}
_LOCAL = {"file", "local"}
_OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {"config_kwargs": {"connect_timeout": 10, "read_timeout": 30, "retries": {"max_attempts": 2}}},
    "sftp": {"timeout": 10, "banner_timeout": 10, "auth_timeout": 10},
}
_SAME = {"s3a": "s3", "ssh": "sftp"}
_SECRET = re.compile(r"KEY|SECRET|TOKEN|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_SHORTEST_SECRET = 6
_PAUSE_S = 300.0
_SILENT: dict[str, float] = {}
"""Address → when it last gave no answer: for some minutes, others are not made to wait for it."""
_LONGEST_MESSAGE = 300


class ObjectFolder(Record):
    """A folder of objects.

    Attributes:
        url: as `s3://bucket/prefix`.
    """

    url: str

    def size(self, name: str) -> int | None:
        """Return the bytes of an object; None where there is none.

        Raises:
            StorageError: the folder cannot be reached.
            HarnessError: the library for it is not installed.
        """
        return self._ask(lambda fs, root: _size(fs, f"{root}/{name}"), f"looking for {self.url}/{name}")

    def upload(self, file: Path, name: str) -> None:
        """Store a file under a name, whole or not at all; one that is there with the same size is left alone.

        Raises:
            StorageError: the folder cannot be reached or written, or did not keep all of it.
            HarnessError: the library for it is not installed.
        """
        size = file.stat().st_size
        if self.size(name) == size:
            return
        from fsspec.callbacks import Callback  # noqa: PLC0415 - only projects with remote dumps have it

        sent = Callback()
        self._ask(
            lambda fs, root: _put(fs, root, file, name, sent),
            f"writing {self.url}/{name}",
            size=size,
            progress=lambda: sent.value,
        )
        arrived = self.size(name)
        if arrived != size:
            raise StorageError(f"writing {self.url}/{name}: {arrived or 0} of {size} bytes arrived; accept again")

    def download(self, name: str, file: Path) -> bool:
        """Copy an object to a file; False where there is none.

        Raises:
            StorageError: the folder cannot be reached, or this disk is full.
            HarnessError: the library for it is not installed.
        """
        size = self.size(name)
        if size is None:
            return False
        self._require_space(size, file)
        self._ask(
            lambda fs, root: fs.get_file(f"{root}/{name}", str(file)),
            f"reading {self.url}/{name}",
            size=size,
            progress=lambda: file.stat().st_size if file.exists() else 0,
            target=file,
        )
        return True

    @staticmethod
    def _require_space(size: int, file: Path) -> None:
        disk = os.statvfs(file.parent)
        if disk.f_blocks and disk.f_bavail * disk.f_frsize < size:
            raise explain(OSError(errno.ENOSPC, ""), file)

    def _ask(
        self,
        action: Callable[[Any, str], R],
        what: str,
        *,
        size: int = 0,
        progress: Callable[[], int] = lambda: 0,
        target: Path | None = None,
    ) -> R:
        def act() -> R:
            fs, root = _file_system(self.url, os.getpid())
            fs.invalidate_cache()
            return action(fs, root)

        silent_s = time.monotonic() - _SILENT.get(self.url, -_PAUSE_S)
        if silent_s < _PAUSE_S:
            raise NoAnswer(
                f"{what}: not tried, since {self.url} gave no answer {silent_s:.0f} s ago; check the network"
            )
        try:
            return within(act, what, size=size, progress=progress)
        except NoAnswer:
            _SILENT[self.url] = time.monotonic()
            raise
        except HarnessError:
            raise
        except OSError as error:
            if target is not None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG):
                raise explain(error, target) from None
            raise StorageError(_message(what, error)) from None
        except Exception as error:  # noqa: BLE001 - each library has errors of its own
            raise StorageError(_message(what, error)) from None


def is_parallel(url: str) -> bool:
    """Tell whether objects of a folder can be moved by several threads at once."""
    return protocol(url) in _OBJECT_STORES | _LOCAL


def protocol(url: str) -> str:
    """Return the part of an address before `://`; `file` for a path."""
    if "://" not in url:
        return "file"
    return url.partition("://")[0]


@lru_cache(maxsize=8)
def _file_system(url: str, _process: int) -> tuple[Any, str]:
    """The file system of an address, and the folder in it; a forked process makes its own."""
    name = protocol(url)
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - only projects with remote dumps have it

        fs, root = url_to_fs(url, **_OPTIONS.get(_SAME.get(name, name), {}))
    except ImportError as error:
        raise HarnessError(
            f"`folders: dumps` is {url}, which needs packages that are not installed: pip install 'gpuregress[remote]'"
            f" ({_redacted(' '.join(str(error).split()))})"
        ) from None
    except ValueError as error:
        raise HarnessError(
            f"`folders: dumps` is {url}, which fsspec does not understand: {_redacted(str(error))}; expected an "
            "address such as s3://bucket/prefix, gs://bucket/prefix, sftp://host/path or file:///path"
        ) from None
    return fs, str(root).rstrip("/")


def _size(fs: Any, path: str) -> int | None:
    try:
        return int(fs.info(path)["size"])
    except FileNotFoundError:
        return None


def _put(fs: Any, root: str, file: Path, name: str, sent: Any) -> None:
    target = f"{root}/{name}"
    protocols = set(fs.protocol)
    if isinstance(fs.protocol, str):
        protocols = {fs.protocol}
    if protocols & _OBJECT_STORES:
        fs.put_file(str(file), target, callback=sent)
        return
    folder = target.rpartition("/")[0]
    temporary = f"{folder}/{TEMPORARY_PREFIX}{os.urandom(6).hex()}"
    fs.makedirs(folder, exist_ok=True)
    try:
        fs.put_file(str(file), temporary, callback=sent)
        if protocols & _LOCAL:
            sync_all([Path(temporary)], [])
        fs.mv(temporary, target)
        if protocols & _LOCAL:
            sync_all([], [Path(folder)])
    except BaseException:
        if fs.exists(temporary):
            fs.rm_file(temporary)
        raise


def _message(what: str, error: Exception) -> str:
    text = _redacted(" ".join(str(error).split())) or "no reason is given"
    if len(text) > _LONGEST_MESSAGE:
        text = text[: _LONGEST_MESSAGE - 3] + "..."
    return f"{what} failed: {type(error).__name__}: {text}; check the address, the network and the credentials"


def _redacted(text: str) -> str:
    """Hide the values of environment variables that look like credentials."""
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "…")
    return text


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
    return replace(dump, path=str(path), remote=f"{url.rstrip('/')}/{_name(dump.text_digest)}")


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
    if len(unique) > 1 and is_parallel(unique[0][1].remote):
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
        if storage.digest_unchanged(path) != dump.text_digest:
            return False
    except StorageError:
        return False
    with contextlib.suppress(OSError):  # the order of use, not the time of the change
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
    return True


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
