"""Operating-system errors of files as one line: what failed, where, what to do."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from gpuregress.foundation.errors import StorageError

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
    errno.ELOOP: "its symbolic links form a loop",
}


def explain(error: OSError, path: Path, action: str = "write") -> StorageError:
    """Turn an OSError into a StorageError with its advice.

    Args:
        error: the system's error.
        path: the file or folder that the message names.
        action: the verb: `write`, `read`, `copy`, `remove`.
    """
    advice = _ADVICE.get(error.errno or 0, error.strerror or str(error))
    return StorageError(f"cannot {action} {path}: {advice}")


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading, and nothing else: a pipe would be waited for.

    Raises:
        OSError: it is not there, is no regular file, or cannot be opened.
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - for the caller; with an opener
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


@contextlib.contextmanager
def disk_errors(path: Path, action: str = "write") -> Iterator[None]:
    """Turn every OSError of the block into the StorageError of `explain`."""
    try:
        yield
    except OSError as error:
        raise explain(error, path, action) from error
