"""Queue of the copies of `cp.async`: each has read its source, and arrives when its thread waits.

`runtime.bulk_forms` is the memory. PTX ISA manual, 9.7.9.25.3 "Async-group mechanism".
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import (
    I32,
    I64,
    POINTER,
    Cell,
    at,
    convert,
    counted,
    i32,
    i64,
    subroutine,
    while_nonzero,
)
from gpuregress.virtual_gpu.builder.threads import linear_thread
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.checks.synchronization import copy_arrival
from gpuregress.virtual_gpu.runtime.bulk_forms import (
    ARRIVALS,
    CAPACITY,
    COUNT,
    DATA,
    ENTRIES,
    ENTRY_BYTES,
    ENTRY_GROUP,
    EXPECTED_SHIFT,
    FREE,
    GROUP,
    HEAD,
    HEADER_BYTES,
    MACHINE,
    NEXT,
    PARITY_SHIFT,
    ROW_BYTES,
    SIZE,
    TAIL,
    TARGET,
    THREAD_ARRIVALS,
    USED,
)
from gpuregress.virtual_gpu.runtime.machine_layout import AT_ANY_WAIT, AT_ONCE, MAX_THREADS

I128 = ir.IntType(128)
_WIDTHS = (4, 8, 16)
_ALL = 1 << 30
"""More groups than a thread has."""


def issue(emitter: Services, target: ir.Value, data: ir.Value) -> None:
    """Add a copy to the running thread's list.

    Args:
        emitter: the function's.
        target: host pointer.
        data: the bytes, an integer of 32, 64 or 128 bits.
    """
    b = emitter.builder
    if emitter.unit.granules is not None:
        b.store(emitter.view.machine, at(b, _queue(emitter), MACHINE))
    _issue(*_running(emitter), target, i32(data.type.width // 8), convert(b, data, I128))
    _arrive_if(emitter, AT_ONCE)


def issue_arrival(emitter: Services, barrier: ir.Value, *, counts: bool) -> None:
    """Add an arrival at an mbarrier, after the thread's copies.

    Args:
        emitter: the function's.
        barrier: host pointer to it.
        counts: whether the instruction itself adds the arrival to those that the phase waits for.
    """
    b = emitter.builder
    if counts:
        b.store(b.add(b.load(barrier, typ=I64, align=8), i64(1)), barrier, align=8)
    _issue(*_running(emitter), barrier, i32(0), ir.Constant(I128, 0))
    _arrive_if(emitter, AT_ONCE)


def commit(emitter: Services) -> None:
    """End the thread's group."""
    b, row = emitter.builder, _row(emitter.builder, _queue(emitter), _thread(emitter))
    pointer = at(b, row, GROUP)
    b.store(b.add(b.load(pointer, typ=I32), i32(1)), pointer)


def wait(emitter: Services, most: int) -> None:
    """Let the thread's copies arrive, but those of its last `most` committed groups."""
    b, row = emitter.builder, _row(emitter.builder, _queue(emitter), _thread(emitter))
    limit = b.sub(b.load(at(b, row, GROUP), typ=I32), i32(most))
    _complete(*_running(emitter), limit)
    _arrive_if(emitter, AT_ANY_WAIT)


def arrive(emitter: Services, barrier: ir.Value) -> None:
    """Let all copies arrive that are followed by an arrival at an mbarrier, and the arrival.

    Args:
        emitter: the function's.
        barrier: host pointer to it.
    """
    if not emitter.unit.has_copy_arrivals:
        return
    b, queue = emitter.builder, _queue(emitter)
    with b.if_then(b.icmp_unsigned("!=", b.load(at(b, queue, ARRIVALS), typ=I64), i64(0)), likely=False):
        _arrive(emitter.unit, b, queue, i32(MAX_THREADS), barrier)


def _arrive_if(emitter: Services, arrival: int) -> None:
    """Let all copies of the thread arrive where the launch's schedule has them arrive here."""
    if not emitter.unit.schedule.permuted:
        return
    b = emitter.builder
    wanted = b.icmp_unsigned("==", field(b, emitter.view.machine, "arrival"), i64(arrival))
    with b.if_then(wanted, likely=False):
        _complete(*_running(emitter), i32(_ALL))


# --- access -----------------------------------------------------------------------------------------------------------


def _queue(emitter: Services) -> ir.Value:
    return emitter.view.pointer("copies")


def _thread(emitter: Services) -> ir.Value:
    return linear_thread(emitter.builder, emitter.view, emitter.thread)


