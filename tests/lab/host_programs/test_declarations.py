from __future__ import annotations

from pathlib import Path

from tests.lab.host_programs.launched import KERNEL, launches


def test_an_unknown_size_of_a_dim3_keeps_its_axis(tmp_path: Path) -> None:
    for grid in ("dim3(blocks_of(n), 4)", "g"):
        (launch,) = launches(
            tmp_path,
            KERNEL + f"int main() {{ float *y; int n = 9; dim3 g(blocks_of(n), 4); k<<<{grid}, 32>>>(y, y, n); }}\n",
        )
        assert launch.grid is not None
        assert [one.is_known for one in launch.grid] == [False, True, True]
        assert launch.grid[1].number == 4
