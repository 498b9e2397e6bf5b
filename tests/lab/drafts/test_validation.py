from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gpuregress.foundation.errors import UsageError
from gpuregress.jobs import plan
from gpuregress.lab.drafts import new
from gpuregress.store.project import Project

LONG = "a_name_that_is_longer_than_a_name_of_a_job_may_ever_be_" * 4
TEXT = f"""__global__ void step(int *step, int *{LONG}, int *{LONG}2) {{ *step = 1; *{LONG} = *{LONG}2 = 2; }}
__global__ void Scale(int *x, int n) {{ *x = n; }}
__global__ void scale(int *x, int n) {{ *x = n; }}
template <int N> __global__ void lanes(int *x) {{ x[threadIdx.x] = N; }}
const char *program = "__global__ void in_string(int *x) {{ *x = 1; }} \\
__global__ void in_next_line(int *x) {{}} \\
";
int main(int argc, char **argv) {{
    int n = 100, {LONG}3 = 7, count = atoi(argv[1]), *x;
    cudaMalloc(&x, 400);
    step<<<n / 1000, 32>>>(x, x, x);
    Scale<<<1, n * 10000, n << 20>>>(x, {LONG}3);
    scale<<<1, n>>>(x, n);
    if (count == 3) lanes<count><<<1, 100>>>(x);
}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")


def test_what_check_would_refuse_is_a_guess_instead(project: Project) -> None:
    source = project.root / "mine.cu"
    source.write_text(TEXT)
    drafts = {draft.kernel: draft for draft in new.draft_kernels(project, source)}
    assert list(drafts) == ["step", "Scale", "scale", "lanes<N>"]
    cases = plan.make(project, ()).cases
    assert len({case.job.casefold() for case in cases}) == len(cases) == len(drafts)
    jobs = {name: yaml.safe_load(draft.path.read_text()) for name, draft in drafts.items()}
    assert (jobs["step"]["launches"][0]["grid"], jobs["step"]["launches"][0]["block"]) == ([1], [32])
    assert "grid of step (mine.cu:11)" in drafts["step"].needed
    scale = jobs["Scale"]["launches"][0]
    assert (scale["block"], scale["shared"]) == ([256], 49152)
    assert "gives 1000000 x 1 x 1, as far as it is known, which cannot be launched" in drafts["Scale"].path.read_text()
    assert jobs["lanes<N>"]["launches"][0]["kernel"] == "lanes<128>"
    assert "the template arguments of lanes<128>: N = 128 is a guess" in drafts["lanes<N>"].needed


def test_a_draft_that_check_would_refuse_is_not_written(project: Project) -> None:
    source = project.root / "mine.cu"
    source.write_text(
        "__global__ void fits(int *x) { *x = 1; }\n"
        "struct Handle { Handle(int); Handle(const Handle&); int *x; };\n"
        "template <typename T> __global__ void wrong(T *x) { *x = typename T::type(1); } "
        "template <typename T> __global__ void also(T *x) { *x = typename T::type(1); }\n"
    )
    fits, wrong, also = new.draft_kernels(project, source)
    assert (fits.refusal, fits.path.is_file()) == ("", True)
    reason = "with the guess T = float for its template arguments it does not compile: "
    assert wrong.refusal.startswith(reason)
    assert new.refusal_lines([fits, wrong, also]) == [f"wrong<T>, also<T>: no job is written: {wrong.refusal}"]
    assert not wrong.path.exists()
    assert not also.path.exists()
    with pytest.raises(UsageError, match=rf"^also<T> in .*mine.cu: no job is written: {reason}"):
        new.draft_kernels(project, source, kernel="also", target=project.configs / "also.yaml")


def test_the_name_of_another_job_is_not_taken(project: Project) -> None:
    (project.configs / "night").mkdir(parents=True)
    (project.configs / "night" / "Mine.yaml").write_text("source: x.cu\n")
    source = project.root / "mine.cu"
    source.write_text("__global__ void k(int *x) { *x = 1; }\n")
    (draft,) = new.draft_kernels(project, source)
    assert draft.path.name == "mine_2.yaml"
