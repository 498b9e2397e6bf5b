"""Asynchronous copies and stores, and fences: cp.async, cp.async.bulk, st.async, red.async.

The copies of cp.async arrive when their thread waits for them (`copy_queue`), bulk copies and asynchronous stores
likewise (`bulk_copy`). The threads of a block run on one core in turn, so that each sees the writes of
those before it: fences need no code.
PTX ISA manual, 9.7.9.25 "Data Movement and Conversion Instructions: Asynchronous copy".
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i32
from gpuregress.virtual_gpu.builder.types import I32, I64, convert
from gpuregress.virtual_gpu.checks.access_notes import note_fence
from gpuregress.virtual_gpu.isa.memory import copy_queue
from gpuregress.virtual_gpu.isa.memory.atomics import reduce
from gpuregress.virtual_gpu.isa.memory.bulk_copy import bulk_copy, is_bulk, send
from gpuregress.virtual_gpu.isa.memory.load_store import MemoryAccess, generic_address, host_pointer, store
from gpuregress.virtual_gpu.isa.memory.mbarrier import mbarrier_pointer, note_arrival
from gpuregress.virtual_gpu.ptx.errors import unsupported
from gpuregress.virtual_gpu.ptx.modifiers import lanes, space_of, type_of
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Integer, Operand, Register, elements
from gpuregress.virtual_gpu.ptx.types import size
from gpuregress.virtual_gpu.runtime.bulk_forms import ARRIVING_TYPES

_REDUCED_TYPES = ARRIVING_TYPES | {"add": "u32 s32 u64 s64"}
_STORED_TYPES = "b32 b64 u32 u64 s32 s64 f32 f64"


def _fence(emitter: Services, instruction: Instruction) -> None:
    if instruction.opcode != "discard":
        note_fence(emitter, instruction)


def _cp(emitter: Services, instruction: Instruction) -> None:
    words = instruction.modifiers
    if is_bulk(instruction):
        bulk_copy(emitter, instruction)
    elif words[:1] != ("async",):
        raise unsupported(instruction)
    elif words[1] == "mbarrier":
        barrier = mbarrier_pointer(emitter, instruction, instruction.operands[0])
        before = emitter.builder.load(barrier, typ=I64, align=8)
        copy_queue.issue_arrival(emitter, barrier, counts="noinc" not in words)
        if emitter.unit.granules is not None:
            address = instruction.operands[0]
            assert isinstance(address, Address)
            place = generic_address(emitter, address, space_of(instruction))
            note_arrival(emitter, place, before)
    elif words[1] == "commit_group":
        copy_queue.commit(emitter)
    elif words[1] == "wait_all":
        copy_queue.commit(emitter)
        copy_queue.wait(emitter, 0)
    elif words[1] == "wait_group":
        most = instruction.operands[0]
        if not isinstance(most, Integer):
            raise unsupported(instruction, "operands")
        copy_queue.wait(emitter, most.value)
    else:
        _copy(emitter, instruction)


def _copy(emitter: Services, instruction: Instruction) -> None:
    to, source, count, *rest = instruction.operands
    if not (isinstance(to, Address) and isinstance(source, Address) and isinstance(count, Integer)):
        raise unsupported(instruction, "operands")
    rest = [item for item in rest if not _is_policy(instruction, item)]
    target = host_pointer(emitter, MemoryAccess(instruction, to, "shared", count.value, "write"))
    if rest:
        data = _some(emitter, instruction, (source, rest[0]), count.value)
    else:
        origin = host_pointer(emitter, MemoryAccess(instruction, source, "global", count.value, "read"))
        data = emitter.builder.load(origin, typ=ir.IntType(8 * count.value), align=count.value)
    copy_queue.issue(emitter, target, data)


def _is_policy(instruction: Instruction, operand: Operand) -> bool:
    """Whether an operand is the cache policy, which is the last one and has no effect."""
    return "L2::cache_hint" in instruction.modifiers and operand is instruction.operands[-1]


def _some(emitter: Services, instruction: Instruction, source: tuple[Address, Operand], count: int) -> ir.Value:
    """Read a prefix of the bytes, with zeros behind: the fourth operand is its length, or a predicate to read none."""
    b = emitter.builder
    address, limit = source
    type_ = ir.IntType(8 * count)
    if isinstance(limit, Register) and emitter.declared(limit.name) == ir.IntType(1):
        wanted = b.select(emitter.read(limit, "pred"), i32(0), i32(count))
    else:
        wanted = emitter.read(limit, "u32")
    before = b.block
    some, after = b.append_basic_block("some"), b.append_basic_block("after")
    b.cbranch(b.icmp_unsigned("!=", wanted, i32(0)), some, after)
    b.position_at_end(some)
    origin = host_pointer(emitter, MemoryAccess(instruction, address, "global", count, "read"))
    emitter.forget_pointers()
    b = emitter.builder
    whole = b.load(origin, typ=type_, align=count)
    # A shift by all bits is not defined.
    bits = b.shl(b.sub(i32(count), wanted), i32(3))
    shift = bits if type_ == I32 else b.zext(bits, type_)
    kept = b.and_(whole, b.lshr(ir.Constant(type_, -1), shift))
    read = b.select(b.icmp_unsigned("<", wanted, i32(count)), kept, whole)
    b.branch(after)
    end = b.block
    b.position_at_end(after)
    data = b.phi(type_)
    data.add_incoming(ir.Constant(type_, 0), before)
    data.add_incoming(read, end)
    return data


# --- st.async, red.async ----------------------------------------------------------------------------------------------


def _store(emitter: Services, instruction: Instruction) -> None:
    if instruction.modifiers[:1] == ("async",):
        _send(emitter, instruction, "write")
    else:
        store(emitter, instruction)


def _reduce(emitter: Services, instruction: Instruction) -> None:
    if instruction.modifiers[:1] == ("async",):
        _send(emitter, instruction, "atomic access")
    else:
        reduce(emitter, instruction)


def _send(emitter: Services, instruction: Instruction, action: str) -> None:
    """Lower an asynchronous store, which signals the mbarrier that is its last operand."""
    address, source, barrier = instruction.operands
    if "mbarrier::complete_tx::bytes" not in instruction.modifiers or not isinstance(address, Address):
        raise unsupported(instruction)
    type_name = type_of(instruction)
    operation = instruction.modifiers[-2]
    known = _REDUCED_TYPES.get(operation, "") if instruction.opcode == "red" else _STORED_TYPES
    if type_name not in known.split():
        raise unsupported(instruction)
    count = lanes(instruction) * size(type_name)
    access = MemoryAccess(instruction, address, space_of(instruction), count, action)
    target = host_pointer(emitter, access, is_watched=False)  # the checks follow it as a copy
    gate = mbarrier_pointer(emitter, instruction, barrier)
    bits = ir.IntType(8 * size(type_name))
    values = [convert(emitter.builder, emitter.read(item, type_name), bits) for item in elements(source)]
    send(emitter, instruction, target, gate, values)


TABLE = {"membar": _fence, "fence": _fence, "cp": _cp, "discard": _fence, "st": _store, "red": _reduce}
