"""Writer of PNG images with a palette (ISO/IEC 15948), as data URIs."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_INDEXED = 3


def data_uri(cells: bytes, columns: int, colour_of: Callable[[int], str]) -> str:
    """An image with one pixel for each cell.

    Args:
        cells: a byte each, row by row.
        columns: of a row.
        colour_of: byte → six hexadecimal digits.
    """
    used = sorted(set(cells))
    palette = b"".join(bytes.fromhex(colour_of(level)) for level in used)
    pixels = cells.translate(bytes(used.index(level) if level in used else 0 for level in range(256)))
    rows = b"".join(b"\0" + pixels[start : start + columns] for start in range(0, len(pixels), columns))
    header = struct.pack(">IIBBBBB", columns, len(cells) // columns, 8, _INDEXED, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    image = _SIGNATURE + b"".join(_chunk(*one) for one in chunks)
    return "data:image/png;base64," + base64.b64encode(image).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
