"""Reply of a host on the client: its dumps and its launch log become those of the run."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpuregress.execution.cluster.messages import CaseReply
from gpuregress.execution.cluster.packing import expanded
from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import DumpError, StorageError
from gpuregress.foundation.records import Dump, Outcome, Task
from gpuregress.gpu.records import replace
from gpuregress.store.dumps import writer
from gpuregress.store.dumps.contents import DumpContents
from gpuregress.store.dumps.files import Header
from gpuregress.store.launch_log import LaunchLog


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
