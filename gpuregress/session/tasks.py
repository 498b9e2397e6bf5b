"""Tasks of workers, as their cases are compiled: launch numbers, revision, baseline digests."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from gpuregress.execution.workers.pool import CaseNotCompiled
from gpuregress.foundation.errors import GpuregressError, JobErrors
from gpuregress.foundation.records import Case, DumpStorage, Task
from gpuregress.jobs import plan, revision
from gpuregress.judge.accepted import AcceptedDumps
from gpuregress.session import checking
from gpuregress.session.compilation import Built, CasePrograms, ProgramBuilder
from gpuregress.session.runs import run_folders
from gpuregress.store.project import Project
from gpuregress.toolchain import programs


class TaskFactory:
    """Makes the task of a case as soon as its programs are compiled.

    Args:
        project: whose revisions are recorded.
        cases: all that run, in order: each gets the numbers of its launches before anything starts.
        accepted: the baselines.
        remark: receives what the user should know of a revision.
        first: number of the first launch.
    """

    def __init__(
        self,
        project: Project,
        folder: Path,
        cases: Sequence[Case],
        accepted: AcceptedDumps,
        remark: Callable[[str], None],
        first: int = 1,
    ) -> None:
        self._project = project
        self._folder = folder
        self._accepted = accepted
        self._remark = remark
        # Whole programs come last: nobody knows before how many launches they have.
        numbered = sorted(cases, key=lambda case: case.program is not None)
        launches = itertools.accumulate((case.launch_numbers for case in numbered), initial=first)
        self._first_launch = {case.name: number for case, number in zip(numbered, launches, strict=False)}
        self._labels: set[tuple[str, str, str]] = set()
        self._remarks: set[str] = set()
        self._looked_at: set[str] = set()
        self._recorded = functools.cache(partial(revision.recorded, project.baselines, project.runs))

    def make(self, case: Case, built: CasePrograms) -> Task:
        """Make the task of a case; its revision is recorded from here on."""
        case = plan.completed(case, built.programs, built.references)
        case, note = plan.of_programs(case, built.programs, self._recorded)
        texts = [note, *map(programs.foreign_compiler, case.sources, built.programs)]
        for source, program in zip(case.sources, built.programs, strict=True):
            if program.key not in self._looked_at:
                self._looked_at.add(program.key)
                texts += programs.missing_modules(source, program)
        for text in texts:
            if text and text not in self._remarks:
                self._remarks.add(text)
                self._remark(text)
        label = (case.job, case.revision, case.source_digest)
        if label not in self._labels:
            revision.record(self._project.runs, {label})
            self._labels.add(label)
        known = {}
        # A damaged baseline is reported when the case is judged.
        with contextlib.suppress(GpuregressError):
            known = self._accepted.known(case)
        return Task(
            case=case,
            program=built.programs[0],
            log=str(self._folder / run_folders.LAUNCH_LOG),
            first_launch=self._first_launch[case.name],
            dumps=str(self._folder / "dumps"),
            known=known,
            references=built.references,
            shared=str(self._folder / run_folders.SHARED),
            variants=built.variants,
            other_programs=built.programs[1:],
            storage=DumpStorage(
                str(self._project.runs / run_folders.CONTENTS), self._project.settings.dumps.compress_above
            ),
        )


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
                    # Nothing is left to compile, and the workers need the cores.
                    self._builder.crew.dismiss()
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
        errors = checking.contradictions(case, built)
        if errors:
            return CaseNotCompiled(case, JobErrors(errors))
        if not isinstance(built, CasePrograms):
            return CaseNotCompiled(case, built)
        task = self._task_of(case, built)
        self.tasks[case.name] = task
        return task
