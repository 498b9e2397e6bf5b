"""Synchronisation as the race detector sees it: turns of blocks, barriers, warp barriers.

A wait that orders memory raises what its threads know of each other to the stamp of the moment, and begins a new one.
`bar.warp.sync` and the barriers of a block order memory (PTX ISA manual, 9.7.13); `shfl.sync`, `vote.sync` and
`match.sync` do not ("CUDA C++ programming guide", warp vote and shuffle functions).
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.services import raw_call
from gpuregress.virtual_gpu.builder.structured import (
    I1,
    I32,
    I64,
    POINTER,
    Cell,
    at,
    counted,
    element,
    fill_memory,
    i32,
    i64,
    stack_words,
)
from gpuregress.virtual_gpu.builder.threads import row
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.checks.shadow_cells import load_word, subroutine
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.machine_layout import BARRIERS, CHECK_MASK, CHECK_ORDER, DEPARTED, DONE

_NOT_LOGGED = layout.PROXY_FENCE | layout.INITIALIZES


def _pass_time(b: ir.IRBuilder, launch: ir.Value) -> ir.Value:
    """Begin a new stamp; return the one that ends, i64."""
    now = load_word(b, launch, layout.LAUNCH["now"])
    b.store(b.add(now, i64(1)), at(b, launch, layout.LAUNCH["now"]))
    return now


def _first_epoch(b: ir.IRBuilder, stamp: ir.Value) -> ir.Value:
    return b.shl(stamp, i64(layout.STAMP_SHIFT))


def now(b: ir.IRBuilder, machine: ir.Value, thread: ir.Value) -> ir.Value:
    """The epoch of a thread (its number, i32) at this moment, without site and flags."""
    launch = field(b, machine, "checks", POINTER)
    stamp = _first_epoch(b, load_word(b, launch, layout.LAUNCH["now"]))
    return b.or_(stamp, b.shl(b.zext(thread, I64), i64(layout.THREAD_SHIFT)))


@subroutine("check.begin_turn")
def begin_turn(unit: Unit, b: ir.IRBuilder, machine: ir.Value, number: ir.Value, goes_on: ir.Value) -> None:
    """`(machine, block's number, whether it goes on)`: a block begins, or goes on after others have run."""
    launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
    _pass_time(b, launch)
    first = _first_epoch(b, load_word(b, launch, layout.LAUNCH["now"]))
    b.store(first, at(b, block, layout.BLOCK["turn"]))
    b.store(first, at(b, block, layout.BLOCK["quick"]))
    b.store(number, at(b, block, layout.BLOCK["number"]))
    with b.if_else(goes_on) as (again, begins):
        with again:
            b.store(i64(1), at(b, launch, layout.LAUNCH["has_turns"]))
        with begins:
            stop = at(b, launch, layout.LAUNCH["stop"])
            is_paused = b.icmp_unsigned("==", b.load(stop, typ=I64), i64(layout.PAUSED))
            b.store(b.select(is_paused, i64(0), b.load(stop, typ=I64)), stop)
            # The block's first epoch is that of what is there from the beginning.
            _pass_time(b, launch)
            behind = b.add(first, i64(1 << layout.STAMP_SHIFT))
            b.store(first, at(b, block, layout.BLOCK["start"]))
            for name in ("open", "quick"):
                b.store(behind, at(b, block, layout.BLOCK[name]))
            for name in ("fences", "fenced"):
                b.store(i64(0), at(b, block, layout.BLOCK[name]))
            end = layout.PROXY_FENCED if unit.clustered else layout.CLUSTER_ARRIVALS
            fill_memory(b, at(b, block, layout.ARRIVALS), 0, i64(end - layout.ARRIVALS))
    count = load_word(b, launch, layout.LAUNCH["turn_count"])
    fits = b.icmp_unsigned("<", count, load_word(b, launch, layout.LAUNCH["turn_capacity"]))
    with b.if_else(fits, likely=True) as (kept, lost):
        with kept:
            turns = b.inttoptr(load_word(b, launch, layout.LAUNCH["turns"]), POINTER)
            b.store(b.or_(first, number), element(b, turns, count, I64))
            b.store(b.add(count, i64(1)), at(b, launch, layout.LAUNCH["turn_count"]))
        with lost:
            b.store(i64(1), at(b, launch, layout.LAUNCH["lost_turns"]))
            b.store(i64(layout.STOPPED), at(b, launch, layout.LAUNCH["stop"]))


@subroutine("check.block_barrier")
def block_barrier(b: ir.IRBuilder, machine: ir.Value) -> None:
    """`(machine)`: all threads of the block have met at a barrier."""
    launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
    stamp = _pass_time(b, launch)
    first = _first_epoch(b, b.add(stamp, i64(1)))
    b.store(first, at(b, block, layout.BLOCK["open"]))
    b.store(first, at(b, block, layout.BLOCK["quick"]))
    with b.if_then(b.icmp_unsigned(">", load_word(b, block, layout.BLOCK["fences"]), i64(1)), likely=False):
        b.store(stamp, at(b, block, layout.BLOCK["fenced"]))


@subroutine(lambda _, restamps: "check.copy_arrival.now" if restamps else "check.copy_arrival")
def copy_arrival(
    unit: Unit, b: ir.IRBuilder, machine: ir.Value, host: ir.Value, size: ir.Value, *, restamps: bool
) -> None:
    """`(machine, host address, bytes)`: a copy to shared memory has arrived.

    Args:
        unit: the module.
        b: the builder.
        machine: the launch's.
        host: the address of the first byte, i64.
        size: in bytes, i64.
        restamps: whether its thread waited for it, and so has written it now.
    """
    assert unit.granules is not None
    with b.if_then(b.icmp_unsigned("==", size, i64(0))):
        b.ret_void()  # an arrival at an mbarrier
    launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
    shift = i64(unit.granules["shared"])
    number = b.lshr(b.sub(host, field(b, machine, "shared")), shift)
    first = b.add(load_word(b, block, layout.BLOCK["cells"]), b.shl(number, i64(layout.CELL_SHIFT)))
    stamp = _first_epoch(b, load_word(b, launch, layout.LAUNCH["now"]))
    with counted(b, b.lshr(size, shift)) as index:
        cell = b.inttoptr(b.add(first, b.shl(index, i64(layout.CELL_SHIFT))), POINTER)
        bare = b.and_(b.load(cell, typ=I64), i64(~layout.IN_FLIGHT))
        if restamps:
            bare = b.or_(stamp, b.and_(bare, i64(0xFFFF_FFFF)))
        b.store(bare, cell)


@subroutine("check.order")
def order(
    b: ir.IRBuilder, machine: ir.Value, kind: ir.Value, address: ir.Value, epoch: ir.Value, scope: ir.Value
) -> None:
    """`(machine, bits, address, epoch, scope)`: a strong access or a fence is logged; see `runtime.checks.causality`.

    Python is called for what it has to know at once: waits at mbarriers, their initialization, fences between proxies,
    and a full log.
    """
    launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
    explicit = b.and_(kind, i64(layout.ACQUIRES | layout.RELEASES | layout.FENCE | layout.WAITS | _NOT_LOGGED))
    fences, fenced = (load_word(b, block, layout.BLOCK[name]) for name in ("fences", "fenced"))
    seen = b.or_(load_word(b, launch, layout.LAUNCH["released"]), fences)
    with b.if_then(b.icmp_unsigned("==", b.or_(explicit, seen), i64(0)), likely=True):
        b.ret_void()
    with b.if_then(_has_bits(b, kind, layout.FENCE)):
        is_far = b.icmp_unsigned(">=", scope, i64(layout.SCOPES["cluster"]))
        b.store(b.or_(fences, b.select(is_far, i64(3), i64(1))), at(b, block, layout.BLOCK["fences"]))
    # A write after a fence releases, too: of which thread the fence is, is found when the log is followed.
    behind = b.and_(_has_bits(b, kind, layout.WRITES), b.icmp_unsigned("!=", b.or_(fences, fenced), i64(0)))
    with b.if_then(b.or_(_has_bits(b, kind, layout.RELEASES), behind)):
        b.store(i64(1), at(b, launch, layout.LAUNCH["released"]))
    with b.if_then(_has_bits(b, kind, layout.WAITS | _NOT_LOGGED), likely=False):
        for index, word in enumerate((kind, address, epoch, scope)):
            b.store(word, at(b, launch, layout.REPORT + 8 * index))
        raw_call(b, machine, CHECK_ORDER, at(b, launch, layout.REPORT), machine)
    with b.if_then(b.not_(_has_bits(b, kind, _NOT_LOGGED))):
        with b.if_then(_is_log_full(b, launch), likely=False):
            b.store(i64(0), at(b, launch, layout.REPORT))
            raw_call(b, machine, CHECK_ORDER, at(b, launch, layout.REPORT), machine)
        row = _log_row(b, launch, block, epoch)
        count = load_word(b, launch, layout.LAUNCH["order_count"])
        b.store(b.add(count, i64(1)), at(b, launch, layout.LAUNCH["order_count"]))
        orders = b.inttoptr(load_word(b, launch, layout.LAUNCH["orders"]), POINTER)
        entry = at(b, orders, b.shl(count, i64(layout.ORDER_SHIFT)))
        words = {
            "kind": b.or_(kind, b.shl(scope, i64(layout.ORDER_SCOPE_SHIFT))),
            "address": address,
            "epoch": epoch,
            "stamp": load_word(b, launch, layout.LAUNCH["now"]),
            **{name: load_word(b, block, layout.BLOCK[name]) for name in ("number", "open", "fenced")},
            "row": row,
        }
        for name, word in words.items():
            b.store(word, at(b, entry, layout.ORDER[name]))
    _pass_time(b, launch)


def _has_bits(b: ir.IRBuilder, word: ir.Value, bits: int) -> ir.Value:
    return b.icmp_unsigned("!=", b.and_(word, i64(bits)), i64(0))


def _is_log_full(b: ir.IRBuilder, launch: ir.Value) -> ir.Value:
    """Whether the log of strong accesses and fences, or its rows, can take no more."""
    entries, rows, capacity = (
        load_word(b, launch, layout.LAUNCH[name]) for name in ("order_count", "order_row_count", "order_capacity")
    )
    full = b.icmp_unsigned(">=", entries, capacity)
    return b.or_(full, b.icmp_unsigned(">=", b.shl(rows, i64(layout.ORDERS_PER_ROW_SHIFT)), capacity))


def _log_row(b: ir.IRBuilder, launch: ir.Value, block: ir.Value, epoch: ir.Value) -> ir.Value:
    """Log what the thread of an epoch knows of the warps, and of its lanes, unless the last row tells it, i64."""
    row = ir.VectorType(I32, 32)
    thread = b.lshr(b.and_(epoch, i64(layout.THREAD_MASK)), i64(layout.THREAD_SHIFT))
    known = [
        b.load(at(b, block, b.add(i64(table), b.shl(number, i64(7)))), typ=row, align=4)
        for table, number in ((layout.WARPS, b.lshr(thread, i64(5))), (layout.LANES, thread))
    ]
    rows = b.inttoptr(load_word(b, launch, layout.LAUNCH["order_rows"]), POINTER)
    count = load_word(b, launch, layout.LAUNCH["order_row_count"])
    number = Cell(b, b.sub(count, i64(1)))
    last = at(b, rows, b.shl(number.get(b), i64(layout.ORDER_ROW_SHIFT)))
    differs = ir.Constant(I32, 0)
    for half, stamps in enumerate(known):
        apart = b.icmp_unsigned("!=", stamps, b.load(at(b, last, 128 * half), typ=row, align=4))
        differs = b.or_(differs, b.bitcast(apart, I32))
    with b.if_then(b.icmp_unsigned("!=", differs, i32(0)), likely=False):
        fresh = at(b, rows, b.shl(count, i64(layout.ORDER_ROW_SHIFT)))
        for half, stamps in enumerate(known):
            b.store(stamps, at(b, fresh, 128 * half), align=4)
        b.store(b.add(count, i64(1)), at(b, launch, layout.LAUNCH["order_row_count"]))
        number.set(count, b)
    return number.get(b)


def note_proxy_fence(b: ir.IRBuilder, machine: ir.Value, thread: ir.Value) -> None:
    """Keep the stamp of a thread's fence between the proxies (its number, i32)."""
    _keep_stamp(b, machine, layout.PROXY_FENCED, thread)


