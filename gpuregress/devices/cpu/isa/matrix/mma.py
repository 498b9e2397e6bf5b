"""Matrix instructions on fragments of fixed layout: ldmatrix, stmatrix, movmatrix, mma.

Each lane writes its registers to the warp's area of the block's context and waits for the others. Then it computes its
part of the result from the area, or the first lane computes the results of all. The barriers of `aligned_barriers` keep
the area until all lanes have read it.

PTX ISA manual, 9.7.14.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from gpuregress.devices.cpu.builder.lane_mailbox import post
from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.builder.structured import at, i32, i64
from gpuregress.devices.cpu.builder.thread_context import LAYOUT, WARP
from gpuregress.devices.cpu.builder.threads import lane, linear_thread
from gpuregress.devices.cpu.builder.types import I32, I64
from gpuregress.devices.cpu.isa.matrix.dot_product import DotProduct, Term
from gpuregress.devices.cpu.isa.matrix.fused_sum import Fragment, Place, Tile
from gpuregress.devices.cpu.isa.matrix.matrix_element import MatrixElement, element_of
from gpuregress.devices.cpu.isa.memory.load_store import MemoryAccess, generic_address, host_pointer
from gpuregress.devices.cpu.ptx.errors import unsupported
from gpuregress.devices.cpu.ptx.modifiers import space_of
from gpuregress.devices.cpu.ptx.tree import Address, Instruction, Operand, elements
from gpuregress.devices.cpu.runtime.thread_context import AREA

_ALL_LANES = 0xFFFF_FFFF
_LOAD, _STORE, _MOVE, MULTIPLY = range(96, 160, 16)
"""The operations' numbers in a warp operation's key: see `lane_mailbox`."""


def area(emitter: Services) -> ir.Value:
    """A pointer to the area of the thread's warp."""
    b = emitter.builder
    warp = b.lshr(linear_thread(b, emitter.view, emitter.thread), i32(5))
    return at(b, at(b, emitter.view.pointer("context"), LAYOUT["area"][0]), b.mul(b.zext(warp, I64), i64(AREA)))


def own_lane(emitter: Services) -> ir.Value:
    """The thread's lane, i32."""
    return lane(emitter.builder, emitter.view, emitter.thread)


def show(emitter: Services, start: int, values: list[ir.Value]) -> int:
    """Write values (of one integer type) to the warp's area, lane by lane from byte `start`; return where they end."""
    b = emitter.builder
    step: int = values[0].type.width // 8
    stride = step * len(values)
    offset = b.add(b.mul(b.zext(own_lane(emitter), I64), i64(stride)), i64(start))
    own = at(b, area(emitter), offset)
    for number, value in enumerate(values):
        b.store(value, at(b, own, step * number), align=step)
    return start + 32 * stride


def meet(emitter: Services, operation: int) -> None:
    """Wait until all lanes of the warp have written their registers to the area."""
    post(emitter, operation, i32(_ALL_LANES), i64(0))
    emitter.wait(WARP)


# --- ldmatrix, stmatrix, movmatrix ------------------------------------------------------------------------------------


def _rows(emitter: Services, instruction: Instruction, operand: Operand, operation: int) -> ir.Value:
    """Write this lane's row address to the area; return the area, which holds the addresses of all lanes."""
    if "m8n8" not in instruction.modifiers or "b16" not in instruction.modifiers:
        raise unsupported(instruction, "only m8n8 matrices of b16 are there")
    if not isinstance(operand, Address):
        raise unsupported(instruction, "not an address")
    show(emitter, 0, [generic_address(emitter, operand, space_of(instruction))])
    meet(emitter, operation)
    return area(emitter)