def _running(emitter: Services) -> tuple[Unit, ir.IRBuilder, ir.Value, ir.Value]:
    """The first arguments of a subroutine for the running thread."""
    return emitter.unit, emitter.builder, _queue(emitter), _thread(emitter)


def _row(b: ir.IRBuilder, queue: ir.Value, thread: ir.Value) -> ir.Value:
    return at(b, queue, b.add(b.mul(b.zext(thread, I64), i64(ROW_BYTES)), i64(HEADER_BYTES)))


def _entry(b: ir.IRBuilder, queue: ir.Value, number: ir.Value) -> ir.Value:
    return at(b, queue, b.add(b.mul(b.zext(number, I64), i64(ENTRY_BYTES)), i64(ENTRIES)))


def _load(b: ir.IRBuilder, base: ir.Value, offset: int, type_: ir.Type = I32) -> ir.Value:
    return b.load(at(b, base, offset), typ=type_)


def _store(b: ir.IRBuilder, base: ir.Value, offset: int, value: ir.Value) -> None:
    b.store(value, at(b, base, offset))


def _bump(b: ir.IRBuilder, base: ir.Value, offset: int, by: int, type_: ir.Type = I32) -> None:
    _store(b, base, offset, b.add(_load(b, base, offset, type_), ir.Constant(type_, by)))


# --- subroutines ------------------------------------------------------------------------------------------------------


@subroutine("copies.issue")
def _issue(
    unit: Unit,
    b: ir.IRBuilder,
    queue: ir.Value,
    thread: ir.Value,
    target: ir.Value,
    size: ir.Value,
    data: ir.Value,
) -> None:
    """Add an entry to the end of a thread's list; where none is free, the thread's copies arrive first."""
    row = _row(b, queue, thread)
    full = b.and_(
        b.icmp_unsigned("==", _load(b, queue, FREE, I64), i64(0)),
        b.icmp_unsigned(">=", _load(b, queue, USED, I64), i64(CAPACITY)),
    )
    with b.if_then(full, likely=False):
        _complete(unit, b, queue, thread, i32(_ALL))
    number = b.trunc(_load(b, queue, FREE, I64), I32)
    reused = b.icmp_unsigned("!=", number, i32(0))
    with b.if_else(reused, likely=True) as (again, fresh):
        with again:
            following = _load(b, _entry(b, queue, number), NEXT)
            _store(b, queue, FREE, b.zext(following, I64))
            first = b.block
        with fresh:
            used = b.add(_load(b, queue, USED, I64), i64(1))
            room = b.icmp_unsigned("<=", used, i64(CAPACITY))
            with b.if_then(b.not_(room), likely=False):
                # Other threads have filled the queue: this copy arrives at once.
                _perform(b, target, size, data)
                _note_arrival(unit, b, queue, target, size, restamps=True)
                b.ret_void()
            _store(b, queue, USED, used)
            unused = b.trunc(used, I32)
            second = b.block
    chosen = b.phi(I32)
    chosen.add_incoming(number, first)
    chosen.add_incoming(unused, second)
    entry = _entry(b, queue, chosen)
    b.store(data, at(b, entry, DATA), align=16)
    _store(b, entry, TARGET, b.ptrtoint(target, I64))
    _store(b, entry, NEXT, i32(0))
    _store(b, entry, ENTRY_GROUP, _load(b, row, GROUP))
    _store(b, entry, SIZE, size)
    with b.if_then(b.icmp_unsigned("==", size, i32(0)), likely=False):
        _bump(b, queue, ARRIVALS, 1, I64)
        _bump(b, row, THREAD_ARRIVALS, 1)
    tail = _load(b, row, TAIL)
    with b.if_else(b.icmp_unsigned("==", tail, i32(0))) as (empty, longer):
        with empty:
            _store(b, row, HEAD, chosen)
        with longer:
            _store(b, _entry(b, queue, tail), NEXT, chosen)
    _store(b, row, TAIL, chosen)


@subroutine("copies.complete")
def _complete(unit: Unit, b: ir.IRBuilder, queue: ir.Value, thread: ir.Value, limit: ir.Value) -> None:
    """Complete the entries at the head of a thread's list whose group is below a limit."""
    row = _row(b, queue, thread)
    head, test, body, after = (b.append_basic_block(name) for name in ("head", "test", "body", "after"))
    b.branch(head)
    b.position_at_end(head)
    number = _load(b, row, HEAD)
    b.cbranch(b.icmp_unsigned("==", number, i32(0)), after, test)
    b.position_at_end(test)
    entry = _entry(b, queue, number)
    b.cbranch(b.icmp_signed("<", b.sub(_load(b, entry, ENTRY_GROUP), limit), i32(0)), body, after)
    b.position_at_end(body)
    _take_first(unit, b, queue, row, number, restamps=True)
    b.branch(head)
    b.position_at_end(after)


