"""Atomic writes and hard links, and the temporary files and folders that they need.

A file is written under a temporary name, flushed to disk, then renamed. Files that come by the hundred are renamed
without the flush (`durable=False`) and flushed together later (`sync_tree`).

Each temporary file or folder is held by a lock (flock) while its process lives. The system frees the lock when the
process ends. A later write into the same folder removes those that nobody holds.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

from gpuregress.foundation.storage.os_errors import disk_errors, open_file

# --- flushing to disk -------------------------------------------------------------------------------------------------


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

    with ThreadPoolExecutor(_SYNCS_AT_ONCE) as workers:
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
            if not _is_unheld(descriptor, is_old=is_old):
                return
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        finally:
            os.close(descriptor)


def _is_unheld(descriptor: int, *, is_old: bool) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return is_old
    return True


# --- atomic writes ----------------------------------------------------------------------------------------------------

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


# --- hard links -------------------------------------------------------------------------------------------------------
# A further name for a file that is already on disk.

_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def link_file(source: Path, target: Path, *, read_only: bool = True) -> bool:
    """Give a file a second name, at once or not at all.

    Args:
        source: the file, which must not be a symbolic link.
        target: its new name; folders above it are made. A file of that name is replaced.
        read_only: make both names read-only. An editor then refuses to change one, since it would change the other.

    Returns:
        False where the file cannot have one more name: another file system, one without links, too many names, no
        regular file.

    Raises:
        StorageError: the folders above the target cannot be made.
    """
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}"
    try:
        if not stat.S_ISREG(source.lstat().st_mode):
            return False
        os.link(source, temporary, follow_symlinks=False)
        temporary.replace(target)
        mode = source.stat().st_mode
        if read_only and mode & _WRITE:
            source.chmod(stat.S_IMODE(mode) & ~_WRITE)
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):  # a rename of two names of one file leaves both
            temporary.unlink(missing_ok=True)
    return True


def prune_store(folder: Path) -> None:
    """Remove the files of a folder that have no other name, and its symbolic links to files that are gone.

    Args:
        folder: one that is not there has nothing to remove.
    """
    sweep(folder)
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        links = []
        for entry in entries:
            if entry.is_symlink():
                links.append(Path(entry.path))
            elif entry.stat(follow_symlinks=False).st_nlink == 1:
                _remove(Path(entry.path))
        for link in links:
            if not link.exists():
                _remove(link)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # another process was faster
        path.unlink()
