"""Tensor maps that a kernel makes: tensormap.replace and tensormap.cp_fenceproxy.

A map is the virtual GPU's own record of 128 bytes (`runtime.tensor_tiles`), and a field of it is stored in place. A
map of zeros gets its mark with the address of its tensor. Triton makes descriptors so. PTX ISA manual, 9.7.9.29.
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.tensor_maps import TENSOR_MAP_BYTES
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import at, i64
from gpuregress.virtual_gpu.isa.memory.load_store import MemoryAccess, host_pointer
from gpuregress.virtual_gpu.ptx.errors import unsupported
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Integer, Operand, Register
from gpuregress.virtual_gpu.runtime import tensor_tiles

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
        _copy(emitter, instruction)
    elif words[:2] == ("replace", "tile"):
        _replace(emitter, instruction, words[2])
    else:
        raise unsupported(instruction)


def _copy(emitter: Services, instruction: Instruction) -> None:
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
    space = next((word.partition("::")[0] for word in instruction.modifiers if word in ("global", "shared::cta")), "")
    pointer = host_pointer(emitter, MemoryAccess(instruction, address, space, TENSOR_MAP_BYTES, "write"))
    b = emitter.builder
    value = _value(emitter, instruction, name, rest[-1])
    b.store(
        b.trunc(value, ir.IntType(8 * size)) if size < 8 else value,
        at(b, pointer, offset + size * position.value),
        align=1,
    )
    if name == "global_address":
        b.store(i64(tensor_tiles.MAGIC), pointer, align=1)


def _value(emitter: Services, instruction: Instruction, name: str, operand: Operand) -> ir.Value:
    """The new value of a field as the record has it, i64."""
    if isinstance(operand, Integer):
        modes = _MODES.get(name)
        if modes is not None and not 0 <= operand.value < len(modes):
            raise unsupported(instruction, "operands")
        number = modes[operand.value] if modes is not None else operand.value
        return i64(number + (name == "rank") - _LOWERED.get(name, 0))
    if name in _MODES or not isinstance(operand, Register):
        raise unsupported(instruction, "operands")
    b = emitter.builder
    is_wide = "b64" in instruction.modifiers
    value = emitter.read(operand, "b64") if is_wide else b.zext(emitter.read(operand, "b32"), ir.IntType(64))
    if name == "rank":
        return b.add(value, i64(1))
    return b.sub(value, i64(_LOWERED[name])) if name in _LOWERED else value


TABLE = {"tensormap": _tensormap}
