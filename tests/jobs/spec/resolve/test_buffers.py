from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case, Fill, NoOptions
from gpuregress.jobs import inputs, plan
from gpuregress.store.project import Project
from tests.jobs.plan.projects import JOB, project


def only(example: Project, *selectors: str) -> Case:
    (case,) = plan.make(example, selectors).cases
    return case


def test_each_buffer_has_a_seed_of_its_own(tmp_path: Path) -> None:
    job = JOB.replace("  sum:", "  y:   {dtype: float32, shape: [n], fill: {normal: {std: 2.0}}}\n  sum:")
    job = job.replace("launches:", "compare: {y: {atol: 1}}\nlaunches:")
    buffers = plan.make(project(tmp_path, reduce=job), ["reduce/n=1000,tile=128"]).cases[0].buffers
    seeds = {name: fill.seed for name in ("x", "y") if (fill := buffers[name].fill) is not None}
    assert seeds == {name: inputs.seed_for(0, name) for name in ("x", "y")}
    assert seeds["x"] != seeds["y"]


SAME = """\
source: ../kernels/reduce.cu
seed: 7
parameters: {n: [8]}
buffers:
  z: {dtype: float64, shape: [n], fill: {same: y}}
  y: {dtype: float32, shape: [2, n / 2], fill: {same: x}}
  x: {dtype: float32, shape: [n], fill: {normal: {}}}
  sum: {dtype: float32, shape: [n]}
launches: [{kernel: block_sum<float>, grid: [1], block: [n], args: [sum, x, {int32: n}]}]
"""


def errors(root: Path, *changes: tuple[str, str]) -> list[str]:
    text = SAME
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    with pytest.raises(JobErrors) as caught:
        plan.make(project(root, same=text), [])
    return [f"{error.key}: {error.message}" for error in caught.value.errors]


USED = ("args: [sum, x, ", "args: [sum, x, y, z, ")


def test_the_same_contents_are_those_at_the_end_of_the_chain(tmp_path: Path) -> None:
    buffers = only(project(tmp_path, same=SAME.replace(*USED))).buffers
    assert list(buffers) == ["z", "y", "x", "sum"]
    assert buffers["y"].fill == Fill("same", NoOptions(), inputs.seed_for(7, "x"), buffers["x"])
    assert buffers["z"].fill == Fill("same", NoOptions(), inputs.seed_for(7, "x"), buffers["x"])


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        (
            [("fill: {normal: {}}", "fill: {same: z}")],
            [f"buffers.{a}.fill.same: {a} → {b} → {c} → {a} is a cycle: one of them needs contents of its own"
             for a, b, c in ("zyx", "yxz", "xzy")],
        ),
        (
            [("{same: y}", "{same: z}")],
            ["buffers.z.fill.same: z → z is a cycle: one of them needs contents of its own"],
        ),
        ([("{same: y}", "{same: w}")], ["buffers.z.fill.same: unknown buffer 'w'; there are: z, y, x, sum"]),
        (
            [("{same: y}", "{same: sum}")],
            ["buffers.z.fill.same: sum has no fill: same takes what a buffer holds before the first launch"],
        ),
        (
            [("[2, n / 2]", "[n + 1]")],
            ["buffers.y.fill: x has shape [8] and y [9]: the same contents need as many elements (in case n=8)"],
        ),
    ],
)  # fmt: skip
def test_the_same_contents_as_what_has_none(
    tmp_path: Path, changes: list[tuple[str, str]], messages: list[str]
) -> None:
    assert errors(tmp_path, USED, *changes) == messages


def test_the_seed_is_a_name_in_expressions(tmp_path: Path) -> None:
    text = SAME.replace(*USED).replace("{int32: n}", "{uint64: seed}, {int32: n}")
    launch = only(project(tmp_path / "a", same=text)).launches[0]
    assert (launch.args[4].text, launch.args[4].label) == ("7", "seed")
    case = only(
        project(
            tmp_path / "b", same=text.replace("seed: 7", "seed: seed + 1").replace("{n: [8]}", "{n: [8], seed: [3]}")
        )
    )
    assert (case.seed, case.launches[0].args[4].text) == (4, "3"), "a parameter of that name is meant"
    assert case.parameters == {"n": 8, "seed": 3}
