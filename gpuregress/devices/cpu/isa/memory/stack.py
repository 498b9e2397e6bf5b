"""Memory taken while a function runs: alloca, stacksave, stackrestore. PTX ISA manual, "Stack Manipulation".

What `alloca` hands out is a local variable of the function, and how much of it is taken a register: declared here, in
the syntax tree, so that both are kept over waits and renamed by inlining like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpuregress.devices.cpu.builder.services import Services
from gpuregress.devices.cpu.builder.structured import i64
from gpuregress.devices.cpu.builder.types import convert, llvm_type
from gpuregress.devices.cpu.ptx.tree import (
    Function,
    Instruction,
    Integer,
    Module,
    Register,
    RegisterDeclaration,
    Statement,
    Symbol,
    Variable,
)
from gpuregress.devices.cpu.runtime.layout import FAULT_STACK

STACK_BYTES = 8192
"""What the `alloca`s of one call of a function may take together; a card has 1,024 bytes for all unless told more."""
_STACK = "%stack"
_TOP = Register("%stack_top")
_TAKEN = Register("%stack_taken")
OPCODES = ("alloca", "stacksave", "stackrestore")
"""The instructions that only the functions here know: `with_stack` leaves `alloca` alone of them."""


def with_stack(tree: Module) -> Module:
    """The module with that memory declared where a function uses it; itself, where none does."""
    functions = tuple(_with_stack(item) for item in tree.functions)
    return tree if functions == tree.functions else replace(tree, functions=functions)


def _with_stack(function: Function) -> Function:
    body = function.body or ()
    if not any(isinstance(item, Instruction) and item.opcode in OPCODES for item in body):
        return function
    first = next(item for item in body if isinstance(item, Instruction) and item.opcode in OPCODES)
    start = Instruction("mov", ("u64",), (_TOP, Symbol(_STACK)), None, first.ptx_line, first.source)
    return replace(
        function,
        registers=(*function.registers, *(RegisterDeclaration(item.name, "u64") for item in (_TOP, _TAKEN))),
        variables=(*function.variables, Variable(_STACK, "local", "b8", STACK_BYTES, 16)),
        body=(start, *(made for item in body for made in _expanded(item))),
    )


def _expanded(item: Statement) -> Iterator[Statement]:
    """`alloca` as three instructions, of which the first rounds up and checks; the others as copies of the top."""
    if not isinstance(item, Instruction) or item.opcode not in OPCODES:
        yield item
        return
    words = item.modifiers
    if item.opcode == "stacksave":
        yield replace(item, opcode="mov", operands=(item.operands[0], _TOP))
    elif item.opcode == "stackrestore":
        yield replace(item, opcode="mov", modifiers=("u64",), operands=(_TOP, item.operands[0]))
    else:
        size, alignment = item.operands[1], item.operands[2] if len(item.operands) > 2 else Integer(8)
        yield replace(item, operands=(_TAKEN, _TOP, size, alignment, Symbol(_STACK)))
        yield replace(item, opcode="add", modifiers=("u64",), operands=(_TOP, _TAKEN, size))
        yield replace(item, opcode="mov", modifiers=words, operands=(item.operands[0], _TAKEN))


def _alloca(emitter: Services, instruction: Instruction) -> None:
    """The next aligned address, if what is asked for fits behind it."""
    target, top, amount, alignment, area = instruction.operands
    b = emitter.builder
    size = convert(b, emitter.read(amount, instruction.modifiers[-1]), llvm_type("u64"))
    mask = b.sub(emitter.read(alignment, "u64"), i64(1))
    address = b.and_(b.add(emitter.read(top, "u64"), mask), b.not_(mask))
    left = b.sub(b.add(emitter.read(area, "u64"), i64(STACK_BYTES)), address)
    inside = b.icmp_unsigned("<=", left, i64(STACK_BYTES))  # else rounding up has passed the end
    enough, overflow = b.append_basic_block("enough"), b.append_basic_block("overflow")
    b.cbranch(b.and_(inside, b.icmp_unsigned("<=", size, left)), enough, overflow)
    b.position_at_end(overflow)
    emitter.fail(FAULT_STACK, instruction)
    b.position_at_end(enough)
    emitter.write(target, address, "u64")


TABLE = {"alloca": _alloca}
