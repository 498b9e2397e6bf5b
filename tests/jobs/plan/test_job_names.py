from __future__ import annotations

import pytest

from gpuregress.jobs.plan.job_plan import job_name_problem


@pytest.mark.parametrize("name", ["reduce", "_", "a.b_c+d-1", "x" * 100, "console"])
def test_valid_names(name: str) -> None:
    assert job_name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a/b", "leaves the project"),
        ("..", "leaves the project"),
        ("x" * 101, "has 101 characters; the limit is 100"),
        (".git", "cannot be a folder"),
        ("a.", "cannot be a folder"),
        ("a b", "cannot be a folder"),
        ("", "cannot be a folder"),
        ("cases.yaml", "is the name of a file of gpuregress"),
        ("Baseline.YAML", "is the name of a file of gpuregress"),
        ("NUL.txt", "is a device's name on Windows"),
    ],
)
def test_invalid_names(name: str, problem: str) -> None:
    assert problem in str(job_name_problem(name))
