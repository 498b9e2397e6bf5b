"""Header of a dump: element type and shape.

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
from gpuregress.gpu.records import Record

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
