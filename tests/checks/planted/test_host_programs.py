"""The program with a main() launches every pair with its own shape."""

from __future__ import annotations

from pathlib import Path

from tests.checks.planted import host_programs, pairs


def test_every_pair_is_launched(tmp_path: Path) -> None:
    host_programs.write(tmp_path)
    text = (tmp_path / "main.cu").read_text(encoding="utf-8")
    listed = [pair for pair in pairs.every_pair() if pair.program != "textures"]
    for pair in listed:
        assert f'if (!strcmp(names[k], "{pair.name}"))' in text
    assert "launch((const void*)libraries_grid, dim3(4, 1, 1), dim3(32, 1, 1), 0, true, arguments);" in text
    assert "int* scratch = buffer<int>(false, true);" in text
    assert len((tmp_path / "pairs.tsv").read_text(encoding="utf-8").splitlines()) == len(listed)
