from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuregress.execution.workers.compiler_pool import Result
from gpuregress.foundation.errors import CompileError, GpuregressError, Interrupted, UsageError
from gpuregress.foundation.records import Source
from gpuregress.jobs import plan
from gpuregress.lab.drafts import first_programs, kernel, new
from gpuregress.lab.drafts.compiled import CompiledKernel
from gpuregress.lab.drafts.kernel import NO_LAUNCH
from gpuregress.lab.drafts.launch_facts import HostProgram
from gpuregress.session import checking, compilation, session
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project
from gpuregress.toolchain import programs

SOURCES = {
    "plain": 'extern "C" __global__ void f(float *out, const float *x, float a, int n) {}',
    "template": "template <typename T, int TILE = 64> __global__ void f(T *out, const T *x, unsigned int n) {}",
    "namespace": "namespace a { __global__ void f(double *y, size_t count) {} }",
    "two sizes": "__global__ void f(float *out, const float *in, int width, int height) {}",
    "three sizes": "__global__ void f(float *c, const float *a, const float *b, int m, int n, int k) {}",
    "many types": "__global__ void f(unsigned char *o, const bool *b, const long long *l, const float4 *v, short s) {}",
    "no size": "__global__ void f(int *out) {}",
    "a struct": "struct P { float a; int b; char c; }; __global__ void f(float *out, P p, int n) {}",
    "structs of templates": """template <typename T> struct B { T a; char c; };
        struct D : B<float> { int *p; int b : 3; union { float u; int i; }; };
        __global__ void f(B<double> *out, D d, int n) { out->a = d.p[0] + d.a; }""",
    "an unknown pointer": "struct P { float a; }; __global__ void f(P *out, const P *in, int n) {}",
    "a vector by value": "__global__ void f(float4 *out, float3 v, int2 w, int n) {}",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")


def source(project: Project, text: str) -> Path:
    path = project.root / "kernels" / "mine.cu"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + "\n")
    return path


def drafted(project: Project, path: Path, *, kernel: str | None = None, target: Path | None = None) -> new.Draft:
    """Write the job of the first or the named kernel."""
    return new.draft_kernels(project, path, kernel=kernel, target=target)[0]


@pytest.mark.parametrize("what", SOURCES)
def test_the_job_that_is_written_passes_check(project: Project, what: str) -> None:
    made = drafted(project, source(project, SOURCES[what]))
    assert made.path == project.configs / "mine.yaml"
    cases = plan.make(project, (str(made.path),)).cases
    assert cases
    compiled = compilation.compile_cases(cases)
    assert not [built for built in compiled.values() if isinstance(built, GpuregressError)]
    assert not any(checking.contradictions(case, compiled[case.name]) for case in cases)


def test_pointers_to_const_are_inputs_and_the_others_outputs(project: Project) -> None:
    made = drafted(project, source(project, SOURCES["plain"]))
    case = plan.make(project, (str(made.path),)).cases[0]
    assert case.buffers["x"].fill is not None
    assert case.buffers["out"].fill is None
    assert case.dump == ("out",)


def test_the_other_kernels_are_named_and_can_be_chosen(project: Project) -> None:
    path = source(project, f"{SOURCES['plain']}\n__global__ void g(int *out) {{}}")
    assert drafted(project, path, target=project.configs / "mine.yaml").others == ("g",)
    chosen = drafted(project, path, kernel="g", target=project.configs / "g.yaml")
    assert chosen.kernel == "g"
    with pytest.raises(UsageError, match="it has: f, g"):
        drafted(project, path, kernel="h", target=project.configs / "h.yaml")


def test_a_source_without_a_kernel_is_refused(project: Project) -> None:
    with pytest.raises(UsageError, match="__global__"):
        drafted(project, source(project, "int f() { return 1; }"))


ROLES = {
    "y[i] = 2 * x[i] + y[i];": ("fill", "fill", ["y"]),
    "y[i] = x[i];": ("", "fill", None),
    "atomicAdd(y + (int)x[i], 1.0f);": ("zeros", "fill", ["y"]),
    "y[i] = 0; y[i] += x[i];": ("", "fill", None),
    "if (y[i] > 0) return; y[i] = x[i];": ("fill", "fill", ["y"]),
}


