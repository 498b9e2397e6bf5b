"""Compiling without running: every program that the cases need, into the cache."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuregress import plan, toolchain
from gpuregress.errors import GpuregressError, UsageError
from gpuregress.project import Project
from gpuregress.records import Source, to_json
from gpuregress.toolchain import architectures, cache


@dataclass(frozen=True, slots=True)
class Built:
    """What a build made: where, how many programs, what did not compile, and the exit code of that."""

    folder: Path
    programs: int
    errors: tuple[str, ...]
    exit_code: int


def build(project: Project, selectors: Sequence[str], *, arch: str | None = None, cubins: bool = True) -> Built:
    """Compiles every distinct source of the cases.

    Args:
        project: whose jobs.
        selectors: which; none: all.
        arch: in place of the jobs' own.
        cubins: link to machine code, too.

    Raises:
        JobErrors: a job is wrong.
        NothingToDo: no job.
        UsageError: there is no such architecture.
    """
    wrong = architectures.problem(arch) if arch is not None else None
    if wrong:
        raise UsageError(f"--arch: {wrong}")
    distinct: dict[str, Source] = {}
    for case in plan.make(project, selectors).cases:
        source = dataclasses.replace(case.source, arch=arch) if arch else case.source
        distinct[json.dumps(to_json(source), sort_keys=True)] = source
    errors, made, code = [], 0, 0
    for source in distinct.values():
        try:
            program = toolchain.compile(source)
            if cubins:
                toolchain.build_cubin(program)
            made += 1
        except GpuregressError as error:
            errors.append(str(error))
            code = max(code, error.exit_code)
    return Built(cache.folder(), made, tuple(errors), code)
