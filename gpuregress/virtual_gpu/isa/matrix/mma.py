"""Products of fragments with a fixed layout: mma, dense and sparse.

Of integers and f64, each lane writes its registers to the warp's area and computes its part of the result. Of other
floats, the lane that comes first computes the results of all from the registers that they keep in the thread context.

PTX ISA manual, 9.7.14.5 and 9.7.14.6.
"""

from __future__ import annotations

from itertools import chain

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i32, i64
from gpuregress.virtual_gpu.isa.matrix import half_precision_m8n8k4
from gpuregress.virtual_gpu.isa.matrix.dot_product import DotProduct, Term
from gpuregress.virtual_gpu.isa.matrix.fused_sum import NARROW_MMA, ORDINARY, Tile
from gpuregress.virtual_gpu.isa.matrix.matrix_element import MatrixElement, element_of
from gpuregress.virtual_gpu.isa.matrix.mma_batches import members
from gpuregress.virtual_gpu.isa.matrix.mma_forms import mma_error, selector_error
from gpuregress.virtual_gpu.isa.matrix.operand_layout import Fragment, Place, Sparsity
from gpuregress.virtual_gpu.isa.matrix.warp_area import (
    PRODUCT,
    context_rows,
    load_results,
    meet,
    own_lane,
    show_factors,
)
from gpuregress.virtual_gpu.ptx.errors import unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, Integer, Operand, elements


class _Form(Record):
    """Shape and types of an mma, and the numbers of registers of a lane that hold A and B."""

    rows: int
    depth: int
    a: MatrixElement
    b: MatrixElement
    result: str
    a_registers: int
    b_registers: int
    sparsity: Sparsity | None = None

    @property
    def held(self) -> int:
        """Elements of a row of A that registers hold."""
        return self.depth if self.sparsity is None else self.depth // 2


def _form(instruction: Instruction) -> _Form:
    words = instruction.modifiers
    shape = next((word for word in words if word[:1] == "m" and "k" in word and word[1:2].isdigit()), "")
    if "xor" in words or "and" in words or "kind::f8f6f4" in words or "block_scale" in words:
        raise unsupported(instruction, "neither products of single bits nor those with a scale are there")
    rows, rest = shape[1:].split("n")
    columns, depth = rest.split("k")
    types = [word for word in words if word in _TYPES]
    if columns != "8" or len(types) != 4:
        raise unsupported(instruction, "this shape is not there")
    first = members(instruction)[0]
    left, right = len(first.a), len(first.b)
    if words[0].startswith("sp") and types[1] not in _FLOATS:
        raise unsupported(instruction, "sparse products of integers are not there")
    if wrong := mma_error(words, shape, types, (len(first.d), left, right, len(first.c))):
        raise unsupported(instruction, wrong)
    sparsity = _sparsity(instruction, int(depth), types[1]) if words[0].startswith("sp") else None
    return _Form(int(rows), int(depth), element_of(types[1]), element_of(types[2]), types[0], left, right, sparsity)


