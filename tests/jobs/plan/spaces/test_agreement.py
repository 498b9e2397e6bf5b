from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.jobs import plan
from tests.jobs.plan import projects

WHOLE = projects.JOB.replace("sum: {dtype: float32, shape: [ceil(n / tile)]}", "sum: {dtype: float32, shape: [8]}")


def planned(root: Path, job: str) -> plan.Plan:
    return plan.make(projects.project(root, reduce=job), ())


def test_cases_that_differ_only_in_these_parameters_are_a_group(tmp_path: Path) -> None:
    cases = planned(tmp_path, WHOLE + "agree: [tile]\n").cases
    groups = [case.agreement_group for case in cases]
    assert groups[0] == groups[1] != groups[2] == groups[3]


def test_a_job_whose_buffers_all_have_a_fill_dumps_what_its_launches_take(tmp_path: Path) -> None:
    filled = re.sub(r"(sum: \{.*)\}", r"\1, fill: zeros}", re.sub(r"(?m)^dump:.*\n", "", WHOLE)) + "agree: [tile]\n"
    assert planned(tmp_path, filled).cases[0].dump == ("x", "sum")


def test_a_job_without_the_key_has_no_groups(tmp_path: Path) -> None:
    assert planned(tmp_path, WHOLE).cases[0].agreement_group is None


def test_a_buffer_whose_shape_depends_on_them_is_left_out_and_told(tmp_path: Path) -> None:
    more = projects.JOB.replace("  x:", "  y: {dtype: float32, shape: [n], symbol: d_filter}\n  x:")
    notes = planned(tmp_path, more + "agree: [tile]\n").notes
    assert notes == ("reduce: agree leaves out sum: its shape or dtype depends on tile",)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (WHOLE + "agree: [tlie]\n", "agree[0]: unknown parameter 'tlie'; did you mean 'tile'?"),
        (WHOLE + "agree: [tile, tile]\n", "agree[1]: duplicate entry 'tile'"),
        (WHOLE + "agree: []\n", "agree: expected at least 1, got none"),
        (projects.JOB + "agree: [tile]\n", "can never fail: the shape or dtype of every dumped buffer depends on tile"),
        (WHOLE + "agree: [tile]\nwhere: [tile == 128]\n", "can never fail: no two cases differ in tile alone"),
        (WHOLE + "agree: [tile]\nexpect: {fault: trap}\n", "can never fail: the job expects a fault"),
    ],
)
def test_what_is_refused(tmp_path: Path, job: str, message: str) -> None:
    with pytest.raises(JobErrors) as caught:
        planned(tmp_path, job)
    assert message in str(caught.value)
