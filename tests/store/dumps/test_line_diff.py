from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.errors import DumpError
from gpuregress.store.dumps import line_diff, reader, writer

FLOAT = dtypes.parse("float32")
HEAD = "# gpuregress 1 float32 [{}]\n"


def write(folder: Path, name: str, words: list[str], *, compress: bool = False) -> Path:
    path = folder / name
    path.write_text(HEAD.format(len(words)) + "".join(f"{word}\n" for word in words))
    return compressed(path) if compress else path


def compressed(path: Path) -> Path:
    target = storage.compressed_path(path)
    with target.open("wb") as file:
        storage.compress_file(path, file)
    return target


def differences(first: Path, second: Path) -> line_diff.ElementPairs:
    """All pieces of the walk as one."""
    pieces = list(line_diff.pairs(first, second))
    pieces = pieces or [line_diff.ElementPairs(np.zeros(0, np.int64), np.zeros(0, "<f4"), np.zeros(0, "<f4"))]
    return line_diff.ElementPairs(
        *(np.concatenate([getattr(one, side) for one in pieces]) for side in line_diff.ElementPairs.__struct_fields__)
    )


WORDS = [
    "0.0",
    "-0.0",
    "1.0",
    "1.5",
    "1.55",
    "-1.5",
    "123456.7",
    "nan",
    "nan(0x7fc00000)",
    "inf",
    "1e+22",
    "0.1",
    "0.10",
]
SAME = {"0.10": "0.1"}


@given(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from([*WORDS, ""])), max_size=60),
    st.sampled_from([1, 2, 3, 7, 16, 64]),
    st.sampled_from([0.0, 0.3, 2.0]),
    st.sampled_from([8, 40, 1000]),
    st.sampled_from([(False, False), (True, False), (False, True), (True, True)]),
    st.sampled_from([3, 50, 1000]),
)
def test_against_reading_both(
    pairs: list[tuple[str, str]], block: int, dense: float, piece: int, forms: tuple[bool, bool], frame: int
) -> None:
    """Whatever the lines, the block size, the way taken, and the sizes of compressed frames."""
    first, second = [a for a, _ in pairs], [b or a for a, b in pairs]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_diff, "LARGE", block)
        patch.setattr(line_diff, "SMALL", 2)
        patch.setattr(line_diff, "ENOUGH", 3)
        patch.setattr(line_diff, "DENSE", dense)
        patch.setattr(line_diff, "RELEASE", piece)
        patch.setattr(line_diff, "MOST_LINES", 1 + piece // 20)
        patch.setattr(reader, "PIECE_BYTES", piece)
        patch.setattr("gpuregress.foundation.storage.compressed.FRAME_BYTES", frame)
        a = write(Path(folder), "a.1", first, compress=forms[0])
        b = write(Path(folder), "b.1", second, compress=forms[1])
        result = differences(a, b)
        whole_a, whole_b = reader.read(a).array.view("<u4"), reader.read(b).array.view("<u4")
    expected = np.flatnonzero(whole_a != whole_b)
    assert result.indices.tolist() == expected.tolist()
    assert result.expected.view("<u4").tolist() == whole_a[expected].tolist()
    assert result.actual.view("<u4").tolist() == whole_b[expected].tolist()
    by_word = [k for k, (x, y) in enumerate(zip(first, second, strict=True)) if SAME.get(x, x) != SAME.get(y, y)]
    assert result.indices.tolist() == by_word


@pytest.mark.parametrize("share", [0, 0.0001, 0.01, 0.03, 1])
@pytest.mark.parametrize("forms", [(None, None), (0, 0), (None, 0)])
def test_many_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, forms: tuple[int | None, int | None]
) -> None:
    monkeypatch.setattr("gpuregress.foundation.storage.compressed.FRAME_BYTES", 10_000)
    monkeypatch.setattr(line_diff, "RELEASE", 50_000)
    monkeypatch.setattr(reader, "PIECE_BYTES", 30_000)
    rng = np.random.default_rng(5)
    first = rng.standard_normal(100_000).astype("<f4")
    where = np.sort(rng.choice(first.size, int(share * first.size), replace=False))
    second = first.copy()
    second[where] *= np.float32(1.25)
    a, b = (
        Path(writer.write(tmp_path / name, values, FLOAT, values.shape, compress_above=above).path)
        for name, values, above in (("a.1", first, forms[0]), ("b.1", second, forms[1]))
    )
    assert (a.suffix == ".zst", b.suffix == ".zst") == (forms[0] == 0, forms[1] == 0)
    result = differences(a, b)
    assert result.indices.tolist() == where.tolist()
    assert result.indices.dtype == np.int64
    assert (result.expected == first[where]).all()
    assert (result.actual == second[where]).all()


