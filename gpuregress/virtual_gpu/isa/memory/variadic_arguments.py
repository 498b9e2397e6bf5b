"""Variadic functions, rewritten to take the address of their arguments.

Their last parameter, `.param .b8 %VAParam[]`, has no size and an address in local memory. A caller
stores the arguments into it one by one; the function takes its address and reads from there. The
syntax tree is rewritten: the arguments become a local variable of the caller, and its address is
passed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from gpuregress.gpu.records import replace
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
)

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
    calls = [item for item in function.body or () if isinstance(item, Call) and _list_of(item, variadic) is not None]
    if not calls:
        return function
    lists = {_list_of(item, variadic) for item in calls} - {_NONE, None}
    variables = [replace(item, space="local") if Symbol(item.name) in lists else item for item in function.variables]
    names = sorted({_passed(item, variadic).name for item in calls})
    passed = [Variable(name, "param", "u64", 1, 8) for name in names]
    body = tuple(made for item in function.body or () for made in _passing(item, lists, variadic))
    registers = (*function.registers, RegisterDeclaration(_ADDRESS.name, "u64"))
    return replace(function, variables=(*variables, *passed), registers=registers, body=body)


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
    if isinstance(item, Instruction) and item.opcode == "st" and item.modifiers[0] == "param":
        address = item.operands[0]
        if isinstance(address, Address) and address.base in lists:
            item = replace(item, modifiers=("local", *item.modifiers[1:]))
    elif isinstance(item, Call) and (arguments := _list_of(item, variadic)) is not None:
        target, line, source = _passed(item, variadic), item.ptx_line, item.source
        start = Integer(0) if arguments == _NONE else arguments
        fixed = item.arguments if arguments == _NONE else item.arguments[:-1]
        yield Instruction("mov", ("u64",), (_ADDRESS, start), item.guard, line, source)
        yield Instruction("st", ("param", "u64"), (Address(target), _ADDRESS), item.guard, line, source)
        item = replace(item, arguments=(*fixed, target))
    yield item
