"""Table of the names that break NVRTC's own headers: `python -m tests.toolchain.header_names` writes it anew.

The headers are plain text in NVRTC's library of built-in functions. Each of their identifiers is tried as a macro.
"""

from __future__ import annotations

import importlib
import re
import string
import textwrap
from collections.abc import Iterable
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import Source
from gpuregress.toolchain import nvrtc
from gpuregress.toolchain.headers import virtual_headers

KERNEL = 'extern "C" __global__ void k() {}\n'


def breaks(folder: Path, name: str) -> bool:
    """Tell whether an empty kernel does not compile with this macro."""
    source = folder / "empty.cu"
    source.write_text(KERNEL)
    try:
        nvrtc.compile_source(Source(str(source), defines={name: "7"}, kernels=("k",)), KERNEL)
    except CompileError:
        return True
    return False


def identifiers(library: Path) -> set[str]:
    """The identifiers in the texts of a library that a user might choose, and all letters."""
    texts = (match[0].decode() for match in re.finditer(rb"[\t\n\r -~]{2000,}", library.read_bytes()))
    plain = re.sub(r'/\*.*?\*/|//[^\n]*|"[^"\n]*"', " ", "\n".join(texts), flags=re.DOTALL)
    return set(re.findall(r"\b[A-Za-z]\w*\b", plain)) | set(string.ascii_letters)


def write(names: Iterable[str], target: Path = virtual_headers.TABLE) -> None:
    """Write the table."""
    text = textwrap.fill(" ".join(sorted(names)), 120, break_long_words=False, break_on_hyphens=False)
    target.write_text(f"{text}\n", encoding="ascii")


if __name__ == "__main__":
    roots = importlib.import_module("nvidia").__path__
    (builtins,) = (path for root in roots for path in Path(root).rglob("libnvrtc-builtins.so*"))
    with storage.scratch() as folder:
        write(name for name in identifiers(builtins) if breaks(folder, name))
