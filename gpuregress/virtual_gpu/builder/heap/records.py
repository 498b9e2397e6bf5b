"""Records of the kernels' heap in IR, and the look-up of an address in them."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.structured import at, i64
from gpuregress.virtual_gpu.builder.types import I64, POINTER
from gpuregress.virtual_gpu.runtime.device_heap import CELL, CELL_SHIFT, CLASS


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
