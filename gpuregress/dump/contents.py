"""Index of a run's dumps by their content, so that identical dumps are stored once.

An entry is a symbolic link whose name is the content's digest and type. It does not name a file but holds `TEXT PATH`:
the digest of a dump's text, and that dump. Such an entry is made and read in one step, and needs no block on disk. A
later dump of the same content becomes a hard link to that file. Workers of one run share the index.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

import xxhash

from gpuregress import storage
from gpuregress.dump.header import Header
from gpuregress.errors import StorageError
from gpuregress.records import Dump


@dataclass(frozen=True, slots=True)
class DumpContents:
    """The contents that a run has dumped.

    Attributes:
        folder: of the entries; it is made with the first one, and can be removed when the run is over.
    """

    folder: Path

    def link(self, path: Path, raw: str, header: Header) -> Dump | None:
        """Make a dump another name of one with the same content; None where there is none.

        Args:
            path: the new dump.
            raw: digest of its raw bytes.
            header: its type and shape.

        Raises:
            StorageError: the folders of the new dump cannot be made.
        """
        try:
            text, _, known = str(self._entry(raw, header).readlink()).partition(" ")
        except OSError:
            return None
        buffer = storage.split_name(path.name)
        shape, name = header.shape, header.element_type.name
        made = Dump(buffer[0] if buffer else path.name, str(path), name, shape, raw, text)
        return made if linked(Path(known), made) else None

    def add(self, dump: Dump, header: Header) -> None:
        """Enter a dump, in place of one that can have no more names; a file system without links has no entries."""
        entry = self._entry(dump.digest, header)
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = self.folder / f"{storage.TEMPORARY_PREFIX}{os.urandom(6).hex()}"
            temporary.symlink_to(f"{dump.text_digest} {dump.path}")
            temporary.replace(entry)

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
