from __future__ import annotations

from pathlib import Path

from gpuregress.foundation.records import Case
from gpuregress.jobs import plan
from gpuregress.store.project import Project
from tests.jobs.plan.projects import JOB, project


def only(example: Project, *selectors: str) -> Case:
    (case,) = plan.make(example, selectors).cases
    return case


def test_what_is_judged_is_dumped_beside_what_is_listed(tmp_path: Path) -> None:
    example = project(tmp_path, reduce=JOB + "dump: [sum]\nchecks: {x: [finite]}\n")
    assert {case.dump for case in plan.make(example, []).cases} == {("sum", "x")}
