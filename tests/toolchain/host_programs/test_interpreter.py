from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.toolchain.host_programs import program, scalars
from gpuregress.toolchain.host_programs.interpreter import Interpreter, split_arguments
from gpuregress.toolchain.host_programs.objects import ArrayPointer, SeenLaunch
from gpuregress.toolchain.host_programs.scalars import HostScalar

KERNEL = "__global__ void k(float *y, const float *x, int n) {}\n"


def launches(folder: Path, text: str) -> list[SeenLaunch]:
    source = folder / "app.cu"
    source.write_text(text)
    run = Interpreter(program.read(source))
    run.run()
    return run.launches


def formula(value: object) -> str:
    assert isinstance(value, HostScalar)
    return scalars.text(value, lambda leaf: leaf.name)


def test_a_launch_in_main_has_its_formulas(tmp_path: Path) -> None:
    (launch,) = launches(
        tmp_path,
        KERNEL
        + """#define CHECK(x) do { if ((x) != cudaSuccess) exit(1); } while (0)
#define DIV_UP(a, b) (((a) + (b) - 1) / (b))
int main(int argc, char **argv) {
    int n = 4096;
    if (argc > 1) n = atoi(argv[1]);
    size_t bytes = n * sizeof(float);
    float *x, *y;
    float *h = (float *)malloc(bytes);
    for (int i = 0; i < n; i++) h[i] = rand() / (float)RAND_MAX;
    CHECK(cudaMalloc((void **)&x, bytes));
    CHECK(cudaMalloc(&y, bytes));
    cudaMemcpy(x, h, bytes, cudaMemcpyHostToDevice);
    dim3 threads(128), blocks(DIV_UP(n, threads.x), 2);
    k<<<blocks, threads, 4 * threads.x>>>(y, x, n);
}
""",
    )
    assert launch.grid is not None
    assert launch.block is not None
    assert [formula(one) for one in launch.grid] == ["ceil(n / 128)", "2", "1"]
    assert launch.block[0].number == 128
    assert launch.shared.number == 512
    assert launch.where == "app.cu:15"
    y, x, n = launch.arguments
    assert formula(n) == "n"
    assert isinstance(x, ArrayPointer)
    assert isinstance(y, ArrayPointer)
    assert x.memory.bytes is not None
    assert formula(scalars.quotient(x.memory.bytes, 4)) == "n"
    stored = x.memory.origins()[-1].stored
    assert stored is not None
    assert (x.memory.is_filled, stored.number, stored.high, y.memory.is_filled) == (True, 0.0, 1.0, False)


def test_the_branch_that_is_taken_has_its_template_arguments(tmp_path: Path) -> None:
    text = """template <typename T, int B> __global__ void k(T *y) {}
template <class T> void go(int block) {
    T *y;
    cudaMalloc(&y, 64 * sizeof(T));
    switch (block) {
        case 16: k<T, 16><<<4, block>>>(y); break;
        default: k<T, 32><<<2, block>>>(y);
    }
}
int main() { go<double>(32); }
"""
    found = {one.template: one.branches_not_taken for one in launches(tmp_path, text)}
    assert found == {("double", "16"): 1, ("double", "32"): 0}


def test_a_function_that_nobody_calls_runs_with_unknown_values(tmp_path: Path) -> None:
    (launch,) = launches(tmp_path, KERNEL + "void go(float *y, float *x, int n) { k<<<(n + 63) / 64, 64>>>(y, x, n); }")
    assert launch.grid is not None
    assert formula(launch.grid[0]) == "ceil(n / 64)"
    assert not launch.grid[0].is_known
    y = launch.arguments[0]
    assert isinstance(y, ArrayPointer)
    assert y.memory.bytes is None


def test_values_behind_references_loops_and_functions(tmp_path: Path) -> None:
    text = (
        KERNEL
        + """enum { FIRST = 3, SECOND };
unsigned up(unsigned a, unsigned b) { return (a % b == 0) ? a / b : a / b + 1; }
void sizes(int n, int &blocks, dim3 *threads) { blocks = up(n, 128); threads->x = 128; }
int main() {
    int blocks = 0, power = 1, n = 1 << 10;
    dim3 threads;
    sizes(n, blocks, &threads);
    while (power < 100) power *= 2;
    float *p;
    cudaMallocManaged(&p, n * sizeof(*p));
    for (int i = 0; i < 3; i++) k<<<blocks, threads>>>(p, p + power, SECOND);
}
"""
    )
    (launch,) = launches(tmp_path, text)
    assert launch.grid is not None
    assert launch.block is not None
    assert (formula(launch.grid[0]), launch.block[0].number) == ("ceil(n / 128)", 128)
    x, last = launch.arguments[1:]
    assert isinstance(x, ArrayPointer)
    assert isinstance(last, HostScalar)
    assert (x.offset.number, last.number) == (128, 4)


def test_endless_recursion_and_loops_end(tmp_path: Path) -> None:
    text = KERNEL + "void f(int n) { f(n + 1); for (;;) { n++; } k<<<1, 1>>>(0, 0, n); }\nint main() { f(1); }\n"
    assert launches(tmp_path, text)


