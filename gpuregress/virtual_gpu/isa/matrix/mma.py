"""Lowering of mma."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from llvmlite import ir

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis.effects import reads, sets
from gpuregress.virtual_gpu.builder.emit import Emit
from gpuregress.virtual_gpu.builder.services import Services, subroutine_body
from gpuregress.virtual_gpu.builder.structured import F32, I32, at, element, i32, i64, private_function
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import F16, canonical, round_to, widen
from gpuregress.virtual_gpu.isa.matrix.operand_layout import (
    MULTIPLY,
    PRODUCT,
    Fragment,
    MatrixElement,
    Place,
    Sparsity,
    area,
    compute_once,
    context_rows,
    element_of,
    load_own,
    load_results,
    meet,
    mma_error,
    own_lane,
    place_of_a,
    place_of_sums,
    selector_error,
    show,
)
from gpuregress.virtual_gpu.isa.matrix.sums import NARROW_MMA, ORDINARY, ExactTile, Tile
from gpuregress.virtual_gpu.ptx.modifiers import unsupported
from gpuregress.virtual_gpu.ptx.opcode_table import Control, MemoryEffect, ResultKind, Wait, info, is_batch
from gpuregress.virtual_gpu.ptx.tree import Function, Instruction, Integer, Module, Operand, Statement, Vector, elements

# --- m8n8k4 -----------------------------------------------------------------------------------------------------------


_HALF = element_of("f16")
_COUNT = 8
"""Elements of C and D that a lane holds."""


def lower(emitter: Services, instruction: Instruction) -> None:
    """Lower `mma.m8n8k4` of f16."""
    target, left, right, addend = instruction.operands
    words = instruction.modifiers
    orders = [word for word in words if word in ("row", "col")]
    types = [word for word in words if word in ("f16", "f32")]
    result, accumulator = types[0], types[3]
    starts, end = [], 0
    for operand in (left, right, addend):
        starts.append(end)
        end = show(emitter, end, [emitter.read(item, "b32") for item in elements(operand)])
    meet(emitter, MULTIPLY)
    b, everything, lane = emitter.builder, area(emitter), own_lane(emitter)
    shown = [at(b, everything, start) for start in starts]

    def build(builder: ir.IRBuilder, given: tuple[ir.Value, ...]) -> ir.Value:
        with subroutine_body(emitter, builder):
            return _element(emitter, (result, accumulator), orders, given)

    parameters = (*(value.type for value in shown), I32, I32)
    name = f"mma.m8n8k4.{orders[0]}.{orders[1]}.{result}.{accumulator}"
    compute = private_function(emitter.module, name, F32, parameters, build)
    numbers = [_number(b, result, lane, index) for index in range(_COUNT)]
    _write(emitter, result, target, [b.call(compute, (*shown, lane, number)) for number in numbers])


def _element(emit: Emit, types: tuple[str, str], orders: list[str], given: tuple[ir.Value, ...]) -> ir.Value:
    """An element of D, whose row and column are the upper and the lower three bits of its number."""
    b = emit.builder
    left, right, addend, lane, number = given
    first = b.and_(lane, i32(12))  # of the four lanes
    row, column = b.lshr(number, i32(3)), b.and_(number, i32(7))
    factors = []
    for step in range(4):
        x = _factor(emit, left, first, row, step, holds_depth=orders[0] == "row")
        y = _factor(emit, right, first, column, step, holds_depth=orders[1] == "col")
        factors.append((x, y))
    total = _addend(emit, types[1], addend, first, row, column)
    parts = [factors] if types[0] == "f32" else [factors[:2], factors[2:]]
    for summands in parts:
        part: ir.Value = F32(0.0)
        for x, y in summands:
            part = emit.intrinsic("llvm.fma.f32", F32, x, y, part)
        total = b.fadd(total, part)
    return total


def _addend(emit: Emit, kind: str, shown: ir.Value, first: ir.Value, row: ir.Value, column: ir.Value) -> ir.Value:
    """An element of C as f32, wherever it is held."""
    b = emit.builder
    owner = b.or_(first, b.shl(b.lshr(row, i32(2)), i32(4)))
    if kind == "f16":
        owner = b.or_(owner, b.and_(row, i32(3)))
        return widen(emit, _HALF.load_bits(emit, shown, b.or_(b.shl(owner, i32(3)), column)), F16)
    owner = b.or_(owner, b.or_(b.and_(row, i32(1)), b.and_(column, i32(2))))
    index = b.or_(b.and_(row, i32(2)), b.and_(column, i32(5)))
    return b.load(element(b, shown, b.or_(b.shl(owner, i32(3)), index), F32), typ=F32, align=4)


def _factor(
    emit: Emit, shown: ir.Value, first: ir.Value, position: ir.Value, step: int, *, holds_depth: bool
) -> ir.Value:
    """An element of A or B as f32: its row or column `position`, and its place `step` along the depth.

    A lane holds four elements along the depth, or four neighbours across it.
    """
    b = emit.builder
    low, far = b.and_(position, i32(3)), b.shl(b.lshr(position, i32(2)), i32(4))
    inner, index = (low, i32(step)) if holds_depth else (i32(step), low)
    owner = b.or_(b.or_(first, far), inner)
    return widen(emit, _HALF.load_bits(emit, shown, b.or_(b.shl(owner, i32(2)), index)), F16)


def _number(b: ir.IRBuilder, kind: str, lane: ir.Value, index: int) -> ir.Value:
    """The row-major number (i32) of a lane's element of D."""
    below = b.lshr(b.and_(lane, i32(16)), i32(2))
    if kind == "f16":
        row, column = b.or_(b.and_(lane, i32(3)), below), i32(index)
    else:
        row = b.or_(b.or_(b.and_(lane, i32(1)), i32(index & 2)), below)
        column = b.or_(b.and_(lane, i32(2)), i32(index & 5))
    return b.or_(b.shl(row, i32(3)), column)


