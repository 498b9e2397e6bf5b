"""Files that are whole or not there: atomic writes, copies, locks, and disk errors as one line for people.

A file is written under a temporary name beside its own, flushed to disk, then renamed. A process that is killed leaves
at most a `.gpuregress-tmp-…` file or folder. Its owner holds a lock (flock) on it, which the system frees when that is
gone, and a later write into the same folder removes what nobody holds. Files that come by the hundred are renamed
without the flush (`durable=False`) and flushed together later (`sync_tree`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from gpuregress.errors import RunLocked, StorageError

R = TypeVar("R")
Bytes = bytes | bytearray | memoryview
TEMPORARY_PREFIX = ".gpuregress-tmp-"
_PIECE = 1 << 20
_SYNCS_AT_ONCE = 8
STALE_AFTER_S = 3600.0
_FICLONE = 0x40049409  # linux/fs.h: _IOW(0x94, 9, int)
_SCRATCH_PREFIX = "gpuregress-scratch-"
_SWEPT: set[Path] = set()

_ADVICE = {
    errno.ENOSPC: "no space is left on the disk; free some and run again",
    errno.EDQUOT: "your disk quota is used up; free some space and run again",
    errno.EFBIG: "the file is larger than the system allows (see `ulimit -f`)",
    errno.EACCES: "no permission; change the folder's owner or mode, or choose another folder",
    errno.EPERM: "the system does not permit it; change the folder's owner or mode, or choose another folder",
    errno.EROFS: "the file system is read-only; choose another folder",
    errno.ENAMETOOLONG: "the path is too long for this file system; shorten the case's, buffer's or folder's name",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EEXIST: "a part of the path is a file, not a folder",
    errno.EISDIR: "it is a folder where a file should be",
    errno.ENOENT: "no such file or folder",
    errno.EIO: "the disk reports an input/output error; check it before trusting anything on it",
    errno.EMFILE: "too many files are open (see `ulimit -n`)",
    errno.ELOOP: "its symbolic links go round in a circle",
}


def explain(error: OSError, path: Path, action: str = "write") -> StorageError:
    """The line for people that an OSError becomes: what, where, what to do.

    Args:
        error: what the system said.
        path: the file or folder at hand; the message names it.
        action: the verb: `write`, `read`, `copy`, `remove`.
    """
    advice = _ADVICE.get(error.errno or 0, error.strerror or str(error))
    return StorageError(f"cannot {action} {path}: {advice}")


@contextlib.contextmanager
def disk_errors(path: Path, action: str = "write") -> Iterator[None]:
    """Turns every OSError of its block into the StorageError of `explain`."""
    try:
        yield
    except OSError as error:
        raise explain(error, path, action) from error


# --- whole files ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def atomic(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """An open file that becomes `path` when the block ends without an error, and vanishes when it does not.

    Folders above are made.

    Args:
        path: the file.
        durable: on return the file and its name are on disk (fsync of both); else it is whole whatever becomes of this
            process, but a power cut can still take it, until `sync_tree`.

    Raises:
        StorageError: no space, no permission, a path that cannot be.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        file, temporary = _new_file(path.parent)
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


def _new_file(folder: Path) -> tuple[BinaryIO, Path]:
    """A new temporary file, open and held by this process."""
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
    """Locks a temporary file or folder; False where another process took it for a leftover and removed it before."""
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return path.exists()


def sync_tree(folder: Path) -> None:
    """Puts a folder and all in it on disk; side by side, so that the disk does it in few goes.

    Args:
        folder: what is to stay after a power cut. A file that goes meanwhile is left out.

    Raises:
        StorageError: the disk fails, or is full after all.
    """
    with disk_errors(folder):
        found = [(Path(place), names) for place, _, names in os.walk(folder)]
    sync_all((place / name for place, names in found for name in names), (place for place, _ in found))


def sync_all(files: Iterable[Path], folders: Iterable[Path]) -> None:
    """Puts files on disk, then the names in folders; many side by side. What goes meanwhile is left out.

    Raises:
        StorageError: the disk fails, or is full after all.
    """
    files, folders = list(files), list(folders)
    if len(files) + len(folders) <= _SYNCS_AT_ONCE:  # not worth a thread
        for path in files:
            _sync_file(path)
        for folder in folders:
            _sync_names(folder)
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only the end of a run and accept need it

    with ThreadPoolExecutor(_SYNCS_AT_ONCE) as workers:
        list(workers.map(_sync_file, files))
        list(workers.map(_sync_names, folders))


