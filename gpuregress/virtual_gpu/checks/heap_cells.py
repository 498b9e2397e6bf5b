"""Shadow cells of the kernels' heap, as subroutines of the module.

Each size class of the heap has cells of its own, side by side like its memory. An allocation begins a new history: its
cells are cleared, so that nobody has written or read it yet.

Reads of local memory that its thread has not written.

Each byte of local memory has a note, `local_notes` bytes behind it, which is 1 once the byte was written. A thread
begins with none, and so does each call of a function for its frame. A read is reported if it has a word of 4 bytes, or
is one of fewer, of which no byte was written: copies of structures read the padding, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.heap.records import Record, place
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import at, i64, open_function
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.builder.types import I1, I64, POINTER
from gpuregress.virtual_gpu.checks.access_notes import AccessNote, epoch_of, rules
from gpuregress.virtual_gpu.checks.shadow_cells import ShadowPlace, subroutine
from gpuregress.virtual_gpu.ptx.tree import Call, Function, Symbol
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.device_heap import CLASS, CLASS_SHIFT, HEADER_BYTES
from gpuregress.virtual_gpu.runtime.machine_layout import (
    GATHER,
    HEAP_CLASSES,
    HEAP_FIRST,
    LOCAL_WINDOW,
    REGION_SHIFT,
    SLOT_BITS,
    SYSTEM_CALLS,
)

_ALLOCATING = tuple(name for name in SYSTEM_CALLS if name.endswith("malloc"))


def allocates(functions: list[Function]) -> bool:
    """Whether a program allocates memory of the heap.

    Args:
        functions: of the program.
    """
    calls = (item for function in functions for item in function.body or () if isinstance(item, Call))
    return any(isinstance(call.callee, Symbol) and call.callee.name in _ALLOCATING for call in calls)


def heap_row(b: ir.IRBuilder, launch: ir.Value, number: ir.Value) -> ir.Value:
    """A pointer to the row of a size class (its number, i64): its cells, and the distance of the second plane."""
    table = b.inttoptr(b.load(at(b, launch, layout.LAUNCH["heap"]), typ=I64), POINTER)
    return at(b, table, b.shl(number, i64(layout.SHADOW_SHIFT)))


def class_number(b: ir.IRBuilder, address: ir.Value) -> ir.Value:
    """The number of the size class that an address is in, i64; at least `HEAP_CLASSES` where it is in none."""
    slot = b.mul(b.lshr(address, i64(REGION_SHIFT)), i64(GATHER))
    return b.sub(b.and_(slot, i64((1 << SLOT_BITS) - 1)), i64(HEAP_FIRST))


def heap_cell(unit: Unit) -> ir.Function:
    """`(machine, address)` → the host address of the cell; 0 where the memory has none."""
    function, is_new = subroutine(unit.module, "check.heap_cell", I64, (POINTER, I64))
    if not is_new:
        return function
    assert unit.granules is not None
    machine, address = function.args
    b = open_function(function)
    number = class_number(b, address)
    with b.if_then(b.icmp_unsigned(">=", number, i64(HEAP_CLASSES))):
        b.ret(i64(0))
    launch = field(b, machine, "checks", POINTER)
    cells = b.load(heap_row(b, launch, number), typ=I64)
    with b.if_then(b.icmp_unsigned("==", cells, i64(0)), likely=False):
        b.store(i64(1), at(b, launch, layout.LAUNCH["heap_accesses"]))
        b.ret(i64(0))
    records = field(b, machine, "heap", POINTER)
    record = Record(b, at(b, records, b.add(b.shl(number, i64(CLASS_SHIFT)), i64(HEADER_BYTES))), CLASS)
    index, inner = place(b, record, address)
    offset = b.add(b.shl(index, record.load("host_shift")), inner)
    granule = b.lshr(offset, i64(unit.granules["global"]))
    b.ret(b.add(cells, b.shl(granule, i64(layout.CELL_SHIFT))))
    return function


def begin_allocation(unit: Unit) -> ir.Function:
    """`(machine, address, bytes)`: malloc has returned an address, or 0."""
    function, is_new = subroutine(unit.module, "check.begin_allocation", ir.VoidType(), (POINTER, I64, I64))
    if not is_new:
        return function
    assert unit.granules is not None
    machine, address, size = function.args
    b = open_function(function)
    with b.if_then(b.icmp_unsigned("==", address, i64(0))):
        b.ret_void()
    cell = b.call(heap_cell(unit), (machine, address))
    with b.if_then(b.icmp_unsigned("==", cell, i64(0))):
        b.ret_void()
    row = heap_row(b, field(b, machine, "checks", POINTER), class_number(b, address))
    plane = b.load(at(b, row, 8), typ=I64)
    shift = unit.granules["global"]
    count = b.lshr(b.add(size, i64((1 << shift) - 1)), i64(shift))
    for start in (cell, b.add(cell, plane)):
        unit.fill(b, b.inttoptr(start, POINTER), 0, b.shl(count, i64(layout.CELL_SHIFT)))
    b.ret_void()
    return function


_WRITTEN = 0x01
_WORD = 4


def are_needed(functions: Iterable[Function]) -> bool:
    """Whether a program has local memory.

    Args:
        functions: of the program.
    """
    return any(item.space == "local" for function in functions for item in function.variables)


def clear(b: ir.IRBuilder, emitter: Services) -> None:
    """Clear the notes of the frame of a thread, or of a call, that begins."""
    size = emitter.frame.local_bytes
    if emitter.unit.watches_local and size:
        start = b.add(emitter.thread.stack, emitter.view.field("local_notes"))
        emitter.unit.fill(b, at(b, emitter.thread.local, start), 0, i64(size))


def note_generic(emitter: Services, access: AccessNote, address: ir.Value, pointer: ir.Value) -> None:
    """Do as `note`, where a generic address (i64) is in local memory."""
    b = emitter.builder
    slot = b.lshr(address, i64(REGION_SHIFT))
    with b.if_then(b.icmp_unsigned("==", slot, i64(LOCAL_WINDOW >> REGION_SHIFT))):
        note(emitter, access, pointer)


def note(emitter: Services, access: AccessNote, pointer: ir.Value) -> None:
    """Note a write, or report a read of bytes that were not written.

    Args:
        emitter: the function's.
        access: to local memory.
        pointer: the host address.
    """
    b = emitter.builder
    notes = at(b, pointer, emitter.view.field("local_notes"))
    if access.action == "write":
        count = bytes([_WRITTEN]) * access.count
        b.store(ir.Constant(ir.IntType(8 * access.count), int.from_bytes(count, "little")), notes, align=access.count)
        return
    word = ir.IntType(8 * min(access.count, _WORD))
    is_unwritten = ir.Constant(I1, 0)
    for first in range(0, access.count, _WORD):
        written = b.load(at(b, notes, first), typ=word, align=min(access.count, _WORD))
        is_unwritten = b.or_(is_unwritten, b.icmp_unsigned("==", written, ir.Constant(word, 0)))
    with b.if_then(is_unwritten, likely=False):
        offset = b.sub(b.ptrtoint(pointer, I64), b.ptrtoint(emitter.thread.local, I64))
        b.call(_report(emitter), (emitter.view.machine, offset, epoch_of(emitter, access)))


def _report(emitter: Services) -> ir.Function:
    """`(machine, offset in local memory, epoch)`: report a read."""
    made = rules(emitter)
    function, is_new = made.function("check.local_read", ir.VoidType(), (POINTER, I64, I64))
    if is_new:
        machine, offset, epoch = function.args
        b, none = open_function(function), i64(0)
        where = ShadowPlace(machine, none, b.add(offset, i64(LOCAL_WINDOW)), epoch, none, none, none, "local")
        made.cells.report(b, where, i64(layout.UNINITIALIZED), none)
        b.ret_void()
    return function