def _write(emitter: Services, kind: str, operand: Operand, values: list[ir.Value]) -> None:
    b, registers = emitter.builder, elements(operand)
    if kind == "f32":
        for register, value in zip(registers, values, strict=True):
            emitter.write(register, canonical(emitter, value), "f32")
        return
    halves = [b.zext(round_to(emitter, value, F16, "rn"), I32) for value in values]
    for number, register in enumerate(registers):
        emitter.write(register, b.or_(halves[2 * number], b.shl(halves[2 * number + 1], i32(16))), "b32")


# --- mma --------------------------------------------------------------------------------------------------------------
# Products of fragments with a fixed layout: mma, dense and sparse.
#
# The lane that comes first computes the results of all: of integers and f64 from the registers that each lane has
# written to the warp's area, of other floats from those that they keep in the thread context.
#
# PTX ISA manual, 9.7.14.5 and 9.7.14.6.


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
        raise unsupported(instruction, "neither products of single bits nor those with a scale are implemented")
    rows, columns_and_depth = shape[1:].split("n")
    columns, depth = columns_and_depth.split("k")
    types = [word for word in words if word in _TYPES]
    if columns != "8" or len(types) != 4:
        raise unsupported(instruction, "this shape is not implemented")
    first, is_sparse = members(instruction)[0], words[0].startswith("sp")
    if is_sparse and types[1] not in _FLOATS:
        raise unsupported(instruction, "sparse products of integers are not implemented")
    wrong = mma_error(words, shape, types, (len(first.d), len(first.a), len(first.b), len(first.c)))
    if wrong:
        raise unsupported(instruction, wrong)
    return _Form(
        rows=int(rows),
        depth=int(depth),
        a=element_of(types[1]),
        b=element_of(types[2]),
        result=types[0],
        a_registers=len(first.a),
        b_registers=len(first.b),
        sparsity=_sparsity(instruction, int(depth), types[1]) if is_sparse else None,
    )


