"""Drafts of one job for launches that read what earlier ones make."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gpuregress.lab.drafts import new
from gpuregress.session import session
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project

TEXT = """\
__global__ void init(int *p, int n) { if (threadIdx.x < n) p[threadIdx.x] = (threadIdx.x + 1) % n; }
__global__ void find(const int *p, const float *w, float *q) { q[threadIdx.x] = w[p[p[threadIdx.x]]]; }
__global__ void find_too(const int *p, const float *w, float *q) { q[threadIdx.x] = w[p[threadIdx.x]]; }
__global__ void total(const float4 *q, float *sum, int n) { for (int i = 0; i < n; i++) *sum += q[i].x; }
__global__ void other(float *y) { y[threadIdx.x] = 1; }
__global__ void sums(const float *x, float *y, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 32) sum += x[i];
    y[threadIdx.x] = sum;
}
void go(const float *w, float *host, int n, int version) {
    int *p; float *q, *sum;
    cudaMalloc(&p, n * sizeof(int)); cudaMalloc(&q, n * sizeof(float)); cudaMalloc(&sum, sizeof(float));
    cudaMemset(sum, 0, sizeof(float));
    if (version == 2) init<<<2, n>>>(p, n);
    init<<<1, n>>>(p, n);
    find<<<1, n>>>(p, w, q);
    total<<<1, 1>>>((const float4 *)q, sum, n / 4);
}
void both(const float *x, int n) {
    float *part, *out; cudaMalloc(&part, 128); cudaMalloc(&out, 128);
    sums<<<1, 32>>>(x, part, n);
    sums<<<1, 32>>>(part, out, 32);
}
int main() {
    float *w, *y, h[64], s;
    for (int i = 0; i < 64; i++) h[i] = 2;
    cudaMalloc(&w, sizeof(h)); cudaMemcpy(w, h, sizeof(h), cudaMemcpyHostToDevice);
    go(w, &s, 64, 1); go(w, &s, 64, 1);
    cudaMalloc(&y, 128); other<<<1, 32>>>(y); sums<<<1, 32>>>(y, w, 32);
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "app.cu").write_text(TEXT)
    return Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")


def test_launches_of_a_function_are_one_job(project: Project) -> None:
    drafts = {draft.path.stem: draft for draft in new.draft_kernels(project, project.root / "app.cu")}
    # A call of `go` alone makes these launches; in `main`, floats connect nothing.
    assert sorted(drafts) == ["find_too", "go", "other", "sums"]
    assert (drafts["go"].kernel, drafts["go"].is_chain, drafts["sums"].is_chain) == ("init, find, total", True, False)
    job = yaml.safe_load(drafts["go"].path.read_text())
    assert [launch["kernel"] for launch in job["launches"]] == ["init", "find", "total"]
    assert [launch["args"] for launch in job["launches"]] == [
        ["p", {"int32": "n"}],
        ["p", "w", "q"],
        [{"pointer": "q"}, "sum", {"int32": "n // 4"}],
    ]
    assert job["buffers"] == {
        "p": {"dtype": "int32", "shape": ["n"]},
        "w": {"dtype": "float32", "shape": [64], "fill": {"value": 2.0}},
        "q": {"dtype": "float32", "shape": ["n"]},
        "sum": {"dtype": "float32", "shape": [1], "fill": "zeros"},
    }
    assert job["dump"] == ["p", "q", "sum"]
    assert drafts["go"].needed == ()
    (verdict,) = session.run(project, [str(drafts["go"].path)], RunRequest(device="cpu")).verdicts
    assert verdict.status == "new"
    (dump,) = project.runs.glob("latest/dumps/go/**/sum.*")
    assert dump.read_text().splitlines()[-1] == "32.0"
    assert all(draft.is_kept for draft in new.draft_kernels(project, project.root / "app.cu"))


def test_one_kernel_that_is_asked_for_has_a_job_of_its_own(project: Project) -> None:
    (draft,) = new.draft_kernels(project, project.root / "app.cu", kernel="find")
    assert draft.path.name == "find.yaml"
    assert "p: its contents, which init may make at app.cu:16: put that launch before this one" in draft.needed


def test_launches_of_one_kernel_may_be_a_chain(project: Project) -> None:
    source = project.root / "app.cu"
    source.write_text(TEXT.partition("int main")[0])
    drafts = {draft.path.stem: draft for draft in new.draft_kernels(project, source)}
    job = yaml.safe_load(drafts["both"].path.read_text())
    assert [launch["args"] for launch in job["launches"]] == [
        ["x", "part", {"int32": "n"}],
        ["part", "out", {"int32": 32}],
    ]
