"""Compilation outside a run, in processes of their own.

It serves `build`, `check`, `show`, `new` and `doctor`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress import toolchain
from gpuregress.execution.workers.compiler_pool import CompilerPool
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Case, Program, Source
from gpuregress.session.compilation.builder import Built, ProgramBuilder, find_or_submit
from gpuregress.session.compiler_crew import Result, process_count
from gpuregress.session.events import Advanced, Listener, ignore


def compile_cases(cases: Sequence[Case], listen: Listener = ignore) -> dict[str, Built]:
    """Compile every distinct source of the cases.

    Args:
        cases: whose.
        listen: told of each case whose programs are ready.

    Returns:
        Case → its programs, or why there are none.

    Raises:
        Interrupted: the user asked to stop.
    """
    with StopSignal() as stop, CompilerPool(process_count(), stop) as crew:
        return ProgramBuilder(crew, ignore, toolchain.find).compile(cases, listen=listen)


def compile_source(source: Source) -> Program:
    """Compile one source.

    Raises:
        GpuregressError: it cannot be compiled, or the user asked to stop.
    """
    (result,) = compile_sources([source])
    if isinstance(result, GpuregressError):
        raise result
    return result


def compile_sources(sources: Sequence[Source], *, cubins: bool = False, listen: Listener = ignore) -> list[Result]:
    """Compile sources that are not in the cache.

    Args:
        sources: what is compiled.
        cubins: link to machine code, too.
        listen: told of the sources that are ready.

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
    with StopSignal() as stop, CompilerPool(process_count(), stop, cubins=cubins) as crew:
        for number, source in enumerate(sources):
            listen(Advanced(len(results), len(sources), "looking into the cache"))
            result = find_or_submit(crew, str(number), source, find)
            if result is not None:
                results[str(number)] = result
        while crew.under_way:
            listen(Advanced(len(results), len(sources), "compiling"))
            crew.wait()
            results.update(crew.collect())
    return [results[str(number)] for number in range(len(sources))]
