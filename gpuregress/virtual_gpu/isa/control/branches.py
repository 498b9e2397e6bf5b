"""Branches, returns, exits and traps.

PTX ISA manual, 9.7.12 "Control Flow Instructions".
"""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i32
from gpuregress.virtual_gpu.ptx.errors import unsupported
from gpuregress.virtual_gpu.ptx.tree import Instruction, Integer, Symbol
from gpuregress.virtual_gpu.runtime.machine_layout import FAULT_BRANCH, FAULT_TRAP


def _bra(emitter: Services, instruction: Instruction) -> None:
    label = instruction.operands[0]
    if not isinstance(label, Symbol) or label.name not in emitter.flow.block_of_label:
        raise unsupported(instruction, "there is no such label")
    number = emitter.flow.block_of_label[label.name]
    if instruction.guard is None:
        emitter.builder.branch(emitter.edge(number))
        return
    known = emitter.proven.branches.get(emitter.index)
    if known is not None:
        emitter.builder.branch(emitter.edge(number if known else emitter.block_number + 1))
        return
    target, following = emitter.edge(number), emitter.edge(emitter.block_number + 1)
    emitter.builder.cbranch(emitter.guard_value(instruction), target, following)


def _brx(emitter: Services, instruction: Instruction) -> None:
    targets = emitter.flow.targets(instruction)
    if not targets:
        raise unsupported(instruction, "there is no such list of targets")
    if instruction.guard is not None:
        body = emitter.builder.append_basic_block("guarded")
        following = emitter.edge(emitter.block_number + 1)
        emitter.builder.cbranch(emitter.guard_value(instruction), body, following)
        emitter.builder = ir.IRBuilder(body)
    index = emitter.read(instruction.operands[0], "u32")
    outside = emitter.builder.append_basic_block("outside")
    switch = emitter.builder.switch(index, outside)
    for number, name in enumerate(targets):
        switch.add_case(i32(number), emitter.edge(emitter.flow.block_of_label[name]))
    emitter.builder = ir.IRBuilder(outside)
    emitter.fail(FAULT_BRANCH, instruction)


def _ret(emitter: Services, instruction: Instruction) -> None:
    del instruction
    emitter.exits.finish(emitter)


def _exit(emitter: Services, instruction: Instruction) -> None:
    del instruction
    emitter.exits.exit(emitter)


def _trap(emitter: Services, instruction: Instruction) -> None:
    emitter.fail(FAULT_TRAP, instruction)


def _set_registers(emitter: Services, instruction: Instruction) -> None:
    """Check the number of registers, which changes no result."""
    del emitter
    (count,) = instruction.operands
    if not isinstance(count, Integer) or not 24 <= count.value <= 256 or count.value % 8:
        raise unsupported(instruction, "the number of registers is a multiple of 8 from 24 to 256")


def _depend_on_grids(emitter: Services, instruction: Instruction) -> None:
    """Check the form: launches follow each other, so that there is nothing to wait for."""
    del emitter
    if instruction.modifiers not in (("wait",), ("launch_dependents",)):
        raise unsupported(instruction)


def _nothing(emitter: Services, instruction: Instruction) -> None:
    """Hints to the hardware: no code."""


TABLE = {
    "bra": _bra,
    "brx": _brx,
    "ret": _ret,
    "exit": _exit,
    "trap": _trap,
    "brkpt": _trap,
    "pmevent": _nothing,
    "setmaxnreg": _set_registers,
    "griddepcontrol": _depend_on_grids,
}
