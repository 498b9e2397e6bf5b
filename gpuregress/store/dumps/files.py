"""Files of dumps: their paths, their header (element type and shape), their integrity.

# gpuregress 1 float32 [4,250]
0.12573022
-0.13210486
"""

from __future__ import annotations

import math
import re
from pathlib import Path

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import DumpError
from gpuregress.foundation.records import Dump
from gpuregress.foundation.storage import digest_unchanged, dump_name, safe_join, split_name
from gpuregress.gpu.records import Record
from gpuregress.store import remote

__all__ = ["dump_name", "dump_path", "split_name"]


def dump_path(folder: Path, case: str, buffer: str, revision: str) -> Path:
    """The path of a buffer's dump at a revision.

    Args:
        folder: `runs/RUN/dumps` or `baselines`.
        case: `reduce/n=1000,tile=128`.
        buffer: its name.
        revision: its label.

    Raises:
        StorageError: the names lead out of the folder.
    """
    return safe_join(folder, f"{case}/{dump_name(buffer, revision)}")


VERSION = 1
LONGEST_HEADER = 1 << 16

_HEADER = re.compile(rb"# gpuregress (\d{1,9}) (\{[^\s{}]+\}|\w+) \[((?:\d{1,18}(?:,\d{1,18})*)?)\]")


class Header(Record):
    """First line of a dump: element type and shape, slowest axis first."""

    element_type: dtypes.ElementType
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """Elements, each of which has a line."""
        return math.prod(self.shape)

    def render(self) -> bytes:
        """The line, with its end."""
        axes = ",".join(str(length) for length in self.shape)
        return f"# gpuregress {VERSION} {self.element_type.name} [{axes}]\n".encode("ascii")


def parse_header(line: bytes, path: Path) -> Header:
    """Parse the first line of a dump.

    Args:
        line: without its end.
        path: for messages.

    Raises:
        DumpError: it is not a header, or one of an unknown version or type.
    """
    match = _HEADER.fullmatch(line)
    if match is None:
        raise DumpError(
            f"{path}:1: {_excerpt(line)} is not a dump header; expected one like `# gpuregress 1 float32 [4,250]`"
        )
    version, name, axes = int(match[1]), match[2].decode(), match[3].decode()
    if version != VERSION:
        raise DumpError(
            f"{path}:1: written in version {version} of the format; this gpuregress reads version {VERSION}"
        )
    try:
        element_type = dtypes.parse(name)
    except ValueError as error:
        raise DumpError(f"{path}:1: {error}") from None
    return Header(element_type, tuple(int(axis) for axis in axes.split(",")) if axes else ())


def _excerpt(line: bytes) -> str:
    text = line.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 60 else text[:57] + "...")


def verify(dump: Dump) -> None:
    """Refuse a dump whose file was changed since it was written; fetch one that is elsewhere.

    Args:
        dump: with the digest of its text, "" where none is known. One whose two digests are equal was described from
            the file itself, and is taken as it is.

    Raises:
        DumpError: it was cut short, edited or exchanged.
        BaselineError: it is elsewhere, and cannot be fetched.
        StorageError: it is gone, or cannot be read.
    """
    if dump.remote:
        remote.local(dump)  # verifies it
        return
    if dump.text_digest in ("", dump.digest):
        return
    # A buffer may be read for several comparisons and checks.
    if digest_unchanged(Path(dump.path)) != dump.text_digest:
        raise DumpError(f"{dump.path}: edited or cut short since it was written; run the case again")
