"""Real kernels of git commits: a bug of ten commits ago, kills, and a work tree that stays as it is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests import preloaded
from tests.lab.revisions.git_projects import commit, everything, start
from tests.waiting import wait_until
from tests.workshop import Workshop

KERNEL = """\
#include "factor.h"
extern "C" __global__ void scale(float* out, const float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = FACTOR * x[i];
}
"""
JOB = """\
source: ../src/scale.cu
parameters: {n: [1000]}
buffers:
  x: {dtype: float32, shape: [n], fill: {normal: {std: 2.0}}}
  out: {dtype: float32, shape: [n]}
launches:
  - {kernel: scale, grid: [ceil(n / 128)], block: [128], args: [out, x, {int32: n}]}
"""
BUG, BROKEN, COMMITS = 4, 8, 13


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A repository whose project is in a folder of it: 13 commits, a bug in the fourth, the eighth does not compile."""
    root = tmp_path_factory.mktemp("history")
    shop = Workshop(root / "tests")
    start(root)
    hashes = []
    shop.write("configs/scale.yaml", JOB)
    shop.write("gpuregress.yaml", "folders: {runs: out}\n")
    for number in range(COMMITS):
        text = KERNEL.replace("i < n", "i < n - n / 512") if number >= BUG else KERNEL
        shop.write("src/scale.cu", f"{text}\nno C++" if number == BROKEN else text)
        shop.write("src/factor.h", f"#define FACTOR 2.0f // {number}\n")
        hashes.append(commit(root, f"Commit {number}"))
    return root, hashes


@pytest.fixture
def shop(history: tuple[Path, list[str]], tmp_path: Path) -> Workshop:
    """A copy of it with a file that is staged, one that is changed, and one that git does not know."""
    root = tmp_path / "copy"
    shutil.copytree(history[0], root)
    shop = Workshop(root / "tests")
    shop.write("staged", "staged")
    subprocess.run(["git", "-C", str(root), "add", "tests/staged"], check=True)
    shop.write("src/factor.h", "#define FACTOR 7.0f\n")
    shop.write("unknown", "unknown")
    return shop


@pytest.fixture(params=["cpu", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_bug_of_ten_commits_ago(shop: Workshop, history: tuple[Path, list[str]], device: str) -> None:
    before = everything(shop.root.parent)
    result = shop.call("bisect", "scale", "HEAD~12", "HEAD", "--device", device)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == f"first bad commit: {history[1][BUG]}"
    assert "  changed  tests/src/factor.h\n           tests/src/scale.cu\n" in result.stdout
    assert "out (baseline): 1 of 1000 differ" in result.stdout
    assert "never written" in result.stdout
    assert everything(shop.root.parent) == before


def test_two_commits_and_the_work_tree(shop: Workshop) -> None:
    before = everything(shop.root.parent)
    result = shop.call("diff", "HEAD~12", "HEAD", "--device", "cpu")
    assert (result.exit_code, "out: 1 of 1000 differ" in result.stdout) == (1, True)
    assert shop.call("diff", "HEAD~12", "HEAD~10", "--device", "cpu").exit_code == 0
    assert "out: 999 of 1000 differ" in shop.call("diff", "HEAD", "--device", "cpu").stdout
    broken = shop.call("diff", "HEAD~12", f"HEAD~{COMMITS - 1 - BROKEN}", "--device", "cpu")
    assert (broken.exit_code, "error    scale/n=1000" in broken.stdout) == (3, True)
    assert everything(shop.root.parent) == before


@pytest.mark.slow
def test_the_accepted_source_judges_smaller_cases(shop: Workshop, device: str) -> None:
    good, bad = KERNEL, KERNEL.replace("i < n", "i < n - n / 20")
    shop.write("src/scale.cu", good)
    shop.write("configs/scale.yaml", JOB.replace("1000", "40").replace("128", "1"))
    assert shop.call("run", "--device", device).exit_code == 1
    assert shop.call("accept").exit_code == 0
    commit(shop.root.parent, "Accept")
    shop.write("src/scale.cu", bad)
    before = everything(shop.root.parent)
    target = shop.root / "configs/small.yaml"
    result = shop.call("shrink", "scale", "--device", device, "-o", str(target))
    assert result.exit_code == 0, result.output
    assert "n: 40 → 20\n" in target.read_text()
    run = shop.call("run", "--device", device, "-q", str(target))
    assert (run.exit_code, "differ   scale-shrunk/n=20" in run.output) == (1, True)
    for path in shop.root.glob("configs/small*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert {name: digest for name, digest in everything(shop.root.parent).items() if "/out/" not in name} == {
        name: digest for name, digest in before.items() if "/out/" not in name
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_bisection_leaves_nothing(shop: Workshop, tmp_path: Path, number: signal.Signals) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = everything(shop.root.parent)
    command = [sys.executable, "-m", "gpuregress", "-C", str(shop.root), "bisect", "scale", "HEAD~12", "HEAD"]
    with preloaded.Program(
        [*command, "--device", "cpu"],
        env={**os.environ, "TMPDIR": str(scratch)},
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until(lambda: list(scratch.glob("gpuregress-scratch-*/runs-*/*/launch.log")))
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == (-9 if number == signal.SIGKILL else 130), err
    assert "Traceback" not in err
    if number == signal.SIGKILL:  # the next command sweeps
        again = "from gpuregress.foundation import storage\nwith storage.scratch(): pass"
        subprocess.run([sys.executable, "-c", again], env={**os.environ, "TMPDIR": str(scratch)}, check=True)
    assert [path.name for path in scratch.iterdir() if path.name.startswith("gpuregress")] == []
    assert everything(shop.root.parent) == before
    assert tempfile.gettempdir() != str(scratch)


@pytest.mark.slow
def test_a_stopped_search_for_a_smaller_job_prints_the_best_so_far(shop: Workshop, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    shop.write("src/scale.cu", KERNEL.replace("i < n", "i < n - 1"))
    shop.write("configs/scale.yaml", JOB + "checks: {out: [finite]}\n")
    before = everything(shop.root.parent)
    with preloaded.Program(
        [sys.executable, "-m", "gpuregress", "-C", str(shop.root), "shrink", "scale", "--device", "cpu"],
        env={**os.environ, "TMPDIR": str(scratch)},
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until(lambda: len(list(scratch.glob("gpuregress-scratch-*/runs/2*/launch.log"))) > 1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "# A smaller one may exist: interrupted.\njob: scale-shrunk\n" in out
    assert [path.name for path in scratch.iterdir() if path.name.startswith("gpuregress")] == []
    assert everything(shop.root.parent) == before
