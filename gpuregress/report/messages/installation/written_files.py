"""Files of an installation: written beside and renamed, and never over a file of somebody else."""

from __future__ import annotations

from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError, UsageError
from gpuregress.gpu.records import Record
from gpuregress.report.messages.installation.night_command import MARK

_HEAD_LINES = 3


class InstalledFile(Record):
    """A file of a scheduler.

    Attributes:
        path: absolute.
        text: its content, with the mark in one of its first lines.
        executable: whether it is a program.
    """

    path: Path
    text: str
    executable: bool = False


class Installation(Record):
    """What a scheduler needs.

    Attributes:
        text: the lines to install, and no others.
        files: what `--write` writes; none for cron, whose lines `cron.install` puts into the crontab.
        todo: what is left to do where the user installs the lines.
        after: what is left to do after `--write`.
    """

    text: str
    files: tuple[InstalledFile, ...] = ()
    todo: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def write(files: tuple[InstalledFile, ...]) -> None:
    """Write the files; all are judged before the first is written.

    Raises:
        UsageError: a file of somebody else has one of the names.
        StorageError: no space, no permission.
    """
    for file in files:
        if file.path.is_symlink() or (file.path.exists() and not _is_ours(file.path)):
            raise UsageError(
                f"{file.path} was not written by gpuregress and is left as it is: remove it, or install the printed "
                "lines by hand"
            )
    for file in files:
        with storage.disk_errors(file.path):
            file.path.parent.mkdir(parents=True, exist_ok=True)
        storage.write_atomic(file.path, file.text.encode())
        if file.executable:
            with storage.disk_errors(file.path):
                file.path.chmod(0o755)


def _is_ours(path: Path) -> bool:
    try:
        head = path.read_text(encoding="utf-8", errors="replace").splitlines()[:_HEAD_LINES]
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}") from None
    return any(line.startswith("# ") and MARK in line for line in head)
