"""A file with the tables of a cubin and no code: kernels and variables."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence


def fake_cubin(kernels: Sequence[str], variables: Mapping[str, int]) -> bytes:
    """Write an ELF file with a section for each kernel, and a symbol for each kernel and variable."""
    texts, names = bytearray(b"\0"), bytearray(b"\0")

    def placed(table: bytearray, text: str) -> int:
        table.extend(text.encode() + b"\0")
        return len(table) - len(text) - 1

    sections = [("", 0, b"", 0, 0), (".nv.global", 8, b"", 0, 0)]
    sections += [(f".text.{kernel}", 1, bytes(16), 0, 0) for kernel in kernels]
    symbols = bytearray(24)
    for number, kernel in enumerate(kernels):
        symbols += struct.pack("<IBBHQQ", placed(texts, kernel), 0x12, 0x10, 2 + number, 0, 16)
    for name, size in variables.items():
        symbols += struct.pack("<IBBHQQ", placed(texts, name), 0x11, 0, 1, 0, size)
    sections += [(".symtab", 2, bytes(symbols), len(sections) + 1, 24), (".strtab", 3, bytes(texts), 0, 0)]
    starts = [placed(names, name) for name, *_ in sections] + [placed(names, ".shstrtab")]
    sections.append((".shstrtab", 3, bytes(names), 0, 0))
    data, rows = bytearray(64), []
    for (_, kind, body, link, entry), start in zip(sections, starts, strict=True):
        rows.append(struct.pack("<IIQQQQIIQQ", start, kind, 0, 0, len(data), len(body), link, 0, 8, entry))
        data += body + bytes(-len(body) % 8)
    table = len(data)
    head = struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, table, 90 << 8, 64, 0, 0, 64, len(rows), len(rows) - 1)
    data[:64] = b"\x7fELF\x02\x01\x01" + bytes(9) + head
    return bytes(data) + b"".join(rows)
