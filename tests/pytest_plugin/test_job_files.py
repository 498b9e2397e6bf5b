"""Job files among other YAML."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.pytest_plugin import job_files

JOB = "source: a.cu\nbuffers: {}\nlaunches: []\n"


@pytest.fixture(autouse=True)
def _forgets() -> Iterator[None]:
    yield
    job_files._project.cache_clear()
    job_files._is_declared.cache_clear()


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_folder_called_configs_has_jobs_and_other_yaml(tmp_path: Path) -> None:
    job = write(tmp_path / "configs/sub/job.yaml", JOB)
    other = write(tmp_path / "configs/net.yaml", "layers: 3\nsource: images\n")
    home = job_files.project_of(job)
    assert home is not None
    assert home.root == tmp_path
    assert job_files.project_of(other) is None
    assert job_files.project_of(write(tmp_path / "docs/job.yaml", JOB)) is None
    assert job_files.project_of(write(tmp_path / "configs/.hidden/job.yaml", JOB)) is None


@pytest.mark.parametrize("sign", ["gpuregress.yaml", "pyproject.toml", "baselines/job/baseline.yaml"])
def test_a_project_that_says_so_owns_all_yaml_of_its_folder(tmp_path: Path, sign: str) -> None:
    write(tmp_path / sign, "[tool.gpuregress]\n" if sign.endswith("toml") else "")
    assert job_files.project_of(write(tmp_path / "configs/broken.yaml", "sorce: a.cu\n")) is not None


def test_settings_that_are_wrong_own_nothing(tmp_path: Path) -> None:
    write(tmp_path / "gpuregress.yaml", "folder: {}\n")
    assert job_files.project_of(write(tmp_path / "configs/job.yaml", JOB)) is None


def test_without_any_sign_no_project_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuregress.store.project.find", lambda _folder: pytest.fail("a project was looked for"))
    assert job_files.project_of(write(tmp_path / "data/x.yaml", JOB)) is None
