"""Jobs loaded and run from Python, on the fake device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuregress
from gpuregress.gpu.records import replace
from tests.workshop import Workshop


@pytest.fixture
def job(fake_shop: Workshop) -> gpuregress.Job:
    fake_shop.job(("kernel: scale", "kernel: twice"), (", {float32: 2.0}, {int32: n}", ""), ("n: [100]", "n: [100, 7]"))
    fake_shop.write("kernels/scale.cu", 'extern "C" __global__ void twice(float *out, const float *x) {}')
    return gpuregress.load_job(fake_shop.root / "configs/scale.yaml")


def test_a_job_is_its_cases(job: gpuregress.Job) -> None:
    assert (job.name, len(job), [case.name for case in job]) == ("scale", 2, ["scale/n=100", "scale/n=7"])
    assert job["n=7"] is job["scale/n=7"] is job[1]
    assert job[1:] == (job[1],)
    with pytest.raises(KeyError):
        job["n=8"]


def test_results_have_verdicts_messages_and_buffers(job: gpuregress.Job) -> None:
    results = gpuregress.run(job, device="cpu")
    first = results["n=100"]
    assert (first.status, first.passed, first.message, results.passed) == ("new", False, "no baseline yet", False)
    assert first.buffers["out"].tolist() == (2 * np.arange(100, dtype=np.float32)).tolist()
    assert (list(first.buffers), len(first.buffers), first.output) == (["out"], 1, "")
    assert first.messages[0] == "no baseline yet"
    assert "2 new" in str(results)
    assert results[1].case.name == "scale/n=7"
    assert (Path(results.summary.folder) / "results.json").is_file()
    with pytest.raises(KeyError):
        results["n=8"]


def test_a_changed_case_is_run_as_it_is(job: gpuregress.Job) -> None:
    case = replace(job["n=7"], dump=("x", "out"))
    (result,) = gpuregress.run(case, device="cpu", repeat=2, timeout=5)
    assert set(result.buffers) == {"x", "out"}
    assert (result.case.repeat, result.case.limits.timeout) == (2, 5)
    (again,) = gpuregress.run([job.path], device="cpu")[1:]
    assert list(again.buffers) == ["out"]


def test_paths_and_projects_that_are_not_there(job: gpuregress.Job, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(gpuregress.UsageError, match=r"there is no job file missing\.yaml"):
        gpuregress.load_job("missing.yaml")
    elsewhere = tmp_path_factory.mktemp("other")
    (elsewhere / "configs").mkdir()
    other = replace(job[0], path=str(elsewhere / "configs/scale.yaml"))
    with pytest.raises(gpuregress.UsageError, match="the cases belong to several projects"):
        gpuregress.run([job[0], other], device="cpu")


def test_a_wrong_job_tells_its_line(fake_shop: Workshop) -> None:
    path = fake_shop.job(("block: [32]", "blocks: [32]"))
    with pytest.raises(gpuregress.JobErrors, match=r"scale.yaml:\d+: launches\[0\]"):
        gpuregress.load_job(path)


def test_a_case_is_run_once_and_its_name_is_that_of_one_case(job: gpuregress.Job) -> None:
    results = gpuregress.run([job, job[0]], device="cpu")
    assert [result.case for result in results] == list(job)
    with pytest.raises(gpuregress.UsageError, match="two different cases are called"):
        gpuregress.run([job[0], replace(job[0], repeat=7)], device="cpu")
    with pytest.raises(gpuregress.NothingToDo, match="no case to run"):
        gpuregress.run([], device="cpu")


@pytest.mark.parametrize(
    ("options", "words"),
    [({"repeat": 0}, "repeat is 0: expected at least 1"), ({"jobs": 0}, "jobs is 0"), ({"jobs": 1.5}, "jobs is 1.5"),
     ({"timeout": -1}, "timeout: invalid time limit -1"), ({"device": None}, "device is None")],
)  # fmt: skip
def test_a_number_that_means_nothing_is_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        gpuregress.run([], **options)
    with pytest.raises(TypeError, match="cases has 3: expected a job"):
        gpuregress.run([3])  # type: ignore[list-item]