def _row_pointer(
    emitter: Services, instruction: Instruction, addresses: ir.Value, number: ir.Value, action: str
) -> ir.Value:
    """A checked pointer to the 16-byte row whose address lane `number` supplied."""
    b = emitter.builder
    register = emitter.temporary("u64")
    slot = at(b, addresses, b.shl(b.zext(number, I64), i64(3)))
    emitter.write(register, b.load(slot, typ=I64), "u64")
    return host_pointer(emitter, MemoryAccess(instruction, Address(register, 0), "", 16, action))


def _part_position(emitter: Services) -> tuple[ir.Value, ir.Value]:
    """Row and first column (in units of b16) of the lane's part of an 8 by 8 matrix."""
    b, own = emitter.builder, own_lane(emitter)
    return b.lshr(own, i32(2)), b.shl(b.and_(own, i32(3)), i32(1))


def _ldmatrix(emitter: Services, instruction: Instruction) -> None:
    target, source = instruction.operands
    addresses = _rows(emitter, instruction, source, _LOAD)
    for number, register in enumerate(elements(target)):
        b = emitter.builder
        row, column = _part_position(emitter)
        if "trans" in instruction.modifiers:
            value: ir.Value = i32(0)
            for half in (0, 1):
                named = b.add(column, i32(8 * number + half))
                pointer = _row_pointer(emitter, instruction, addresses, named, "read")
                b = emitter.builder
                half_bits = b.load(at(b, pointer, b.shl(b.zext(row, I64), i64(1))), typ=ir.IntType(16), align=2)
                value = b.or_(value, b.shl(b.zext(half_bits, I32), i32(16 * half)))
        else:
            pointer = _row_pointer(emitter, instruction, addresses, b.add(row, i32(8 * number)), "read")
            b = emitter.builder
            value = b.load(at(b, pointer, b.shl(b.zext(column, I64), i64(1))), typ=I32, align=4)
        emitter.write(register, value, "b32")
    emitter.forget_pointers()


def _stmatrix(emitter: Services, instruction: Instruction) -> None:
    target, source = instruction.operands
    addresses = _rows(emitter, instruction, target, _STORE)
    for number, register in enumerate(elements(source)):
        b = emitter.builder
        row, column = _part_position(emitter)
        value = emitter.read(register, "b32")
        for half in (0, 1):
            part = b.trunc(b.lshr(value, i32(16 * half)), ir.IntType(16))
            across = "trans" in instruction.modifiers
            named = b.add(column if across else row, i32(8 * number + (half if across else 0)))
            position = row if across else b.add(column, i32(half))
            pointer = _row_pointer(emitter, instruction, addresses, named, "write")
            b = emitter.builder
            b.store(part, at(b, pointer, b.shl(b.zext(position, I64), i64(1))), align=2)
    emitter.forget_pointers()


def _movmatrix(emitter: Services, instruction: Instruction) -> None:
    target, source = instruction.operands
    show(emitter, 0, [emitter.read(source, "b32")])
    meet(emitter, _MOVE)
    b, shown = emitter.builder, area(emitter)
    row, column = _part_position(emitter)
    value: ir.Value = i32(0)
    for half in (0, 1):
        # Row `column + half`, column `row` of the source: two bytes each, eight of them in a row.
        offset = b.add(b.shl(b.add(column, i32(half)), i32(4)), b.shl(row, i32(1)))
        half_bits = b.load(at(b, shown, b.zext(offset, I64)), typ=ir.IntType(16), align=2)
        value = b.or_(value, b.shl(b.zext(half_bits, I32), i32(16 * half)))
    emitter.write(target, value, "b32")


# --- mma --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """Shape and types of an mma, and the numbers of registers of a lane that hold A and B."""

    rows: int
    depth: int
    a: MatrixElement
    b: MatrixElement
    result: str
    a_registers: int
    b_registers: int


