"""Order between the threads of a cluster's blocks by the barrier of the cluster.

An arrival that releases, or has a fence before it, publishes what its thread did; a thread that has waited knows what
all threads published up to the barrier that opened. PTX ISA manual, 9.7.13.4 "barrier.cluster".
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.structured import at, counted, element, i32, i64, open_function
from gpuregress.virtual_gpu.builder.types import I1, I32, I64, POINTER
from gpuregress.virtual_gpu.checks.subroutines import subroutine
from gpuregress.virtual_gpu.runtime.checks import layout


def _stamp(b: ir.IRBuilder, machine: ir.Value) -> ir.Value:
    """The stamp of the moment, i32."""
    return b.load(at(b, field(b, machine, "checks", POINTER), layout.LAUNCH["now"]), typ=I32)


def _open(b: ir.IRBuilder, block: ir.Value) -> ir.Value:
    """The first stamp behind the block's last barrier, i64."""
    return b.lshr(b.load(at(b, block, layout.BLOCK["open"]), typ=I64), i64(layout.STAMP_SHIFT))


def _low(b: ir.IRBuilder, word: ir.Value) -> ir.Value:
    return b.and_(word, i64(0xFFFF_FFFF))


def note_fence(b: ir.IRBuilder, machine: ir.Value, thread: ir.Value) -> None:
    """Note that a thread (its number, i32) has executed a fence."""
    block = field(b, machine, "block_checks", POINTER)
    word = b.or_(b.shl(_open(b, block), i64(32)), b.zext(_stamp(b, machine), I64))
    b.store(word, element(b, at(b, block, layout.CLUSTER_FENCED), thread, I64))


def arrival(module: ir.Module) -> ir.Function:
    """`(machine, thread, steps, whether it releases)`: a thread arrives at the cluster's barrier.

    `steps` counts the thread's arrivals and waits before this one. What was released for an earlier phase stays so.
    """
    function, is_new = subroutine(module, "check.cluster_arrival", ir.VoidType(), (POINTER, I32, I32, I1))
    if not is_new:
        return function
    machine, thread, steps, releases = function.args
    b = open_function(function)
    launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
    fenced = b.load(element(b, at(b, block, layout.CLUSTER_FENCED), thread, I64), typ=I64)
    upto = b.select(releases, b.zext(_stamp(b, machine), I64), _low(b, fenced))
    behind = b.select(releases, _open(b, block), b.lshr(fenced, i64(32)))
    now = at(b, launch, layout.LAUNCH["now"])
    b.store(b.add(b.load(now, typ=I64), i64(1)), now)
    number = b.lshr(steps, i32(1))
    phase = b.shl(b.add(b.zext(number, I64), i64(1)), i64(32))
    own, before = (b.and_(item, i32(layout.CLUSTER_PHASES - 1)) for item in (number, b.sub(number, i32(1))))
    arrivals, opens = at(b, block, layout.CLUSTER_ARRIVALS), at(b, block, layout.CLUSTER_OPEN)
    for table, released, add in ((arrivals, upto, thread), (opens, behind, None)):
        rows = (own, before) if add is None else (b.or_(b.shl(item, i32(10)), add) for item in (own, before))
        here, earlier = (element(b, table, row, I64) for row in rows)
        latest = b.or_(phase, released)
        others = (b.load(here, typ=I64), b.or_(phase, _low(b, b.load(earlier, typ=I64))))
        for other in others:  # of this phase, by another thread, or of the phase before
            latest = b.select(b.icmp_unsigned(">", other, latest), other, latest)
        b.store(latest, here)
    b.ret_void()
    return function


def passage(module: ir.Module) -> ir.Function:
    """`(machine, thread, steps)`: a thread has waited at the cluster's barrier."""
    function, is_new = subroutine(module, "check.cluster_passage", ir.VoidType(), (POINTER, I32, I32))
    if is_new:
        machine, thread, steps = function.args
        b = open_function(function)
        block = field(b, machine, "block_checks", POINTER)
        passed = b.add(b.lshr(steps, i32(1)), i32(1))
        b.store(passed, element(b, at(b, block, layout.CLUSTER_PASSED), thread, I32))
        b.ret_void()
    return function


def peer(module: ir.Module) -> ir.Function:
    """`(machine, block's number)` → the state of a block of the running one's cluster; null where it is another's."""
    function, is_new = subroutine(module, "check.peer", POINTER, (POINTER, I64))
    if not is_new:
        return function
    machine, number = function.args
    b = open_function(function)
    null = ir.Constant(POINTER, None)
    states = field(b, machine, "cluster_checks", POINTER)
    with counted(b, field(b, machine, "cluster_count")) as rank:
        state = b.load(element(b, states, rank, I64), typ=POINTER)
        with b.if_then(b.icmp_unsigned("!=", state, null)):
            own = b.load(at(b, state, layout.BLOCK["number"]), typ=I64)
            with b.if_then(b.icmp_unsigned("==", own, number)):
                b.ret(state)
    b.ret(null)
    return function


def is_one_cluster(module: ir.Module) -> ir.Function:
    """`(machine, block's number, another's)` → whether both blocks are of one cluster; they may have exited."""
    function, is_new = subroutine(module, "check.is_one_cluster", I1, (POINTER, I64, I64))
    if not is_new:
        return function
    machine, *numbers = function.args
    b = open_function(function)
    left = list(numbers)
    is_one: ir.Value = ir.Constant(I1, 1)
    for axis in "xyz":
        blocks, side = field(b, machine, f"grid_{axis}"), field(b, machine, f"cluster_{axis}")
        one, other = (b.udiv(b.urem(number, blocks), side) for number in left)
        is_one = b.and_(is_one, b.icmp_unsigned("==", one, other))
        left = [b.udiv(number, blocks) for number in left]
    b.ret(is_one)
    return function


def is_known(module: ir.Module) -> ir.Function:
    """`(machine, state of a block, its thread, stamp, thread)` → whether the running block's thread knows an access."""
    function, is_new = subroutine(module, "check.cluster_known", I1, (POINTER, POINTER, I32, I64, I32))
    if not is_new:
        return function
    machine, state, their, stamp, own = function.args
    b = open_function(function)
    block = field(b, machine, "block_checks", POINTER)
    passed = b.zext(b.load(element(b, at(b, block, layout.CLUSTER_PASSED), own, I32), typ=I32), I64)
    for row in range(layout.CLUSTER_PHASES):
        arrived = b.load(element(b, at(b, state, layout.CLUSTER_ARRIVALS), b.add(their, i32(row << 10)), I64), typ=I64)
        before = b.load(at(b, state, layout.CLUSTER_OPEN + 8 * row), typ=I64)
        by_thread = b.and_(_is_open(b, arrived, passed), b.icmp_unsigned("<=", stamp, _low(b, arrived)))
        by_block = b.and_(_is_open(b, before, passed), b.icmp_unsigned("<", stamp, _low(b, before)))
        with b.if_then(b.or_(by_thread, by_block)):
            b.ret(ir.Constant(I1, 1))
    b.ret(ir.Constant(I1, 0))
    return function


def _is_open(b: ir.IRBuilder, word: ir.Value, passed: ir.Value) -> ir.Value:
    """Whether a thread that has waited `passed` times knows of an arrival."""
    return b.icmp_unsigned("<=", b.lshr(word, i64(32)), passed)
