"""Compiling what the cases need, each distinct source once; a source that does not compile stops its own cases only."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gpuregress import plan, toolchain
from gpuregress.errors import GpuregressError, JobError, JobErrors, UnknownNames
from gpuregress.interrupts import StopSignal
from gpuregress.records import Case, Program, Source, to_json
from gpuregress.session.events import Compiling, Listener
from gpuregress.workers.compilers import Compilers
from gpuregress.workers.pool import Unbuilt
from gpuregress.workers.task import Task

Compiler = Callable[[Source], Program]
Result = Program | GpuregressError
_MOST_AT_ONCE = 8
"""Compilations: each takes up to 200 MB."""

_AHEAD = 4
"""Cases for each compiler that may be ready, or on their way to it, before a worker is free for them."""


class Crew(Protocol):
    """Who compiles; `workers.compilers.Compilers`, but for tests."""

    count: int

    @property
    def under_way(self) -> int:
        """How many sources are being compiled."""

    @property
    def deadline(self) -> float | None:
        """When `collect` has something to say at the latest."""

    def fileno(self) -> int:
        """A descriptor that becomes readable when `collect` has something to say; -1: it always has."""

    def submit(self, key: str, source: Source) -> None:
        """Asks for a compilation."""

    def dismiss(self) -> None:
        """Ends what has nothing to do."""

    def wait(self) -> None:
        """Waits until `collect` has something to say."""

    def collect(self) -> list[tuple[str, Result]]:
        """What was compiled since the last time."""


class AtOnce:
    """A crew that compiles in this process, when it is asked.

    Args:
        compiler: source → program.
        check: called before each compilation; raises to stop.
    """

    count = 1
    under_way = 0
    deadline = None

    def __init__(self, compiler: Compiler, check: Callable[[], None] = lambda: None) -> None:
        self._compiler, self._check = compiler, check
        self._done: list[tuple[str, Result]] = []

    def fileno(self) -> int:
        """There is nothing to wait for."""
        return -1

    def submit(self, key: str, source: Source) -> None:
        """Compiles."""
        self._check()
        try:
            self._done.append((key, self._compiler(source)))
        except GpuregressError as error:
            self._done.append((key, error))

    def dismiss(self) -> None:
        """Returns."""

    def wait(self) -> None:
        """Returns."""

    def collect(self) -> list[tuple[str, Result]]:
        """What was compiled since the last time."""
        done, self._done = self._done, []
        return done


def at_once() -> int:
    """How many processes may compile at a time on this machine."""
    return max(1, min(len(os.sched_getaffinity(0)), _MOST_AT_ONCE))


@dataclass(slots=True)
class Compiled:
    """What came of compiling.

    Attributes:
        programs: case → its program.
        failures: case → why its source could not be compiled.
        references: case → buffer → the program of its gold standard.
    """

    programs: dict[str, Program] = field(default_factory=dict)
    failures: dict[str, GpuregressError] = field(default_factory=dict)
    references: dict[str, dict[str, Program]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Built:
    """What one case needs, compiled: its own program, and buffer → that of its gold standard."""

    program: Program
    references: Mapping[str, Program]


class Builder:
    """The programs of a run's sources: from the cache, or from the crew.

    Args:
        crew: who compiles.
        listen: told which source is compiled.
        find: a source → its program where it was compiled before; None: every source goes to the crew.
    """

    def __init__(self, crew: Crew, listen: Listener, find: Callable[[Source], Program | None] | None = None) -> None:
        self.crew = crew
        self._listen = listen
        self._find = find
        self._results: dict[str, Result] = {}
        self._asked: set[str] = set()
        self._keys: dict[str, tuple[str, ...]] = {}

    def compile(self, cases: Sequence[Case]) -> Compiled:
        """Compiles every distinct source of some cases, and waits for that.

        Raises:
            Interrupted: the user asked to stop.
        """
        compiled = Compiled()
        for case in cases:
            self.ask(case)
        for case in cases:
            while (built := self.built(case)) is None:
                self.crew.wait()
                self.collect()
            if isinstance(built, Built):
                compiled.programs[case.name] = built.program
                if built.references:
                    compiled.references[case.name] = dict(built.references)
            else:
                compiled.failures[case.name] = built
        return compiled

    def ask(self, case: Case) -> None:
        """Sees to a case's programs; `built` tells when they are there."""
        if case.name in self._keys:
            return
        sources = _sources(case)
        self._keys[case.name] = tuple(json.dumps(to_json(source), sort_keys=True) for source in sources)
        for key, source in zip(self._keys[case.name], sources, strict=True):
            if key not in self._asked:
                self._asked.add(key)
                self._ask(key, source)

    def _ask(self, key: str, source: Source) -> None:
        self._listen(Compiling(Path(source.path).name, len(self._asked)))
        try:
            found = self._find(source) if self._find is not None else None
        except GpuregressError as error:
            self._results[key] = error
            return
        if found is not None:
            self._results[key] = found
        else:
            self.crew.submit(key, source)

    def collect(self) -> None:
        """Takes what the crew has compiled."""
        self._results.update(self.crew.collect())

    def built(self, case: Case) -> Built | GpuregressError | None:
        """What a case needs; None: not yet, the error of the first source that does not compile."""
        results = [self._results.get(key) for key in self._keys[case.name]]
        failed = next((result for result in results if isinstance(result, GpuregressError)), None)
        if failed is not None:
            return failed
        programs = [result for result in results if isinstance(result, Program)]
        if len(programs) < len(results):
            return None
        return Built(programs[0], dict(zip(case.reference_kernels, programs[1:], strict=True)))


