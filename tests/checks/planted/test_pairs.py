"""The table: every kernel of `cuda/` is in it, with marks where the finding needs them."""

from __future__ import annotations

import re

import pytest

from gpuregress.foundation.records import FAULT_KINDS
from tests.checks.planted import pairs
from tests.checks.planted.pairs import CLASSES, Pair


def test_every_kernel_is_a_pair() -> None:
    for program in pairs.programs():
        text = (pairs.FOLDER / f"{program}.cu").read_text(encoding="utf-8")
        kernels = re.findall(r"__global__ void (?:__cluster_dims__\([^)]*\) )?(\w+)\(", text)
        assert [pair.name for pair in pairs.pairs(program)] == kernels


def test_there_are_enough_of_each_kind() -> None:
    listed = pairs.every_pair()
    races = [pair for pair in listed if pair.kinds[0] == "race"]
    assert len(races) >= 60
    assert len(listed) - len(races) >= 30
    assert len({pair.name for pair in listed}) == len(listed)


@pytest.mark.parametrize("pair", pairs.every_pair(), ids=lambda pair: pair.name)
def test_expectations_are_of_known_kinds_and_marked(pair: Pair) -> None:
    assert set(pair.kinds) <= {*FAULT_KINDS, "barrier", "leak"}
    assert pair.variant in {"", *CLASSES}
    assert pair.first
    assert bool(pair.second) or "race" not in pair.kinds
    names = {item.name for item in pair.parameters}
    if "race" in pair.kinds or "uninitialized" in pair.kinds:
        text = (pairs.FOLDER / f"{pair.program}.cu").read_text(encoding="utf-8")
        assert pair.variable in names or pair.variable == "heap" or re.search(rf"\b{pair.variable}\b\W", text)


def test_a_kernels_facts() -> None:
    pair = next(pair for pair in pairs.pairs("warps") if pair.name == "warps_called")
    lines = (pairs.FOLDER / "warps.cu").read_text(encoding="utf-8").splitlines()
    assert (pair.grid, pair.block, pair.kinds, pair.variable) == ((1, 1, 1), (64, 1, 1), ("race",), "words")
    assert [lines[number - 1].strip() for number in pair.first] == ["words[i] = v; // first of warps_called"]
    assert [lines[number - 1].strip() for number in pair.second] == ["return words[i]; // second of warps_called"]
    assert [(item.name, item.is_buffer, item.is_input) for item in pair.parameters] == [
        ("x", True, True),
        ("y", True, False),
    ]