def note_wait(b: ir.IRBuilder, machine: ir.Value, thread: ir.Value) -> None:
    """Keep the stamp of a thread's wait at an mbarrier that is over (its number, i32)."""
    _keep_stamp(b, machine, layout.WAITED, thread)


def _keep_stamp(b: ir.IRBuilder, machine: ir.Value, table: int, thread: ir.Value) -> None:
    launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
    stamp = b.trunc(load_word(b, launch, layout.LAUNCH["now"]), I32)
    b.store(stamp, element(b, at(b, block, table), thread, I32))


def _known(b: ir.IRBuilder, block: ir.Value, base: int, row: ir.Value, column: ir.Value) -> ir.Value:
    """A pointer to a stamp of a table with 32 columns."""
    return element(b, at(b, block, base), b.add(b.shl(row, i32(5)), column), I32)


@subroutine("check.warp_barriers")
def warp_barriers(b: ir.IRBuilder, machine: ir.Value, threads: ir.Value) -> None:
    """`(machine, threads)`: all lanes of each warp have met at a barrier of their warp."""
    launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
    stamp = b.trunc(_pass_time(b, launch), I32)
    with counted(b, b.lshr(b.add(threads, i32(31)), i32(5))) as warp:
        b.store(stamp, _known(b, block, layout.WARPS, warp, warp))