def _sparsity(instruction: Instruction, depth: int, kind: str) -> Sparsity:
    selector = instruction.operands[5]
    if not isinstance(selector, Integer):
        raise unsupported(instruction, "the sparsity selector is no constant")
    count = 2 if kind == "tf32" else 4
    if wrong := selector_error(selector.value, depth // count):
        raise unsupported(instruction, wrong)
    return Sparsity(depth // count, count, selector.value)


_TYPES = ("f16", "bf16", "tf32", "e4m3", "e5m2", "f32", "f64", "s8", "u8", "s4", "u4", "s32")
_FLOATS = ("f16", "bf16", "tf32", "e4m3", "e5m2")
_PER_LANE = ("f64", "s32")
"""Types of results that each lane computes for itself."""


def _mma(emitter: Services, instruction: Instruction) -> None:
    if "m8n8k4" in instruction.modifiers and "f64" not in instruction.modifiers:
        half_precision_m8n8k4.lower(emitter, instruction)
        return
    form = _form(instruction)
    name = f"mma.m{form.rows}n8k{form.depth}.{form.a.name}.{form.b.name}"
    if form.result in _PER_LANE:
        target, *sources = instruction.operands
        limited = "satfinite" in instruction.modifiers
        product = DotProduct(name, form.depth, form.result, _term(emitter, form), limited)
        shown = show_factors(emitter, form.a, *sources[:2])
        starts, lane = read_sums(emitter, form.result, sources[2]), own_lane(emitter)
        results = [product.compute(emitter, start, *shown, lane, i32(index)) for index, start in enumerate(starts)]
        write_sums(emitter, form.result, target, results)
        return
    sums = Fragment(element_of(form.result), form.rows // 4, _place_of_sums, is_by_register=True)
    a = Fragment(form.a, form.a_registers * form.a.parts, _place_of_a(form), is_by_register=True)
    b = Fragment(form.b, form.b_registers * form.b.parts, _place_of_b(form), is_by_register=True)
    if form.sparsity is not None:
        name += f".sp{form.sparsity.selector}"
    rule = NARROW_MMA if form.a.bits == 8 else ORDINARY
    tile = Tile(name, (form.rows, 8, form.depth), a, b, sums, form.result, form.sparsity, rule)
    multiply(emitter, instruction, tile)


def multiply(emitter: Services, instruction: Instruction, tile: Tile) -> None:
    """Multiply the fragments of a warp: the lane that comes first computes the results of all lanes."""
    products, metadata = members(instruction), instruction.operands[4:5] if tile.sparsity is not None else ()
    registers = [
        (*product.a, *product.b, *(product.c or products[product.source].d), *metadata, *product.d)
        for product in products
    ]
    rows = context_rows(emitter, chain.from_iterable(registers))
    meet(emitter, PRODUCT, i64(1))
    first = products[0]
    tile.compute_all(emitter, rows, len(products), (len(first.a), len(first.b), len(first.c), len(metadata)))
    load_results(emitter, instruction, [register for product in products for register in product.d])


def read_sums(emitter: Services, kind: str, operand: Operand) -> list[ir.Value]:
    """A lane's elements of C."""
    return [emitter.read(item, kind) for item in elements(operand)]


def write_sums(emitter: Services, kind: str, operand: Operand, values: list[ir.Value]) -> None:
    """Write a lane's elements of D."""
    for register, value in zip(elements(operand), values, strict=True):
        emitter.write(register, value, kind)


def _place_of_sums(b: ir.IRBuilder, lane: ir.Value, index: int) -> ir.Value:
    row = b.add(b.lshr(lane, i32(2)), i32(8 * (index // 2)))
    return b.add(b.shl(row, i32(3)), b.add(b.shl(b.and_(lane, i32(3)), i32(1)), i32(index % 2)))


def _place_of_a(form: _Form) -> Place:
    """A register holds neighbours of a row; the next register those eight rows below, if any."""
    parts, halves = form.a.parts, form.rows // 8

    def place(b: ir.IRBuilder, lane: ir.Value, index: int) -> ir.Value:
        register, part = divmod(index, parts)
        row = b.add(b.lshr(lane, i32(2)), i32(8 * (register % halves)))
        step = b.add(b.mul(b.and_(lane, i32(3)), i32(parts)), i32(part + 4 * parts * (register // halves)))
        return b.add(b.mul(row, i32(form.held)), step)

    return place


def _place_of_b(form: _Form) -> Place:
    parts = form.b.parts

    def place(b: ir.IRBuilder, lane: ir.Value, index: int) -> ir.Value:
        register, part = divmod(index, parts)
        step = b.add(b.mul(b.and_(lane, i32(3)), i32(parts)), i32(part + 4 * parts * register))
        return b.add(b.shl(step, i32(3)), b.lshr(lane, i32(2)))

    return place


def _term(emitter: Services, form: _Form) -> Term:
    """The factors of one product of a lane's element `index`: from a row of A and a column of B."""

    def term(step: ir.Value, a: ir.Value, b: ir.Value, lane: ir.Value, index: ir.Value) -> tuple[ir.Value, ir.Value]:
        builder = emitter.builder
        group, inner = builder.lshr(lane, i32(2)), builder.and_(lane, i32(3))
        row = builder.add(group, builder.shl(builder.lshr(index, i32(1)), i32(3)))
        column = builder.add(builder.shl(inner, i32(1)), builder.and_(index, i32(1)))
        return _of_a(emitter, form, a, row, step), _of_b(emitter, form, b, step, column)

    return term


def _of_a(emitter: Services, form: _Form, shown: ir.Value, row: ir.Value, step: ir.Value) -> ir.Value:
    """A[row][step]: a register holds neighbours of a row; the lane's next register those eight rows below, if any."""
    b, parts = emitter.builder, form.a.parts
    span = i32(4 * parts)
    owner = b.add(b.shl(b.and_(row, i32(7)), i32(2)), b.udiv(b.urem(step, span), i32(parts)))
    halves = form.rows // 8
    number = b.add(b.lshr(row, i32(3)), b.mul(b.udiv(step, span), i32(halves)))
    register = b.add(b.mul(owner, i32(form.a_registers)), number)
    return form.a.load(emitter, shown, register, b.urem(step, i32(parts)))


def _of_b(emitter: Services, form: _Form, shown: ir.Value, step: ir.Value, column: ir.Value) -> ir.Value:
    b, parts = emitter.builder, form.b.parts
    span = i32(4 * parts)
    owner = b.add(b.shl(column, i32(2)), b.udiv(b.urem(step, span), i32(parts)))
    register = b.add(b.mul(owner, i32(form.b_registers)), b.udiv(step, span))
    return form.b.load(emitter, shown, register, b.urem(step, i32(parts)))


TABLE = {"mma": _mma}
