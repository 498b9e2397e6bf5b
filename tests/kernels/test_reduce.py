"""A tree of depth d is within d u sum|x| of the exact sum (Higham, Accuracy and Stability, 4.2)."""

from __future__ import annotations

import math
from pathlib import Path

from gpuregress.jobs import plan
from gpuregress.jobs.plan import CaseOverrides
from gpuregress.jobs.spec.overrides import of_texts
from gpuregress.store import project
from tests.kernels.recorded import HALF_ULP_32, Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    x, tile = run.inputs["x"].tolist(), run.number("tile")
    blocks = [x[start : start + tile] for start in range(0, len(x), tile)]
    depth = math.log2(tile)
    for block, value in zip(blocks, run.outputs["sum"].tolist(), strict=True):
        assert abs(value - math.fsum(block)) <= 1.01 * depth * HALF_ULP_32 * _size(block)
    (total,) = run.outputs["total"].tolist()
    chain = depth + math.ceil(len(blocks) / 32) + 5
    assert abs(total - math.fsum(x)) <= 1.01 * chain * HALF_ULP_32 * _size(x)


def _size(values: list[float]) -> float:
    return math.fsum(map(abs, values))


@each_case("reduce")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("reduce")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))


def test_only_blocks_of_a_power_of_two_are_cases() -> None:
    overrides = CaseOverrides(parameters=of_texts(["tile=[3, 63, 64, 65]", "n=1000"]))
    made = plan.make(project.find(Path(__file__)), ["reduce"], overrides=overrides)
    assert [case.name for case in made.cases] == ["reduce/n=1000,tile=64"]