@pytest.mark.parametrize("body", ROLES)
def test_what_the_compiled_kernel_reads_is_filled(project: Project, body: str) -> None:
    """Neither parameter is const: only the PTX tells which is an input."""
    kernel = f"__global__ void f(float *y, float *x, int n) {{ int i = threadIdx.x; if (i < n) {{ {body} }} }}"
    made = drafted(project, source(project, kernel))
    case = plan.make(project, (str(made.path),)).cases[0]
    y, x, dump = ROLES[body]
    kinds = {"": None, "fill": "normal", "zeros": "zeros"}
    assert {name: buffer.fill and buffer.fill.kind for name, buffer in case.buffers.items()} == {
        "y": kinds[y],
        "x": kinds[x],
    }
    assert case.dump == tuple(dump or ["y"])


def test_without_a_compiler_the_signature_decides(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "compiled", lambda *_: CompiledKernel())
    made = drafted(project, source(project, SOURCES["plain"]))
    assert "give it a fill if the kernel also reads it" in made.path.read_text()
    case = plan.make(project, (str(made.path),)).cases[0]
    assert (case.buffers["x"].fill is None, case.buffers["out"].fill) == (False, None)


def test_a_job_for_a_kernel_in_python(project: Project) -> None:
    path = project.root / "kernels" / "mine.py"
    path.parent.mkdir()
    path.write_text("@triton.jit\ndef f(out, n, BLOCK: tl.constexpr):\n    tl.store(out + n, 1)\n")
    made = drafted(project, path)
    assert (made.path, made.kernel, made.others) == (project.configs / "mine.yaml", "f", ())
    (first, _) = plan.make(project, (str(made.path),)).cases
    assert first.source.name == "mine.py:f"
    with pytest.raises(UsageError, match="has no kernel 'g'; it has: f"):
        drafted(project, path, kernel="g", target=project.configs / "other.yaml")
    path.write_text("def f(x): ...\n")
    with pytest.raises(UsageError, match=r"no function below @triton.jit or @cuda.jit"):
        drafted(project, path, target=project.configs / "other.yaml")
    path.write_text("def (\n")
    with pytest.raises(UsageError, match="is not Python"):
        drafted(project, path, target=project.configs / "other.yaml")


def test_kernels_of_one_name_have_a_job_each(project: Project) -> None:
    text = "namespace a { __global__ void f(int *y) {} }\nnamespace b { __global__ void f(float *y) {} }"
    made = new.draft_kernels(project, source(project, text))
    assert [one.path.name for one in made] == ["a_f.yaml", "b_f.yaml"]
    assert not [one for one in made if one.is_kept]


def test_jobs_whose_names_would_collide_are_numbered(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "compiled", lambda *_: CompiledKernel())
    long = "k" * 120
    text = "namespace a { __global__ void f(int *y) {} }\nnamespace b { __global__ void f(float *y) {} }\n"
    text += "__global__ void a_f(int *y) {}\n__global__ void g(int *y) {}\n__global__ void g(int *y, int n) {}\n"
    text += f"__global__ void {long}(int *y) {{}}\n__global__ void {long}b(int *y) {{}}\n"
    made = new.draft_kernels(project, source(project, text))
    names = [one.path.stem for one in made]
    assert names[:5] == ["a_f", "b_f", "a_f_2", "g", "g_2"]
    assert len(set(names)) == len(made) == 7
    assert not [one for one in made if one.is_kept]


def test_host_code_that_cannot_be_read_is_told(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_source: Path) -> HostProgram:
        raise ValueError("no such node\nmore")

    monkeypatch.setattr(kernel, "compiled", lambda *_: CompiledKernel())
    (made,) = new.draft_kernels(project, source(project, SOURCES["plain"]), read_host=fail)
    assert "could not be read (ValueError: no such node)" in made.needed[0]
    assert made.path.is_file()


