"""Every mistake that a job can hold, and the very words that answer it: messages/NAME.yaml → messages/NAME.txt."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.jobs import plan
from tests.jobs.plan.projects import project

MESSAGES = Path(__file__).parent / "messages"


@pytest.mark.parametrize("name", sorted(path.stem for path in MESSAGES.glob("*.yaml")))
def test_message(name: str, tmp_path: Path) -> None:
    example = project(tmp_path, job=(MESSAGES / f"{name}.yaml").read_text())
    with pytest.raises(JobErrors) as caught:
        plan.make(example, [])
    message = str(caught.value).replace(str(tmp_path), "PROJECT").replace("PROJECT/configs/job.yaml", "job.yaml")
    assert message + "\n" == (MESSAGES / f"{name}.txt").read_text()
    assert caught.value.exit_code == 2
    assert "Traceback" not in message


def test_two_jobs_of_one_name(tmp_path: Path) -> None:
    text = (MESSAGES / "unknown_key.yaml").read_text()
    example = project(tmp_path, first=f"job: Same\n{text}", second=f"# a comment\njob: same  # again\n{text}")
    with pytest.raises(JobErrors) as caught:
        plan.make(example, [])
    configs = tmp_path / "configs"
    clash, *others = str(caught.value).splitlines()
    assert clash == (
        f"{configs}/second.yaml:2: job: 'same' is also the name of the job in {configs}/first.yaml: "
        "every job of a project needs its own"
    )
    assert any(line.startswith(f"{configs}/first.yaml:") for line in others), "the other errors come with it"
    assert any(line.startswith(f"{configs}/second.yaml:") for line in others)


def test_two_sound_jobs_of_one_name(tmp_path: Path) -> None:
    text = (
        "source: k.cu\nbuffers: {x: {dtype: int32, shape: [4]}}\n"
        "launches: [{kernel: k, grid: [1], block: [4], args: [x]}]\n"
    )
    example = project(tmp_path, first=f"job: same\n{text}", second=f"job: same\n{text}")
    (tmp_path / "configs" / "k.cu").write_text("__global__ void k(int* x) {}\n")
    with pytest.raises(JobErrors, match=r"^\S*second.yaml:1: job: 'same' is also the name .*$"):
        plan.make(example, [])


def test_no_permission_and_not_utf8(tmp_path: Path) -> None:
    example = project(tmp_path, job="")
    (tmp_path / "configs" / "job.yaml").write_bytes(b"source: x\ntags: [\xff]\n")
    with pytest.raises(JobErrors, match=r"job.yaml:2: is not YAML: .*save the file as UTF-8"):
        plan.make(example, [])
    (tmp_path / "configs" / "job.yaml").write_bytes("source: x\n".encode("utf-16"))
    with pytest.raises(JobErrors, match="is written in UTF-16"):
        plan.make(example, [])


def test_errors_of_all_jobs_come_together(tmp_path: Path) -> None:
    text = (MESSAGES / "unknown_key.yaml").read_text()
    with pytest.raises(JobErrors) as caught:
        plan.make(project(tmp_path, first=text, second=text), [])
    assert {error.path.name for error in caught.value.errors} == {"first.yaml", "second.yaml"}
