"""Compilation of cases: each distinct source once, from the cache or by a crew of compilers.

A source that does not compile is the error of its own cases only.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path

from msgspec import field

from gpuregress.execution.workers.compiler_pool import CompilerPool, Crew, Result, process_count
from gpuregress.foundation import storage
from gpuregress.foundation.errors import CompileError, GpuregressError, InfeasibleSource, UnknownNames, UsageError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, Program, Source, to_plain
from gpuregress.gpu import architectures
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.session.events import Advanced, Compiling, Listener, ignore
from gpuregress.session.run_context import RunContext
from gpuregress.store.project import Project
from gpuregress.toolchain import cache, programs


class CasePrograms(Record):
    """The programs of one case.

    Attributes:
        programs: of its own sources, in their order.
        references: buffer → that of its gold standard.
        variants: name of a variant → those of its sources, in their order.
        untyped: the sources whose structures the compiler was asked for and did not report.
    """

    programs: tuple[Program, ...]
    references: Mapping[str, Program]
    variants: Mapping[str, tuple[Program, ...]] = field(default_factory=dict)
    untyped: tuple[str, ...] = ()


Built = CasePrograms | GpuregressError
"""What came of compiling a case: its programs, or the error of the first source that does not compile."""


class ProgramBuilder:
    """The programs of a run's sources.

    Args:
        crew: compiles sources that are not in the cache.
        listen: receives an event for each source.
        find: a source → its program where it was compiled before; None: every source goes to the crew.
    """

    def __init__(self, crew: Crew, listen: Listener, find: Callable[[Source], Program | None] | None = None) -> None:
        self.crew = crew
        self._listen = listen
        self._find = find
        self._results: dict[str, Result] = {}
        self._requested: dict[str, Source] = {}
        self._keys: dict[str, tuple[str, ...]] = {}
        self._type_keys: dict[str, dict[int, str]] = {}

    def compile(self, cases: Sequence[Case], until: float | None = None, listen: Listener = ignore) -> dict[str, Built]:
        """Compile every distinct source of some cases, and wait for that.

        Args:
            until: seconds of time.monotonic at which it stops waiting; cases that are not ready have no entry.
            listen: receives an event for each case whose programs are ready.

        Returns:
            Case → its programs, or why there are none.

        Raises:
            Interrupted: the user asked to stop.
        """
        compiled: dict[str, Built] = {}
        for case in cases:
            self.request(case)
        for number, case in enumerate(cases, 1):
            while (built := self.built(case)) is None and (until is None or time.monotonic() < until):
                self.crew.wait(until)
                self.collect()
            if built is not None:
                compiled[case.name] = built
                listen(Advanced(number, len(cases), f"compiling {case.name}"))
        return compiled

    def request(self, case: Case) -> None:
        """Start the compilation of a case's sources; `built` returns what came of it."""
        if case.name in self._keys:
            return
        sources = sources_of(case)
        keys = tuple(source_key(source) for source in sources)
        typed = plan.type_sources(case)
        self._keys[case.name] = keys
        self._type_keys[case.name] = {number: source_key(source) for number, source in typed.items()}
        all_keys = (*keys, *self._type_keys[case.name].values())
        for key, source in zip(all_keys, (*sources, *typed.values()), strict=True):
            if key not in self._requested:
                self._requested[key] = source
                self._start(key, source)

    def _start(self, key: str, source: Source) -> None:
        self._listen(Compiling(Path(source.path).name, len(self._requested)))
        result = find_or_submit(self.crew, key, source, self._find or (lambda _source: None))
        if result is not None:
            self._results[key] = result

    def collect(self) -> None:
        """Take the results of the crew."""
        for key, result in self.crew.collect():
            self._results[key] = result
            programs.keep(self._requested[key], result)

    def built(self, case: Case) -> Built | None:
        """What came of a case that was requested; None: not all of its sources are compiled yet."""
        results = [self._results.get(key) for key in self._keys[case.name]]
        sources, variant_names = sources_of(case), _variant_names(case)
        own = len(case.sources)
        for number, (source, result) in enumerate(zip(sources, results, strict=True)):
            if not isinstance(result, GpuregressError):
                continue
            if number in variant_names:
                return CompileError(f"variant {variant_names[number]}: {result}", source_line=result.source_line)
            if isinstance(result, InfeasibleSource) and number >= own:
                # A reference that does not compile says nothing of the case.
                return CompileError(str(result), source_line=result.source_line)
            if isinstance(result, UnknownNames):
                return UnknownNames(result.messages, source.path)
            return result
        programs: list[Program] = []
        for result in results:
            if not isinstance(result, Program):
                return None
            programs.append(result)
        untyped: dict[str, None] = {}
        for number, key in self._type_keys[case.name].items():
            # The same source with debug information, which may not compile.
            typed = self._results.get(key)
            if typed is None:
                return None
            if isinstance(typed, Program):
                programs[number] = replace(programs[number], types=typed.types)
            if not isinstance(typed, Program) or not typed.types:
                untyped[sources[number].name] = None
        first_variant = own + len(case.reference_kernels)
        references = dict(zip(case.reference_kernels, programs[own:first_variant], strict=True))
        variants = {}
        if case.variants is not None:
            for number, name in enumerate(case.variants.sources):
                start = first_variant + number * own
                variants[name] = tuple(programs[start : start + own])
        return CasePrograms(tuple(programs[:own]), references, variants, tuple(untyped))


