"""alloca, stacksave and stackrestore, as nvcc writes them for `alloca` and arrays of variable length."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import KernelFault
from tests.virtual_gpu.running import Running, ints

_HEAD = """.version 8.0
.target sm_80
.address_size 64
"""

# Each thread asks for n words twice, fills both, gives the second back, and takes as much again.
_ENTRY = """
.visible .entry k(.param .u64 y, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [y];
  cvta.to.global.u64 %rd1, %rd1;
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mad.wide.u32 %rd1, %r2, 16, %rd1;
  mul.wide.u32 %rd2, %r1, 4;
  alloca.u64 %rd3, %rd2, 16;
  stacksave.u64 %rd4;
  alloca.u64 %rd5, %rd2;
  st.local.u32 [%rd3], %r2;
  add.u32 %r3, %r2, 100;
  st.local.u32 [%rd5], %r3;
  WAIT
  stackrestore.u64 %rd4;
  alloca.u64 %rd6, %rd2;
  ld.local.u32 %r4, [%rd3];
  ld.local.u32 %r5, [%rd6];
  cvta.local.u64 %rd7, %rd5;
  ld.u32 %r6, [%rd7];
  and.b64 %rd8, %rd3, 15;
  cvt.u32.u64 %r7, %rd8;
  st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};
  ret;
}
"""


@pytest.mark.parametrize("wait", ["", "bar.sync 0;", "{ .reg .b32 %s; shfl.sync.idx.b32 %s, %r2, 3, 31, -1; }"])
def test_what_is_taken_is_the_threads_own_and_can_be_given_back(wait: str, tmp_path: Path) -> None:
    running = Running(tmp_path, _HEAD + _ENTRY.replace("WAIT", wait), "k")
    y = running.put("y", np.zeros(4 * 64, np.int32))
    running.launch("k", 1, 64, y, np.uint32(9))
    # The third allocation is where the second was, and still holds what that did.
    assert ints(y) == [word for thread in range(64) for word in (thread, thread + 100, thread + 100, 0)]


@pytest.mark.parametrize("words", [1021, 1 << 30])
def test_too_much_is_a_stack_overflow(words: int, tmp_path: Path) -> None:
    running = Running(tmp_path, _HEAD + _ENTRY.replace("WAIT", ""), "k")
    y = running.put("y", np.zeros(4, np.int32))
    running.launch("k", 1, 1, y, np.uint32(1016))  # twice 4,064 bytes fit
    with pytest.raises(KernelFault, match="too much local memory") as caught:
        running.launch("k", 1, 1, y, np.uint32(words * 2))
    assert caught.value.kind == "stack-overflow"


_RECURSIVE = """
.func (.param .b32 sum) down(.param .b32 n)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u32 %r1, [n];
  mov.u32 %r3, 0;
  setp.eq.u32 %p, %r1, 0;
  @%p bra DONE;
  alloca.u64 %rd1, 64;
  st.local.u32 [%rd1], %r1;
  sub.u32 %r2, %r1, 1;
  {
  .param .b32 given;
  .param .b32 back;
  st.param.b32 [given], %r2;
  call (back), down, (given);
  ld.param.b32 %r3, [back];
  }
  ld.local.u32 %r4, [%rd1];
  add.u32 %r3, %r3, %r4;
DONE:
  st.param.b32 [sum], %r3;
  ret;
}
.visible .entry k(.param .u64 y)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [y];
  {
  .param .b32 given;
  .param .b32 back;
  st.param.b32 [given], 5;
  call (back), down, (given);
  ld.param.b32 %r1, [back];
  }
  st.global.u32 [%rd1], %r1;
  ret;
}
"""


def test_each_call_has_its_own(tmp_path: Path) -> None:
    running = Running(tmp_path, _HEAD + _RECURSIVE, "k")
    y = running.put("y", np.zeros(1, np.int32))
    running.launch("k", 1, 1, y)
    assert ints(y) == [15]


def test_it_is_put_in_place_of_a_call_like_other_memory(tmp_path: Path) -> None:
    calls_nothing = re.sub(r"\{\s+\.param \.b32 given;.*?\}", "mov.u32 %r3, 7;", _RECURSIVE, count=1, flags=re.DOTALL)
    running = Running(tmp_path, _HEAD + calls_nothing, "k")
    y = running.put("y", np.zeros(1, np.int32))
    running.launch("k", 1, 1, y)
    assert ints(y) == [12]
