"""Names of input files: an array of an archive, and the beginning of a dump."""

from __future__ import annotations

import re
from pathlib import Path

from gpuregress.foundation.storage import is_compressed

_MEMBER = re.compile(r"(?P<path>.+\.npz):(?P<member>[^:]+)", re.DOTALL)
_DUMP = b"# gpuregress"


def split_member(text: str) -> tuple[Path, str]:
    """Split `x.npz:name` into the archive and the name of an array; "" for other files."""
    match = _MEMBER.fullmatch(text)
    return (Path(match["path"]), match["member"]) if match else (Path(text), "")


def is_dump(text: str) -> bool:
    """Tell whether a file begins as a dump does, or as a compressed one.

    Args:
        text: the file's path, also of an array of an archive.

    Raises:
        OSError: it cannot be read.
    """
    path = split_member(text)[0]
    with path.open("rb") as file:
        if file.read(len(_DUMP)) == _DUMP:
            return True
    return is_compressed(path)
