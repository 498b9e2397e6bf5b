"""Records of a run's verdicts over the parameters of a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuregress.foundation.records.statuses import Status
from gpuregress.gpu.records import Record


class ParameterCondition(Record):
    """A condition on one parameter.

    Attributes:
        parameter: its name.
        values: those that fulfil it, of the values in this run.
        text: `tile_x = 4`, `block_x > 32`.
    """

    parameter: str
    values: tuple[Any, ...]
    text: str


class FailureGroup(Record):
    """Cases of a job that failed in one way, and the parameter values that they share.

    Attributes:
        status: their verdict.
        fault: the kind of their fault, "" for other verdicts.
        cases: their names, that with the smallest parameters first.
        alternatives: each is a conjunction of conditions; none where no condition is known.
        covered: the cases that fulfil one of the alternatives.
        exceptions: the cases that fulfil one, and did not fail in this way.
        compared: the cases that did not fail in this way.
        text: all this in one line.
        is_only: whether no case of the job failed in another way.
    """

    status: Status
    fault: str
    cases: tuple[str, ...]
    alternatives: tuple[tuple[ParameterCondition, ...], ...]
    covered: int
    exceptions: int
    compared: int
    text: str
    is_only: bool = True

    @property
    def way(self) -> str:
        """`differ`, `fault (out-of-bounds)`."""
        return f"{self.status} ({self.fault})" if self.fault else self.status

    @property
    def is_alike(self) -> bool:
        """Tell whether one of its cases stands for all: they share values, or there is nothing to compare with."""
        return bool(self.alternatives) or not self.compared


class ParameterGrid(Record):
    """The verdicts over two parameters; the others are added up.

    Attributes:
        x: the parameter along the columns.
        y: the parameter along the rows.
        x_values: of the columns.
        y_values: of the rows.
        rows: for each row and column, verdict → number of cases.
    """

    x: str
    y: str
    x_values: tuple[Any, ...]
    y_values: tuple[Any, ...]
    rows: tuple[tuple[Mapping[str, int], ...], ...]


class ParameterSpace(Record):
    """The verdicts of a job over its parameters.

    Attributes:
        job: its name.
        parameters: name → values in this run, of the parameters with more than one.
        failures: groups of many failures, the largest first.
        grid: None where only one parameter varies, or one has too many values.
    """

    job: str
    parameters: Mapping[str, tuple[Any, ...]]
    failures: tuple[FailureGroup, ...]
    grid: ParameterGrid | None
