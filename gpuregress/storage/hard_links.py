"""Hard links: a further name for a file that is already on disk."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from gpuregress.storage.os_errors import disk_errors
from gpuregress.storage.temporaries import TEMPORARY_PREFIX

_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def link_file(source: Path, target: Path, *, read_only: bool = True) -> bool:
    """Give a file a second name, at once or not at all.

    Args:
        source: the file, which must not be a symbolic link.
        target: its new name; folders above it are made. A file of that name is replaced.
        read_only: make both names read-only. An editor then refuses to change one, since it would change the other.

    Returns:
        False where the file cannot have one more name: another file system, one without links, too many names.

    Raises:
        StorageError: the folders above the target cannot be made.
    """
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}"
    try:
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
