"""Cases that should be there and are not: those that vanished since the last nightly run, and baselines without a case.

A nightly run fails for each of them, every night, until the case is back or `accept --prune` has forgotten it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gpuregress import storage
from gpuregress.baselines import Store
from gpuregress.errors import StorageError
from gpuregress.project import Project
from gpuregress.records import Missing
from gpuregress.session.request import Request

FILE = "nightly.json"
"""In the folder of runs: the last finished nightly run, and the cases that the next one expects."""


@dataclass(frozen=True, slots=True)
class Absences:
    """What is absent.

    Attributes:
        missing: what counts as a failure.
        notes: what is only said.
    """

    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LastNight:
    """What the last finished nightly run left for the next one.

    Attributes:
        run: its name, "" where there was none.
        cases: every case that it expected.
        problem: why the cases are not known, "" where they are.
    """

    run: str = ""
    cases: tuple[str, ...] = ()
    problem: str = ""


def find(request: Request, names: Sequence[str], orphans: Sequence[str]) -> Absences:
    """The absent cases of a run.

    Args:
        request: the run's; a nightly one knows which cases it expects.
        names: the cases that are there, and the jobs that are broken: their cases may be there, too.
        orphans: baselines whose case is gone.
    """
    said = {
        name: f"the baseline {name} has no case any more (`gpuregress accept --prune` removes it)" for name in orphans
    }
    if request.kind != "nightly":
        return Absences(notes=tuple(said.values()))
    there = set(names)
    gone = [name for name in request.expected if not is_of(name, there)]
    vanished = {name: f"{name} vanished since the last nightly run" for name in gone}
    missing = tuple(_missing(name, vanished, said) for name in dict.fromkeys((*gone, *orphans)))
    unknown = (Missing(FILE, (request.problem,)),) if request.problem else ()
    return Absences((*unknown, *missing))


def _missing(name: str, vanished: dict[str, str], orphans: dict[str, str]) -> Missing:
    forget = f"(`gpuregress accept --prune` forgets {name})"
    return Missing(name, tuple(line for line in (vanished.get(name), orphans.get(name, forget)) if line))


def is_of(name: str, names: Collection[str]) -> bool:
    """Whether a case is one of these, or of a job that is."""
    return name in names or name.partition("/")[0] in names


def are_expected(project: Project, request: Request) -> bool:
    """Whether a run without any case is no matter of having nothing to do: cases were there, and are gone."""
    return (
        request.kind == "nightly"
        and request.takes_all
        and bool(request.expected or Store(project.baselines).case_names())
    )


# --- nightly.json -----------------------------------------------------------------------------------------------------


def last_night(project: Project) -> LastNight:
    """The last finished nightly run, as it was recorded; a damaged record is a problem of the next night."""
    path = project.runs / FILE
    if not path.exists():
        return LastNight()
    unknown = "whether a case vanished since the last nightly run is not known"
    try:
        return storage.read_record(path, LastNight, unknown)
    except StorageError as error:
        return LastNight(problem=str(error))


def record_night(project: Project, night: LastNight) -> None:
    """Records a finished nightly run.

    Raises:
        StorageError: no space, no permission.
    """
    names = {"run": night.run, "cases": sorted(night.cases)}
    storage.write_atomic(project.runs / FILE, json.dumps(names, indent=1).encode())


def forget(project: Project, present: Sequence[str]) -> tuple[str, ...]:
    """Expects only the cases that are there from the next nightly run on.

    Args:
        project: whose.
        present: every case of every job.

    Returns:
        The cases that are no longer expected.
    """
    night, here = last_night(project), set(present)
    gone = tuple(name for name in night.cases if name not in here)
    if gone:
        record_night(project, LastNight(night.run, tuple(name for name in night.cases if name in here)))
    return gone
