from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gpuregress.foundation.errors import GpuregressError, UsageError
from gpuregress.foundation.records import Case
from gpuregress.jobs import plan
from gpuregress.lab.drafts import new
from gpuregress.session import checking, compilation
from gpuregress.store.project import Project

SOURCE = """\
#define HD __host__ __device__
namespace g {
typedef double real;
struct P { float lo; int n; };
template <typename T, int N = 2> HD T clampz(T x, const T& lo, T n) { return x < lo ? lo : n; }
HD real half_of(real x) { return x / 2; }
HD P make(float lo, int n) { P p; p.lo = lo; p.n = n; return p; }
__device__ void split(P p, float &a, int& b) { a = p.lo; b = p.n; }
__device__ float at(const float* data, int i) { return data[i]; }
__device__ void put(float* data, float x) { data[0] = x; }
__device__ int two(int x) { return 2 * x; }
__device__ float two(float x) { return 2 * x; }
__device__ float block_first(float v) { __shared__ float kept; kept = v; __syncthreads(); return kept; }
__device__ void nothing(float x, bool b) {}
template <int N> __device__ auto nth(float x) { return x * N; }
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/g.cuh").write_text(SOURCE)
    return Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")


def header(project: Project) -> Path:
    return project.root / "kernels/g.cuh"


@pytest.mark.slow
def test_the_jobs_of_all_functions_pass_check(project: Project) -> None:
    drafts = new.draft_functions(project, header(project), "*")
    assert [made.path.stem for made in drafts] == [
        *("clampz", "half_of", "make", "split", "at", "put", "two_int", "two_float", "block_first", "nothing", "nth")
    ]
    cases = plan.make(project, ()).cases
    assert len(cases) == len(drafts)
    compiled = compilation.compile_cases(cases)
    assert not [built for built in compiled.values() if isinstance(built, GpuregressError)]
    assert not any(checking.contradictions(case, compiled[case.name]) for case in cases)
    found = {case.job: case for case in cases}
    assert found["half_of"].buffers["x"].dtype == "float64"
    assert found["make"].buffers["result"].dtype == "{lo:float32,n:int32}"
    assert found["block_first"].launches[0].grid == (1000, 1, 1)
    assert found["put"].dump == ("data",)
    assert "count: [1000]" in (project.configs / "clampz.yaml").read_text()


def test_a_source_without_kernels_gets_a_job_for_its_first_function(project: Project) -> None:
    (made,) = new.draft_kernels(project, header(project))
    assert (made.path, made.kernel) == (project.configs / "g.yaml", "g::clampz<T, N>(T, const T&, T)")
    assert "g::half_of(real)" in made.functions
    assert len(made.functions) == 10
    assert "# twins: [host]" in made.path.read_text()


def test_a_pattern_chooses_and_nothing_is_overwritten(project: Project) -> None:
    (made,) = new.draft_functions(project, header(project), "half_of")
    assert "function: g::half_of\n" in made.path.read_text()
    with pytest.raises(UsageError, match="already exists"):
        new.draft_functions(project, header(project), "half_of")
    made.path.write_text("# mine\n")
    kept = [one.path for one in new.draft_functions(project, header(project), "*") if one.is_kept]
    assert kept == [made.path]
    assert made.path.read_text() == "# mine\n"
    assert (project.configs / "make.yaml").exists()
    with pytest.raises(UsageError, match=r"has no device function 'x\*'; it has: g::clampz"):
        new.draft_functions(project, header(project), "x*")
    with pytest.raises(UsageError, match="'two' names 2 functions, and -o is one file"):
        new.draft_functions(project, header(project), "two", target=project.configs / "one.yaml")


def test_without_a_compiler_an_unknown_type_is_said(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_source: object) -> None:
        raise GpuregressError("no compiler")

    def fail_all(cases: Sequence[Case]) -> dict[str, GpuregressError]:
        return {case.name: GpuregressError("no compiler") for case in cases}

    monkeypatch.setattr(compilation, "compile_source", fail)
    monkeypatch.setattr(compilation, "compile_cases", fail_all)
    (made,) = new.draft_functions(project, header(project), "half_of")
    assert "# real is not known here: name its dtype or fields" in made.path.read_text()
