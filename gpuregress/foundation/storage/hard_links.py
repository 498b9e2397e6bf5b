"""Hard links: a further name for a file that is already on disk."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from gpuregress.foundation.storage.os_errors import disk_errors
from gpuregress.foundation.storage.temporaries import TEMPORARY_PREFIX, sweep

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
