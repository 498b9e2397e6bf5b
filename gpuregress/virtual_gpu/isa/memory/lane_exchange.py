"""Detection of values that lanes of a warp exchange through memory with no wait between.

The last writes are kept in a hash table: who wrote, and at which wait it had last met others. A read that finds
another lane of its warp there, which has met others at the same wait and at none since, is an exchange; the first one
is recorded in the machine. Only the pairs of a write and a read count that the analysis has found
(`analysis.lane_dependence`).
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.address_resolution import field, set_field
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import at, i64
from gpuregress.virtual_gpu.builder.threads import dimension, linear_thread
from gpuregress.virtual_gpu.builder.types import I32, I64, POINTER
from gpuregress.virtual_gpu.isa.memory.load_store import MemoryAccess, access_site, generic_address
from gpuregress.virtual_gpu.ptx.modifiers import lanes, space_of, type_of
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction
from gpuregress.virtual_gpu.ptx.types import size
from gpuregress.virtual_gpu.runtime.machine_layout import EXCHANGE_ENTRIES, EXCHANGE_SHIFT

_STEP = 4
_ARGUMENTS = (POINTER, I64, I64, I64)
_MEETING_SHIFT, _BLOCK_SHIFT, _WARP_SHIFT, _CLASS_SHIFT = 10, 36, 5, 32
_MEETING_MASK = (1 << _BLOCK_SHIFT - _MEETING_SHIFT) - 1


def watch(emitter: Services, instruction: Instruction) -> None:
    """Note a write, or compare a read with the last writes; built before the access itself."""
    address = next(item for item in instruction.operands if isinstance(item, Address))
    space, count = space_of(instruction), lanes(instruction) * size(type_of(instruction))
    site = access_site(emitter, MemoryAccess(instruction, address, space, count, ""))
    start, tag = generic_address(emitter, address, space), _tag(emitter)
    for watched, name, build in (
        (emitter.watched.reads, "exchange.read", _read),
        (emitter.watched.writes, "exchange.write", _write),
    ):
        if emitter.index not in watched:
            continue
        function = emitter.subroutine(name, I64, _ARGUMENTS, build)
        place = i64(site | watched[emitter.index] << _CLASS_SHIFT)
        used = -1 if instruction.used_bytes is None else instruction.used_bytes
        for offset in (at_ for at_ in range(0, count, _STEP) if used >> at_ & (1 << _STEP) - 1):
            where = emitter.builder.add(start, i64(offset))
            emitter.builder.call(function, (emitter.view.machine, where, tag, place))


def _tag(emitter: Services) -> ir.Value:
    """The thread, its last meeting, and its block, in one number; without the five low bits that of the warp."""
    b, thread, view = emitter.builder, emitter.thread, emitter.view
    x, y, z = (thread.coordinate(b, f"ctaid_{axis}") for axis in "xyz")
    block = b.add(x, b.mul(dimension(view, "grid_x"), b.add(y, b.mul(dimension(view, "grid_y"), z))))
    number = b.zext(linear_thread(b, view, thread), I64)
    met = b.and_(b.zext(emitter.exits.last_meeting(emitter), I64), i64(_MEETING_MASK))
    tag = b.or_(b.shl(met, i64(_MEETING_SHIFT)), number)
    return b.or_(b.shl(b.zext(block, I64), i64(_BLOCK_SHIFT)), tag)


def _entry(b: ir.IRBuilder, machine: ir.Value, address: ir.Value) -> ir.Value:
    number = b.and_(b.lshr(address, i64(2)), i64(EXCHANGE_ENTRIES - 1))
    table = b.inttoptr(field(b, machine, "exchanges"), POINTER)
    return at(b, table, b.shl(number, i64(EXCHANGE_SHIFT)))


def _write(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
    machine, address, tag, place = arguments
    entry = _entry(b, machine, address)
    for offset, value in enumerate((address, tag, place)):
        b.store(value, at(b, entry, 8 * offset))
    return i64(0)


def _read(b: ir.IRBuilder, arguments: tuple[ir.Value, ...]) -> ir.Value:
    machine, address, tag, place = arguments
    entry = _entry(b, machine, address)
    written, writer, where = (b.load(at(b, entry, 8 * offset), typ=I64) for offset in range(3))
    difference = b.xor(writer, tag)
    same_warp = b.icmp_unsigned("==", b.lshr(difference, i64(_WARP_SHIFT)), i64(0))
    other = b.icmp_unsigned("!=", difference, i64(0))
    common = b.lshr(b.and_(where, place), i64(_CLASS_SHIFT))
    is_pair = b.icmp_unsigned("!=", common, i64(0))
    found = b.and_(b.icmp_unsigned("==", written, address), b.and_(is_pair, b.and_(same_warp, other)))
    first = b.icmp_unsigned("==", field(b, machine, "exchange_read"), i64(0))
    with b.if_then(b.and_(found, first)):
        for name, value in (("exchange_write", where), ("exchange_read", place)):
            set_field(b, machine, name, b.add(b.zext(b.trunc(value, I32), I64), i64(1)))
    return i64(0)
