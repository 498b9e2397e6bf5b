from __future__ import annotations

from pathlib import Path

from gpuregress.lab.host_programs.objects import ArrayPointer, Structure
from gpuregress.lab.host_programs.scalars import HostScalar
from tests.lab.host_programs.launched import KERNEL, formula, launches


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


def test_an_unknown_number_stays_unknown_behind_an_increment(tmp_path: Path) -> None:
    (launch,) = launches(tmp_path, KERNEL + "void f(float *y, int n) { n++; k<<<n, 32>>>(y, y, n); }\n")
    assert launch.grid is not None
    assert not launch.grid[0].is_known


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


def test_arrays_of_pointers_functions_and_grids_have_elements_of_their_own(tmp_path: Path) -> None:
    first, second = launches(
        tmp_path,
        "__global__ void a(float *y) {}\n__global__ void b(float *y) {}\ndim3 grid[2][2];\n"
        "int main() { int n = 100; float *d[2]; void (*run[2])(float *); run[0] = a; run[1] = b;\n"
        "cudaMalloc(&d[0], n * sizeof(float)); cudaMalloc(&d[1], 8 * n);\n"
        "grid[1][0] = dim3(n, 2); grid[1][1] = dim3(7);\n"
        "run[0]<<<grid[1][0], 32>>>(d[0]); run[1]<<<grid[1][1], 32>>>(d[1]); }\n",
    )
    assert (first.kernel, second.kernel) == ("a", "b")
    assert [[one.number for one in launch.grid or ()] for launch in (first, second)] == [[100, 2, 1], [7, 1, 1]]
    sizes = [launch.arguments[0] for launch in (first, second)]
    assert [one.memory.bytes.number for one in sizes] == [400, 800]  # type: ignore[union-attr]


def test_structures_are_set_member_by_member_or_by_a_list(tmp_path: Path) -> None:
    (launch,) = launches(
        tmp_path,
        "struct G { float *u; int n; }; struct C { G g; float a; };\n__global__ void k(C c, G h) {}\n"
        "int main() { C c; c.g.n = 5; cudaMalloc(&c.g.u, 40); C d = c; d.g.n = 6; G h = {c.g.u, 7};\n"
        "k<<<1, 8>>>(c, h); }\n",
    )
    c, h = launch.arguments
    assert isinstance(c, Structure)
    assert isinstance(h, Structure)
    inner = c.members["g"].value
    assert isinstance(inner, Structure)
    assert [inner.members["n"].value.number, h.members["n"].value.number] == [5, 7]  # type: ignore[union-attr]
    assert inner.members["u"].value.memory is h.members["u"].value.memory  # type: ignore[union-attr]
