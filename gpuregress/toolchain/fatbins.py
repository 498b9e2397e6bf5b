"""Reader of fatbins, the containers in which programs carry PTX and machine code."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator

import zstandard

from gpuregress.gpu.records import Record

Data = bytes | mmap.mmap
MAGIC = b"\x50\xed\x55\xba"
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
    if data[start : start + 4] != MAGIC:
        raise ValueError("it is not a fatbin")
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
    at = data.find(MAGIC, start, end)
    while at >= 0:
        if data[at + 4 : at + 8] == b"\x01\x00\x10\x00":
            yield at
        at = data.find(MAGIC, at + 4, end)


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
