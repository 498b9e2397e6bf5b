"""Sums of products as tensor cores compute them."""

from __future__ import annotations

import functools
from collections.abc import Callable

from llvmlite import ir

from gpuregress.gpu.architectures import ARCHITECTURES, TensorCore
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.services import Services, subroutine_body
from gpuregress.virtual_gpu.builder.structured import (
    F32,
    F64,
    I1,
    I32,
    I64,
    Cell,
    at,
    convert,
    copy_memory,
    counted,
    element,
    entry_alloca,
    fill_memory,
    i32,
    i64,
    private_function,
)
from gpuregress.virtual_gpu.builder.threads import LAYOUT, linear_thread
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import (
    F16,
    bits_of,
    canonical,
    float_of,
    magnitude,
    propagate,
    round_to,
    widen_to_double,
)
from gpuregress.virtual_gpu.isa.matrix.operand_layout import Fragment, Sparsity, StoredRows, each
from gpuregress.virtual_gpu.ptx.modifiers import unsupported

# --- fused sums -------------------------------------------------------------------------------------------------------
# Fused sums of a tensor core, bit for bit: aligned, truncated, added exactly and rounded once.
#
# The rule was measured on an H100, with 0 mismatches in 154 million outputs. It starts from the model of P. Xie et al.,
# "MMA-Sim" (arXiv:2511.10909), and adds zeros, the least exponent, the sign of zero and mixed 8-bit floats:
#
# 1. An operand's exponent is that of its format; a subnormal's is the least of its format. A product's exponent is the
#    sum of its two, not normalised.
# 2. E is the greatest exponent of the addend and the products, without those that are zero, and at least -133.
# 3. Each term is truncated toward zero to a multiple of 2^(E - 25). These integers are added exactly.
# 4. The sum is rounded once: to f32 toward zero, to f16 to nearest even. Zero is +0.
# 5. A NaN, infinity times zero, or infinities of both signs give a NaN; otherwise an infinite term gives that infinity.
#
# An 8-bit `mma` is what ptxas makes of it for sm_90: its operands become f16, then one fused sum of the products with
# k % 4 in {0, 1}, one of that and the others, and an ordinary addition of C. A sparse product is the same sum of the
# products of the elements that A holds; k then counts these. An H200 gave the same bits in 10 forms.
#
# A job's `card: sm_80` selects the rule for that GPU, which was not measured. By the same authors 24 bits below E are
# kept, and a row of more than 128 bits makes two sums; the first is rounded to the accumulator's type and part of the
# second.
#
# The lane that comes first computes the tile of the whole warp, with the columns of a row side by side in vectors.


_LEAST_SUM_EXPONENT = -133
_NO_EXPONENT = -5000
"""The exponent of a zero, below every other one: a product with it never counts."""
_COLUMNS = 8
"""Columns side by side in a vector. Every shape has a multiple of them."""
_EXACT_STEPS = 8
"""Truncated terms, below 2^27 each, whose sum fits in 32 bits."""
_NUMBERS, _INTEGERS, _LONGS = (ir.VectorType(kind, _COLUMNS) for kind in (F64, I32, I64))

_TENSOR_CORES = {row.name: row.tensor_core for row in ARCHITECTURES if row.tensor_core}
_LEAST_EXPONENTS = {"bf16": -126, "tf32": -126, "f32": -126, "f16": -14, "e5m2": -14, "e4m3": -6}


class SumRule(Record):
    """How a form sums.

    Attributes:
        fraction: bits below the greatest exponent that a term keeps; 0: the GPU's.
        mantissa: bits after the point of an f32 result.
        sums: 2 where `mma` of eight bits is what ptxas makes of it.
    """

    fraction: int = 0
    mantissa: int = 23
    sums: int = 1


ORDINARY, NARROW_MMA, NARROW_WGMMA = SumRule(), SumRule(sums=2), SumRule(13, 13)


