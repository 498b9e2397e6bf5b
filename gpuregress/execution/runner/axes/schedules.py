"""Schedules: the same inputs and programs in another order of blocks, warps and lanes.

A difference is explained by the smallest change of the order that is enough for it, and by the accesses it exchanges.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from msgspec import field

from gpuregress.execution.runner.case_runs import Adversary, CaseRuns, PlannedRun, RunAxis, RunPlan
from gpuregress.execution.runner.dumps import digest_of
from gpuregress.execution.runner.launcher import WATCHING, RunLabel
from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import (
    SM_90,
    SWITCH_TRIALS,
    Case,
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
from gpuregress.gpu.records import MutableRecord, Record, replace
from gpuregress.gpu.schedule_names import NamedSchedule
from gpuregress.gpu.schedules import Switch

# --- search for the fewest switches that are enough for a difference --------------------------------------------------


# Delta debugging: a smallest subset of changes that is enough for a failure.
# The algorithm is `ddmin` of Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.
_Change = TypeVar("_Change")


def smallest(changes: Sequence[_Change], fails: Callable[[Sequence[_Change]], bool | None]) -> list[_Change]:
    """Return a subset that fails, and of which no change can be left out.

    Args:
        changes: all of them, which fail together.
        fails: whether a subset fails; None: no more subsets are tried, and the smallest one so far is returned.
    """
    failing, parts = list(changes), 2
    while len(failing) > 1:
        size = -(-len(failing) // parts)
        starts = range(0, len(failing), size)
        pieces = [failing[start : start + size] for start in starts]
        candidates = list(pieces)
        # Of two pieces, each is the complement of the other.
        if len(pieces) > 2:
            candidates += [failing[:start] + failing[start + size :] for start in starts]
        for candidate in candidates:
            answer = fails(candidate)
            if answer is None:
                return failing
            if answer:
                parts = 2 if len(candidate) <= size else max(len(pieces) - 1, 2)
                failing = candidate
                break
        else:
            if size == 1:
                return failing
            parts = min(len(failing), 2 * len(pieces))
    return failing


_MOST_SECONDS = 10.0
"""The time after which no other run begins in search of fewer switches."""
_MOST_TOLD = 4


class Smallest(Record):
    """The smallest change of the order that is known to be enough.

    Attributes:
        words: it in words.
        name: the schedule that has it alone.
    """

    words: str
    name: str
    switches: tuple[Switch, ...] = ()

    def explains(self, conflict: Conflict) -> bool:
        """Whether the switches exchange the two accesses of a conflict."""
        for switch in self.switches:
            if switch.part == conflict.part:
                ends = (switch.second, switch.first)
                if switch.part == schedules.COPIES or (conflict.earlier, conflict.later) == ends:
                    return True
        return False


class ScheduleSearch(MutableRecord):
    """The search in one case.

    Attributes:
        differing: the buffers that differ from the first run's under a schedule.
        trials: the runs so far.
    """

    case: Case
    differing: Callable[[str], Collection[str]]
    trials: int = 0
    _ends: float = field(default_factory=lambda: time.monotonic() + _MOST_SECONDS)
    _tried: dict[str, Collection[str]] = field(default_factory=dict)

    def smallest(self, schedule: NamedSchedule, buffer: str, conflicts: Collection[Conflict]) -> Smallest | None:
        """Return the smallest change that is enough for a buffer to differ; None where none was found.

        Args:
            schedule: one under which it differs.
            buffer: its name.
            conflicts: the accesses that only the schedule orders.
        """
        if schedule.is_in_step:
            return None
        if self._differs(schedules.BY_WARP, buffer):
            words = "running each warp up to a barrier before the next one begins is enough"
            return Smallest(words, schedules.BY_WARP)
        chains = [schedule.chain(part, self._count(part)) for part in schedules.PARTS]
        whole = list(itertools.chain.from_iterable(chains))
        for switches in (_inverted(schedule, conflicts), *chains, whole):
            if switches and self._differs(schedules.named(switches), buffer):
                return self._fewest(switches, buffer)
        return None

    def _fewest(self, switches: Sequence[Switch], buffer: str) -> Smallest:
        fewest = smallest(switches, lambda tried: self._differs(schedules.named(tried), buffer))
        parts = {switch.part for switch in fewest}
        if len(fewest) > 1 and len(parts) == 1 and schedules.COPIES not in parts:
            # A chain of switches may stand for the exchange of its two ends.
            ends = Switch(fewest[0].part, fewest[0].first, fewest[-1].second)
            if ends.first > ends.second and self._differs(schedules.named([ends]), buffer):
                fewest = [ends]
        words = f"{_words(fewest)} is enough"
        if self._is_over and len(fewest) > 1:
            words += f" ({self.trials} runs tried; fewer switches may be)"
        return Smallest(words, schedules.named(fewest), tuple(fewest))

    @property
    def _is_over(self) -> bool:
        return self.trials >= SWITCH_TRIALS or time.monotonic() >= self._ends

    def _differs(self, name: str, buffer: str) -> bool | None:
        """Whether a buffer differs under a schedule; None where no other one is tried."""
        if name not in self._tried:
            if self._is_over:
                return None
            self.trials += 1
            self._tried[name] = self.differing(name)
        return buffer in self._tried[name]

    def _count(self, part: str) -> int:
        """The number of blocks, or of threads, of the launch that has the most."""
        if part == schedules.BLOCKS:
            return max(math.prod(launch.grid) for launch in self.case.launches)
        return max(math.prod(launch.block) for launch in self.case.launches)


def _exchanges(conflicts: Iterable[Conflict]) -> dict[Switch, None]:
    """The switches for the conflicts of blocks, warps and lanes that run in the usual order."""
    switches: dict[Switch, None] = {}
    for conflict in conflicts:
        if conflict.part not in ("", schedules.COPIES) and conflict.later > conflict.earlier:
            switches[Switch(conflict.part, conflict.later, conflict.earlier)] = None
    return switches


def _inverted(schedule: NamedSchedule, conflicts: Collection[Conflict]) -> list[Switch]:
    """The switches for the conflicts whose accesses a schedule exchanges."""
    inverted = []
    exchanges = sorted(_exchanges(conflicts), key=lambda switch: (switch.first, switch.second))
    for part in schedules.PARTS:
        switches = [switch for switch in exchanges if switch.part == part]
        if switches:
            ranks = _ranks(schedule, part, 1 + switches[-1].first)
            inverted += [switch for switch in switches if ranks[switch.first] < ranks[switch.second]]
    return [*inverted, *schedule.chain(schedules.COPIES, 1)]


def _ranks(schedule: NamedSchedule, part: str, count: int) -> dict[int, int]:
    """The place of each block, warp or thread in the order."""
    if part == schedules.BLOCKS:
        order = schedule.blocks(count) or range(count)
    else:
        size = SM_90.warp_size if part == schedules.WARPS else 1
        order = list(dict.fromkeys(int(number) // size for number in schedule.threads(count * size)))
    return {number: rank for rank, number in enumerate(order)}


def adversary(conflicts: Iterable[Conflict]) -> list[Switch]:
    """Return the switches that exchange all conflicting accesses, with copies that arrive as early as they can."""
    return [*_exchanges(conflicts), Switch(schedules.COPIES, arrival=schedules.AT_ISSUE)]


def _words(switches: Sequence[Switch]) -> str:
    runs = [switch.words for switch in switches if switch.part != schedules.COPIES]
    if not runs:
        return "the arrival of the asynchronous copies"
    words = f"running {' and '.join(runs)}"
    if len(runs) > _MOST_TOLD:
        parts = {switch.part for switch in switches}
        names = [part for part in schedules.PARTS[:-1] if part in parts]
        words = f"the order of the {' and '.join(names)} ({len(runs)} switches)"
    if len(runs) < len(switches):
        words += ", with another arrival of the asynchronous copies,"
    return words


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
