"""Atomic writes: a file is written under a temporary name, flushed to disk, then renamed.

Files that come by the hundred are renamed without the flush (`durable=False`) and flushed together later (`sync_tree`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from gpuregress.foundation.storage.fsync import sync_folder
from gpuregress.foundation.storage.os_errors import disk_errors, open_file
from gpuregress.foundation.storage.temporaries import TEMPORARY_PREFIX, new_file, sweep

Bytes = bytes | bytearray | memoryview
_FICLONE = 0x40049409  # linux/fs.h: _IOW(0x94, 9, int)


@contextlib.contextmanager
def atomic(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a file that becomes `path` when the block ends without an error, and is removed otherwise.

    Folders above are made.

    Args:
        path: the file.
        durable: on return the file and its name are on disk (fsync of both); else a kill of this process leaves it
            whole, but a power cut can still take it, until `sync_tree`.

    Raises:
        StorageError: no space, no permission, a path that cannot be.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        file, temporary = new_file(path.parent)
        try:
            with file:
                yield file
                file.flush()
                if durable:
                    os.fsync(file.fileno())
                temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        if durable:
            sync_folder(path.parent)


def write_atomic(path: Path, data: Bytes | Iterable[Bytes], *, durable: bool = True) -> None:
    """Write a file so that its name has all of the old or all of the new content at any moment.

    Args:
        path: the file; folders above it are made.
        data: its bytes, or pieces of them in order.
        durable: as for `atomic`.

    Raises:
        StorageError: no space, no permission, a path that cannot be.
    """
    with atomic(path, durable=durable) as file:
        for piece in (data,) if isinstance(data, bytes | bytearray | memoryview) else data:
            file.write(piece)


def write_beside(path: Path, data: bytes) -> Path:
    """Write the later content of `path` under a temporary name in its folder, not flushed; return that name.

    Raises:
        StorageError: no space, no permission, a path that cannot be.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        temporary = path.parent / f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
        try:
            temporary.write_bytes(data)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        return temporary


def copy_file(source: Path, target: Path, *, durable: bool = True) -> None:
    """Copy a file atomically: by reference where the file system can (btrfs, XFS), else byte by byte.

    Args:
        source: the original.
        target: the copy's path; folders above it are made.
        durable: as for `atomic`.

    Raises:
        StorageError: either cannot be read or written.
    """
    with disk_errors(source, "read"):
        file = open_file(source)
    with file, atomic(target, durable=durable) as copy:
        try:
            fcntl.ioctl(copy.fileno(), _FICLONE, file.fileno())
        except OSError:  # another file system, or one without references
            shutil.copyfileobj(file, copy, 1 << 20)