@pytest.mark.parametrize("name", ["k #1.cu", "a: [b].cu", "-x.cu", "aux.cu", "ü.cu", "k.cu.cc", f"{'long' * 30}.cu"])
def test_a_file_with_an_odd_name_has_a_valid_job(project: Project, name: str) -> None:
    path = project.root / name
    path.write_text(f"{SOURCES['plain']}\nint main() {{ float *x; f<<<1, 64>>>(x, x, 2.0f, 64); }}\n")
    made = drafted(project, path)
    (case,) = plan.make(project, (str(made.path),)).cases
    assert Path(case.source.path).name == name


VARIABLES = """#include <cstdio>
namespace a { __device__ unsigned hits[16]; }
__device__ int counter = 3;
__global__ void count(int n) { atomicAdd(&counter, n); a::hits[threadIdx.x % 16] = counter; }
__global__ void both(float *y) { y[threadIdx.x] = counter; counter = 1; }
__global__ void prints() { printf("hello\\n"); }
"""


def test_variables_that_a_kernel_writes_are_buffers(project: Project) -> None:
    host = (
        "int main() { float *y; cudaMalloc(&y, 128); count<<<1, 32>>>(4); both<<<1, 32>>>(y); prints<<<1, 1>>>(); }\n"
    )
    made = new.draft_kernels(project, source(project, VARIABLES + host))
    assert [bool(one.refusal) for one in made] == [False, False, True]
    first, second = (plan.make(project, (str(one.path),)).cases[0] for one in made[:2])
    assert {name: (one.dtype, one.shape, one.symbol) for name, one in first.buffers.items()} == {
        "counter": ("int32", (1,), "counter"),
        "a_hits": ("uint32", (16,), "a::hits"),
    }
    assert (first.dump, second.dump) == (("counter", "a_hits"), ("y", "counter"))
    assert not made[2].path.exists()


def test_variables_are_buffers_without_host_code_too(project: Project) -> None:
    made = new.draft_kernels(project, source(project, VARIABLES))
    case = plan.make(project, (str(made[0].path),)).cases[0]
    assert set(case.buffers) == {"counter", "a_hits"}


def test_a_variable_of_an_unknown_type_needs_its_dtype(project: Project) -> None:
    text = (
        "struct S { int a; char b; }; __device__ S s; __device__ __managed__ float f[3];\n"
        "__global__ void k() { s.a = 1; f[1] += 1; }\n"
    )
    (made,) = new.draft_kernels(project, source(project, text))
    written = made.path.read_text()
    assert "  f: {dtype: float32, shape: [3], symbol: f}   # a variable of the source" in written
    assert "  s: {dtype: uint8, shape: [8], symbol: s}   # NEEDED: its dtype; a variable of the source" in written
    assert {one.symbol for one in plan.make(project, (str(made.path),)).cases[0].buffers.values()} == {"s", "f"}


def test_a_kernel_without_a_result_has_no_job(project: Project) -> None:
    with pytest.raises(UsageError, match=r"prints in .*: no job is written: it writes no buffer and no __device__"):
        drafted(project, source(project, VARIABLES), kernel="prints")
    path = source(project, "template <typename F> __global__ void run(int n, F f) { f(n); }")
    with pytest.raises(UsageError, match=r"no job is written: with the guess F = float for its template arguments it"):
        drafted(project, path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.cu", b" \n", "a.cu is empty: there is nothing to test"),
        ("a.cu", b"\x7fELF\0\1", "a.cu is not text (it has a byte 0)"),
        ("a.cu", "__global__ void f(int *x) {}".encode("utf-16"), "a.cu is UTF-16, which the compiler does not read"),
        (
            "a.txt",
            b"__global__ void f(int *x) {}",
            "a.txt cannot be the source of a job: name a file in CUDA C++ (.cu ",
        ),
        ("a.cuh", b"struct A { int a; };", "there is nothing to test; name the file that defines the kernels"),
        (
            "a.cu",
            b"__global__ void k(int *x { x[0] = 1; }\nint main() { k<<<1, 1>>>(0); }",
            "no job is written: it does not compile: ",
        ),
        ("a.cu", b"__global__ void k(int *x) {}\nint main() { k<<<1, 1>>>(0); }", "no pointer that is not null"),
    ],
)
def test_files_of_which_no_job_can_be_made(project: Project, name: str, content: bytes, message: str) -> None:
    path = project.root / name
    path.write_bytes(content)
    with pytest.raises(UsageError) as raised:
        new.draft_kernels(project, path)
    assert message in str(raised.value)
    assert not project.configs.exists()


