from __future__ import annotations

from pathlib import Path

from tests.lab.host_programs.launched import KERNEL, formula, launches


def test_continue_goes_on_with_the_next_turn(tmp_path: Path) -> None:
    (launch,) = launches(
        tmp_path,
        KERNEL + "int main() { float *y; int t = 0; for (int i = 0; i < 8; i++) { if (i % 2) continue; t += 3; }\n"
        "k<<<t, 32>>>(y, y, t); }\n",
    )
    assert launch.grid is not None
    assert launch.grid[0].number == 12


def test_a_launch_behind_loops_that_would_take_long(tmp_path: Path) -> None:
    loops = "for (int a = 0; a < n; a++) for (int b = 0; b < n; b++) for (int c = 0; c < n; c++) h[a] += b * c;\n"
    text = f"int main() {{ int n = 512; float *h, *y; {4 * loops} k<<<n, 32>>>(y, y, n); }}\n"
    assert [one.kernel for one in launches(tmp_path, KERNEL + text)] == ["k"]


def test_a_launch_in_a_loop_without_a_turn(tmp_path: Path) -> None:
    loop = "for (int s = 64; s <= n; s *= 2) if (s > 9) k<<<n, 32>>>(y, y, s);"
    (launch,) = launches(tmp_path, f"{KERNEL}int main() {{ int n = 8; float *y; {loop} }}\n")
    assert launch.branches_not_taken == 1
    assert [formula(one) for one in (launch.grid or ())] == ["n", "1", "1"]


def test_variables_of_a_branch_that_may_not_be_taken_are_what_the_branch_makes_them(tmp_path: Path) -> None:
    branch = "int n = 0; dim3 g; n = probe(); g.x = n / 32; k<<<g, 32>>>(y, y, n);"
    (launch,) = launches(tmp_path, f"{KERNEL}int main() {{ float *y; if (probe()) {{ {branch} }} }}\n")
    assert launch.grid is not None
    assert [formula(launch.grid[0]), formula(launch.arguments[2])] == ["n // 32", "n"]