class Stream:
    """The tasks of a run, each as soon as its programs are there; what the pool is fed with.

    `tasks` are those that were taken, by the names of their cases.

    Args:
        builder: sees to the programs.
        cases: in the order in which they should run.
        task_of: makes a case's task.
    """

    def __init__(self, builder: Builder, cases: Iterable[Case], task_of: Callable[[Case, Built], Task]) -> None:
        self._builder = builder
        self._cases = deque(cases)
        self._asked: list[Case] = []
        self._task_of = task_of
        self.tasks: dict[str, Task] = {}

    def fileno(self) -> int:
        """A descriptor that becomes readable when `take` has something new."""
        return self._builder.crew.fileno()

    @property
    def deadline(self) -> float | None:
        """When `take` has something new at the latest."""
        return self._builder.crew.deadline

    @property
    def is_over(self) -> bool:
        """Whether every case was taken."""
        return not self._cases and not self._asked

    @property
    def is_ready(self) -> bool:
        """Whether a task is ready, or a case cannot be built."""
        self._builder.collect()
        return not self._builder.crew.under_way or any(self._builder.built(case) is not None for case in self._asked)

    def take(self, room: int) -> Iterator[Task | Unbuilt]:
        """The tasks that are ready, `room` of them at most, and any number of cases that cannot be built.

        Sources are compiled a few cases ahead, so that compilers and workers share the cores.
        """
        ready = 0
        self._builder.collect()
        while True:
            for case in [*self._asked]:
                built = self._builder.built(case) if ready < room else None
                if built is None:
                    continue
                self._asked.remove(case)
                if not self._cases and not self._builder.crew.under_way:
                    self._builder.crew.dismiss()  # nothing is left to compile: the cores are the workers'
                found = self._task(case, built)
                ready += isinstance(found, Task)
                yield found
            if not self._cases or len(self._asked) >= room - ready + _AHEAD * self._builder.crew.count:
                return
            case = self._cases.popleft()
            self._asked.append(case)
            self._builder.ask(case)
            self._builder.collect()

    def _task(self, case: Case, built: Built | GpuregressError) -> Task | Unbuilt:
        errors = contradictions(case, built)
        if errors:
            return Unbuilt(case, JobErrors(errors))
        if not isinstance(built, Built):
            return Unbuilt(case, built)
        task = self._task_of(case, built)
        self.tasks[case.name] = task
        return task