def test_a_folder_is_refused_with_the_files_in_it(project: Project) -> None:
    with pytest.raises(UsageError, match=r"is a folder: name a file in it \(it has no .cu file itself\)"):
        new.draft_kernels(project, project.root)
    for number in range(7):
        (project.root / f"{number}.cu").touch()
    with pytest.raises(UsageError, match=r"\(one of 0.cu, 1.cu, 2.cu, 3.cu, 4.cu, …\)"):
        new.draft_kernels(project, project.root)


def test_a_part_of_another_file_names_that_file(project: Project) -> None:
    part, whole = project.root / "part.cuh", project.root / "whole.cu"
    part.write_text("__global__ void inner(float *x) { x[threadIdx.x] = 1; }\n")
    whole.write_text('#include "part.cuh"\nint main() { float *x; cudaMalloc(&x, 400); start(inner, x); }\n')
    (made,) = new.draft_kernels(project, part)
    hint = f"the launches: part.cuh is included by {whole}; `gpuregress new` of that file reads them"
    assert made.needed == (hint, NO_LAUNCH)
    assert f"# NEEDED: {NO_LAUNCH}." in made.path.read_text()


def test_a_part_of_another_file_has_the_launches_of_that_file(project: Project) -> None:
    part, whole = project.root / "part.cu", project.root / "whole.cu"
    part.write_text("struct Box { float a, b; };\n__global__ void inner(Box *x) { x[threadIdx.x].a = 1; }\n")
    host = "int main() { Box *x; cudaMalloc(&x, 100 * sizeof(Box)); inner<<<1, 100>>>(x); other<<<1, 2>>>(x); }\n"
    whole.write_text(f'#include "part.cu"\n__global__ void other(Box *x) {{ *x = {{}}; }}\n{host}')
    (made,) = new.draft_kernels(project, part)
    assert (made.kernel, made.is_launched, made.needed) == ("inner", True, ())
    text = made.path.read_text()
    assert "source: ../part.cu\n" in text
    assert "block: [100]" in text


def test_a_part_that_a_macro_of_that_file_changes_has_no_launches_of_it(project: Project) -> None:
    part, whole = project.root / "part.cu", project.root / "whole.cu"
    part.write_text("#ifndef N\n#define N 8\n#endif\n__global__ void inner(float *x) { x[threadIdx.x] = N; }\n")
    launch = "void go(float *x) { inner<<<1, N>>>(x); }\n"
    whole.write_text(f'#include "part.cu"\n#define N 16\n{launch}')
    (made,) = new.draft_kernels(project, part)
    assert made.is_launched
    made.path.unlink()
    whole.write_text(f'#define N 16\n#include "part.cu"\n{launch}')
    (made,) = new.draft_kernels(project, part)
    assert "`gpuregress new` of that file reads them" in made.needed[0]


def test_a_stop_while_that_file_is_read_is_obeyed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_types = HostProgram.ask_types

    def stop_in_includer(host: HostProgram, *arguments: Any, compiles_part: bool = False, **options: Any) -> None:
        if compiles_part:
            raise Interrupted("interrupted")
        ask_types(host, *arguments, **options)

    monkeypatch.setattr(HostProgram, "ask_types", stop_in_includer)
    part = project.root / "part.cu"
    part.write_text("__global__ void inner(float *x) { x[threadIdx.x] = 1; }\n")
    (project.root / "whole.cu").write_text('#include "part.cu"\nvoid go(float *x) { inner<<<1, 100>>>(x); }\n')
    with pytest.raises(Interrupted):
        new.draft_kernels(project, part)


