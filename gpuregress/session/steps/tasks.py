"""Tasks of workers: compiled cases with launch numbers, revision and baseline digests."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gpuregress import toolchain
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Case, DumpStorage, Task
from gpuregress.jobs import plan, revision
from gpuregress.judge.accepted import AcceptedDumps
from gpuregress.session.compilation.builder import CasePrograms
from gpuregress.session.runs import run_folders
from gpuregress.store.project import Project


class TaskFactory:
    """Makes the task of a case as soon as its programs are compiled.

    Args:
        project: whose revisions are recorded.
        folder: the run's.
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
        self._project, self._folder, self._accepted, self._remark = project, folder, accepted, remark
        launches = itertools.accumulate((case.launch_numbers for case in cases), initial=first)
        self._first_launch = {case.name: number for case, number in zip(cases, launches, strict=False)}
        self._labels: set[tuple[str, str, str]] = set()
        self._remarks: set[str] = set()
        self._recorded = functools.cache(partial(revision.recorded, project.baselines, project.runs))

    def __call__(self, case: Case, built: CasePrograms) -> Task:
        """Make the task of a case; its revision is recorded from here on."""
        case = plan.completed(case, built.programs, built.references)
        case, note = plan.of_programs(case, built.programs, self._recorded)
        foreign = map(toolchain.foreign_compiler, case.sources, built.programs)
        for text in filter(None, (note, *foreign)):
            if text not in self._remarks:
                self._remarks.add(text)
                self._remark(text)
        label = (case.job, case.revision, case.source_digest)
        if label not in self._labels:
            revision.record(self._project.runs, {label})
            self._labels.add(label)
        known = {}
        with contextlib.suppress(GpuregressError):  # a damaged baseline is reported when the case is judged
            known = self._accepted.known(case)
        log, dumps = str(self._folder / run_folders.LAUNCH_LOG), str(self._folder / "dumps")
        program, *others = built.programs
        return Task(
            case,
            program,
            log,
            self._first_launch[case.name],
            dumps,
            known,
            references=built.references,
            shared=str(self._folder / run_folders.SHARED),
            variants=built.variants,
            other_programs=tuple(others),
            storage=DumpStorage(str(self._project.runs / run_folders.CONTENTS), self._project.settings.compress_above),
        )
