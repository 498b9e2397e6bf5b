"""Red zones: bytes before and after each buffer that no kernel may write.

A GPU gives out memory in large pages and does not mind a write past a buffer's end. The zones hold a pattern in which
each 8 bytes differ from their neighbours, and after each launch they must hold it still. Each zone has a pattern of its
own, so that a kernel which copies one element too many from one buffer's zone to another's is caught, too.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gpuregress.gpu.base import Bytes
from gpuregress.gpu.records import Record

SIZE = 4096
"""Bytes on each side: a whole block of 1024 threads that goes one element too far is caught."""


_GOLDEN = 0x9E3779B97F4A7C15
"""2⁶⁴ / φ, odd: its multiples modulo 2⁶⁴ are all different."""


@lru_cache(maxsize=256)
def pattern(address: int) -> Bytes:
    """The bytes of the zone at a device address."""
    first = (address * _GOLDEN + 0xBADDC0DEBADDC0DE) % 2**64
    words = np.arange(SIZE // 8, dtype=np.uint64) * np.uint64(_GOLDEN) + np.uint64(first ^ (first >> 29))
    zone = words.view(np.uint8)
    zone.flags.writeable = False
    return zone


class Breach(Record):
    """Changed bytes in a zone.

    Attributes:
        first: the first changed byte, counted from the buffer's start (negative before it).
        last: the last one.
        changed: how many changed between them, both included.
        now: the first few bytes from `first` on.
    """

    first: int
    last: int
    changed: int
    now: bytes


def check(before: Bytes, after: Bytes, size: int, address: int) -> Breach | None:
    """Compare a buffer's zones with their patterns.

    Args:
        before: the zone in front of it, SIZE bytes.
        after: the zone behind it, SIZE bytes.
        size: the buffer's bytes.
        address: the buffer's, on the device.

    Returns:
        The zone behind is looked at first: that is where kernels go wrong. None where both are untouched.
    """
    for zone, start in ((after, size), (before, -SIZE)):
        changed = np.flatnonzero(zone != pattern(address + start))
        if changed.size:
            first, last = int(changed[0]), int(changed[-1])
            return Breach(start + first, start + last, int(changed.size), zone[first : first + 16].tobytes())
    return None


def describe(breach: Breach, name: str, size: int, itemsize: int) -> str:
    """`4 bytes written behind x: bytes 4000 to 4003, at x[1000] (x has 1000), now 00 00 80 3f`."""
    side = "behind" if breach.first >= size else "before"
    span = breach.last - breach.first + 1
    noun = "byte" if span == 1 else "bytes"
    what = f"{breach.changed} {noun}" if breach.changed == span else f"{breach.changed} of {span} bytes"
    span_text = f"byte {breach.first}" if span == 1 else f"bytes {breach.first} to {breach.last}"
    index = breach.first // itemsize
    shown = " ".join(f"{byte:02x}" for byte in breach.now[: min(span, 16)])
    return f"{what} written {side} {name}: {span_text}, at {name}[{index}] ({name} has {size // itemsize}), now {shown}"
