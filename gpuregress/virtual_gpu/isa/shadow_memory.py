"""Memory of shadow values: a hash table from the address of an element to its bits and its shadow.

A shadow is valid while memory holds the bits that were stored with it. An element that anything else has written takes
its own value as the shadow.
"""

from __future__ import annotations

from collections.abc import Iterator

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import F64, I64, POINTER, at, convert, i64, subroutine
from gpuregress.virtual_gpu.isa import shadow_arithmetic
from gpuregress.virtual_gpu.isa.memory.load_store import pointer_for
from gpuregress.virtual_gpu.ptx.modifiers import size, type_of
from gpuregress.virtual_gpu.ptx.tree import Instruction, Operand, Vector
from gpuregress.virtual_gpu.runtime.machine_layout import (
    SHADOW_CHUNK,
    SHADOW_MULTIPLIER,
    SHADOW_PROBES,
    SHADOW_SHIFT,
    SHADOW_SIZE_SHIFT,
)


def _load(emitter: Services, instruction: Instruction) -> None:
    """Set the shadows of what a load has read: `{shadows}, [address], {registers}`."""
    target, address, loaded = instruction.operands
    assert isinstance(target, Vector)
    assert isinstance(loaded, Vector)
    left = list(target.elements)
    for kind, element, where in _elements(emitter, instruction, address, loaded, "read"):
        raw = convert(emitter.builder, shadow_arithmetic.bits(emitter, element, kind), I64)
        arguments = (emitter.view.machine, where, raw, i64(size(kind)))
        own = shadow_arithmetic.widened(emitter, element, kind)
        count = 2 if kind == "f64" else 1
        for part, default in zip(range(count), (own, F64(0.0)), strict=False):
            emitter.write(left.pop(0), _part(part, emitter.builder, *arguments, default), "f64")


def _store(emitter: Services, instruction: Instruction) -> None:
    """Note the shadows of what a store has written: `[address], {shadows}, {registers}`."""
    address, source, stored = instruction.operands
    assert isinstance(source, Vector)
    assert isinstance(stored, Vector)
    left = list(source.elements)
    for kind, element, where in _elements(emitter, instruction, address, stored, "write"):
        raw = convert(emitter.builder, shadow_arithmetic.bits(emitter, element, kind), I64)
        high = emitter.read(left.pop(0), "f64")
        low = emitter.read(left.pop(0), "f64") if kind == "f64" else F64(0.0)
        _note(emitter.builder, emitter.view.machine, where, raw, i64(size(kind)), high, low)


def _elements(
    emitter: Services, instruction: Instruction, address: Operand, registers: Vector, action: str
) -> Iterator[tuple[str, Operand, ir.Value]]:
    """The kind, the register and the host address of each element that has a shadow."""
    b = emitter.builder
    pointer = b.ptrtoint(pointer_for(emitter, instruction, address, action), I64)
    kinds = instruction.modifiers[1].split(",")
    step = size(type_of(instruction))
    for number, (kind, element) in enumerate(zip(kinds, registers.elements, strict=True)):
        if kind != "-":
            yield kind, element, emitter.builder.add(pointer, i64(step * number))


# --- the table --------------------------------------------------------------------------------------------------------


def _first(b: ir.IRBuilder, host: ir.Value) -> ir.Value:
    """The first row for an address: rows of one chunk of memory lie side by side, chunks are scattered."""
    chunk = b.lshr(b.mul(b.lshr(host, i64(SHADOW_CHUNK + 2)), i64(SHADOW_MULTIPLIER)), i64(24))
    inside = b.and_(b.lshr(host, i64(2)), i64((1 << SHADOW_CHUNK) - 1))
    return b.or_(b.shl(chunk, i64(SHADOW_CHUNK)), inside)


@subroutine("shadow.find", I64)
def _find(b: ir.IRBuilder, machine: ir.Value, host: ir.Value, bytes_: ir.Value) -> ir.Value:
    """The address of the row of an element, or of the free row where it belongs; 0 where there is none."""
    key = b.or_(host, b.shl(bytes_, i64(SHADOW_SIZE_SHIFT)))
    table, mask = field(b, machine, "shadows"), field(b, machine, "shadow_mask")
    first, entry = _first(b, host), b.block
    loop, more, end = (b.append_basic_block(name) for name in ("probe", "more", "end"))
    b.branch(loop)
    b.position_at_end(loop)
    number = b.phi(I64)
    number.add_incoming(i64(0), entry)
    index = b.and_(b.add(first, b.shl(number, i64(SHADOW_CHUNK))), mask)
    row = b.add(table, b.shl(index, i64(SHADOW_SHIFT)))
    found = b.load(b.inttoptr(row, POINTER), typ=I64)
    fits = b.or_(b.icmp_unsigned("==", found, key), b.icmp_unsigned("==", found, i64(0)))
    b.cbranch(fits, end, more)
    b.position_at_end(more)
    following = b.add(number, i64(1))
    number.add_incoming(following, more)
    b.cbranch(b.icmp_unsigned("<", following, i64(SHADOW_PROBES)), loop, end)
    b.position_at_end(end)
    result = b.phi(I64)
    result.add_incoming(row, loop)
    result.add_incoming(i64(0), more)
    return result


@subroutine(lambda part: f"shadow.part{part}", F64)
def _part(
    part: int,
    b: ir.IRBuilder,
    machine: ir.Value,
    host: ir.Value,
    raw: ir.Value,
    bytes_: ir.Value,
    default: ir.Value,
) -> ir.Value:
    """A part of the shadow of an element; the default where there is none."""
    row = _find(b, machine, host, bytes_)
    there = b.select(b.icmp_unsigned("==", row, i64(0)), field(b, machine, "shadows"), row)
    pointer = b.inttoptr(there, POINTER)
    key = b.or_(host, b.shl(bytes_, i64(SHADOW_SIZE_SHIFT)))
    same = b.icmp_unsigned("==", b.load(pointer, typ=I64), key)
    same = b.and_(same, b.icmp_unsigned("==", b.load(at(b, pointer, 8), typ=I64), raw))
    return b.select(same, b.load(at(b, pointer, 16 + 8 * part), typ=F64), default)


@subroutine("shadow.note")
def _note(
    b: ir.IRBuilder,
    machine: ir.Value,
    host: ir.Value,
    raw: ir.Value,
    bytes_: ir.Value,
    high: ir.Value,
    low: ir.Value,
) -> None:
    """Note the bits and the shadow of an element."""
    row = _find(b, machine, host, bytes_)
    with b.if_else(b.icmp_unsigned("==", row, i64(0))) as (full, there):
        with full:
            set_field(b, machine, "shadows_lost", b.add(field(b, machine, "shadows_lost"), i64(1)))
        with there:
            pointer = b.inttoptr(row, POINTER)
            b.store(b.or_(host, b.shl(bytes_, i64(SHADOW_SIZE_SHIFT))), pointer)
            for offset, value in ((8, raw), (16, high), (24, low)):
                b.store(value, at(b, pointer, offset))


def _lower(emitter: Services, instruction: Instruction) -> None:
    if instruction.modifiers[0] == "ld":
        _load(emitter, instruction)
    else:
        _store(emitter, instruction)


TABLE = {"%shadow": _lower}
