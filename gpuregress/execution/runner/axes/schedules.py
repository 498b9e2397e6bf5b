"""Schedules: the same inputs and programs in another order of blocks, warps and lanes.

A difference is explained by the smallest change of the order that is enough for it, and by the accesses it exchanges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from gpuregress.execution.runner.axes.schedule_search import ScheduleSearch, Smallest, adversary
from gpuregress.execution.runner.case_runs import Adversary, CaseRuns, PlannedRun, RunAxis, RunPlan
from gpuregress.execution.runner.dumps import digest_of
from gpuregress.execution.runner.launcher import WATCHING, RunLabel
from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import (
    Conflict,
    ConflictSurvey,
    Finding,
    FurtherRun,
    Instruments,
    Rule,
    RunFacts,
)
from gpuregress.gpu import schedules
from gpuregress.gpu.base import LaunchReport
from gpuregress.gpu.records import replace
from gpuregress.gpu.schedule_names import NamedSchedule

_MOST_ACCESSES = 3
_LONGEST_LABEL = 60
_FAULT = ""
"""Stands for a fault among the buffers."""
_NO_CONFLICT = "no two accesses that were watched conflict"
_CUT = "further pairs of accesses conflict, which are not kept"


_TOO_SLOW = "to watch all accesses of launches that take {:.1f} s may take minutes; --schedule adversarial does it"
_UNKNOWN = Adversary("", (), ConflictSurvey(0, ("the accesses were not watched, because the launches take long",)))


def spelled(runs: CaseRuns, name: str) -> str:
    """The name of a schedule by its switches, for the adversarial one."""
    return _adversary(runs).name if name == schedules.ADVERSARIAL else name


def _adversary(runs: CaseRuns) -> Adversary:
    """Find the conflicting accesses in the order `by-warp`, and the schedule that exchanges them."""
    if runs.adversary is not None:
        return runs.adversary
    reports, fault = _watched(runs)
    conflicts: dict[Conflict, None] = {}
    for report in reports:
        conflicts |= dict.fromkeys(report.conflicts)
    unwatched = dict.fromkeys(report.unwatched for report in reports if report.unwatched)
    if any(report.conflicts_cut for report in reports):
        unwatched[_CUT] = None
    if fault:
        unwatched[fault] = None
    switches = adversary(conflicts)
    pairs = {(conflict.part, conflict.earlier, conflict.later) for conflict in conflicts}
    exchanged = len(switches) - 1  # the last one is that of the copies
    if any(conflict.part == schedules.COPIES for conflict in conflicts):
        exchanged += 1
    distinct = tuple(conflicts)
    first = distinct[0].text if distinct else ""
    survey = ConflictSurvey(len(pairs), tuple(unwatched), first, exchanged)
    runs.adversary = Adversary(schedules.named(switches), distinct, survey)
    return runs.adversary


def _watched(runs: CaseRuns) -> tuple[list[LaunchReport], str]:
    """The reports of a run that watches all accesses, and the fault that ended it."""
    device = runs.launcher.device
    reports: list[LaunchReport] = []
    device.instrument(Instruments(checks=("races",), conflicts=True))
    label = RunLabel(schedule=schedules.BY_WARP, phase=WATCHING)
    try:
        runs.memory(RunPlan(label, schedule=schedules.BY_WARP), reports.append)
    except KernelFault as fault:
        return reports, f"nothing was watched after a fault: {fault}"
    finally:
        device.instrument(Instruments())
    return reports, ""


def _plan(schedule: str, label: str) -> RunPlan:
    shown = label if len(label) <= _LONGEST_LABEL else "switches"
    return RunPlan(RunLabel(schedule=shown), schedule=schedule)


def _runs(runs: CaseRuns) -> Iterator[PlannedRun]:
    if not runs.launcher.device.follow(schedules.FORWARD):
        return
    for name in runs.case.settings.schedules[1:]:
        if name == schedules.ADVERSARIAL and _is_slow(runs):
            yield PlannedRun(name, None, left_out=_TOO_SLOW.format(runs.elapsed_s))
        else:
            yield PlannedRun(name, partial(_run, runs, name))


def _is_slow(runs: CaseRuns) -> bool:
    """Whether it may take longer than the case's limit to watch all accesses."""
    return runs.elapsed_s * schedules.WATCHED_SLOWDOWN > runs.case.limits.timeout


def _run(runs: CaseRuns, name: str) -> FurtherRun:
    memory = runs.memory(_plan(spelled(runs, name), name))
    digests, dumps = runs.compared(memory, f"schedule-{name.replace(':', '-')}")
    return FurtherRun("schedule", name, dumps=dumps, facts=RunFacts(digests=digests))


# --- explanation ------------------------------------------------------------------------------------------------------


def _explained(runs: CaseRuns, done: Sequence[FurtherRun]) -> list[FurtherRun]:
    """Add the smallest switch and the accesses to the first run that has other results, or a fault.

    Buffers with a rule of their own may differ: most are sums whose rounding the order changes.
    """
    explained, rules = list(done), runs.case.compare
    exact = {dump.buffer for dump in runs.results if rules.get(dump.buffer, Rule()) == Rule()}
    for number, run in enumerate(done):
        if run.fault or exact & run.dumps.keys():
            explained[number] = _explained_run(runs, run, exact)
            break
    return explained


def _explained_run(runs: CaseRuns, run: FurtherRun, exact: set[str]) -> FurtherRun:
    known = _UNKNOWN if _is_slow(runs) else _adversary(runs)
    search = ScheduleSearch(runs.case, partial(_differing, runs))
    schedule = NamedSchedule(spelled(runs, run.name))
    wrong = [_FAULT] if run.fault else [buffer for buffer in run.dumps if buffer in exact]
    switches, replays, findings = {}, {}, {}
    for buffer in wrong:
        smallest = search.smallest(schedule, buffer, known.conflicts)
        if smallest is not None:
            switches[buffer] = smallest.words
            replays[buffer] = smallest.name
        accesses = _accesses(known, smallest, buffer)
        findings[buffer] = tuple(Finding("order of accesses", access) for access in accesses)
    return replace(run, facts=replace(run.facts, switches=switches, replays=replays, findings=findings))


def _differing(runs: CaseRuns, name: str) -> frozenset[str]:
    """The buffers that differ from the first run's under a schedule, or the fault that it ends with."""
    try:
        memory = runs.memory(_plan(name, name))
    except KernelFault:
        return frozenset([_FAULT])
    return frozenset(first.buffer for first, result in runs.readers(memory) if digest_of(result) != first.digest)


def _accesses(known: Adversary, smallest: Smallest | None, buffer: str) -> Iterator[str]:
    """The accesses that the switches exchange, those to the buffer first; where none is known, all that conflict."""
    conflicts = sorted(known.conflicts, key=lambda conflict: conflict.memory != buffer)
    exchanged = []
    if smallest is not None:
        exchanged = [conflict for conflict in conflicts if smallest.explains(conflict)]
    for conflict in (exchanged or conflicts)[:_MOST_ACCESSES]:
        yield conflict.text
    if not known.conflicts and known is not _UNKNOWN:
        yield _NO_CONFLICT
    if not exchanged and known.survey.unwatched:
        yield "; ".join(known.survey.unwatched)


AXIS = RunAxis("schedule", _runs, may_hang=True, explain=_explained)