class Tile(Record):
    """A warp's product D = A B + C.

    Attributes:
        name: of the form, for its subroutine.
        shape: rows, columns, depth.
        a, b, c: the matrices; the elements of C and D have the same places.
        sparsity: of A, whose rows then hold half as many elements as B's columns.
        result: `f32` or `f16`. The sum is rounded to f32 if C or D is, then to D's type.
        rule: how it sums.
        is_negated: whether all products are negated.
    """

    name: str
    shape: tuple[int, int, int]
    a: Fragment | StoredRows
    b: Fragment | StoredRows
    c: Fragment
    result: str
    sparsity: Sparsity | None = None
    rule: SumRule = ORDINARY
    is_negated: bool = False

    @property
    def accumulator(self) -> str:
        """The type of C in the sum, and of the sum."""
        return "f32" if "f32" in (self.c.kind.name, self.result) else "f16"

    def compute(self, emitter: Services, shown: ir.Value) -> None:
        """Call the subroutine that replaces C by D.

        Args:
            emitter: the function being lowered.
            shown: A, B, C and the metadata one after the other, those in registers lane by lane.

        Raises:
            UnsupportedError: nothing is known of such products on the job's GPU.
        """
        core = _TENSOR_CORES[emitter.unit.schedule.card]
        if not core.is_measured and (self.sparsity is not None or self.a.kind.bits == 8):
            what = "sparse products" if self.sparsity is not None else "products of 8-bit floats"
            raise unsupported(emitter.current(), f"of {emitter.unit.schedule.card} no {what} are known")

        def build(builder: ir.IRBuilder, given: tuple[ir.Value, ...]) -> None:
            with subroutine_body(emitter, builder):
                _TileBuilder(emitter, self, core, given[0]).build()

        emitter.builder.call(private_function(emitter.module, self._subroutine, None, (shown.type,), build), [shown])

    @property
    def _subroutine(self) -> str:
        return f"{self.name}.{self.result}.{self.c.kind.name}"

    def compute_all(self, emitter: Services, rows: list[int], count: int, registers: tuple[int, int, int, int]) -> None:
        """Call the subroutine that computes the products of a batch, unless another lane has called it.

        Args:
            emitter: the function being lowered.
            rows: where the context has the registers of A, B, C, metadata and D, for each product in turn.
            count: of products.
            registers: of A, B, C and the metadata; D has as many as C.
        """

        def build(builder: ir.IRBuilder, given: tuple[ir.Value, ...]) -> None:
            with subroutine_body(emitter, builder):
                self._build_all(emitter, given, registers, len(rows) // count)

        context, own = emitter.view.pointer("context"), linear_thread(emitter.builder, emitter.view, emitter.thread)
        arguments = (context, own, emitter.unit.constants(rows), i32(count))
        types = [argument.type for argument in arguments]
        whole = private_function(emitter.module, f"{self._subroutine}.all", None, types, build)
        emitter.builder.call(whole, arguments)

    def _build_all(
        self, emitter: Services, given: tuple[ir.Value, ...], registers: tuple[int, int, int, int], step: int
    ) -> None:
        context, own, rows, count = given
        b = emitter.builder
        posts = at(b, context, LAYOUT["post"][0])
        is_wanted = b.icmp_unsigned("!=", b.load(element(b, posts, own, I64), typ=I64), i64(0))
        held = sum(registers)
        taken = entry_alloca(b.function, ir.ArrayType(I32, 32 * max(held, step - registers[2])), align=64)
        start_c = 4 * 32 * sum(registers[:2])
        with b.if_then(is_wanted):
            first = b.and_(own, i32(-32))
            fill_memory(b, element(b, posts, first, I64), 0, i64(8 * 32))
            lanes = element(b, context, first, I32)
            row_bytes = i64(4 * 32)
            with counted(b, count) as number:
                table = element(b, rows, b.mul(number, i32(step)), I32)

                def row(index: ir.Value) -> ir.Value:
                    return at(b, lanes, b.zext(b.load(element(b, table, index, I32), typ=I32), I64))

                with counted(b, i32(held)) as index:
                    copy_memory(b, element(b, taken, b.mul(index, i32(32)), I32), row(index), row_bytes)
                self.compute(emitter, taken)
                with counted(b, i32(step - held)) as index:
                    result = element(b, at(b, taken, start_c), b.mul(index, i32(32)), I32)
                    copy_memory(b, row(b.add(index, i32(held))), result, row_bytes)


class _Matrix(Record):
    """A decoded matrix, row by row: the numbers (f64), and their exponents (i32) by the rule."""

    numbers: ir.Value
    exponents: ir.Value


class _TileBuilder:
    """Builds the subroutine of a form."""

    def __init__(self, emitter: Services, tile: Tile, core: TensorCore, shown: ir.Value) -> None:
        self._emitter, self._tile, self._core = emitter, tile, core
        self._builder = emitter.builder
        self._start_c = tile.a.bytes + tile.b.bytes
        self._shown = shown
        m, n, k = tile.shape
        self._depth = k if tile.sparsity is None else k // 2
        self._special = Cell(self._builder, ir.Constant(I1, 0))
        self._a = self._decoded(tile.a, 0, m * self._depth, self._format(tile.a), is_negated=tile.is_negated)
        self._b = self._decoded(tile.b, tile.a.bytes, k * n, self._format(tile.b))
        self._c = self._decoded(tile.c, self._start_c, m * n, tile.accumulator)
        self._places = None
        if tile.sparsity is not None:
            metadata = at(self._builder, shown, self._start_c + tile.c.bytes)
            self._places = tile.sparsity.places(self._builder, metadata, m, self._depth)

    def build(self) -> None:
        """Compute every element of D, and write it in the place of C's."""
        builder, depth = self._builder, self._depth
        if self._tile.rule.sums == 1:
            row_bits = depth * self._tile.a.kind.bits
            steps = min(row_bits, self._core.row_bits or row_bits) // self._tile.a.kind.bits
            total = self._fused(self._c, steps, lambda step: step)
            for first in range(steps, depth, steps):
                self._round_all(total)
                total = self._fused(total, steps, functools.partial(_behind, builder, first))
            self._write(lambda number: self._rounded(self._load(total.numbers, number)))
            return
        total = self._zeros()
        for first in (0, 2):
            total = self._fused(total, depth // 2, functools.partial(_of_four, builder, first))
            self._round_all(total)
        self._write(lambda number: builder.fadd(self._load(self._c.numbers, number), self._load(total.numbers, number)))

    # --- operands ---------------------------------------------------------------------------------------------------

    def _matrix(self, count: int) -> _Matrix:
        function = self._builder.function
        numbers, exponents = (entry_alloca(function, ir.ArrayType(kind, count), align=64) for kind in (F64, I32))
        return _Matrix(numbers, exponents)

    def _format(self, matrix: Fragment | StoredRows) -> str:
        """The format whose exponents count."""
        return "f16" if self._tile.rule.sums == 2 else matrix.kind.name

    def _decoded(
        self, source: Fragment | StoredRows, start: int, count: int, type_name: str, *, is_negated: bool = False
    ) -> _Matrix:
        """The numbers and exponents of a matrix, by the format of a type; special ones are noted."""
        b, kind, matrix = self._builder, source.kind, self._matrix(count)
        base = at(b, self._shown, start)

        def decode(index: ir.Value, position: ir.Value) -> None:
            number = kind.widened(self._emitter, kind.load_bits(self._emitter, base, index))
            if is_negated:
                number = b.fneg(number)
            self._store(matrix, position, number, type_name)

        source.visit(b, decode)
        return matrix

    def _store(self, matrix: _Matrix, position: ir.Value, number: ir.Value, kind: str) -> None:
        """Store a number with its exponent."""
        b = self._builder
        field = b.and_(b.lshr(bits_of(self._emitter, number), i64(52)), i64(0x7FF))
        exponent = b.sub(b.trunc(field, I32), i32(1023))
        self._special.set_bits(b.icmp_signed("==", exponent, i32(1024)))
        least = i32(_LEAST_EXPONENTS[kind])
        exponent = b.select(b.icmp_signed("<", exponent, least), least, exponent)
        zero = b.fcmp_ordered("==", number, F64(0.0))
        b.store(number, element(b, matrix.numbers, position, F64))
        b.store(b.select(zero, i32(_NO_EXPONENT), exponent), element(b, matrix.exponents, position, I32))

    def _zeros(self) -> _Matrix:
        m, n, _ = self._tile.shape
        matrix = self._matrix(m * n)
        with counted(self._builder, i32(m * n)) as number:
            self._store(matrix, number, F64(0.0), "f32")
        return matrix

    def _factors(self, row: ir.Value, step: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The numbers (i32) of an element of A, and of the first element of the row of B that it meets."""
        b = self._builder
        left = b.add(b.mul(row, i32(self._depth)), step)
        row_of_b = step
        if self._places is not None:
            row_of_b = b.load(element(b, self._places, left, I32), typ=I32)
        return left, b.mul(row_of_b, i32(self._tile.shape[1]))

    # --- sums -------------------------------------------------------------------------------------------------------

    def _fused(self, addend: _Matrix, steps: int, depth_of: Callable[[ir.Value], ir.Value]) -> _Matrix:
        """The exact sums of the truncated terms; infinite, or NaN, by the rule for special numbers."""
        b = self._builder
        m, n, _ = self._tile.shape
        total = self._matrix(m * n)
        with counted(b, i32(m)) as row, each(b, n // _COLUMNS) as group:
            column = b.mul(group, i32(_COLUMNS))
            own = b.add(b.mul(row, i32(n)), column)

            def terms(step: ir.Value) -> tuple[ir.Value, ir.Value]:
                left, right = self._factors(row, depth_of(step))
                return left, b.add(right, column)

            exponent = self._greatest_exponent(addend, own, steps, terms)
            sums = self._sum(addend, own, steps, terms, exponent)
            b.store(sums, element(b, total.numbers, own, F64), align=64)
        with b.if_then(self._special.get(), likely=False):
            self._special_sums(addend, total, steps, depth_of)
        return total

    def _greatest_exponent(
        self, addend: _Matrix, own: ir.Value, steps: int, terms: Callable[[ir.Value], tuple[ir.Value, ir.Value]]
    ) -> ir.Value:
        b = self._builder
        greatest = Cell(b, self._maximum(self._vector(addend.exponents, own, I32), _vector_of(_LEAST_SUM_EXPONENT)))
        with counted(b, i32(steps)) as step:
            left, right = terms(step)
            of_a = self._broadcast(b.load(element(b, self._a.exponents, left, I32), typ=I32), _INTEGERS)
            greatest.set(self._maximum(greatest.get(), b.add(of_a, self._vector(self._b.exponents, right, I32))))
        return greatest.get()

    def _sum(
        self,
        addend: _Matrix,
        own: ir.Value,
        steps: int,
        terms: Callable[[ir.Value], tuple[ir.Value, ir.Value]],
        exponent: ir.Value,
    ) -> ir.Value:
        b, fraction = self._builder, self._tile.rule.fraction or self._core.fraction
        scale, unit = (
            b.bitcast(b.shl(b.zext(power, _LONGS), _vector_of(52, I64)), _NUMBERS)
            for power in (
                b.sub(_vector_of(1023 + fraction), exponent),
                b.add(_vector_of(1023 - fraction), exponent),
            )
        )
        start = b.fptosi(b.fmul(self._vector(addend.numbers, own, F64), scale), _INTEGERS)
        total = Cell(b, b.sext(start, _LONGS))
        for begin in range(0, steps, _EXACT_STEPS):
            part = Cell(b, _vector_of(0))
            with counted(b, i32(min(steps - begin, _EXACT_STEPS))) as number:
                left, right = terms(b.add(number, i32(begin)))
                of_a = self._broadcast(self._load(self._a.numbers, left), _NUMBERS)
                product = b.fmul(of_a, self._vector(self._b.numbers, right, F64))
                part.add(b.fptosi(b.fmul(product, scale), _INTEGERS))
            total.add(b.sext(part.get(), _LONGS))
        return b.fmul(b.sitofp(total.get(), _NUMBERS), unit)

    def _special_sums(
        self, addend: _Matrix, total: _Matrix, steps: int, depth_of: Callable[[ir.Value], ir.Value]
    ) -> None:
        """Replace the sums with a special term, as an ordinary sum of f64 tells: it cannot overflow."""
        b = self._builder
        m, n, _ = self._tile.shape
        with counted(b, i32(m)) as row, counted(b, i32(n)) as column:
            own = b.add(b.mul(row, i32(n)), column)
            ordinary = Cell(b, self._load(addend.numbers, own))
            with counted(b, i32(steps)) as step:
                left, right = self._factors(row, depth_of(step))
                x = self._load(self._a.numbers, left)
                y = self._load(self._b.numbers, b.add(right, column))
                ordinary.set(b.fadd(ordinary.get(), b.fmul(x, y)))
            finite = b.fcmp_ordered("<", magnitude(self._emitter, ordinary.get()), F64(float("inf")))
            kept = b.select(finite, self._load(total.numbers, own), ordinary.get())
            b.store(kept, element(b, total.numbers, own, F64))

    # --- results ----------------------------------------------------------------------------------------------------

    def _rounded(self, total: ir.Value) -> ir.Value:
        """A sum as a number of the accumulator's type, in an f64."""
        b = self._builder
        positive_zero = b.fadd(total, F64(0.0))
        if self._tile.accumulator == "f16":
            half = widen_to_double(self._emitter, round_to(self._emitter, positive_zero, F16, "rn"), F16)
            return b.fadd(half, F64(0.0))
        nearest = b.fptrunc(positive_zero, F32)
        size = magnitude(self._emitter, positive_zero)
        beyond = b.fcmp_ordered(">", b.fpext(magnitude(self._emitter, nearest), F64), size)
        beyond = b.and_(beyond, b.fcmp_ordered("<", size, F64(2.0**128)))
        lower = float_of(self._emitter, b.sub(bits_of(self._emitter, nearest), i32(1)))
        truncated = b.select(beyond, lower, nearest)
        dropped = 23 - self._tile.rule.mantissa
        if dropped > 0:
            kept = b.and_(bits_of(self._emitter, truncated), i32(-1 << dropped))
            # Infinities and NaNs keep their bits: those of a NaN are replaced later.
            finite = b.fcmp_ordered("<", size, F64(float("inf")))
            truncated = b.select(finite, float_of(self._emitter, kept), truncated)
        return b.fadd(b.fpext(truncated, F64), F64(0.0))

    def _round_all(self, total: _Matrix) -> None:
        m, n, _ = self._tile.shape
        with counted(self._builder, i32(m * n)) as number:
            self._store(total, number, self._rounded(self._load(total.numbers, number)), self._tile.accumulator)

    def _write(self, result_at: Callable[[ir.Value], ir.Value]) -> None:
        """Write the fragment D over C."""
        b, fragment = self._builder, self._tile.c
        size = 2 if self._tile.result == "f16" else 4
        own = at(b, self._shown, self._start_c)

        def write(index: ir.Value, position: ir.Value) -> None:
            number = result_at(position)
            if self._tile.result == "f16":
                value = round_to(self._emitter, number, F16, "rn")
            else:
                value = canonical(self._emitter, b.fptrunc(number, F32))
            b.store(value, element(b, own, index, value.type), align=size)

        fragment.visit(b, write, 8 * size)

    # --- vectors ----------------------------------------------------------------------------------------------------

    def _load(self, array: ir.Value, position: ir.Value) -> ir.Value:
        b = self._builder
        return b.load(element(b, array, position, F64), typ=F64)

    def _vector(self, array: ir.Value, position: ir.Value, kind: ir.Type) -> ir.Value:
        b = self._builder
        vector = ir.VectorType(kind, _COLUMNS)
        return b.load(element(b, array, position, kind), typ=vector, align=64 if kind == F64 else 32)

    def _broadcast(self, value: ir.Value, vector: ir.VectorType) -> ir.Value:
        b = self._builder
        single = b.insert_element(ir.Constant(vector, ir.Undefined), value, i32(0))
        return b.shuffle_vector(single, ir.Constant(vector, ir.Undefined), _vector_of(0))

    def _maximum(self, x: ir.Value, y: ir.Value) -> ir.Value:
        return self._builder.select(self._builder.icmp_signed(">", x, y), x, y)


def _vector_of(value: int, kind: ir.IntType = I32) -> ir.Constant:
    return ir.Constant(ir.VectorType(kind, _COLUMNS), [ir.Constant(kind, value)] * _COLUMNS)


def _of_four(b: ir.IRBuilder, first: int, step: ir.Value) -> ir.Value:
    """The k of a step among those whose k % 4 is `first` or `first + 1`."""
    return b.add(b.add(b.shl(b.lshr(step, i32(1)), i32(2)), b.and_(step, i32(1))), i32(first))


def _behind(b: ir.IRBuilder, first: int, step: ir.Value) -> ir.Value:
    """The k of a step of a later sum of the same row."""
    return b.add(step, i32(first))


# --- exact sums -------------------------------------------------------------------------------------------------------
# Sums of products of a warp's tile by ordinary arithmetic, of integers and of doubles.
#
# Integers have the columns of a row side by side in vectors. Single bits are words of 32: the product is the number of
# bits that both words have. An overflow wraps, or stops at the ends of the range (`.satfinite`). Doubles are added one
# after the other, each with one rounding.


_VECTOR = ir.VectorType(I32, _COLUMNS)


class ExactTile(Record):
    """A warp's product D = A B + C of integers, or of doubles.

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
        """Call the subroutine that replaces C by D; `shown` has A, B and C one after the other."""

        def build(builder: ir.IRBuilder, given: tuple[ir.Value, ...]) -> None:
            with subroutine_body(emitter, builder):
                self._build(emitter, given[0])

        name = f"{self.name}.limited" if self.limited else self.name
        emitter.builder.call(private_function(emitter.module, name, None, (shown.type,), build), [shown])

    @property
    def _type(self) -> ir.Type:
        return F64 if self.c.kind.name == "f64" else I32

    def _build(self, emitter: Services, shown: ir.Value) -> None:
        b, type_ = emitter.builder, self._type
        m, n, k = self.shape
        depth = k if self.sparsity is None else k // 2
        x = self._decoded(emitter, self.a, shown, m * depth)
        y = self._decoded(emitter, self.b, at(b, shown, self.a.bytes), k * n)
        start_c = at(b, shown, self.a.bytes + self.b.bytes)
        total = self._decoded(emitter, self.c, start_c, m * n)
        if type_ == F64:
            self._add_doubles(emitter, x, y, total)
        else:
            places = None
            if self.sparsity is not None:
                places = self.sparsity.places(b, at(b, start_c, self.c.bytes), m, depth)
            self._add_integers(emitter, x, y, total, places)

        def write(index: ir.Value, position: ir.Value) -> None:
            value = b.load(element(b, total, position, type_), typ=type_)
            b.store(value, element(b, start_c, index, type_), align=self.c.kind.bits // 8)

        self.c.visit(b, write)

    def _decoded(self, emitter: Services, source: Fragment | StoredRows, base: ir.Value, count: int) -> ir.Value:
        b, kind, type_ = emitter.builder, source.kind, self._type
        matrix = entry_alloca(b.function, ir.ArrayType(type_, count), align=64)

        def decode(index: ir.Value, position: ir.Value) -> None:
            bits = kind.load_bits(emitter, base, index)
            value = convert(b, bits, type_, signed=kind.name.startswith("s"))
            b.store(value, element(b, matrix, position, type_))

        source.visit(b, decode)
        return matrix

    def _add_doubles(self, emitter: Services, x: ir.Value, y: ir.Value, total: ir.Value) -> None:
        """Add the products to C, in the order of the depth."""
        b = emitter.builder
        m, n, k = self.shape
        with counted(b, i32(m)) as row, counted(b, i32(n)) as column:
            own = element(b, total, b.add(b.mul(row, i32(n)), column), F64)
            with counted(b, i32(k)) as step:
                left = b.load(element(b, x, b.add(b.mul(row, i32(k)), step), F64), typ=F64)
                right = b.load(element(b, y, b.add(b.mul(step, i32(n)), column), F64), typ=F64)
                before = b.load(own, typ=F64)
                after = emitter.intrinsic("llvm.fma.f64", F64, left, right, before)
                b.store(propagate(emitter, after, right, before, left), own)

    def _add_integers(
        self, emitter: Services, x: ir.Value, y: ir.Value, total: ir.Value, places: ir.Value | None
    ) -> None:
        """Add the products to C; `places` has the rows of B that the elements of a sparse A meet."""
        b = emitter.builder
        m, n, k = self.shape
        depth = k if self.sparsity is None else k // 2
        with counted(b, i32(m)) as row, counted(b, i32(n // _COLUMNS)) as group:
            column = b.mul(group, i32(_COLUMNS))
            own = element(b, total, b.add(b.mul(row, i32(n)), column), I32)
            products = Cell(b, ir.Constant(_VECTOR, [0] * _COLUMNS))
            with counted(b, i32(depth)) as step:
                number = b.add(b.mul(row, i32(depth)), step)
                left = b.load(element(b, x, number, I32), typ=I32)
                row_of_b = step
                if places is not None:
                    row_of_b = b.load(element(b, places, number, I32), typ=I32)
                right = b.load(element(b, y, b.add(b.mul(row_of_b, i32(n)), column), I32), typ=_VECTOR, align=32)
                products.add(self._product(emitter, left, right))
            addend = b.load(own, typ=_VECTOR, align=32)
            b.store(self._sum(emitter, products.get(), addend), own, align=32)

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
