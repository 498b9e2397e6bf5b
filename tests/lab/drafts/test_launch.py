"""Jobs from launches, as text: nothing is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuregress.foundation.records import MemberLayout, TypeLayout
from gpuregress.lab.drafts import kernel, types
from gpuregress.lab.drafts.compiled import CompiledKernel
from gpuregress.lab.drafts.launch import LaunchDraft
from gpuregress.lab.drafts.launch_facts import HostProgram
from gpuregress.virtual_gpu.buffer_accesses import Accesses


@pytest.fixture(autouse=True)
def without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "compiled", lambda *_: CompiledKernel())
    monkeypatch.setattr(types, "ask", lambda *_: {})


def drafted(folder: Path, text: str) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    source = folder / "app.cu"
    source.write_text(text)
    found = HostProgram(source)
    found.ask_types()
    facts = found.facts(found.kernels[0])
    assert facts is not None
    made = LaunchDraft(found.kernels[0], source, folder / "configs/app.yaml", facts)
    written = "\n".join(made.lines(()))
    return yaml.safe_load(written), written, made.needed


def test_formulas_sizes_values_and_constants(tmp_path: Path) -> None:
    job, _, needed = drafted(
        tmp_path,
        """#define TILE 16
__constant__ float taps[2 * TILE + 1];
template <typename T> __global__ void f(T *out, const T *in, float a, int n) { __shared__ T s[TILE]; }
int main() {
    int n = 1000;
    float h[2 * TILE + 1], *x, *y;
    for (int i = 0; i < n; i++) h[i] = 1.0f;
    cudaMemcpyToSymbol(taps, h, sizeof(h));
    cudaMalloc(&x, 2 * n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemcpy(x, h, 2 * n * sizeof(float), cudaMemcpyHostToDevice);
    f<<<(n + TILE - 1) / TILE, TILE, TILE * sizeof(float)>>>(y, x, 0.5f, n);
}
""",
    )
    assert job["parameters"] == {"n": [1000]}
    assert job["buffers"] == {
        "out": {"dtype": "float32", "shape": ["n"]},
        "in": {"dtype": "float32", "shape": ["2 * n"], "fill": {"value": 1.0}},
        "taps": {"dtype": "float32", "shape": [33], "fill": {"value": 1.0}, "symbol": "taps"},
    }
    (launch,) = job["launches"]
    assert launch == {
        "kernel": "f<float>",
        "grid": ["ceil(n / 16)"],
        "block": [16],
        "shared": 64,
        "args": ["out", "in", {"float32": 0.5}, {"int32": "n"}],
    }
    assert needed == ()


def test_what_is_unknown_is_marked_with_what_is_needed(tmp_path: Path) -> None:
    job, written, needed = drafted(
        tmp_path,
        "struct P { int a; };\n__global__ void f(float *out, int n, P p, int rows) {}\n"
        "void go(float *out, int n, P p) { f<<<n / 32, 32>>>(out, n, p, p.rows); }\n",
    )
    assert job["parameters"] == {"n": [1024]}
    assert job["launches"][0]["args"][3] == {"int32": 1}
    assert "n: [1024]   # NEEDED: its value; 1024 is a guess" in written
    assert [one.partition(":")[0] for one in needed] == ["n", "p", "rows", "out"]


def test_arrays_that_are_the_same_share_a_buffer(tmp_path: Path) -> None:
    job, _, _ = drafted(
        tmp_path,
        "__global__ void f(int *a, const int *b) {}\n"
        "int main() { int *p; cudaMalloc(&p, 40); load(p); f<<<1, 10>>>(p, p); }\n",
    )
    assert list(job["buffers"]) == ["a"]
    assert "fill" in job["buffers"]["a"]
    assert job["launches"][0]["args"] == ["a", "a"]


@pytest.mark.parametrize("rest", ["n % 256 > 0", "(n % 256 != 0)", "((n) % (256) > 0)"])
def test_a_quotient_and_its_remainder_are_rounded_up(tmp_path: Path, rest: str) -> None:
    text = "__global__ void f(int *a) {}\nvoid go(int *p, int n) { f<<<n / 256 + (%s), 256>>>(p); }\n"
    job, _, _ = drafted(tmp_path, text % rest)
    assert job["launches"][0]["grid"] == ["ceil(n / 256)"]


def test_the_guess_of_a_beginning_is_zero(tmp_path: Path) -> None:
    text = "__global__ void f(int *a) {}\nvoid go(int *p, int start_dim, int end) { f<<<end - start_dim, 1>>>(p); }"
    job, _, _ = drafted(tmp_path, text)
    assert job["parameters"] == {"end": [1024], "start_dim": [0]}


def test_many_parameters_with_long_names_leave_room_in_the_names_of_cases(tmp_path: Path) -> None:
    names = [f"number_of_things_{letter}" for letter in "abcdefghijklmnopq"]
    given = ", ".join(f"int {name}" for name in names)
    text = f"__global__ void f(int *a, {given}) {{}}\n"
    text += f"void go(int *p, {given}) {{ f<<<1, 32>>>(p, {', '.join(names)}); }}\n"
    job, written, needed = drafted(tmp_path, text)
    case = ",".join(f"{name}={value[0]}" for name, value in job["parameters"].items())
    assert list(job["parameters"])[:6] == [*names[:5], "n"]
    assert len(case) <= 200
    assert f"  # {names[-1]} is 1024 below   # NEEDED: its value; 1024 is a guess" in written
    assert len([note for note in needed if "its value" in note]) == len(names)


def test_a_template_argument_may_be_a_pointer(tmp_path: Path) -> None:
    text = (
        "template <typename T, typename S> __global__ void f(T *a, S scale, int n) {}\n"
        "void go(int *p, float *s) { f<int, const float *><<<1, 1>>>(p, s, 1); }\n"
    )
    job, _, _ = drafted(tmp_path, text)
    assert job["buffers"]["scale"]["dtype"] == "float32"
    assert job["launches"][0]["args"] == ["a", "scale", {"int32": 1}]


def test_a_formula_with_a_comma_is_quoted(tmp_path: Path) -> None:
    job, _, _ = drafted(
        tmp_path,
        "__global__ void f(int *a, int n) {}\nint main() { int n = 300, *p; cudaMalloc(&p, 4 * std::min(n, 64)); "
        "f<<<std::max(n, 8), 32>>>(p, std::min(n, 64)); }\n",
    )
    assert job["buffers"]["a"]["shape"] == ["min(n, 64)"]
    assert job["launches"][0]["grid"] == ["max(n, 8)"]
    assert job["launches"][0]["args"][1] == {"int32": "min(n, 64)"}


def test_what_depends_on_a_guess_and_has_no_formula_is_needed(tmp_path: Path) -> None:
    job, text, needed = drafted(
        tmp_path,
        "__global__ void f(int *a, bool b) {}\nvoid g(int *p, int n, bool b) { f<<<n & ~31, 32>>>(p, b); }\n",
    )
    (name,) = job["parameters"]
    assert job["launches"][0]["grid"] == [name]
    assert "# NEEDED" in next(line for line in text.splitlines() if line.startswith(f"  {name}:"))
    assert [one for one in needed if one.startswith(f"{name}: ")]
    assert [one for one in needed if one.startswith("b: ")]


def test_a_pointer_behind_the_beginning_of_its_buffer(tmp_path: Path) -> None:
    job, _, _ = drafted(
        tmp_path,
        "__global__ void f(int *a) {}\n"
        "int main() { int n = 300, *p; cudaMalloc(&p, 4 * n); f<<<1, 32>>>(p + n / 3); }\n",
    )
    assert job["launches"][0]["args"] == [{"pointer": "a", "offset": "n // 3 * 4"}]


def test_guessed_template_arguments_sizes_and_conditions_are_marked(tmp_path: Path) -> None:
    job, text, needed = drafted(
        tmp_path,
        """struct Item { int a; };
__constant__ float w[EXTENT(3)];
template <typename T, int N> __global__ void f(Item *items, float *out) {}
int main() {
    Item *items; float *out; float h[8];
    cudaMemcpyToSymbol(w, h, sizeof(h));
    cudaMalloc(&items, 9 * sizeof(Item));
    cudaMalloc(&out, 64);
    dim3 g = {2, probe(), 3};
    if (probe()) f<float><<<g, 64>>>(items, out);
}
""",
    )
    assert "# The program makes it on a condition that is not known, at app.cu:10." in text
    assert job["parameters"] == {"sizeof_Item": [4], "w_size": [1], "size_y": [1]}
    assert job["launches"][0]["grid"] == [2, "size_y", 3]
    assert job["launches"][0]["kernel"] == "f<float, 128>"
    assert "NEEDED: its template arguments; N = 128 is a guess" in text
    assert needed[0] == "the template arguments of f<float, 128>: N = 128 is a guess"
    assert {"sizeof_Item", "w_size", "size_y"} <= {one.partition(":")[0] for one in needed}


def test_memory_that_was_set_to_zero_before_it_was_copied(tmp_path: Path) -> None:
    job, _, _ = drafted(
        tmp_path,
        "__global__ void f(const int *a) {}\nint main() { int *p, *q; cudaMallocHost((void **)&q, 40);\n"
        "cudaMalloc((void **)&p, 40); memset(q, 0, 40); cudaMemcpyAsync(p, q, 40); f<<<1, 10>>>(p); }\n",
    )
    assert job["buffers"]["a"]["fill"] == "zeros"


def test_members_of_structures_are_arguments_and_buffers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = (
        MemberLayout("g.u", "float*", "pointer", 0, 8, 1),
        MemberLayout("g.n", "int", "int", 8, 4, 1),
        MemberLayout("a", "float", "float", 12, 4, 1),
        MemberLayout("v", "const float*", "pointer", 16, 8, 1),
        MemberLayout("w", "float", "float", 24, 4, 2),
    )
    monkeypatch.setattr(types, "ask", lambda *_: {"C": TypeLayout("class", 32, members)})
    job, written, needed = drafted(
        tmp_path,
        "struct G { float *u; int n; };\nstruct C { G g; float a; const float *v; float w[2]; };\n"
        "__global__ void f(C c) {}\nint main() { C c; int n = 100; c.g.n = n; c.a = 0.5f;\n"
        "cudaMalloc(&c.g.u, n * sizeof(float)); c.v = NULL; f<<<1, n>>>(c); }\n",
    )
    assert job["buffers"] == {"c_g_u": {"dtype": "float32", "shape": ["n"]}}
    numbers = {"g.n": {"int32": "n"}, "a": {"float32": 0.5}, "w[0]": {"float32": 0}, "w[1]": {"float32": 0}}
    (argument,) = job["launches"][0]["args"]
    assert argument["struct"] == {"g.u": "c_g_u", "v": None, **numbers}
    assert needed == ()
    assert "          w[0]: {float32: 0}   # the program does not set it" in written


def test_a_null_pointer_is_no_buffer(tmp_path: Path) -> None:
    job, _, needed = drafted(
        tmp_path,
        "__global__ void f(int *a, const int *b, int *c, int *d) {}\n"
        "int main() { int *p, *q = 0; cudaMalloc(&p, 40); fill(q); f<<<1, 10>>>(p, NULL, nullptr, q); }\n",
    )
    assert job["launches"][0]["args"] == ["a", None, None, "d"]
    assert (list(job["buffers"]), len(needed)) == (["a", "d"], 1)


def test_structures_have_the_members_that_the_compiler_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number = MemberLayout("n", "int", "int", 0, 4, 1)
    known = {
        "Pair": TypeLayout("class", 8, (number, MemberLayout("x", "float", "float", 4, 4, 1))),
        "Link": TypeLayout("class", 16, (number, MemberLayout("next", "Link*", "pointer", 8, 8, 1))),
        "Other": TypeLayout("class", 12),
    }
    monkeypatch.setattr(types, "ask", lambda *_: known)
    job, written, needed = drafted(
        tmp_path,
        "__global__ void f(Pair *p, const Pair *q, Link *l, Other *o, Pair by_value) {}\n"
        "int main() { int n = 6; Pair *p, *q, v; Link *l; Other *o; cudaMalloc(&p, n * sizeof(Pair));\n"
        "cudaMalloc(&q, 8 * n); cudaMalloc(&l, n * sizeof(Link)); cudaMalloc(&o, n * sizeof(Other));\n"
        "f<<<1, n>>>(p, q, l, o, v); }\n",
    )
    record = {"n": "int32", "x": "float32"}
    assert job["buffers"] == {
        "p": {"dtype": record, "shape": ["n"]},
        "q": {"dtype": record, "shape": ["n"]},
        "l": {"dtype": "uint8", "shape": ["n * 16"]},
        "o": {"dtype": "uint8", "shape": ["n * 12"]},
    }
    assert job["launches"][0]["args"][-1] == {"struct": {"n": {"int32": 1}, "x": {"float32": 1.0}}}
    assert set(needed) == {
        "by_value.n: its value (app.cu:4)",
        "by_value.x: its value (app.cu:4)",
        "q: its contents",
        "l: its contents: Link.next is a pointer, and a job's buffer holds none; gpuregress capture can record it",
        "o: its contents, in bytes: each Other has 12, and no dtype has its members",
    }
    assert "# NEEDED: its contents: Link.next is a pointer" in written


def test_textures_and_surfaces(tmp_path: Path) -> None:
    job, written, needed = drafted(
        tmp_path,
        "__global__ void f(float *y, cudaTextureObject_t t, cudaSurfaceObject_t s, cudaTextureObject_t lin,\n"
        "  cudaTextureObject_t u) { y[0] = tex2D<float>(t, 0, 0); }\n"
        "int main() { int w = 64, h = 32; float *x, *y; cudaMalloc(&x, w * 8); cudaMalloc(&y, 4); cudaArray_t a;\n"
        "cudaChannelFormatDesc c = cudaCreateChannelDesc<float>(); cudaMallocArray(&a, &c, w, h);\n"
        "cudaResourceDesc r = {}; r.res.array.array = a; cudaTextureDesc d = {}; d.filterMode = cudaFilterModeLinear;\n"
        "cudaTextureObject_t t, l; cudaSurfaceObject_t s; cudaCreateTextureObject(&t, &r, &d, NULL);\n"
        "cudaCreateSurfaceObject(&s, &r); cudaResourceDesc q = {}; q.resType = cudaResourceTypeLinear;\n"
        "q.res.linear.devPtr = x; q.res.linear.desc = cudaCreateChannelDesc<float2>(); cudaTextureDesc e = {};\n"
        "cudaCreateTextureObject(&l, &q, &e, NULL); f<<<1, 8>>>(y, t, s, l, other()); }\n",
    )
    normal = {"normal": {"std": 1.0}}
    assert job["buffers"] == {
        "y": {"dtype": "float32", "shape": [1]},
        "t": {"dtype": "float32", "shape": ["h", "w"], "fill": normal, "texture": {"filter": "linear"}},
        "s": {"dtype": "float32", "shape": ["h", "w"], "surface": True},
        "lin": {"dtype": "float2", "shape": ["w"], "fill": normal, "texture": {"memory": "linear"}},
        "u": {"dtype": "float32", "shape": [64, 64], "fill": normal, "texture": {"filter": "point"}},
    }
    assert job["launches"][0]["args"] == ["y", "t", "s", "lin", "u"]
    assert set(needed) == {
        "u: the memory and the settings of this texture (app.cu:9)",
        "t and s: one array of the program, which they are not here",
    }
    assert "# NEEDED: its dtype and shape, filter, address and read modes" in written


def test_contents_that_are_a_guess_are_marked(tmp_path: Path) -> None:
    _, written, needed = drafted(
        tmp_path,
        """__constant__ float taps[4];
struct V { float *p; };
__global__ void f(float *out, const float *a, const int *b, const float *c, const float *d, const float *e) {}
__global__ void g(V v) {}
int main() {
    float *out, *a, *c, *d, *e, t[4], *h = (float *)malloc(400); int *b;
    cudaMalloc(&out, 400); cudaMalloc(&a, 400); cudaMalloc(&b, 400); cudaMalloc(&c, 400); cudaMalloc(&d, 400);
    cudaMalloc(&e, 400);
    for (int i = 0; i < 4; i++) t[i] = i * 0.5f;
    cudaMemcpyToSymbol(taps, t, sizeof(t));
    load(h); cudaMemcpy(a, h, 400, cudaMemcpyHostToDevice); cudaMemcpy(b, h, 400, cudaMemcpyHostToDevice);
    cudaMemset(c, 0, 400); cudaMemset(d, 0, 40); cudaMemset(e, 0, 400);
    V v; v.p = e; g<<<1, 1>>>(v);
    f<<<1, 100>>>(out, a, b, c, d, e);
}
""",
    )
    lines = {line.partition(":")[0].strip(): line for line in written.splitlines() if "dtype:" in line}
    assert set(lines) == {"out", "a", "b", "c", "d", "e", "taps"}
    assert "# a, app.cu:7; random numbers, not the program's" in lines["a"]
    assert "# NEEDED: its contents; this fill is a guess; b, app.cu:7" in lines["b"]
    assert lines["c"].endswith("fill: zeros}   # c, app.cu:7")
    assert "shape: [100]}   # NEEDED: its contents; f takes it, and the program sets only the first 40 of" in lines["d"]
    made = "its contents, which g may make at app.cu:13: put that launch before this one"
    assert f"fill: zeros}}   # NEEDED: {made}; e, app.cu:8" in lines["e"]
    assert "# app.cu:10; random numbers, not the program's" in lines["taps"]
    assert needed == ("b: its contents", "d: its contents", f"e: {made}")


@pytest.mark.parametrize(
    ("before", "set_"),
    [
        ("", "nothing"),
        ("cudaMemset(d, 0, n);", "only the first 10 of the 40 bytes"),
        ("cudaMemcpy(d, h, n, K);", "only the first 10 of the 40 bytes"),
        ("cudaMemset(d, 0, 4); cudaMemset(d, 1, 8);", "only the first 8 of the 40 bytes"),
        ("keep<<<1, 1>>>(d);", "nothing"),
        ("printf(d); cudaFuncGetAttributes(&a, f);", "nothing"),
        ("cudaMemset(d, 0, n * sizeof(int));", ""),
        ("cudaMemcpy(d, h, sizeof(h), K);", ""),
        ("for (int i = 0; i < n; i++) cudaMemset(d + i, 0, 4);", ""),
        ("cudaMemset(d, 0, unknown());", ""),
        ("set<<<1, 10>>>(d);", ""),
        ("other<<<1, 10>>>(d);", ""),
        ("fill(&d);", ""),
        ("S s; s.p = d; cudaGraphAddMemsetNode(&s);", ""),
        ("cublasSgemm(d);", ""),
        ("cudaMemcpy3DParms q; q.dstPtr = make_cudaPitchedPtr(d, 40, 10, 1); cudaMemcpy3D(&q);", ""),
    ],
)
def test_what_the_program_does_not_set_is_not_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, set_: str
) -> None:
    accesses = Accesses((0, 8), read={0}, written={0}, updated={0})
    monkeypatch.setattr(kernel, "compiled", lambda *_: CompiledKernel(accesses=accesses))
    source = tmp_path / "app.cu"
    source.write_text(
        "struct S { int *p; };\n__global__ void f(int *y, int n) {}\n__global__ void keep(const int *y) {}\n"
        "__global__ void set(int *y) {}\n"
        "int main() { const int n = 10; int *d, h[n]; load(h); cudaMalloc(&d, 40);\n"
        f"{before}\nf<<<1, 10>>>(d, n); }}\n"
    )
    found = HostProgram(source)
    found.ask_types()
    facts = found.facts(found.kernels[0])
    assert facts is not None
    made = LaunchDraft(found.kernels[0], source, tmp_path / "configs/app.yaml", facts)
    (line,) = (line for line in made.lines(()) if line.startswith("  y: "))
    assert ("fill" not in line.partition("#")[0]) == bool(set_)
    assert (f"NEEDED: its contents; f updates it, and the program sets {set_} of it" in line) == bool(set_)
    told = f"f updates y unwritten: the program sets {set_} of d (app.cu:5) before the launch at app.cu:7, so it is not"
    assert any(one.startswith(told) for one in made.remarks) == bool(set_)


def test_a_launch_in_a_loop_is_its_first_turn_alone(tmp_path: Path) -> None:
    text = "__global__ void f(int *a, int n) {}\nint main() { int *p; cudaMalloc(&p, 400);\n"
    _, written, _ = drafted(
        tmp_path, f"{text}for (int k = 2; k < 99; k *= 2) for (int i = 0; i < k; i++) f<<<1, k>>>(p, i); }}\n"
    )
    assert "# The program makes it in the loop at app.cu:3: this is its first iteration." in written
    _, written, _ = drafted(tmp_path, f"{text}for (int k = 2; k < 9; k++) {{}} f<<<1, 2>>>(p, 2); }}\n")
    assert "loop" not in written


def test_numbers_are_converted_to_the_types_of_parameters(tmp_path: Path) -> None:
    job, _, _ = drafted(
        tmp_path,
        "__global__ void f(int *a, unsigned char b, short c, unsigned long long d, unsigned e) {}\n"
        "int main() { int *p; cudaMalloc(&p, 40); f<<<1, 2>>>(p, 300, 70000, ~0ULL, -1); }\n",
    )
    numbers = [{"uint8": 44}, {"int16": 4464}, {"uint64": 2**64 - 1}, {"uint32": 2**32 - 1}]
    assert job["launches"][0]["args"][1:] == numbers


def test_a_texture_and_a_pointer_of_one_array_are_told(tmp_path: Path) -> None:
    text = (
        "__global__ void f(int *y, cudaTextureObject_t t, int *z) { y[0] = tex1Dfetch<int>(t, 0); }\n"
        "int main() { int *x, *z; cudaMalloc(&x, 40); cudaMalloc(&z, 40); cudaResourceDesc q = {};\n"
        "q.resType = cudaResourceTypeLinear; q.res.linear.devPtr = x; cudaTextureDesc e = {}; cudaTextureObject_t t;\n"
        "q.res.linear.desc = cudaCreateChannelDesc<int>(); cudaCreateTextureObject(&t, &q, &e, NULL);\n"
    )
    job, written, needed = drafted(tmp_path, f"{text}f<<<1, 8>>>(x, t, z); }}\n")
    assert set(job["buffers"]) == {"y", "t", "z"}
    assert "# NEEDED: y and t are one array of the program" in written
    assert "y and t: one array of the program, which they are not here" in needed
    _, written, _ = drafted(tmp_path, f"{text}f<<<1, 8>>>(z, t, z); }}\n")
    assert "one array" not in written


def test_pointers_to_pointers_have_no_dtype(tmp_path: Path) -> None:
    job, written, needed = drafted(
        tmp_path,
        "__global__ void f(float **rows) {}\n"
        "int main() { float **d; cudaMalloc(&d, 4 * sizeof(float *)); f<<<1, 4>>>(d); }\n",
    )
    assert job["buffers"] == {"rows": {"dtype": "uint8", "shape": [32]}}
    assert "# NEEDED: its contents: float** points to pointers, and a job's buffer holds none" in written
    assert [one for one in needed if one.startswith("rows: its contents: float** points to pointers")]
