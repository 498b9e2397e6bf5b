from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from gpuregress.foundation.records import Verdict
from gpuregress.gpu.records import replace
from gpuregress.lab.drafts import new, trial
from gpuregress.lab.drafts.launch import UNKNOWN_SIZE
from gpuregress.lab.drafts.trial import FoundSize, TriedJob
from gpuregress.session import session
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project

TEXT = """__global__ void f(float *y, const float *x, int n) { y[threadIdx.x] = x[n * threadIdx.x]; }
void go(float *y, float *x) { f<<<1, 32>>>(y, x, 100); }
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")


def drafted(project: Project, text: str) -> new.Draft:
    source = project.root / "a.cu"
    source.write_text(text)
    (made,) = new.draft_kernels(project, source)
    return made


def test_a_guessed_size_grows_until_the_kernel_stays_inside(project: Project) -> None:
    made = drafted(project, TEXT)
    assert made.guessed_sizes == ("y", "x")
    (job,) = trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu")
    (size,) = job.sizes.values()
    assert (size.buffer, size.elements >= 3101) == ("x", True)
    assert (size.index, size.guess) == (100 * (size.guess // 100 + 1), size.guess)  # the first access beyond the guess
    text = made.path.read_text()
    assert f"x: {{dtype: float32, shape: [{size.elements}], fill: {{normal: {{std: 1.0}}}}}}" in text
    assert "# NEEDED: its size, which was found by trial for the parameters above; random numbers" in text
    assert not project.runs.exists()


def test_a_size_of_the_host_code_is_kept(project: Project) -> None:
    host = "int main() { float *x, *y; cudaMalloc(&x, 128); cudaMalloc(&y, 128); f<<<1, 32>>>(y, x, 100); }\n"
    made = drafted(project, TEXT.partition("void go")[0] + host)
    assert made.guessed_sizes == ()
    assert trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu") == []


def test_the_growth_has_a_limit(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_MOST_BYTES", 300)
    made = drafted(project, TEXT)
    before = made.path.read_bytes()
    assert trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu") == []
    assert made.path.read_bytes() == before


def test_a_record_is_enlarged(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    guess = f"# NEEDED: {UNKNOWN_SIZE}; p, a.cu:3"
    path.write_text(f"buffers:\n  p: {{dtype: {{a: int32, b: float32}}, shape: [n * 2]}}   {guess}\n")
    assert trial.enlarge(path, FoundSize("p", 99))
    assert (
        "  p: {dtype: {a: int32, b: float32}, shape: [99]}   # NEEDED: its size, which was found by trial"
        in path.read_text()
    )
    assert not trial.enlarge(path, FoundSize("q", 99))


@pytest.mark.parametrize(
    "statement", ["y[n + i] = 1;", "atomicAdd(&y[n + i], 1.0f);", "((float4 *)y)[n + i] = make_float4(0, 0, 0, 0);"]
)
def test_writes_atomic_operations_and_vectors_beyond_a_buffer(project: Project, statement: str) -> None:
    text = f"__global__ void f(float *y, int n) {{ int i = threadIdx.x; {statement} }}\n"
    made = drafted(project, f"{text}void go(float *y) {{ f<<<1, 32>>>(y, 100); }}\n")
    (job,) = trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu")
    assert job.sizes["y"].elements >= 132


def test_a_size_that_lacks_little_is_doubled(project: Project) -> None:
    text = "__global__ void f(float *y, float *x) { y[threadIdx.x] = x[threadIdx.x + 1] - x[threadIdx.x]; }\n"
    made = drafted(project, f"{text}void go(float *y, float *x) {{ f<<<1, 32>>>(y, x); }}\n")
    (job,) = trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu")
    assert {name: size.elements for name, size in job.sizes.items()} == {"x": 64}


def test_a_fault_elsewhere_enlarges_nothing(project: Project) -> None:
    text = "__global__ void f(float *y, float *x) { y[0] = 1; x[-1] = 1; }\n"
    made = drafted(project, f"{text}void go(float *y, float *x) {{ f<<<1, 32>>>(y, x); }}\n")
    assert made.guessed_sizes == ("y", "x")
    assert trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu") == []


KERNEL = "__global__ void f(float *y, const int *at, int n) { y[n * n * n * at[threadIdx.x] + threadIdx.x] = 1; }\n"


def test_contents_and_numbers_that_are_guesses_become_smaller_where_no_size_helps(project: Project) -> None:
    made = drafted(project, f"{KERNEL}void go(float *y, int *at, int n) {{ f<<<1, 32>>>(y, at, n); }}\n")
    (job,) = trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu")
    assert job.changes == ["guessed contents are zeros, and guessed numbers at most 64"]
    text = made.path.read_text()
    assert "  n: [64]   # NEEDED: its value; 64 is a guess" in text
    assert "fill: zeros}   # NEEDED" in text
    (verdict,) = session.run(project, [str(made.path)], RunRequest(device="cpu")).verdicts
    assert verdict.status == "new"


def test_changes_without_an_effect_are_taken_back(project: Project) -> None:
    kernel = KERNEL.replace("y[n", "y[-1 - n * at[threadIdx.x]")
    made = drafted(project, f"{kernel}void go(float *y, int *at, int n) {{ f<<<1, 32>>>(y, at, n); }}\n")
    before = made.path.read_bytes()
    assert trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu") == []
    assert made.path.read_bytes() == before


def test_a_size_that_is_taken_back_with_a_change_is_not_told(project: Project) -> None:
    text = """__global__ void f(float *y, const float *x, int n) {
  if (n > 64) y[-1] = 0;
  y[threadIdx.x] = x[1000 * threadIdx.x];
  __syncthreads();
  y[(int)threadIdx.x - 40] = 0;
}
void go(float *y, float *x, int n) { f<<<1, 32>>>(y, x, n); }
"""
    made = drafted(project, text)
    before = made.path.read_text()
    assert trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu") == []
    assert made.path.read_text() == before


def test_guessed_shared_memory_grows(project: Project) -> None:
    text = "__global__ void f(double3 *y) { extern __shared__ double3 of[]; of[threadIdx.x].z = 1; y[0] = of[0]; }\n"
    made = drafted(project, text)
    (job,) = trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu")
    assert job.changes == ["its shared memory is larger"]
    (launch,) = yaml.safe_load(made.path.read_text())["launches"]
    assert launch["shared"] == "64 * block"


def test_guessed_sizes_become_multiples_of_a_block(project: Project) -> None:
    text = (
        "#include <cassert>\nstruct Work { float *y; int numItems, ndim; };\n"
        "__global__ void f(Work w) { int i = blockIdx.x * blockDim.x + threadIdx.x; assert(i < w.numItems);\n"
        "    w.y[i] = 1; }\n"
    )
    made = drafted(project, text)
    (job,) = trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu")
    assert job.changes == ["guessed sizes are multiples of a block"]
    written = yaml.safe_load(made.path.read_text())
    assert written["parameters"]["n"] == [1024, 4096]
    (argument,) = written["launches"][0]["args"]
    assert argument["struct"]["ndim"] == {"int32": 1}  # it counts dimensions


def test_guessed_indices_become_minus_one_where_nothing_else_helps(project: Project) -> None:
    kernel = (
        "struct Node { float low; int left; };\n"
        "__global__ void f(float *y, const Node *nodes, const unsigned *n) {\n"
        "    int left = nodes[threadIdx.x].left; y[left < 0 ? n[threadIdx.x] : -1 - left] = 1; }\n"
    )
    made = drafted(project, f"{kernel}void go(float *y, Node *nodes, unsigned *n) {{ f<<<1, 32>>>(y, nodes, n); }}\n")
    (job,) = trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu")
    assert job.changes[-1] == "guessed contents of signed numbers are -1"
    buffers = yaml.safe_load(made.path.read_text())["buffers"]
    assert (buffers["nodes"]["fill"], buffers["n"]["fill"]) == ({"value": -1}, "zeros")


def test_the_size_of_a_tensor_of_unknown_rank_grows(project: Project) -> None:
    host = (
        "void go(at::Tensor y) { auto p = y.data_ptr<float>(); int n = y.size(0); f<<<1, n>>>(p, n); }\nint main() {}\n"
    )
    kernel = "__global__ void f(float *y, int n) { y[3 * threadIdx.x + 2] = n; }\n"
    made = drafted(project, kernel + host)
    (job,) = trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu")
    assert list(job.sizes) == ["y"]


def test_found_sizes_are_compared_by_value() -> None:
    assert FoundSize("x", 4) == FoundSize("x", 4)


def test_guessed_arguments_become_zeros_only_where_smaller_numbers_do_not_help(project: Project) -> None:
    text = (
        "__global__ void f(float *y, int *of, int n, int count) {\n"
        "    float local[64]; for (int i = 0; i < n; i++) local[i] = i; y[of[count - 1]] = local[n / 2]; }\n"
        "void go(float *y, int *of, int n, Other &other) { f<<<1, 32>>>(y, of, n, other.count() - 1); }\n"
    )
    made = drafted(project, text)
    (job,) = trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu")
    assert job.changes == ["guessed contents are zeros, and guessed numbers at most 64"]


HANGS = "__global__ void f(float *y, const int *at) { while (at[0] <= 0) { y[1] += 1; } y[-1 - at[0]] = 1; }\n"


def test_a_step_after_which_the_kernel_does_not_end_is_taken_back(project: Project) -> None:
    limits = replace(trial.run_limits(0), trial_s=0.2)
    made = drafted(project, f"{HANGS}void go(float *y, int *at) {{ f<<<1, 32>>>(y, at); }}\n")
    before = made.path.read_bytes()
    assert trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu", limits) == []
    assert made.path.read_bytes() == before


def test_a_step_that_was_not_tried_to_its_end_is_taken_back(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    made = drafted(project, f"{HANGS}void go(float *y, int *at) {{ f<<<1, 32>>>(y, at); }}\n")
    before = made.path.read_bytes()
    first = session.run(project, [str(made.path)], RunRequest(device="cpu"))
    (verdict,) = first.verdicts
    skipped = replace(verdict, status="skip", outcome=None)
    monkeypatch.setattr(trial, "_run", lambda *_: replace(first, verdicts=(skipped,)))
    assert trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu", first=first) == []
    assert made.path.read_bytes() == before


def test_a_step_for_whose_trial_no_time_is_left_is_taken_back(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = TriedJob.change

    def change_slowly(job: TriedJob, verdicts: Sequence[Verdict]) -> bool:
        time.sleep(0.3)
        return change(job, verdicts)

    monkeypatch.setattr(TriedJob, "change", change_slowly)
    made = drafted(project, f"{HANGS}void go(float *y, int *at) {{ f<<<1, 32>>>(y, at); }}\n")
    before = made.path.read_bytes()
    first = session.run(project, [str(made.path)], RunRequest(device="cpu"))
    limits = replace(trial.run_limits(0), trials_s=0.2)
    assert trial.find_sizes(project, {made.path: made.guessed_sizes}, "cpu", limits, first) == []
    assert made.path.read_bytes() == before


def test_the_runs_of_drafts_may_take_longer_where_drafting_did() -> None:
    assert [trial.run_limits(drafting_s).run_s for drafting_s in (1, 9, 40)] == [8, 9, 40]
    assert [trial.run_limits(drafting_s).case_s for drafting_s in (1, 9, 30, 90)] == [5, 5, 8, 10]
    assert trial.run_limits(1).trial_s < trial.run_limits(40).trial_s
