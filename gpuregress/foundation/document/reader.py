"""Reader of YAML files: plain values, and the line of every key.

The scalars are YAML 1.2's: `1e-5` is a number, `on`, `off`, `yes`, `no` and `1:30` are text. A duplicate key,
a tag, a value that contains itself or grows without bound through aliases, and a file that is not regular are errors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuregress.foundation.document.keys import MAX_SHOWN, Key
from gpuregress.foundation.document.yaml_parser import parse_yaml
from gpuregress.foundation.errors import JobError, JobErrors
from gpuregress.foundation.storage.os_errors import open_file
from gpuregress.gpu.records import Record

if TYPE_CHECKING:
    from gpuregress.foundation.document.yaml_parser import YamlProblem

__all__ = ["Document", "Key", "content", "dotted", "parse", "read"]

MAX_BYTES = 4 << 20
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Document(Record):
    """A file as plain values.

    Attributes:
        path: where it was read.
        data: dicts with text keys, lists, text, numbers, booleans, None.
        lines: key → its line, counted from 1.
    """

    path: Path
    data: Any
    lines: Mapping[Key, int]

    def line(self, key: Key) -> int | None:
        """Return the line of a key, or of its nearest parent in the file."""
        for length in range(len(key), 0, -1):
            if key[:length] in self.lines:
                return self.lines[key[:length]]
        return None

    def error(self, key: Key, message: str) -> JobError:
        """An error at this key."""
        return JobError(self.path, self.line(key), dotted(key), message)


def dotted(key: Key) -> str:
    """`buffers.x.shape[0]`; a name that is too long for a message is cut."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if len(part) <= MAX_SHOWN else f"{part[:MAX_SHOWN]}…"
            text += f".{name}" if text else name
    return text


def read(path: Path, *, as_written: Collection[str] = ()) -> Document:
    """Read a file.

    Args:
        path: the file.
        as_written: top-level keys whose scalars stay text, so that `revision: 1.10` is not 1.1.

    Raises:
        JobErrors: it cannot be read, or is not YAML of the plain kind described above.
    """
    return parse(content(path), path, as_written=as_written)


def parse(data: bytes, path: Path, *, as_written: Collection[str] = ()) -> Document:
    """Parse the content of a file.

    Args:
        data: the content, UTF-8.
        path: of the file, for messages.
        as_written: see `read`.

    Raises:
        JobErrors: it is not YAML of the plain kind described above.
    """
    built = parse_yaml(data, as_written=as_written)
    if built.flaws:
        raise JobErrors(tuple(_error(path, flaw) for flaw in built.flaws))
    return Document(path, built.data, built.lines)


def _error(path: Path, flaw: YamlProblem) -> JobError:
    return JobError(path, flaw.line, dotted(flaw.key), flaw.message)


def content(path: Path) -> bytes:
    """Read a small file as UTF-8.

    Raises:
        JobErrors: it is too large, no regular file, in UTF-16, or cannot be read. It never waits for a pipe's writer.
    """
    try:
        with open_file(path) as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise JobErrors((JobError(path, None, "", f"cannot be read: {reason}"),)) from None
    if len(data) > MAX_BYTES:
        message = f"is larger than {MAX_BYTES >> 20} MiB: jobs and settings are a few kilobytes"
        raise JobErrors((JobError(path, None, "", message),))
    if data.startswith(_BYTE_ORDER_MARKS):
        raise JobErrors((JobError(path, None, "", "is written in UTF-16: save it as UTF-8"),))
    return data
