"""Axes of further runs: each runs a case again with one thing changed. `AXES` has a row for each."""

from __future__ import annotations

from gpuregress.execution.runner.axes import references, repeats, schedules, seeds, twins, variants
from gpuregress.execution.runner.case_runs import RunAxis

AXES: tuple[RunAxis, ...] = (
    repeats.REPEATS,
    repeats.POISON,
    references.AXIS,
    seeds.AXIS,
    variants.AXIS,
    twins.AXIS,
    # A kernel may never end under another schedule, and then all else is known.
    schedules.AXIS,
)
