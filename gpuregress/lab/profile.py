"""Profile of cases: the exact costs of each source line, counted in one run on the CPU device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuregress.foundation.records import Costs, RunSummary, to_json
from gpuregress.gpu.instruments import by_line, total
from gpuregress.gpu.records import Record
from gpuregress.jobs import plan
from gpuregress.jobs.spec.overrides import ParameterOverride
from gpuregress.lab.experiment import require_launches
from gpuregress.session import session
from gpuregress.session.events import Listener, ignore
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project


class ProfileResult(Record):
    """The profile of some cases.

    Attributes:
        summary: of their run.
        costs: case → its costs; without the cases of which nothing was counted.
    """

    summary: RunSummary
    costs: dict[str, Costs]

    def document(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return {
            "run": self.summary.run,
            "cases": {name: _document(one) for name, one in self.costs.items()},
        }


def profile(
    project: Project,
    cases: Sequence[str],
    listen: Listener = ignore,
    parameters: tuple[ParameterOverride, ...] = (),
) -> ProfileResult:
    """Run cases and count their costs.

    Args:
        project: the project.
        cases: their names, those of jobs, or globs.
        listen: receives the progress.
        parameters: parameters with other values than the jobs' own.

    Raises:
        NothingToDo: there is no such case.
    """
    # Before a program runs for nothing; a wrong job stops only itself, as in the run.
    overrides = plan.CaseOverrides(parameters=parameters, partners=False)
    require_launches(plan.make(project, cases, overrides=overrides, keep_going=True).cases, "profile")
    request = RunRequest(device="cpu", costs=True, parameters=parameters)
    summary = session.run(project, cases, request, listen=listen)
    found: dict[str, Costs] = {}
    for verdict in summary.verdicts:
        costs = None if verdict.outcome is None else verdict.outcome.observations.instruments.costs
        if costs is not None:
            found[verdict.case] = costs
    return ProfileResult(summary, found)


def _document(costs: Costs) -> dict[str, Any]:
    lines = [{"path": path, "line": line, "counts": counts} for (path, line), counts in by_line(costs).items()]
    return {"totals": total(costs.instructions), "lines": lines, **to_json(costs)}
