"""Patterns of wrong bits: a flipped bit, integer wrap-around, sign extension, reversed bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuregress.foundation.numeric import ordinals
from gpuregress.foundation.records import Finding
from gpuregress.judge.diagnose.evidence import Column, Mask, of_share
from gpuregress.judge.diagnose.patterns.values import FEW_ULPS

ENOUGH = 0.95
_WIDTHS = (8, 16, 24, 31, 32)


def flipped(column: Column) -> Finding | None:
    """One bit, the same everywhere; not the sign, and not the last few of a float, where rounding flips them.

    Integers: four elements, or one whose bit is the 17th or higher, since small numbers often differ in a single bit.
    """
    scalar, xor = column.part.scalar, column.xor
    if scalar.kind == "bool" or (xor != xor[0]).any() or int(xor[0]).bit_count() != 1:
        return None
    bit = int(xor[0]).bit_length() - 1
    if column.is_float and (bit == 8 * scalar.size - 1 or bool((column.steps <= FEW_ULPS).any())):
        return None
    if not column.is_float and column.count < 4 and bit < 16:
        return None
    what = f"bit {bit} {_direction(column, bit)}, and no other bit wrong"
    if column.count == 1:
        return Finding("bit", f"the differing element has {what}")
    return of_share("bit", column.count, column.count, f"|have {what}")


def _direction(column: Column, bit: int) -> str:
    is_set = (ordinals.bits(column.actual, column.part.scalar).astype(np.uint64) >> np.uint64(bit)) & np.uint64(1)
    if is_set.all():
        return "set"
    if is_set.any():
        return "flipped"
    return "cleared"


def wrapped(column: Column) -> Finding | None:
    """Expected modulo 2^8, 2^16, 2^24, 2^31 or 2^32, read with or without sign: 95 %, and two elements."""
    whole = column.finite & (column.e == np.floor(column.e)) & (np.abs(column.e) < 2.0**53)
    if column.part.scalar.kind == "bool" or not whole.any():
        return None
    for width in _WIDTHS:
        hits = whole & _is_wrapped(column, width)
        count = int(np.count_nonzero(hits))
        if count >= max(2, ENOUGH * column.count) and len(np.unique(column.e[hits])) > 1:
            why = f"should be modulo 2^{width}: a counter or product too narrow"
            return of_share("wrap-around", count, column.count, f"is what it {why}|are what they {why}")
    return None


def _is_wrapped(column: Column, width: int) -> Mask:
    modulus = 2.0**width
    unsigned = np.mod(column.e, modulus)
    signed = unsigned - np.where(unsigned >= modulus / 2, modulus, 0.0)
    outside = (column.e >= modulus / 2) | (column.e < -modulus / 2)
    return np.asarray(outside & ((column.a == unsigned) | (column.a == signed)) & (column.a != column.e))


def shifted_sign(column: Column) -> Finding | None:
    """The high bits are all ones where they were zeros, from one bit on to the top: three elements.

    An arithmetic shift does this to a number that should have been unsigned.
    """
    scalar = column.part.scalar
    if column.is_float or scalar.kind == "bool" or column.count < 3:
        return None
    top = np.uint64((1 << (8 * scalar.size)) - 1)
    inverted = ~column.xor & top
    runs = ((inverted & (inverted + np.uint64(1))) == 0) & (column.xor != top) & (inverted > 0)
    set_now = (ordinals.bits(column.actual, scalar).astype(np.uint64) & column.xor) == column.xor
    if not (runs & set_now).all() or int(column.xor[0]).bit_count() < 2 or len(np.unique(column.expected)) < 2:
        return None
    filled = sorted({int(mask).bit_count() for mask in np.unique(column.xor)[:64]})
    bits = f"{filled[0]}"
    if len(filled) > 1:
        bits += f" to {filled[-1]}"
    what = f"have ones in their top {bits} bits: the sign was shifted in"
    return of_share("signed shift", column.count, column.count, f"|{what}")


def byte_order(column: Column) -> Finding | None:
    """The bytes are in the other order: 95 %, two elements of two values."""
    size = column.part.scalar.size
    if size < 2:
        return None
    swapped = _bits(column.expected, column).byteswap()
    hits = swapped == _bits(column.actual, column)
    count = int(np.count_nonzero(hits))
    if count < max(2, ENOUGH * column.count) or len(np.unique(swapped)) < 2:
        return None
    reversed_ = f"{size} bytes reversed"
    return of_share("byte order", count, column.count, f"has its {reversed_}|have their {reversed_}")


def _bits(column: npt.NDArray[np.generic], of: Column) -> npt.NDArray[np.generic]:
    return ordinals.bits(column, of.part.scalar)
