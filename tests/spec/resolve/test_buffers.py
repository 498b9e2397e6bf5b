from __future__ import annotations

from pathlib import Path

from gpuregress import inputs, plan
from gpuregress.project import Project
from gpuregress.records import Case
from tests.plan.projects import JOB, project


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
