"""Step of a nightly run: compare its verdicts with those of the nights before."""

from __future__ import annotations

import dataclasses

from gpuregress.errors import StorageError
from gpuregress.nightly import EarlierNights, LeftOut, compare_nights, ordered
from gpuregress.records import Case, RunSummary
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
            changes = compare_nights(summary, known, left_out)
    except StorageError as error:
        unknown = f"the earlier nights are not known: {error}"
        changes = compare_nights(summary, EarlierNights(unknown=unknown), left_out)
    notes = (*summary.notes, *([unknown] if unknown else []))
    return dataclasses.replace(summary, notes=notes, changes=changes)
