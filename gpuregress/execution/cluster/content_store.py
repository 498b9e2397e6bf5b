"""Content-addressed store of the files that clients send to a host.

    ROOT/id                  identity of the store: Dask workers that share it need each file once
    ROOT/3f/3f2a….blob       a file, named by the xxh3-128 of its bytes

It lies in the cache of compiled programs, which other users cannot write. The least recently used files go when it is
over its limit. A running case has a name of its own for each of its files, so they stay for as long as it runs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpuregress.execution.cluster.messages import SentFile
from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError
from gpuregress.toolchain import cache

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
