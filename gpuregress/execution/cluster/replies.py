"""Reply of a host: the outcome of a case, its launch log, and the dumps that the client does not have."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

from gpuregress.execution.cluster.messages import CaseReply, CaseRequest, DumpFile
from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import DumpError, StorageError
from gpuregress.foundation.records import Dump, Outcome, Task, from_json, to_json
from gpuregress.gpu.records import Record, replace
from gpuregress.store.dumps import writer
from gpuregress.store.dumps.contents import DumpContents
from gpuregress.store.dumps.files import Header
from gpuregress.store.launch_log import LaunchLog

# Paths of the client in a task, and paths of the host in an outcome.
# The files that a case reads are laid out on the host below one folder, each under the path that it has on the
# client. So a path of the client becomes one of the host by that folder in front of it, and Python modules find
# their neighbours.
_USERS_TEXTS = frozenset(("parameters", "defines"))
"""Keys of the user's own texts, which are no paths of ours."""


class CaseFolders(Record):
    """Folders of a case on its host, absolute.

    Attributes:
        files: the folder below which the client's files are laid out.
        case: takes what the case writes.
        shared: what the cases of the run share.
    """

    files: Path
    case: Path
    shared: Path

    @property
    def log(self) -> Path:
        """The launch log of the case."""
        return self.case / "launch.log"


def task_on_host(request: CaseRequest, folders: CaseFolders) -> Task:
    """Rewrite a task for a host.

    Args:
        request: with the task.
        folders: of the case.
    """
    paths = frozenset((*(file.path for file in request.files), *request.folders))

    def localized(text: str) -> str:
        is_path = text.startswith("/") and (text in paths or text.rpartition(":")[0] in paths)
        return f"{folders.files}{text}" if is_path else text

    task = dict(_mapped(request.task, localized))
    task |= {"log": str(folders.log), "dumps": str(folders.case / "dumps"), "shared": str(folders.shared), "known": {}}
    task["storage"] = {**task["storage"], "contents": str(folders.shared / "contents")}
    return from_json(Task, task)


def outcome_on_client(outcome: Outcome, request: CaseRequest, folders: CaseFolders) -> Outcome:
    """Rewrite an outcome for the client: its dumps are in the run's folder, and its messages name the client's files.

    Args:
        outcome: of the host's worker.
        request: of the case.
        folders: of the case.
    """
    case, files = str(folders.case), str(folders.files)

    def restored(text: str) -> str:
        return text.replace(case, request.folder).replace(files, "") if "/" in text else text

    return from_json(Outcome, _mapped(to_json(outcome), restored))


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Apply a function to every text in a JSON value, but for keys and for the user's own texts."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: item if key in _USERS_TEXTS else _mapped(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(item, change) for item in value]
    return value


@dataclass(slots=True)
class ReplyFiles:
    """The files that came with a reply.

    Attributes:
        inline: digest → compressed bytes.
        kept: digest → a local file with the bytes, which was fetched.
    """

    inline: Mapping[str, bytes] = field(default_factory=dict)
    kept: Mapping[str, Path] = field(default_factory=dict)


@dataclass(slots=True)
class Unpacker:
    """Writes what the cases of a run left on their hosts.

    Equal files of a run are stored once: a later one becomes a further name of the first.
    """

    _written: dict[str, Path] = field(default_factory=dict)

    def outcome(self, task: Task, reply: CaseReply, files: ReplyFiles) -> Outcome | None:
        """Write the dumps and the log of a case.

        Args:
            task: of the case.
            reply: `done`.
            files: that came with it.

        Returns:
            The outcome; None where an accepted dump, which the host did not send, cannot be copied.

        Raises:
            StorageError: no space, no permission.
            DumpError: a file is not what the host wrote.
        """
        assert reply.outcome is not None
        folder, dumps = Path(task.dumps).parent, {dump.path: dump for dump in reply.outcome.dumps}
        contents = _contents(task)
        for one in reply.files:
            path = storage.safe_join(folder, one.path)
            dump = dumps.get(str(path))
            linked = contents.link(_plain(dump), dump.digest, _header(dump)) if contents and dump else None
            if dump is not None and linked is not None:
                dumps[str(path)] = linked
                continue
            if one.how != "known":
                self._write(path, one.digest, files)
            elif dump is None or (copied := _copied(task, dump)) is None:
                return None
            else:
                dump = dumps[str(path)] = copied
            if contents is not None and dump is not None:
                contents.add(dump, _header(dump))
        return replace(reply.outcome, dumps=tuple(dumps.values()))

    def log(self, task: Task, reply: CaseReply) -> None:
        """Append the launches of a case to the run's log.

        Raises:
            StorageError: no space, no permission.
        """
        if reply.log:
            with contextlib.closing(LaunchLog(Path(task.log))) as log:
                log.collect(reply.log)

    def _write(self, path: Path, digest: str, files: ReplyFiles) -> None:
        first = self._written.get(digest)
        if first is not None and storage.link_file(first, path) and _is(path, digest):
            return
        if digest in files.kept:
            storage.copy_file(files.kept[digest], path, durable=False)
        else:
            storage.write_atomic(path, expanded(files.inline[digest]), durable=False)
        if not _is(path, digest):
            raise DumpError(f"{path} did not arrive as its host wrote it; run the case again")
        self._written[digest] = path


def _contents(task: Task) -> DumpContents | None:
    """The contents that the runs of this project share, as a worker of this machine has them."""
    stored = task.storage
    return DumpContents(Path(stored.contents), stored.compress_above) if stored.contents else None


def _plain(dump: Dump) -> Path:
    """The path of a dump as if it were not compressed."""
    return Path(dump.path.removesuffix(storage.SUFFIX))


def _header(dump: Dump) -> Header:
    return Header(dtypes.parse(dump.dtype), dump.shape)


def _copied(task: Task, dump: Dump) -> Dump | None:
    """Copy the accepted dump of the same bytes; None where it is gone, or of another type."""
    accepted = {digest: Path(file) for digest, file in task.known.get(dump.buffer, {}).items()}
    above = task.storage.compress_above
    with contextlib.suppress(StorageError):
        return writer.copy_known(
            _plain(dump),
            dump.digest,
            dtypes.parse(dump.dtype),
            dump.shape,
            accepted,
            durable=False,
            compress_above=above,
        )
    return None


def _is(path: Path, digest: str) -> bool:
    with contextlib.suppress(StorageError):
        return storage.digest_file(path) == digest
    return False


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
    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def expanded(data: bytes) -> bytes:
    """Expand what `compressed` made."""
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