def samples(cases: Iterable[Case]) -> tuple[Case, ...]:
    """One case of each job and of each set of kernels that it launches: enough to hold the job against its sources."""
    found: dict[tuple[object, ...], Case] = {}
    for case in cases:
        launched = tuple((source.path, source.kernels, source.symbols) for source in _sources(case))
        found.setdefault((case.path, case.job, *launched), case)
    return tuple(found.values())


def compile_all(cases: Sequence[Case]) -> Compiled:
    """Compiles every distinct source of the cases, in processes of their own.

    Args:
        cases: what is compiled.

    Raises:
        Interrupted: the user asked to stop.
    """
    with StopSignal() as stop, Compilers(at_once(), stop) as crew:
        return Builder(crew, lambda _event: None, toolchain.find).compile(cases)


def compile_source(source: Source) -> Program:
    """Compiles one source, in a process of its own where it is not in the cache.

    Raises:
        GpuregressError: it cannot be compiled, or the user asked to stop.
    """
    (result,) = compile_sources([source])
    if isinstance(result, GpuregressError):
        raise result
    return result


def compile_sources(sources: Sequence[Source], *, cubins: bool = False) -> list[Result]:
    """Compiles sources in processes of their own.

    Args:
        sources: what is compiled.
        cubins: link to machine code, too.

    Returns:
        For each source its program, or why there is none.

    Raises:
        Interrupted: the user asked to stop.
        StorageError: others may write the cache.
    """
    toolchain.check_folder()

    def find(source: Source) -> Program | None:
        program = toolchain.find(source)
        return program if program is None or program.cubin or not cubins else None

    results: dict[str, Result] = {}
    with StopSignal() as stop, Compilers(at_once(), stop, cubins=cubins) as crew:
        for number, source in enumerate(sources):
            try:
                found = find(source)
            except GpuregressError as error:
                results[str(number)] = error
                continue
            if found is not None:
                results[str(number)] = found
            else:
                crew.submit(str(number), source)
        while crew.under_way:
            crew.wait()
            results.update(crew.collect())
    return [results[str(number)] for number in range(len(sources))]


def check_arguments(cases: Sequence[Case], compiled: Compiled) -> None:
    """Holds every case's kernel names and arguments against its sources' own kernels.

    Raises:
        JobErrors: all that contradict, each once.
    """
    errors: list[JobError] = []
    for case in cases:
        if case.name in compiled.programs:
            built = Built(compiled.programs[case.name], compiled.references.get(case.name, {}))
            errors += contradictions(case, built)
        elif case.name in compiled.failures:
            errors += contradictions(case, compiled.failures[case.name])
    if errors:
        raise JobErrors(tuple(dict.fromkeys(errors)))


def unset_constants(cases: Sequence[Case], compiled: Compiled) -> tuple[str, ...]:
    """What to say of `__constant__` variables that no buffer fills, once for each job."""
    programs = ((case, compiled.programs[case.name]) for case in cases if case.name in compiled.programs)
    return tuple(dict.fromkeys(said for case, program in programs for said in plan.unset_constants(case, program)))


def contradictions(case: Case, built: Built | GpuregressError) -> tuple[JobError, ...]:
    """What in a case's kernel names and arguments contradicts its sources' own kernels."""
    if isinstance(built, GpuregressError):
        return plan.unknown_names(case, built.messages) if isinstance(built, UnknownNames) else ()
    errors = plan.check_program(case, built.program)
    for buffer, program in built.references.items():
        errors += plan.check_reference(case, buffer, program)
    return errors


def _sources(case: Case) -> tuple[Source, ...]:
    """The case's own source, then those of its gold standards."""
    return (case.source, *(kernel.source for kernel in case.reference_kernels.values()))
