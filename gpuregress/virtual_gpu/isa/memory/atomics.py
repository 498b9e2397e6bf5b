"""Atomic operations: atom and red.

The threads of a block run on one core in turn, so that a load, an operation and a store are atomic together.

PTX ISA manual, 9.7.13.5.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import at, i64, llvm_type
from gpuregress.virtual_gpu.isa.arithmetic.ieee754 import canonical, flush, is_nan, propagate
from gpuregress.virtual_gpu.isa.lowering_table import lowering
from gpuregress.virtual_gpu.isa.memory.load_store import MemoryAccess, generic_address, host_pointer
from gpuregress.virtual_gpu.isa.warp_barriers import own_rank, rank_of
from gpuregress.virtual_gpu.ptx.modifiers import (
    HALVES,
    is_signed,
    lanes,
    modifier_among,
    size,
    space_of,
    type_of,
    unsupported,
)
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Operand, elements
from gpuregress.virtual_gpu.runtime.machine_layout import REGION_SHIFT, SHARED_WINDOW

_PAIRS = ("f16x2", "bf16x2")
_OPERATIONS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
_OF_FLOATS = {"f32": ("add",), "f64": ("add",), **dict.fromkeys(HALVES, ("add", "min", "max"))}
"""Type of floats → the operations that there are for it."""


def _operation(instruction: Instruction) -> str:
    type_name = type_of(instruction)
    operation = modifier_among(instruction, _OF_FLOATS.get(type_name, _OPERATIONS))
    if not operation:
        raise unsupported(instruction, f"there is no such operation of .{type_name}")
    return operation


def _atom(emitter: Services, instruction: Instruction) -> None:
    _update(emitter, instruction, instruction.operands[0], instruction.operands[1], instruction.operands[2:])


def reduce(emitter: Services, instruction: Instruction) -> None:
    """Lower `red`, an atomic operation without a result; `async_copy` has `red.async`."""
    _update(emitter, instruction, None, instruction.operands[0], instruction.operands[1:2])


def _update(
    emitter: Services,
    instruction: Instruction,
    target: Operand | None,
    address: Operand,
    sources: tuple[Operand, ...],
) -> None:
    if not isinstance(address, Address):
        raise unsupported(instruction, "not an address")
    type_name, count = type_of(instruction), lanes(instruction)
    space = space_of(instruction)
    pointer = host_pointer(emitter, MemoryAccess(instruction, address, space, size(type_name) * count, "atomic access"))
    targets: tuple[Operand | None, ...] = (None,) * count
    if target is not None:
        targets = elements(target)
    in_global = _is_global(emitter, address, space) if type_name in ("f32", "f64") else None
    for index in range(count):
        values = [emitter.read(elements(item)[index], type_name) for item in sources]
        where = at(emitter.builder, pointer, size(type_name) * index)
        old = emitter.builder.load(where, typ=llvm_type(type_name), align=size(type_name))
        new = _new_value(emitter, instruction, type_name, old, values, in_global)
        is_added = type_name in _PAIRS and _operation(instruction) == "add"
        if is_added and emitter.view.clustered and space in ("", "shared"):
            whole = emitter.builder.add(old, values[0])
            new = emitter.builder.select(_is_in_another_block(emitter, address, space), whole, new)
        emitter.builder.store(new, where, align=size(type_name))
        if emitter.index in emitter.flow.spin_updates:
            emitter.exits.note_update(emitter, where, old, new)
        destination = targets[index]
        if destination is not None:
            emitter.write(destination, old, type_name)


def _is_global(emitter: Services, address: Address, space: str) -> ir.Value:
    """Whether an address is in global memory, whose atomic unit rounds by other rules than shared memory."""
    b = emitter.builder
    if space:
        return ir.Constant(ir.IntType(1), int(space == "global"))
    number = b.lshr(generic_address(emitter, address, space), i64(REGION_SHIFT))
    return b.icmp_unsigned("!=", number, i64(SHARED_WINDOW >> REGION_SHIFT))


def _is_in_another_block(emitter: Services, address: Address, space: str) -> ir.Value:
    """Whether an address is in the shared memory of another block of the cluster.

    There an H200 adds a packed pair of halves as one integer, against the manual (tests/conformance, clusters/packed).
    """
    b, generic = emitter.builder, generic_address(emitter, address, space)
    in_shared = b.icmp_unsigned("==", b.lshr(generic, i64(REGION_SHIFT)), i64(SHARED_WINDOW >> REGION_SHIFT))
    own = b.zext(own_rank(emitter), generic.type)
    return b.and_(in_shared, b.icmp_unsigned("!=", rank_of(b, generic), own))


def _new_value(
    emitter: Services,
    instruction: Instruction,
    type_name: str,
    old: ir.Value,
    values: list[ir.Value],
    in_global: ir.Value | None,
) -> ir.Value:
    b, operation, value = emitter.builder, _operation(instruction), values[0]
    if operation == "exch":
        return value
    if operation == "cas":
        return b.select(b.icmp_unsigned("==", old, value), values[1], old)
    if operation in ("and", "or", "xor"):
        return {"and": b.and_, "or": b.or_, "xor": b.xor}[operation](old, value)
    if operation in ("inc", "dec"):
        return _wrap(b, operation, old, value)
    if type_name in ("f32", "f64"):
        return _add_float(emitter, type_name, old, value, in_global)
    if type_name in HALVES:
        return _halves(emitter, instruction, type_name, old, value)
    if operation == "add":
        return b.add(old, value)
    compare = b.icmp_signed if is_signed(type_name) else b.icmp_unsigned
    order = "<" if operation == "min" else ">"
    return b.select(compare(order, old, value), old, value)


def _wrap(b: ir.IRBuilder, operation: str, old: ir.Value, limit: ir.Value) -> ir.Value:
    zero, one = ir.Constant(old.type, 0), ir.Constant(old.type, 1)
    if operation == "inc":
        return b.select(b.icmp_unsigned(">=", old, limit), zero, b.add(old, one))
    wraps = b.or_(b.icmp_unsigned("==", old, zero), b.icmp_unsigned(">", old, limit))
    return b.select(wraps, limit, b.sub(old, one))


def _add_float(
    emitter: Services, type_name: str, old: ir.Value, value: ir.Value, in_global: ir.Value | None
) -> ir.Value:
    """Add floats: in global memory f32 flushes subnormals (PTX manual), and f64 keeps a NaN as it is (H200)."""
    b = emitter.builder
    assert in_global is not None
    if type_name == "f64":
        plain = propagate(emitter, b.fadd(old, value), old, value)
        kept = b.select(is_nan(emitter, value), value, b.select(is_nan(emitter, old), old, plain))
        return b.select(in_global, kept, plain)
    plain = canonical(emitter, b.fadd(old, value))
    flushed = canonical(emitter, flush(emitter, b.fadd(flush(emitter, old), flush(emitter, value))))
    return b.select(in_global, flushed, plain)


def _halves(emitter: Services, instruction: Instruction, type_name: str, old: ir.Value, value: ir.Value) -> ir.Value:
    """Half-precision add, min or max, single or packed: the instruction of the half family on what memory holds."""
    registers = [emitter.temporary(type_name) for _ in range(3)]
    for register, operand in zip(registers[1:], (old, value), strict=True):
        emitter.write(register, operand, type_name)
    operation = _operation(instruction)
    modifiers = ("rn", type_name) if operation == "add" else (type_name,)
    inner = replace(instruction, opcode=operation, modifiers=modifiers, operands=tuple(registers), guard=None)
    lowering(inner)(emitter, inner)
    return emitter.read(registers[0], type_name)


TABLE = {"atom": _atom}
