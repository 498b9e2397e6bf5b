"""The table of architectures agrees with what is named elsewhere; toolchain/test_architectures.py asks the compiler."""

from __future__ import annotations

from pathlib import Path

from gpuregress import virtual_gpu
from gpuregress.foundation.records import ARCHITECTURES, SM_90, CaseSettings, Source
from gpuregress.virtual_gpu.ptx.opcode_table import OPCODES

DATA = Path(virtual_gpu.__file__).parent / "data"


def test_the_first_row_is_the_virtual_gpu() -> None:
    row = ARCHITECTURES[0]
    assert (row.name, row.limits, row.measured) == (SM_90.name, SM_90, "sm_90")
    assert Source("k.cu").arch == row.name
    assert CaseSettings().arch is None


def test_each_architecture_has_one_row() -> None:
    assert len({row.number for row in ARCHITECTURES}) == len(ARCHITECTURES)


def test_each_folder_of_measured_tables_belongs_to_a_row() -> None:
    assert {path.name for path in DATA.iterdir()} == {row.measured for row in ARCHITECTURES} - {""}


def test_opcodes_are_as_old_as_an_architecture_of_the_table() -> None:
    targets = {f"{row.name}{letter}" for row in ARCHITECTURES for letter in ("", *row.variants)}
    assert {row.since for rows in OPCODES.values() for row in rows.values()} - {""} <= targets
