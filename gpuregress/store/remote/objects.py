"""Objects of a remote folder: whole under their names, or not there.

An object store shows an object when all of it has arrived. Elsewhere (ssh, a shared folder) a file is written under a
temporary name and renamed. Credentials come from the environment, as each library takes them; no message shows one.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from gpuregress.foundation.errors import HarnessError, StorageError
from gpuregress.foundation.storage import TEMPORARY_PREFIX, explain, sync_all
from gpuregress.gpu.records import Record
from gpuregress.store.remote import deadlines
from gpuregress.store.remote.deadlines import NoAnswer

R = TypeVar("R")

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
        sent = _Count()
        self._ask(
            lambda fs, root: _put(fs, root, file, name, sent),
            f"writing {self.url}/{name}",
            size=size,
            progress=lambda: sent.bytes,
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
            return deadlines.within(act, what, size=size, progress=progress)
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


class _Count:
    """Bytes that were sent, as fsspec tells them."""

    def __init__(self) -> None:
        self.bytes = 0

    def callback(self) -> Any:
        from fsspec.callbacks import Callback  # noqa: PLC0415 - only projects with remote dumps have it

        count = self

        class Counting(Callback):  # type: ignore[misc] # fsspec has no types
            def relative_update(self, inc: int = 1) -> None:
                count.bytes += inc

        return Counting()


def is_parallel(url: str) -> bool:
    """Tell whether objects of a folder can be moved by several threads at once."""
    return protocol(url) in _OBJECT_STORES | _LOCAL


def protocol(url: str) -> str:
    """Return the part of an address before `://`; `file` for a path."""
    name, mark, _ = url.partition("://")
    return name if mark else "file"


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


def _put(fs: Any, root: str, file: Path, name: str, sent: _Count) -> None:
    target = f"{root}/{name}"
    protocols = {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)
    if protocols & _OBJECT_STORES:
        fs.put_file(str(file), target, callback=sent.callback())
        return
    folder = target.rpartition("/")[0]
    temporary = f"{folder}/{TEMPORARY_PREFIX}{os.urandom(6).hex()}"
    fs.makedirs(folder, exist_ok=True)
    try:
        fs.put_file(str(file), temporary, callback=sent.callback())
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
    text = text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 3] + "..."
    return f"{what} failed: {type(error).__name__}: {text}; check the address, the network and the credentials"


def _redacted(text: str) -> str:
    """Hide the values of environment variables that look like credentials."""
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "…")
    return text
