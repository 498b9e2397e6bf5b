from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.virtual_gpu.runtime.syscalls import render


def _render(form: bytes, layout: str = "", *values: object, strings: bytes = b"") -> tuple[bytes, int]:
    memory = struct.pack(f"@{layout}", *values) if layout else b""

    def read(address: int, size: int) -> bytes:
        return memory[address - 0x100 : address - 0x100 + size]

    def read_string(address: int) -> bytes:
        return strings[address:].partition(b"\0")[0]

    return render(form, 0x100, read, read_string)


@pytest.mark.parametrize(
    ("form", "layout", "values", "text"),
    [
        (b"%d", "i", (-5,), b"-5"),
        (b"%+05d|% d", "ii", (42, 7), b"+0042| 7"),
        (b"%hhd %hu", "iI", (300, 0x1FFFF), b"44 65535"),
        (b"%ld %llu %zx", "qQQ", (-(2**40), 2**63, 255), b"-1099511627776 9223372036854775808 ff"),
        (b"%u %x %X %o %#x %#o %#x", "IIIIIII", (2**32 - 1, 255, 255, 8, 255, 8, 0), b"4294967295 ff FF 10 0xff 010 0"),
        (b"%i %f", "id", (3, 0.5), b"3 0.500000"),
        (b"%.0f %10.3e %-8g| %G", "dddd", (2.5, 12345.678, 0.1, 1e-10), b"2  1.235e+04 0.1     | 1E-10"),
        (
            b"%f %F %5.1f %05f",
            "dddd",
            (float("nan"), float("inf"), float("-inf"), float("inf")),
            b"nan INF  -inf   inf",
        ),
        (b"%a %A", "dd", (1.0, 0.15625), b"0x1p+0 0X1.4P-3"),
        (b"%c%c", "ii", (65, 10), b"A\n"),
        (b"%*d|%-*d|%.*f|%d", "iiiii", (5, 42, 4, 7, 9), b"   42|7   |%.*f|9"),  # the card knows no precision `*`
        (b"%p %p", "QQ", (0, 0xABC), b"(nil) 0xabc"),
        (b"100%% %y %", "", (), b"100% %y %"),
    ],
)
def test_formats(form: bytes, layout: str, values: tuple[object, ...], text: bytes) -> None:
    assert _render(form, layout, *values)[0] == text


def test_strings_and_the_count_of_arguments() -> None:
    assert _render(b"%s=%-5s|%.2s", "QQQ", 1, 4, 4, strings=b"\0ab\0xyz\0") == (b"ab=xyz  |xy", 3)


@given(st.integers(-(2**31), 2**31 - 1), st.floats(allow_nan=False), st.integers(0, 2**64 - 1))
def test_packed_arguments_are_aligned(small: int, number: float, large: int) -> None:
    text, count = _render(b"%d %.17g %llu", "idQ", small, number, large)
    assert count == 3
    words = text.split()
    assert (int(words[0]), float(words[1]), int(words[2])) == (small, number, large)