@subroutine("check.lane_barrier")
def lane_barrier(b: ir.IRBuilder, machine: ir.Value, base: ir.Value, group: ir.Value, live: ir.Value) -> None:
    """`(machine, first thread of the warp, lanes as bits, all that the warp has left)`: some lanes have met."""
    launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
    stamp = b.trunc(_pass_time(b, launch), I32)
    warp = b.lshr(base, i32(5))
    with b.if_then(b.icmp_unsigned("==", group, live), likely=True):
        b.store(stamp, _known(b, block, layout.WARPS, warp, warp))
        b.ret_void()
    # Each lane of the group learns what the others of it know.
    joined = Cell(b, i32(0))
    with counted(b, i32(32)) as column:
        joined.set(i32(0), b)
        with counted(b, i32(32)) as lane, b.if_then(_has(b, group, lane)):
            known = b.load(_known(b, block, layout.LANES, b.add(base, lane), column), typ=I32)
            joined.set(_later(b, known, joined.get(b)), b)
        joined.set(b.select(_has(b, group, column), stamp, joined.get(b)), b)
        with counted(b, i32(32)) as lane, b.if_then(_has(b, group, lane)):
            b.store(joined.get(b), _known(b, block, layout.LANES, b.add(base, lane), column))


@subroutine("check.arrival")
def arrival(b: ir.IRBuilder, machine: ir.Value, number: ir.Value, warp: ir.Value) -> None:
    """`(machine, barrier, warp)`: a warp has arrived at a barrier and goes on."""
    launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
    stamp = b.trunc(_pass_time(b, launch), I32)
    b.store(stamp, _known(b, block, layout.ARRIVALS, number, warp))