@contextlib.contextmanager
def open_builder(context: RunContext) -> Iterator[ProgramBuilder]:
    """The builder of a run: compiler processes, or the crew of a test.

    Raises:
        StorageError: others may write the cache.
    """
    if context.machinery.crew is not None:
        yield ProgramBuilder(context.machinery.crew(context.stop), context.listen)
        return
    cache.check_folder()
    with CompilerPool(process_count(), context.stop) as crew:
        yield ProgramBuilder(crew, context.listen, programs.find)


def find_or_submit(crew: Crew, key: str, source: Source, find: Callable[[Source], Program | None]) -> Result | None:
    """A source's program where it was compiled before, or the error of looking; None: the crew compiles it."""
    try:
        program = find(source)
    except GpuregressError as error:
        return error
    if program is None:
        crew.submit(key, source)
    return program


def sources_of(case: Case) -> tuple[Source, ...]:
    """The case's own sources, then those of its gold standards and of its variants."""
    sources = [*case.sources, *(kernel.source for kernel in case.reference_kernels.values())]
    if case.variants is not None:
        sources += itertools.chain.from_iterable(case.variants.sources.values())
    return tuple(sources)


def _variant_names(case: Case) -> dict[int, str]:
    """Position in `sources_of` → the variant whose source that is."""
    names: list[str] = []
    if case.variants is not None:
        for name, sources in case.variants.sources.items():
            names += [name] * len(sources)
    return dict(enumerate(names, len(case.sources) + len(case.reference_kernels)))


def source_key(source: Source) -> str:
    """A text that is equal for equal sources."""
    return json.dumps(to_plain(source), sort_keys=True)


def compile_cases(cases: Sequence[Case], listen: Listener = ignore) -> dict[str, Built]:
    """Compile every distinct source of the cases.

    Args:
        listen: receives an event for each case whose programs are ready.

    Returns:
        Case → its programs, or why there are none.

    Raises:
        Interrupted: the user asked to stop.
    """
    with _opened_crew(cubins=False) as crew:
        return ProgramBuilder(crew, ignore, programs.find).compile(cases, listen=listen)


def compile_source(
    source: Source, *, ahead: Sequence[Source] = (), meanwhile: Callable[[], object] | None = None
) -> Program:
    """Compile one source.

    Args:
        source: what is compiled.
        ahead: what will be asked for next, if the source compiles, and is compiled beside it.
        meanwhile: is called once the compilers have begun.

    Raises:
        GpuregressError: it cannot be compiled, or the user asked to stop.
    """
    result, *_ = compile_sources([source, *ahead], meanwhile=meanwhile)
    if isinstance(result, GpuregressError):
        raise result
    return result


_kept_crew: ContextVar[CompilerPool | None] = ContextVar("kept_crew", default=None)


@contextlib.contextmanager
def keeping_compilers(*, begins: bool = False) -> Iterator[None]:
    """Keep the compiler processes for the next source, until the block is over, with the headers that they parsed.

    Args:
        begins: start one at once, for the first source.

    Raises:
        Interrupted: the user asked to stop.
    """
    with (
        storage.scratch() as folder,
        StopSignal() as stop,
        CompilerPool(1, stop, precompiled=folder) as crew,
    ):
        if begins:
            crew.begin()
        token = _kept_crew.set(crew)
        try:
            yield
            stop.check()  # no compilation may have come after ^C
        finally:
            _kept_crew.reset(token)


