"""Temporary files and folders, each held by a lock (flock) while its process lives.

The system frees the lock when the process ends. A later write into the same folder removes those that nobody holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from gpuregress.foundation.storage.os_errors import disk_errors

TEMPORARY_PREFIX = ".gpuregress-tmp-"
STALE_AFTER_S = 3600.0
_SCRATCH_PREFIX = "gpuregress-scratch-"
_SWEPT: set[Path] = set()


def new_file(folder: Path) -> tuple[BinaryIO, Path]:
    """Make a temporary file, open and held by this process."""
    while True:
        path = _temporary(folder)
        file = path.open("xb")
        try:
            if _hold(file.fileno(), path):
                return file, path
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        file.close()


def _temporary(folder: Path, prefix: str = TEMPORARY_PREFIX) -> Path:
    return folder / f"{prefix}{os.urandom(6).hex()}"


def _hold(descriptor: int, path: Path) -> bool:
    """Lock a temporary file or folder; False where another process removed it as a leftover before."""
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return path.exists()


def _held(folder: Path) -> int | None:
    """Open and lock a folder; None where another process removed it before it was open, or before it was locked."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    if _hold(descriptor, folder):
        return descriptor
    os.close(descriptor)
    return None


@contextlib.contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder that is removed at the end; those of processes that were killed are removed first.

    Args:
        parent: the folder above; None: the system's folder for temporary files.

    Raises:
        StorageError: it cannot be made.
    """
    with disk_errors(parent or Path(os.environ.get("TMPDIR", "/tmp"))):  # noqa: S108 - only to be named
        above = parent or Path(tempfile.gettempdir())
        above.mkdir(parents=True, exist_ok=True)
        sweep(above)
        descriptor = None
        while descriptor is None:
            folder = _temporary(above, TEMPORARY_PREFIX if parent is not None else _SCRATCH_PREFIX)
            folder.mkdir(mode=0o777 if parent is not None else 0o700)
            descriptor = _held(folder)
    try:
        yield folder
    finally:
        os.close(descriptor)
        shutil.rmtree(folder, ignore_errors=True)


def remove_tree(folder: Path) -> None:
    """Remove a folder and all in it; it is renamed first, so that no half of it is ever taken for the whole.

    One that another process removes at the same time is no error.

    Raises:
        StorageError: something in it cannot be removed.
    """
    with disk_errors(folder, "remove"):
        descriptor = _held(folder)
        if descriptor is None:
            return
        doomed = _temporary(folder.parent)
        try:
            folder.rename(doomed)
            shutil.rmtree(doomed)
        finally:
            os.close(descriptor)


def sweep_tree(folder: Path) -> None:
    """Remove the temporary files that killed processes left anywhere in a folder."""
    for parent, folders, _ in os.walk(folder):
        _remove_leftovers(Path(parent))
        folders[:] = [name for name in folders if not name.startswith(TEMPORARY_PREFIX)]


def sweep(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder, once for each process and folder."""
    if folder not in _SWEPT:
        _SWEPT.add(folder)
        _remove_leftovers(folder)


def _remove_leftovers(folder: Path) -> None:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith((TEMPORARY_PREFIX, _SCRATCH_PREFIX)):
                _remove_if_left(Path(entry.path), is_link=entry.is_symlink())


def _remove_if_left(path: Path, *, is_link: bool) -> None:
    """Remove a temporary file or folder that no process holds; where the file system has no locks, one that is old."""
    with contextlib.suppress(OSError):  # another process was faster, or may do it
        status = path.lstat()
        is_old = time.time() - status.st_mtime > STALE_AFTER_S
        if status.st_uid != os.geteuid():
            return
        if is_link:
            if is_old:
                path.unlink()
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        except OSError:  # a file system without locks
            if not is_old:
                return
        else:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        finally:
            os.close(descriptor)
