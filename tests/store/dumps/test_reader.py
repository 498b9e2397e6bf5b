"""What is not what its header says is an error that names file, line and word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import DumpError, StorageError
from gpuregress.store.dumps import parse, reader, writer


def load(folder: Path, text: bytes) -> Any:
    path = folder / "sum.1"
    path.write_bytes(text)
    return reader.read(path).array.tolist()


HEAD = b"# gpuregress 1 float32 [3]\n"


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        (b"", "sum.1:", "the file is empty"),
        (HEAD, "sum.1:", "holds 0 elements where its header says 3"),
        (HEAD[:-1], "sum.1:1:", "cut short"),
        (HEAD + b"1.0\n2.0\n", "sum.1:", "holds 2 elements where its header says 3; the file was cut short"),
        (HEAD + b"1.0\n2.0\n3.0\n4.0\n", "sum.1:", "holds 4 elements where its header says 3; the file was added to"),
        (HEAD + b"1.0\n2.0\n3.", "sum.1:", "its last line has no end"),
        (HEAD + b"1.0\n2.0\n3.0", "sum.1:", "its last line has no end"),
        (HEAD + b"1.0\n\n3.0\n", "sum.1:3:", "the line is empty"),
        (HEAD + b"1.0\n2.0\n3.0\n\n", "sum.1:", "holds 4 elements"),
        (HEAD + b"1.0\n2.0 \n3.0\n", "sum.1:3:", "2 words where a float32 has 1"),
        (HEAD + b"1.0\n2.0\n 3.0\n", "sum.1:4:", "2 words where a float32 has 1"),
        (HEAD + b"1.0\n2.0\n\t3.0\n", "sum.1:4:", "invalid float32 '\\t3.0'"),
        (HEAD + b"1.0\n2,0\n3.0\n", "sum.1:3:", "invalid float32 '2,0'"),
        (HEAD + b"1.0\n2.0\nx\n", "sum.1:4:", "invalid float32 'x'"),
        (HEAD + b'1.0\n"2.0"\n3.0\n', "sum.1:3:", "invalid float32"),
        (HEAD + b"1.0\n2.0\n# 3.0\n", "sum.1:4:", "2 words"),
        (HEAD + b"1.0\n1e39\n3.0\n", "sum.1:3:", "invalid float32 '1e39'"),
        (HEAD + b"1.0\n\x00\n3.0\n", "sum.1:3:", "invalid float32"),
        (HEAD + b"1.0\n\xff\n3.0\n", "sum.1:3:", "invalid float32"),
        (HEAD + b"1.0\nnan(0x7fc0000)\n3.0\n", "sum.1:3:", "invalid float32"),
        (HEAD + b"1.0\nnan(0x3f800000)\n3.0\n", "sum.1:3:", "invalid float32"),
        (HEAD + b"nan(0x7fc00000)\nx\n3.0\n", "sum.1:3:", "invalid float32 'x'"),
        (HEAD + b"1.0\r\n2.0\r\n3.0\r\n", "sum.1:2:", "ends as on Windows"),
        (HEAD.replace(b"\n", b"\r\n") + b"1.0\r\n2.0\r\n3.0\r\n", "sum.1:1:", "end as on Windows"),
        (b"# gpuregress 1 int8 [2]\n1\n128\n", "sum.1:3:", "invalid int8 '128'"),
        (b"# gpuregress 1 int8 [2]\n1\n1.0\n", "sum.1:3:", "invalid int8 '1.0'"),
        (b"# gpuregress 1 uint8 [2]\n1\n-1\n", "sum.1:3:", "invalid uint8 '-1'"),
        (b"# gpuregress 1 bool [2]\n1\ntrue\n", "sum.1:3:", "invalid bool 'true'"),
        (b"# gpuregress 1 bool [2]\n1\n256\n", "sum.1:3:", "invalid bool '256'"),
        (b"# gpuregress 1 float16 [2]\n1.0\n65536.0\n", "sum.1:3:", "invalid float16 '65536.0'"),
        (b"# gpuregress 1 bfloat16 [2]\n1.0\n3.4e38\n", "sum.1:3:", "invalid bfloat16 '3.4e38'"),
        (b"# gpuregress 1 float2 [2]\n1.0 2.0\n3.0\n", "sum.1:3:", "1 words where a float2 has 2"),
        (b"# gpuregress 1 float2 [2]\n1.0 2.0\n3.0 4.0 5.0\n", "sum.1:3:", "3 words where a float2 has 2"),
        (b"# gpuregress 1 float2 [2]\n1.0 2.0\n3.0  4.0\n", "sum.1:3:", "3 words where a float2 has 2"),
        (b"# gpuregress 1 float2 [2]\n1.0 2.0 9.0\n3.0 4.0\n", "sum.1:2:", "3 words where a float2 has 2"),
        (b"# gpuregress 1 {id:int32,s:float32} [1]\n1.5 2.0\n", "sum.1:2:", "invalid int32 '1.5'"),
    ],
)
def test_damage_is_named(tmp_path: Path, text: bytes, where: str, says: str) -> None:
    with pytest.raises(DumpError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / where))
    assert says in message
    assert "\n" not in message


def test_other_spellings_of_a_number_are_taken(tmp_path: Path) -> None:
    assert load(tmp_path, HEAD + b"+1\n.5\n1E2\n") == [1.0, 0.5, 100.0]
    assert load(tmp_path, HEAD + b"007\n5.\n+infinity\n") == [7.0, 5.0, np.inf]
    assert np.signbit(load(tmp_path, HEAD + b"-0\n0\n-0e5\n")).tolist() == [True, False, True]


def test_the_line_is_counted_across_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PIECE_BYTES", 16)
    lines = [f"{k}.5\n".encode() for k in range(100)]
    head = b"# gpuregress 1 float32 [100]\n"
    assert load(tmp_path, head + b"".join(lines)) == [k + 0.5 for k in range(100)]
    lines[70] = b"oops\n"
    with pytest.raises(DumpError, match=r"sum\.1:72: invalid float32 'oops'"):
        load(tmp_path, head + b"".join(lines))
    with pytest.raises(DumpError, match="holds 101 elements"):
        load(tmp_path, head + b"0.0\n" * 101)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot read .*sum\.1: no such file"):
        reader.read(tmp_path / "sum.1")
    with pytest.raises(StorageError, match="it is a folder"):
        reader.read_header(tmp_path)


@given(st.binary(max_size=40), st.sampled_from(["float32", "float16", "int8", "float2", "bool", "{a:int8,b:float64}"]))
def test_no_bytes_break_the_parser(data: bytes, name: str) -> None:
    """Either the slow grammar takes every line, or the error names the first that it does not."""
    text = data.replace(b"\n\n", b"\n") + b"\n"
    element_type = dtypes.parse(name)
    count = reader.newlines(text)
    wrong = [
        parse._line_problem(line.decode("utf-8", "backslashreplace"), element_type) for line in text.split(b"\n")[:-1]
    ]
    bad = next((k for k, reason in enumerate(wrong) if reason), None)
    if bad is None:
        assert len(parse.rows(text, element_type, count, Path("f"), 1)) == count
    else:
        try:
            parse.rows(text, element_type, count, Path("f"), 1)
        except DumpError as error:
            assert f"f:{bad + 1}: " in str(error)  # noqa: PT017 - the check of many words may not be that of one


words = st.sampled_from(
    ["1", "1.0", "-0.0", "nan", "inf", "-inf", "nan(0xffc00000)", "", " ", "1e400", "x", "0x1", "1_0", "--1"]
)


@given(st.lists(words, min_size=1, max_size=5))
def test_nothing_is_read_as_what_it_is_not(lines: list[str]) -> None:
    element_type = dtypes.parse("float32")
    text = "".join(f"{line}\n" for line in lines).encode()
    good = all(not parse._line_problem(line, element_type) for line in lines)
    if good:
        bits = parse.rows(text, element_type, len(lines), Path("f"), 1).view("<u4")
        expected = [
            0x7FFFFFFF if w == "nan" else 0xFFC00000 if "(" in w else int(np.float32(w).view("<u4")) for w in lines
        ]
        assert bits.tolist() == expected
    else:
        with pytest.raises(DumpError):
            parse.rows(text, element_type, len(lines), Path("f"), 1)


def test_the_header_alone(tmp_path: Path) -> None:
    array = np.zeros((4, 2), "<f4")
    writer.write(tmp_path / "sum.1", array, dtypes.parse("float32"), (4, 2))
    assert reader.read_header(tmp_path / "sum.1").shape == (4, 2)


FLOAT = dtypes.parse("float32")


def test_a_compressed_dump_is_read_as_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuregress.foundation.storage.compressed.FRAME_BYTES", 5000)
    monkeypatch.setattr(reader, "PIECE_BYTES", 7000)
    values = np.random.default_rng(2).standard_normal(20_000).astype("<f4")
    plain, packed = (
        writer.write(tmp_path / name, values, FLOAT, (100, 200), compress_above=above)
        for name, above in (("a.1", None), ("b.1", 1000))
    )
    assert (plain.digest, plain.text_digest) == (packed.digest, packed.text_digest)
    assert Path(packed.path).name == "b.1.zst"
    assert reader.read_header(Path(packed.path)) == reader.read_header(Path(plain.path))
    assert (reader.read(Path(packed.path)).array == values.reshape(100, 200)).all()
    content = bytearray(Path(packed.path).read_bytes())
    content[len(content) // 2] ^= 1
    Path(packed.path).write_bytes(content)
    with pytest.raises(DumpError, match=r"b\.1\.zst: frame \d+ of its \d+ is damaged"):
        reader.read(Path(packed.path))