def test_template_arguments_are_split_outside_of_brackets() -> None:
    assert split_arguments("a<b, c>, 3") == ["a<b, c>", " 3"]


def test_continue_goes_on_with_the_next_turn(tmp_path: Path) -> None:
    (launch,) = launches(
        tmp_path,
        KERNEL + "int main() { float *y; int t = 0; for (int i = 0; i < 8; i++) { if (i % 2) continue; t += 3; }\n"
        "k<<<t, 32>>>(y, y, t); }\n",
    )
    assert launch.grid is not None
    assert launch.grid[0].number == 12


def test_an_unknown_number_stays_unknown_behind_an_increment(tmp_path: Path) -> None:
    (launch,) = launches(tmp_path, KERNEL + "void f(float *y, int n) { n++; k<<<n, 32>>>(y, y, n); }\n")
    assert launch.grid is not None
    assert not launch.grid[0].is_known


def test_an_unknown_size_of_a_dim3_keeps_its_axis(tmp_path: Path) -> None:
    for grid in ("dim3(blocks_of(n), 4)", "g"):
        (launch,) = launches(
            tmp_path,
            KERNEL + f"int main() {{ float *y; int n = 9; dim3 g(blocks_of(n), 4); k<<<{grid}, 32>>>(y, y, n); }}\n",
        )
        assert launch.grid is not None
        assert [one.is_known for one in launch.grid] == [False, True, True]
        assert launch.grid[1].number == 4


def test_a_launch_behind_loops_that_would_take_long(tmp_path: Path) -> None:
    loops = "for (int a = 0; a < n; a++) for (int b = 0; b < n; b++) for (int c = 0; c < n; c++) h[a] += b * c;\n"
    text = f"int main() {{ int n = 512; float *h, *y; {4 * loops} k<<<n, 32>>>(y, y, n); }}\n"
    assert [one.kernel for one in launches(tmp_path, KERNEL + text)] == ["k"]


def test_numbers_and_formulas_that_would_explode_end(tmp_path: Path) -> None:
    (launch,) = launches(
        tmp_path,
        KERNEL
        + """int main() {
    float *y; int n = 3, m = 5, b = 7;
    for (int i = 0; i < 60; i++) { b *= b; }
    for (int i = 0; i < 60; i++) { n = m + n; m = n + m; }
    k<<<(n + m - 1) / m, 32, pow(10, 1000000000)>>>(y, y, b);
}
""",
    )
    assert launch.grid is not None
    assert len(formula(launch.grid[0])) < 5000


@pytest.mark.parametrize(
    ("statements", "number", "is_known"),
    [
        ("if (probe()) n = 8;", 4, False),
        ("if (probe()) n = 8; else n = 9;", 9, False),
        ("n = probe() ? 8 : 4;", 4, False),
        ("n = probe() ? 8 : 8;", 8, True),
        ("switch (probe()) { case 1: n = 8; break; default: n = 5; }", 5, False),
        ("if (argc > 1) n = atoi(argv[1]);", 4, True),
        ("if (argc > 1 && probe()) { n = 8; if (probe()) n = 9; }", 4, True),
        ("n = argc > 1 ? 8 : 6;", 6, True),
        ("for (int i = 1; i < argc; i++) if (argv[i][0] == 45) n = 8;", 4, True),
        ("if (n > 5) n = 8;", 4, True),
        ("enum { N = 2 * 6 }; n = N;", 12, True),
        ("cudaDeviceProp p; if (n > p.maxGridSize[1]) n = 8;", 4, True),
        ("n = sizeof(Unknown);", 4, False),
        ("n = sizeof(float4);", 16, True),
        ("float a[2][probe()]; n = sizeof(a) / 4;", 2, False),
    ],
)
def test_what_depends_on_an_unknown_condition_is_a_guess(
    tmp_path: Path, statements: str, number: int, *, is_known: bool
) -> None:
    text = f"int main(int argc, char **argv) {{ float *y; int n = 4; {statements} k<<<n, 32>>>(y, y, n); }}\n"
    (launch,) = launches(tmp_path, KERNEL + text)
    assert launch.grid is not None
    assert (launch.grid[0].number, launch.grid[0].is_known) == (number, is_known)


def test_a_branch_that_is_not_taken_has_values_of_its_own(tmp_path: Path) -> None:
    found = launches(
        tmp_path,
        KERNEL
        + """int main() {
    float *y; int n = 4, which = 1;
    switch (which) {
        case 0: constexpr int parts = 2; n = parts * 8; k<<<n, 64 / parts, probe()>>>(y, y, n); break;
        case 1: k<<<n, 32>>>(y, y, n);
    }
    if (probe()) k<<<n, 16>>>(y, y, n);
}
""",
    )
    seen = [
        (one.grid[0].number, one.block[0].number, one.branches_not_taken) for one in found if one.grid and one.block
    ]
    assert sorted(seen) == [(4, 16, 1), (4, 32, 0), (16, 32, 1)]
    assert [one.shared.is_known for one in found].count(False) == 1
    assert [one.conditions for one in found if one.conditions] == [("app.cu:8",)]
