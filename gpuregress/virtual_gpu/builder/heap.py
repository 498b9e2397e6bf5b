"""Heap of kernels in IR: its records, the look-up of an address, malloc and free."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import I1, I64, POINTER, at, i64, stack_words, subroutine
from gpuregress.virtual_gpu.runtime.device_heap import (
    CELL,
    CELL_SHIFT,
    CLASS,
    CLASS_SHIFT,
    FREED,
    GRANULE,
    HEADER,
    HEADER_BYTES,
    LEAST_SHIFT,
)
from gpuregress.virtual_gpu.runtime.machine_layout import (
    FAULT_FREE,
    GATHER,
    HEAP_CLASSES,
    HEAP_FIRST,
    OFFSETS,
    REGION_SHIFT,
    SLOT_BITS,
    SYSTEM_CALLS,
)

# --- records ----------------------------------------------------------------------------------------------------------


class Record:
    """Words of a record in memory.

    Args:
        builder: where code goes.
        pointer: to the record.
        words: their names.
    """

    def __init__(self, builder: ir.IRBuilder, pointer: ir.Value, words: tuple[str, ...]) -> None:
        self._builder, self._pointer, self._words = builder, pointer, words

    def load(self, name: str, type_: ir.Type = I64) -> ir.Value:
        """The value of a word."""
        return self._builder.load(at(self._builder, self._pointer, 8 * self._words.index(name)), typ=type_, align=8)

    def store(self, name: str, value: ir.Value) -> None:
        """Set a word."""
        self._builder.store(value, at(self._builder, self._pointer, 8 * self._words.index(name)), align=8)

    def add(self, name: str, value: ir.Value) -> None:
        """Add to a word."""
        self.store(name, self._builder.add(self.load(name), value))

    def cell(self, number: ir.Value) -> Record:
        """The record of one of a class's cells."""
        start = self.load("cells", POINTER)
        return Record(self._builder, at(self._builder, start, self._builder.shl(number, i64(CELL_SHIFT))), CELL)


