"""Trials of variations: compiled, compared with the unchanged program, run until a case notices."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from gpuregress.execution.workers.compiler_pool import CompilerPool, Crew, process_count
from gpuregress.execution.workers.pool import WorkerPool
from gpuregress.foundation.errors import CompileError, CompilerStopped, GpuregressError, LaunchRefused, UnsupportedError
from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, Outcome, Program, Task, Verdict
from gpuregress.gpu.instruments import CHECKS
from gpuregress.gpu.records import Record, replace
from gpuregress.judge import agreement
from gpuregress.judge.accepted import AcceptedDumps
from gpuregress.judge.agreement import GroupMember
from gpuregress.judge.judge import Judge
from gpuregress.judge.user_code import UserCodeProcess
from gpuregress.lab.mutating.programs import MutatedPrograms, Variation
from gpuregress.lab.mutating.subject import Subject, built_of
from gpuregress.session import device_slots
from gpuregress.store.baselines import BaselineStore
from gpuregress.toolchain import cache

TrialState = Literal["killed", "survived", "timed out", "equal", "equivalent", "not valid", "trouble", "cut"]
"""`equal`: the same PTX; `equivalent`: the same optimised code; `not valid`: the compiler or the device refuses it;
`trouble`: it could not be run for another reason, such as a full disk; `cut`: the time was over before all cases had
run, and those that ran passed."""

Listed = Literal["killed", "survived", "timed out", "not valid"]
"""A list of the report."""

LISTS: Mapping[TrialState, Listed] = {
    "killed": "killed",
    "survived": "survived",
    "timed out": "timed out",
    "equal": "survived",
    "equivalent": "survived",
    "not valid": "not valid",
    "trouble": "not valid",
    "cut": "survived",
}
"""State of a trial → the list of the report that has its mutant."""

NOTICED: tuple[TrialState, ...] = ("killed", "timed out")
"""The states of mutants that a case noticed."""

ALIVE: tuple[TrialState, ...] = ("survived", "cut")
"""The states of mutants that count, and that no case noticed."""

SAME: tuple[TrialState, ...] = ("equal", "equivalent")
"""The states of mutants that are the same program, and do not count."""

UNUSABLE: tuple[TrialState, ...] = ("not valid", "trouble", "cut")
"""The states of variations other than mutants that say nothing."""

REPRODUCIBLE: tuple[TrialState, ...] = ("killed", "survived", "equal", "equivalent", "not valid")
"""The states that the content alone decides: neither the load of the machine nor trouble with it."""

Reason = Literal[
    "never executed",
    "equal PTX",
    "equal optimised code",
    "same value in every case",
    "another value, same results",
    "within the tolerance",
    "only --check races notices it",
    "no case noticed",
    "time was over",
]
"""The reason why a mutant lives."""

EQUIVALENT: tuple[Reason, ...] = ("equal PTX", "equal optimised code")
"""The reasons of mutants that are the same program, and do not count."""

ONLY_CHECKED: Reason = "only --check races notices it"
"""The reason of a data race whose results are right: the job does not run the check, and so would not notice it."""

_OF_ERROR: Mapping[str, TrialState] = {LaunchRefused.__name__: "killed", UnsupportedError.__name__: "not valid"}
"""Error of a case → the state; others are trouble of the machine, the device or the job's functions."""


def state_of_error(error: GpuregressError) -> TrialState:
    """Return the state of a variation that has no program."""
    if isinstance(error, CompileError | UnsupportedError) and not isinstance(error, CompilerStopped):
        return "not valid"
    return "trouble"


def state_of_verdict(reached: Verdict, outcome: Outcome) -> TrialState:
    """Return the state of a variation that did not pass a case."""
    if outcome.state == "error":
        return _OF_ERROR.get(outcome.observations.error, "trouble")
    is_crash = outcome.fault is not None and outcome.fault.kind == "crash"  # lack of memory may be its cause
    if reached.status == "error" or is_crash:  # a comparison fails where a dump cannot be read
        return "trouble"
    if reached.status == "timeout":
        return "timed out"
    return "killed"


_CHECKED_FACTOR = 5.0
"""Times that a launch may take longer under dynamic checks."""
_GRACE_S = 5.0
"""Seconds after the end of the time in which variations that have begun may go on to their next case."""


