"""Reply of a host: the outcome of a case, its launch log, and the dumps that the client does not have."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from gpuregress.execution.cluster.localization import CaseFolders, outcome_on_client
from gpuregress.execution.cluster.messages import CaseReply, CaseRequest, DumpFile
from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Outcome

INLINE_BYTES = 32 << 20
"""Compressed bytes that travel with a reply; the client fetches larger dumps in pieces."""
_LARGEST_INLINE = 128 << 20
_LEVEL = 1


def packed(request: CaseRequest, outcome: Outcome, folders: CaseFolders) -> tuple[CaseReply, dict[str, bytes]]:
    """Pack what a case wrote.

    Args:
        request: of the case.
        outcome: of its worker.
        folders: of the case.

    Returns:
        The reply, and the compressed files that travel with it, by their digests.

    Raises:
        StorageError: a file cannot be read.
    """
    known = {dump.path for dump in outcome.dumps if dump.digest in request.known.get(dump.buffer, ())}
    files: list[DumpFile] = []
    contents: dict[str, bytes] = {}
    room = INLINE_BYTES
    for path in _written(folders):
        name, size = path.relative_to(folders.case).as_posix(), path.stat().st_size
        if str(path) in known:
            files.append(DumpFile(name, size, "", "known"))
            continue
        digest = storage.digest_file(path)
        if digest not in contents and size <= _LARGEST_INLINE:
            with storage.disk_errors(path, "read"):
                data = compressed(path.read_bytes())  # of a compressed dump its very bytes
            if len(data) <= room:
                contents[digest] = data
                room -= len(data)
        files.append(DumpFile(name, size, digest, "inline" if digest in contents else "kept"))
    reply = CaseReply("done", outcome_on_client(outcome, request, folders), _log(folders.log), tuple(files))
    return reply, contents


def compressed(data: bytes) -> bytes:
    """Compress a file or a piece of one."""
    import zstandard  # noqa: PLC0415 - the client needs it where a dump comes back only

    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def expanded(data: bytes) -> bytes:
    """Expand what `compressed` made."""
    import zstandard  # noqa: PLC0415 - as above

    return zstandard.ZstdDecompressor().decompress(data)


def _written(folders: CaseFolders) -> Iterator[Path]:
    """The files of a case, without its log and without leftovers of a worker that was killed."""
    for path in sorted(folders.case.rglob("*")):
        if path.is_file() and path != folders.log and not path.name.startswith(storage.TEMPORARY_PREFIX):
            yield path


def _log(path: Path) -> str:
    """The launch log; "" where the case did not begin one."""
    with contextlib.suppress(StorageError):
        return storage.read_bytes(path).decode("utf-8", "replace")
    return ""