def place(b: ir.IRBuilder, record: Record, address: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The number of an address's cell, and its distance from the allocation there."""
    offset, shift = b.sub(address, record.load("base")), record.load("cell_shift")
    whole = b.shl(i64(1), shift)
    inside = b.and_(offset, b.sub(whole, i64(1)))
    return b.lshr(offset, shift), b.sub(inside, b.lshr(whole, i64(2)))


def held_memory(b: ir.IRBuilder, class_record: ir.Value, address: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return an address's offset into the allocation that is held there, its size, 0 if there is none, and the host.

    Args:
        b: where code goes.
        class_record: pointer to the record of its size class.
        address: the address.
    """
    record = Record(b, class_record, CLASS)
    index, inner = place(b, record, address)
    used = b.icmp_unsigned("<", index, record.load("fresh"))
    index = b.select(used, index, i64(0))
    size = record.cell(index).load("size")
    size = b.select(b.and_(used, b.icmp_signed(">=", size, i64(0))), size, i64(0))
    start = at(b, record.load("arena", POINTER), b.shl(index, record.load("host_shift")))
    return inner, size, at(b, start, inner)


# --- malloc and free --------------------------------------------------------------------------------------------------
# The kernels' heap in IR: malloc and free.
#
# Python reserves the memory of a size class when its first allocation is made; everything else happens here, in a few
# instructions. Free cells are reused in the order in which they were freed, and only when no other is left, so that
# accesses to freed memory are found.


_CALL = ir.FunctionType(I64, (I64, POINTER, POINTER)).as_pointer()
_NULL = ir.Constant(POINTER, None)


def _machine(b: ir.IRBuilder, machine: ir.Value, name: str, type_: ir.Type = I64) -> ir.Value:
    return b.load(at(b, machine, OFFSETS[name]), typ=type_, align=8)


def _charge(b: ir.IRBuilder, size: ir.Value) -> ir.Value:
    """The bytes that an allocation counts: whole granules, and at least one."""
    granules = b.and_(b.add(size, i64(GRANULE - 1)), i64(-GRANULE))
    return b.select(b.icmp_unsigned("==", size, i64(0)), i64(GRANULE), granules)


@subroutine("heap.malloc", I64)
def call_malloc(b: ir.IRBuilder, machine: ir.Value, site: ir.Value, size: ir.Value) -> ir.Value:
    """Call `malloc(machine, site, size) → address`, which is 0 where the heap has no room."""
    heap = _machine(b, machine, "heap", POINTER)
    header = Record(b, heap, HEADER)
    limit, charge = header.load("limit"), _charge(b, size)
    room = b.sub(limit, header.load("used"))
    fits = b.and_(b.icmp_unsigned("<=", size, limit), b.icmp_unsigned("<=", charge, room))
    with b.if_then(b.not_(fits)):
        b.ret(i64(0))
    width = b.sub(i64(64), b.ctlz(b.sub(charge, i64(1)), ir.Constant(I1, 0)))
    number = b.sub(width, i64(LEAST_SHIFT))
    with b.if_then(b.icmp_unsigned(">=", number, i64(HEAP_CLASSES))):
        b.ret(i64(0))
    record = Record(b, at(b, heap, b.add(b.shl(number, i64(CLASS_SHIFT)), i64(HEADER_BYTES))), CLASS)
    with b.if_then(b.icmp_unsigned("==", record.load("cells"), i64(0)), likely=False):
        _reserve_class(b, machine, number)
        with b.if_then(b.icmp_unsigned("==", record.load("cells"), i64(0))):
            b.ret(i64(0))
    index = _take_cell(b, record)
    cell = record.cell(index)
    cell.store("size", size)
    cell.store("born", b.or_(site, header.load("module")))
    header.add("used", charge)
    header.add("live", i64(1))
    shift = record.load("cell_shift")
    start = b.add(record.load("base"), b.shl(index, shift))
    return b.add(start, b.shl(i64(1), b.sub(shift, i64(2))))


def _reserve_class(b: ir.IRBuilder, machine: ir.Value, number: ir.Value) -> None:
    """Ask Python for the memory of a size class."""
    call = b.inttoptr(_machine(b, machine, "syscall"), _CALL)
    b.call(call, (i64(SYSTEM_CALLS.index("malloc")), stack_words(b, [number]), _NULL))


def _take_cell(b: ir.IRBuilder, record: Record) -> ir.Value:
    """Take a cell that was never used, or else the one that has been free for longest; return 0 if there is none."""
    fresh = record.load("fresh")
    with b.if_else(b.icmp_unsigned("<", fresh, record.load("count"))) as (unused, used):
        with unused:
            record.store("fresh", b.add(fresh, i64(1)))
            first = b.block
        with used:
            head = record.load("head")
            with b.if_then(b.icmp_unsigned("==", head, i64(0))):
                b.ret(i64(0))
            again = b.sub(head, i64(1))
            record.store("head", record.cell(again).load("next"))
            second = b.block
    index = b.phi(I64)
    index.add_incoming(fresh, first)
    index.add_incoming(again, second)
    return index


@subroutine("heap.free", I64)
def call_free(b: ir.IRBuilder, machine: ir.Value, site: ir.Value, address: ir.Value) -> ir.Value:
    """Call `free(machine, site, address) → 0`; records a fault where nothing is allocated there."""
    with b.if_then(b.icmp_unsigned("==", address, i64(0))):
        b.ret(i64(0))
    wrong = b.append_basic_block("wrong")
    fault = ir.IRBuilder(wrong)
    for name, value in (("fault_kind", i64(FAULT_FREE)), ("fault_site", site), ("fault_address", address)):
        fault.store(value, at(fault, machine, OFFSETS[name]), align=8)
    fault.ret(i64(0))

    def require(condition: ir.Value) -> None:
        right = b.append_basic_block("right")
        b.cbranch(condition, right, wrong)
        b.position_at_end(right)

    heap = _machine(b, machine, "heap", POINTER)
    slot = b.mul(b.lshr(address, i64(REGION_SHIFT)), i64(GATHER))
    number = b.sub(b.and_(slot, i64((1 << SLOT_BITS) - 1)), i64(HEAP_FIRST))
    require(b.icmp_unsigned("<", number, i64(HEAP_CLASSES)))
    record = Record(b, at(b, heap, b.add(b.shl(number, i64(CLASS_SHIFT)), i64(HEADER_BYTES))), CLASS)
    index, inner = place(b, record, address)
    require(b.and_(b.icmp_unsigned("<", index, record.load("fresh")), b.icmp_unsigned("==", inner, i64(0))))
    cell = record.cell(index)
    size = cell.load("size")
    require(b.icmp_signed(">=", size, i64(0)))
    cell.store("size", b.or_(size, i64(FREED)))
    header = Record(b, heap, HEADER)
    cell.store("died", b.or_(site, header.load("module")))
    cell.store("next", i64(0))
    _append(b, record, b.add(index, i64(1)))
    header.add("used", b.neg(_charge(b, size)))
    header.add("live", i64(-1))
    return i64(0)


def _append(b: ir.IRBuilder, record: Record, number: ir.Value) -> None:
    """Append a cell, counted from 1, to those that are free again."""
    with b.if_else(b.icmp_unsigned("==", record.load("head"), i64(0))) as (empty, some):
        with empty:
            record.store("head", number)
        with some:
            record.cell(b.sub(record.load("tail"), i64(1))).store("next", number)
    record.store("tail", number)
