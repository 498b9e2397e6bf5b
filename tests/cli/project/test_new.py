"""`gpuregress new`: a job written from a kernel's signature."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from typing import Any

import pytest

from gpuregress.execution.workers import worker_spawn
from gpuregress.foundation.records import RunSummary
from gpuregress.lab.drafts import trial
from gpuregress.session import session
from gpuregress.session.events import Event, Judged, Listener
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project
from tests.workshop import KERNEL, Workshop


def test_new_never_overwrites(shop: Workshop) -> None:
    before = (shop.root / "configs/scale.yaml").read_text()
    output = shop.fails(2, "new", str(shop.root / "kernels/scale.cu"))
    assert "already exists" in output
    assert (shop.root / "configs/scale.yaml").read_text() == before


def test_the_job_that_is_written_can_be_checked_and_names_the_next_command(shop: Workshop) -> None:
    shop.write("kernels/other.cu", KERNEL.replace("void scale", "void other"))
    result = shop.call("new", str(shop.root / "kernels/other.cu"))
    assert result.exit_code == 0
    assert "a job for other; edit it, then: gpuregress check" in result.stdout
    assert "kernel: other" in (shop.root / "configs/other.yaml").read_text()
    assert shop.call("check", "other").exit_code == 0


def test_a_pattern_writes_the_jobs_that_are_not_there_yet(shop: Workshop) -> None:
    functions = (
        "__device__ float half_of(float x) { return x / 2; }\n__device__ float twice(float x) { return x + x; }\n"
    )
    shop.write("kernels/small.cuh", functions)
    shop.write("configs/half_of.yaml", "# mine\n")
    source = str(shop.root / "kernels/small.cuh")
    printed = shop.call("new", source, "--function", "*").stdout
    assert "half_of.yaml: already exists and was not changed" in printed
    assert "twice.yaml: a job for twice(float" in printed
    assert (shop.root / "configs/half_of.yaml").read_text() == "# mine\n"
    assert "the jobs of all 2 functions already exist" in shop.fails(2, "new", source, "--function", "*")
    assert "half_of.yaml already exists" in shop.fails(2, "new", source, "--function", "half_of")


PROGRAM = """__global__ void twice(float *x, int n) { int i = blockIdx.x * 32 + threadIdx.x; if (i < n) x[i] *= 2; }
__global__ void broken(float *x, int n) { x[n + threadIdx.x] = 0; }
int main(int argc, char **argv) {
    int n = 100;
    float *x;
    cudaMalloc(&x, n * sizeof(float));
    twice<<<(n + 31) / 32, 32>>>(x, n);
    broken<<<1, argc>>>(x, n);
}
"""


def test_each_kernel_of_a_program_gets_a_job_which_is_run(shop: Workshop) -> None:
    shop.write("app/prog.cu", PROGRAM)
    result = shop.call("new", str(shop.root / "app/prog.cu"), "--device", "cpu")
    assert result.exit_code == 0
    assert "a job for twice, from its launch in the host code" in result.stdout
    assert "needed: argc: its value" in result.stdout
    assert "twice may read x unwritten: the program sets nothing of x (prog.cu:6) before the launch" in result.stdout
    assert "before you accept these, fill in what is marked NEEDED: broken" in result.stdout
    assert "new      twice/n=100" in result.stdout
    assert "fault    broken/" in result.stdout
    job = (shop.root / "configs/twice.yaml").read_text()
    assert "grid: [ceil(n / 32)]" in job
    again = shop.fails(2, "new", str(shop.root / "app/prog.cu"))
    assert "the jobs of all 2 kernels already exist" in again


@pytest.mark.parametrize("choice", [(), ("--function", "square")])
def test_a_function_of_a_part_is_compiled_with_the_file_that_includes_it(shop: Workshop, choice: Sequence[str]) -> None:
    shop.write("app/part.cuh", "__device__ Number square(Number x) { return x * x; }\n")
    shop.write("app/whole.cu", 'using Number = double;\n#include "part.cuh"\n')
    result = shop.call("new", str(shop.root / "app/part.cuh"), *choice, "--no-run")
    assert result.exit_code == 0
    assert "part.cuh does not compile by itself: its jobs compile" in result.stdout
    (job,) = set((shop.root / "configs").iterdir()) - {shop.root / "configs/scale.yaml"}
    text = job.read_text()
    assert "source: ../app/whole.cu\nfunction: square\n" in text
    assert "result: {dtype: float64" in text


def test_drafts_are_not_run_where_that_is_said(shop: Workshop) -> None:
    shop.write("app/prog.cu", PROGRAM)
    assert "no baseline" not in shop.call("new", str(shop.root / "app/prog.cu"), "--no-run").stdout


def test_a_kernel_without_a_result_is_told_beside_the_jobs_of_the_others(shop: Workshop) -> None:
    shop.write("app/prog.cu", '#include <cstdio>\n__global__ void prints() { printf("hello"); }\n' + PROGRAM)
    output = shop.call("new", str(shop.root / "app/prog.cu"), "--no-run").stdout
    assert "prints: no job is written: it writes no buffer" in output
    assert "a job for twice" in output
    shop.write("app/one.cu", '#include <cstdio>\n__global__ void prints() { printf("hello"); }\n')
    assert "prints in" in shop.fails(2, "new", str(shop.root / "app/one.cu"))


FAR = """__global__ void far(float *y, const float *x, int n) { y[threadIdx.x] = x[n * threadIdx.x]; }
void go(float *y, float *x) { far<<<1, 32>>>(y, x, 100); }
"""


def test_a_draft_that_does_not_end_is_told_with_what_to_do(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = trial.RunLimits(run_s=600, case_s=1, trials_s=600, round_s=600, trial_s=0.2)
    monkeypatch.setattr(trial, "run_limits", lambda _drafting_s: limits)
    shop.write(
        "app/spins.cu",
        "__global__ void spins(volatile int *flag, int *out) { while (flag[0]) { flag[1] += 1; } out[0] = 1; }\n"
        "int main() { int n = 64; int *f, *o; cudaMalloc(&f, n * sizeof(int)); cudaMalloc(&o, 4);\n"
        f"spins<<<1, 1>>>(f, o); }}\n{FAR}",
    )
    result = shop.call("new", str(shop.root / "app/spins.cu"), "--device", "cpu")
    assert result.exit_code == 0
    assert "far: x has" in result.stdout
    assert "new      far" in result.stdout
    assert result.stdout.count("timeout  spins/n=64") == 1
    assert "spins did not end within 1 s, the limit of this first run: smaller values of n (now 64)" in result.stdout
    assert "put that launch before it in `launches:`" in result.stdout
    assert "1 case in" in result.stdout  # it is not run again


def test_a_first_run_that_the_user_stops_is_the_last_one(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    run = session.run

    def stopped(project: Project, selectors: Sequence[str], request: RunRequest, *, listen: Listener) -> RunSummary:
        """Stop the run after its first case, as ^C does."""

        def stop(event: Event) -> None:
            if isinstance(event, Judged):
                os.kill(os.getpid(), signal.SIGINT)
            listen(event)

        return run(project, selectors, request, listen=stop)

    monkeypatch.setattr(session, "run", stopped)
    shop.write("app/prog.cu", PROGRAM)
    result = shop.call("new", str(shop.root / "app/prog.cu"), "--device", "cpu")
    assert result.exit_code == 130
    assert result.stdout.count("did not run to their end") == 1
    assert "before you accept these" not in result.stdout


def test_cases_without_a_turn_in_the_first_run_are_named(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = trial.RunLimits(run_s=0, case_s=1, trials_s=0, round_s=0, trial_s=1)
    monkeypatch.setattr(trial, "run_limits", lambda _drafting_s: limits)
    shop.write("app/prog.cu", PROGRAM)
    result = shop.call("new", str(shop.root / "app/prog.cu"), "--device", "cpu")
    assert result.exit_code == 0
    assert "the deadline of 0 s for this first run came first" in result.stdout


def test_sizes_that_were_found_by_trial_are_told(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    start = worker_spawn.start

    def counted(
        device: str, environment: dict[str, str], output: int, command: Sequence[str] | None = None, **options: Any
    ) -> worker_spawn.StartedWorker:
        """Note the device of a worker; a compiler is started by another command."""
        if command is None or "compile_child" not in " ".join(command):
            started.append(device)
        return start(device, environment, output, command, **options)

    monkeypatch.setattr(worker_spawn, "start", counted)
    shop.write("app/far.cu", FAR)
    output = shop.call("new", str(shop.root / "app/far.cu"), "--device", "cpu").stdout
    assert re.search(r"far: x has \d+ elements now, because the kernel accessed x\[\d+\] of \d+: if that is", output)
    assert "new      far " in output
    assert started == ["cpu"], "one worker for the first run, the trials, and the run that is shown"


def test_the_yaml_files_of_another_program_are_left_alone(shop: Workshop) -> None:
    (shop.root / "configs/scale.yaml").unlink()
    shop.write("pyproject.toml", "[project]\nname = 'net'\n")
    for folder in ("a", "b"):
        shop.write(f"configs/{folder}/default.yaml", "model: {type: net}\noptimizer: {lr: 0.1}\n")
    source = shop.write("app/prog.cu", PROGRAM)
    drafted = shop.call("new", str(source), "--device", "cpu")
    assert "configs/ has YAML files of another program: the jobs are written to gpuregress-jobs/" in drafted.stderr
    assert "new      twice" in drafted.stdout
    assert "default" not in drafted.stdout
    assert (shop.root / "gpuregress-jobs/twice.yaml").is_file()
    again = shop.call("run", "--device", "cpu").stdout
    assert ("new      twice" in again, "default" in again) == (True, False)
    assert "another program" not in shop.call("new", str(source), "--device", "cpu").stderr


def test_a_draft_with_large_buffers_is_not_run(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "MOST_BYTES", 1000)
    shop.write("app/prog.cu", PROGRAM.replace("100", "1000"))
    output = shop.call("new", str(shop.root / "app/prog.cu"), "--device", "cpu").stdout
    assert "twice is not run: its buffers have 0.0 GiB; give its parameters smaller values, then: gpuregress" in output
    assert "new      twice" not in output
