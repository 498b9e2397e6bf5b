"""Compiling without running: every program that the cases need, into the cache."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuregress import plan
from gpuregress.errors import GpuregressError, UsageError
from gpuregress.project import Project
from gpuregress.records import Source, to_json
from gpuregress.session.compilation import sources
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
        Interrupted: the user asked to stop.
        StorageError: others may write the cache.
    """
    wrong = architectures.problem(arch) if arch is not None else None
    if wrong:
        raise UsageError(f"--arch: {wrong}")
    distinct: dict[str, Source] = {}
    for case in plan.make(project, selectors).cases:
        source = dataclasses.replace(case.source, arch=arch) if arch else case.source
        distinct[json.dumps(to_json(source), sort_keys=True)] = source
    results = sources.compile_sources(list(distinct.values()), cubins=cubins)
    failures = [result for result in results if isinstance(result, GpuregressError)]
    code = max((error.exit_code for error in failures), default=0)
    return Built(cache.folder(), len(results) - len(failures), tuple(str(error) for error in failures), code)
