"""Runs of a case under further schedules: the same inputs, another order of blocks, warps and lanes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpuregress.execution.runner.buffer_reader import BufferReader
from gpuregress.execution.runner.dumps import DumpFolder, digest_of
from gpuregress.execution.runner.launcher import WATCHING, Launcher, thread_count
from gpuregress.execution.runner.launches.schedule_search import ScheduleSearch, Smallest, adversary
from gpuregress.execution.runner.status_check import check_status
from gpuregress.foundation.errors import KernelFault
from gpuregress.foundation.records import Conflict, ConflictSurvey, Dump, Instruments, Rule, ScheduleRun
from gpuregress.gpu import schedules
from gpuregress.gpu.base import LaunchReport, Memory
from gpuregress.gpu.records import Record, replace
from gpuregress.gpu.schedule_names import NamedSchedule

Array = npt.NDArray[np.generic]
_MOST_ACCESSES = 3
_LONGEST_LABEL = 60
_FAULT = ""
"""Stands for a fault among the buffers."""
_NO_CONFLICT = "no two accesses that were watched conflict"
_CUT = "further pairs of accesses conflict, which are not kept"


class Adversary(Record):
    """The adversarial schedule of a case.

    Attributes:
        name: of the schedule that exchanges all conflicting accesses.
        conflicts: those.
        survey: what is told of them.
    """

    name: str
    conflicts: tuple[Conflict, ...]
    survey: ConflictSurvey


_TOO_SLOW = "to watch all accesses of launches that take {:.1f} s may take minutes; --schedule adversarial does it"
_UNKNOWN = Adversary("", (), ConflictSurvey(0, ("the accesses were not watched, for the launches take long",)))


@dataclass(slots=True)
class ScheduleRuns:
    """The runs of one case under schedules.

    Attributes:
        launcher: of the case.
        poison: of outputs.
        known: the adversarial schedule, once it was asked for.
    """

    launcher: Launcher
    poison: bytes
    known: Adversary | None = None

    def adversary(self, filled: Mapping[str, Array]) -> Adversary:
        """Find the conflicting accesses in the order `by-warp`, and the schedule that exchanges them.

        Args:
            filled: filled buffer → its contents.
        """
        if self.known is None:
            reports, fault = self._watched(filled)
            found = dict.fromkeys(one for report in reports for one in report.conflicts)
            unwatched = [report.unwatched for report in reports if report.unwatched]
            unwatched += [_CUT] if any(report.conflicts_cut for report in reports) else []
            unwatched += [fault] if fault else []
            switches, pairs = adversary(found), {(one.part, one.earlier, one.later) for one in found}
            # The last switch is that of the copies.
            exchanged = len(switches) - 1 + any(part == schedules.COPIES for part, _, _ in pairs)
            first = next((one.text for one in found), "")
            survey = ConflictSurvey(len(pairs), tuple(dict.fromkeys(unwatched)), first, exchanged)
            self.known = Adversary(schedules.named(switches), tuple(found), survey)
        return self.known

    def _watched(self, filled: Mapping[str, Array]) -> tuple[list[LaunchReport], str]:
        device, reports, phase = self.launcher.device, list[LaunchReport](), self.launcher.phase
        device.instrument(Instruments(checks=("races",), conflicts=True))
        self.launcher.phase = WATCHING
        try:
            self.memory(schedules.BY_WARP, filled, reports)
        except KernelFault as fault:
            return reports, f"nothing was watched behind a fault: {fault}"
        finally:
            device.instrument(Instruments())
            self.launcher.phase = phase
        return reports, ""

    def memory(
        self, name: str, filled: Mapping[str, Array], reports: list[LaunchReport] | None = None, *, label: str = ""
    ) -> Mapping[str, Memory]:
        """Run the case's launches under a schedule; return the buffers.

        Args:
            name: of the schedule.
            filled: filled buffer → its contents.
            reports: those of the launches are added.
            label: the schedule in the log; not given: the name, unless it is long.

        Raises:
            KernelFault: of a launch.
        """
        launcher, case = self.launcher, self.launcher.case
        launcher.device.free_all()
        launcher.device.follow(name)
        launcher.schedule = (label or name) if len(label or name) <= _LONGEST_LABEL else "switches"
        launcher.entering("preparing")
        loaded = launcher.load(thread_count(case.launches))
        memory = launcher.prepare(loaded, filled, self.poison)
        for _, report in launcher.run(case.launches, loaded, memory):
            if reports is not None:
                reports.append(report)
        if case.status is not None:
            check_status(memory[case.status], case.buffers[case.status], case.status_codes)
        return memory


@dataclass(slots=True)
class ComparedSchedules:
    """The results under the schedules that follow the first one, beside those of the first.

    Attributes:
        runs: runs the case.
        folder: the case's dumps; those of a schedule go to a folder inside it.
        results: the dumps under the first schedule.
        elapsed_s: of the launches under the first schedule.
        done: what came of each schedule.
    """

    runs: ScheduleRuns
    folder: DumpFolder
    results: Iterable[Dump]
    elapsed_s: float
    done: list[ScheduleRun] = field(default_factory=list)

    def run(self, filled: Mapping[str, Array]) -> Iterator[str | None]:
        """Run every schedule; a fault is noted, and the next one runs.

        Args:
            filled: filled buffer → its contents.

        Yields:
            The name of each schedule before it runs; `schedules.EXPLANATION` before a difference is explained; None
            when all is done.
        """
        for name in self.runs.launcher.case.settings.schedules[1:]:
            if name == schedules.ADVERSARIAL and self._is_slow:
                self.done.append(ScheduleRun(name, left_out=_TOO_SLOW.format(self.elapsed_s)))
                continue
            yield name
            try:
                run = self._run(name, filled)
            except KernelFault as fault:
                run = ScheduleRun(name, fault=f"{fault.kind}: {fault}")
            self.done.append(run)
        yield schedules.EXPLANATION
        self._explain_first(filled)
        yield None

    @property
    def _is_slow(self) -> bool:
        """Whether it may take longer than the case's limit to watch all accesses."""
        return self.elapsed_s * schedules.WATCHED_SLOWDOWN > self.runs.launcher.case.limits.timeout

    def _spelled(self, name: str, filled: Mapping[str, Array]) -> str:
        return self.runs.adversary(filled).name if name == schedules.ADVERSARIAL else name

    def _run(self, name: str, filled: Mapping[str, Array]) -> ScheduleRun:
        launcher, case = self.runs.launcher, self.runs.launcher.case
        memory = self.runs.memory(self._spelled(name, filled), filled, label=name)
        launcher.entering("saving")
        folder = self.folder.within(f"schedule-{name.replace(':', '-')}")
        digests, dumps = {}, {}
        for first in self.results:
            result = BufferReader(memory[first.buffer], case.buffers[first.buffer])
            digests[first.buffer] = digest_of(result)
            if digests[first.buffer] != first.digest:
                dumps[first.buffer] = folder.stream(result, {})
        return ScheduleRun(name, digests, dumps)

    # --- explanation --------------------------------------------------------------------------------------------------

    def _explain_first(self, filled: Mapping[str, Array]) -> None:
        """Add the smallest switch and the accesses to the first run that has other results, or a fault.

        Buffers with a rule of their own may differ: most are sums whose rounding the order changes.
        """
        rules = self.runs.launcher.case.compare
        exact = {one.buffer for one in self.results if rules.get(one.buffer, Rule()) == Rule()}
        number = next((at for at, run in enumerate(self.done) if run.fault or exact & run.dumps.keys()), None)
        if number is None:
            return
        run, known = self.done[number], _UNKNOWN if self._is_slow else self.runs.adversary(filled)
        search = ScheduleSearch(self.runs.launcher.case, lambda name: self._differing(name, filled))
        schedule = NamedSchedule(self._spelled(run.name, filled))
        wrong = [_FAULT] if run.fault else [buffer for buffer in run.dumps if buffer in exact]
        found = {buffer: search.smallest(schedule, buffer, known.conflicts) for buffer in wrong}
        self.done[number] = replace(
            run,
            switches={buffer: smallest.words for buffer, smallest in found.items() if smallest},
            replays={buffer: smallest.name for buffer, smallest in found.items() if smallest},
            accesses={buffer: tuple(_accesses(known, smallest, buffer)) for buffer, smallest in found.items()},
        )

    def _differing(self, name: str, filled: Mapping[str, Array]) -> frozenset[str]:
        """The buffers that differ from the first run's under a schedule, or the fault that it ends with."""
        try:
            memory = self.runs.memory(name, filled)
        except KernelFault:
            return frozenset([_FAULT])
        return frozenset(self._changed(memory))

    def _changed(self, memory: Mapping[str, Memory]) -> Iterator[str]:
        own = self.runs.launcher.case.buffers
        for one in self.results:
            if digest_of(BufferReader(memory[one.buffer], own[one.buffer])) != one.digest:
                yield one.buffer


def _accesses(known: Adversary, smallest: Smallest | None, buffer: str) -> Iterator[str]:
    """The accesses that the switches exchange, those to the buffer first; where none is known, all that conflict."""
    conflicts = sorted(known.conflicts, key=lambda one: one.memory != buffer)
    explained = () if smallest is None else (one for one in conflicts if smallest.explains(one))
    told = tuple(one.text for one in itertools.islice(explained, _MOST_ACCESSES))
    yield from told or (one.text for one in conflicts[:_MOST_ACCESSES])
    if not known.conflicts and known is not _UNKNOWN:
        yield _NO_CONFLICT
    if not told and known.survey.unwatched:
        yield "; ".join(known.survey.unwatched)
