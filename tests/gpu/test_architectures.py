"""The table of architectures, and their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress import virtual_gpu
from gpuregress.foundation.records import ARCHITECTURES, SM_90, CaseSettings, Source
from gpuregress.gpu import architectures
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


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_90a", "sm_100f", "sm_121a"])
def test_what_the_compiler_knows(arch: str) -> None:
    assert architectures.problem(arch) is None


@pytest.mark.parametrize(
    "arch", ["", "$(id)", "sm_", "sm_70", "sm_89a", "sm_90f", "sm_9", "compute_90", "sm_90\n", "sm_٩٠", "90"]
)
def test_anything_else_is_told_what_there_is(arch: str) -> None:
    assert "sm_90" in (architectures.problem(arch) or "")


@pytest.mark.parametrize(
    ("own", "wanted", "built"),
    [
        ("sm_90a", "sm_90", "sm_90a"),
        ("sm_90", "sm_80", "sm_80"),
        ("sm_90a", "sm_80", "sm_80"),
        ("sm_90", "sm_90a", "sm_90a"),
    ],
)
def test_a_gpu_is_named_without_the_letter(own: str, wanted: str, built: str) -> None:
    assert architectures.named(own, wanted) == built


def test_numbers() -> None:
    assert [architectures.number(name) for name in ("sm_90a", "sm_103", "compute")] == [90, 103, 0]


def test_each_architecture_of_the_installed_compiler_has_a_row() -> None:
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    assert tuple(nvrtc.nvrtcGetSupportedArchs()[1]) == architectures.KNOWN
