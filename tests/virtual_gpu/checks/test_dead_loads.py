"""Loads of a warp that stores nothing, as Triton compiles kernels that work in place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.virtual_gpu.running import Running

# Two warps load y[lane]; %p holds in the first one, %k in five lanes of each, %z in the first thread of the block.
KERNEL = """.visible .entry NAME(.param .u64 y, .param .u32 n)
.reqntid 64
{
  .reg .pred %p<9>, %p, %k, %z, %n; .reg .b32 %r<9>, %t, %lane, %v, %o; .reg .b64 %rd<5>, %a, %y;
  ld.param.u64 %y, [y];
  ld.param.u32 %o, [n];
  mov.u32 %t, %tid.x;
  and.b32 %lane, %t, 31;
  mul.wide.u32 %rd1, %lane, 4;
  add.s64 %a, %y, %rd1;
  LOAD
  and.b32 %r1, %t, 32;
  setp.eq.u32 %p, %r1, 0;
  setp.ne.u32 %n, %r1, 0;
  setp.eq.u32 %z, %t, 0;
  setp.lt.u32 %k, %lane, %o;
  BODY
  ret;
}
"""
STORE = "@%p st.global.u32 [%a], %v;"
SHUFFLE = "shfl.sync.bfly.b32 %v, %v, 1, 31, -1; "
DEAD = {
    "store": STORE,
    "negated": "@!%n st.global.u32 [%a], %v;",
    "calculated": "add.u32 %r2, %v, 1; mul.lo.u32 %r3, %r2, 3; @%p st.global.u32 [%a], %r3;",
    "masked": "and.pred %p1, %k, %p; @%p1 st.global.u32 [%a], %v;",
    "masked_by_value": "setp.gt.u32 %p2, %v, 3; and.pred %p1, %p2, %p; @%p1 st.global.u32 [%a], %v;",
    "neither": "setp.ge.u32 %p2, %lane, %o; or.pred %p1, %n, %p2; @!%p1 st.global.u32 [%a], %v;",
    "two_stores": f"{STORE} and.pred %p1, %k, %p; @%p1 st.global.u32 [%a], %v;",
    "shuffled": SHUFFLE + STORE,
    "shuffled_to_one_lane": SHUFFLE + "@%z st.global.u32 [%y], %v;",
    "atomic": "@%p atom.global.add.u32 %r2, [%a+128], %v; @%p st.global.u32 [%a], %r2;",
    "loop": """mov.u32 %r2, 0;
again_loop: add.u32 %v, %v, %r2; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 3; @%p1 bra again_loop; """
    + STORE,
}
LIVE = {
    "unguarded": "st.global.u32 [%a+128], %v; @%p st.global.u32 [%a], %t;",
    "changing_predicate": "setp.gt.u32 %p1, %v, 99; or.pred %p2, %p1, %p; @%p2 st.global.u32 [%a], %v;",
    "other_warp": f"{STORE} @%n st.global.u32 [%a+128], %v;",
    "branch": f"setp.gt.u32 %p1, %v, 99; @%p1 bra over; st.global.u32 [%a+128], %t; over: {STORE}",
    "address": f"mul.wide.u32 %rd2, %v, 0; add.s64 %rd3, %a, %rd2; ld.global.u32 %r2, [%rd3+128]; {STORE}",
    "shuffled_to_some": SHUFFLE + "@%k st.global.u32 [%a], %v;",
    "opposite": f"{SHUFFLE} setp.eq.u32 %p1|%p2, %t, 0; @%p2 st.global.u32 [%a+128], %v; @%p st.global.u32 [%a], %t;",
    "guard_set_twice": f"setp.eq.u32 %p1, %t, 99; @%k setp.eq.u32 %p1, %t, %t; @%p1 st.global.u32 [%a], %v; {STORE}",
    "vote": f"setp.gt.u32 %p1, %v, 9; vote.sync.any.pred %p2, %p1, -1; @%p2 st.global.u32 [%a+128], %t; {STORE}",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    plain, ordered = "ld.global.u32 %v, [%a];", "ld.relaxed.gpu.global.u32 %v, [%a];"
    bodies = {name: (plain, body) for name, body in {**DEAD, **LIVE}.items()}
    bodies |= {"ordered": (ordered, STORE), "unused": (plain, "@%p st.global.u32 [%a], %t;")}
    kernels = [
        KERNEL.replace("NAME", name).replace("LOAD", load).replace("BODY", body)
        for name, (load, body) in bodies.items()
    ]
    folder: Path = tmp_path_factory.mktemp("dead_loads")
    return Running(folder, ".version 8.0\n.target sm_90\n.address_size 64\n" + "".join(kernels), checks=("races",))


def findings(program: Running, kernel: str) -> list[str]:
    y = program.put("y", np.arange(64, dtype=np.int32))
    return [one.message for one in program.launch(kernel, 1, 64, y, np.int32(5)).findings]


@pytest.mark.parametrize("kernel", DEAD)
def test_a_dead_value_is_in_no_race(program: Running, kernel: str) -> None:
    assert findings(program, kernel) == []


@pytest.mark.parametrize("kernel", [*LIVE, "ordered", "unused"])
def test_a_value_that_may_be_used_is_in_a_race(program: Running, kernel: str) -> None:
    assert "by thread (32,0,0)" in findings(program, kernel)[0]


def test_the_loads_of_the_warp_that_stores_are_still_watched(program: Running) -> None:
    y = program.put("y", np.arange(64, dtype=np.int32))
    (race,) = program.launch("store", 2, 64, y, np.int32(5)).findings
    assert race.message.endswith("in two blocks that nothing orders")
