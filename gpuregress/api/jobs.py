"""Jobs and cases from Python: loaded, run as by `gpuregress run`, their buffers as arrays."""

from __future__ import annotations

import functools
import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from gpuregress.api import signature
from gpuregress.foundation.errors import NothingToDo, UsageError
from gpuregress.foundation.records import Case, RunSummary, Verdict
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.jobs.plan import CaseOverrides
from gpuregress.jobs.spec.overrides import of_mapping
from gpuregress.report import terminal
from gpuregress.session import session
from gpuregress.session.run_request import RunRequest
from gpuregress.store import project
from gpuregress.store.dumps import reader
from gpuregress.store.project import Project

Entry = TypeVar("Entry", Case, "CaseResult")

Runnable = Case | str | os.PathLike[str]
"""A case, or the path of a job file."""


class _ByName(Sequence[Entry]):
    """Cases or their results in order, which are also found by the name of the case, without the job's, too."""

    __slots__ = ()

    @property
    @abstractmethod
    def _entries(self) -> tuple[Entry, ...]: ...

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, at: int | str) -> Entry: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Entry]: ...

    def __getitem__(self, at: int | slice | str) -> Entry | Sequence[Entry]:
        """Return one by its position or the name of its case."""
        if not isinstance(at, str):
            return self._entries[at]
        for entry in self._entries:
            name = entry.name if isinstance(entry, Case) else entry.case.name
            if at in (name, name.partition("/")[2]):
                return entry
        raise KeyError(at)


@dataclass(frozen=True, slots=True)
class Job(_ByName[Case]):
    """A job file's cases, in order.

    Attributes:
        name: the job's.
        path: of its file.
        cases: one for each combination of its parameters.
    """

    name: str
    path: Path
    cases: tuple[Case, ...]

    @property
    def _entries(self) -> tuple[Case, ...]:
        return self.cases


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case.

    Attributes:
        case: what ran.
        verdict: with every comparison, as `results.json` has it.
        root: the project's folder.
    """

    case: Case
    verdict: Verdict
    root: Path = field(repr=False)

    @property
    def status(self) -> str:
        """`pass`, `differ`, `new`, `fault`, `timeout`, `error` or `skip`."""
        return self.verdict.status

    @property
    def passed(self) -> bool:
        """Whether the case fails no run: it passed, or was skipped."""
        return self.verdict.exit_code == 0

    @property
    def message(self) -> str:
        """The reason in one line, "" for a plain pass."""
        return self.verdict.reason

    @property
    def messages(self) -> tuple[str, ...]:
        """The details, a line each, as the report shows them."""
        return tuple(terminal.details(self.verdict, self.root))

    @property
    def output(self) -> str:
        """What the kernels printed."""
        return self.verdict.outcome.output if self.verdict.outcome is not None else ""

    @property
    def buffers(self) -> Mapping[str, npt.NDArray[Any]]:
        """The dumped buffers as arrays, each read when it is asked for; none where the case did not run to its end."""
        dumps = self.verdict.outcome.dumps if self.verdict.outcome is not None else ()
        return _Buffers({dump.buffer: Path(dump.path) for dump in dumps})


class _Buffers(Mapping[str, npt.NDArray[Any]]):
    """Dumps as arrays."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths
        self._read = functools.cache(lambda name: reader.read(paths[name]).array)

    def __getitem__(self, name: str) -> npt.NDArray[np.generic]:
        array: npt.NDArray[np.generic] = self._read(name)
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


@dataclass(frozen=True, slots=True)
class Results(_ByName[CaseResult]):
    """The results of a run, in the order of its cases.

    Attributes:
        results: one for each case.
        summary: of the run: its name, folder, device, notes, exit code.
        root: the project's folder.
    """

    results: tuple[CaseResult, ...]
    summary: RunSummary
    root: Path = field(repr=False)

    @property
    def _entries(self) -> tuple[CaseResult, ...]:
        return self.results

    @property
    def passed(self) -> bool:
        """Whether `gpuregress run` would exit with 0."""
        return self.summary.exit_code == 0

    def __str__(self) -> str:
        """The report, as `gpuregress run` prints it."""
        return terminal.full(self.summary, root=self.root)


