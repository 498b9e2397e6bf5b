from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.liveness import Liveness
from gpuregress.virtual_gpu.ptx.parser import parse
from gpuregress.virtual_gpu.ptx.tree import Instruction, Label

LOOP = """
.visible .entry k(.param .u64 k_param_0) {
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 64;
  mov.u32 %r7, 5;
L:
  add.s32 %r3, %r1, %r2;
  bar.sync 0;
  shr.u32 %r2, %r2, 1;
  setp.ne.s32 %p1, %r2, 0;
  @%p1 bra L;
  mov.u32 %r4, %r1;
  ret;
}
"""


def _flow(text: str) -> ControlFlowGraph:
    (function,) = parse(text).functions
    return ControlFlowGraph(function)


def _liveness(flow: ControlFlowGraph) -> Liveness:
    assert flow.liveness is not None
    return flow.liveness


def _index(flow: ControlFlowGraph, opcode: str) -> int:
    return next(
        index for index, item in enumerate(flow.statements) if isinstance(item, Instruction) and item.opcode == opcode
    )


def test_only_what_is_read_later_lives_across_a_wait() -> None:
    flow = _flow(LOOP)
    assert _liveness(flow).live_after[_index(flow, "bar")] - {"%tid.x"} == {"%r1", "%r2"}


def test_only_what_may_have_changed_is_saved_again() -> None:
    flow = _flow(LOOP)
    assert _liveness(flow).dirty_before[_index(flow, "bar")] >= {"%r1", "%r2"}
    once = _flow(LOOP.replace("mov.u32 %r7, 5;", "bar.sync 1;"))
    second = max(once.waits)
    assert "%r1" not in _liveness(once).dirty_before[second]
    assert "%r2" in _liveness(once).dirty_before[second]


def test_only_what_is_read_before_the_next_wait_is_brought_back() -> None:
    flow = _flow(
        """.visible .entry k() { .reg .b32 %r<9>;
        mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3;
        bar.sync 0; add.s32 %r4, %r1, 1;
        bar.sync 1; add.s32 %r5, %r2, %r4;
        bar.sync 2; add.s32 %r6, %r3, %r5;
        ret; }"""
    )
    liveness, (first, second, third) = _liveness(flow), sorted(flow.waits)
    assert liveness.live_after[first] == {"%r1", "%r2", "%r3"}
    assert liveness.needed_after[first] == {"%r1"}
    assert liveness.needed_after[second] == {"%r2", "%r4"}
    assert liveness.needed_after[third] == {"%r3", "%r5"}


def test_what_one_way_changes_is_brought_back_for_the_other() -> None:
    flow = _flow(
        """.visible .entry k() { .reg .pred %p<2>; .reg .b32 %r<9>;
        mov.u32 %r1, 1; setp.eq.s32 %p1, %r1, 2;
        bar.sync 0; @%p1 bra L; mov.u32 %r1, 7;
        L: bar.sync 1; add.s32 %r2, %r1, 1;
        ret; }"""
    )
    assert _liveness(flow).needed_after[min(flow.waits)] == {"%p1", "%r1"}


def test_what_lives_where_a_loop_lets_others_go_on_is_brought_back_before() -> None:
    flow = _flow(
        """.visible .entry k() { .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<2>;
        mov.u32 %r1, 1; mov.u64 %rd1, 64;
        bar.sync 0;
        L: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.s32 %p1, %r2, 0; @%p1 bra L;
        bar.sync 1; add.s32 %r3, %r1, 1;
        ret; }"""
    )
    assert flow.spins
    assert _liveness(flow).needed_after[min(flow.waits)] == {"%r1", "%rd1"}


