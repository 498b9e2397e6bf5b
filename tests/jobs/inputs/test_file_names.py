from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.jobs.inputs.file_names import is_dump, split_member


def test_an_array_of_an_archive() -> None:
    assert split_member("/a/x.npz:y") == (Path("/a/x.npz"), "y")
    for plain in ("/a/x.npz", "/a/x.npy:y", "/a:b/x.bin"):
        assert split_member(plain) == (Path(plain), "")


@pytest.mark.parametrize(("text", "dump"), [("# gpuregress 1 int8 [1]\n1\n", True), ("# y\n1\n", False), ("", False)])
def test_a_dump_is_known_by_its_beginning(tmp_path: Path, text: str, *, dump: bool) -> None:
    (tmp_path / "x.txt").write_text(text)
    assert is_dump(str(tmp_path / "x.txt")) == dump
