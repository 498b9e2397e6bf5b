from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from gpuregress.report.messages.installation import services
from tests.report.messages.installation.nights import AWKWARD, NIGHT, in_folder


@pytest.mark.parametrize("name", AWKWARD)
def test_the_job_is_yaml_in_any_folder(tmp_path: Path, name: str) -> None:
    job = yaml.safe_load(services.job(in_folder(tmp_path / name, repository=tmp_path)))["gpuregress-nightly"]
    _, folder, command = job["script"]
    assert shlex.split(folder) == ["cd", name]
    assert shlex.split(command)[:4] == ["gpuregress", "nightly", "-k", "a*b c"]
    assert job["artifacts"]["reports"]["junit"] == f"{name}/gpuregress.xml"
    assert job["cache"]["paths"][0] == f"{name}/runs/"


def test_a_first_pipeline_includes_the_job(tmp_path: Path) -> None:
    night = in_folder(tmp_path)
    first, second = services.gitlab_plan(night).files
    assert (first.path.name, second.path.name) == ("gpuregress-nightly.yml", ".gitlab-ci.yml")
    assert yaml.safe_load(second.text) == {"include": [{"local": ".gitlab/gpuregress-nightly.yml"}]}


def test_a_pipeline_of_the_user_is_left_alone(tmp_path: Path) -> None:
    night = in_folder(tmp_path)
    (tmp_path / ".gitlab-ci.yml").write_text("test: {script: [make]}\n")
    plan = services.gitlab_plan(night)
    assert [file.path.name for file in plan.files] == ["gpuregress-nightly.yml"]
    assert plan.after[0] == "add to .gitlab-ci.yml: include: [{local: .gitlab/gpuregress-nightly.yml}]"
    (tmp_path / ".gitlab-ci.yml").write_text("include: [{local: .gitlab/gpuregress-nightly.yml}]\n")
    assert not any("add to" in line for line in services.gitlab_plan(night).after)


def test_the_time_is_that_of_the_schedule() -> None:
    assert "0 2 * * * in Europe/Berlin" in services.gitlab_plan(NIGHT).todo[-1]
