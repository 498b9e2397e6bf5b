from __future__ import annotations

from pathlib import Path

from gpuregress.lab.host_programs import scalars
from gpuregress.lab.host_programs.objects import ArrayPointer
from tests.lab.host_programs.launched import KERNEL, formula, launches


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
    stored = x.memory.contents.stored
    assert stored is not None
    assert (x.memory.contents.is_filled, stored.number, stored.high) == (True, 0.0, 1.0)
    assert not y.memory.contents.is_filled


def test_a_function_that_nobody_calls_runs_with_unknown_values(tmp_path: Path) -> None:
    (launch,) = launches(tmp_path, KERNEL + "void go(float *y, float *x, int n) { k<<<(n + 63) / 64, 64>>>(y, x, n); }")
    assert launch.grid is not None
    assert formula(launch.grid[0]) == "ceil(n / 64)"
    assert not launch.grid[0].is_known
    y = launch.arguments[0]
    assert isinstance(y, ArrayPointer)
    assert y.memory.bytes is None


def test_endless_recursion_and_loops_end(tmp_path: Path) -> None:
    text = KERNEL + "void f(int n) { f(n + 1); for (;;) { n++; } k<<<1, 1>>>(0, 0, n); }\nint main() { f(1); }\n"
    assert launches(tmp_path, text)


def test_a_function_template_has_the_arguments_of_its_explicit_instantiation(tmp_path: Path) -> None:
    (launch,) = launches(
        tmp_path,
        "template <typename T> __global__ void k(T *y) {}\n"
        "template <typename T> void go(T *y) { k<T><<<1, 8>>>(y); }\ntemplate void go<double>(double *y);\n",
    )
    assert launch.template == ("double",)


def test_functions_of_one_name_are_all_run(tmp_path: Path) -> None:
    text = KERNEL + "struct A { void go(); }; struct B { void go(); };\n"
    found = launches(
        tmp_path, text + "void A::go() { k<<<1, 8>>>(0, 0, 1); }\nvoid B::go() { k<<<2, 8>>>(0, 0, 2); }\n"
    )
    assert [one.grid[0].number for one in found if one.grid is not None] == [1, 2]
