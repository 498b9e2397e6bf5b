from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from tests.virtual_gpu.running import Running, ints

_TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 y) {
  .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;
  mov.u32 %r2, 9;
  targets: .branchtargets A, B, C;
  setp.lt.u32 %p1, %r1, LAST;
  @%p1 brx.idx %r1, targets;
  bra END;
A: mov.u32 %r2, 10; bra END;
B: mov.u32 %r2, 11;
C: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 15; @%p1 bra C;
END: st.global.u32 [%rd2], %r2;
  @!%p1 exit;
  trap;
}
"""


def _run(folder: Path, last: int, threads: int, end: str = "@!%p1 exit;") -> list[int]:
    running = Running(folder, _TEXT.replace("LAST", str(last)).replace("@!%p1 exit;", end))
    y = running.put("y", np.zeros(5, np.int32))
    running.launch("k", 1, threads, y)
    return ints(y)


def test_a_branch_by_index_takes_the_label_of_the_list(tmp_path: Path) -> None:
    assert _run(tmp_path, 3, 5, end="exit;") == [10, 15, 15, 9, 9]


def test_an_index_beyond_the_list_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(KernelFault, match="branch"):
        _run(tmp_path, 5, 4, end="exit;")


def test_a_trap_ends_the_launch_and_an_exit_only_the_thread(tmp_path: Path) -> None:
    assert _run(tmp_path, 0, 5) == [9] * 5
    with pytest.raises(KernelFault, match="trap"):
        _run(tmp_path, 1, 1)
