"""Slow-downs on the CPU device, from the kernel's source to the verdict: no clock decides, so no test here is flaky."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.revisions import git_projects
from tests.workshop import JOB, KERNEL, Workshop

RUN = ("run", "--device", "cpu", "--jobs", "1")
SLOWER = KERNEL.replace("1.4", "1.5").replace(
    "if (i < n) out[i] = a * x[i];",
    "float sum = 0; for (int k = 0; k < n; ++k) sum += __fmul_rn(x[k], 0.0f); if (i < n) out[i] = a * x[i] + sum;",
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A timed case with a limit, one without, and one that nobody times; all accepted, then made slower."""
    shop = Workshop(tmp_path_factory.mktemp("timing"))
    shop.write("kernels/scale.cu", KERNEL)
    for name, more in (("limited", "timing: {samples: 5, limit: 1.1}\n"), ("timed", "timing: {samples: 5}\n")):
        shop.write(f"configs/{name}.yaml", f"{JOB}{more}")
    shop.write("configs/plain.yaml", JOB)
    shop.call(*RUN)
    shop.call("accept")
    return shop


def _cases(shop: Workshop) -> dict[str, dict[str, Any]]:
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    return {case["job"]: case for case in document["cases"]}


def test_what_did_not_change_passes(shop: Workshop) -> None:
    done = shop.call(*RUN)
    assert done.exit_code == 0
    cases = _cases(shop)
    assert cases["limited"]["timing_comparison"]["status"] == "same"
    assert cases["limited"]["timing_comparison"]["ratio"] == 1
    assert "timing_comparison" not in cases["plain"], "nobody asked, and nothing changed"
    assert cases["plain"]["instructions"] == cases["limited"]["instructions"]
    assert "as many instructions as accepted" in done.stdout


def test_a_slow_down_fails_without_a_clock_where_the_job_has_a_limit(shop: Workshop) -> None:
    shop.write("kernels/scale.cu", SLOWER)
    done = shop.call(*RUN)
    assert done.exit_code == 1
    cases = _cases(shop)
    assert {name: case["verdict"] for name, case in cases.items()} == {
        "limited": "differ", "timed": "pass", "plain": "pass",
    }  # fmt: skip
    assert "instructions, " in cases["limited"]["reason"]
    assert cases["limited"]["reason"].startswith("scale: ")
    assert cases["limited"]["reason"].endswith(" times as many")
    compared = [cases[name]["timing_comparison"] for name in ("limited", "timed", "plain")]
    assert [one["status"] for one in compared] == ["slower"] * 3
    assert [one.get("fails", False) for one in compared] == [True, False, False]
    assert "slower: scale: " in done.stdout, "it is told where it does not fail"
    assert shop.call("accept", "limited").exit_code == 0
    assert shop.call(*RUN).exit_code == 0
    assert _cases(shop)["limited"]["timing_comparison"]["status"] == "same"


def test_a_slower_night_is_reported_once_and_fails_where_the_project_says_so(tmp_path: Path) -> None:
    """The commit that made a kernel slower is found by its instructions."""
    shop = Workshop(tmp_path)
    shop.write("gpuregress.yaml", "")
    shop.write(".gitignore", "runs/\n")
    shop.write("kernels/scale.cu", KERNEL)
    shop.job(("n: [100]", "n: [100, 200, 300]"))
    shop.call(*RUN)
    shop.call("accept")
    git_projects.start(shop.root)
    git_projects.commit(shop.root, "Accept")
    night = ("nightly", "--device", "cpu", "--jobs", "1")
    assert shop.call(*night).output == ""
    shop.write("README.md", "Kernels\n")
    git_projects.commit(shop.root, "Add a README")
    shop.write("kernels/scale.cu", SLOWER)
    slow = git_projects.commit(shop.root, "Sum in a loop")
    told = shop.call(*night)
    assert told.exit_code == 0
    assert told.stdout.splitlines()[0] == "3 slower: scale"
    assert told.stdout.splitlines()[1].startswith("slower   3 cases of scale; the worst is scale/n=300:  scale: ")
    assert shop.call(*night).output == "", "the level is that of the last night"
    shop.write("gpuregress.yaml", "limits: {instructions: 1.05}\n")
    failed = shop.call(*night)
    assert (failed.exit_code, failed.stdout.splitlines()[0][:23]) == (1, "3 new failures: scale —")
    shop.job(("parameters:", "limits: {instructions: 1000}\nparameters:"), ("n: [100]", "n: [100, 200, 300]"))
    assert shop.call(*RUN).exit_code == 0, "a job may set another limit"

    found = shop.call("bisect", "scale/n=100", "HEAD~2", "HEAD", "--by", "instructions", "--this-job")
    assert found.exit_code == 0, found.output
    assert found.stdout.splitlines()[0] == f"first bad commit: {slow}"
    assert "instructions, " in found.stderr
    message = shop.fails(5, "bisect", "scale/n=100", "HEAD~2", "HEAD~1", "--by", "instructions", "--this-job")
    assert "executes no more instructions than" in message


@pytest.mark.gpu
@pytest.mark.card("its times")
def test_on_a_gpu_the_samples_of_its_model_are_compared(tmp_path: Path) -> None:
    """A hundred times the work is found whatever the clocks do; another model's samples would not be compared."""
    shop = Workshop(tmp_path)
    shop.write("kernels/scale.cu", KERNEL)
    shop.write("configs/limited.yaml", f"{JOB}timing: {{samples: 30, limit: 1.5}}\n")
    gpu = ("run", "--device", "cuda:0", "--jobs", "1")
    shop.call(*gpu)
    assert shop.call("accept").exit_code == 0
    assert shop.call(*gpu).exit_code == 0
    same = _cases(shop)["limited"]["timing_comparison"]
    assert (same["measure"], same["same_code"]) == ("time", True)
    assert same["status"] != "slower" or not same.get("fails", False)
    shop.write("kernels/scale.cu", SLOWER.replace("k < n;", "k < 100 * n;").replace("x[k]", "x[k % n]"))
    assert shop.call(*gpu).exit_code == 1
    slower = _cases(shop)["limited"]["timing_comparison"]
    assert (slower["status"], slower["fails"], slower["same_code"]) == ("slower", True, False)
    assert " times slower than accepted (95 % interval " in _cases(shop)["limited"]["reason"]
