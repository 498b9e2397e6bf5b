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
    inserted = [*edits.inserted, *((at, "@") for at in edits.annotated)]
    for at, what in sorted(inserted, reverse=True):
        plain.insert(at, what)
    return " ".join("".join(plain).split())


def test_functions_and_variables_of_the_host_go() -> None:
    host = "int n = 5; static float* h; void f(int a); int main() { k<<<1, 1>>>(); }"
    host += " template <typename T> T g(T x) { return x; }"
    assert kept(f"{host} __global__ void k() {{}}") == "__global__ void k() {}"


def test_functions_of_the_host_go_after_what_the_grammar_misreads() -> None:
    text = """\
inline int size() { return 2; }
inline bool is_on(const int *v, int i) { return(unsigned(i)<size()&&v[i].on); }
inline void turn(int *v, int i) { if(unsigned(i)<size())v[i].on=1; }
inline void all(int *v) { for(unsigned c=0;c<2;c++)v[c].on=1; }
"""
    kernel = "__global__ void k(int* y) { if(unsigned(y[0])<2)y[0]=1; }"
    assert kept(f"{text}{kernel}") == kernel


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
    expected = "struct S { @S(int a) ; S() = default; __device__ int get() const { return a; }"
    expected += " @virtual int shape() = 0; int a; };"
    assert kept(text) == f"{expected} __global__ void k(S s) {{}}"


def test_a_swallowed_kernel_is_never_removed() -> None:
    text = "void f() { { \n __global__ void k() {} \n }"
    assert "__global__ void k" in kept(text)


def test_macros_that_make_kernels_stay_and_those_unknown_go() -> None:
    text = "#define MAKE(n) __global__ void n() {}\n#define CALL(n) void n() {}\nMAKE(a);\nCALL(b);\nTORCH_THING(c);\n"
    assert kept(text) == "MAKE(a);"


def test_macros_that_make_templates_of_host_functions_go() -> None:
    text = """\
#define COMPARE(name, op) \\
  template <class T> inline bool name##Impl(const T& a, const T& b) { if (LIKELY(a op b)) return true; return log(a); }
#define BOTH(name) template <class T> __host__ __device__ bool name(T a) { return a; }
#define CONSTANT(name) template <class T> constexpr bool name(T a) { return a; }
#define TYPE(name) template <class T> struct name {};
COMPARE(less, <);
BOTH(both);
CONSTANT(constant);
TYPE(type);
"""
    assert kept(text) == "BOTH(both); CONSTANT(constant); TYPE(type);"


def test_an_enumeration_of_macros_goes_or_stays_whole() -> None:
    text = """\
#define MAKE(name, number) NAME_ ## name = number
typedef enum {
  MAKE(ONE, 1),
#ifdef MORE
  MAKE(TWO, 2),
#endif
  MAKE(THREE, 3),
  LAST
} Option;
__global__ void k(int* x) { x[0] = 1; }
"""
    assert kept(text) == "__global__ void k(int* x) { x[0] = 1; }"
    for name in ("LAST", "(Option)1"):
        assert "typedef enum { MAKE(ONE, 1)," in kept(text.replace("x[0] = 1", f"x[0] = {name}"))
        assert "LAST } Option;" in kept(text.replace("x[0] = 1", f"x[0] = {name}"))


def test_macros_of_a_type_need_no_semicolon_to_be_the_hosts() -> None:
    text = """\
#define RUN(T, ...) template void run<T>(T*);
#define KERNEL(T) template __global__ void k<T>(T*);
template <class T> __global__ void k(T* x) {}
template <class T> void run(T* x) {}
RUN(float, 3)
KERNEL(float)
RUN(unsigned char)
RUN(__half)
"""
    assert kept(text) == "template <class T> __global__ void k(T* x) {} KERNEL(float)"


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


def test_special_members_are_declared_because_layout_and_traits_depend_on_them() -> None:
    text = "struct S { S(int a) : x(a) {} ~S() { free(p); } S& operator=(const S& o) { return *this; } int x; };"
    text += " __device__ S* s;"
    declared = "struct S { @S(int a) ; @~S() ; @S& operator=(const S& o) ; int x; }; __device__ S* s;"
    assert kept(text) == declared


def test_an_empty_constructor_stays_empty() -> None:
    assert kept("struct S { S() {} }; __device__ S s;") == "struct S { @S() {} }; __device__ S s;"


def test_a_constructor_with_types_of_the_host_becomes_another() -> None:
    text = "struct H { int n; }; struct S { S(H h) { f(h); } int x; }; __device__ S* s;"
    assert kept(text) == (
        "struct S { __host__ __device__ S(struct gpuregress_host_type_32*); int x; }; __device__ S* s;"
    )


def test_host_members_that_device_code_may_ask_about_are_declared() -> None:
    text = "struct V { int size() const { return n; } auto begin() { return p; } int other() { return 1; } };"
    text += " __device__ int f(V v) { return sizeof(v.size()) + sizeof(v.begin()); }"
    assert kept(text).startswith("struct V { @int size() const ; @auto begin() { return p; } };")


