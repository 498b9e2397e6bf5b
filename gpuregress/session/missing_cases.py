"""Missing cases: those that vanished or became infeasible, and baselines without a case.

A nightly run fails for each of them, every night, until the case is back or `accept --prune` has forgotten it. Which
cases it expects is kept with the baselines, in `cases.yaml`; the cases that ran at night and were never accepted are in
the folder of runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gpuregress.foundation import storage
from gpuregress.foundation.errors import BaselineError, StorageError
from gpuregress.foundation.records import Case, Missing
from gpuregress.gpu.records import Record, replace
from gpuregress.session.run_request import ExpectedCases, RunRequest
from gpuregress.store.baselines import BaselineStore, expected_cases
from gpuregress.store.project import Project

FILE = "nightly.json"
"""In the folder of runs: the last finished nightly run, and the cases that ran in one and are not in `cases.yaml`."""
_UNKNOWN = "whether a case vanished since the last nightly run is not known"


class MissingCases(Record):
    """The missing cases of a run.

    Attributes:
        missing: those that count as failures.
        notes: remarks on the others.
    """

    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()


class LastNight(Record):
    """The record that the last finished nightly run left for the next one.

    Attributes:
        run: its name, "" where there was none.
        cases: every case that ran in a night and is not in `cases.yaml`.
        problem: why the cases are unknown, "" where they are known.
        infeasible: those of the expected cases that were infeasible in that run; they ran in an earlier one.
        others: its runs on further devices.
        devices: kinds of devices on which it ran, and those that it had lost.
        lacking: kinds that jobs name and that it lacked.
    """

    run: str = ""
    cases: tuple[str, ...] = ()
    problem: str = ""
    infeasible: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


def expected(project: Project) -> ExpectedCases:
    """Read the cases that a nightly run expects; a damaged file is a problem of that night."""
    night = last_night(project)
    problems = {FILE: night.problem} if night.problem else {}
    accepted: Mapping[str, tuple[str, ...]] = {}
    try:
        accepted = BaselineStore.of(project).expected() or {}
    except (BaselineError, StorageError) as error:
        problems[expected_cases.FILE] = f"{error}; {_UNKNOWN}"
    return ExpectedCases({**dict.fromkeys(night.cases, ()), **accepted}, frozenset(accepted), bool(night.run), problems)


def find(
    request: RunRequest,
    cases: Sequence[Case],
    broken: Sequence[str],
    orphans: Sequence[str],
    infeasible: Collection[str],
) -> MissingCases:
    """Find the missing cases of a run.

    Args:
        request: the run's; a nightly one knows which cases it expects.
        cases: the planned ones.
        broken: the broken jobs: their cases may exist, too.
        orphans: baselines whose case is gone.
        infeasible: the planned cases that were skipped for it.
    """
    lines = {
        name: f"the baseline {name} has no case any more (`gpuregress accept --prune` removes it)" for name in orphans
    }
    if request.kind != "nightly":
        return MissingCases(notes=tuple(lines.values()))
    planned = {case.name: case for case in cases}
    named = {*planned, *broken}
    vanished = {}
    for name, devices in request.expected.cases.items():
        text = _absence(name, devices, planned.get(name), request.expected, is_infeasible=name in infeasible)
        is_told = name in lines and not request.expected.has_night
        if text and not is_told and (name in planned or not is_of(name, named)):
            vanished[name] = text
    missing = tuple(_missing(name, vanished, lines) for name in dict.fromkeys((*vanished, *orphans)))
    unknown = tuple(Missing(file, (problem,)) for file, problem in request.expected.problems.items())
    return MissingCases((*unknown, *missing))


def _absence(name: str, devices: Sequence[str], case: Case | None, known: ExpectedCases, *, is_infeasible: bool) -> str:
    """Say what is missing of an expected case; "" for nothing."""
    if case is None:
        since = "since the last nightly run" if known.has_night else "since it was accepted"
        return f"{name} vanished {since}"
    if is_infeasible:
        return f"{name} ran on an earlier night and is infeasible now"
    gone = [device for device in devices if device not in case.devices]
    if not gone:
        return ""
    return f"{name} no longer runs on {', '.join(gone)}: the `devices` of its job have changed"


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
        and bool(request.expected.cases or BaselineStore.of(project).case_names())
    )


# --- what is kept -----------------------------------------------------------------------------------------------------


def last_night(project: Project) -> LastNight:
    """Read the record of the last finished nightly run; a damaged one is a problem of the next night."""
    path = project.runs / FILE
    if not path.exists():
        return LastNight()
    try:
        return storage.read_record(path, LastNight, _UNKNOWN)
    except StorageError as error:
        return LastNight(problem=str(error))


def record_night(project: Project, night: LastNight) -> None:
    """Record a finished nightly run.

    Raises:
        StorageError: no space, no permission.
    """
    ordered = replace(night, cases=tuple(sorted(night.cases)), infeasible=tuple(sorted(night.infeasible)))
    storage.write_record(project.runs / FILE, ordered)


def accept(project: Project, store: BaselineStore, cases: Sequence[Case]) -> bool:
    """Let nightly runs of every clone expect some cases from now on.

    The first time, the cases that this host expects so far and those that have a baseline are added.

    Args:
        store: its baselines.
        cases: that ran.

    Returns:
        Whether `cases.yaml` was changed.

    Raises:
        BaselineError: it was edited, cut short or merged with a conflict.
        StorageError: no space, no permission.
    """
    expected_devices: dict[str, tuple[str, ...]] = {}
    if store.expected() is None:
        expected_devices = dict.fromkeys((*last_night(project).cases, *store.case_names()), ())
    for case in cases:
        expected_devices[case.name] = case.settings.on
    return store.expect(expected_devices)


def forget(project: Project, store: BaselineStore, present: Sequence[Case]) -> tuple[str, ...]:
    """Expect only the present cases that were feasible last night from the next nightly run on.

    Args:
        store: its baselines.
        present: every case of every job.

    Returns:
        The cases, or devices of cases, that are no longer expected.

    Raises:
        BaselineError: `cases.yaml` was edited, cut short or merged with a conflict.
        StorageError: no space, no permission.
    """
    night = last_night(project)
    here = {case.name: case for case in present if case.name not in night.infeasible}
    known = store.expected() or {}
    gone = [name for name in (*known, *night.cases) if name not in here]
    narrower = {}
    for name, case in here.items():
        if not set(known.get(name, ())) <= set(case.devices):
            narrower[name] = case.settings.on
    if narrower or not known.keys().isdisjoint(gone):
        store.expect(narrower, forget=gone)
    ran_here = tuple(name for name in night.cases if name in here)
    if len(ran_here) < len(night.cases):
        record_night(project, replace(night, cases=ran_here, infeasible=()))
    return (*dict.fromkeys(gone), *(f"{name} on other devices" for name in narrower))
