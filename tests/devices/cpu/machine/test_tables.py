"""The special-function tables: unpacked right, kept on disk, and never trusted when damaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpuregress.devices.cpu.machine import tables
from gpuregress.errors import DeviceError


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    tables.table.cache_clear()
    yield
    tables.table.cache_clear()


def test_every_packed_table_has_its_checksum() -> None:
    assert {path.stem for path in tables._DATA.glob("*.xz")} == set(tables.CHECKSUMS)
    small = [name for name in tables.CHECKSUMS if "64h" in name]
    for name in small:  # the others are all unpacked by test_approx.py
        assert len(tables.table(name)) == 1 << 20


def test_an_unpacked_table_is_kept_and_mapped(tmp_path: Path) -> None:
    first = tables.table("rcp64h")
    (kept,) = (tmp_path / "cache" / "tables").iterdir()
    assert kept.name == "rcp64h.4b54abfb3f30c97d.u32"
    tables.table.cache_clear()
    second = tables.table("rcp64h")
    assert isinstance(second, np.memmap)
    assert np.array_equal(first, second)


def test_a_kept_table_of_the_wrong_size_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "tables" / "rcp64h.4b54abfb3f30c97d.u32"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"cut short")
    assert np.array_equal(tables.table("rcp64h"), tables._unpacked("rcp64h"))
    assert path.stat().st_size == 4 << 20


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    assert np.array_equal(tables.table("rcp64h"), tables._unpacked("rcp64h"))


def test_damaged_data_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_DATA", tmp_path)
    with pytest.raises(DeviceError, match=r"rcp64h.xz cannot be read"):
        tables.table("rcp64h")
    tables.table.cache_clear()
    (tmp_path / "rcp64h.xz").write_bytes(b"not xz")
    with pytest.raises(DeviceError, match=r"rcp64h.xz cannot be read"):
        tables.table("rcp64h")
    monkeypatch.setattr(tables, "_DATA", Path(tables.__file__).parent.parent / "data" / "sm_90")
    monkeypatch.setitem(tables.CHECKSUMS, "rcp64h", "0" * 16)
    with pytest.raises(DeviceError, match=r"rcp64h.xz is damaged"):
        tables.table("rcp64h")
