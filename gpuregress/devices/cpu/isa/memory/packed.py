"""Half-precision atomics: the same instruction that the half family has, on what memory holds."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.isa.opcodes import lowering
from gpuregress.devices.cpu.ptx.tree import Instruction


def half_operation(
    emitter: Services, instruction: Instruction, operation: str, type_name: str, old: ir.Value, value: ir.Value
) -> ir.Value:
    """`operation` (add, min, max) of two values of a half-precision type, single or packed."""
    registers = [emitter.temporary(type_name) for _ in range(3)]
    for register, given in zip(registers[1:], (old, value), strict=True):
        emitter.write(register, given, type_name)
    words = ("rn", type_name) if operation == "add" else (type_name,)
    inner = Instruction(operation, words, tuple(registers), None, instruction.ptx_line, instruction.source)
    lowering(inner)(emitter, inner)
    return emitter.read(registers[0], type_name)