@subroutine("check.clear_waiting")
def clear_waiting(b: ir.IRBuilder, machine: ir.Value) -> None:
    """`(machine)`: the scheduler begins to count who waits at which barrier."""
    block = field(b, machine, "block_checks", POINTER)
    with counted(b, i32(BARRIERS)) as number:
        b.store(i32(0), element(b, at(b, block, layout.WAITING), number, I32))


@subroutine("check.waiting")
def waiting(b: ir.IRBuilder, machine: ir.Value, number: ir.Value, warp: ir.Value) -> None:
    """`(machine, barrier, warp)`: threads of a warp wait at a barrier."""
    block = field(b, machine, "block_checks", POINTER)
    pointer = element(b, at(b, block, layout.WAITING), number, I32)
    b.store(b.or_(b.load(pointer, typ=I32), b.shl(i32(1), warp)), pointer)


@subroutine("check.named_barrier")
def named_barrier(b: ir.IRBuilder, machine: ir.Value, number: ir.Value, everyone: ir.Value) -> None:
    """`(machine, barrier, whether all threads of the block wait there)`: a barrier opens."""
    launch, block = field(b, machine, "checks", POINTER), field(b, machine, "block_checks", POINTER)
    with b.if_then(everyone):
        block_barrier(b, machine)
        b.ret_void()
    stamp = b.trunc(_pass_time(b, launch), I32)
    waits = b.load(element(b, at(b, block, layout.WAITING), number, I32), typ=I32)
    joined = Cell(b, i32(0))
    with counted(b, i32(32)) as column:
        joined.set(i32(0), b)
        with counted(b, i32(32)) as warp:
            came = b.load(_known(b, block, layout.ARRIVALS, number, warp), typ=I32)
            takes_part = b.or_(_has(b, waits, warp), b.icmp_unsigned("!=", came, i32(0)))
            with b.if_then(takes_part):
                known = b.load(_known(b, block, layout.WARPS, warp, column), typ=I32)
                joined.set(_later(b, known, joined.get(b)), b)
        came = b.load(_known(b, block, layout.ARRIVALS, number, column), typ=I32)
        joined.set(_later(b, came, joined.get(b)), b)
        joined.set(b.select(_has(b, waits, column), stamp, joined.get(b)), b)
        with counted(b, i32(32)) as warp, b.if_then(_has(b, waits, warp)):
            # What a warp knows of itself is ordered by its own barriers, and by this one.
            b.store(joined.get(b), _known(b, block, layout.WARPS, warp, column))
    with counted(b, i32(32)) as warp:
        b.store(i32(0), _known(b, block, layout.ARRIVALS, number, warp))