def _sync_file(path: Path) -> None:
    with disk_errors(path), contextlib.suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sync_names(folder: Path) -> None:
    with disk_errors(folder), contextlib.suppress(FileNotFoundError):
        sync_folder(folder)


def write_beside(path: Path, data: bytes) -> Path:
    """Writes what is to become `path` under a temporary name in its folder, not flushed; returns that name.

    Raises:
        StorageError: no space, no permission, a path that cannot be.
    """
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        temporary = path.parent / f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
        try:
            temporary.write_bytes(data)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        return temporary


def write_atomic(path: Path, data: Bytes | Iterable[Bytes], *, durable: bool = True) -> None:
    """Writes a file so that under its name there is the old content or all of the new, whatever happens.

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


def copy_file(source: Path, target: Path, *, durable: bool = True) -> None:
    """Copies a file atomically: by reference where the file system can (btrfs, XFS), else byte by byte.

    Args:
        source: what is copied.
        target: the copy's path; folders above it are made.
        durable: as for `atomic`.

    Raises:
        StorageError: either cannot be read or written.
    """
    with disk_errors(source, "read"):
        file = source.open("rb")
    with file, atomic(target, durable=durable) as copy:
        try:
            fcntl.ioctl(copy.fileno(), _FICLONE, file.fileno())
        except OSError:  # another file system, or one without references
            shutil.copyfileobj(file, copy, 1 << 20)


def read_bytes(path: Path) -> bytes:
    """A small file's content.

    Raises:
        StorageError: it is not there or cannot be read.
    """
    with disk_errors(path, "read"):
        if path.exists() and not (path.is_file() or path.is_dir()):  # a FIFO would be waited for
            raise StorageError(f"cannot read {path}: it is no file")
        return path.read_bytes()


def read_json(path: Path, advice: str) -> Any:
    """A JSON file of ours.

    Args:
        path: the file.
        advice: what to do where it is damaged.

    Raises:
        StorageError: it is not there, cannot be read, or is no whole JSON.
    """
    if path.exists() and not path.is_file():
        raise damaged(path, advice)
    try:
        return json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        raise damaged(path, advice) from None


def read_record(path: Path, kind: type[R], advice: str) -> R:
    """A record that was written as JSON.

    Args:
        path: the file.
        kind: its class.
        advice: what to do where it is damaged.

    Raises:
        StorageError: it is not there, cannot be read, or does not hold such a record.
    """
    from gpuregress.records import from_json  # noqa: PLC0415 - the first worker of a run starts without the records

    try:
        return from_json(kind, read_json(path, advice))
    except TypeError:
        raise damaged(path, advice) from None


def damaged(path: Path, advice: str) -> StorageError:
    """The error for a file of ours that does not hold what we wrote."""
    return StorageError(f"{path}: edited or cut short; {advice}")


def digest_file(path: Path) -> str:
    """The xxh3-128 of a file's bytes, hexadecimal.

    Raises:
        StorageError: it is not there or cannot be read.
    """
    import xxhash  # noqa: PLC0415 - `--help` needs no digests

    digest = xxhash.xxh3_128()
    piece = memoryview(bytearray(_PIECE))
    with disk_errors(path, "read"), path.open("rb", buffering=0) as file:
        while size := file.readinto(piece):
            digest.update(piece[:size])
    return digest.hexdigest()


def digest_text(data: bytes) -> str:
    """The xxh3-128 of bytes, hexadecimal."""
    import xxhash  # noqa: PLC0415 - see digest_file

    return xxhash.xxh3_128_hexdigest(data)


def sync_folder(folder: Path) -> None:
    """Puts a folder's names on disk, where the file system lets folders be synced."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def remove_tree(folder: Path) -> None:
    """Removes a folder and all in it: first from its name, so that no half of it is ever taken for the whole.

    Raises:
        StorageError: something in it cannot be removed.
    """
    with disk_errors(folder, "remove"):
        if not folder.exists():
            return
        doomed = _temporary(folder.parent)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _hold(descriptor, folder)
            folder.rename(doomed)
            shutil.rmtree(doomed)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """A folder for what is thrown away; those of processes that were killed are removed first.

    Args:
        parent: where; the system's folder for temporary files where None.

    Raises:
        StorageError: it cannot be made.
    """
    with disk_errors(parent or Path(os.environ.get("TMPDIR", "/tmp"))):  # noqa: S108 - only to be named
        place = parent or Path(tempfile.gettempdir())
        place.mkdir(parents=True, exist_ok=True)
        _sweep(place)
        is_held = False
        while not is_held:
            folder = _temporary(place, TEMPORARY_PREFIX if parent is not None else _SCRATCH_PREFIX)
            folder.mkdir(mode=0o777 if parent is not None else 0o700)
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            is_held = _hold(descriptor, folder)
    try:
        yield folder
    finally:
        os.close(descriptor)
        shutil.rmtree(folder, ignore_errors=True)


