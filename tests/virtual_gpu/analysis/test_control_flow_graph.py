from __future__ import annotations

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.ptx.tree import Call, Instruction
from tests.virtual_gpu.analysis.kernels import function


def _spins(loop: str) -> bool:
    text = f""".visible .entry k(.param .u64 q) {{
      .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
      ld.param.u64 %rd1, [q];
    L: {loop}
      @%p1 bra L;
      ret; }}"""
    return bool(ControlFlowGraph(function(text)).spins)


def test_loops_that_wait_for_another_thread_are_found() -> None:
    assert _spins("ld.volatile.global.u32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0;")
    assert _spins("ld.acquire.gpu.u32 %r1, [%rd1]; and.b32 %r2, %r1, 1; setp.eq.s32 %p1, %r2, 0;")
    assert _spins("atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.s32 %p1, %r1, 0;")
    assert _spins("atom.global.cas.b32 %r2, [%rd1], 7, 8; ld.global.u32 %r1, [%rd1]; setp.ne.s32 %p1, %r1, 1;")
    assert _spins("membar.gl; ld.shared.u32 %r1, [%rd1]; and.b32 %r2, %r1, 4; setp.eq.s32 %p1, %r2, 0;")


def test_loops_that_only_count_are_not() -> None:
    assert not _spins("ld.global.u32 %r2, [%rd1]; add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, %r2;")
    assert not _spins("ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd1], %r2; setp.lt.s32 %p1, %r2, 9;")
    assert not _spins("ld.global.nc.u32 %r2, [%rd1]; setp.lt.s32 %p1, %r2, 9;")
    assert not _spins("ld.global.u64 %rd1, [%rd1]; setp.ne.u64 %p1, %rd1, 0;")
    assert not _spins("add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 9;")
    assert not _spins("atom.global.add.u32 %r2, [%rd1], 1; add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 9;")
    assert not _spins("red.global.add.u32 [%rd1], 1; add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 9;")


def _long(loop: str) -> bool:
    """Whether a launch can be stopped in a loop."""
    text = f".visible .entry k() {{ .reg .pred %p<2>; .reg .b32 %r<4>; L: {loop} @%p1 bra L; ret; }}"
    return bool(ControlFlowGraph(function(text)).long_loops)


def test_loops_that_no_counter_ends_are_long() -> None:
    assert not _long("add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, %r2;")
    assert _long("add.s32 %r1, %r1, %r3; setp.lt.s32 %p1, %r1, %r2;"), "the step may be 0"
    assert _long("mul.lo.s32 %r1, %r1, 3; setp.ne.s32 %p1, %r1, 1;")
    assert _long("mov.pred %p1, %p1;")
    assert _long(
        "M: add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 9; @%p1 bra M; add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 9;"
    )


def _graph(text: str) -> ControlFlowGraph:
    head = ".visible .entry k(.param .u64 q) { .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>;"
    return ControlFlowGraph(function(f"{head} ld.param.u64 %rd1, [q]; {text} ret; }}"))


def _waiting(text: str) -> tuple[int, int]:
    """The number of loops that another thread ends, and that of their blocks."""
    graph = _graph(text)
    return len(graph.waiting_heads), len(graph.waiting_blocks)


def test_only_loops_that_another_thread_ends_are_waiting() -> None:
    spin = "L: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L;"
    around = f"M: {spin} add.s32 %r2, %r2, 1; setp.lt.s32 %p2, %r2, 9; @%p2 bra M;"
    assert _waiting(spin) == (1, 1)
    assert _waiting(around) == (1, 1), "the outer loop counts to nine"
    assert len(_graph(spin).spinning_blocks) == 1
    assert len(_graph(around).spinning_blocks) == 3, "the outer loop yields as well"
    assert _waiting("L: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0; @%p1 ret; bra L;") == (1, 2)
    assert _waiting("L: add.s32 %r2, %r2, 1; setp.lt.s32 %p2, %r2, 9; @%p2 bra L;") == (0, 0)


def test_functions_that_wait_are_inlined_and_recursive_ones_are_not() -> None:
    text = """
    .func (.param .b32 r) waits(.param .b32 p) { .reg .b32 %r1; L: bar.sync 0; ld.param.b32 %r1, [p]; @%p1 ret; bra L; }
    .func again() { call again; ret; }
    .visible .entry k() { .reg .b32 %r1;
      { .param .b32 a; .param .b32 b; call (b), waits, (a); } { .param .b32 a; .param .b32 b; call (b), waits, (a); }
      call again; ret; }
    """
    kernel = function(text)
    assert kernel.body is not None
    assert [item.callee.name for item in kernel.body if isinstance(item, Call)] == ["again"]
    barriers = [item for item in kernel.body if isinstance(item, Instruction) and item.opcode == "bar"]
    assert len(barriers) == 2
    names = {item.name for item in kernel.registers}
    assert len(names) == 3
    assert ControlFlowGraph(kernel).needs_scheduler
