"""Stream of tasks for the pool of workers; a task is ready when its programs are compiled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from gpuregress.execution.workers.pool import CaseNotCompiled
from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case, Task
from gpuregress.session.compilation import kernel_arguments
from gpuregress.session.compilation.builder import Built, CasePrograms, ProgramBuilder

_AHEAD = 4
"""Cases for each compiler that are requested, or ready, before a worker is free for them."""


class TaskStream:
    """The tasks of a run; `tasks` are those that were taken, by the names of their cases.

    Args:
        builder: compiles their programs.
        cases: in the order in which they should run.
        task_of: makes a case's task.
    """

    def __init__(
        self, builder: ProgramBuilder, cases: Iterable[Case], task_of: Callable[[Case, CasePrograms], Task]
    ) -> None:
        self._builder = builder
        self._cases = deque(cases)
        self._requested: list[Case] = []
        self._task_of = task_of
        self.tasks: dict[str, Task] = {}

    def fileno(self) -> int:
        """A descriptor that becomes readable when `take` has something new."""
        return self._builder.crew.fileno()

    @property
    def deadline(self) -> float | None:
        """The latest time at which `take` has something new."""
        return self._builder.crew.deadline

    @property
    def is_over(self) -> bool:
        """Whether every case was taken."""
        return not self._cases and not self._requested

    @property
    def is_ready(self) -> bool:
        """Whether a task is ready, or a case cannot be built."""
        self._builder.collect()
        return not self._builder.crew.under_way or any(
            self._builder.built(case) is not None for case in self._requested
        )

    def take(self, room: int) -> Iterator[Task | CaseNotCompiled]:
        """The tasks that are ready, at most `room`, and any number of cases that cannot be built.

        Sources are compiled a few cases ahead, so that compilers and workers share the cores.
        """
        ready = 0
        self._builder.collect()
        while True:
            for case in [*self._requested]:
                built = self._builder.built(case) if ready < room else None
                if built is None:
                    continue
                self._requested.remove(case)
                if not self._cases and not self._builder.crew.under_way:
                    self._builder.crew.dismiss()  # nothing is left to compile: the cores are the workers'
                item = self._task(case, built)
                ready += isinstance(item, Task)
                yield item
            if not self._cases or len(self._requested) >= room - ready + _AHEAD * self._builder.crew.count:
                return
            case = self._cases.popleft()
            self._requested.append(case)
            self._builder.request(case)
            self._builder.collect()

    def withdraw(self, is_unwanted: Callable[[Case], bool]) -> list[Case]:
        """Take out the cases that were not taken yet and are not wanted any more."""
        unwanted = [case for case in (*self._requested, *self._cases) if is_unwanted(case)]
        self._requested = [case for case in self._requested if not is_unwanted(case)]
        self._cases = deque(case for case in self._cases if not is_unwanted(case))
        return unwanted

    def _task(self, case: Case, built: Built) -> Task | CaseNotCompiled:
        errors = kernel_arguments.contradictions(case, built)
        if errors:
            return CaseNotCompiled(case, JobErrors(errors))
        if not isinstance(built, CasePrograms):
            return CaseNotCompiled(case, built)
        task = self._task_of(case, built)
        self.tasks[case.name] = task
        return task