def test_a_template_that_nothing_launches_has_guessed_arguments(project: Project) -> None:
    (made,) = new.draft_kernels(project, source(project, "template <typename T> __global__ void f(T *x) { *x = 1; }"))
    assert made.needed == (
        NO_LAUNCH,
        "the template arguments of f<float>: T = float is a guess, because nothing launches it",
    )


def test_a_template_whose_guess_does_not_compile_has_the_arguments_that_the_code_names(project: Project) -> None:
    text = "namespace a { enum class Mode { count, fill };\n"
    text += "template <Mode M, int N> __global__ void f(int *x) { static_assert(N < 17); *x = N; } }\n"
    text += "void run(int *x) { start(a::f<Mode::fill, 16>, x); start(f<Mode::count, 8>, x); }\n"
    (made,) = new.draft_kernels(project, source(project, text))
    assert made.needed[1].startswith("the template arguments of a::f<a::Mode::fill, 16>: M = a::Mode::fill, N = 16 is")


@pytest.mark.parametrize(
    ("fetch", "shape", "memory"),
    [
        ("tex2D<float>(t, 0, 0)", (64, 64), "array"),
        ("tex1Dfetch<float>(t, 0)", (1024,), "linear"),
        ("tex3D<float>(t, 0, 0, 0)", (16, 16, 16), "array"),
    ],
)
def test_a_texture_without_host_code(project: Project, fetch: str, shape: tuple[int, ...], memory: str) -> None:
    text = f"__global__ void f(cudaTextureObject_t t, float *y) {{ *y = {fetch}; }}"
    made = drafted(project, source(project, text))
    case = plan.make(project, (str(made.path),)).cases[0]
    assert case.buffers["t"].shape == shape
    assert case.buffers["t"].texture is not None
    assert case.buffers["t"].texture.memory == memory


def test_what_the_host_code_sets_to_nothing_is_told_and_overloads_are_told_apart(project: Project) -> None:
    text = (
        "__device__ int table[2], hits[2];\n"
        "__global__ void add(int *y, const int *x) { atomicAdd(y, x[threadIdx.x] + table[1] + hits[0]++); }\n"
        "__global__ void add(double *y, const int *x) { y[threadIdx.x] = x[0]; }\n"
        "int main() { int *y, *x, h[32], t[2]; double *d; cudaMalloc(&x, 128); cudaMalloc(&d, 256);cudaMalloc(&y, 4);\n"
        "for (int i = 0; i < 32; i++) h[i] = 3; cudaMemcpy(x, h, 128, cudaMemcpyHostToDevice); t[0] = t[1] = 7;\n"
        "cudaMemcpyToSymbol(table, t, 8); cudaMemcpyToSymbol(hits, t, 8);\n"
        "add<<<1, 32>>>(d, x);\nadd<<<1, 32>>>(y, x); }\n"
    )
    first, second = new.draft_kernels(project, source(project, text))
    told = "add updates y unwritten: the program sets nothing of y (mine.cu:4) before the launch at mine.cu:8, so it"
    assert any(one.startswith(told) for one in first.remarks)
    assert first.needed[0] == "y: its contents"
    jobs = [yaml.safe_load(one.path.read_text()) for one in (first, second)]
    kernels = ["add(int*, const int*)", "add(double*, const int*)"]
    assert [job["launches"][0]["kernel"] for job in jobs] == kernels
    path, target = project.root / "kernels/mine.cu", project.configs / "third.yaml"
    third = new.draft_kernels(project, path, kernel=kernels[0], target=target)
    assert third[0].others == (kernels[1],)
    assert "fill" not in jobs[0]["buffers"]["y"]
    assert jobs[0]["buffers"]["x"]["fill"] == {"value": 3}
    assert [jobs[0]["buffers"][name]["symbol"] for name in ("table", "hits")] == ["table", "hits"]
    assert all("fill" in jobs[0]["buffers"][name] for name in ("table", "hits"))
    assert jobs[1]["buffers"]["y"] == {"dtype": "float64", "shape": [32]}
    assert not any("unwritten" in one for one in second.remarks)