def _form(instruction: Instruction) -> _Form:
    words = instruction.modifiers
    shape = next((word for word in words if word[:1] == "m" and "k" in word and word[1:2].isdigit()), "")
    if "sp" in words or "xor" in words or "and" in words or any("::" in word for word in words):
        raise unsupported(instruction, "only dense products are there")
    rows, rest = shape[1:].split("n")
    columns, depth = rest.split("k")
    types = [word for word in words if word in _TYPES]
    if columns != "8" or rows not in ("8", "16") or len(types) != 4 or (shape, types[1]) == ("m8n8k4", "f16"):
        raise unsupported(instruction, "this shape is not there")
    left, right = (len(elements(operand)) for operand in instruction.operands[1:3])
    return _Form(int(rows), int(depth), element_of(types[1]), element_of(types[2]), types[0], left, right)


_TYPES = ("f16", "bf16", "tf32", "e4m3", "e5m2", "f32", "f64", "s8", "u8", "s4", "u4", "s32")
_WHOLE = ("f64", "s32")
"""Types of results that each lane computes for itself."""


def _mma(emitter: Services, instruction: Instruction) -> None:
    form = _form(instruction)
    name = f"mma.m{form.rows}n8k{form.depth}.{form.a.name}.{form.b.name}"
    if form.result in _WHOLE:
        target, *sources = instruction.operands
        limited = "satfinite" in instruction.modifiers
        product = DotProduct(name, form.depth, form.result, _term(emitter, form), limited)
        shown = show_factors(emitter, form.a, *sources[:2])
        starts, lane = read_sums(emitter, form.result, sources[2]), own_lane(emitter)
        results = [product.compute(emitter, start, *shown, lane, i32(index)) for index, start in enumerate(starts)]
        write_sums(emitter, form.result, target, results)
        return
    sums = Fragment(element_of(form.result), form.rows // 4, _place_of_sums)
    a = Fragment(form.a, form.a_registers * form.a.parts, _place_of_a(form))
    b = Fragment(form.b, form.b_registers * form.b.parts, _place_of_b(form))
    multiply(emitter, instruction, Tile(name, (form.rows, 8, form.depth), a, b, sums, form.result))


def show_factors(emitter: Services, kind: MatrixElement, left: Operand, right: Operand) -> tuple[ir.Value, ir.Value]:
    """Write this lane's A and B to the area, and wait for the other lanes; return where all of A and of B are."""
    type_name = f"b{kind.register}"
    middle = show(emitter, 0, [emitter.read(item, type_name) for item in elements(left)])
    show(emitter, middle, [emitter.read(item, type_name) for item in elements(right)])
    meet(emitter, MULTIPLY)
    shown = area(emitter)
    return shown, at(emitter.builder, shown, middle)


def multiply(emitter: Services, instruction: Instruction, tile: Tile) -> None:
    """Multiply the fragments of a warp: the lane that comes first computes the results of all lanes."""
    target, *sources = instruction.operands
    end = 0
    for operand in sources:
        start = end
        end = show(emitter, start, [emitter.read(item, "b32") for item in elements(operand)])
    end = max(end, start + 32 * 4 * len(elements(target)))
    emitter.builder.store(i32(0), at(emitter.builder, area(emitter), end), align=4)
    meet(emitter, MULTIPLY)
    b, shown = emitter.builder, area(emitter)
    is_computed = at(b, shown, end)
    compute, after = (b.append_basic_block(name) for name in ("multiply", "multiplied"))
    b.cbranch(b.icmp_unsigned("==", b.load(is_computed, typ=I32, align=4), i32(0)), compute, after)
    b.position_at_end(compute)
    tile.compute(emitter, shown)
    b.store(i32(1), is_computed, align=4)
    b.branch(after)
    b.position_at_end(after)
    registers = elements(target)
    own = at(b, at(b, shown, start), b.zext(b.mul(own_lane(emitter), i32(4 * len(registers))), I64))
    for number, register in enumerate(registers):
        emitter.write(register, b.load(at(b, own, 4 * number), typ=I32, align=4), "b32")


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
        return b.add(b.mul(row, i32(form.depth)), step)

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


TABLE = {"ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "movmatrix": _movmatrix, "mma": _mma}
