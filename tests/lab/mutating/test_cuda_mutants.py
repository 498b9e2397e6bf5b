"""Each operator on CUDA C++ makes the changes that its name says, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.lab.mutating import cuda_mutants, device_code, mutants
from gpuregress.lab.mutating.cuda_mutants import TABLE, other_number, plain
from gpuregress.lab.mutating.mutants import OPERATORS

FILE = Path("/k.cu")


def changed(operator: str, body: str) -> list[str]:
    """The bodies of a kernel after each change of one operator."""
    head, tail = "__global__ void k(int n, int w, float *a, double *b, unsigned *c)\n{", "}\n"
    text = f"{head}{body}{tail}"
    found = cuda_mutants.find_mutants(device_code.reached({FILE: text}, ["k"]))
    texts = [mutants.apply(text, one.edits) for one in found if one.operator == operator]
    return [one.removeprefix(head).removesuffix(tail) for one in texts]


@pytest.mark.parametrize(
    ("operator", "body", "after"),
    [
        ("boundary", "for (int i = 0; i < n; ++i) ;", ["for (int i = 0; i <= n; ++i) ;"]),
        ("boundary", "if (w >= n) return;", ["if (w > n) return;"]),
        ("barrier-removed", "__syncthreads(); __syncwarp(0xff); n = __syncthreads_count(n);", [
            "; __syncwarp(0xff); n = __syncthreads_count(n);",
            "__syncthreads(); ; n = __syncthreads_count(n);",
        ]),
        ("barrier-removed", "cg::grid_group g; g.sync(); cg::sync(g); barrier->arrive_and_wait(); sync_all(n);", [
            "cg::grid_group g; ; cg::sync(g); barrier->arrive_and_wait(); sync_all(n);",
            "cg::grid_group g; g.sync(); ; barrier->arrive_and_wait(); sync_all(n);",
            "cg::grid_group g; g.sync(); cg::sync(g); ; sync_all(n);",
        ]),
        ("barrier-removed", "__threadfence(); __threadfence_block();", [
            "; __threadfence_block();",
            "__threadfence(); ;",
        ]),
        ("barrier-removed", "wgmma::fence(); wgmma::wait<0>(); wgmma::commit();", [
            "; wgmma::wait<0>(); wgmma::commit();",
            "wgmma::fence(); ; wgmma::commit();",
        ]),
        ("barrier-removed", 'asm volatile("cp.async.wait_group 1;" ::: "memory"); asm("add.u32 %0, 1;" : "=r"(n));', [
            '; asm("add.u32 %0, 1;" : "=r"(n));',
        ]),
        ("barrier-removed", 'asm volatile("bar.sync 0;\\n" "st.shared.u32 [%0], 1;" :: "r"(n));', []),
        ("barrier-removed", "defence(n); fill_fenced(a);", []),
        ("index-off-by-one", "a[n - w] = 0;", ["a[(n - w) + 1] = 0;"]),
        ("thread-block-swapped", "n = threadIdx.x + blockIdx.y * blockDim.y;", [
            "n = blockIdx.x + blockIdx.y * blockDim.y;",
            "n = threadIdx.x + threadIdx.y * blockDim.y;",
        ]),
        ("plus-minus", "n = w + 1; n -= w;", ["n = w - 1; n -= w;", "n = w + 1; n += w;"]),
        ("constant", "n = w * 2; a[0] = 0.5f;", ["n = w * 3; a[0] = 0.5f;", "n = w * 2; a[0] = 1.5f;"]),
        ("constant", "__shared__ float t[8 * 4];", []),
        ("constant", "n = __shfl_sync(0xffffffff, n, x);", []),
        ("constant", 'static_assert(N == 2, "2"); f("1", R"(a[1] < 2)", \'1\'); // 1', []),
        ("plus-minus", "n = A<(1 + 2)>::v;", ["n = A<(1 - 2)>::v;"]),
        ("boundary", "n = w << 3; k<<<1, 2>>>(n);", []),
        ("boundary", "auto f = [=](int i) { return i < n; }; // i < n", [
            "auto f = [=](int i) { return i <= n; }; // i < n",
        ]),
        ("atomic-plain", "atomicAdd(&c[n], 1u); add(1);", [
            f"{plain('atomicAdd', ['&c[n]', '1u'])}; add(1);",
        ]),
        ("guard-dropped", "if (n < w) a[n] = 0;", ["if (true) a[n] = 0;"]),
        ("guard-dropped", "if (n < w && (w < 3 || n > 4)) a[n] = 0;", [
            "if (true) a[n] = 0;",
            "if (true && (w < 3 || n > 4)) a[n] = 0;",
            "if (n < w && true) a[n] = 0;",
            "if (n < w && (false || n > 4)) a[n] = 0;",
            "if (n < w && (w < 3 || false)) a[n] = 0;",
        ]),
        ("guard-dropped", "n = w > 1 && n; while (n || w) ;", []),
        ("guard-dropped", "if (n >= w) return;", ["if (false) return;"]),
        ("guard-dropped", "if (n >= w) { n = 0; return; }", ["if (false) { n = 0; return; }"]),
        ("guard-dropped", "a[0] = n < w ? a[n] : 0;", ["a[0] = true ? a[n] : 0;"]),
        ("guard-dropped", "if constexpr (sizeof(int) < 8) n = 0;", []),
        ("shared-array-small", "__shared__ float t[N][N + 1];", ["__shared__ float t[N - 1][N + 1];"]),
        ("shared-array-small", "float t[8]; extern __shared__ float u[];", []),
        ("double-float", "long double d;", []),
        ("unsigned-signed", "long unsigned int i; uint j;", ["long int i; uint j;", "long unsigned int i; int j;"]),
        ("double-float", "double d = (double)a[0];", ["float d = (double)a[0];", "double d = (float)a[0];"]),
        ("transposed", "a[n * w + threadIdx.x] = 0;", ["a[threadIdx.x * w + n] = 0;"]),
        ("transposed", "a[threadIdx.x + n * w] = 0;", ["a[n + threadIdx.x * w] = 0;"]),
        ("transposed", "a[32 * n + w] = 0;", ["a[32 * w + n] = 0;"]),
        ("transposed", "t[n][w] = 0;", ["t[w][n] = 0;"]),
        ("transposed", "a[n * 2 + w * 3] = 0;", []),
        ("mask-narrowed", "a[0] = __shfl_down_sync(~0u, a[0], 1);", [
            "a[0] = __shfl_down_sync((~0u) & 0xffffu, a[0], 1);",
        ]),
        ("mask-narrowed", "__syncwarp(); f(0xffffffffu);", []),
        ("unsigned-signed", "unsigned i = 0; unsigned long long j = 0; uint32_t k = 0; size_t l; unsigned char m;", [
            "int i = 0; unsigned long long j = 0; uint32_t k = 0; size_t l; unsigned char m;",
            "unsigned i = 0; long long j = 0; uint32_t k = 0; size_t l; unsigned char m;",
            "unsigned i = 0; unsigned long long j = 0; int32_t k = 0; size_t l; unsigned char m;",
            "unsigned i = 0; unsigned long long j = 0; uint32_t k = 0; long long l; unsigned char m;",
            "unsigned i = 0; unsigned long long j = 0; uint32_t k = 0; size_t l; signed char m;",
        ]),
    ],
)  # fmt: skip
def test_changes(operator: str, body: str, after: list[str]) -> None:
    assert changed(operator, body) == after


MACROS = """\
#define HALF(n) ((n) \\
    + 1)
