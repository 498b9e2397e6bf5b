"""Step of a nightly run: compare its verdicts with those of the nights before."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from gpuregress.foundation import git
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Case, NightChanges, RunSummary
from gpuregress.gpu.records import replace
from gpuregress.judge.nights import EarlierNights, LeftOut, compare_nights, ordered
from gpuregress.session import earlier_nights
from gpuregress.session.run_context import RunContext


def night_order(context: RunContext, cases: tuple[Case, ...], run: str) -> tuple[tuple[Case, ...], str]:
    """Order the cases of a night, recent failures first; those of another run stay as they are.

    Args:
        context: the run's.
        cases: in the order of the plan.
        run: tonight's name.

    Returns:
        The cases; and why the earlier nights are not known, "" where they are.
    """
    if context.request.kind != "nightly":
        return cases, ""
    names = {case.name for case in cases}
    try:
        with earlier_nights.opened(context.project, context.devices.kind, run, names) as earlier:
            return ordered(cases, earlier.last), ""
    except StorageError as error:
        return cases, f"the earlier nights are not known: {error}"


def _with_gone_commits(changes: NightChanges, root: Path) -> NightChanges:
    """Mark the commits that the repository has no more."""

    @functools.cache
    def is_gone(commit: str) -> bool:
        return bool(commit) and git.lacks_commit(root, commit)

    marked: dict[str, Any] = {}
    for name in ("changed", "still", "unaccepted", "fixed", "slower"):
        entries = [
            entry
            if entry.since is None
            else replace(entry, since=replace(entry.since, gone=is_gone(entry.since.commit)))
            for entry in getattr(changes, name)
        ]
        marked[name] = tuple(entries)
    return replace(changes, **marked)


def compare(context: RunContext, summary: RunSummary, left_out: LeftOut, unknown: str = "") -> RunSummary:
    """Add the changes to a night's summary; another run's stays as it is.

    Args:
        context: the run's.
        summary: its verdicts.
        left_out: cases that did not run.
        unknown: why the earlier nights are not known, "" where they are.
    """
    if context.request.kind != "nightly":
        return summary
    cases = {verdict.case for verdict in summary.verdicts}
    try:
        with earlier_nights.opened(context.project, context.devices.kind, summary.run, cases) as earlier:
            known = EarlierNights(unknown=unknown) if unknown else earlier
            changes = _with_gone_commits(compare_nights(summary, known, left_out), context.project.root)
    except StorageError as error:
        unknown = f"the earlier nights are not known: {error}"
        changes = compare_nights(summary, EarlierNights(unknown=unknown), left_out)
    notes = (*summary.notes, *([unknown] if unknown else []))
    return replace(summary, notes=notes, changes=changes)
