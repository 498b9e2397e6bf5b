from __future__ import annotations

import dataclasses
from pathlib import Path

from gpuregress import plan
from gpuregress.project import Project, Settings, Tolerance
from gpuregress.records import Case
from tests.plan.projects import JOB, project


def only(example: Project, *selectors: str) -> Case:
    (case,) = plan.make(example, selectors).cases
    return case


def test_the_jobs_rule_comes_before_the_projects(tmp_path: Path) -> None:
    settings = Settings(compare={"float32": Tolerance(rtol=1e-2)})
    example = dataclasses.replace(
        project(tmp_path, own=JOB + "compare: {sum: {ulp: 3}}\n", other=JOB), settings=settings
    )
    rules = {case.job: case.compare["sum"] for case in plan.make(example, []).cases}
    assert (rules["own"].ulp, rules["own"].rtol) == (3, None)
    assert (rules["other"].ulp, rules["other"].rtol) == (None, 1e-2)