def test_contents_that_an_earlier_launch_makes_are_needed(project: Project) -> None:
    text = (
        "__global__ void init(int *p) { p[threadIdx.x] = threadIdx.x; }\n"
        "__global__ void find(int *p, const int *e, int *q) { p[threadIdx.x] = p[p[threadIdx.x]] + e[0] + q[0]; }\n"
        "int main() { int *p, *e, *q; cudaMalloc(&p, 128); cudaMalloc(&e, 128); cudaMalloc(&q, 128);\n"
        "cudaMemset(q, 0, 128); load(e);\ninit<<<1, 32>>>(p);\nfind<<<1, 32>>>(p, e, q); }\n"
    )
    path = source(project, text)
    assert drafted(project, path, kernel="init").needed == ()
    second = drafted(project, path, kernel="find")
    made = "its contents, which init may make at mine.cu:5: put that launch before this one"
    assert second.needed == (f"p: {made}", "e: its contents")
    written = second.path.read_text()
    assert f"# NEEDED: {made}" in written
    assert "fill: zeros" in written
    floats = text.replace("int *p", "float *p").replace("p[p[threadIdx.x]]", "p[1]").replace("int *e", "float *e")
    path = source(project, floats.replace("find", "sum").replace("init", "set").replace(", *e", "; float *e"))
    second = drafted(project, path, kernel="sum")
    assert second.needed == ()  # any floats are an input


def test_a_guessed_size_has_room_behind_its_offsets(project: Project) -> None:
    text = "__global__ void f(float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }\n"
    host = "void go(float *v, int n) { f<<<1, 32>>>(v, v + n); }\n"
    (made,) = new.draft_kernels(project, source(project, text + host))
    assert "shape: [32 + n]" in made.path.read_text()
    assert (made.guessed_sizes, made.buffer_bytes) == (("x",), 0)


def test_an_overload_that_no_launch_takes_is_drafted_from_none(project: Project) -> None:
    text = (
        "__global__ void scale(float *y, int n) { y[threadIdx.x] *= n; }\n"
        "__global__ void scale(double *y, int n) { y[threadIdx.x] *= n; }\n"
        "__global__ void norm(float *y, int n) { y[threadIdx.x] = n; }\n"
        "int main() { double *d; cudaMalloc(&d, 256); scale<<<1, 32>>>(d, 32); }\n"
    )
    drafts = new.draft_kernels(project, source(project, text))
    assert [one.is_launched for one in drafts] == [False, True, False]
    assert yaml.safe_load(drafts[1].path.read_text())["buffers"]["y"]["dtype"] == "float64"


def test_types_that_are_a_guess_are_whole_numbers_where_no_other_compiles(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        "template <class K, class V> __global__ void f(V *y, const K *x) { y[threadIdx.x] = x[0] % 3; }\n"
    )
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    (draft,) = new.draft_kernels(project, source)
    assert "the template arguments of f<int, int>: K = int, V = int is a guess" in draft.needed[1]


def test_a_template_argument_that_the_kernel_calls_is_a_class_of_the_source(project: Project) -> None:
    text = """namespace lib {
template <class T> struct Plain { T x; };
template <class T, class U> struct Both { __device__ T operator()(T a, U b) const { return a + b; } };
template <int N> struct Fixed { __device__ float operator()(float a) const { return N * a; } };
template <class T>
struct AtLeast {
  AtLeast(T x) : least(x) {}
  __device__ T operator()(T value) const { return value > least ? value : least; }
  T least;
};
template <class T, class F> __global__ void apply(F f, T *y) { y[threadIdx.x] = f(y[threadIdx.x]); }
}
"""
    (draft,) = new.draft_kernels(project, source(project, text))
    (launch,) = yaml.safe_load(draft.path.read_text())["launches"]
    assert launch["kernel"] == "lib::apply<float, lib::AtLeast<float>>"
    assert "F = lib::AtLeast<float> is a guess" in draft.needed[1]


