"""Verification of dumps that earlier runs kept, against the journals of those runs."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from gpuregress.foundation.records import Case, Dump, InputFile
from gpuregress.gpu.records import replace
from gpuregress.session.runs import journal, results
from gpuregress.store.dumps import files


def verify(path: Path, case: str, runs: Path) -> None:
    """Refuse a dump of a run that was changed since; one that no journal knows is taken as it is.

    Args:
        path: of the dump, inside `runs`.
        case: that wrote it.
        runs: the folder of all runs.

    Raises:
        DumpError: it was cut short or edited.
        StorageError: the journal of its run was.
    """
    run = runs / path.relative_to(runs).parts[0]
    file = run / journal.FILE
    if not file.is_file():
        return
    for dump in _written(run, file.stat().st_mtime_ns).get(case, ()):
        if Path(dump.path).name == path.name:
            files.verify(replace(dump, path=str(path)))


def verify_inputs(case: Case, runs: Path) -> None:
    """Refuse dumps of earlier runs that a case takes as inputs or references, if one was changed since.

    Raises:
        DumpError: one was cut short or edited.
        StorageError: the journal of its run was.
    """
    fills = (buffer.fill.options for buffer in case.buffers.values() if buffer.fill is not None)
    inputs = [fill.path for fill in fills if isinstance(fill, InputFile)]
    for text in (*inputs, *case.reference_files.values()):
        path = Path(text)
        if path.is_relative_to(runs):
            parts = path.relative_to(runs).parts  # RUN, dumps, the case's folders, BUFFER.REVISION
            verify(path, "/".join(parts[2:-1]), runs)


@lru_cache(maxsize=8)
def _written(run: Path, _changed: int) -> dict[str, tuple[Dump, ...]]:
    """Case → the dumps that a run wrote."""
    return {name: one.outcome.dumps for name, one in results.read_cases(run).items()}