@contextlib.contextmanager
def _opened_crew(*, cubins: bool) -> Iterator[CompilerPool]:
    kept = _kept_crew.get()
    if kept is not None and not cubins:
        yield kept
        return
    with StopSignal() as stop, CompilerPool(process_count(), stop, cubins=cubins) as crew:
        yield crew


def compile_sources(
    sources: Sequence[Source],
    *,
    cubins: bool = False,
    listen: Listener = ignore,
    meanwhile: Callable[[], object] | None = None,
) -> list[Result]:
    """Compile sources that are not in the cache.

    Args:
        sources: what is compiled.
        cubins: link to machine code, too.
        listen: receives an event for each source that is ready.
        meanwhile: is called once the compilers have begun.

    Returns:
        For each source its program, or why there is none.

    Raises:
        Interrupted: the user asked to stop.
        StorageError: others may write the cache.
    """
    cache.check_folder()

    def find(source: Source) -> Program | None:
        program = programs.find(source)
        return program if program is None or program.cubin or not cubins else None

    results: dict[str, Result] = {}
    with _opened_crew(cubins=cubins) as crew:
        for number, source in enumerate(sources):
            listen(Advanced(len(results), len(sources), "looking into the cache"))
            result = find_or_submit(crew, str(number), source, find)
            if result is not None:
                results[str(number)] = result
        if meanwhile is not None:
            crew.wait(time.monotonic())
            meanwhile()
        while crew.under_way:
            listen(Advanced(len(results), len(sources), "compiling"))
            crew.wait()
            for key, result in crew.collect():
                results[key] = result
                programs.keep(sources[int(key)], result)
    return [results[str(number)] for number in range(len(sources))]


class BuildResult(Record):
    """The folder of the programs, their number, the errors of the others, and the exit code.

    `infeasible` counts sources that refuse their combination, where the job skips those.
    """

    folder: Path
    programs: int
    errors: tuple[str, ...]
    exit_code: int
    infeasible: int = 0


def build(
    project: Project,
    selectors: Sequence[str],
    *,
    arch: str | None = None,
    cubins: bool = True,
    listen: Listener = ignore,
) -> BuildResult:
    """Compile every distinct source of the cases.

    Args:
        selectors: of the cases; none: all.
        arch: in place of the jobs' own.
        cubins: link to machine code, too.
        listen: receives an event for each source that is ready.

    Raises:
        JobErrors: a job is wrong.
        NothingToDo: no job.
        UsageError: there is no such architecture.
        Interrupted: the user asked to stop.
        StorageError: others may write the cache.
    """
    wrong = architectures.problem(arch) if arch is not None else None
    if wrong:
        raise UsageError(f"--arch: {wrong}")

    def named(source: Source) -> Source:
        return replace(source, arch=architectures.named(source.arch, arch)) if arch else source

    distinct: dict[str, Source] = {}
    typed: dict[str, Source] = {}
    skipping: set[str] = set()
    for case in plan.make(project, selectors).cases:
        if case.settings.refused is not None or case.program is not None:
            continue
        own = replace(case, reference_kernels={})  # without the kernels of references
        for source in map(named, sources_of(own)):
            key = source_key(source)
            distinct[key] = source
            if case.settings.infeasible:
                skipping.add(key)
        for source in map(named, plan.type_sources(case).values()):
            typed[source_key(source)] = source
    results = compile_sources(list(distinct.values()), cubins=cubins, listen=listen)
    # A source that does not compile with debug information is no error: its structures are not compared.
    if typed:
        compile_sources(list(typed.values()))
    failures: list[GpuregressError] = []
    infeasible = 0
    for key, result in zip(distinct, results, strict=True):
        if isinstance(result, InfeasibleSource) and key in skipping:
            infeasible += 1
        elif isinstance(result, GpuregressError):
            failures.append(result)
    return BuildResult(
        folder=cache.folder(),
        programs=len(results) - len(failures) - infeasible,
        errors=tuple(_counted(failures)),
        exit_code=max((error.exit_code for error in failures), default=0),
        infeasible=infeasible,
    )


def _counted(failures: Sequence[GpuregressError]) -> Iterator[str]:
    """The errors, each once: what is wrong with this host is wrong with every program."""
    for text, count in Counter(map(str, failures)).items():
        yield f"{count} programs: {text}" if count > 1 else text
