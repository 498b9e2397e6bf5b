"""Fatbins: every compression that nvcc has, and damage."""

from __future__ import annotations

import contextlib
import struct

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.toolchain import fatbins

PTX = b".version 9.0\n.target sm_75\n" * 20


def entry(kind: int, flags: int, body: bytes, whole: int = 0, architecture: int = 75) -> bytes:
    """An entry as nvcc 13.0 writes it; the data are padded to eight bytes."""
    padded = body + bytes(-len(body) % 8)
    head = struct.pack(
        "<HHIQIIHHIIIQQQ",
        kind,
        0x101,
        64,
        len(padded),
        len(body) if whole else 0,
        0,
        0,
        8,
        architecture,
        0,
        0,
        flags,
        0,
        whole,
    )
    return head + padded


def container(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def literals(data: bytes) -> bytes:
    """An LZ4 block without matches."""
    count = len(data)
    if count < 15:
        return bytes([count << 4]) + data
    return bytes([0xF0]) + b"\xff" * ((count - 15) // 255) + bytes([(count - 15) % 255]) + data


def test_images_are_read_with_each_compression() -> None:
    packed = zstandard.ZstdCompressor().compress(PTX)
    data = container(
        entry(2, 0x11, b"\x7fELF machine code"),
        entry(1, 0x8011, packed, len(PTX)),
        entry(1, 0x2011, literals(PTX), len(PTX), 90),
    )
    found = list(fatbins.images(data))
    assert [(one.is_ptx, one.architecture, one.compression) for one in found] == [
        (False, 75, ""),
        (True, 75, "zstd"),
        (True, 90, "lz4"),
    ]
    assert [one.contents() for one in found[1:]] == [PTX, PTX]
    assert found[0].contents().startswith(b"\x7fELF machine code")


@given(st.binary(max_size=600))
def test_an_lz4_block_gives_its_literals_back(data: bytes) -> None:
    assert fatbins.decompress_lz4(literals(data), len(data)) == data


@given(st.binary(min_size=1, max_size=40), st.integers(4, 300))
def test_an_lz4_match_repeats_what_it_points_to(pattern: bytes, count: int) -> None:
    more = count - 4
    token = len(pattern) << 4 if len(pattern) < 15 else 0xF0
    head = bytes([token | min(more, 15)]) + (bytes([len(pattern) - 15]) if len(pattern) >= 15 else b"")
    tail = len(pattern).to_bytes(2, "little")
    tail += b"\xff" * ((more - 15) // 255) + bytes([(more - 15) % 255]) if more >= 15 else b""
    expected = (pattern * (count // len(pattern) + 2))[: len(pattern) + count]
    assert fatbins.decompress_lz4(head + pattern + tail, len(expected)) == expected


@given(st.binary(max_size=200), st.integers(0, 500))
def test_a_damaged_block_is_an_error_or_of_the_right_size(data: bytes, size: int) -> None:
    with contextlib.suppress(ValueError):
        assert len(fatbins.decompress_lz4(data, size)) == size


@given(st.integers(0, 200))
def test_a_fatbin_that_is_cut_short_is_an_error(length: int) -> None:
    data = container(entry(1, 0x11, PTX), entry(1, 0x11, PTX))[:length]
    with pytest.raises(ValueError, match=r"cut short|not a fatbin"):
        list(fatbins.images(data))


def test_damaged_zstd_is_an_error() -> None:
    (image,) = fatbins.images(container(entry(1, 0x8011, b"not zstd at all", 99)))
    with pytest.raises(ValueError, match="damaged"):
        image.contents()


def test_fatbins_are_found_in_a_file_and_sections_only_in_elf() -> None:
    data = b"12345678" + container(entry(1, 0x11, PTX))
    assert list(fatbins.find_all(data)) == [8]
    with pytest.raises(ValueError, match="not a 64-bit ELF"):
        fatbins.sections(data)
    with pytest.raises(ValueError, match="cut short"):
        fatbins.sections(b"\x7fELF\x02\x01" + bytes(40))