def _has(b: ir.IRBuilder, mask: ir.Value, bit: ir.Value) -> ir.Value:
    return b.trunc(b.lshr(mask, bit), I1)


def _later(b: ir.IRBuilder, first: ir.Value, second: ir.Value) -> ir.Value:
    return b.select(b.icmp_unsigned(">", first, second), first, second)


# --- warp masks -------------------------------------------------------------------------------------------------------
# Check of warp operations for masks that name absent lanes.
#
# A lane is absent if it went another way and never arrives.
#
# All threads that a mask names and that have not exited must execute the operation ("CUDA C++ programming guide", warp
# vote, shuffle and `__syncwarp`). Whether a lane has exited in time is luck, unless it returned without a further
# effect.


@subroutine("check.absent_lanes")
def absent_lanes(
    b: ir.IRBuilder,
    machine: ir.Value,
    context: ir.Value,
    threads: ir.Value,
    base: ir.Value,
    group: ir.Value,
    key: ir.Value,
) -> None:
    """`(machine, context, threads, first of the warp, lanes that meet, key)`: report the first lane that departed."""
    mask = b.trunc(key, I32)
    missing = b.and_(mask, b.not_(group))
    with b.if_then(b.icmp_unsigned("==", missing, i32(0)), likely=True):
        b.ret_void()
    with counted(b, i32(32)) as lane, b.if_then(b.trunc(b.lshr(missing, lane), I1)):
        thread = b.add(base, lane)
        with b.if_then(b.icmp_unsigned(">=", thread, threads)):
            b.ret_void()
        has_exited = b.icmp_unsigned("==", b.load(row(b, context, "state", thread), typ=I32), i32(DONE))
        left = b.load(row(b, context, "key", thread), typ=I64)
        with b.if_then(b.and_(has_exited, b.icmp_unsigned(">=", left, i64(DEPARTED)))):
            waiting = b.add(base, b.cttz(group, ir.Constant(I1, 1)))
            words = stack_words(b, [b.zext(value, I64) for value in (mask, waiting, thread)])
            raw_call(b, machine, CHECK_MASK, words, machine)
            b.ret_void()
