"""When a block that spins is suspended, and when it is left alone."""

from __future__ import annotations

import ctypes

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import I32, Cell, i32, open_function
from gpuregress.virtual_gpu.runtime.llvm_backend import LoadedCode, compile_object
from gpuregress.virtual_gpu.schedule.passes import SPINNING_PASSES, UNCHANGED_PASSES, StallDetector


def _passes(
    *,
    arrives: bool = False,
    changes: bool = False,
    steps: int = 0,
    compares: tuple[int, int] = (1, 1),
    matters: bool = True,
    tells: bool = False,
    most: int = SPINNING_PASSES,
) -> int:
    """Passes until a block is suspended in which each pass does the same; 10,000 at most.

    Args:
        arrives: whether a thread comes to another wait than the end of an iteration.
        changes: whether a thread changes memory.
        steps: passes out of each ten in which lanes go in step.
        compares: a register's value now and before.
        matters: whether the end of the loop depends on it.
        tells: whether the answer is whether the block has advanced instead.
        most: passes in which threads only spin.
    """
    module = ir.Module("passes")
    function = ir.Function(module, ir.FunctionType(I32, ()), "run")
    b = open_function(function)
    count, stall = Cell(b, i32(0)), StallDetector(b)
    head, suspend = (function.append_basic_block(name) for name in ("head", "suspend"))
    b.branch(head)
    b.position_at_end(head)
    count.add(i32(1), b)
    stall.begin_pass(b)
    if arrives:
        stall.note_arrival(b)
    if changes:
        stall.note_change(b)
    with b.if_then(b.icmp_unsigned("<", b.urem(count.get(b), i32(10)), i32(steps))):
        stall.note_step(b)
    stall.compare(b, i32(compares[0]), i32(compares[1]), matters=matters)
    over, going = (function.append_basic_block(name) for name in ("over", "going"))
    b.cbranch(b.icmp_unsigned(">=", count.get(b), i32(10_000)), over, going)
    stall.end_pass(ir.IRBuilder(going), suspend, head, most)
    for block in (over, suspend):
        end = ir.IRBuilder(block)
        end.ret(end.trunc(stall.has_advanced(end), I32) if tells else count.get(end))
    code = LoadedCode(compile_object(str(module)))
    return int(ctypes.CFUNCTYPE(ctypes.c_int32)(code.address("run"))())


def test_a_block_in_which_nothing_changes() -> None:
    assert _passes() == UNCHANGED_PASSES


def test_a_block_whose_threads_only_count() -> None:
    assert _passes(changes=True) == _passes(compares=(1, 2)) == SPINNING_PASSES


def test_a_counter_on_which_nothing_depends_brings_no_block_further() -> None:
    assert _passes(compares=(1, 2), matters=False) == SPINNING_PASSES
    assert not _passes(compares=(1, 2), matters=False, tells=True)
    assert _passes(compares=(1, 2), tells=True)


def test_a_block_whose_threads_only_count_goes_on_for_long_where_no_other_could_have_a_turn() -> None:
    assert _passes(changes=True, most=9000) == _passes(compares=(1, 2), most=9000) == 9000
    assert _passes(most=9000) == UNCHANGED_PASSES


def test_a_block_whose_threads_come_somewhere() -> None:
    assert _passes(arrives=True) == 10_000


def test_steps_inside_a_loop_that_spins() -> None:
    assert _passes(steps=5) == 17, "passes 5 to 9 and 15 to 17"
    assert _passes(steps=10) == _passes(steps=10, changes=True) == SPINNING_PASSES
    assert _passes(steps=10, arrives=True) == 10_000
