"""Check of the free disk space before a run.

The sizes of dumps are estimated from the plan: the number of elements and the usual length of a number as text, or the
size of the accepted dump where there is one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.document.units import size_text
from gpuregress.foundation.dtypes import Scalar
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Buffer, Case
from gpuregress.gpu.records import Record
from gpuregress.session.runs import retention, run_folders
from gpuregress.store.project import Project
from gpuregress.toolchain import cache

_INTEGER_BYTES = {1: 4, 2: 5, 4: 8, 8: 11}
_FLOAT_BYTES = {2: 8, 4: 12, 8: 20}
"""Size in bytes → the usual length of such a number as text, with a separator."""
_COMPRESSED = 0.5
_UNCOMPRESSED = 16 << 20
"""Text of a large dump that is on disk before its compression begins."""
_MARGIN = 8 << 20
"""Bytes for journals, logs, compiled programs and temporary files, in each of the three folders."""
_SMALL_DISK = 20
"""On a small disk the margin is this part of it."""


class _DumpSize(Record):
    """The estimated bytes of a buffer's dumps in a run."""

    case: Case
    buffer: str
    size: int


def require(project: Project, cases: Sequence[Case]) -> tuple[str, ...]:
    """Refuse a run whose dumps have no room, after old runs that need not be kept were removed.

    Args:
        project: whose runs.
        cases: what will be run.

    Returns:
        A line for the user where old runs were removed.

    Raises:
        StorageError: the disk of the runs, of the compilation cache or of temporary files has too little space; the
            message says how much is needed where.
    """
    for folder, name, advice in (
        (cache.folder(), "the compilation cache", "set GPUREGRESS_CACHE to a folder on another one"),
        (Path(tempfile.gettempdir()), "temporary files", "set TMPDIR to a folder on another one"),
    ):
        _require_margin(folder, name, advice)
    disk = _disk(project.runs)
    if disk is None:
        return ()
    free = disk.f_bavail * disk.f_frsize
    needed = sum(dump.size for dump in _estimates(project, cases)) + _margin(disk)
    if free >= needed:
        return ()
    storage.prune_store(project.runs / run_folders.CONTENTS)  # runs may have been removed by hand
    disk = _disk(project.runs) or disk
    free = disk.f_bavail * disk.f_frsize
    dumps = tuple(_estimates(project, cases, look_at_accepted=True))
    needed = sum(dump.size for dump in dumps) + _margin(disk)
    if free >= needed:
        return ()
    removable = retention.removable(project)
    if free + retention.size_of(removable) >= needed:
        notes = retention.make_room(project, needed)
        disk = _disk(project.runs)
        if disk is None or (free := disk.f_bavail * disk.f_frsize) >= needed:
            return notes
    message = f"{_message(project, dumps, needed, free)}; nothing was run; "
    if removable:
        message += "the runs that may be removed would not make enough room; "
    raise StorageError(
        f"{message}free some space there, run fewer cases at a time, or let `folders: runs` name a folder on another "
        "disk"
    )


def _message(project: Project, dumps: Sequence[_DumpSize], needed: int, free: int) -> str:
    message = f"too little space on the disk of {project.runs}: this run needs about {size_text(needed)}"
    if dumps:
        cases = len({dump.case.name for dump in dumps})
        message += f" for the dumps of {cases} case{'s' if cases != 1 else ''}"
    if len(dumps) > 1:
        largest = max(dumps, key=lambda dump: dump.size)
        message += f" (the largest: {largest.buffer} of {largest.case.name}, {size_text(largest.size)})"
    return f"{message}, and {size_text(free)} is free"


def _require_margin(folder: Path, name: str, advice: str) -> None:
    disk = _disk(folder)
    if disk is None:
        return
    free, needed = disk.f_bavail * disk.f_frsize, _margin(disk)
    if free < needed:
        raise StorageError(
            f"too little space on the disk of {folder}, the folder of {name}: {size_text(needed)} are needed and "
            f"{size_text(free)} is free; nothing was run. Free some space there, or {advice}"
        )


def _margin(disk: os.statvfs_result) -> int:
    return min(_MARGIN, disk.f_blocks * disk.f_frsize // _SMALL_DISK)


def _disk(folder: Path) -> os.statvfs_result | None:
    """The disk of a folder, or of the nearest one above it that exists; None where the system does not say."""
    try:
        while not folder.exists():
            folder = folder.parent
        disk = os.statvfs(folder)
    except OSError:
        return None
    return disk if disk.f_blocks else None


# --- the sizes of dumps -----------------------------------------------------------------------------------------------


def _estimates(project: Project, cases: Sequence[Case], *, look_at_accepted: bool = False) -> Iterator[_DumpSize]:
    """Estimate the dumps of each case, those of references, variants and single launches, too."""
    for case in cases:
        folder = project.baselines.joinpath(*case.name.split("/"))
        accepted = _accepted(folder) if look_at_accepted else {}
        dumps = 1
        if case.variants is not None:
            dumps += len(case.variants.sources)
        if case.settings.dump_every_launch:
            dumps += len(case.launches)
        for name in case.dump:
            size = accepted.get(name)
            if size is None:
                size = estimate(case.buffers[name], project.settings.dumps.compress_above)
            has_reference = name in case.references
            yield _DumpSize(case, name, size * (dumps + has_reference))


def _accepted(folder: Path) -> dict[str, int]:
    """Buffer → the size of its accepted dump's file."""
    sizes: dict[str, int] = {}
    if folder.is_dir():
        with storage.disk_errors(folder, "read"):
            for path in folder.iterdir():
                named = storage.split_name(path.name)
                if named and not path.name.startswith(".") and path.is_file():
                    sizes[named[0]] = max(sizes.get(named[0], 0), path.stat().st_size)
    return sizes


def estimate(buffer: Buffer, compress_above: int) -> int:
    """Estimate the bytes that a buffer's dump takes on disk."""
    element = dtypes.parse(buffer.dtype)
    line = sum(_length(part.scalar) for part in element.parts)
    text = line * (buffer.size // element.size)
    if text > compress_above:
        return int(text * _COMPRESSED) + _UNCOMPRESSED
    return text


def _length(scalar: Scalar) -> int:
    if scalar.kind == "bool":
        return 2
    if scalar.is_float:
        return _FLOAT_BYTES[scalar.size]
    return _INTEGER_BYTES[scalar.size]
