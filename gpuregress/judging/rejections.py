"""Results that somebody looked at and found wrong: kept with the runs, said whenever they come again, never accepted.

`runs/rejected.json` holds one entry a buffer: its case, the digest of its bytes, who, when, why and from which run. The
baseline stays as it is, and a case that gives those bytes again still differs; the report says that they are known.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuregress import storage
from gpuregress.records import to_json

FILE = "rejected.json"
LOCK = ".rejected.lock"
LOCK_WAIT_S = 10.0
Place = tuple[str, str, str]
"""A case, a buffer, and the digest of its raw bytes."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """One buffer that was found wrong.

    Attributes:
        case: its name.
        buffer: its name.
        digest: of its raw bytes.
        revision: what its dump carries.
        run: where it came from.
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
    def place(self) -> Place:
        """What it is known by."""
        return self.case, self.buffer, self.digest

    def __str__(self) -> str:
        """`rejected by ada on 2026-11-20: the last block is not written`."""
        by = f" by {self.who}" if self.who else ""
        why = f": {self.why}" if self.why else ""
        return f"rejected{by} on {self.when[:10]}{why}"


@dataclass(frozen=True, slots=True)
class _Rejections:
    """The file."""

    version: int
    rejected: tuple[Rejection, ...]


def load(runs: Path) -> tuple[Rejection, ...]:
    """Every rejection of a project, the oldest first.

    Args:
        runs: the project's folder of runs.

    Raises:
        StorageError: the file was cut short or edited, or cannot be read.
    """
    path = runs / FILE
    return storage.read_record(path, _Rejections, "move it away to begin anew").rejected if path.exists() else ()


def known(runs: Path) -> dict[Place, str]:
    """What was rejected → who, when and why, in words."""
    return {rejection.place: str(rejection) for rejection in load(runs)}


def add(runs: Path, new: Sequence[Rejection]) -> None:
    """Remembers rejections; an earlier one of the same bytes is replaced.

    Raises:
        RunLocked: somebody else is rejecting.
        StorageError: no space, no permission.
    """
    places = {rejection.place for rejection in new}
    _write(runs, lambda old: (*(one for one in old if one.place not in places), *new))


def forget(runs: Path, cases: Collection[str]) -> tuple[Rejection, ...]:
    """Takes back all rejections of these cases; those that were taken back.

    Raises:
        RunLocked: somebody else is rejecting.
        StorageError: no space, no permission.
    """
    gone = tuple(rejection for rejection in load(runs) if rejection.case in cases)
    if gone:
        _write(runs, lambda old: tuple(one for one in old if one.case not in cases))
    return gone


def _write(runs: Path, change: Callable[[tuple[Rejection, ...]], tuple[Rejection, ...]]) -> None:
    with storage.disk_errors(runs):
        runs.mkdir(parents=True, exist_ok=True)
    with storage.lock(runs / LOCK, timeout=LOCK_WAIT_S):
        kept = _Rejections(1, change(load(runs)))
        storage.write_atomic(runs / FILE, json.dumps(to_json(kept), indent=1).encode())
