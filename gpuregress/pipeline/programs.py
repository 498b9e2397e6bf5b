"""Compiling what the cases need, each distinct source once; a source that does not compile stops its own cases only."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpuregress import plan, toolchain
from gpuregress.errors import GpuregressError, JobErrors
from gpuregress.pipeline.events import Compiling, Listener
from gpuregress.records import Case, Program, Source, to_json

Compiler = Callable[[Source], Program]


@dataclass(slots=True)
class Compiled:
    """What came of compiling.

    Attributes:
        programs: case → its program.
        failures: case → why its source could not be compiled.
    """

    programs: dict[str, Program] = field(default_factory=dict)
    failures: dict[str, GpuregressError] = field(default_factory=dict)


def compile_all(
    cases: Sequence[Case], listen: Listener, compiler: Compiler | None = None, check: Callable[[], None] = lambda: None
) -> Compiled:
    """Compiles every distinct source of the cases.

    Args:
        cases: what will run.
        listen: told before each source.
        compiler: source → program; the toolchain's where none is given.
        check: called before each source; raises to stop.
    """
    found: dict[str, Program | GpuregressError] = {}
    distinct = {_key(case.source): case.source for case in cases}
    for number, (key, source) in enumerate(distinct.items(), 1):
        check()
        listen(Compiling(Path(source.path).name, number, len(distinct)))
        try:
            found[key] = (compiler or toolchain.compile)(source)
        except GpuregressError as error:
            found[key] = error
    compiled = Compiled()
    for case in cases:
        result = found[_key(case.source)]
        if isinstance(result, Program):
            compiled.programs[case.name] = result
        else:
            compiled.failures[case.name] = result
    return compiled


def check_arguments(cases: Sequence[Case], programs: Mapping[str, Program]) -> None:
    """Holds every case's arguments against its kernels' own signatures.

    Raises:
        JobErrors: all that contradict, each once.
    """
    errors = [
        error for case in cases if case.name in programs for error in plan.check_program(case, programs[case.name])
    ]
    if errors:
        raise JobErrors(tuple(dict.fromkeys(errors)))


def _key(source: Source) -> str:
    return json.dumps(to_json(source), sort_keys=True)
