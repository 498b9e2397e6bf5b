"""Compilation without a run: the programs of all cases go into the cache."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.foundation.errors import GpuregressError, InfeasibleSource, UsageError
from gpuregress.foundation.records import Source
from gpuregress.gpu import architectures
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs import plan
from gpuregress.session.compilation import sources
from gpuregress.session.compilation.builder import source_key
from gpuregress.session.events import Listener, ignore
from gpuregress.store.project import Project
from gpuregress.toolchain import cache


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
        project: whose jobs.
        selectors: of the cases; none: all.
        arch: in place of the jobs' own.
        cubins: link to machine code, too.
        listen: told of the sources that are ready.

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
    typed: dict[str, Source] = {}
    skipping: set[str] = set()
    for case in plan.make(project, selectors).cases:
        if case.settings.refused is not None:
            continue
        varied = itertools.chain.from_iterable(case.variants.sources.values() if case.variants else ())
        for one in (*case.sources, *varied):
            source = replace(one, arch=architectures.named(one.arch, arch)) if arch else one
            key = source_key(source)
            distinct[key] = source
            skipping |= {key} if case.settings.infeasible else set()
        for one in plan.type_sources(case).values():
            source = replace(one, arch=architectures.named(one.arch, arch)) if arch else one
            typed[source_key(source)] = source
    results = sources.compile_sources(list(distinct.values()), cubins=cubins, listen=listen)
    if typed:  # one that does not compile is not compared, which ends no run
        sources.compile_sources(list(typed.values()))
    errors = {key: one for key, one in zip(distinct, results, strict=True) if isinstance(one, GpuregressError)}
    failures = [one for key, one in errors.items() if not (key in skipping and isinstance(one, InfeasibleSource))]
    code = max((error.exit_code for error in failures), default=0)
    return BuildResult(
        cache.folder(),
        len(results) - len(errors),
        tuple(_counted(failures)),
        code,
        len(errors) - len(failures),
    )


def _counted(failures: Sequence[GpuregressError]) -> Iterator[str]:
    """The errors, each once: what is wrong with this host is wrong with every program."""
    for text, count in Counter(map(str, failures)).items():
        yield f"{count} programs: {text}" if count > 1 else text
