"""CUDA's printf, from a format string and packed arguments to text.

As there, a precision is digits and never `*`: a card prints such a conversion as it stands, and so does this. (The
sizes C has beyond h, l and ll are not in the guide either, and what a card prints for them is no number of the
caller's; here they mean what they mean in C.)
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

_SPECIFIER = re.compile(rb"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?(hh|h|ll|l|L|z|j|t|q)?([diouxXcsfFeEgGaAp%n])")
_LONG = (b"l", b"ll", b"j", b"t", b"z", b"q", b"L")
_BITS = {b"hh": 8, b"h": 16}


class _Arguments:
    """The packed arguments: each aligned to its size; floats as doubles, small integers as 32 bits."""

    def __init__(self, read: Callable[[int, int], bytes], address: int) -> None:
        self._read = read
        self._address = address
        self._offset = 0

    def take(self, size: int) -> bytes:
        self._offset = -(-self._offset // size) * size
        data = self._read(self._address + self._offset, size)
        self._offset += size
        return data

    def integer(self, size: int, *, signed: bool) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)


def render(
    form: bytes, address: int, read: Callable[[int, int], bytes], read_string: Callable[[int], bytes]
) -> tuple[bytes, int]:
    """Render one call.

    Args:
        form: the format string.
        address: of the packed arguments.
        read: (address, size) → bytes of device memory.
        read_string: address → the bytes up to the first zero.

    Returns:
        the text, and the number of arguments, which is what CUDA's printf returns.
    """
    arguments = _Arguments(read, address) if address else None
    count = 0

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal count
        if match.group(5) == b"%":
            return b"%"
        if arguments is None or match.group(3) == b"*":
            return match.group()
        count += 1
        return _one(match, arguments, read_string)

    return _SPECIFIER.sub(replace, form), count


def _one(match: re.Match[bytes], arguments: _Arguments, read_string: Callable[[int], bytes]) -> bytes:
    flags, width, precision, length, kind = match.groups()
    field = flags or b""
    if width == b"*":
        width = str(arguments.integer(4, signed=True)).encode()
    field += width or b""
    if precision is not None:
        field += b"." + precision
    if kind in b"di":
        return (b"%" + field + b"d") % _integer(arguments, length, signed=True)
    if kind in b"ouxX":
        return _unsigned(field, kind, _integer(arguments, length, signed=False))
    if kind == b"c":
        return (b"%" + field + b"c") % bytes([arguments.integer(4, signed=False) & 0xFF])
    if kind == b"s":
        return (b"%" + field + b"s") % read_string(arguments.integer(8, signed=False))
    if kind == b"p":
        # What the GPU's own printf writes: no prefix for a null pointer is (nil) on the host that formats it.
        value = arguments.integer(8, signed=False)
        return (b"%" + field + b"s") % (hex(value).encode() if value else b"(nil)")
    if kind == b"n":
        arguments.take(8)
        return b""
    return _float(field, kind, struct.unpack("<d", arguments.take(8))[0])


def _integer(arguments: _Arguments, length: bytes | None, *, signed: bool) -> int:
    if length in _LONG:
        return arguments.integer(8, signed=signed)
    value = arguments.integer(4, signed=signed)
    bits = _BITS.get(length or b"")
    if bits is None:
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _unsigned(field: bytes, kind: bytes, value: int) -> bytes:
    if kind == b"u":
        return (b"%" + field + b"d") % value
    text = (b"%" + field + kind) % value
    if b"#" in field and kind == b"o":
        # C writes an octal number's prefix as 0, Python as 0o; C writes none before a zero.
        return text.replace(b"0o", b"0", 1) if value else text.replace(b"0o0", b"0", 1)
    return text if value or b"#" not in field else text.replace(b"0" + kind + b"0", b"0", 1)


def _float(field: bytes, kind: bytes, value: float) -> bytes:
    if kind in b"aA":
        text = _hexadecimal(value, field)
        return text.upper() if kind == b"A" else text
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - a NaN differs from itself
        field = field.replace(b"0", b"", 1) if field.lstrip(b"-+ #").startswith(b"0") else field
    return (b"%" + field + kind) % value


def _hexadecimal(value: float, field: bytes) -> bytes:
    width = re.match(rb"[-+ #0]*(\d*)", field)
    text = re.sub(r"\.?0*p", "p", value.hex()).encode()
    size = int(width.group(1) or 0) if width else 0
    return text.ljust(size) if b"-" in field else text.rjust(size)
