"""The proof, row by row, on a GPU; `tests.devices.proof` prints it as a table."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.devices import proof

pytestmark = pytest.mark.gpu


@pytest.fixture
def bench(gpu: str, tmp_path: Path) -> proof.Workbench:
    return proof.Workbench(tmp_path, Path(os.environ["GPUREGRESS_CACHE"]).absolute(), gpu)


@pytest.mark.parametrize("name", proof.FAULTS)
def test_a_fault_is_told_and_the_next_case_passes(bench: proof.Workbench, name: str) -> None:
    row = proof.FAULTS[name]
    if name == "foreign" and not (bench.root / "configs/foreign.yaml").is_file():
        pytest.skip("the cubin for another architecture was not built: tests/devices/gpu build")
    seen = proof.fault(bench, row)
    assert proof.as_said(row, seen), seen


@pytest.mark.parametrize("name", proof.SPECIAL)
def test_what_is_lost_is_told_and_the_next_run_passes(bench: proof.Workbench, name: str) -> None:
    seen, right = proof.special(bench, name)
    assert right, seen
