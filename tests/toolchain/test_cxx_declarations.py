from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpuregress.foundation.records import Entry, Parameter
from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.cxx_declarations import CxxParameter, Declaration


def _one(text: str) -> Declaration:
    (declaration,) = cxx_declarations.declarations(text)
    return declaration


def test_a_plain_kernel() -> None:
    actual = _one('// saxpy\n\nextern "C" __global__ void saxpy(int n, const float* __restrict__ x, float *y)\n{\n}\n')
    assert actual == Declaration(
        "saxpy",
        (),
        (
            CxxParameter("n", "int", pointer=False, const=False),
            CxxParameter("x", "const float*", pointer=True, const=True),
            CxxParameter("y", "float*", pointer=True, const=False),
        ),
        3,
    )


def test_namespaces_templates_and_attributes() -> None:
    actual = _one(
        "namespace a { namespace b::c {\n"
        "template <typename T = float, int N = (2 > 1 ? 4 : 8), class... Rest>\n"
        "static __global__ void __launch_bounds__(256, (2)) k(T x[], unsigned int n = N, Rest... rest);\n}}",
    )
    assert actual.name == "a::b::c::k"
    assert [text.split("=")[0].strip() for text in actual.template][:1] == ["typename T"]
    assert actual.parameters[0] == CxxParameter("x", "T*", pointer=True, const=False)
    assert actual.parameters[1] == CxxParameter("n", "unsigned int", pointer=False, const=False, default="N")


def test_the_attribute_may_stand_before_void() -> None:
    assert _one("__launch_bounds__(128) __global__ void k(void);").parameters == ()
    assert _one("__global__ __launch_bounds__(128) void k(float2 v);").parameters[0].type == "float2"


@pytest.mark.parametrize("head", ["void BOUNDS(256, N)", "BOUNDS(256) void", "BOUNDS() static void"])
def test_a_macro_before_the_name_may_have_arguments(head: str) -> None:
    assert _one(f"__global__ {head} k(int n) MORE(1) {{}}").parameters[0].name == "n"


@pytest.mark.parametrize("tail", ["noexcept(true)", "requires is_real(T)", "__attribute__((noinline))"])
def test_what_follows_parameters_without_names_is_not_the_name(tail: str) -> None:
    assert _one(f"template <class T> __global__ void k(T) {tail} {{}}").name == "k"
    assert _one(f"__global__ void k(int) MORE(1) {tail};").name == "k"


def test_names_are_optional_and_types_may_be_qualified() -> None:
    actual = _one("__global__ void k(unsigned long long, std::size_t n, const Params p, float const * const q, ns::T);")
    assert [(parameter.name, parameter.type) for parameter in actual.parameters] == [
        ("", "unsigned long long"),
        ("n", "std::size_t"),
        ("p", "Params"),
        ("q", "float const*"),
        ("", "ns::T"),
    ]


def test_pointers_among_template_arguments_make_no_pointer() -> None:
    actual = _one("__global__ void k(Array<T*, 8> a, const Array<int*, 2> *b, Map<A<int>*, const float*> const &c);")
    assert [(one.type, one.pointer, one.const) for one in actual.parameters] == [
        ("Array<T*, 8>", False, False),
        ("const Array<int*, 2>*", True, True),
        ("Map<A<int>*, float*>&", False, True),
    ]


def test_strings_comments_and_macros_hide_nothing_and_add_nothing() -> None:
    text = """
    #define KERNEL __global__ void made(int)
    const char* s = "__global__ void in_string(int)";
    const char* r = R"x(
        __global__ void in_raw_string(int) { say(")"); } // "
    )x";
    const char* l = "__global__ void in_line(int) \\
        __global__ void in_next_line(int) {";
    #define TEXT_OF(...) #__VA_ARGS__
    #define PROGRAM(...) "#include <x>" TEXT_OF(__VA_ARGS__)
    const char* m = PROGRAM(
        __global__ void in_macro(int) { say(")"); });
    #define CHECK(call) do { call; say(#call); } while (0)
    inline void f() { CHECK(g((1))); }
    /* __global__ void in_comment(int) */
    __device__ void helper(int);
    namespace z = other;
    using namespace std;
    __global__ void real(int /* the count */ n, char c = ',');
    """
    actual = _one(text)
    assert actual.name == "real"
    assert [parameter.name for parameter in actual.parameters] == ["n", "c"]


def test_macros_make_kernels_by_the_definitions_that_hold() -> None:
    text = """
    #ifndef HALF
    #define KERNEL(name) __global__ void name(float *x, int n)
    #else
    #define KERNEL(name) __global__ void name(__half *x, int n)
    #endif
    KERNEL(either) {}
    #undef KERNEL
    #define KERNEL(name) \\
        __global__ void name(double *x)
    KERNEL(later) {}
    #undef KERNEL
    KERNEL(never) {}
    """
    declared = cxx_declarations.declarations(text)
    assert [f"{one}: {one.parameters[0].type}" for one in declared] == [
        "either: float*",
        "later: double*",
        "either: __half*",
    ]
    assert cxx_declarations.find(declared, "either", 2) is None


def test_brackets_and_commas_in_characters_are_none_of_a_macro_s_call() -> None:
    text = "#define KERNEL(name, sign, T) __global__ void name(T *x) { x[0] = sign; }\n"
    text += "KERNEL(a, ')', char)\nKERNEL(b, ',', int)\nKERNEL(c, 1'000, short)\n__global__ void d(float *y) {}\n"
    declared = cxx_declarations.declarations(text)
    assert [f"{one}({one.parameters[0].type})" for one in declared] == ["a(char*)", "b(int*)", "c(short*)", "d(float*)"]


