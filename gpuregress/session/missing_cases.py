"""Missing cases: those that vanished or became infeasible, and baselines without a case.

A nightly run fails for each of them, every night, until the case is back or `accept --prune` has forgotten it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gpuregress import storage
from gpuregress.baselines import BaselineStore
from gpuregress.errors import StorageError
from gpuregress.project import Project
from gpuregress.records import Missing
from gpuregress.session.run_request import RunRequest

FILE = "nightly.json"
"""In the folder of runs: the last finished nightly run, and the cases that the next one expects."""


@dataclass(frozen=True, slots=True)
class MissingCases:
    """The missing cases of a run.

    Attributes:
        missing: those that count as failures.
        notes: remarks on the others.
    """

    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LastNight:
    """The record that the last finished nightly run left for the next one.

    Attributes:
        run: its name, "" where there was none.
        cases: every case that it expected.
        problem: why the cases are unknown, "" where they are known.
        infeasible: those of the cases that were infeasible in that run; they ran in an earlier one.
    """

    run: str = ""
    cases: tuple[str, ...] = ()
    problem: str = ""
    infeasible: tuple[str, ...] = ()


def find(
    request: RunRequest, names: Sequence[str], orphans: Sequence[str], infeasible: Collection[str] = ()
) -> MissingCases:
    """Find the missing cases of a run.

    Args:
        request: the run's; a nightly one knows which cases it expects.
        names: the planned cases, and the broken jobs: their cases may exist, too.
        orphans: baselines whose case is gone.
        infeasible: the planned cases that were skipped for it.
    """
    lines = {
        name: f"the baseline {name} has no case any more (`gpuregress accept --prune` removes it)" for name in orphans
    }
    if request.kind != "nightly":
        return MissingCases(notes=tuple(lines.values()))
    planned = set(names)
    vanished = {
        name: f"{name} ran on an earlier night and is infeasible now"
        if name in infeasible
        else f"{name} vanished since the last nightly run"
        for name in request.expected
        if name in infeasible or not is_of(name, planned)
    }
    missing = tuple(_missing(name, vanished, lines) for name in dict.fromkeys((*vanished, *orphans)))
    unknown = (Missing(FILE, (request.problem,)),) if request.problem else ()
    return MissingCases((*unknown, *missing))


def _missing(name: str, vanished: dict[str, str], orphans: dict[str, str]) -> Missing:
    forget = f"(`gpuregress accept --prune` forgets {name})"
    return Missing(name, tuple(line for line in (vanished.get(name), orphans.get(name, forget)) if line))


def is_of(name: str, names: Collection[str]) -> bool:
    """Whether a case, or its job, is one of these."""
    return name in names or name.partition("/")[0] in names


def are_expected(project: Project, request: RunRequest) -> bool:
    """Whether a run without any case is a failure: a nightly run expects cases that are gone."""
    return (
        request.kind == "nightly"
        and request.takes_all
        and bool(request.expected or BaselineStore(project.baselines).case_names())
    )


# --- nightly.json -----------------------------------------------------------------------------------------------------


def last_night(project: Project) -> LastNight:
    """Read the record of the last finished nightly run; a damaged one is a problem of the next night."""
    path = project.runs / FILE
    if not path.exists():
        return LastNight()
    unknown = "whether a case vanished since the last nightly run is not known"
    try:
        return storage.read_record(path, LastNight, unknown)
    except StorageError as error:
        return LastNight(problem=str(error))


def record_night(project: Project, night: LastNight) -> None:
    """Record a finished nightly run.

    Raises:
        StorageError: no space, no permission.
    """
    names = {"run": night.run, "cases": sorted(night.cases), "infeasible": sorted(night.infeasible)}
    storage.write_atomic(project.runs / FILE, json.dumps(storage.seal(names), indent=1).encode())


def forget(project: Project, present: Sequence[str]) -> tuple[str, ...]:
    """Expect only the present cases that were feasible last night from the next nightly run on.

    Args:
        project: whose.
        present: every case of every job.

    Returns:
        The cases that are no longer expected.
    """
    night = last_night(project)
    here = set(present).difference(night.infeasible)
    gone = tuple(name for name in night.cases if name not in here)
    if gone:
        record_night(project, LastNight(night.run, tuple(name for name in night.cases if name in here)))
    return gone