def load_job(path: str | os.PathLike[str], *, parameters: Mapping[str, Any] | None = None) -> Job:
    """Load a job file of a project.

    Args:
        path: the file.
        parameters: parameter → its value, or several in a list, in place of the job's own; as `--set` of the commands.

    Raises:
        JobErrors: the job is wrong; every error with its line and key.
        UsageError: there is no such file, or no project around it; the job has no such parameter.
        NothingToDo: `where` of the job allows none of these parameters.
    """
    file, planned = _planned(path, CaseOverrides(parameters=of_mapping(parameters or {})))
    return Job(planned.cases[0].job, file, planned.cases)


def _planned(path: str | os.PathLike[str], overrides: CaseOverrides) -> tuple[Path, plan.Plan]:
    """The file at a path, and its cases."""
    file = Path(path).absolute()
    if not file.is_file():
        raise UsageError(f"there is no job file {path}")
    return file, plan.make(project.find(file.parent), [str(file)], overrides=overrides)


def run(
    cases: Runnable | Iterable[Runnable | Job],
    *,
    device: str = "auto",
    jobs: int | None = None,
    repeat: int | None = None,
    timeout: float | None = None,
    fail_fast: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> Results:
    """Run cases as `gpuregress run` does, and compare them with their baselines.

    The run is one of the project: it is kept in `runs/`, and `gpuregress accept` takes its results. A case may be
    changed before, with `msgspec.structs.replace`.

    Args:
        cases: a job, cases, or paths of job files; all of one project.
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        jobs: workers; one a core or a GPU where not given.
        repeat: how often to run each case.
        timeout: seconds for a case.
        fail_fast: stop after the first case that does not pass.
        parameters: parameter → its value, or several in a list, in place of those of the job files; as `--set` of the
            commands. Cases of the job with which `agree` compares them are run, too.

    Raises:
        JobErrors: the one case contradicts its kernel; of several cases, such a one is an `error`.
        NothingToDo: there is no case.
        UsageError: the cases belong to several projects, or two different ones have one name.
        DeviceError: there is no such device.
        TypeError: an argument is of another type.
        ValueError: a number is too small.
    """
    jobs = None if jobs is None else signature.whole("jobs", jobs, 1)
    repeat = None if repeat is None else signature.whole("repeat", repeat, 1)
    timeout = None if timeout is None else signature.seconds("timeout", timeout)
    device = signature.text("device", device)
    overrides = CaseOverrides(parameters=of_mapping(parameters or {}), partners=True)
    given = tuple(_changed(case, repeat, timeout) for case in _cases(cases, overrides))
    if not given:
        raise NothingToDo("there is no case to run")
    home, chosen = _project(given), tuple(_once(given))
    names = tuple(case.name for case in chosen)
    request = RunRequest(names, device=device, jobs=jobs, fail_fast=fail_fast, parameters=overrides.parameters)
    summary = session.run(home, plan.Plan(chosen), request)
    verdicts = {verdict.case: verdict for verdict in summary.verdicts}
    results = tuple(CaseResult(case, verdicts[case.name], home.root) for case in chosen if case.name in verdicts)
    return Results(results, summary, home.root)


def _cases(given: Runnable | Iterable[Runnable | Job], overrides: CaseOverrides) -> Iterator[Case]:
    if isinstance(given, Case | Job) and overrides.parameters:
        raise UsageError("parameters are for job files that are not loaded yet: give them to load_job")
    if isinstance(given, Case):
        yield given
    elif isinstance(given, str | os.PathLike):
        yield from _planned(given, overrides)[1].cases
    elif isinstance(given, Iterable):
        for one in given:
            yield from _cases(one, overrides)
    else:
        raise TypeError(f"cases has {given!r}: expected a job, a case, or the path of a job file")


def _once(cases: Iterable[Case]) -> Iterator[Case]:
    """Each case once, where it was given several times."""
    known: dict[str, Case] = {}
    for case in cases:
        if case.name not in known:
            known[case.name] = case
            yield case
        elif known[case.name] != case:
            raise UsageError(f"two different cases are called {case.name}: run one after the other")


def _changed(case: Case, repeat: int | None, timeout: float | None) -> Case:
    if repeat is not None:
        case = replace(case, repeat=repeat)
    if timeout is not None:
        case = replace(case, limits=replace(case.limits, timeout=timeout))
    return case


def _project(cases: Sequence[Case]) -> Project:
    folders = {Path(case.path).parent for case in cases}
    homes = {found.root: found for found in map(project.find, folders)}
    if len(homes) > 1:
        raise UsageError(f"the cases belong to several projects: {', '.join(map(str, homes))}")
    (home,) = homes.values()
    return home
