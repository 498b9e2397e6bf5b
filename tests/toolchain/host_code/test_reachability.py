from __future__ import annotations

from gpuregress.toolchain.host_code import declarations, reachability
from gpuregress.toolchain.host_code.preprocessing import CxxText, Macros


def kept(text: str, *named: str) -> str:
    """Return what stays of a text with one view, without blanks."""
    source = CxxText(text)
    macros = Macros([source.macros])
    views = declarations.views(source, macros)
    ((edits,),), _ = reachability.select([views], macros, named)
    plain = list(views[0].code)
    for start, end in edits.removed:
        plain[start:end] = " " * (end - start)
    for at in sorted(edits.annotated, reverse=True):
        plain.insert(at, "@")
    return " ".join("".join(plain).split())


def test_functions_and_variables_of_the_host_go() -> None:
    host = "int n = 5; static float* h; void f(int a); int main() { k<<<1, 1>>>(); }"
    host += " template <typename T> T g(T x) { return x; }"
    assert kept(f"{host} __global__ void k() {{}}") == "__global__ void k() {}"


def test_what_device_code_names_stays_directly_or_through_another() -> None:
    text = """\
#define LIMIT (kMost + 1)
const int kMost = 4;
const int unused = 5;
typedef float real;
struct Box { real x; };
struct Other { int y; };
using Pair = Box;
enum { kOne, kTwo };
__device__ int f(Pair p) { return LIMIT + kTwo; }
"""
    stays = kept(text)
    assert "kMost = 4" in stays
    assert "struct Box" in stays
    assert "enum" in stays
    assert "typedef float real" in stays
    assert "unused" not in stays
    assert "Other" not in stays


def test_what_the_job_names_stays() -> None:
    text = "struct Traits { enum { n = 4 }; }; template <class T> __global__ void k() {}"
    assert "Traits" not in kept(text)
    assert "struct Traits" in kept(text, "k", "Traits")


def test_constexpr_functions_get_an_annotation_where_device_code_calls_them() -> None:
    assert kept("constexpr int half(int n) { return n / 2; } __global__ void k(int* x) { x[half(2)] = 1; }").startswith(
        "@constexpr int half"
    )
    assert kept("constexpr int half(int n) { return n / 2; } __global__ void k() {}") == "__global__ void k() {}"


def test_members_of_the_host_go_from_a_class_of_both() -> None:
    text = """\
struct S {
  S(int a) : a(a) {}
  S() = default;
  __device__ int get() const { return a; }
  virtual int shape() = 0;
  int host() { return rand(); }
  int a;
};
__global__ void k(S s) {}
"""
    expected = "struct S { S() = default; __device__ int get() const { return a; } @virtual int shape() = 0; int a; };"
    assert kept(text) == f"{expected} __global__ void k(S s) {{}}"


def test_a_swallowed_kernel_is_never_removed() -> None:
    text = "void f() { { \n __global__ void k() {} \n }"
    assert "__global__ void k" in kept(text)


def test_macros_that_make_kernels_stay_and_those_unknown_go() -> None:
    text = "#define MAKE(n) __global__ void n() {}\n#define CALL(n) void n() {}\nMAKE(a);\nCALL(b);\nTORCH_THING(c);\n"
    assert kept(text) == "MAKE(a);"


def test_instantiations_and_namespaces() -> None:
    text = """\
namespace own {}
using namespace own;
using namespace cv;
using namespace std;
template <class T> __global__ void k(T x) {}
template <class T> void run() {}
template __global__ void k<int>(int);
template void k<float>(float);
template void run<int>();
static_assert(sizeof(int) == 4);
"""
    stays = kept(text)
    assert [word in stays for word in ("own;", "cv;", "std;", "k<int>", "k<float>", "run", "static_assert")] == [
        *(True, False, True),
        *(True, True, False),
        True,
    ]