def test_a_class_that_the_kernel_calls_is_named_with_its_namespace_and_has_an_effect(project: Project) -> None:
    text = """namespace lib {
struct OnHost { void operator()(int i) const { delete new int(i); } };
struct Idle { __device__ int operator()(int i) const { return i; } };
namespace inner { struct Count { int *n; __device__ void operator()(int i) const { atomicAdd(n, i); } }; }
}
namespace other { template <class F> __global__ void each(int n, F f) { if (threadIdx.x < n) f(threadIdx.x); } }
"""
    (draft,) = new.draft_kernels(project, source(project, text))
    (launch,) = yaml.safe_load(draft.path.read_text())["launches"]
    assert launch["kernel"] == "other::each<lib::inner::Count>"


@pytest.mark.parametrize(
    ("processes", "requests"),
    [
        (
            1,
            [
                ["layouts", "first<2>", "shift<float>", "later", "first<3>"],
                ["types of first<2>, first<3>"],
                ["shift<int>"],
            ],
        ),
        (
            2,
            [
                ["types of first<2>, first<3>", "layouts", "first<2>", "shift<float>", "later", "first<3>"],
                ["shift<int>"],
            ],
        ),
    ],
)
def test_the_kernels_of_a_source_and_their_types_are_asked_for_together(
    project: Project, monkeypatch: pytest.MonkeyPatch, processes: int, requests: list[list[str]]
) -> None:
    text = """template <int N> struct Pair { float *x; int n[N]; };
template <int N> __global__ void first(Pair<N> p) { p.x[p.n[0]] = 1; }
template <class T> __global__ void shift(T *x) { x[0] = x[0] << 1; }
struct Box { float x; };
__global__ void later(const Box *x, float *y) { y[0] = x[0].x; }
void go(float *x, float *y, Box *z) {
  Pair<2> p{x}; first<2><<<1, 1>>>(p); later<<<1, 1>>>(z, y);
  Pair<3> q{y}; first<3><<<1, 1>>>(q);
}
"""
    monkeypatch.setenv("GPUREGRESS_CACHE", str(project.root / "cache"))
    monkeypatch.setattr(first_programs, "process_count", lambda: processes)
    compile_sources = compilation.compile_sources
    asked: list[list[str]] = []

    def noted(sources: Sequence[Source], **_options: object) -> list[Result]:
        """Note what is asked for and not known yet."""
        names = [_asked_for(one) for one in sources if _is_missing(one)]
        if names:
            asked.append(names)
        return compile_sources(sources)

    monkeypatch.setattr(compilation, "compile_sources", noted)
    with compilation.keeping_compilers():
        new.draft_kernels(project, source(project, text))
    assert asked == requests


def _asked_for(one: Source) -> str:
    if one.harness:
        return "layouts"
    names = ", ".join(one.kernels)
    return f"types of {names}" if one.options else names


def _is_missing(one: Source) -> bool:
    try:
        return programs.find(one) is None
    except CompileError:
        return False


def test_template_arguments_are_found_in_the_namespace_of_the_kernel(project: Project) -> None:
    text = """namespace lib {
namespace types { enum class Mode { Less, More }; }
using types::Mode;
template <Mode M> __global__ void f(float *y) { y[threadIdx.x] = M == Mode::More ? 2 : 1; }
template <Mode M> void go(float *y) { f<M><<<1, 32>>>(y); }
void all(float *y) { go<Mode::More>(y); }
}
"""
    (draft,) = new.draft_kernels(project, source(project, f"\ufeff{text}"))  # a byte order mark
    (launch,) = yaml.safe_load(draft.path.read_text())["launches"]
    assert launch["kernel"] == "lib::f<lib::Mode::More>"


def test_macros_make_kernels_and_the_functions_that_launch_them(project: Project) -> None:
    text = """#define UNARY(name, ...) \\
  __global__ void name##_kernel(float* y) { y[threadIdx.x] = __VA_ARGS__; }
#define LAUNCH(name) \\
  void launch_##name(float* y, int n) { name##_kernel<<<1, n>>>(y); }
#define KERNEL __global__ void
#define FILL(T) KERNEL fill_##T(T* out, T value) { out[threadIdx.x] = value; }
#define FOR_TYPES(F) F(int) F(double)
const char *text = R"(} UNARY(none, 1) )";
UNARY(negate, -f(1, y[threadIdx.x]))
UNARY(twice, 2 * y[threadIdx.x])
LAUNCH(negate)
LAUNCH(twice)
namespace inner {
FOR_TYPES(FILL)
}
void go(float *y) { launch_negate(y, 32); launch_twice(y, 64); }
"""
    drafts = new.draft_kernels(project, source(project, f"__device__ float f(int, float x) {{ return x; }}\n{text}"))
    assert [one.kernel for one in drafts] == ["negate_kernel", "twice_kernel", "inner::fill_int", "inner::fill_double"]
    assert [one.is_launched for one in drafts] == [True, True, False, False]
    first, second = (yaml.safe_load(one.path.read_text()) for one in drafts[:2])
    assert [list(job["parameters"].values()) for job in (first, second)] == [[[32]], [[64]]]


