"""Flipped bits, wrap-around, sign extension, reversed bytes."""

from __future__ import annotations

import numpy as np

from tests.judge.diagnose.planted import findings, first, noise


def test_one_bit() -> None:
    e = noise("float32", (1000,))
    a = e.copy()
    a.view(np.uint32)[417] ^= 1 << 27
    assert first(e, a)[0] == "bit"
    e = noise("int32", (1000,))
    a = e.copy()
    a[::10] ^= 1 << 5
    assert first(e, a)[1] == "all 100 differing elements have bit 5 flipped, and no other bit wrong"
    a = e.copy()
    a[:100] |= 1 << 5
    assert "bit 5 set" in first(e, a)[1]


def test_wrap_around() -> None:
    e = np.arange(0, 1000, 7, dtype=np.int32)
    assert "modulo 2^8" in first(e, e % 256)[1]
    assert "modulo 2^8" in first(e, e.astype(np.int8).astype(np.int32))[1]
    wide = np.arange(2**31 - 50, 2**31 + 50, dtype=np.int64) * 3
    assert "modulo 2^32" in findings(wide, wide.astype(np.int32).astype(np.int64))["wrap-around"]
    as_float = (np.arange(200) * 991.0).astype(np.float64)
    assert "modulo 2^16" in first(as_float, as_float % 65536)[1]


def test_a_signed_shift() -> None:
    e = noise("uint32", (1000,)) >> np.uint32(5)
    full = noise("uint32", (1000,))
    a = (full.view(np.int32) >> 5).view(np.uint32)
    pattern, message = first(e, a)
    assert (pattern, message[-72:]) == ("signed shift", message[-72:])
    assert message.endswith("have ones in their top 5 bits: the sign was shifted in")


def test_byte_order() -> None:
    e = noise("int32", (100,))
    assert first(e, e.byteswap()) == ("byte order", "all 100 differing elements have their 4 bytes reversed")