_REGISTERS = [f"%r{number}" for number in range(1, 5)]
_STATEMENTS = st.one_of(
    st.builds("{} add.s32 {}, {}, {};".format, st.sampled_from(["", "@%p1"]), *[st.sampled_from(_REGISTERS)] * 3),
    st.builds("setp.eq.s32 %p1, {}, {};".format, *[st.sampled_from(_REGISTERS)] * 2),
    st.builds("{} bar.sync 0;".format, st.sampled_from(["", "@%p1"])),
    st.builds(
        "{} shfl.sync.idx.b32 {}, {}, {}, 31, -1;".format,
        st.sampled_from(["", "@%p1"]),
        *[st.sampled_from(_REGISTERS)] * 3,
    ),
    st.builds("ld.volatile.global.u32 {}, [{}];".format, *[st.sampled_from(_REGISTERS)] * 2),
    st.builds("{} bra L{};".format, st.sampled_from(["", "@%p1", "@!%p1"]), st.integers(0, 3)),
)


@given(st.lists(st.lists(_STATEMENTS, max_size=5), min_size=4, max_size=4), st.randoms(use_true_random=False))
def test_a_thread_whose_registers_are_lost_at_waits_reads_what_it_would_have_read(
    parts: list[list[str]], choice: random.Random
) -> None:
    body = " ".join(f"L{number}: {' '.join(part)}" for number, part in enumerate(parts))
    registers = ".reg .pred %p<2>; .reg .b32 %r<5>;"
    flow = _flow(f".visible .entry k() {{ {registers} {body} st.global.u32 [%r1], %r2; ret; }}")
    if flow.needs_scheduler:
        _walk(flow, choice)


def _walk(flow: ControlFlowGraph, choice: random.Random) -> None:
    """Goes a random way through the code with true registers, and with some that are saved and brought back."""
    liveness = _liveness(flow)
    names = [*_REGISTERS, "%p1"]
    true, kept = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    saved = dict.fromkeys(names, -1)
    block, value = 0, 0
    for _ in range(30):
        for position in range(flow.blocks[block].start, flow.blocks[block].end):
            statement = flow.statements[position]
            if isinstance(statement, Label):
                continue
            assert all(kept[name] == true[name] for name in effects.reads(statement)), position
            if statement.guard is not None and choice.random() < 0.5:
                continue
            if position in flow.waits:
                reads = frozenset(effects.reads(statement))
                dirty, needed = liveness.dirty_before[position], liveness.needed_after[position]
                _lose(kept, saved, (liveness.live_after[position] | reads) & dirty, needed | reads)
                assert all(kept[name] == true[name] for name in reads), position
            for name in effects.sets(statement):
                value += 1
                true[name] = kept[name] = value
        if not flow.blocks[block].successors:
            return
        target = choice.choice(flow.blocks[block].successors)
        if (block, target) in flow.spins:
            _lose(kept, saved, liveness.live_in[target], liveness.live_in[target])
        block = target


def _lose(kept: dict[str, int], saved: dict[str, int], save: frozenset[str], restore: frozenset[str]) -> None:
    for name in save:
        saved[name] = kept[name]
    for name in kept:
        kept[name] = saved[name] if name in restore else -2


_PRODUCTS = """
.visible .entry k(.param .u64 k_param_0) {
  .reg .f32 %f<9>; .reg .b32 %r<9>;
  mov.u32 %r1, %tid.x;
  MMA {%f0, %f1, %f2, %f3}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f0, %f1, %f2, %f3};
  bar.sync 0;
  MMA {%f0, %f1, %f2, %f3}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f0, %f1, %f2, %f3};
  add.f32 %f4, %f0, %f1;
  bar.sync 0;
  st.shared.f32 [%r1], %f4;
  st.shared.f32 [%r1], %f2;
  ret;
}
""".replace("MMA", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")


def test_operands_in_the_context_are_saved_and_results_in_it_are_loaded_where_they_are_read() -> None:
    flow = _flow(_PRODUCTS)
    liveness = _liveness(flow)
    first, barrier, second, last = sorted(flow.waits)
    assert liveness.saved_at(first) == {"%r1", "%f0", "%f1", "%f2", "%f3"}
    assert not any(liveness.saved_at(index) for index in (barrier, second))
    assert [liveness.needed_results[index] for index in (first, second)] == [set(), {"%f0", "%f1"}]
    assert liveness.saved_at(last) == {"%f4"}
    assert not liveness.needed_after[barrier]
