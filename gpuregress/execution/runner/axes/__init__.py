"""Axes of further runs: each runs a case again with one thing changed. `AXES` has a row for each."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from gpuregress.execution.runner.case_runs import RunAxis
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import Record


class AxisRow(Record):
    """A row of the table.

    Attributes:
        module: of this folder, which is imported where a case asks for it: all of them take a worker 0.15 s to start.
        name: of the axis in it.
        is_asked_for: whether a case has runs along it.
    """

    module: str
    name: str
    is_asked_for: Callable[[Case], bool]

    def axis(self) -> RunAxis:
        """Import the axis."""
        axis: RunAxis = getattr(importlib.import_module(f"{__name__}.{self.module}"), self.name)
        return axis


AXES: tuple[AxisRow, ...] = (
    AxisRow("repeats", "REPEATS", lambda case: case.repeat > 1),
    AxisRow("repeats", "POISON", lambda case: case.settings.poison == "twice"),
    AxisRow("references", "AXIS", lambda case: bool(case.references)),
    AxisRow("seeds", "AXIS", lambda case: bool(case.seeds)),
    AxisRow("variants", "AXIS", lambda case: case.variants is not None),
    AxisRow("twins", "AXIS", lambda case: bool(case.settings.twins)),
    # A kernel may never end under another schedule, and then all else is known.
    AxisRow("schedules", "AXIS", lambda case: len(case.settings.schedules) > 1),
)