def _sparsity(instruction: Instruction, depth: int, kind: str) -> Sparsity:
    selector = instruction.operands[5]
    if not isinstance(selector, Integer):
        raise unsupported(instruction, "the sparsity selector is not a constant")
    count = 2 if kind == "tf32" else 4
    wrong = selector_error(selector.value, depth // count)
    if wrong:
        raise unsupported(instruction, wrong)
    return Sparsity(depth // count, count, selector.value)


_TYPES = ("f16", "bf16", "tf32", "e4m3", "e5m2", "f32", "f64", "s8", "u8", "s4", "u4", "s32")
_FLOATS = ("f16", "bf16", "tf32", "e4m3", "e5m2")


def _mma(emitter: Services, instruction: Instruction) -> None:
    if "m8n8k4" in instruction.modifiers and "f64" not in instruction.modifiers:
        lower(emitter, instruction)
        return
    form = _form(instruction)
    name = f"mma.m{form.rows}n8k{form.depth}.{form.a.name}.{form.b.name}"
    is_exact = form.result in ("f64", "s32")
    held_a, held_b = form.a_registers * form.a.parts, form.b_registers * form.b.parts
    place_a = place_of_a(form.a.parts, form.rows, form.held)
    a = Fragment(form.a, held_a, place_a, is_by_register=not is_exact)
    b = Fragment(form.b, held_b, _place_of_b(form), is_by_register=not is_exact)
    c = Fragment(element_of(form.result), form.rows // 4, place_of_sums(8), is_by_register=not is_exact)
    shape = (form.rows, 8, form.depth)
    if is_exact:
        limited = "satfinite" in instruction.modifiers
        multiply_exactly(emitter, instruction, ExactTile(name, shape, a=a, b=b, c=c, limited=limited))
        return
    if form.sparsity is not None:
        name += f".sp{form.sparsity.selector}"
    rule = NARROW_MMA if form.a.bits == 8 else ORDINARY
    tile = Tile(name, shape, a=a, b=b, c=c, result=form.result, sparsity=form.sparsity, rule=rule)
    multiply(emitter, instruction, tile)


def multiply_exactly(emitter: Services, instruction: Instruction, tile: ExactTile) -> None:
    """Multiply integers or doubles, which the lanes show each other in the area of their warp."""
    target, *sources = instruction.operands
    start, end = 0, 0
    for operand, fragment in zip(sources, (tile.a, tile.b, tile.c), strict=True):
        start = end
        end = show(emitter, start, [emitter.read(item, f"b{fragment.kind.register}") for item in elements(operand)])
    shown = compute_once(emitter, end, functools.partial(tile.compute, emitter))
    load_own(emitter, shown, start, elements(target), tile.c.kind.bits)


def multiply(emitter: Services, instruction: Instruction, tile: Tile) -> None:
    """Multiply the fragments of a warp: the lane that comes first computes the results of all lanes."""
    products = members(instruction)
    metadata = instruction.operands[4:5] if tile.sparsity is not None else ()
    registers: list[Operand] = []
    results: list[Operand] = []
    for product in products:
        addend = product.c or products[product.source].d
        registers += (*product.a, *product.b, *addend, *metadata, *product.d)
        results += product.d
    rows = context_rows(emitter, registers)
    meet(emitter, PRODUCT, i64(1))
    first = products[0]
    tile.compute_all(emitter, rows, len(products), (len(first.a), len(first.b), len(first.c), len(metadata)))
    load_results(emitter, instruction, results)


def _place_of_b(form: _Form) -> Place:
    parts = form.b.parts

    def place(b: ir.IRBuilder, lane: ir.Value, index: int) -> ir.Value:
        register, part = divmod(index, parts)
        step = b.add(b.mul(b.and_(lane, i32(3)), i32(parts)), i32(part + 4 * parts * register))
        return b.add(b.shl(step, i32(3)), b.lshr(lane, i32(2)))

    return place


TABLE = {"mma": _mma}


# --- batches ----------------------------------------------------------------------------------------------------------
# Batches of matrix products, each of which waits once for the lanes of a warp.
#
# Unrolled kernels hold thousands of mma, sixteen or more of them in a row. LLVM's time grows with the number of waits.
# A batch has the operands of its members one after the other, and a further one that names for each member the earlier
# one whose result it adds to, or itself:
#
#     mma D0, A0, B0, C0;  mma D1, A1, B1, D0;   →   mma {D0, D1}, {A0, A1}, {B0, B1}, {C0}, {0, 0};


MOST = 64
"""Members of a batch."""

_RESULTS = ("f16", "f32")
"""Types of results that one lane computes for all: those of other types are quick alone."""


class Member(Record):
    """One product of a batch.

    Attributes:
        d, a, b: its registers.
        c: its registers; none where it adds to an earlier result.
        source: the member whose result it adds to; its own number: none.
    """

    d: tuple[Operand, ...]
    a: tuple[Operand, ...]
    b: tuple[Operand, ...]
    c: tuple[Operand, ...]
    source: int


def members(instruction: Instruction) -> list[Member]:
    """The products of an mma, which may be a batch."""
    d, a, b, c, *rest = (elements(operand) for operand in instruction.operands)
    if not is_batch(instruction):
        return [Member(d, a, b, c, 0)]
    sources = [item.value for item in rest[0] if isinstance(item, Integer)]
    count, own = len(sources), [number for number, source in enumerate(sources) if source == number]
    parts = [
        [operand[at * len(operand) // count :][: len(operand) // count] for at in range(count)] for operand in (d, a, b)
    ]
    starts = {number: c[at * len(c) // len(own) :][: len(c) // len(own)] for at, number in enumerate(own)}
    return [
        Member(parts[0][number], parts[1][number], parts[2][number], starts.get(number, ()), source)
        for number, source in enumerate(sources)
    ]


def with_batches(tree: Module) -> Module:
    """The module with a batch in place of each run of mma that can be one."""
    return replace(tree, functions=tuple(_function(item) for item in tree.functions))


def _function(function: Function) -> Function:
    body = function.statements
    if sum(_is_candidate(item) for item in body) < 2:
        return function
    result: list[Statement] = []
    at = 0
    while at < len(body):
        first = body[at]
        if isinstance(first, Instruction) and _is_candidate(first):
            run = _Run(first)
            end = run.extend(body, at + 1)
            result += [*run.before, run.statement()]
            at = end
        else:
            result.append(first)
            at += 1
    return replace(function, body=tuple(result))


def _is_pure(statement: Statement) -> bool:
    """Whether a statement only computes registers from others."""
    if not isinstance(statement, Instruction) or statement.guard is not None:
        return False
    facts = info(statement)
    return (
        facts.result is ResultKind.PURE
        and facts.memory is MemoryEffect.NONE
        and facts.control is Control.NEXT
        and facts.wait is Wait.NONE
    )


def _is_candidate(statement: Statement) -> bool:
    if not isinstance(statement, Instruction) or statement.opcode != "mma" or statement.guard is not None:
        return False
    words, types = statement.modifiers, _types(statement.modifiers)
    if len(statement.operands) != 4 or "m8n8k4" in words or words[0] != "sync":
        return False
    return bool(types) and types[0] in _RESULTS


def _types(words: Sequence[str]) -> list[str]:
    """The types of D, A, B and C: the words after shape and layouts."""
    return [word for word in words if word[0] in "fbestu" and any(letter.isdigit() for letter in word)]


@dataclass(slots=True)
class _Run:
    """Products that may become a batch, and the statements between them, which are done before."""

    first: Instruction
    products: list[Instruction] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    before: list[Statement] = field(default_factory=list)
    _writers: dict[str, int] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._add(self.first, 0)

    def extend(self, body: Sequence[Statement], at: int) -> int:
        """Add the products that follow; return where the run ends."""
        end, between = at, list[Statement]()
        while at < len(body) and len(self.products) < MOST:
            statement = body[at]
            at += 1
            source = self._source(statement)
            if source is not None and isinstance(statement, Instruction):
                self._add(statement, source)
                self.before += between
                end, between = at, []
            elif self._can_be_done_before(statement):
                between.append(statement)
            else:
                break
        return end

    def statement(self) -> Instruction:
        """The batch, or the only product."""
        if len(self.products) == 1:
            return self.first
        d, a, b, _ = (Vector(_concatenated(self.products, operand)) for operand in range(4))
        starts = [item for number, item in enumerate(self.products) if self.sources[number] == number]
        sources = Vector(tuple(map(Integer, self.sources)))
        return replace(self.first, operands=(d, a, b, Vector(_concatenated(starts, 3)), sources))

    def _source(self, statement: Statement) -> int | None:
        """The member whose result a product adds to, or the number that it would have; None: it cannot join."""
        if not _is_candidate(statement) or not isinstance(statement, Instruction):
            return None
        if _form_of(statement) != _form_of(self.first):
            return None
        d, a, b, c = statement.operands
        factors = replace(statement, operands=(d, a, b))
        if not self._writers.keys().isdisjoint(reads(factors)):
            return None
        addends = _names(statement, c)
        if self._writers.keys().isdisjoint(addends):
            return len(self.products)
        types, writers = _types(statement.modifiers), {self._writers.get(name, -1) for name in addends}
        number = min(writers)
        if len(writers) > 1 or number < 0 or types[0] != types[-1]:
            return None
        if elements(self.products[number].operands[0]) != elements(c):
            return None
        return number

    def _add(self, product: Instruction, source: int) -> None:
        number = len(self.products)
        self.products.append(product)
        self.sources.append(source)
        self._used |= set(reads(product))
        self._writers |= dict.fromkeys(sets(product), number)

    def _can_be_done_before(self, statement: Statement) -> bool:
        """Whether a statement computes a register from others, and neither they nor it are those of the products."""
        results = self._writers.keys()
        return (
            _is_pure(statement)
            and results.isdisjoint(reads(statement))
            and results.isdisjoint(sets(statement))
            and self._used.isdisjoint(sets(statement))
        )


def _form_of(product: Instruction) -> tuple[tuple[str, ...], list[int]]:
    """What products of one batch have in common: the modifiers, and the sizes of the vectors."""
    return product.modifiers, [len(elements(operand)) for operand in product.operands]


def _concatenated(products: Sequence[Instruction], operand: int) -> tuple[Operand, ...]:
    items: list[Operand] = []
    for product in products:
        items += elements(product.operands[operand])
    return tuple(items)


def _names(product: Instruction, operand: Operand) -> tuple[str, ...]:
    return reads(replace(product, operands=(Vector(()), operand)))