def test_every_row_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of the two files end at other rows, as their lines are not as long."""
    monkeypatch.setattr(reader, "PIECE_BYTES", 100)
    first, second = np.zeros(500, "<f4"), np.full(500, 0.12345678, "<f4")
    second[:400:2] = 0
    for name, values in (("a.1", first), ("b.1", second)):
        writer.write(tmp_path / name, values, FLOAT, (500,))
    result = list(line_diff.pairs(tmp_path / "a.1", tmp_path / "b.1", every=True))
    assert len(result) > 10
    assert np.concatenate([one.indices for one in result]).tolist() == list(range(500))
    assert np.concatenate([one.expected for one in result]).tolist() == first.tolist()
    assert np.concatenate([one.actual for one in result]).tolist() == second.tolist()


def test_records(tmp_path: Path) -> None:
    element_type = dtypes.parse("{id:int32,score:float32}")
    first = np.zeros(500, element_type.storage)
    first["id"] = np.arange(500)
    second = first.copy()
    second["score"][[7, 499]] = [0.5, -0.0]
    for name, values in (("a.1", first), ("b.1", second)):
        writer.write(tmp_path / name, values, element_type, (500,))
    result = differences(tmp_path / "a.1", tmp_path / "b.1")
    assert result.indices.tolist() == [7, 499]
    assert result.actual["score"].tolist() == [0.5, -0.0]  # type: ignore[call-overload] # a structured array
    assert result.actual["id"].tolist() == [7, 499]  # type: ignore[call-overload] # a structured array


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("dense", [0.0, 2.0])
@pytest.mark.parametrize(
    ("damaged", "says"),
    [
        (["1.0", "2.0"], "holds 2 elements where its header says 3"),
        (["1.0", "2.0", "3.0", "4.0"], "holds 4 elements where its header says 3"),
        (["1.0", "x", "3.0"], ":3: invalid float32 'x'"),
        (["1.0", "9.0", "3.5 "], ":4: 2 words"),
        (["1.0", "", "3.0"], ":3: the line is empty"),
    ],
)
def test_damage_is_an_error_not_a_difference(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damaged: list[str],
    says: str,
    dense: float,
    *,
    compress: bool,
) -> None:
    monkeypatch.setattr(line_diff, "ENOUGH", 0)
    monkeypatch.setattr("gpuregress.foundation.storage.compressed.FRAME_BYTES", 30)
    monkeypatch.setattr(line_diff, "DENSE", dense)
    good, bad = write(tmp_path, "a.1", ["1.0", "2.0", "3.0"]), tmp_path / "b.1"
    bad.write_text(HEAD.format(3) + "".join(f"{word}\n" for word in damaged))
    bad = compressed(bad) if compress else bad
    for pair in ((good, bad), (bad, good)):
        with pytest.raises(DumpError) as caught:
            differences(*pair)
        assert str(bad) in str(caught.value)
        assert says in str(caught.value)


def test_the_same_damage_in_both(tmp_path: Path) -> None:
    for name in ("a.1", "b.1"):
        (tmp_path / name).write_text(HEAD.format(3) + "1.0\n")
    with pytest.raises(DumpError, match=r"a\.1: holds 1 elements"):
        differences(tmp_path / "a.1", tmp_path / "b.1")


def test_other_shapes_cannot_be_walked(tmp_path: Path) -> None:
    writer.write(tmp_path / "a.1", np.zeros(6, "<f4"), FLOAT, (6,))
    writer.write(tmp_path / "b.1", np.zeros(6, "<f4"), FLOAT, (2, 3))
    with pytest.raises(DumpError, match=r"float32 \[2, 3\], where .* holds float32 \[6\]"):
        differences(tmp_path / "a.1", tmp_path / "b.1")
