"""Store of the contents that a project's runs dumped, so that equal dumps are one file on disk.

    runs/.contents/9f2c…-31d0…     symbolic link: digest of the raw bytes and of the header → the name of the next
    runs/.contents/57aa…           one more name (hard link) of the dump whose text has this digest
    runs/.contents/c01b….zst       the same, of a compressed dump

A later dump of the same content becomes a hard link to that file, in whatever run, after its digest was verified. The
workers of all runs share the store without a word to each other. `storage.prune_store` removes what no run has
any more.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import xxhash

from gpuregress.foundation import storage
from gpuregress.foundation.errors import DumpError, StorageError
from gpuregress.foundation.records import Dump
from gpuregress.gpu.records import Record
from gpuregress.store.dumps import writer
from gpuregress.store.dumps.files import Header


class DumpContents(Record):
    """The contents that runs have dumped.

    Attributes:
        folder: on the file system of the runs; it is made with the first entry.
        compress_above: bytes of text above which dumps are compressed; None: they never are.
    """

    folder: Path
    compress_above: int | None = None

    def link(self, path: Path, raw: str, header: Header) -> Dump | None:
        """Make a dump another name of one with the same content; None where there is none.

        Args:
            path: the new dump; a compressed one also ends in `.zst`.
            raw: digest of its raw bytes.
            header: its type and shape.

        Raises:
            StorageError: the folders of the new dump cannot be made.
        """
        try:
            known = self.folder / self._entry(raw, header).readlink().name
            if not writer.has_form(known, self.compress_above):
                return None
        except (OSError, DumpError, StorageError):
            return None
        if known.suffix:
            path = storage.compressed_path(path)
        dump = writer.record(path, header.element_type, header.shape, raw, known.stem)
        if not linked(known, dump):
            return None
        return dump

    def add(self, dump: Dump, header: Header) -> None:
        """Enter a dump, in place of one that can have no more names; a file system without links has no entries."""
        suffix = storage.SUFFIX if dump.path.endswith(storage.SUFFIX) else ""
        file = self.folder / f"{dump.text_digest}{suffix}"
        with contextlib.suppress(OSError, StorageError):
            if not storage.link_file(Path(dump.path), file, read_only=False):
                return
            temporary = self.folder / f"{storage.TEMPORARY_PREFIX}{os.urandom(6).hex()}"
            temporary.symlink_to(file.name)
            temporary.replace(self._entry(dump.digest, header))

    def _entry(self, raw: str, header: Header) -> Path:
        return self.folder / f"{raw}-{xxhash.xxh3_64_hexdigest(header.render())}"


def linked(source: Path, wanted: Dump) -> bool:
    """Make a dump another name of a file, if that still has its text.

    Args:
        source: the file.
        wanted: the new dump, with its path and the digest of its text.

    Returns:
        False where the file was changed or removed, or cannot have one more name: then there is no new dump.

    Raises:
        StorageError: the folders of the new dump cannot be made.
    """
    return storage.link_file(source, Path(wanted.path)) and _has_its_text(wanted)


def copied(source: Path, wanted: Dump) -> bool:
    """Make a dump a copy of a file, if that still has its text; see `linked`."""
    with contextlib.suppress(StorageError):
        storage.copy_file(source, Path(wanted.path), durable=False)
        return _has_its_text(wanted)
    return False


def _has_its_text(wanted: Dump) -> bool:
    """Tell whether a new dump has the text that it should have; else it is removed."""
    path = Path(wanted.path)
    with contextlib.suppress(StorageError):
        if storage.digest_file(path) == wanted.text_digest:
            return True
    with contextlib.suppress(OSError):
        path.unlink()
    return False
