"""Packed special-function tables: exact, whatever the entries."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gpuregress.virtual_gpu.runtime import special_function_tables

_MEASURED = Path(__file__).parents[1] / "measured" / "sm_90"


@given(arrays.arrays(np.uint32, st.integers(0, 20).map(lambda runs: 16 * runs)))
def test_what_is_packed_comes_back(entries: special_function_tables.Table) -> None:
    assert np.array_equal(special_function_tables.unpack(special_function_tables.pack(entries)), entries)


@given(st.binary(max_size=200))
def test_any_other_bytes_are_an_error(data: bytes) -> None:
    for packed in (data, zlib.compress(data)):
        try:
            special_function_tables.unpack(packed)
        except ValueError:
            continue
        assert len(data) % 2 == 0  # a count, its runs, and which of them: nothing else is taken


def test_a_run_that_is_not_there_is_an_error() -> None:
    content = np.array([1], "<u4").tobytes() + bytes(64) + np.array([0, 1], "<u2").tobytes()
    with pytest.raises(ValueError, match="a run that does not exist"):
        special_function_tables.unpack(zlib.compress(content))


def test_too_many_runs_do_not_fit() -> None:
    entries = np.zeros((1 << 16) + 1, np.uint64)
    entries[:] = np.arange(len(entries)) ** 2
    with pytest.raises(ValueError, match="65537 distinct runs"):
        special_function_tables.pack(np.repeat(entries, 16).astype(np.uint32))


def test_the_command_packs_the_measured_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "measured"
    folder.mkdir()
    (folder / "rcp64h.xz").symlink_to(_MEASURED / "rcp64h.xz")
    committed = special_function_tables.DATA / "rcp64h.runs"
    monkeypatch.setattr(special_function_tables, "DATA", tmp_path)
    special_function_tables.main(folder)
    packed = (tmp_path / "rcp64h.runs").read_bytes()
    assert zlib.decompress(packed) == zlib.decompress(committed.read_bytes())  # zlib versions pack differently
    assert np.array_equal(
        special_function_tables.unpack(packed), special_function_tables.measured(_MEASURED / "rcp64h.xz")
    )
