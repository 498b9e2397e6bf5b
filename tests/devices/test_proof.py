"""The proof, row by row, on a GPU; `tests.devices.proof` prints it as a table."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.devices import proof

pytestmark = pytest.mark.gpu


@pytest.fixture
def bench(gpu: str, tmp_path: Path) -> proof.Workbench:
    return proof.Workbench(tmp_path, Path(os.environ["GPUREGRESS_CACHE"]).absolute(), gpu)


_OF_CARD = {
    "forever": "the virtual GPU ends such a kernel itself",
    "worker killed": "a kernel that never ends",
    "gpuregress killed": "a kernel that never ends",
    "memcheck": "compute-sanitizer",
    "racecheck": "compute-sanitizer",
    "initcheck": "compute-sanitizer",
}
"""Name → the reason why the virtual GPU behind a driver of our own cannot show it."""


def _named(names: Iterable[str]) -> list[ParameterSet]:
    return [pytest.param(name, marks=[pytest.mark.card(_OF_CARD[name])] if name in _OF_CARD else []) for name in names]


@pytest.mark.parametrize("name", _named(proof.FAULTS))
def test_a_fault_is_told_and_the_next_case_passes(bench: proof.Workbench, name: str) -> None:
    row = proof.FAULTS[name]
    if name == "foreign" and not (bench.root / "configs/foreign.yaml").is_file():
        pytest.skip("the cubin for another architecture was not built: tests/devices/gpu build")
    seen = proof.fault(bench, row)
    assert proof.as_said(row, seen), seen


@pytest.mark.parametrize("name", _named(proof.SPECIAL))
def test_what_is_lost_is_told_and_the_next_run_passes(bench: proof.Workbench, name: str) -> None:
    seen, right = proof.special(bench, name)
    assert right, seen