def sweep_tree(folder: Path) -> None:
    """Removes what killed processes left anywhere in a folder."""
    for place, folders, _ in os.walk(folder):
        _remove_leftovers(Path(place))
        folders[:] = [name for name in folders if not name.startswith(TEMPORARY_PREFIX)]


def _sweep(folder: Path) -> None:
    """Removes what killed processes left in a folder, once a process and folder."""
    if folder not in _SWEPT:
        _SWEPT.add(folder)
        _remove_leftovers(folder)


def _remove_leftovers(folder: Path) -> None:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith((TEMPORARY_PREFIX, _SCRATCH_PREFIX)):
                _remove_if_left(Path(entry.path), is_link=entry.is_symlink())


def _remove_if_left(path: Path, *, is_link: bool) -> None:
    """Removes a temporary file or folder that no process holds; where locks say nothing, one that is old."""
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


# --- names ------------------------------------------------------------------------------------------------------------


def safe_join(root: Path, relative: str) -> Path:
    """A path below `root`, from names that a job chose.

    Raises:
        StorageError: it would leave `root`, or is absolute or empty.
    """
    parts = relative.split("/")
    if not relative or "\0" in relative or any(part in ("", ".", "..") for part in parts):
        raise StorageError(f"{relative!r} does not name a place inside {root}: use names without '..' or a leading '/'")
    return root.joinpath(*parts)


def refuse_links(root: Path, path: Path) -> None:
    """Refuses a path that a symbolic link below `root` leads elsewhere; `root` itself may be one.

    Raises:
        StorageError: a part of it is a symbolic link.
    """
    place = root
    for part in path.relative_to(root).parts:
        place /= part
        if place.is_symlink():
            raise StorageError(f"{place} is a symbolic link, and nothing is written through one; put a folder there")


def dump_name(buffer: str, revision: str) -> str:
    """A dump's file name: `sum.1.4`. A slash in a revision becomes a dash."""
    return f"{buffer}.{revision.replace('/', '-')}"


def split_name(name: str) -> tuple[str, str] | None:
    """Buffer and revision of a dump's file name; None where it is not one (hidden files, `baseline.yaml`)."""
    buffer, dot, revision = name.partition(".")
    if not (buffer and dot and revision) or name == "baseline.yaml":
        return None
    return buffer, revision


# --- locks ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def lock(path: Path, timeout: float = 0.0) -> Iterator[None]:
    """Holds a lock that the system frees even when the process is killed.

    Args:
        path: the lock's file; beside it `NAME.holder` says who has it.
        timeout: seconds to wait for another holder.

    Raises:
        RunLocked: another process holds it; the message says which.
        StorageError: the file cannot be made, or the file system knows no locks.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - only runs and accepts need it

    holder = path.with_name(path.name + ".holder")
    with disk_errors(path, "lock"):
        path.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(path)
        try:
            held.acquire(timeout=timeout)
        except Timeout:
            raise RunLocked(f"{path} is locked by {_who(holder)}; wait until it ends") from None
        except NotImplementedError:
            raise StorageError(f"cannot lock {path}: the file system knows no locks; choose another folder") from None
    try:
        with contextlib.suppress(StorageError):  # only a courtesy to whoever waits
            write_atomic(holder, _me().encode())
        yield
    finally:
        with contextlib.suppress(OSError):
            holder.unlink(missing_ok=True)
        held.release()


def _me() -> str:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}: {command}\n"


def _who(holder: Path) -> str:
    try:
        return holder.read_text().strip() or "another process"
    except OSError:
        return "another process"
