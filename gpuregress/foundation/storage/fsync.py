"""Flushing of files and folders to disk with fsync, many in parallel."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable
from pathlib import Path

from gpuregress.foundation.background import thread_pool
from gpuregress.foundation.storage.os_errors import disk_errors

_SYNCS_AT_ONCE = 8


def sync_tree(folder: Path) -> None:
    """Flush a folder and all in it to disk, in parallel; a file of several names once.

    Args:
        folder: must survive a power cut. A file that is removed meanwhile is skipped.

    Raises:
        StorageError: the disk fails, or is full after all.
    """
    files: dict[tuple[int, int], Path] = {}
    with disk_errors(folder):
        tree = [(Path(parent), names) for parent, _, names in os.walk(folder)]
        for parent, names in tree:
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    status = (parent / name).lstat()
                    files[status.st_dev, status.st_ino] = parent / name
    sync_all(files.values(), (parent for parent, _ in tree))


def sync_all(files: Iterable[Path], folders: Iterable[Path]) -> None:
    """Flush files, then folders, to disk, many in parallel; one that is removed meanwhile is skipped.

    Raises:
        StorageError: the disk fails, or is full after all.
    """
    files, folders = list(files), list(folders)
    if len(files) + len(folders) <= _SYNCS_AT_ONCE:  # not worth a thread
        for path in files:
            _sync_file(path)
        for folder in folders:
            _sync_folder(folder)
        return

    with thread_pool(_SYNCS_AT_ONCE) as workers:
        list(workers.map(_sync_file, files))
        list(workers.map(_sync_folder, folders))


def _sync_file(path: Path) -> None:
    with disk_errors(path), contextlib.suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    with disk_errors(folder), contextlib.suppress(FileNotFoundError):
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Flush a folder's names to disk, where the file system lets folders be synced."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
