from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuregress.session.runs import case_names
from gpuregress.session.runs.case_names import JobNames, names
from gpuregress.store import project as projects
from gpuregress.store.project import Project
from tests import workshop
from tests.workshop import Workshop


class Planner:
    """Counts what is planned."""

    def __init__(self) -> None:
        self.planned: list[str] = []

    def __call__(self, _project: Project, file: Path) -> JobNames:
        self.planned.append(file.stem)
        return JobNames(file.stem, (f"{file.stem}/n=1",))


@pytest.fixture
def two(tmp_path: Path) -> Workshop:
    shop = workshop.make(tmp_path)
    shop.job(name="other")
    (tmp_path / "runs").mkdir()
    return shop


def test_only_changed_jobs_are_planned_again(two: Workshop) -> None:
    planner, project = Planner(), projects.find(two.root)
    assert [one.cases for one in names(project, planner)] == [("other/n=1",), ("scale/n=1",)]
    names(project, planner)
    assert planner.planned == ["other", "scale"]
    os.utime(two.root / "configs/scale.yaml", ns=(1, 1))
    names(project, planner)
    assert planner.planned == ["other", "scale", "scale"]
    (two.root / "configs/other.yaml").unlink()
    assert [one.job for one in names(project, planner)] == ["scale"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 1}', '{"version": 1, "files": {"a": 3}}', '{"version": 2}']
)
def test_a_damaged_list_counts_as_none(two: Workshop, text: str) -> None:
    (two.root / "runs" / case_names.FILE).write_text(text)
    assert len(names(projects.find(two.root), Planner())) == 2


def test_jobs_beyond_the_time_have_their_names(two: Workshop) -> None:
    planner, project = Planner(), projects.find(two.root)
    assert names(project, planner, seconds=-1) == (JobNames("other"), JobNames("scale"))
    assert planner.planned == []


def test_a_project_without_runs_is_left_as_it_is(tmp_path: Path) -> None:
    shop = workshop.make(tmp_path)
    assert [one.job for one in names(projects.find(tmp_path), Planner())] == ["scale"]
    assert not (shop.root / "runs").exists()


def test_jobs_are_planned_and_broken_ones_have_no_cases(two: Workshop) -> None:
    two.job(("n: [100]", "n: [100, 200]"), ("source:", "tags: [fast]\nsource:"))
    two.write("configs/broken.yaml", "x: [")
    found = {one.job: one for one in names(projects.find(two.root))}
    assert found["scale"] == JobNames("scale", ("scale/n=100", "scale/n=200"), ("fast",))
    assert found["broken"] == JobNames("broken")
