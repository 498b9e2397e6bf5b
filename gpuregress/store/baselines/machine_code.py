"""Digest of compiled code without line numbers, names of files and debug sections.

A comment changes those, and no time.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.records import Program
from gpuregress.toolchain import build_cubin, cubin
from gpuregress.toolchain.cache import digest as digest_of

_SAYS_NOTHING = re.compile(rb"^[ \t]*(?:\.loc\b|\.file\b|//)[^\n]*\n|[ \t]*//[^\n]*", re.MULTILINE)
_SECTION = re.compile(rb"^[ \t]*\.section\b[^{]*\{[^}]*\}", re.MULTILINE)


@functools.lru_cache(maxsize=256)
def digest(path: str) -> str:
    """A digest of a cubin's or a PTX file's code; "" where the file is gone or cannot be read.

    Args:
        path: absolute; what is there never changes, for compiled programs are found by content.
    """
    if not path:
        return ""
    try:
        data = Path(path).read_bytes()
        if path.endswith(".cubin"):
            return digest_of([part for named in cubin.code_sections(data) for part in named])
    except (OSError, ValueError):
        return ""
    return digest_of([_SECTION.sub(b"", _SAYS_NOTHING.sub(b"", data))])


def cubin_of(program: Program) -> str:
    """The path of the cubin that a GPU ran, "" where it is not known.

    A worker assembles what its device needs, so the program of a first run names no cubin, and the next one does.
    """
    try:
        return build_cubin(program).cubin
    except GpuregressError:
        return ""
