"""Lowering of asynchronous copies, and of changes of tensor maps."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.descriptors import TENSOR_MAP_BYTES
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import I64, at, convert, i32, i64
from gpuregress.virtual_gpu.checks.access_notes import note_fence
from gpuregress.virtual_gpu.isa.memory import copy_queue
from gpuregress.virtual_gpu.isa.memory.atomics import reduce
from gpuregress.virtual_gpu.isa.memory.load_store import MemoryAccess, generic_address, host_pointer, store
from gpuregress.virtual_gpu.isa.memory.mbarrier import bulk_copy, is_bulk, mbarrier_pointer, note_arrival, send
from gpuregress.virtual_gpu.ptx.modifiers import lanes, modifier_among, size, space_of, type_of, unsupported
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Integer, Operand, Register, elements
from gpuregress.virtual_gpu.runtime import tensor_tiles
from gpuregress.virtual_gpu.runtime.bulk_forms import ARRIVING_TYPES

# --- asynchronous copies ----------------------------------------------------------------------------------------------


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
    """Read a prefix of the bytes, with zeros after: the fourth operand is its length, or a predicate to read none."""
    b = emitter.builder
    address, limit = source
    type_ = ir.IntType(8 * count)
    if isinstance(limit, Register) and emitter.declared(limit.name) == ir.IntType(1):
        wanted = b.select(emitter.read(limit, "pred"), i32(0), i32(count))
    else:
        wanted = emitter.read(limit, "u32")
    before = b.block
    reading, after = b.append_basic_block("some"), b.append_basic_block("after")
    b.cbranch(b.icmp_unsigned("!=", wanted, i32(0)), reading, after)
    b.position_at_end(reading)
    origin = host_pointer(emitter, MemoryAccess(instruction, address, "global", count, "read"))
    emitter.forget_pointers()
    b = emitter.builder
    whole = b.load(origin, typ=type_, align=count)
    # A shift by all bits is not defined.
    shift = convert(b, b.shl(b.sub(i32(count), wanted), i32(3)), type_)
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


# --- fields of tensor maps --------------------------------------------------------------------------------------------
# Tensor maps that a kernel makes: tensormap.replace and tensormap.cp_fenceproxy.
#
# A map is the virtual GPU's own record of 128 bytes (`runtime.tensor_tiles`), and a field of it is stored in place. A
# map of zeros gets its mark with the address of its tensor. Triton makes descriptors so. PTX ISA manual, 9.7.9.29.


_MODES = {
    "elemtype": (0, 1, 2, 3, 4, 5, 6, 7, 10, 8, 9, 11, 12),
    "interleave_layout": (0, 1, 2),
    "swizzle_mode": (0, 1, 2, 3),
    "fill_mode": (0, 1),
}
"""Field with a list of modes → its number in the record for each number in PTX: PTX has f32.ftz before f64 and bf16."""

_LOWERED = {"global_dim": 1}
"""Field that the record holds less one."""


def _tensormap(emitter: Services, instruction: Instruction) -> None:
    words = instruction.modifiers
    if words[:1] == ("cp_fenceproxy",):
        _copy_map(emitter, instruction)
    elif words[:2] == ("replace", "tile"):
        _replace(emitter, instruction, words[2])
    else:
        raise unsupported(instruction)


def _copy_map(emitter: Services, instruction: Instruction) -> None:
    target, source, count = instruction.operands
    if not (isinstance(target, Address) and isinstance(source, Address) and count == Integer(TENSOR_MAP_BYTES)):
        raise unsupported(instruction, "operands")
    type_ = ir.IntType(8 * TENSOR_MAP_BYTES)
    origin = host_pointer(emitter, MemoryAccess(instruction, source, "shared", TENSOR_MAP_BYTES, "read"))
    data = emitter.builder.load(origin, typ=type_, align=1)
    pointer = host_pointer(emitter, MemoryAccess(instruction, target, "global", TENSOR_MAP_BYTES, "write"))
    emitter.builder.store(data, pointer, align=1)


def _replace(emitter: Services, instruction: Instruction, name: str) -> None:
    address, *rest = instruction.operands
    if not isinstance(address, Address) or name not in tensor_tiles.FIELDS:
        raise unsupported(instruction)
    position = rest[0] if len(rest) > 1 else Integer(0)
    offset, size, count = tensor_tiles.FIELDS[name]
    if not isinstance(position, Integer) or not 0 <= position.value < count:
        raise unsupported(instruction, "operands")
    space = modifier_among(instruction, ("global", "shared::cta")).partition("::")[0]
    pointer = host_pointer(emitter, MemoryAccess(instruction, address, space, TENSOR_MAP_BYTES, "write"))
    b = emitter.builder
    value = convert(b, _field_value(emitter, instruction, name, rest[-1]), ir.IntType(8 * size))
    b.store(value, at(b, pointer, offset + size * position.value), align=1)
    if name == "global_address":
        b.store(i64(tensor_tiles.MAGIC), pointer, align=1)


def _field_value(emitter: Services, instruction: Instruction, name: str, operand: Operand) -> ir.Value:
    """The new value of a field as the record has it, i64."""
    if isinstance(operand, Integer):
        number = operand.value
        if name in _MODES:
            if not 0 <= number < len(_MODES[name]):
                raise unsupported(instruction, "operands")
            number = _MODES[name][number]
        return i64(number + (name == "rank") - _LOWERED.get(name, 0))
    if name in _MODES or not isinstance(operand, Register):
        raise unsupported(instruction, "operands")
    b = emitter.builder
    if "b64" in instruction.modifiers:
        value = emitter.read(operand, "b64")
    else:
        value = b.zext(emitter.read(operand, "b32"), ir.IntType(64))
    if name == "rank":
        value = b.add(value, i64(1))
    if name in _LOWERED:
        value = b.sub(value, i64(_LOWERED[name]))
    return value


TABLE = {
    "membar": _fence,
    "fence": _fence,
    "cp": _cp,
    "discard": _fence,
    "st": _store,
    "red": _reduce,
    "tensormap": _tensormap,
}
