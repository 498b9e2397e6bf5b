"""Fences and asynchronous copies. Threads take turns on one core, so each sees what the ones before it wrote."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.devices.cpu.lower.emit import unsupported
from gpuregress.devices.cpu.lower.memory import host_pointer
from gpuregress.devices.cpu.lower.services import Services
from gpuregress.devices.cpu.lower.structured import at, i32
from gpuregress.devices.cpu.lower.types import I8
from gpuregress.devices.cpu.ptx.tree import Address, Instruction, Integer


def _fence(emitter: Services, instruction: Instruction) -> None:
    del emitter, instruction


def _cp(emitter: Services, instruction: Instruction) -> None:
    """`cp.async` copies at once, so the forms that wait for it have nothing to do."""
    words = instruction.modifiers
    if words[:1] != ("async",) or "bulk" in words or "mbarrier" in words:
        raise unsupported(instruction)
    if words[1:2] in (("commit_group",), ("wait_group",), ("wait_all",)):
        return
    to, source, count, *rest = instruction.operands
    if not (isinstance(to, Address) and isinstance(source, Address) and isinstance(count, Integer)):
        raise unsupported(instruction, "operands")
    target = host_pointer(emitter, instruction, to, "shared", count.value, "write")
    if rest and "ignore" not in words:
        _copy_some(emitter, instruction, source, target, count.value)
        return
    origin = host_pointer(emitter, instruction, source, "global", count.value, "read")
    for place in range(count.value):
        byte = emitter.builder.load(at(emitter.builder, origin, place), typ=I8)
        emitter.builder.store(byte, at(emitter.builder, target, place))


def _copy_some(emitter: Services, instruction: Instruction, source: Address, target: object, count: int) -> None:
    """Copies the first bytes, as many as the fourth operand says, and zeros for the rest."""
    b = emitter.builder
    wanted = emitter.read(instruction.operands[3], "u32")
    for place in range(count):
        b.store(ir.Constant(I8, 0), at(b, target, place))
    some, after = b.append_basic_block("some"), b.append_basic_block("after")
    b.cbranch(b.icmp_unsigned("!=", wanted, i32(0)), some, after)
    b.position_at_end(some)
    origin = host_pointer(emitter, instruction, source, "global", count, "read")
    emitter.forget_pointers()
    for place in range(count):
        keep = emitter.builder.icmp_unsigned("<", i32(place), wanted)
        byte = emitter.builder.load(at(emitter.builder, origin, place), typ=I8)
        zero = ir.Constant(I8, 0)
        emitter.builder.store(emitter.builder.select(keep, byte, zero), at(emitter.builder, target, place))
    emitter.builder.branch(after)
    emitter.builder.position_at_end(after)


TABLE = {"membar": _fence, "fence": _fence, "cp": _cp, "discard": _fence}
