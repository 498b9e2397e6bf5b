from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.host_programs.launched import KERNEL, launches


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
        ("n = sizeof(of::real);", 8, True),
        ("float a[2][probe()]; n = sizeof(a) / 4;", 2, False),
    ],
)
def test_what_depends_on_an_unknown_condition_is_a_guess(
    tmp_path: Path, statements: str, number: int, *, is_known: bool
) -> None:
    text = "namespace of { using real = double; }\n"
    text += f"int main(int argc, char **argv) {{ float *y; int n = 4; {statements} k<<<n, 32>>>(y, y, n); }}\n"
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
