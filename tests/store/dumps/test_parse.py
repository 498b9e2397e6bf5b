"""Lines of text to arrays: rounding to 16 bits, and errors that name the line."""

from __future__ import annotations

from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import DumpError
from gpuregress.store.dumps import parse
from tests.store.dumps import oracle

PATH = Path("runs/x/sum.1.4")


def parsed(value: float) -> int:
    """The bfloat16 bits that a decimal is parsed to."""
    return int(parse.rows(f"{value!r}\n".encode(), dtypes.parse("bfloat16"), 1, PATH, 2)[0])


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("float32", b"1\n\n", ":3: the line is empty"),
        ("float2", b"1 2\n3\n", ":3: 1 words where a float2 has 2: '3'"),
        ("int8", b"127\n128\n", ":3: invalid int8 '128'"),
        ("float16", b"65504\n65520\n", ":3: invalid float16 '65520'"),
        ("float32", b"1\nnan(0x7f800000)\n", ":3: invalid float32 'nan(0x7f800000)'"),
        ("float32", b"1.0\n1_0.0\n", ":3: invalid float32 '1_0.0'"),
        ("float2", b"1.0 2.0\n3.0\t4.0\n", ":3: 1 words where a float2 has 2: '3.0\\t4.0'"),
        ("float16", b"1.0\n65520.0\n", ":3: invalid float16 '65520.0'"),
        ("bool", b"1\r\n", ":2: the line ends as on Windows"),
    ],
)
def test_a_wrong_line_is_named(name: str, text: bytes, says: str) -> None:
    with pytest.raises(DumpError) as caught:
        parse.rows(text, dtypes.parse(name), text.count(b"\n"), PATH, 2)
    assert f"{PATH}{says}" in str(caught.value)


def test_nans_keep_their_bits() -> None:
    rows = parse.rows(b"nan\n1.5\nnan(0xffc00001)\n", dtypes.parse("float32"), 3, PATH, 2)
    assert rows.view(np.uint32).tolist() == [0x7FFFFFFF, 0x3FC00000, 0xFFC00001]


def check_rounding(value: float) -> None:
    expected = oracle.nearest_bfloat16(value)
    if np.isfinite(value) and expected & 0x7FFF == 0x7F80:
        with pytest.raises(DumpError, match="invalid bfloat16"):
            parsed(value)
    else:
        assert parsed(value) == expected


@given(st.floats(allow_nan=False))
def test_rounding_once_to_bfloat16(value: float) -> None:
    check_rounding(value)


@given(st.integers(0, 0x7F7F), st.sampled_from([-1, 0, 1]))
def test_rounding_near_a_tie_to_bfloat16(code: int, nudge: int) -> None:
    """Rounding first to float32 would go wrong here."""
    tie = (oracle.number(code, oracle.BFLOAT16) + oracle.number(min(code + 1, 0x7F7F), oracle.BFLOAT16)) / 2
    check_rounding(float(np.nextafter(tie, np.inf * nudge)) if nudge else tie)


@given(code=st.integers(0, 0x7F7FFFFE), is_negative=st.booleans())
@example(code=0, is_negative=False)  # half of the smallest number
@example(code=0x007FFFFF, is_negative=True)  # the smallest one that is not subnormal is even
@example(code=0x3F7FFFFF, is_negative=False)  # below 1 the numbers lie closer
def test_rounding_near_a_tie_to_float32(code: int, *, is_negative: bool) -> None:
    """The float64 nearest to these words is halfway between two float32 numbers: only the words tell the side."""
    sign = 0x80000000 if is_negative else 0
    below, above = (Decimal(float(np.array([bits], "<u4").view("<f4")[0])) for bits in (code, code + 1))
    with localcontext(prec=200):
        tie = (below + above) / 2
        step = Decimal(1).scaleb(-190)
        words = [f"{'-' * is_negative}{number:f}" for number in (tie - step * tie, tie, tie + step * tie)]
    rows = parse.rows("".join(f"{word}\n" for word in words).encode(), dtypes.parse("float32"), 3, PATH, 2)
    assert rows.view("<u4").tolist() == [sign | code, sign | (code + code % 2), sign | (code + 1)]


