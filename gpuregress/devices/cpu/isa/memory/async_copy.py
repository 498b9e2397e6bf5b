"""Asynchronous copies and stores, and fences: cp.async, cp.async.bulk, st.async, red.async.

A copy is done at once, and signals its mbarrier at once. The threads of a block run on one core in turn, so that each
sees the writes of those before it: fences need no code.
PTX ISA manual, 9.7.9.25 "Data Movement and Conversion Instructions: Asynchronous copy".
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.builder.structured import at, counted, i32, i64
from gpuregress.devices.cpu.builder.types import I1, I8, I32, I64, convert
from gpuregress.devices.cpu.isa.memory.atomics import reduce
from gpuregress.devices.cpu.isa.memory.load_store import MemoryAccess, address_value, host_pointer, store
from gpuregress.devices.cpu.isa.memory.mbarrier import arrive_once, complete_bytes
from gpuregress.devices.cpu.isa.warp.clusters import moved_to
from gpuregress.devices.cpu.ptx.errors import unsupported
from gpuregress.devices.cpu.ptx.modifiers import lanes, type_of
from gpuregress.devices.cpu.ptx.tree import Address, Instruction, Integer, Operand, Register
from gpuregress.devices.cpu.ptx.types import size

_CHUNK = 16
"""Bytes: sizes and addresses of bulk copies are multiples of it."""
_RANKS = 16
"""Bits of a mask of blocks."""


def _fence(emitter: Services, instruction: Instruction) -> None:
    del emitter, instruction


def _cp(emitter: Services, instruction: Instruction) -> None:
    words = instruction.modifiers
    if words[:1] != ("async",) or "tensor" in words:
        raise unsupported(instruction)
    if words[1] == "bulk":
        _bulk(emitter, instruction)
    elif words[1] == "mbarrier":
        # Without .noinc the instruction itself adds the arrival to the pending count: no net effect.
        if "noinc" in words:
            arrive_once(emitter, instruction, instruction.operands[0])
    elif words[1] not in ("commit_group", "wait_group", "wait_all"):
        _copy(emitter, instruction)


def _copy(emitter: Services, instruction: Instruction) -> None:
    to, source, count, *rest = instruction.operands
    if not (isinstance(to, Address) and isinstance(source, Address) and isinstance(count, Integer)):
        raise unsupported(instruction, "operands")
    rest = [item for item in rest if not _is_policy(instruction, item)]
    target = host_pointer(emitter, MemoryAccess(instruction, to, "shared", count.value, "write"))
    if rest:
        _copy_some(emitter, instruction, (source, rest[0]), target, count.value)
        return
    origin = host_pointer(emitter, MemoryAccess(instruction, source, "global", count.value, "read"))
    whole = emitter.builder.load(origin, typ=ir.IntType(8 * count.value), align=count.value)
    emitter.builder.store(whole, target, align=count.value)


def _is_policy(instruction: Instruction, operand: Operand) -> bool:
    """Whether an operand is the cache policy, which is the last one and has no effect."""
    return "L2::cache_hint" in instruction.modifiers and operand is instruction.operands[-1]


def _copy_some(
    emitter: Services, instruction: Instruction, source: tuple[Address, Operand], target: ir.Value, count: int
) -> None:
    """Copy a prefix of the bytes and fill with zeros: the fourth operand is its length, or a predicate to copy none."""
    b = emitter.builder
    address, limit = source
    if isinstance(limit, Register) and emitter.declared(limit.name) == ir.IntType(1):
        wanted = b.select(emitter.read(limit, "pred"), i32(0), i32(count))
    else:
        wanted = emitter.read(limit, "u32")
    for offset in range(count):
        b.store(ir.Constant(I8, 0), at(b, target, offset))
    some, after = b.append_basic_block("some"), b.append_basic_block("after")
    b.cbranch(b.icmp_unsigned("!=", wanted, i32(0)), some, after)
    b.position_at_end(some)
    origin = host_pointer(emitter, MemoryAccess(instruction, address, "global", count, "read"))
    emitter.forget_pointers()
    for offset in range(count):
        keep = emitter.builder.icmp_unsigned("<", i32(offset), wanted)
        byte = emitter.builder.load(at(emitter.builder, origin, offset), typ=I8)
        zero = ir.Constant(I8, 0)
        emitter.builder.store(emitter.builder.select(keep, byte, zero), at(emitter.builder, target, offset))
    emitter.builder.branch(after)
    emitter.builder.position_at_end(after)


# --- cp.async.bulk ----------------------------------------------------------------------------------------------------


def _bulk(emitter: Services, instruction: Instruction) -> None:
    words = instruction.modifiers
    if words[2] in ("commit_group", "wait_group", "prefetch"):
        return
    spaces = [word.partition("::")[0] for word in words[2:] if word.partition("::")[0] in ("shared", "global")]
    to, source, count, *rest = instruction.operands
    if len(spaces) != 2 or not (isinstance(to, Address) and isinstance(source, Address)) or "cp_mask" in words:
        raise unsupported(instruction, "only copies between global and shared memory are there")
    size = emitter.builder.zext(emitter.read(count, "u32"), I64)
    if "multicast::cluster" in words:
        _multicast(emitter, instruction, (to, source), size, rest)
        return
    _copy_chunks(emitter, instruction, (to, spaces[0]), (source, spaces[1]), size)
    if "mbarrier::complete_tx::bytes" in words:
        complete_bytes(emitter, instruction, rest[0], size)


def _multicast(
    emitter: Services, instruction: Instruction, ends: tuple[Address, Address], size: ir.Value, rest: list[Operand]
) -> None:
    """Copy to the same offset in each block of a mask, and signal the mbarrier of each."""
    b, (to, source) = emitter.builder, ends
    gate, mask = rest[:2]
    if not isinstance(gate, Address):
        raise unsupported(instruction, "operands")
    wanted = b.zext(emitter.read(mask, "u16"), I32)
    starts = [(emitter.temporary("u32"), address_value(emitter, item)) for item in (to, gate)]
    with counted(b, i32(_RANKS)) as rank, b.if_then(b.trunc(b.lshr(wanted, rank), I1)):
        for register, address in starts:
            emitter.write(register, moved_to(b, convert(b, address, I32), rank), "u32")
        (target, _), (bar, _) = starts
        _copy_chunks(emitter, instruction, (Address(target), "shared"), (source, "global"), size)
        complete_bytes(emitter, instruction, Address(bar), size)
        emitter.forget_pointers()


def _copy_chunks(
    emitter: Services, instruction: Instruction, to: tuple[Address, str], source: tuple[Address, str], size: ir.Value
) -> None:
    """Copy in chunks, each checked like any other access of its size."""
    b = emitter.builder
    here = _moving(emitter, source[0])
    there = _moving(emitter, to[0])
    with counted(b, b.lshr(b.add(size, i64(_CHUNK - 1)), i64(_CHUNK.bit_length() - 1))) as chunk:
        step = b.shl(chunk, i64(_CHUNK.bit_length() - 1))
        origin = host_pointer(emitter, MemoryAccess(instruction, here(step), source[1], _CHUNK, "read"))
        target = host_pointer(emitter, MemoryAccess(instruction, there(step), to[1], _CHUNK, "write"))
        value = b.load(origin, typ=ir.IntType(8 * _CHUNK), align=1)
        b.store(value, target, align=1)
    emitter.forget_pointers()


def _moving(emitter: Services, address: Address) -> Callable[[ir.Value], Address]:
    """A function from an offset in bytes to the address there."""
    register = emitter.temporary("u64")
    start = emitter.read(address.base, "u64")

    def at_offset(step: ir.Value) -> Address:
        emitter.write(register, emitter.builder.add(start, step), "u64")
        return Address(register, address.offset)

    return at_offset


# --- st.async, red.async ----------------------------------------------------------------------------------------------


def _store(emitter: Services, instruction: Instruction) -> None:
    store(emitter, instruction)
    _complete(emitter, instruction)


def _reduce(emitter: Services, instruction: Instruction) -> None:
    reduce(emitter, instruction)
    _complete(emitter, instruction)


def _complete(emitter: Services, instruction: Instruction) -> None:
    """Signal the bytes of an asynchronous store to the mbarrier that is its last operand."""
    if "async" not in instruction.modifiers:
        return
    if "mbarrier::complete_tx::bytes" not in instruction.modifiers:
        raise unsupported(instruction)
    count = lanes(instruction) * size(type_of(instruction))
    complete_bytes(emitter, instruction, instruction.operands[2], i64(count))


TABLE = {"membar": _fence, "fence": _fence, "cp": _cp, "discard": _fence, "st": _store, "red": _reduce}
