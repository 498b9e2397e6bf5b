"""Table of PTX types and their sizes.

PTX ISA manual, 5.2; a packed type (`f16x2`) has its whole width.
"""

from __future__ import annotations

BITS = {
    "pred": 1,
    **dict.fromkeys(("s4", "u4"), 4),
    **dict.fromkeys(("b8", "s8", "u8", "e4m3", "e5m2"), 8),
    **dict.fromkeys(("b16", "s16", "u16", "f16", "bf16", "e4m3x2", "e5m2x2"), 16),
    **dict.fromkeys(("b32", "s32", "u32", "f32", "f16x2", "bf16x2", "s16x2", "u16x2", "tf32"), 32),
    **dict.fromkeys(("b64", "s64", "u64", "f64", "f32x2"), 64),
    **dict.fromkeys(("texref", "samplerref", "surfref"), 64),
    "b128": 128,
}
"""Type → bits of a register that holds it."""
INDEX_BITS = {name: bits for name, bits in BITS.items() if name[0] in "bsu" and name[1:] in {"32", "64"}}
"""The types of addresses and indices, which the analyses follow → bits."""
HALVES = frozenset(["f16", "f16x2", "bf16", "bf16x2"])
FLOATS = HALVES | {"f32", "f64"}


def is_type(name: str) -> bool:
    """Whether a modifier names a type."""
    return name in BITS


def size(name: str) -> int:
    """The bytes of a type in memory.

    Raises:
        KeyError: no such type.
    """
    return max(1, BITS[name] // 8)


def is_signed(name: str) -> bool:
    """Whether a type is a signed integer, or a pair of them: widening copies its sign."""
    return name.startswith("s")