#define WAIT __syncthreads()
#define COUNT 32
#define OPEN if (1) {
#define UNUSED (1 + 2)
typedef unsigned int word;
__global__ void k(int n)
{
    word i = HALF(n) * COUNT;
    OPEN WAIT; }
}
"""


def test_macros_and_names_of_types_that_are_used() -> None:
    found = cuda_mutants.find_mutants(device_code.reached({FILE: MACROS}, ["k"]))
    changes = {(one.operator, one.line): mutants.apply(MACROS, one.edits) for one in found}
    assert sorted(changes) == [
        ("barrier-removed", 3),
        ("constant", 2),
        ("constant", 4),
        ("plus-minus", 2),
        ("unsigned-signed", 7),
    ]
    assert "#define HALF(n) ((n) \\\n    - 1)\n" in changes["plus-minus", 2]
    assert "#define WAIT \n#define" in changes["barrier-removed", 3]
    assert "#define COUNT 33\n" in changes["constant", 4]
    assert "typedef int word;\n" in changes["unsigned-signed", 7]


def test_every_operator_has_its_entry_and_its_description() -> None:
    assert TABLE.keys() == OPERATORS.keys()


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("0", "1"),
        ("1u", "2u"),
        ("0xffUL", "0x100UL"),
        ("017", "16"),
        ("0b11", "4"),
        ("1'000", "1001"),
        ("-1", "(-1 + 1)"),
        ("-0.5f", "0.5f"),
        ("0.5", "1.5"),
        ("1e3f", "1001.0f"),
        ("2.", "3.0"),
        ("0x1p3", ""),
        ("+1", "2"),
        ("2147483647", "2147483646"),
        ("0xffffffffu", "0xfffffffeu"),
        ("-2147483647", "(-2147483647 + 1)"),
        ("1e30f", "5e+29f"),
        ("1e400", ""),
    ],
)
def test_other_numbers(text: str, other: str) -> None:
    assert other_number(text) == other


@pytest.mark.parametrize(
    ("function", "operands", "value"),
    [
        ("::atomicSub_block", ["v"], "mutant_was - mutant_first"),
        ("atomicMax_system", ["v"], "mutant_was > mutant_first ? mutant_was : mutant_first"),
        ("atomicExch", ["v"], "mutant_first"),
        ("atomicInc", ["v"], "mutant_was >= mutant_first ? 0 : mutant_was + 1"),
    ],
)
def test_an_operation(function: str, operands: list[str], value: str) -> None:
    assert plain(function, ["p", *operands]) == (
        "[&] { auto mutant_at = p; auto mutant_was = *mutant_at; decltype(mutant_was) mutant_first = v; "
        f"mutant_was = *mutant_at; *mutant_at = {value}; return mutant_was; }}()"
    )


def test_the_operand_of_an_addition_is_rounded_for_itself() -> None:
    text = plain("atomicAdd", ["&at[was]", "x * y"])
    assert "volatile decltype(mutant_was) mutant_first = x * y;" in text
    assert text.startswith("[&] { auto mutant_at = &at[was];")


def test_a_comparison_has_both_operands() -> None:
    text = plain("atomicCAS", ["p", "a++", "b"])
    assert text.count("a++") == 1
    assert "*mutant_at = mutant_was == mutant_first ? mutant_second : mutant_was;" in text


def test_other_calls_have_none() -> None:
    assert plain("atomicAdd", ["p"]) == plain("my_atomicAdd", ["p", "v"]) == plain("f", []) == ""


def probes(body: str, operator: str) -> list[str]:
    text = f"__global__ void k(int n, float *a) {{ {body} }}"
    found = cuda_mutants.find_mutants(device_code.reached({Path("/k.cu"): text}, ["k"]))
    (one,) = [one for one in found if one.operator == operator]
    texts = [mutants.apply(text, edits) for edits in one.probes]
    return [text.partition("{ ")[2][:-2] for text in texts]


def test_an_expression_traps_before_its_value_and_then_before_its_statement() -> None:
    assert probes("if (n) n = n + 1;", "plus-minus") == [
        "if (n) n = (__trap(), n + 1);",
        "if (n) { __trap(); n = n + 1; }",
    ]


def test_a_declaration_keeps_its_scope() -> None:
    assert probes("double d = n;", "double-float") == ["__trap(); double d = n;"]
    before = "n = 1; __shared__ alignas(8) "
    assert probes(f"{before}float t[2];", "shared-array-small") == [
        "n = 1; __trap(); __shared__ alignas(8) float t[2];"
    ]


def test_the_head_of_a_loop_traps_before_the_loop() -> None:
    (inner, outer) = probes("for (int i = 0; i < n; ++i) n = 0;", "boundary")
    assert inner == "for (int i = 0; (__trap(), i < n); ++i) n = 0;"
    assert outer == "{ __trap(); for (int i = 0; i < n; ++i) n = 0; }"


def test_a_barrier_is_a_statement() -> None:
    assert probes("if (n) __syncthreads();", "barrier-removed") == ["if (n) { __trap(); __syncthreads(); }"]


TEXT = """\
// a < b in a comment, "a < b" in a string, µ
#if 0
__device__ int dead(int a) { return a < 1; }
#endif
template <typename T> __device__ T used(T a) { return a < T(1) ? a : a + a; }
#ifdef WIDE
__device__ int width(int a) { return a <= 8; }
#else
__device__ int width(int a) { return a <= 4; }
#endif
__device__ int unused(int a) { return a < 2; }
__global__ void other(int n, int *out) { if (n < 3) *out = n; }
__global__ void kernel(int n, int *out) { if (n < 4) *out = used(n) + width(n); printf("%d < 5", n); }
int host(int n) { return n < 6; }
"""


def test_lines_and_order() -> None:
    found = cuda_mutants.find_mutants(device_code.reached({Path("/k.cu"): TEXT}, ["kernel"]))
    boundaries = [(one.line, one.what) for one in found if one.operator == "boundary"]
    assert boundaries == [
        (5, "`a < T(1)` → `a <= T(1)`"),
        (7, "`a <= 8` → `a < 8`"),
        (9, "`a <= 4` → `a < 4`"),
        (13, "`n < 4` → `n <= 4`"),
    ]
    assert [one.edits for one in found] == sorted(one.edits for one in found)
    assert len({(one.operator, one.edits) for one in found}) == len(found)
