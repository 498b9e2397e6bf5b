"""Operand layouts of a tensor core: fragments, rows in memory, metadata of sparse rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.structured import counted, element, entry_alloca, i32
from gpuregress.virtual_gpu.builder.types import I32
from gpuregress.virtual_gpu.isa.matrix.matrix_element import MatrixElement

Place: TypeAlias = Callable[[ir.IRBuilder, ir.Value, int], ir.Value]
"""The row-major number (i32) of element `index` that a lane (i32) holds of a matrix."""


def each(b: ir.IRBuilder, count: int) -> AbstractContextManager[ir.Value]:
    """Run the body for each number (i32) below `count`; once without a loop."""
    return counted(b, i32(count)) if count > 1 else nullcontext(i32(0))


class Fragment(Record):
    """A matrix in the registers of a warp.

    Attributes:
        kind: its elements.
        count: elements that a lane holds of a part of the matrix.
        place: where they belong.
        parts: parts side by side.
        columns: of a part.
        is_by_register: whether the lanes of a register lie side by side, not the registers of a lane.
    """

    kind: MatrixElement
    count: int
    place: Place
    parts: int = 1
    columns: int = 0
    is_by_register: bool = False

    @property
    def lane_bytes(self) -> int:
        """Bytes that a lane holds."""
        return self.parts * self.count * self.kind.bits // 8

    @property
    def bytes(self) -> int:
        """Bytes that a warp holds."""
        return 32 * self.lane_bytes

    def visit(self, b: ir.IRBuilder, visit: Callable[[ir.Value, ir.Value], None], bits: int = 0) -> None:
        """Visit each element: its number (i32) among all that the lanes hold, and its row-major number.

        Args:
            b: the builder.
            visit: called with both.
            bits: of an element where it is stored; 0: those of its kind.
        """
        if self.is_by_register:
            held = 32 // (bits or self.kind.bits)
            with counted(b, i32(32)) as lane:
                own = b.mul(lane, i32(held))
                for index in range(self.count):
                    register, part = divmod(index, held)
                    visit(b.add(own, i32(32 * held * register + part)), self.place(b, lane, index))
            return
        with counted(b, i32(32)) as lane:
            own = b.mul(lane, i32(self.parts * self.count))
            with each(b, self.parts) as part:
                first, across = b.add(own, b.mul(part, i32(self.count))), b.mul(part, i32(self.columns))
                for index in range(self.count):
                    visit(b.add(first, i32(index)), b.add(self.place(b, lane, index), across))


class StoredRows(Record):
    """A matrix in memory, one row (of B: one column) after the other.

    Attributes:
        kind: its elements.
        rows: of A; columns of B.
        depth: elements of each.
        is_b: whether it is B.
    """

    kind: MatrixElement
    rows: int
    depth: int
    is_b: bool

    @property
    def bytes(self) -> int:
        """Bytes of the matrix."""
        return self.rows * self.depth * self.kind.bits // 8

    def visit(self, b: ir.IRBuilder, visit: Callable[[ir.Value, ir.Value], None]) -> None:
        """Visit each element: its number (i32) in memory, and its row-major number."""
        with counted(b, i32(self.rows)) as row, counted(b, i32(self.depth)) as step:
            number = b.add(b.mul(row, i32(self.depth)), step)
            visit(number, b.add(b.mul(step, i32(self.rows)), row) if self.is_b else number)


class Sparsity(Record):
    """Places of the elements that a sparse A holds, in a register of metadata of each lane.

    A row of A consists of chunks, and four bits tell which half of a chunk's elements is held: of four elements two, in
    their order, by two bits each; of two elements of tf32 the first (0b0100) or the second (0b1110).

    Attributes:
        chunks: of a row.
        elements: of a chunk, 4 or 2.
        selector: which of four lanes, or pairs of lanes, has the metadata.
    """

    chunks: int
    elements: int
    selector: int

    def position(self, b: ir.IRBuilder, row: ir.Value, chunk: int) -> tuple[ir.Value, ir.Value]:
        """Lane (i32) and lowest bit (i32) of a chunk's four bits. PTX ISA manual, 9.7.14.6.2; checked on an H200."""
        lane, half = b.shl(b.and_(row, i32(7)), i32(2)), b.lshr(row, i32(3))
        if self.chunks == 16:
            return b.add(b.add(lane, half), i32(2 * (chunk // 8))), i32(4 * (chunk % 8))
        first = self.selector * (self.chunks // 4)
        return b.add(lane, i32(first + chunk // 4)), b.add(b.shl(half, i32(4)), i32(4 * (chunk % 4)))

    def places(self, b: ir.IRBuilder, metadata: ir.Value, rows: int, depth: int) -> ir.Value:
        """The row of B (i32) of each element that A holds: an array on the stack.

        Args:
            b: the builder.
            metadata: a register of each lane.
            rows: of A.
            depth: elements that a row of A holds.
        """
        places = entry_alloca(b.function, ir.ArrayType(I32, rows * depth), align=64)
        with counted(b, i32(rows)) as row:
            for chunk in range(self.chunks):
                lane, shift = self.position(b, row, chunk)
                word = b.load(element(b, metadata, lane, I32), typ=I32, align=4)
                bits = b.and_(b.lshr(word, shift), i32(15))
                if self.elements == 4:
                    held = [b.and_(bits, i32(3)), b.lshr(bits, i32(2))]
                else:
                    held = [b.zext(b.icmp_unsigned("==", bits, i32(0b1110)), I32)]
                for number, place in enumerate(held):
                    own = b.add(b.mul(row, i32(depth)), i32(len(held) * chunk + number))
                    b.store(b.add(place, i32(self.elements * chunk)), element(b, places, own, I32))
        return places