def _take_first(
    unit: Unit, b: ir.IRBuilder, queue: ir.Value, row: ir.Value, number: ir.Value, *, restamps: bool
) -> None:
    """Take the first entry off a list, and complete it."""
    entry = _entry(b, queue, number)
    following = _load(b, entry, NEXT)
    _store(b, row, HEAD, following)
    with b.if_then(b.icmp_unsigned("==", following, i32(0))):
        _store(b, row, TAIL, i32(0))
    _store(b, entry, NEXT, b.trunc(_load(b, queue, FREE, I64), I32))
    _store(b, queue, FREE, b.zext(number, I64))
    size = _load(b, entry, SIZE)
    with b.if_then(b.icmp_unsigned("==", size, i32(0)), likely=False):
        _bump(b, queue, ARRIVALS, -1, I64)
        _bump(b, row, THREAD_ARRIVALS, -1)
    target = b.inttoptr(_load(b, entry, TARGET, I64), POINTER)
    _perform(b, target, size, b.load(at(b, entry, DATA), typ=I128, align=16))
    _note_arrival(unit, b, queue, target, size, restamps=restamps)


def _note_arrival(
    unit: Unit, b: ir.IRBuilder, queue: ir.Value, target: ir.Value, size: ir.Value, *, restamps: bool
) -> None:
    """Tell the dynamic checks that a copy has arrived, where there are any."""
    if unit.granules is not None:
        machine = b.load(at(b, queue, MACHINE), typ=POINTER)
        copy_arrival(unit, b, machine, b.ptrtoint(target, I64), b.zext(size, I64), restamps=restamps)


def _perform(b: ir.IRBuilder, target: ir.Value, size: ir.Value, data: ir.Value) -> None:
    """Store the bytes of a copy, or arrive at an mbarrier."""
    after, arrival = b.append_basic_block("performed"), b.append_basic_block("arrival")
    switch = b.switch(size, arrival)
    for count in _WIDTHS:
        block = b.append_basic_block(f"copy{count}")
        switch.add_case(i32(count), block)
        inner = ir.IRBuilder(block)
        inner.store(convert(inner, data, ir.IntType(8 * count)), target, align=count)
        inner.branch(after)
    b.position_at_end(arrival)
    value = b.sub(b.load(target, typ=I64, align=8), i64(1))
    # The pending bytes are at the bits from EXPECTED_SHIFT + 20 to the parity.
    pending = b.and_(value, i64((1 << PARITY_SHIFT) - 1 & ~(COUNT << EXPECTED_SHIFT)))
    expected = b.and_(b.lshr(value, i64(EXPECTED_SHIFT)), i64(COUNT))
    turned = b.or_(b.xor(value, i64(1 << PARITY_SHIFT)), expected)
    b.store(b.select(b.icmp_unsigned("==", pending, i64(0)), turned, value), target, align=8)
    b.branch(after)
    b.position_at_end(after)


@subroutine("copies.arrive")
def _arrive(unit: Unit, b: ir.IRBuilder, queue: ir.Value, threads: ir.Value, barrier: ir.Value) -> None:
    """Complete, in each thread's list, the entries up to the last arrival at an mbarrier."""
    wanted, number, last = b.ptrtoint(barrier, I64), Cell(b, i32(0)), Cell(b, i32(0))
    with counted(b, threads) as thread:
        row = _row(b, queue, thread)
        with b.if_then(b.icmp_unsigned("!=", _load(b, row, THREAD_ARRIVALS), i32(0)), likely=False):
            last.set(i32(0))
            number.set(_load(b, row, HEAD))
            with while_nonzero(b, number) as here:
                entry = _entry(b, queue, here)
                is_arrival = b.icmp_unsigned("==", _load(b, entry, SIZE), i32(0))
                is_wanted = b.icmp_unsigned("==", _load(b, entry, TARGET, I64), wanted)
                last.set(b.select(b.and_(is_arrival, is_wanted), here, last.get()))
                number.set(_load(b, entry, NEXT))
            with while_nonzero(b, last) as end:
                first = _load(b, row, HEAD)
                _take_first(unit, b, queue, row, first, restamps=False)
                last.set(b.select(b.icmp_unsigned("==", first, end), i32(0), end))
