"""Search for the PTX of a captured kernel."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpuregress.foundation.user_home import home
from gpuregress.gpu.records import Record
from gpuregress.toolchain import fatbins

_LARGEST = 4 << 30
_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)", re.MULTILINE)


class FoundPtx(Record):
    """The PTX of a kernel.

    Attributes:
        text: a whole module.
        origin: where it was found, in words.
        intermediate: Triton's `.ttir` of the same kernel, or None.
    """

    text: str
    origin: str
    intermediate: Path | None = None


def find(
    kernel: str, given: Path | None, cubin: Path | None, mapped: Iterable[Path], architecture: int
) -> FoundPtx | None:
    """Search for the PTX of a kernel.

    Args:
        kernel: mangled name.
        given: what the program gave the driver, or None.
        cubin: the machine code that the driver made or loaded, or None.
        mapped: the files that the process had mapped.
        architecture: of the GPU, 90 for sm_90: PTX for a newer one is not what ran.

    Returns:
        that for the newest architecture up to the GPU's; None where there is none.
    """
    if given is not None:
        data = given.read_bytes()
        texts = [(text, "the image that the program loaded") for text in _in_image(data, kernel)]
        best = _best(texts, architecture)
        if best:
            return best
    if cubin is not None:
        found = _in_triton_cache(cubin, kernel)
        if found:
            return found
    texts = []
    for path in mapped:
        texts += [(text, path.name) for text in _in_file(path, kernel)]
    return _best(texts, architecture)


def _best(texts: list[tuple[str, str]], architecture: int) -> FoundPtx | None:
    usable = []
    for text, origin in texts:
        target = _TARGET.search(text)
        number = int(target[1]) if target else 0
        if number <= architecture:
            usable.append((number, text, origin))
    if not usable:
        return None
    _, text, origin = max(usable, key=lambda one: one[0])
    return FoundPtx(text, origin)


def _has(text: bytes, kernel: str) -> bool:
    return re.search(rb"\.entry\s+" + re.escape(kernel.encode()) + rb"\s*[({\s]", text) is not None


def _in_image(data: bytes, kernel: str) -> Iterator[str]:
    """The PTX of a kernel in what was given to the driver: PTX itself, or a fatbin."""
    if data[:4] == fatbins.MAGIC:
        yield from _in_fatbins(data, [0], kernel)
    elif data[:4] != b"\x7fELF" and _has(data, kernel):
        yield data.rstrip(b"\0").decode("utf-8", "replace")


def _in_fatbins(data: bytes | mmap.mmap, starts: Iterable[int], kernel: str) -> Iterator[str]:
    for start in starts:
        try:
            for image in fatbins.images(data, start):
                text = image.contents() if image.is_ptx else b""
                if text and _has(text, kernel):
                    yield text.rstrip(b"\0").decode("utf-8", "replace")
        except ValueError:
            continue  # not a fatbin, or one that was cut short


def _in_file(path: Path, kernel: str) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            if not 64 <= size <= _LARGEST or file.read(4) != b"\x7fELF":
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                for start, length in fatbins.sections(data):
                    yield from _in_fatbins(data, fatbins.find_all(data, start, start + length), kernel)
    except (OSError, ValueError):
        return


def _in_triton_cache(cubin: Path, kernel: str) -> FoundPtx | None:
    """The PTX beside the same machine code in Triton's cache."""
    folder = Path(os.environ.get("TRITON_CACHE_DIR") or (home() or Path("/")) / ".triton" / "cache")
    code, size = cubin.read_bytes(), cubin.stat().st_size
    for path in folder.glob(f"*/{kernel}.cubin") if "/" not in kernel else ():
        try:
            if path.stat().st_size != size or path.read_bytes() != code:
                continue
            text = path.with_suffix(".ptx").read_text(encoding="utf-8")
        except OSError:
            continue
        intermediate = path.with_suffix(".ttir")
        return FoundPtx(text, "Triton's cache", intermediate if intermediate.exists() else None)
    return None
