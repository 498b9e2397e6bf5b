"""Initial contents of module variables: numbers at once, addresses as relocations for the loader."""

from __future__ import annotations

import struct

from gpuregress.virtual_gpu.builder.translation_unit import byte_size
from gpuregress.virtual_gpu.ptx.tree import Float, Initializer, Integer, MaskedSymbol, Variable
from gpuregress.virtual_gpu.ptx.types import size as type_size
from gpuregress.virtual_gpu.runtime.program import Relocation, VariableFacts


def variable_facts(variable: Variable) -> VariableFacts:
    """Return a variable's initial bytes and relocations."""
    step = type_size(variable.type)
    data = bytearray(step * len(variable.initializer))
    relocations: list[Relocation] = []
    for index, item in enumerate(variable.initializer):
        offset = index * step
        if isinstance(item, Integer | Float):
            data[offset : offset + step] = _bytes(item, variable.type, step)
        else:
            relocations.append(_relocation(item, offset, step))
    return VariableFacts(variable.name, byte_size(variable), step, data.rstrip(b"\0").hex(), tuple(relocations))


def _bytes(item: Integer | Float, type_name: str, step: int) -> bytes:
    if isinstance(item, Integer):
        # `.f32 x = 1` is the number one; in an integer's place it is the bits.
        if type_name not in ("f32", "f64"):
            return (item.value & (1 << 8 * step) - 1).to_bytes(step, "little")
        item = Float(_double_bits(float(item.value)), 64)
    if 8 * step == item.width or type_name not in ("f32", "f64"):
        return (item.bits & (1 << 8 * step) - 1).to_bytes(step, "little")
    return _other_width(item, type_name).to_bytes(step, "little")


def _double_bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _other_width(item: Float, type_name: str) -> int:
    source = "<d" if item.width == 64 else "<f"
    value = struct.unpack(source, item.bits.to_bytes(item.width // 8, "little"))[0]
    return int.from_bytes(struct.pack("<f" if type_name == "f32" else "<d", value), "little")


def _relocation(item: Initializer, offset: int, size: int) -> Relocation:
    if isinstance(item, MaskedSymbol):
        shift = (item.mask & -item.mask).bit_length() - 1
        return Relocation(offset, size, item.symbol.name, item.symbol.offset, shift)
    assert not isinstance(item, Integer | Float)
    return Relocation(offset, size, item.name, item.offset, 0)
