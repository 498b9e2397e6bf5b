"""Rejected results: reviewed, found wrong, reported when they come again, and never accepted.

`runs/rejected.json` has an entry for each buffer: its case, the digest of its bytes, who, when, why and from which run.
The baseline stays as it is, and a case that gives those bytes again still differs; the report says that they are known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.wording import joined
from gpuregress.gpu.records import Record

FILE = "rejected.json"
LOCK = ".rejected.lock"
LOCK_WAIT_S = 10.0
Key = tuple[str, str, str]
"""A case, a buffer, and the digest of its raw bytes."""


class Rejection(Record):
    """A rejected buffer.

    Attributes:
        case: its name.
        buffer: its name.
        digest: of its raw bytes.
        revision: the label of its dump.
        run: its run.
        when: ISO 8601, UTC.
        who: who rejected it.
        why: the message of `-m`.
    """

    case: str
    buffer: str
    digest: str
    revision: str
    run: str
    when: str
    who: str = ""
    why: str = ""

    @property
    def key(self) -> Key:
        """The key of a rejection."""
        return self.case, self.buffer, self.digest

    def __str__(self) -> str:
        """`rejected by ada on 2026-11-20: the last block is not written`."""
        who = joined(" by ", "rejected", self.who)
        return joined(": ", f"{who} on {self.when[:10]}", self.why)


class _Rejections(Record):
    """The file."""

    version: int
    rejected: tuple[Rejection, ...]


def load(runs: Path) -> tuple[Rejection, ...]:
    """Read all rejections of a project, the oldest first.

    Args:
        runs: the project's folder of runs.

    Raises:
        StorageError: the file was cut short or edited, or cannot be read.
    """
    path = runs / FILE
    if not path.exists():
        return ()
    return storage.read_record(path, _Rejections, "move it away to begin anew").rejected


def known(runs: Path) -> dict[Key, str]:
    """Rejected results → who, when and why, in words."""
    return {rejection.key: str(rejection) for rejection in load(runs)}


def add(runs: Path, new: Sequence[Rejection]) -> None:
    """Add rejections; they replace earlier ones of the same bytes.

    Raises:
        RunLocked: another process is rejecting.
        StorageError: no space, no permission.
    """
    keys = {rejection.key for rejection in new}
    _write(runs, lambda old: (*(one for one in old if one.key not in keys), *new))


def forget(runs: Path, cases: Collection[str]) -> tuple[Rejection, ...]:
    """Remove all rejections of some cases and return them.

    Raises:
        RunLocked: another process is rejecting.
        StorageError: no space, no permission.
    """
    removed = tuple(rejection for rejection in load(runs) if rejection.case in cases)
    if removed:
        _write(runs, lambda old: tuple(one for one in old if one.case not in cases))
    return removed


def _write(runs: Path, change: Callable[[tuple[Rejection, ...]], tuple[Rejection, ...]]) -> None:
    with storage.disk_errors(runs):
        runs.mkdir(parents=True, exist_ok=True)
    with storage.lock(runs / LOCK, timeout=LOCK_WAIT_S):
        storage.write_record(runs / FILE, _Rejections(1, change(load(runs))))
