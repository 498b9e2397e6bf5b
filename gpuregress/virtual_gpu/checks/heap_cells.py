"""Shadow cells of the kernels' heap, as subroutines of the module.

Each size class of the heap has cells of its own, side by side like its memory. An allocation begins a new history: its
cells are cleared, so that nobody has written or read it yet.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field
from gpuregress.virtual_gpu.builder.heap import Record, place
from gpuregress.virtual_gpu.builder.structured import I64, POINTER, at, fill_memory, i64
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.checks.shadow_cells import subroutine
from gpuregress.virtual_gpu.ptx.tree import Call, Function, Symbol
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.runtime.device_heap import CLASS, CLASS_SHIFT, HEADER_BYTES
from gpuregress.virtual_gpu.runtime.machine_layout import (
    GATHER,
    HEAP_CLASSES,
    HEAP_FIRST,
    REGION_SHIFT,
    SLOT_BITS,
    SYSTEM_CALLS,
)

_ALLOCATING = tuple(name for name in SYSTEM_CALLS if name.endswith("malloc"))


def allocates(functions: list[Function]) -> bool:
    """Whether a program allocates memory of the heap."""
    calls = (item for function in functions for item in function.statements if isinstance(item, Call))
    return any(isinstance(call.callee, Symbol) and call.callee.name in _ALLOCATING for call in calls)


def heap_row(b: ir.IRBuilder, launch: ir.Value, number: ir.Value) -> ir.Value:
    """A pointer to the row of a size class (its number, i64): its cells, and the distance of the second plane."""
    table = b.inttoptr(b.load(at(b, launch, layout.LAUNCH["heap"]), typ=I64), POINTER)
    return at(b, table, b.shl(number, i64(layout.SHADOW_SHIFT)))


def class_number(b: ir.IRBuilder, address: ir.Value) -> ir.Value:
    """The number of the size class that an address is in, i64; at least `HEAP_CLASSES` where it is in none."""
    slot = b.mul(b.lshr(address, i64(REGION_SHIFT)), i64(GATHER))
    return b.sub(b.and_(slot, i64((1 << SLOT_BITS) - 1)), i64(HEAP_FIRST))


@subroutine("check.heap_cell", I64)
def heap_cell(unit: Unit, b: ir.IRBuilder, machine: ir.Value, address: ir.Value) -> ir.Value:
    """`(machine, address)` → the host address of the cell; 0 where the memory has none."""
    assert unit.granules is not None
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
    return b.add(cells, b.shl(granule, i64(layout.CELL_SHIFT)))


@subroutine("check.begin_allocation")
def begin_allocation(unit: Unit, b: ir.IRBuilder, machine: ir.Value, address: ir.Value, size: ir.Value) -> None:
    """`(machine, address, bytes)`: malloc has returned an address, or 0."""
    assert unit.granules is not None
    with b.if_then(b.icmp_unsigned("==", address, i64(0))):
        b.ret_void()
    cell = heap_cell(unit, b, machine, address)
    with b.if_then(b.icmp_unsigned("==", cell, i64(0))):
        b.ret_void()
    row = heap_row(b, field(b, machine, "checks", POINTER), class_number(b, address))
    plane = b.load(at(b, row, 8), typ=I64)
    shift = unit.granules["global"]
    count = b.lshr(b.add(size, i64((1 << shift) - 1)), i64(shift))
    for start in (cell, b.add(cell, plane)):
        fill_memory(b, b.inttoptr(start, POINTER), 0, b.shl(count, i64(layout.CELL_SHIFT)))
