"""Asynchronous copies and stores, and fences: cp.async, cp.async.bulk, st.async, red.async.

A copy is done at once, and signals its mbarrier at once. The threads of a block run on one core in turn, so that each
sees the writes of those before it: fences need no code.
PTX ISA manual, 9.7.9.25 "Data Movement and Conversion Instructions: Asynchronous copy".
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.builder.structured import at, i32, i64
from gpuregress.devices.cpu.builder.types import I8
from gpuregress.devices.cpu.isa.memory.atomics import reduce
from gpuregress.devices.cpu.isa.memory.bulk_copy import bulk_copy, is_bulk
from gpuregress.devices.cpu.isa.memory.load_store import MemoryAccess, host_pointer, store
from gpuregress.devices.cpu.isa.memory.mbarrier import arrive_once, complete_bytes
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
    if is_bulk(instruction):
        bulk_copy(emitter, instruction)
    elif words[:1] != ("async",):
        raise unsupported(instruction)
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