def test_a_declaration_and_its_definition_are_one() -> None:
    assert len(cxx_declarations.declarations("__global__ void k(int);\n__global__ void k(int n) {}")) == 1


def test_template_arguments_in_a_parameter_do_not_split_it() -> None:
    actual = _one("__global__ void k(Pair<int, float> p, Array<Box<int>> q);")
    assert [parameter.name for parameter in actual.parameters] == ["p", "q"]


def test_names_and_kinds_reach_the_entry() -> None:
    entry = Entry("_Z1kPfxd", (Parameter(8, 8, "word"), Parameter(8, 8, "word"), Parameter(8, 8, "float")))
    declared = cxx_declarations.declarations("__global__ void k(float* x, long long n, double a);")
    named = cxx_declarations.name_parameters(entry, "k", declared)
    assert [(parameter.name, parameter.kind) for parameter in named.parameters] == [
        ("x", "pointer"),
        ("n", "integer"),
        ("a", "float"),
    ]


@pytest.mark.parametrize("written", ["unsigned", "long long unsigned int", "std::uint64_t", "size_t", "signed long"])
def test_integers_of_eight_bytes_are_known(written: str) -> None:
    declared = cxx_declarations.declarations(f"__global__ void k({written} n, Handle h);")
    entry = Entry("k", (Parameter(8, 8, "word"), Parameter(8, 8, "word")))
    assert [p.kind for p in cxx_declarations.name_parameters(entry, "k", declared).parameters] == ["integer", "word"]
    entry = Entry("k", (Parameter(8, 8, "pointer"), Parameter(8, 8, "pointer")))
    assert [p.kind for p in cxx_declarations.name_parameters(entry, "k", declared).parameters] == ["word", "pointer"]


def test_two_candidates_name_nothing() -> None:
    entry = Entry("k", (Parameter(4, 4, "integer"),))
    declared = (
        *cxx_declarations.declarations("namespace a{__global__ void k(int n);} namespace b{__global__ void k(int m);}"),
    )
    assert cxx_declarations.name_parameters(entry, "k", declared) == entry


def test_variables() -> None:
    text = "__constant__ float d_taps[17]; __device__ int a = 3;\n__device__ int f(int x) { return x; }"
    assert cxx_declarations.variable_names(text) == ["d_taps", "a"]


def test_variables_have_types_unless_two_have_one_name() -> None:
    text = "__constant__ unsigned int a[4]; __device__ float b = 1; namespace n { __device__ int b; }"
    assert cxx_declarations.variable_types(text) == {"a": "unsigned int", "b": ""}
    both = "__device__ __managed__ float hits[4];"
    assert cxx_declarations.variable_types(both) == {"hits": "float"}


def test_a_kernel_is_found_by_name_and_count_where_it_is_the_only_one() -> None:
    text = "namespace n { template <typename T> __global__ void k(T *x); } __global__ void j(int a); "
    declared = cxx_declarations.declarations(text)
    found = cxx_declarations.find([*declared, *declared], "k<float>", 1)
    assert found is not None
    assert found.name == "n::k"
    assert cxx_declarations.find(declared, "n::k", 2) is None
    assert cxx_declarations.find(cxx_declarations.declarations(f"{text} __global__ void k(int a);"), "k", 1) is None
    assert cxx_declarations.template_arguments("n::k<Pair<int, 2>, 3>") == ["Pair<int, 2>", "3"]


@given(st.text(alphabet="__global__ void k(int*,)<>{};:=\"'/\n", max_size=120))
@example("__global__ void k(const [3]);")
def test_no_text_breaks_it(text: str) -> None:
    cxx_declarations.declarations(text)


@pytest.mark.parametrize(
    ("declared", "const"),
    [
        ("const float *x", True),
        ("float const *x", True),
        ("const float *const x", True),
        ("float *const x", False),
        ("const float **x", False),
        ("float *const *x", True),
        ("const float x[]", True),
        ("const float *x[]", False),
        ("const int n", True),
    ],
)
def test_const_is_what_the_parameter_points_to(declared: str, *, const: bool) -> None:
    assert _one(f"__global__ void k({declared}) {{}}").parameters[0].const is const


def words(text: str) -> list[str]:
    return cxx_declarations.WORD.findall(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("int a, float b", ["int a", "float b"]),
        ("map<int, float> m, int (*f)(int, int)", ["map<int, float> m", "int(* f)(int, int)"]),
        ("char c = ',', const char* s = \"a,b\"", ["char c=','", 'const char* s="a,b"']),
    ],
)
def test_a_list_is_split_at_its_own_commas(text: str, parts: list[str]) -> None:
    assert [cxx_declarations.spelled(part) for part in cxx_declarations.split(words(text))] == parts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unsigned long long n", CxxParameter("n", "unsigned long long", pointer=False, const=False)),
        ("const float* __restrict__ x", CxxParameter("x", "const float*", pointer=True, const=True)),
        ("T out[4]", CxxParameter("out", "T*", pointer=True, const=False)),
        ("int k = f(1, 2)", CxxParameter("k", "int", pointer=False, const=False, default="f(1, 2)")),
        ("unsigned int", CxxParameter("", "unsigned int", pointer=False, const=False)),
    ],
)
def test_parameters(text: str, expected: CxxParameter) -> None:
    assert cxx_declarations.parameter(words(text)) == expected


@given(st.lists(st.sampled_from(["a", "int", "<", ">", "(", ")", ",", "*", "&", "::", "3"])))
def test_any_words_are_split_without_a_loss(given_words: list[str]) -> None:
    kept = [word for part in cxx_declarations.split(given_words) for word in part]
    assert [word for word in kept if word != ","] == [word for word in given_words if word != ","]