def test_the_largest_float32_is_the_nearest_one_up_to_a_word() -> None:
    """The float64 nearest to both words rounds to infinity."""
    words = b"340282356779733661637539395458142568447.9\n", b"340282356779733661637539395458142568448.0\n"
    assert parse.rows(words[0], dtypes.parse("float32"), 1, PATH, 2).view("<u4").tolist() == [0x7F7FFFFF]
    with pytest.raises(DumpError, match="invalid float32"):
        parse.rows(words[1], dtypes.parse("float32"), 1, PATH, 2)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_the_ends_of_integers(name: str) -> None:
    element = dtypes.parse(name)
    low, high = element.parts[0].scalar.bounds
    taken = [low, low + 1, 0, 1, 99, high - 1, high]
    spelled = [f"{low}", f"{low + 1}", "-0", "+1", f"{99:040}", f"{high - 1}", f"+{high}"]
    for words in (spelled, spelled[:4] + spelled[5:]):  # with and without more digits than any number has
        rows = parse.rows("".join(f"{word}\n" for word in words).encode(), element, len(words), PATH, 2)
        assert rows.tolist() == [int(word) for word in words]
    assert [int(word) for word in spelled] == taken
    for wrong in (
        f"{low - 1}",
        f"{high + 1}",
        f"{high + 1:040}",
        "99999999999999999999",
        "1" * 21,
        "-",
        "+",
        "1-",
        "1.0",
    ):
        with pytest.raises(DumpError, match=f":3: invalid {name}"):
            parse.rows(f"1\n{wrong}\n".encode(), element, 2, PATH, 2)


@given(
    st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=30), st.sampled_from(["int64", "uint64", "int32"])
)
def test_integers_of_any_length(numbers: list[int], name: str) -> None:
    element = dtypes.parse(name)
    low, high = element.parts[0].scalar.bounds
    text = "".join(f"{number}\n" for number in numbers).encode()
    if all(low <= number <= high for number in numbers):
        assert parse.rows(text, element, len(numbers), PATH, 2).tolist() == numbers
    else:
        with pytest.raises(DumpError, match=f"invalid {name}"):
            parse.rows(text, element, len(numbers), PATH, 2)


@given(
    st.lists(st.integers(-(10**19), 10**19).map(lambda number: f"{number}.0") | st.sampled_from(["-0.0", "0.0"])),
    st.sampled_from(["", "+12.0", "007.0", "-00.0", ".0", "-.0", "0.5", "1e5", "3", "-inf", "123456789012345678.0"]),
)
def test_whole_numbers_are_those_of_python(words: list[str], other: str) -> None:
    words = ["1.0", *words, *([other] if other else []), "2.0"]
    rows = parse.rows("".join(f"{word}\n" for word in words).encode(), dtypes.parse("float64"), len(words), PATH, 2)
    np.testing.assert_array_equal(rows, np.array([float(word) for word in words]))
    assert np.signbit(rows).tolist() == [word.startswith("-") for word in words]


def test_parts_of_several_types_and_special_words() -> None:
    element = dtypes.parse("{id:int64,x:float64,h:half2}")
    text = b"-9223372036854775808 -0 nan nan(0x7e01)\n9223372036854775807 -inf 1e-7 -0.0\n"
    rows = parse.rows(text, element, 2, PATH, 2)
    bits = [[f"{x:x}" for x in row] for row in oracle.elements(rows.tobytes(), element)]
    assert bits == [
        ["8000000000000000", "8000000000000000", "7fff", "7e01"],
        ["7fffffffffffffff", "fff0000000000000", "2", "8000"],
    ]


@pytest.mark.parametrize("word", ["NaN", "NAN", "Nan", "-nan", "+nan"])
def test_other_spellings_of_nan(word: str) -> None:
    rows = parse.rows(f"1.0\n{word}\n".encode(), dtypes.parse("float32"), 2, PATH, 2)
    assert rows.view("<u4").tolist() == [0x3F800000, 0x7FFFFFFF]
