"""The special-function tables: unpacked right, kept on disk, and never trusted when damaged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import DeviceError
from gpuregress.toolchain import cache
from gpuregress.virtual_gpu.runtime import special_function_tables

_KEPT = f"rcp64h.{special_function_tables.DIGESTS['rcp64h']}.u32"

# As taken on the card with the measurement: the first 16 hex digits of each table's sha256.
MEASURED = {
    "ex2": "b2a42c4a626469c9",
    "rcp_0": "c408381446132e07",
    "rsqrt_0": "c733e1437c713cd7",
    "rsqrt_1": "fd7b866f4085a9e8",
    "sqrt_0": "dc6925bfdd56d604",
    "sqrt_1": "ffc55416e1586610",
    "lg2_e0": "7fd9be9a924e40a0",
    "lg2_e-1": "883e42d8f7519830",
    "sin_q1": "57676af4861bf1ab",
    "cos_q1": "793d57f4007fe2e5",
    "tanh": "9d505a441e95426d",
    "rcp64h": "4b54abfb3f30c97d",
    "rsqrt64h_0": "9b219c775315e593",
    "rsqrt64h_1": "9fa81af9ff044727",
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    special_function_tables.table.cache_clear()
    yield
    special_function_tables.table.cache_clear()


def test_each_measured_table_is_packed() -> None:
    assert (
        {path.stem for path in special_function_tables.DATA.glob(f"*{special_function_tables.SUFFIX}")}
        == set(special_function_tables.DIGESTS)
        == set(MEASURED)
    )


@pytest.mark.parametrize("name", MEASURED)
def test_a_table_has_the_checksum_of_the_measurement(name: str) -> None:
    assert hashlib.sha256(special_function_tables._unpacked(name).tobytes()).hexdigest()[:16] == MEASURED[name]


def test_an_unpacked_table_is_kept_and_mapped(tmp_path: Path) -> None:
    first = special_function_tables.table("rcp64h", cache)
    (kept,) = (tmp_path / "cache" / "tables").iterdir()
    assert kept.name == _KEPT
    special_function_tables.table.cache_clear()
    second = special_function_tables.table("rcp64h", cache)
    assert isinstance(second, np.memmap)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("kept", [b"", b"cut short", bytes(4 << 20)], ids=["empty", "short", "zeros"])
def test_a_kept_table_that_is_damaged_is_written_again(tmp_path: Path, kept: bytes) -> None:
    path = tmp_path / "cache" / "tables" / _KEPT
    path.parent.mkdir(parents=True)
    path.write_bytes(kept)
    right = special_function_tables._unpacked("rcp64h")
    assert np.array_equal(special_function_tables.table("rcp64h", cache), right)
    assert path.read_bytes() == right.tobytes()


def test_a_folder_that_cannot_be_written_costs_no_results(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    assert np.array_equal(special_function_tables.table("rcp64h", cache), special_function_tables._unpacked("rcp64h"))


def test_damaged_data_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = special_function_tables.DATA
    whole = (package / "rcp64h.runs").read_bytes()
    monkeypatch.setattr(special_function_tables, "DATA", tmp_path)
    with pytest.raises(DeviceError, match=r"rcp64h.runs cannot be read .*No such file"):
        special_function_tables.table("rcp64h", cache)
    middle = len(whole) // 2
    for damaged in (b"no table", whole[:-5], whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]):
        (tmp_path / "rcp64h.runs").write_bytes(damaged)
        with pytest.raises(DeviceError, match=r"rcp64h.runs cannot be read"):
            special_function_tables.table("rcp64h", cache)
    (tmp_path / "rcp64h.runs").write_bytes((package / "rsqrt64h_0.runs").read_bytes())
    with pytest.raises(DeviceError, match=r"rcp64h.runs is damaged"):
        special_function_tables.table("rcp64h", cache)
