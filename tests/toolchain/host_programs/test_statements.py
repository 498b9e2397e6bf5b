from __future__ import annotations

from pathlib import Path

from tests.toolchain.host_programs.launched import KERNEL, launches


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
