"""Sums of integer products of a warp's tile: exact, with the columns of a row side by side in vectors.

Single bits are words of 32: the product is the number of bits that both words have. An overflow wraps, or stops at the
ends of the range (`.satfinite`).
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.services import Services, subroutine_body
from gpuregress.virtual_gpu.builder.structured import Cell, at, counted, element, entry_alloca, i32
from gpuregress.virtual_gpu.builder.types import I1, I8, I32
from gpuregress.virtual_gpu.isa.matrix.operand_layout import Fragment, Sparsity, StoredRows

_COLUMNS = 8
_VECTOR = ir.VectorType(I32, _COLUMNS)


class IntegerTile(Record):
    """A warp's product D = A B + C of integers.

    Attributes:
        name: of the form, for its subroutine.
        shape: rows, columns, depth (in words, of single bits).
        a, b, c: the matrices; the elements of C and D have the same places.
        limited: where the sum does not fit it stops at the ends of the range.
        sparsity: of A, whose rows then hold half as many elements as B's columns.
    """

    name: str
    shape: tuple[int, int, int]
    a: Fragment | StoredRows
    b: Fragment | StoredRows
    c: Fragment
    limited: bool
    sparsity: Sparsity | None = None

    def compute(self, emitter: Services, shown: ir.Value) -> None:
        """Call the subroutine that replaces C by D; `shown` has A, B and C one behind the other."""

        def build(builder: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
            with subroutine_body(emitter, builder):
                self._build(emitter, given[0])
            return ir.Constant(I1, 1)

        name = f"{self.name}{'.limited' if self.limited else ''}"
        emitter.builder.call(emitter.subroutine(name, I1, (shown.type,), build), [shown])

    def _build(self, emitter: Services, shown: ir.Value) -> None:
        b = emitter.builder
        m, n, k = self.shape
        depth = k if self.sparsity is None else k // 2
        x = self._decoded(emitter, self.a, shown, m * depth)
        y = self._decoded(emitter, self.b, at(b, shown, self.a.bytes), k * n)
        start_c = at(b, shown, self.a.bytes + self.b.bytes)
        total = self._decoded(emitter, self.c, start_c, m * n)
        places = None
        if self.sparsity is not None:
            places = self.sparsity.places(b, at(b, start_c, self.c.bytes), m, depth)
        with counted(b, i32(m)) as row, counted(b, i32(n // _COLUMNS)) as group:
            column = b.mul(group, i32(_COLUMNS))
            own = element(b, total, b.add(b.mul(row, i32(n)), column), I32)
            products = Cell(b, ir.Constant(_VECTOR, [0] * _COLUMNS))
            products.set(ir.Constant(_VECTOR, [0] * _COLUMNS))
            with counted(b, i32(depth)) as step:
                number = b.add(b.mul(row, i32(depth)), step)
                left = b.load(element(b, x, number, I32), typ=I32)
                place = step if places is None else b.load(element(b, places, number, I32), typ=I32)
                right = b.load(element(b, y, b.add(b.mul(place, i32(n)), column), I32), typ=_VECTOR, align=32)
                products.add(self._product(emitter, left, right))
            addend = b.load(own, typ=_VECTOR, align=32)
            b.store(self._sum(emitter, products.get(), addend), own, align=32)

        def write(index: ir.Value, position: ir.Value) -> None:
            b.store(b.load(element(b, total, position, I32), typ=I32), element(b, start_c, index, I32), align=4)

        self.c.visit(b, write)

    def _decoded(self, emitter: Services, source: Fragment | StoredRows, base: ir.Value, count: int) -> ir.Value:
        b, kind = emitter.builder, source.kind
        matrix = entry_alloca(b.function, ir.ArrayType(I32, count), align=64)

        def decode(index: ir.Value, position: ir.Value) -> None:
            bits = kind.load_bits(emitter, base, index)
            extend: Callable[..., ir.Value] = b.sext if kind.name == "s8" else b.zext
            number = extend(bits, I32) if bits.type == I8 else bits
            b.store(number, element(b, matrix, position, I32))

        source.visit(b, decode)
        return matrix

    def _product(self, emitter: Services, left: ir.Value, right: ir.Value) -> ir.Value:
        b = emitter.builder
        single = b.insert_element(ir.Constant(_VECTOR, ir.Undefined), left, i32(0))
        wide = b.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(_VECTOR, [0] * _COLUMNS))
        if self.a.kind.name != "b32":
            return b.mul(wide, right)
        return emitter.intrinsic(f"llvm.ctpop.v{_COLUMNS}i32", _VECTOR, b.and_(wide, right))

    def _sum(self, emitter: Services, products: ir.Value, addend: ir.Value) -> ir.Value:
        if not self.limited:
            return emitter.builder.add(products, addend)
        return emitter.intrinsic(f"llvm.sadd.sat.v{_COLUMNS}i32", _VECTOR, products, addend)
