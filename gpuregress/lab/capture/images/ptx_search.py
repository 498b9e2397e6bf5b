"""Search for the PTX of a captured kernel."""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard

from gpuregress.foundation.user_home import home
from gpuregress.gpu.records import Record

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
        architecture: of the card, 90 for sm_90: PTX for a newer one is not what ran.

    Returns:
        that for the newest architecture up to the card's; None where there is none.
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
    if data[:4] == b"\x50\xed\x55\xba":
        yield from _in_fatbins(data, [0], kernel)
    elif data[:4] != b"\x7fELF" and _has(data, kernel):
        yield data.rstrip(b"\0").decode("utf-8", "replace")


def _in_fatbins(data: bytes | mmap.mmap, starts: Iterable[int], kernel: str) -> Iterator[str]:
    for start in starts:
        try:
            for image in images(data, start):
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
                for start, length in sections(data):
                    yield from _in_fatbins(data, find_all(data, start, start + length), kernel)
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


# --- reader of fatbins, the containers in which programs carry PTX and machine code -----------------------------------


Data = bytes | mmap.mmap
_MAGIC = b"\x50\xed\x55\xba"
_PTX, _ELF = 1, 2
_LZ4, _ZSTD = 0x2000, 0x8000
_ENTRY_BYTES = 64
_FIELDS = (("<I", 28), ("<Q", 40), ("<Q", 56))
"""The architecture, the flags and the decompressed size of an entry: type and offset."""
_MOST_BYTES = 1 << 30


class Image(Record):
    """An entry of a fatbin.

    Attributes:
        is_ptx: whether it is PTX; else machine code.
        architecture: 90 for sm_90.
        data: as the container has it.
        compression: `lz4`, `zstd` or "".
        size: of the contents.
    """

    is_ptx: bool
    architecture: int
    data: bytes
    compression: str
    size: int

    def contents(self) -> bytes:
        """Return the contents, decompressed.

        Raises:
            ValueError: they are damaged.
        """
        if self.compression == "lz4":
            return decompress_lz4(self.data, self.size)
        if self.compression == "zstd":
            try:
                return zstandard.ZstdDecompressor().decompress(self.data, max_output_size=self.size)
            except zstandard.ZstdError as error:
                raise ValueError(f"a compressed image is damaged ({error})") from error
        return self.data


def images(data: Data, start: int = 0) -> Iterator[Image]:
    """List the images of the fatbin at a position.

    Raises:
        ValueError: there is none, or it is cut short.
    """
    if data[start : start + 4] != _MAGIC:
        raise ValueError("it is no fatbin")
    try:
        header, size = struct.unpack_from("<HQ", data, start + 6)
    except struct.error as error:
        raise ValueError("it is cut short") from error
    at, end = start + header, start + header + size
    if end > len(data):
        raise ValueError("it is cut short")
    while at + _ENTRY_BYTES <= end:
        kind, _, header, size, packed = struct.unpack_from("<HHIQI", data, at)
        architecture, flags, whole = (struct.unpack_from(code, data, at + byte)[0] for code, byte in _FIELDS)
        if header < _ENTRY_BYTES or at + header + size > end:
            raise ValueError("it is cut short")
        compression = "lz4" if flags & _LZ4 else "zstd" if flags & _ZSTD else ""
        body = data[at + header : at + header + (packed if compression and packed else size)]
        if kind in (_PTX, _ELF) and whole <= _MOST_BYTES:
            yield Image(kind == _PTX, architecture, bytes(body), compression, whole or size)
        at += header + size


def find_all(data: Data, start: int = 0, end: int | None = None) -> Iterator[int]:
    """List the positions of the fatbins in a part of a file."""
    end = len(data) if end is None else end
    at = data.find(_MAGIC, start, end)
    while at >= 0:
        if data[at + 4 : at + 8] == b"\x01\x00\x10\x00":
            yield at
        at = data.find(_MAGIC, at + 4, end)


def sections(data: Data) -> list[tuple[int, int]]:
    """List the sections of an ELF file that hold fatbins: offset and size.

    Args:
        data: a program or a shared library.

    Raises:
        ValueError: it is none, or is cut short.
    """
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("it is not a 64-bit ELF file")
    try:
        (table,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        rows = [struct.unpack_from("<IIQQQQ", data, table + number * size) for number in range(count)]
        texts = rows[names][4] if rows else 0
        found = []
        for name, _, _, _, offset, length in rows:
            word = bytes(data[texts + name : texts + name + 20])
            if word.split(b"\0", 1)[0] in (b".nv_fatbin", b"__nv_relfatbin"):
                found.append((offset, length))
    except (struct.error, IndexError) as error:
        raise ValueError("it is cut short") from error
    return found


def decompress_lz4(data: bytes, size: int) -> bytes:
    """Decompress an LZ4 block (lz4_Block_format.md of the LZ4 project).

    Args:
        data: the block; zeros may follow it.
        size: of the contents.

    Raises:
        ValueError: it is damaged.
    """
    out = bytearray()
    at = 0
    try:
        while len(out) < size:
            token = data[at]
            at += 1
            count, at = _length(data, at, token >> 4)
            if at + count > len(data):
                raise ValueError("a compressed image is cut short")
            out += data[at : at + count]
            at += count
            if len(out) >= size:
                break
            distance = data[at] | data[at + 1] << 8
            at += 2
            count, at = _length(data, at, token & 15)
            _copy(out, distance, count + 4)
    except IndexError as error:
        raise ValueError("a compressed image is cut short") from error
    if len(out) != size:
        raise ValueError("a compressed image is damaged")
    return bytes(out)


def _length(data: bytes, at: int, count: int) -> tuple[int, int]:
    if count == 15:
        while True:
            more = data[at]
            at += 1
            count += more
            if more != 255:
                break
    return count, at


def _copy(out: bytearray, distance: int, count: int) -> None:
    if not 0 < distance <= len(out):
        raise ValueError("a compressed image is damaged")
    if count <= distance:
        start = len(out) - distance
        out += out[start : start + count]
        return
    pattern = bytes(out[-distance:])
    out += (pattern * (count // distance + 1))[:count]
