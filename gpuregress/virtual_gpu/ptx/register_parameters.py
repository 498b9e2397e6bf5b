"""Functions with parameters and results in registers, and calls that pass registers and constants.

PTX ISA manual, 7.1 "Function Declarations and Definitions". Compilers pass everything in `.param` memory, and so do the
passes after the parser: each register parameter gets a variable of that space. A function begins with loads from its
parameters and stores its results before it returns; a caller stores what it passes and loads what comes back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.ptx.lexer import PtxError
from gpuregress.virtual_gpu.ptx.modifiers import BITS, size
from gpuregress.virtual_gpu.ptx.operands import ELEMENTS
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Call,
    Function,
    Instruction,
    Integer,
    Label,
    Operand,
    Prototype,
    Register,
    RegisterDeclaration,
    Sink,
    Statement,
    Symbol,
    Variable,
    elements,
    instruction_at,
)


def with_parameters_in_memory(functions: Sequence[Function]) -> tuple[Function, ...]:
    """Rewrite the functions of a module whose parameters are registers, and the calls that pass no variables.

    Raises:
        PtxError: a call does not fit the declaration of the function.
    """
    declared = {item.name: item for item in functions}
    return tuple(_Rewriting(item, declared).done() for item in functions)


@dataclass(slots=True)
class _Rewriting:
    function: Function
    declared: Mapping[str, Function]
    variables: list[Variable] = field(default_factory=list)
    memory: frozenset[str] = frozenset()
    registers: list[RegisterDeclaration] = field(default_factory=list)

    def done(self) -> Function:
        function = self.function
        results, parameters = _in_memory(function.results), _in_memory(function.parameters)
        if function.body is None:
            return replace(function, results=results, parameters=parameters)
        variables = (*function.variables, *function.parameters, *function.results)
        self.memory = frozenset(item.name for item in variables if item.space == "param")
        in_registers = any(item.space == "reg" for item in (*function.results, *function.parameters))
        body = function.body
        if any(isinstance(item, Call) and not self._passes_variables(item) for item in body):
            body = tuple(chain.from_iterable(map(self._passing, body)))
        if in_registers:
            body = (*self._begin(), *self._returning(body))
        if body is function.body:
            return function
        return replace(
            function,
            results=results,
            parameters=parameters,
            registers=(*function.registers, *self.registers),
            variables=(*function.variables, *self.variables),
            body=body,
        )

    # --- the function -------------------------------------------------------------------------------------------------

    def _begin(self) -> Iterator[Statement]:
        line = Label("", self.function.ptx_line)
        for item in _registers(self.function.parameters):
            yield from self._load(line, item.name, item.type, Register(item.name))

    def _returning(self, body: Sequence[Statement]) -> Iterator[Statement]:
        item: Statement | None = None
        for item in body:
            if isinstance(item, Instruction) and item.opcode == "ret":
                yield from self._results(item)
            yield item
        if not (isinstance(item, Instruction) and item.opcode == "ret" and item.guard is None):
            yield from self._results(Label("", self.function.ptx_line))

    def _results(self, line: Statement) -> Iterator[Statement]:
        for item in _registers(self.function.results):
            yield from self._store(line, item.name, item.type, Register(item.name))

    # --- its calls ----------------------------------------------------------------------------------------------------

    def _passes_variables(self, call: Call) -> bool:
        return all(map(self._is_variable, (*call.results, *call.arguments)))

    def _is_variable(self, operand: Operand) -> bool:
        """Whether an operand is a variable of `.param` space, as a whole."""
        return isinstance(operand, Symbol) and operand.name in self.memory

    def _passing(self, call: Statement) -> Iterator[Statement]:
        if not isinstance(call, Call) or self._passes_variables(call):
            yield call
            return
        formal = self._formal(call)
        if formal is None:
            yield call
            return
        arguments: list[Operand] = []
        for operand, type_name in self._matched(call, call.arguments, formal.parameters):
            if self._is_variable(operand):
                arguments.append(operand)
                continue
            variable = self._passed(type_name)
            arguments.append(variable)
            yield from self._store(call, variable.name, type_name, operand)
        results: list[Operand] = []
        loads: list[Statement] = []
        last: list[Statement] = []  # the guard of all loads is set after them
        for operand, type_name in self._matched(call, call.results, formal.results):
            if self._is_variable(operand):
                results.append(operand)
                continue
            variable = self._passed(type_name)
            results.append(variable)
            if isinstance(operand, Register) and call.guard is not None and operand.name == call.guard.register:
                last += self._load(call, variable.name, type_name, operand)
            elif not isinstance(operand, Sink):
                loads += self._load(call, variable.name, type_name, operand)
        yield replace(call, results=tuple(results), arguments=tuple(arguments))
        yield from (*loads, *last)

    def _formal(self, call: Call) -> Prototype | Function | None:
        """The declaration of the function that is called; None where it is not known."""
        for prototype in self.function.prototypes:
            if prototype.name == call.prototype:
                return prototype
        if isinstance(call.callee, Symbol):
            return self.declared.get(call.callee.name)
        for name in self.function.call_targets.get(call.prototype or "", ()):
            if name in self.declared:
                return self.declared[name]
        return None

    def _matched(
        self, call: Call, operands: Sequence[Operand], formal: Sequence[Variable]
    ) -> Iterator[tuple[Operand, str]]:
        """Pair the operands, those in vectors one by one, with the types in which they are passed."""
        actual = [*chain.from_iterable(map(elements, operands))]
        types: list[str] = []
        for item in formal:
            parts = _registers([item]) if item.space == "reg" else [item]
            types += [part.type for part in parts]
        if len(types) != len(actual):
            raise PtxError(f"the call passes {len(actual)} operands in place of {len(types)}", call.ptx_line)
        yield from zip(actual, types, strict=True)

    def _passed(self, type_name: str) -> Symbol:
        self.variables.append(_variable(f"param@{len(self.variables)}", type_name))
        return Symbol(self.variables[-1].name)

    # --- values in memory ---------------------------------------------------------------------------------------------

    def _load(self, line: Statement, name: str, type_name: str, target: Operand) -> Iterator[Statement]:
        place = Address(Symbol(_memory_name(name)))
        if type_name != "pred":
            yield instruction_at(line, "ld", ("param", _memory_type(type_name)), target, place)
            return
        bit = self._bit()
        yield instruction_at(line, "ld", ("param", "b32"), bit, place)
        yield instruction_at(line, "setp", ("ne", "u32"), target, bit, Integer(0))

    def _store(self, line: Statement, name: str, type_name: str, value: Operand) -> Iterator[Statement]:
        place = Address(Symbol(_memory_name(name)))
        if type_name == "pred":
            bit = self._bit()
            yield instruction_at(line, "selp", ("u32",), bit, Integer(1), Integer(0), value)
            value = bit
        yield instruction_at(line, "st", ("param", _memory_type(type_name)), place, value)

    def _bit(self) -> Register:
        self.registers.append(RegisterDeclaration(f"%bit@{len(self.registers)}", "b32"))
        return Register(self.registers[-1].name)


def _registers(parameters: Sequence[Variable]) -> Iterator[Variable]:
    """Yield the parameters that are registers, a vector as its elements."""
    for item in parameters:
        if item.space == "reg" and item.count == 1:
            yield item
        elif item.space == "reg":
            yield from (replace(item, name=f"{item.name}.{letter}", count=1) for letter in ELEMENTS[: item.count])


def _in_memory(parameters: Sequence[Variable]) -> tuple[Variable, ...]:
    variables: list[Variable] = []
    for item in parameters:
        if item.space == "reg":
            variables += [_variable(_memory_name(register.name), register.type) for register in _registers([item])]
        else:
            variables.append(item)
    return tuple(variables)


def _variable(name: str, type_name: str) -> Variable:
    memory_type = _memory_type(type_name)
    return Variable(name, "param", memory_type, 1, size(memory_type))


def _memory_name(name: str) -> str:
    """The name of the variable of a register parameter; others have it already."""
    return name if "@" in name else f"{name}@param"


def _memory_type(type_name: str) -> str:
    return f"b{BITS[type_name]}" if type_name != "pred" else "b32"
