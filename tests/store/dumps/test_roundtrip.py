"""Writer and reader against each other and against plain Python, for every dtype and every bit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.storage import digest_file
from gpuregress.store.dumps import reader, writer
from gpuregress.store.dumps.writer import lines
from tests.store.dumps import oracle

RECORDS = [
    "{id:int32,score:float32}",
    "{flag:bool,value:float64,pair:half2}",
    "{a:uint8,b:bfloat16,c:complex64,d:int64}",
]
TYPES = [*dtypes.known_names(), *RECORDS]

# Bytes that make edge values likely: zeros, NaNs of all kinds, infinities, subnormals, the largest numbers.
edges = st.sampled_from([0x00, 0x00, 0x01, 0x7F, 0x80, 0xFF, 0xFF, 0xF0, 0xF8, 0x7C, 0xC0]) | st.integers(0, 255)


@st.composite
def raws(draw: st.DrawFn) -> tuple[dtypes.ElementType, bytes]:
    element_type = dtypes.parse(draw(st.sampled_from(TYPES)))
    count = draw(st.integers(0, 12))
    size = count * element_type.size
    return element_type, bytes(draw(st.lists(edges, min_size=size, max_size=size)))


def check_round_trip(element_type: dtypes.ElementType, raw: bytes) -> None:
    array = oracle.array_of(raw, element_type)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sum.1.4"
        dump = writer.write(path, array, element_type, array.shape)
        loaded = reader.read(path)
        text = path.read_bytes()
        assert dump.text_digest == digest_file(path)
    assert loaded.header.element_type == element_type
    assert loaded.array.dtype == element_type.storage
    expected = list(oracle.elements(raw, element_type))
    assert list(oracle.elements(loaded.array.tobytes(), element_type)) == expected
    assert writer.content_digest(loaded.array, element_type) == dump.digest
    body = text.decode("ascii").split("\n")[1:-1]
    scalars = [part.scalar for part in element_type.parts]
    message = [[oracle.bits_of(w, s) for w, s in zip(line.split(" "), scalars, strict=True)] for line in body]
    assert message == expected


@given(raws())
def test_every_bit_of_every_dtype(case: tuple[dtypes.ElementType, bytes]) -> None:
    check_round_trip(*case)


@pytest.mark.parametrize("name", TYPES)
def test_random_bits(name: str) -> None:
    element_type = dtypes.parse(name)
    check_round_trip(element_type, np.random.default_rng(7).bytes(500 * element_type.size))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_all_patterns_of_16_bits(name: str) -> None:
    check_round_trip(dtypes.parse(name), np.arange(1 << 16, dtype="<u2").tobytes())


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_no_fewer_digits_would_do(name: str) -> None:
    element_type = dtypes.parse(name)
    scalar = element_type.parts[0].scalar
    raw = np.random.default_rng(3).bytes(2000 * scalar.size)
    words = bytes(lines(oracle.array_of(raw, element_type), element_type)).decode().split()
    for word, (bits,) in zip(words, oracle.elements(raw, element_type), strict=True):
        if word.startswith("nan"):
            continue
        digits = len(word.lstrip("-").partition("e")[0].replace(".", "").strip("0"))
        shorter = f"{oracle.number(bits, scalar):.{max(digits - 2, 0)}e}"
        assert digits == 1 or oracle.bits_of(shorter, scalar) != bits, (word, shorter)


def words_of(name: str, values: list[float] | list[int]) -> list[str]:
    element_type = dtypes.parse(name)
    if name == "bfloat16":
        array: np.typing.NDArray[np.generic] = dtypes.from_float32(np.array(values, "<f4"))
    else:
        array = np.array(values, element_type.storage)
    return bytes(lines(array, element_type)).decode().splitlines()


EDGES = [1.0, 0.1, -0.0, 0.0, 1e-5, 1e-7, 1e15, 1e16, 1e22, 123456789.0, 65504.0, float("inf"), float("-inf")]


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("float32", [0.12573022, -0.13210486], "0.12573022 -0.13210486"),
        ("float32", EDGES, "1.0 0.1 -0.0 0.0 0.00001 1e-7 1e+15 1e+16 1e+22 123456790.0 65504.0 inf -inf"),
        ("float32", [1e-45, 3.4028235e38, 1.1754944e-38], "1e-45 3.4028235e+38 1.1754944e-38"),
        ("float64", EDGES, "1.0 0.1 -0.0 0.0 0.00001 1e-7 1000000000000000.0 1e+16 1e+22 123456789.0 65504.0 inf -inf"),
        ("float64", [5e-324, 1.7976931348623157e308, 2.0**53 + 2], "5e-324 1.7976931348623157e+308 9007199254740994.0"),
        ("float16", [1.0, 0.1, -0.0, 65504.0, 6e-8, 0.333], "1.0 0.1 -0.0 65500.0 6e-8 0.333"),
        ("bfloat16", [1.0, 0.1, -0.0, 3.39e38, 9.2e-41], "1.0 0.1 -0.0 3.39e+38 9e-41"),
        ("bool", [0, 1], "0 1"),
        ("int8", [-128, 127], "-128 127"),
        ("uint64", [2**64 - 1], "18446744073709551615"),
        ("int64", [-(2**63)], "-9223372036854775808"),
    ],
)
def test_the_words_that_are_promised(name: str, values: list[float], words: str) -> None:
    """What orjson prints is the format: a version that prints otherwise must not pass unseen."""
    assert words_of(name, values) == words.split()


def test_nans_keep_their_bits() -> None:
    element_type = dtypes.parse("float32")
    array = np.array([0x7FFFFFFF, 0x3F800000, 0x7FC00000, 0xFFC00001, 0x7F800001], "<u4").view("<f4")
    assert bytes(lines(array, element_type)).decode().splitlines() == [
        "nan",
        "1.0",
        "nan(0x7fc00000)",
        "nan(0xffc00001)",
        "nan(0x7f800001)",
    ]
    assert bytes(lines(array[:2], element_type)) == b"nan\n1.0\n"


def test_a_bool_that_is_neither_shows_its_byte() -> None:
    assert bytes(lines(np.array([0, 1, 0xA5], "u1").view(bool), dtypes.parse("bool"))) == b"0\n1\n165\n"


def test_parts_with_one_space_between(tmp_path: Path) -> None:
    element_type = dtypes.parse("{id:int32,score:float32,at:float2}")
    array = np.zeros(2, element_type.storage)
    array["id"], array["score"], array["at.x"], array["at.y"] = [1, 2], [0.5, -0.0], [3, 4], [5, np.inf]
    path = tmp_path / "best.1"
    writer.write(path, array, element_type, (2,))
    assert path.read_text() == (
        "# gpuregress 1 {id:int32,score:float32,at:float2} [2]\n1 0.5 3.0 5.0\n2 -0.0 4.0 inf\n"
    )


@pytest.mark.parametrize("shape", [(), (1,), (6,), (2, 3), (1, 2, 3), (0,), (2, 0)])
def test_shapes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int), dtype="<i4").reshape(shape)
    writer.write(tmp_path / "a.1", array, dtypes.parse("int32"), shape)
    loaded = reader.read(tmp_path / "a.1")
    assert loaded.array.shape == shape == loaded.header.shape
    assert (loaded.array == array).all()


def test_padding_is_not_part_of_the_content() -> None:
    element_type = dtypes.parse("{a:int8,b:int32}")
    one, other = (np.frombuffer(bytes([1, pad, pad, pad, 2, 0, 0, 0]), element_type.storage) for pad in (0, 0xEE))
    assert writer.content_digest(one, element_type) == writer.content_digest(other, element_type)
    third = np.frombuffer(bytes([1, 0, 0, 0, 3, 0, 0, 0]), element_type.storage)
    assert writer.content_digest(one, element_type) != writer.content_digest(third, element_type)
