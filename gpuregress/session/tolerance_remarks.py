"""Remarks on the use of tolerances: cases that are near their limit, and those whose use has doubled.

A doubling is one against the previous run of the case on this kind of device, or against the last run of the accepted
revision, as the history has them. Small uses vary with every rounding: they are not compared.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import PastResult, Verdict
from gpuregress.report.case_lines import NEAR, percentage
from gpuregress.store.history import Reader

_FEWEST = 0.1
_NOISE = 0.05
"""A smaller share counts as this one."""
_LAST = 100


class ToleranceRemarks:
    """Remarks on the cases of one run, from the history as it was before, which is opened where it is needed.

    Args:
        path: the history's file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader: Reader | None = None

    def close(self) -> None:
        """Close the history."""
        if self._reader is not None:
            self._reader.close()

    def remarks(self, verdict: Verdict) -> tuple[str, ...]:
        """Return the remarks on a case that passes, one line each."""
        share = verdict.tolerance_share
        if verdict.status not in ("pass", "new") or share is None or share < _FEWEST:
            return ()
        line = doubled(verdict, self._past(verdict))
        if line or share > NEAR:
            return (f"{percentage(share)} of its tolerance used{_buffer(verdict)}{line}",)
        return ()

    def _past(self, verdict: Verdict) -> tuple[PastResult, ...]:
        device = verdict.outcome.device if verdict.outcome is not None else None
        with contextlib.suppress(StorageError, sqlite3.Error):  # a damaged history is reported at the end of the run
            if self._reader is None and self._path.is_file():
                self._reader = Reader.open(self._path)
            if self._reader is not None:
                kind = device.name if device is not None else ""
                return self._reader.trend(verdict.case, _LAST, kind, is_own=True)
        return ()


def doubled(verdict: Verdict, newest_first: Sequence[PastResult]) -> str:
    """Compare the use of a tolerance with earlier ones.

    Args:
        verdict: of this run.
        newest_first: earlier results of the case.

    Returns:
        `; 30 % in the previous run, 20261120T020000Z-3f2a`; "" where it has not doubled.
    """
    share = verdict.tolerance_share or 0.0
    passed = [one for one in newest_first if one.verdict in ("pass", "new") and one.tolerance_share is not None]
    accepted = [one for one in passed if verdict.baseline_revision and one.revision == verdict.baseline_revision]
    for name, past in (("previous run", passed[:1]), ("last run of the accepted revision", accepted[:1])):
        for one in past:
            before = one.tolerance_share or 0.0
            if share >= 2 * max(before, _NOISE) and share >= _FEWEST:
                return f"; {percentage(before)} in the {name}, {one.run}"
    return ""


def _buffer(verdict: Verdict) -> str:
    """Name the buffer that uses most, where there are several."""
    if len(verdict.buffers) < 2:
        return ""
    shares = {
        buffer.name: max((one.tolerance_share or 0.0 for one in buffer.comparisons), default=0.0)
        for buffer in verdict.buffers
    }
    return f" by {max(shares, key=lambda name: shares[name])}"
