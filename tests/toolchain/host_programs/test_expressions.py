from __future__ import annotations

from pathlib import Path

from gpuregress.toolchain.host_programs.objects import ArrayPointer
from gpuregress.toolchain.host_programs.scalars import HostScalar
from tests.toolchain.host_programs.launched import KERNEL, formula, launches


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
