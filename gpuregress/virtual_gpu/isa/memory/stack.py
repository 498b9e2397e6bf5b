"""Passes for memory of a thread that PTX only names: the dynamic stack, and variadic arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import convert, i64, llvm_type
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Call,
    Function,
    Instruction,
    Integer,
    Module,
    Operand,
    Register,
    RegisterDeclaration,
    Statement,
    Symbol,
    Variable,
    instruction_at,
)
from gpuregress.virtual_gpu.runtime.machine_layout import FAULT_STACK

# --- the stack of a thread --------------------------------------------------------------------------------------------


STACK_BYTES = 8192
"""Bytes that the `alloca`s of one call may take together; a GPU has 1,024 for all by default."""
_STACK = "%stack"
_TOP = Register("%stack_top")
_TAKEN = Register("%stack_taken")
OPCODES = ("alloca", "stacksave", "stackrestore")
"""Stack instructions: `with_stack` replaces all but `alloca`."""


def with_stack(tree: Module) -> Module:
    """The module with stack memory declared in the functions that use it."""
    return replace(tree, functions=tuple(_with_stack(item) for item in tree.functions))


def _with_stack(function: Function) -> Function:
    stack_instructions = [item for item in function.instructions if item.opcode in OPCODES]
    if not stack_instructions:
        return function
    first = stack_instructions[0]
    body: list[Statement] = [replace(instruction_at(first, "mov", ("u64",), _TOP, Symbol(_STACK)), guard=None)]
    for item in function.statements:
        body += _expanded(item)
    registers = (RegisterDeclaration(_TOP.name, "u64"), RegisterDeclaration(_TAKEN.name, "u64"))
    return replace(
        function,
        registers=(*function.registers, *registers),
        variables=(*function.variables, Variable(_STACK, "local", "b8", STACK_BYTES, 16)),
        body=tuple(body),
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
        size = item.operands[1]
        alignment = item.operands[2] if len(item.operands) > 2 else Integer(8)
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


# --- variadic arguments -----------------------------------------------------------------------------------------------
# Variadic functions, rewritten to take the address of their arguments.
#
# Their last parameter, `.param .b8 %VAParam[]`, has no size and an address in local memory. A caller
# stores the arguments into it one by one; the function takes its address and reads from there. The
# syntax tree is rewritten: the arguments become a local variable of the caller, and its address is
# passed.


_ADDRESS = Register("%variadic")
_NONE = Symbol("variadic.none")
"""The argument of a call without variadic arguments."""


def with_addresses(tree: Module) -> Module:
    """The module with its variadic functions rewritten to take an address."""
    variadic = {item.name: len(item.parameters) for item in tree.functions if not item.is_entry and _is_variadic(item)}
    if not variadic:
        return tree
    return replace(tree, functions=tuple(_caller(_callee(item), variadic) for item in tree.functions))


def _is_variadic(function: Function) -> bool:
    return bool(function.parameters) and function.parameters[-1].count is None


def _callee(function: Function) -> Function:
    if function.is_entry or not _is_variadic(function):
        return function
    name = function.parameters[-1].name
    parameters = (*function.parameters[:-1], Variable(name, "param", "u64", 1, 8))
    body = function.body and tuple(_loaded(item, name) for item in function.body)
    return replace(function, parameters=parameters, body=body)


def _loaded(item: Statement, name: str) -> Statement:
    """`mov.u64 %rd1, %VAParam` reads the address that was passed."""
    if (
        not isinstance(item, Instruction)
        or item.opcode != "mov"
        or item.operands[1] not in (Register(name), Symbol(name))
    ):
        return item
    return replace(item, opcode="ld", modifiers=("param", "u64"), operands=(item.operands[0], Address(Symbol(name))))


def _caller(function: Function, variadic: Mapping[str, int]) -> Function:
    calls = [item for item in function.statements if isinstance(item, Call) and _list_of(item, variadic) is not None]
    if not calls:
        return function
    lists = {_list_of(item, variadic) for item in calls} - {_NONE, None}
    variables = [replace(item, space="local") if Symbol(item.name) in lists else item for item in function.variables]
    names = sorted({_passed(item, variadic).name for item in calls})
    passed = [Variable(name, "param", "u64", 1, 8) for name in names]
    body: list[Statement] = []
    for item in function.statements:
        body += _passing(item, lists, variadic)
    registers = (*function.registers, RegisterDeclaration(_ADDRESS.name, "u64"))
    return replace(function, variables=(*variables, *passed), registers=registers, body=tuple(body))


def _list_of(call: Call, variadic: Mapping[str, int]) -> Operand | None:
    """The variable that holds a variadic call's arguments; None for any other call."""
    if not isinstance(call.callee, Symbol) or call.callee.name not in variadic:
        return None
    return call.arguments[-1] if len(call.arguments) == variadic[call.callee.name] else _NONE


def _passed(call: Call, variadic: Mapping[str, int]) -> Symbol:
    """The parameter that holds the address of a call's arguments."""
    arguments = _list_of(call, variadic)
    assert isinstance(arguments, Symbol)
    return Symbol(f"{arguments.name}.address")


def _passing(item: Statement, lists: Collection[Operand | None], variadic: Mapping[str, int]) -> Iterator[Statement]:
    """Store to local memory what is stored to a list of arguments, and pass the list's address."""
    arguments = _list_of(item, variadic) if isinstance(item, Call) else None
    if isinstance(item, Instruction) and item.opcode == "st" and item.modifiers[0] == "param":
        address = item.operands[0]
        if isinstance(address, Address) and address.base in lists:
            item = replace(item, modifiers=("local", *item.modifiers[1:]))
    elif isinstance(item, Call) and arguments is not None:
        target = _passed(item, variadic)
        start, fixed = arguments, item.arguments[:-1]
        if arguments == _NONE:
            start, fixed = Integer(0), item.arguments
        yield instruction_at(item, "mov", ("u64",), _ADDRESS, start)
        yield instruction_at(item, "st", ("param", "u64"), Address(target), _ADDRESS)
        item = replace(item, arguments=(*fixed, target))
    yield item
