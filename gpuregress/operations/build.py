"""Compilation without a run: the programs of all cases go into the cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuregress import plan
from gpuregress.errors import GpuregressError, UsageError
from gpuregress.project import Project
from gpuregress.records import Source
from gpuregress.session.compilation import sources
from gpuregress.session.compilation.builder import source_key
from gpuregress.toolchain import architectures, cache


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The folder of the programs, their number, the errors of the others, and the exit code."""

    folder: Path
    programs: int
    errors: tuple[str, ...]
    exit_code: int


def build(project: Project, selectors: Sequence[str], *, arch: str | None = None, cubins: bool = True) -> BuildResult:
    """Compile every distinct source of the cases.

    Args:
        project: whose jobs.
        selectors: of the cases; none: all.
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
        distinct[source_key(source)] = source
    results = sources.compile_sources(list(distinct.values()), cubins=cubins)
    failures = [result for result in results if isinstance(result, GpuregressError)]
    code = max((error.exit_code for error in failures), default=0)
    return BuildResult(cache.folder(), len(results) - len(failures), tuple(str(error) for error in failures), code)
