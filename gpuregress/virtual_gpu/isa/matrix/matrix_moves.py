"""Moves of 8 by 8 matrices: ldmatrix, stmatrix, movmatrix.

PTX ISA manual, 9.7.14.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import I1, I32, I64, POINTER, at, counted, element, i32, i64, subroutine
from gpuregress.virtual_gpu.builder.threads import linear_thread
from gpuregress.virtual_gpu.builder.threads import row as context_row
from gpuregress.virtual_gpu.isa.matrix.operand_layout import (
    LOAD,
    MOVE,
    STORE,
    area,
    context_rows,
    load_results,
    meet,
    own_lane,
    show,
)
from gpuregress.virtual_gpu.isa.memory.load_store import (
    MemoryAccess,
    access_site,
    generic_address,
    host_pointer,
    slow_resolve,
)
from gpuregress.virtual_gpu.ptx.modifiers import space_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Operand, elements


def _address(emitter: Services, instruction: Instruction, operand: Operand) -> ir.Value:
    """The generic address of this lane's row."""
    if "m8n8" not in instruction.modifiers or "b16" not in instruction.modifiers:
        raise unsupported(instruction, "only m8n8 matrices of b16 are implemented")
    if not isinstance(operand, Address):
        raise unsupported(instruction, "not an address")
    return generic_address(emitter, operand, space_of(instruction))


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
    """Lower a load of matrices, by a subroutine: kernels hold hundreds of them."""
    target, source = instruction.operands
    registers = elements(target)
    address = _address(emitter, instruction, source)
    rows = emitter.unit.constants(context_rows(emitter, registers))
    meet(emitter, LOAD, address)
    is_across = "trans" in instruction.modifiers
    access = MemoryAccess(instruction, Address(emitter.temporary("u64"), 0), "", 16, "read")
    b, view, thread = emitter.builder, emitter.view, emitter.thread
    site = i64(access_site(emitter, access))
    number, resolve = linear_thread(b, view, thread), slow_resolve(emitter, instruction, "")
    values = (view.machine, thread.local, view.pointer("context"), number, site, rows)
    is_valid = _load_all(len(registers), resolve, b, *values, is_across=is_across)
    after = b.append_basic_block("loaded")
    b.cbranch(is_valid, after, emitter.fault_block).set_weights([4000, 1])
    b.position_at_end(after)
    load_results(emitter, instruction, registers)
    emitter.forget_pointers()


def _name_of_load(count: int, _resolve: ir.Function, *, is_across: bool) -> str:
    name = f"ldmatrix.x{count}"
    return f"{name}.trans" if is_across else name


@subroutine(_name_of_load, I1)
def _load_all(
    count: int,
    resolve: ir.Function,
    b: ir.IRBuilder,
    machine: ir.Value,
    local: ir.Value,
    context: ir.Value,
    thread: ir.Value,
    site: ir.Value,
    rows: ir.Value,
    *,
    is_across: bool,
) -> ir.Value:
    """`(machine, local, context, thread, site, rows) → whether all rows of the matrices are valid`.

    `count` matrices are loaded, transposed if `is_across`; `resolve` finds the host pointer of a row.
    """
    own, first_lane = b.and_(thread, i32(31)), b.and_(thread, i32(-32))
    row, column = b.lshr(own, i32(2)), b.shl(b.and_(own, i32(3)), i32(1))

    def pointer(lane: ir.Value) -> ir.Value:
        address = b.load(context_row(b, context, "snap", b.add(first_lane, lane)), typ=I64, align=8)
        found = b.call(resolve, (machine, local, address, i64(16), site))
        with b.if_then(b.icmp_unsigned("==", found, ir.Constant(POINTER, None)), likely=False):
            b.ret(ir.Constant(I1, 0))
        return found

    with counted(b, i32(count)) as number:
        first = b.shl(number, i32(3))
        if is_across:
            value: ir.Value = i32(0)
            for half in (0, 1):
                start = pointer(b.add(b.add(column, i32(half)), first))
                part = b.load(at(b, start, b.shl(b.zext(row, I64), i64(1))), typ=ir.IntType(16), align=2)
                value = b.or_(value, b.shl(b.zext(part, I32), i32(16 * half)))
        else:
            start = pointer(b.add(row, first))
            value = b.load(at(b, start, b.shl(b.zext(column, I64), i64(1))), typ=I32, align=4)
        result = at(b, context, b.zext(b.load(element(b, rows, number, I32), typ=I32), I64))
        b.store(value, element(b, result, thread, I32))
    return ir.Constant(I1, 1)


def _stmatrix(emitter: Services, instruction: Instruction) -> None:
    target, source = instruction.operands
    show(emitter, 0, [_address(emitter, instruction, target)])
    meet(emitter, STORE)
    addresses = area(emitter)
    registers = elements(source)
    for number, register in enumerate(registers):
        b = emitter.builder
        row, column = _part_position(emitter)
        value = emitter.read(register, "b32")
        for half in (0, 1):
            part = b.trunc(b.lshr(value, i32(16 * half)), ir.IntType(16))
            if "trans" in instruction.modifiers:
                named, position = b.add(column, i32(8 * number + half)), row
            else:
                named, position = b.add(row, i32(8 * number)), b.add(column, i32(half))
            pointer = _row_pointer(emitter, instruction, addresses, named, "write")
            b = emitter.builder
            with b.if_then(_stays(len(registers), b, addresses, named), likely=True):
                b.store(part, at(b, pointer, b.shl(b.zext(position, I64), i64(1))), align=2)
    emitter.forget_pointers()


@subroutine(lambda count: f"stmatrix.x{count}.stays", I1)
def _stays(count: int, b: ir.IRBuilder, addresses: ir.Value, row: ir.Value) -> ir.Value:
    """Whether no other row of the instruction, which stores `count` matrices, is written over this one.

    Of rows with one address, an H200 keeps the lowest of the last matrix, as for stores of 16 bytes by each lane.
    """
    own = b.load(at(b, addresses, b.shl(b.zext(row, I64), i64(3))), typ=I64, align=8)
    matrix = b.lshr(row, i32(3))
    overruled: ir.Value = ir.Constant(I1, 0)
    for other in range(8 * count):
        wins = b.or_(
            b.icmp_unsigned(">", i32(other // 8), matrix),
            b.and_(b.icmp_unsigned("==", i32(other // 8), matrix), b.icmp_unsigned("<", i32(other), row)),
        )
        same = b.icmp_unsigned("==", b.load(at(b, addresses, i64(8 * other)), typ=I64, align=8), own)
        overruled = b.or_(overruled, b.and_(wins, same))
    return b.not_(overruled)


def _movmatrix(emitter: Services, instruction: Instruction) -> None:
    target, source = instruction.operands
    show(emitter, 0, [emitter.read(source, "b32")])
    meet(emitter, MOVE)
    b, shown = emitter.builder, area(emitter)
    row, column = _part_position(emitter)
    value: ir.Value = i32(0)
    for half in (0, 1):
        # Row `column + half`, column `row` of the source: two bytes each, eight of them in a row.
        offset = b.add(b.shl(b.add(column, i32(half)), i32(4)), b.shl(row, i32(1)))
        half_bits = b.load(at(b, shown, b.zext(offset, I64)), typ=ir.IntType(16), align=2)
        value = b.or_(value, b.shl(b.zext(half_bits, I32), i32(16 * half)))
    emitter.write(target, value, "b32")


TABLE = {"ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "movmatrix": _movmatrix}
