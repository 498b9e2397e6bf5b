"""Stack allocation at run time: alloca, stacksave, stackrestore.

`alloca` allocates from a local variable of the function; a register holds the bytes in use. Both are declared in the
syntax tree, so that they survive waits and are renamed by inlining like any other.

PTX ISA manual, "Stack Manipulation".
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import i64
from gpuregress.virtual_gpu.builder.types import convert, llvm_type
from gpuregress.virtual_gpu.ptx.tree import (
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
from gpuregress.virtual_gpu.runtime.machine_layout import FAULT_STACK

STACK_BYTES = 8192
"""Bytes that the `alloca`s of one call may take together; a card has 1,024 for all by default."""
_STACK = "%stack"
_TOP = Register("%stack_top")
_TAKEN = Register("%stack_taken")
OPCODES = ("alloca", "stacksave", "stackrestore")
"""Stack instructions: `with_stack` replaces all but `alloca`."""


def with_stack(tree: Module) -> Module:
    """The module with stack memory declared in the functions that use it."""
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
    """Expand an `alloca` to three instructions, the first of which aligns and checks; the others to moves."""
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
    """Compute the next aligned address; a fault if the allocation does not fit."""
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
