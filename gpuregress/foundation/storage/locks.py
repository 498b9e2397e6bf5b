"""Locks between processes; the system frees a lock even when its holder is killed."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from gpuregress.foundation.errors import RunLocked, StorageError
from gpuregress.foundation.storage.atomic_writes import write_atomic
from gpuregress.foundation.storage.os_errors import disk_errors, open_file


@contextlib.contextmanager
def lock(path: Path, timeout: float = 0.0) -> Iterator[None]:
    """Hold a lock file.

    Args:
        path: the lock file; `NAME.holder` beside it names the process that holds it.
        timeout: seconds to wait for another holder.

    Raises:
        RunLocked: another process holds it; the message names it.
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
            raise StorageError(f"cannot lock {path}: the file system has no locks; choose another folder") from None
    try:
        with contextlib.suppress(StorageError):  # without it, the waiting process only reports less
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
        with open_file(holder) as file:
            return file.read().decode(errors="replace").strip() or "another process"
    except OSError:
        return "another process"
