"""Compiling what the cases need, each distinct source once; a source that does not compile stops its own cases only."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpuregress import plan, toolchain
from gpuregress.errors import GpuregressError, JobError, JobErrors, UnknownNames
from gpuregress.pipeline.events import Compiling, Listener
from gpuregress.records import Case, Program, Source, to_json

Compiler = Callable[[Source], Program]
_MOST_AT_ONCE = 8
"""Compilations: each takes up to 200 MB."""


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


def compile_all(
    cases: Sequence[Case], listen: Listener, compiler: Compiler | None = None, check: Callable[[], None] = lambda: None
) -> Compiled:
    """Compiles every distinct source of the cases.

    Args:
        cases: what will run.
        listen: told which source is waited for.
        compiler: source → program, called from several threads; the toolchain's where none is given.
        check: called between sources; raises to stop.
    """
    distinct = {_key(source): source for case in cases for source in _sources(case)}
    found = _compile_distinct(distinct, listen, compiler or toolchain.compile, check)
    compiled = Compiled()
    for case in cases:
        results = [found[_key(source)] for source in _sources(case)]
        failed = next((result for result in results if not isinstance(result, Program)), None)
        programs = [result for result in results if isinstance(result, Program)]
        if failed is not None:
            compiled.failures[case.name] = failed
            continue
        compiled.programs[case.name] = programs[0]
        if case.reference_kernels:
            compiled.references[case.name] = dict(zip(case.reference_kernels, programs[1:], strict=True))
    return compiled


def _compile_distinct(
    sources: Mapping[str, Source], listen: Listener, compiler: Compiler, check: Callable[[], None]
) -> dict[str, Program | GpuregressError]:
    """Compiles several sources at a time: NVRTC works without Python's lock."""

    def compile_one(source: Source) -> Program | GpuregressError:
        try:
            return compiler(source)
        except GpuregressError as error:
            return error

    if len(sources) == 1:
        ((key, source),) = sources.items()
        check()
        listen(Compiling(Path(source.path).name, 1, 1))
        return {key: compile_one(source)}
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - loads logging, and a run waits for it

    found: dict[str, Program | GpuregressError] = {}
    threads = ThreadPoolExecutor(max(1, min(len(sources), os.cpu_count() or 1, _MOST_AT_ONCE)))
    try:
        waiting = {key: threads.submit(compile_one, source) for key, source in sources.items()}
        for number, (key, future) in enumerate(waiting.items(), 1):
            check()
            listen(Compiling(Path(sources[key].path).name, number, len(sources)))
            found[key] = future.result()
    finally:
        threads.shutdown(cancel_futures=True)
    return found


def check_arguments(cases: Sequence[Case], compiled: Compiled) -> None:
    """Holds every case's kernel names and arguments against its sources' own kernels.

    Raises:
        JobErrors: all that contradict, each once.
    """
    errors: list[JobError] = []
    for case in cases:
        failure = compiled.failures.get(case.name)
        if isinstance(failure, UnknownNames):
            errors += plan.unknown_names(case, failure.messages)
        if case.name in compiled.programs:
            errors += plan.check_program(case, compiled.programs[case.name])
            for buffer, program in compiled.references.get(case.name, {}).items():
                errors += plan.check_reference(case, buffer, program)
    if errors:
        raise JobErrors(tuple(dict.fromkeys(errors)))


def unset_constants(cases: Sequence[Case], compiled: Compiled) -> tuple[str, ...]:
    """What to say of `__constant__` variables that no buffer fills, once for each job."""
    programs = ((case, compiled.programs[case.name]) for case in cases if case.name in compiled.programs)
    return tuple(dict.fromkeys(said for case, program in programs for said in plan.unset_constants(case, program)))


def _sources(case: Case) -> tuple[Source, ...]:
    """The case's own source, then those of its gold standards."""
    return (case.source, *(kernel.source for kernel in case.reference_kernels.values()))


def _key(source: Source) -> str:
    return json.dumps(to_json(source), sort_keys=True)