@dataclasses.dataclass(frozen=True, slots=True)
class MutantWorkers:
    """What trials share: the compilers, the process for the user's functions, the workers on the CPU device."""

    crew: CompilerPool
    user: UserCodeProcess
    pool: WorkerPool


@contextlib.contextmanager
def opened_workers(scratch: Path, stop: StopSignal) -> Iterator[MutantWorkers]:
    """Open what trials share; their programs go to a cache of their own, in the scratch folder."""
    slots = device_slots.select("cpu").slots
    with (
        cache.used_folder(scratch / "cache"),
        UserCodeProcess(stop) as user,
        CompilerPool(process_count(), stop) as crew,
        WorkerPool(slots, scratch, stop=stop, tries_slow_code=False, keeps_faulted=True) as pool,
    ):
        yield MutantWorkers(crew, user, pool)


class TrialResult(Record):
    """The result of a trial.

    Attributes:
        state: what came of it.
        case: that noticed it, "" where none did.
        status: of that case's verdict.
        reason: why, one line.
        fault: the kind of fault, "" without one.
        changed: cases that passed although bits of their results changed.
        seconds: of the cases in the worker.
    """

    state: TrialState
    case: str = ""
    status: str = ""
    reason: str = ""
    fault: str = ""
    changed: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def is_reproducible(self) -> bool:
        """Whether the content alone decides it: neither the load of the machine nor trouble with it."""
        return self.state in REPRODUCIBLE


@dataclasses.dataclass(slots=True)
class _Trial:
    """A variation whose cases are tried one after the other."""

    variation: Variation
    listen: Callable[[TrialResult], None]
    cases: deque[Case]
    asked: set[str] = dataclasses.field(default_factory=set)
    compiled: dict[str, Program] = dataclasses.field(default_factory=dict)
    error: GpuregressError | None = None
    programs: list[Program] = dataclasses.field(default_factory=list)
    task: Task | None = None
    changed: list[str] = dataclasses.field(default_factory=list)
    members: list[GroupMember] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    has_run: bool = False


