"""Files that clients send to a host: those of a task, and the content-addressed store of the host.

    ROOT/id                  identity of the store: Dask workers that share it need each file once
    ROOT/3f/3f2a….blob       a file, named by the xxh3-128 of its bytes

It lies in the cache of compiled programs, which other users cannot write. The least recently used files go when it is
over its limit. A running case has a name of its own for each of its files, so they stay for as long as it runs.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gpuregress.execution.cluster.messages import SentFile
from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError, StorageError
from gpuregress.foundation.records import Task
from gpuregress.jobs.inputs import split_member
from gpuregress.toolchain import cache, programs

LIMIT_BYTES = 8 << 30
PRUNE_AFTER_BYTES = 256 << 20


@dataclass(slots=True)
class ContentStore:
    """A store in a folder of the cache.

    Attributes:
        root: the folder.
        limit_bytes: of all files.
    """

    root: Path
    limit_bytes: int = LIMIT_BYTES
    _added_bytes: int = PRUNE_AFTER_BYTES

    @property
    def identity(self) -> str:
        """The identity of the store, made with it.

        Raises:
            StorageError: it cannot be written, or other users may write it.
        """
        path = self.root / "id"
        cache.check(self.root)
        with storage.disk_errors(path):
            cache.make_folder(self.root)
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                with os.fdopen(descriptor, "w") as file:
                    file.write(os.urandom(8).hex())
            return path.read_text() or str(path)

    def missing(self, files: Iterable[SentFile]) -> tuple[str, ...]:
        """List the digests of files that are not here."""
        return tuple(dict.fromkeys(file.digest for file in files if not self._holds(file)))

    def add_piece(self, file: SentFile, sender: str, offset: int, data: bytes) -> bool:
        """Write a piece of a file; the last piece enters the file into the store.

        Args:
            file: what is sent.
            sender: the run; two of them may send the same file.
            offset: of the piece.
            data: the piece.

        Returns:
            Whether the file is whole now.

        Raises:
            StorageError: no space, no permission; or the whole file has another digest.
        """
        path = self._path(file.digest)
        part = path.with_name(f".{file.digest}-{sender}.part")
        with storage.disk_errors(part):
            cache.make_folder(path.parent)
            with part.open("r+b" if offset else "wb") as sink:
                sink.seek(offset)
                sink.write(data)
            if offset + len(data) < file.size:
                return False
            if storage.digest_file(part) != file.digest:
                part.unlink()
                raise StorageError(f"{file.path} was damaged or edited on its way to this host; run again")
            part.replace(path)
        self._prune(file.size)
        return True

    def place(self, file: SentFile, target: Path) -> bool:
        """Give a file of the store a further name, or copy it; False where it is not here any more."""
        path = self._path(file.digest)
        with contextlib.suppress(OSError):
            os.utime(path)
        if not path.exists():
            return False
        if not storage.link_file(path, target):
            with contextlib.suppress(StorageError):
                storage.copy_file(path, target, durable=False)
        return target.exists() and target.stat().st_size == file.size

    def _holds(self, file: SentFile) -> bool:
        try:
            return self._path(file.digest).stat().st_size == file.size
        except OSError:
            return False

    def _path(self, digest: str) -> Path:
        return self.root / digest[:2] / f"{digest}.blob"

    def _prune(self, added: int) -> None:
        self._added_bytes += added
        if self._added_bytes >= PRUNE_AFTER_BYTES:
            self._added_bytes = 0
            with contextlib.suppress(OSError):
                cache.prune(self.root, self.limit_bytes)


# --- files of a task --------------------------------------------------------------------------------------------------
# What a worker reads for it: programs, inputs, references, and Python modules of the user. Sources are read for twins
# only: those are compiled again on the host.


MOST_MODULES = 2000
"""Python files in and below the folder of a user's module; of more, only those in the folder itself travel."""


@dataclass(slots=True)
class TaskFiles:
    """The files of tasks, each digested once as long as it is not edited."""

    _digests: dict[str, tuple[tuple[int, int], SentFile]] = field(default_factory=dict)
    _modules: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, task: Task) -> tuple[SentFile, ...]:
        """List the files of a task.

        Raises:
            StorageError: one cannot be read.
        """
        inputs = (str(split_member(text)[0]) for text in task.case.data_files)
        paths = dict.fromkeys((*_programs(task), *inputs, *_sources(task)))
        for function in task.case.user_functions:
            paths |= dict.fromkeys(self._modules_beside(function.rpartition(":")[0]))
        return tuple(self._file(path) for path in paths)

    def _file(self, path: str) -> SentFile:
        with storage.disk_errors(Path(path), "read"):
            status = Path(path).stat()
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._digests.get(path)
        if known is None or known[0] != stamp:
            known = self._digests[path] = stamp, SentFile(path, storage.digest_file(Path(path)), status.st_size)
        return known[1]

    def _modules_beside(self, file: str) -> tuple[str, ...]:
        """A module of the user and those that it may import: Python files in and below its folder."""
        folder = str(Path(file).parent)
        if folder not in self._modules:
            self._modules[folder] = _python_files(folder)
        return tuple(dict.fromkeys((file, *self._modules[folder])))


def folders_of(task: Task) -> tuple[str, ...]:
    """Paths of the client that a task names and that are no files which it reads."""
    paths = {task.case.path: None}
    for source in task.case.sources:
        paths |= dict.fromkeys((source.path, *source.include))
    return tuple(paths)


def _python_files(folder: str) -> tuple[str, ...]:
    files: list[str] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        files += [os.path.join(parent, name) for name in sorted(names) if name.endswith(".py")]  # noqa: PTH118 - text
        if len(files) > MOST_MODULES:
            return tuple(path for path in files if os.path.dirname(path) == folder)  # noqa: PTH120 - the paths are text
    return tuple(files)


def _programs(task: Task) -> Iterator[str]:
    variants = itertools.chain.from_iterable(task.variants.values())
    for program in (*task.programs, *task.references.values(), *variants):
        for path in (program.ptx, program.cubin):
            if path and Path(path).exists():
                yield path


def _sources(task: Task) -> Iterator[str]:
    if not task.case.settings.twins:
        return
    for source in task.case.sources:
        try:
            yield from map(str, programs.inputs(source).files)
        except (OSError, GpuregressError) as error:
            raise StorageError(f"{source.path} cannot be read: {error}") from None