def test_host_functions_named_by_an_operand_that_is_not_evaluated_are_declared() -> None:
    text = "char test(int) { return 0; } long other(int) { return 0; } template <class T> long test(T);"
    text += " S::test() {} __device__ int f() { return sizeof(test(1)) + other; }"
    expected = (
        "@char test(int) ; template <class T> @long test(T); __device__ int f() { return sizeof(test(1)) + other; }"
    )
    assert kept(text) == expected


def test_nothing_within_device_code_is_removed_where_the_grammar_fails() -> None:
    text = "#define BEGIN(n) __global__ void n(int* o) {\n#define END }\nBEGIN(k)\n o[0] = 1;\n o[1] = 2;\nEND"
    assert kept(text) == "BEGIN(k) o[0] = 1; o[1] = 2; END"


def test_variables_of_classes_go() -> None:
    text = "struct S { static int n; static const int m = 1; int x; API static const char *a; }; __device__ S* s;"
    assert kept(text) == "struct S { static const int m = 1; int x; }; __device__ S* s;"
    constant = "struct S { static const char *const a; static constexpr const char *b = 0; static const P<int *> c; };"
    constant += " __device__ S* s;"
    assert kept(constant) == constant


def test_code_in_a_string_of_the_host_is_no_kernel() -> None:
    assert kept('const char* s = "__global__ void f() {}"; __device__ int x;') == "__device__ int x;"


def test_a_macro_may_make_a_function_constexpr() -> None:
    text = "#define CXX17 constexpr\nCXX17 auto f() { return 1; } using T = decltype(f()); __device__ T t;"
    assert kept(text).startswith("@CXX17 auto f() { return 1; }")


def test_virtual_members_that_are_defaulted_are_annotated() -> None:
    text = "struct S { virtual ~S() = default; }; __device__ S* s;"
    assert kept(text) == "struct S { @virtual ~S() = default; }; __device__ S* s;"


def test_a_macro_among_members_is_no_declaration() -> None:
    text = "#define CHECK(x) static_assert(sizeof(x))\nstruct S { CHECK(int); int x; };"
    assert "@CHECK" not in kept(f"{text} __device__ void f(S s) {{ CHECK(char); }}")


def test_a_macro_with_braces_among_members_stays_as_it_is() -> None:
    text = "struct S { CHECK(A{} % B{} == C<0>{}); }; __device__ int f(S s);"
    assert kept(text) == text


def test_macros_among_members_stay_where_they_may_declare_data() -> None:
    """A lost data member would move those behind it, and the kernel would read others."""
    text = """\
#define FIELD(type, name) type name
#define TWO(name) FIELD(int, name##_a); FIELD(int, name##_b)
#define GETTER(name) int get_##name() const { return name; }
#define NO_COPY(name) name(const name&) = delete
struct S {
  FIELD(int, a);
  TWO(b)
  int c;
  GETTER(c)
  NO_COPY(S);
  ELSEWHERE(int, d)
  float e;
};
__global__ void k(S* s, float* y) { y[0] = s->e; }
"""
    stays = kept(text)
    assert "{ FIELD(int, a); TWO(b) int c; ELSEWHERE(int, d) float e; }" in stays


def test_what_follows_a_macro_that_makes_a_whole_member_is_read() -> None:
    text = """\
#define TYPE(id) __host__ __device__ static constexpr int type() { return id; }
#define NUMBER(id) static constexpr int number = id;
struct S {
  TYPE(4)
  S() : a(1) {}
  NUMBER(4)

  explicit S(int b) { host(b); }
  float a;
};
__global__ void k(S* s, float* y) { y[0] = s->a; }
"""
    stays = kept(text)
    assert "struct S { TYPE(4) @S() ; NUMBER(4) @explicit S(int b) ; float a; };" in stays


def test_a_class_whose_end_the_grammar_misses_stays_whole() -> None:
    text = """\
#define METHOD(name) void name() {
#define END }
#define BEGIN(name) struct name {
#define OVER };
struct S { int a; METHOD(f) a = 1; END int b; METHOD(g) a = 2; END float c; };
BEGIN(T) int a; int unused; float c; OVER
struct Host { int a; METHOD(f) a = 1; END int b; };
__global__ void k(S* s, T* t, float* y) { y[0] = s->c + t->c; }
"""
    stays = kept(text)
    assert "struct S { int a; METHOD(f) a = 1; END int b; METHOD(g) a = 2; END float c; };" in stays
    assert "BEGIN(T) int a; int unused; float c; OVER" in stays
    assert "Host" not in stays


def test_a_specialization_through_two_macros_stays() -> None:
    text = """\
#define SPECIALIZE_AS(T, n) template <> struct Size<T> { static const int value = n; };
#define SPECIALIZE(T) SPECIALIZE_AS(T, 8)
template <typename T> struct Size { static const int value = 4; };
SPECIALIZE(double)
REGISTER(double);
__global__ void k(int* x) { x[0] = Size<double>::value; }
"""
    assert "SPECIALIZE(double)" in kept(text)
    assert "REGISTER" not in kept(text)
