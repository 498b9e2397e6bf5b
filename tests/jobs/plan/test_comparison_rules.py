from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.store.project import Project
from gpuregress.store.settings import SettingsSpec
from tests.jobs.plan.projects import JOB, project


def only(example: Project, *selectors: str) -> Case:
    (case,) = plan.make(example, selectors).cases
    return case


def test_the_jobs_rule_comes_before_the_projects(tmp_path: Path) -> None:
    settings = SettingsSpec.of({"compare": {"float32": {"rtol": 1e-2}}})
    example = replace(project(tmp_path, own=JOB + "compare: {sum: {ulp: 3}}\n", other=JOB), settings=settings)
    rules = {case.job: case.compare["sum"] for case in plan.make(example, []).cases}
    assert (rules["own"].ulp, rules["own"].rtol) == (3, None)
    assert (rules["other"].ulp, rules["other"].rtol) == (None, 1e-2)


@pytest.mark.parametrize(
    ("rules", "key"),
    [
        ("compare: {sum: {rtol: 1.0e-5, order: any}}", "compare.sum.order"),
        ("compare: {sum: {metric: {rms: 1.0e-3}}}", "compare.sum.metric"),
        ("compare: {sum: {verify: 'reference.py:totals_agree'}}", "compare.sum.verify"),
        (
            "reference: {sum: {python: 'reference.py:block_sums', compare: {nan: never}}}",
            "reference.sum.compare.nan",
        ),
    ],
)
def test_a_rule_beside_verify_supplies_only_a_tolerance(tmp_path: Path, rules: str, key: str) -> None:
    example = project(tmp_path, reduce=f"{JOB}verify: {{sum: 'reference.py:totals_agree'}}\n{rules}\n")
    with pytest.raises(JobErrors) as caught:
        plan.make(example, [])
    (error,) = caught.value.errors
    assert (error.key, error.message) == (
        key,
        "has no effect: the job's verify compares sum, with rtol, atol and ulp",
    )
