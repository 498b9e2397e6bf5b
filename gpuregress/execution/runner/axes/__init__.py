"""Axes of further runs: each module here runs a case again with one thing changed.

`foundation.records.further_runs.AXES` has a row for each axis.
"""

from __future__ import annotations

import importlib

from gpuregress.execution.runner.case_runs import RunAxis
from gpuregress.foundation.records.further_runs import AxisRow


def load(row: AxisRow) -> RunAxis:
    """Import the axis of a row, where a case asks for it: all axes take a worker 0.15 s to start."""
    module, _, name = row.runner.partition(".")
    axis: RunAxis = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    return axis