def test_a_macro_without_parameters_may_launch_a_kernel(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        "#define LAUNCH \\\n  auto kernel = f<TILE>; \\\n  kernel<<<(n + TILE - 1) / TILE, TILE>>>(y, n);\n"
        "template <int TILE> __global__ void f(float *y, int n) { if (threadIdx.x < n) y[threadIdx.x] = TILE; }\n"
        "void run(float *y, int n) {\n  if (n > 100) {\n    constexpr int TILE = 64;\n    LAUNCH\n  }\n"
        "  else {\n    constexpr int TILE = 32;\n    LAUNCH\n  }\n}\n"
    )
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    (draft,) = new.draft_kernels(project, source)
    (launch,) = yaml.safe_load(draft.path.read_text())["launches"]
    assert draft.is_launched
    assert launch["kernel"] in ("f<64>", "f<32>")


def test_macros_that_are_branches_of_a_condition_may_launch_a_kernel(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        "#define CALL_IF(M, N) \\\n  else if (m == M && n == N) { f<M, N><<<n, 32>>>(y); }\n"
        "template <int M, int N> __global__ void f(float *y) { if (N == 3) y[threadIdx.x] = M; }\n"
        "void run(float *y, int m, int n) {\n  if (false) {}\n  CALL_IF(2, 3)\n  CALL_IF(4, 3)\n  else m = 0;\n}\n"
    )
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    (draft,) = new.draft_kernels(project, source)
    (launch,) = yaml.safe_load(draft.path.read_text())["launches"]
    assert launch["kernel"] in ("f<2, 3>", "f<4, 3>")


@pytest.mark.parametrize("bounds", ["__launch_bounds__(64)", "__launch_bounds__(130, 2)"])
def test_a_guessed_block_is_within_the_bounds_of_the_kernel(project: Project, bounds: str) -> None:
    flat = f"__global__ void {bounds} flat(float *y, int n) {{ y[threadIdx.x] = n; }}\n"
    plane = f"__global__ void {bounds} plane(float *y, int w, int h) {{ y[threadIdx.x] = w + h; }}\n"
    launched = f"__global__ void {bounds} launched(float *y) {{ y[threadIdx.x] = 1; }}\n"
    host = "void go(float *y, dim3 b, int m) { launched<<<1, m>>>(y); }\n"
    made = new.draft_kernels(project, source(project, flat + plane + launched + host))
    run = session.run(project, [str(one.path) for one in made], RunRequest(device="cpu"))
    assert {(verdict.job, verdict.status) for verdict in run.verdicts} == {
        ("flat", "new"),
        ("plane", "new"),
        ("launched", "new"),
    }


def test_a_number_that_the_kernel_takes_for_an_address_may_be_either(project: Project) -> None:
    text = """__global__ void k(float *y, unsigned long long address, int n) {
  y[threadIdx.x] = address ? ((const float *)address)[threadIdx.x] : 1;
}
"""
    (made,) = new.draft_kernels(project, source(project, text))
    draft = made.path.read_text()
    for argument in ("null", "{uint64: 0}", "y"):
        made.path.write_text(draft.replace("args: [y, null, {int32: n}]", f"args: [y, {argument}, {{int32: n}}]"))
        run = session.run(project, [str(made.path)], RunRequest(device="cpu"))
        assert {verdict.status for verdict in run.verdicts} == {"new"}
        assert argument in made.path.read_text()
