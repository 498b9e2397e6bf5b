"""Revisions of sources whose text does not tell all that they read: what they were compiled to does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from gpuregress.foundation import records, storage
from gpuregress.gpu.records import replace
from gpuregress.jobs import revision


def of_programs(
    case: records.Case, programs: Sequence[records.Program], recorded: Callable[[str, str], Collection[str]]
) -> tuple[records.Case, str | None]:
    """Return a case with the revision of its compiled programs, and a note for the user.

    Where a source's text does not tell all that it reads, what it was compiled to does. Else the case is as planned.

    Args:
        case: as planned.
        programs: its compiled sources.
        recorded: job, label → the digests of the sources that were recorded under it before this run.
    """
    unknown = [program for program in programs if program.unknown]
    if not unknown:
        return case, None
    parts: list[str | bytes] = []
    for one in unknown:
        parts += [*one.options, storage.read_bytes(Path(one.ptx))]
    label, digest = revision.of_program(case.revision, case.source_digest, parts)
    name, note = revision.resolve(label, digest, lambda text: recorded(case.job, text))
    return replace(case, revision=name, source_digest=digest), f"{case.job}: {note}" if note else None
