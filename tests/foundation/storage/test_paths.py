from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError


@pytest.mark.parametrize("name", ["", "/etc", "..", "a/../b", "a//b", "a/", "./a", "a\0b"])
def test_names_that_leave_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError, match="is not a path inside"):
        storage.safe_join(tmp_path, name)


def test_names_that_stay(tmp_path: Path) -> None:
    assert storage.safe_join(tmp_path, "reduce/n=1,t=2") == tmp_path / "reduce" / "n=1,t=2"
    assert storage.split_name(storage.dump_name("sum", "1.4")) == ("sum", "1.4")
    assert storage.dump_name("sum", "v1/2") == "sum.v1-2"
    assert storage.split_name("nodot") is None


def test_a_compressed_dump_has_the_name_of_its_text_and_a_suffix(tmp_path: Path) -> None:
    assert storage.split_name("sum.1.4.zst") == ("sum", "1.4")
    assert storage.dump_name("sum", "1.4.zst") == "sum.1.4-zst"
    assert storage.split_name(storage.dump_name("sum", "zst")) == ("sum", "zst")
    assert storage.split_name("sum.zst.zst") == ("sum", "zst")
    assert storage.find_dump(tmp_path, "sum", "1.4") == tmp_path / "sum.1.4"
    (tmp_path / "sum.1.4.zst").touch()
    assert storage.find_dump(tmp_path, "sum", "1.4") == tmp_path / "sum.1.4.zst"
    (tmp_path / "sum.1.4").touch()
    assert storage.find_dump(tmp_path, "sum", "1.4") == tmp_path / "sum.1.4"