class MutantTrials:
    """The trials of a subject's variations: tasks for the workers, and what came of them.

    Args:
        subject: unchanged.
        crew: of compilers.
        scratch: a folder for sources and dumps.
        user: the process for the user's functions.
        until: when no further variation begins, seconds of time.monotonic; None: all are tried.
        mark: stands before all names of tasks and programs, where several trials share the workers.
    """

    def __init__(
        self,
        subject: Subject,
        crew: Crew,
        scratch: Path,
        user: UserCodeProcess,
        until: float | None = None,
        mark: str = "",
    ) -> None:
        self._subject = subject
        self._crew = crew
        self._scratch = scratch
        self._programs = MutatedPrograms(subject, scratch / "sources")
        self._accepted = AcceptedDumps(BaselineStore.of(subject.project), "cpu")
        self._judge = Judge(self._accepted, {}, user)
        self._user = user
        self._until = until
        self._mark = mark
        self._more: Callable[[], bool] | None = None
        self.begun = 0
        """Variations that have begun."""
        self._needed: deque[tuple[Variation, Callable[[TrialResult], None]]] = deque()
        self._waiting: deque[tuple[Variation, Callable[[TrialResult], None]]] = deque()
        self._open: dict[str, _Trial] = {}
        self._ready: deque[_Trial] = deque()
        self._kills: Counter[str] = Counter()
        self._cases = {case.name: case for case in subject.cases}
        self._launch = 1

    def add(self, variation: Variation, listen: Callable[[TrialResult], None], *, is_needed: bool = False) -> None:
        """Try a variation after those that wait; `listen` is given its result.

        Args:
            variation: to try.
            listen: is not called where the time is over before the variation begins.
            is_needed: it begins before the others; where the time is over, `listen` is given "cut".
        """
        queue = self._needed if is_needed else self._waiting
        queue.append((variation, listen))

    def follow(self, more: Callable[[], bool]) -> None:
        """Draw further variations where there is room for one and none waits.

        Args:
            more: adds one, or finds its result; False where there is none. When the time is over it adds none.
        """
        self._more = more

    # --- tasks and their outcomes -------------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether every variation has its result."""
        return not self._needed and not self._waiting and not self._open and self._more is None

    @property
    def compiling(self) -> int:
        """Variations that have begun and have no task: most of them wait for a compiler."""
        return len([trial for trial in self._open.values() if trial.task is None])

    @property
    def has_task(self) -> bool:
        """Whether a task is ready."""
        return bool(self._ready)

    def next_task(self) -> Task:
        """Take a task that is ready."""
        trial = self._ready.popleft()
        trial.task = self._task(trial)
        trial.has_run = True
        return trial.task

    def settle(self, outcome: Outcome) -> None:
        """Judge the outcome of a task, and go on with its variation."""
        trial = self._open[outcome.case.removeprefix(self._mark).partition(":")[0]]
        case = trial.cases.popleft()
        task = trial.task
        assert task is not None
        trial.task = None
        trial.seconds += outcome.seconds
        outcome = replace(outcome, case=case.name)
        unanswered = self._user.unanswered
        reached = self._judge.verdict(case, task.programs, outcome)
        if reached.status in ("pass", "new", "skip"):
            self._note_pass(trial, case, outcome, reached)
        else:
            self._end(trial, self._noticed(reached, outcome, unanswered))
        if not trial.members:
            shutil.rmtree(task.dumps, ignore_errors=True)

    # --- one variation ------------------------------------------------------------------------------------------------

    def take_compiled(self, key: str, result: Program | GpuregressError) -> None:
        """Take what was compiled."""
        name, _, unchanged = key.removeprefix(self._mark).partition(":")
        trial = self._open.get(name)
        if trial is None:
            return
        trial.asked.remove(unchanged)
        if isinstance(result, Program):
            trial.compiled[unchanged] = result
        else:
            trial.error = trial.error or result

    def advance(self) -> None:
        """Bring each variation as far as it comes."""
        for trial in list(self._open.values()):  # some end here
            self._advance(trial)
        self._cut()

    def begin_next(self) -> bool:
        """Begin a variation that waits, or draw one; tell whether there was one."""
        while self._needed or self._waiting or self._draw():
            queue = self._needed or self._waiting
            if queue:  # what is drawn may have found its result
                self._begin(*queue.popleft())
                return True
        return False

    def _cut(self) -> None:
        """When the time is over, begin no variation that waits; some seconds later, end those with further cases."""
        if self._until is None or time.monotonic() < self._until:
            return
        self._waiting.clear()
        if time.monotonic() >= self._until + _GRACE_S:
            self._ready.clear()
            for trial in list(self._open.values()):
                if trial.task is None:
                    self._end(trial, TrialResult("cut", changed=tuple(trial.changed)))
        while self._needed:
            _, listen = self._needed.popleft()
            listen(TrialResult("cut"))

    def _draw(self) -> bool:
        if self._more is not None and not self._more():
            self._more = None
        return self._more is not None

    def _begin(self, variation: Variation, listen: Callable[[TrialResult], None]) -> None:
        self.begun += 1
        cases = [case for case in self._subject.cases if not variation.cases or case.name in variation.cases]
        order = sorted(cases, key=lambda case: (-self._kills[case.name], self._clean_s(case)))
        trial = _Trial(variation, listen, deque(order))
        self._open[variation.name] = trial
        self._advance(trial)

    def _clean_s(self, case: Case) -> float:
        return self._subject.outcome(case).seconds

    def _advance(self, trial: _Trial) -> None:
        """Bring a variation to its next task, or to its end."""
        while trial.task is None and trial not in self._ready:
            if trial.error is not None:
                folder = f"{self._scratch}/sources/{trial.variation.name}"
                reason = one_line(str(trial.error).splitlines()[0].replace(folder, ""))
                self._end(trial, TrialResult(state_of_error(trial.error), reason=reason))
                return
            if not trial.cases:
                self._finish(trial)
                return
            if not self._is_compiled(trial):
                return
            case = trial.cases[0]
            trial.programs = self._programs.of_case(trial.variation, case, trial.compiled)
            if trial.variation.is_unchanged or not self._programs.are_equal(case, trial.programs):
                self._ready.append(trial)
                return
            trial.cases.popleft()
            if case.agreement_group is not None:
                trial.members.append(GroupMember(case, self._subject.outcome(case), self._subject.verdicts[case.name]))

    def _is_compiled(self, trial: _Trial) -> bool:
        """Ask for the programs of the next case; tell whether all are there."""
        for key, source in self._programs.sources(trial.variation, trial.cases[0]):
            if key not in trial.compiled and key not in trial.asked:
                trial.asked.add(key)
                self._crew.submit(f"{self._mark}{trial.variation.name}:{key}", source)
        return not trial.asked

    def _task(self, trial: _Trial) -> Task:
        case = trial.cases[0]
        built = built_of(case, trial.programs)
        self._programs.note_slow(case, trial.programs)
        first = self._launch
        self._launch += case.launch_numbers
        checked = _with_checks(case, trial.variation.checks)
        return Task(
            case=replace(checked, name=f"{self._mark}{trial.variation.name}:{case.name}"),
            program=built.programs[0],
            log=str(self._scratch / "launches.log"),
            first_launch=first,
            dumps=str(self._scratch / "dumps" / trial.variation.name),
            known=self._accepted.known(case),
            references=built.references,
            shared=str(self._scratch / "shared"),
            variants=built.variants,
            other_programs=built.programs[1:],
            launch_limit_s=self._launch_limit_s(trial, case),
        )

    def _launch_limit_s(self, trial: _Trial, case: Case) -> float:
        """Return the time limit of the launches; one of unchanged programs would only say that the machine is busy."""
        if trial.variation.is_unchanged:
            return case.limits.timeout
        factor = _CHECKED_FACTOR if trial.variation.checks else 1.0
        return min(case.limits.timeout, factor * self._subject.limit_s(case))

    def _note_pass(self, trial: _Trial, case: Case, outcome: Outcome, reached: Verdict) -> None:
        clean = {dump.buffer: dump.digest for dump in self._subject.outcome(case).dumps}
        if any(clean.get(dump.buffer) != dump.digest for dump in outcome.dumps):
            trial.changed.append(case.name)
        if case.agreement_group is not None:
            trial.members.append(GroupMember(case, outcome, reached))

    def _finish(self, trial: _Trial) -> None:
        """End a variation that no case noticed: the cases that must agree are compared; else it survives."""
        if trial.has_run:
            unanswered = self._user.unanswered
            for reached, outcome in self._disagreements(trial.members):
                self._end(trial, self._noticed(reached, outcome, unanswered))
                return
        self._end(trial, TrialResult(self._state_of(trial), changed=tuple(trial.changed)))

    def _state_of(self, trial: _Trial) -> TrialState:
        """Return the state of a variation that no case noticed."""
        if not trial.has_run:
            return "equal"
        may_be_equivalent = trial.variation.is_compared and not trial.changed
        if may_be_equivalent and self._programs.are_equivalent(trial.variation, trial.compiled):
            return "equivalent"
        return "survived"

    def _disagreements(self, members: Sequence[GroupMember]) -> Iterator[tuple[Verdict, Outcome]]:
        groups: dict[object, list[GroupMember]] = {}
        for member in members:
            groups.setdefault(member.case.agreement_group, []).append(member)
        for group in groups.values():
            for reached, member in zip(agreement.verdicts(group, len(group), self._user), group, strict=True):
                if reached.status not in ("pass", "new"):
                    yield reached, member.outcome

    def _noticed(self, reached: Verdict, outcome: Outcome, unanswered: int) -> TrialResult:
        """Make the result of a variation that a case noticed, or that cannot be run or judged.

        Args:
            reached: the verdict.
            outcome: of the case.
            unanswered: calls of the user's functions that had no answer before this verdict.
        """
        state = state_of_verdict(reached, outcome)
        failed_references = outcome.observations.reference.facts.errors.keys()
        if self._user.unanswered > unanswered:  # a function of the job was too slow, or its process died
            state = "trouble"
        elif reached.status == "differ" and failed_references - self._cases[reached.case].reference_kernels.keys():
            state = "trouble"  # a reference that no mutant decides
        return TrialResult(
            state=state,
            case=reached.case,
            status=reached.status,
            reason=one_line(reached.reason),
            fault=outcome.fault.kind if outcome.fault is not None else "",
        )

    def _end(self, trial: _Trial, result: TrialResult) -> None:
        name = trial.variation.name
        del self._open[name]
        self._kills[result.case] += 1
        for folder in ("sources", "dumps"):
            shutil.rmtree(self._scratch / folder / name, ignore_errors=True)
        trial.listen(replace(result, seconds=trial.seconds))


def _with_checks(case: Case, checks: Sequence[str]) -> Case:
    """Return a case that runs with further dynamic checks."""
    instruments = case.settings.instruments
    all_checks = tuple(name for name in CHECKS if name in (*instruments.checks, *checks))
    return case.with_settings(instruments=replace(instruments, checks=all_checks))
