"""Parser of numeric literals.

PTX ISA manual, 4.5 "Constants".
"""

from __future__ import annotations

import functools
import struct

from gpuregress.devices.cpu.ptx.tree import Float, Integer


@functools.lru_cache(maxsize=4096)
def number(text: str, *, negative: bool = False) -> Integer | Float:
    """Parse one number: `12`, `0x1FU`, `017`, `0b101`, `1.5`, `0f3F800000`, `0d3FF0000000000000`."""
    lowered = text.lower()
    if lowered.startswith("0f"):
        return Float(int(text[2:], 16) ^ (0x8000_0000 if negative else 0), 32)  # noqa: FURB166 - 0f is no base that int knows
    if lowered.startswith("0d"):
        return Float(int(text[2:], 16) ^ (1 << 63 if negative else 0), 64)  # noqa: FURB166 - 0f is no base that int knows
    if not lowered.startswith("0x") and any(mark in lowered for mark in ".e"):
        value = -float(text) if negative else float(text)
        return Float(int.from_bytes(struct.pack("<d", value), "little"), 64)
    magnitude = _integer(lowered.removesuffix("u"))
    return Integer(-magnitude if negative else magnitude)


def _integer(text: str) -> int:
    if text.startswith(("0x", "0b")):
        return int(text, 0)
    return int(text, 8) if text.startswith("0") and len(text) > 1 else int(text)
