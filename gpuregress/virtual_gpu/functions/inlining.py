"""Inlining of device functions, so that they may wait and pointers can be followed into them.

Recursive functions and long ones that never wait stay functions.
"""

from __future__ import annotations

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Call,
    Function,
    Guard,
    Instruction,
    Label,
    Minus,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    RegisterDeclaration,
    Selected,
    Statement,
    Symbol,
    TextureAddress,
    Variable,
    Vector,
)

MOST_STATEMENTS = 400
"""Longer functions that never wait are called."""


def inlined(tree: Module) -> Module:
    """The module with calls replaced by bodies where that is possible."""
    tree = _with_common_shared(tree)
    bodies = {item.name: item for item in tree.functions if item.body is not None}
    recursive = {name for name in bodies if _reaches(bodies, name, name)}
    waiting = {name for name in bodies if _waits(bodies, name, set())}
    inliner = _Inliner(bodies, recursive, waiting)
    return replace(tree, functions=tuple(inliner.function(item) for item in tree.functions))


def _with_common_shared(tree: Module) -> Module:
    """The module with the shared variables of its device functions as its own: all calls of one have the same memory.

    CUDA C++ programming guide, "__shared__": the variables of a function are static ones. Their names are mangled; in
    PTX by hand a name may stand for several variables, and those stay where they are.
    """
    declared = [item.name for item in tree.variables]
    declared += [item.name for function in tree.functions for item in function.variables]
    moved: list[Variable] = []
    functions: list[Function] = []
    for function in tree.functions:
        shared = [item for item in function.variables if item.space == "shared" and declared.count(item.name) == 1]
        if function.is_entry or function.body is None or not shared:
            functions.append(function)
            continue
        moved += shared
        functions.append(replace(function, variables=tuple(item for item in function.variables if item not in shared)))
    return replace(tree, variables=(*tree.variables, *moved), functions=tuple(functions)) if moved else tree


def _callees(function: Function) -> list[str]:
    return [
        item.callee.name for item in function.body or () if isinstance(item, Call) and isinstance(item.callee, Symbol)
    ]


def _reaches(bodies: dict[str, Function], start: str, goal: str) -> bool:
    seen: set[str] = set()
    pending = _callees(bodies[start])
    while pending:
        name = pending.pop()
        if name == goal:
            return True
        if name in bodies and name not in seen:
            seen.add(name)
            pending += _callees(bodies[name])
    return False


def _waits(bodies: dict[str, Function], name: str, seen: set[str]) -> bool:
    if name in seen or name not in bodies:
        return False
    seen.add(name)
    body = bodies[name].body or ()
    if any(effects.waits(item) or effects.may_change_between_reads(item) for item in body):
        return True
    return any(_waits(bodies, callee, seen) for callee in _callees(bodies[name]))


class _Inliner:
    def __init__(self, bodies: dict[str, Function], recursive: set[str], waiting: set[str]) -> None:
        self._bodies = bodies
        self._recursive = recursive
        self._waiting = waiting
        self._done: dict[str, Function] = {}
        self._count = 0

    def function(self, function: Function) -> Function:
        """The function with its calls replaced."""
        if function.body is None or not any(isinstance(item, Call) for item in function.body):
            return function
        if function.name not in self._done:
            self._done[function.name] = self._expand(function)
        return self._done[function.name]

    def _expand(self, function: Function) -> Function:
        statements: list[Statement] = []
        registers, variables = list(function.registers), list(function.variables)
        prototypes, targets = list(function.prototypes), dict(function.branch_targets)
        for statement in function.body or ():
            callee = self._callee(statement)
            if callee is None or not isinstance(statement, Call):
                statements.append(statement)
                continue
            self._count += 1
            copy = _Copy(callee, statement, f"{callee.name}~{self._count}")
            statements += copy.statements()
            registers += copy.registers()
            variables += copy.variables()
            prototypes += [replace(item, name=copy.name(item.name)) for item in callee.prototypes]
            targets |= copy.branch_targets()
        return replace(
            function,
            body=tuple(statements),
            registers=tuple(registers),
            variables=tuple(variables),
            prototypes=tuple(prototypes),
            branch_targets=targets,
        )

    def _callee(self, statement: Statement) -> Function | None:
        if not isinstance(statement, Call) or not isinstance(statement.callee, Symbol):
            return None
        name = statement.callee.name
        if name not in self._bodies or name in self._recursive:
            return None
        plain = all(isinstance(item, Symbol) for item in (*statement.results, *statement.arguments))
        callee = self.function(self._bodies[name])
        short = len(callee.body or ()) <= MOST_STATEMENTS
        return callee if plain and (short or name in self._waiting) else None


class _Copy:
    """A callee's body under names of its own; its parameters are the caller's variables."""

    def __init__(self, callee: Function, call: Call, prefix: str) -> None:
        self._callee = callee
        self._call = call
        self._prefix = prefix
        formal = [item.name for item in (*callee.results, *callee.parameters)]
        actual = [item.name for item in (*call.results, *call.arguments) if isinstance(item, Symbol)]
        self._names = dict(zip(formal, actual, strict=False))
        own = [item.name for item in callee.variables] + [item.name for item in callee.registers]
        own += [item.name for item in callee.body or () if isinstance(item, Label)]
        own += [item.name for item in callee.prototypes] + list(callee.branch_targets)
        for name in own:
            self._names[name] = f"{'%' if name.startswith('%') else ''}{prefix}.{name.lstrip('%')}"

    def name(self, name: str) -> str:
        """Return the caller's name for a name of the callee."""
        return self._names.get(name, name)

    def registers(self) -> list[RegisterDeclaration]:
        """The callee's registers."""
        return [replace(item, name=self.name(item.name)) for item in self._callee.registers]

    def variables(self) -> list[Variable]:
        """The callee's variables."""
        return [replace(item, name=self.name(item.name)) for item in self._callee.variables]

    def branch_targets(self) -> dict[str, tuple[str, ...]]:
        """The callee's lists of targets."""
        return {
            self.name(name): tuple(self.name(label) for label in labels)
            for name, labels in self._callee.branch_targets.items()
        }

    def statements(self) -> list[Statement]:
        """The callee's body; a return becomes a branch to its end."""
        end, skip = f"{self._prefix}.end", self._call.guard
        statements: list[Statement] = []
        if skip is not None:
            away = Guard(skip.register, not skip.negated)
            statements.append(Instruction("bra", (), (Symbol(end),), away, self._call.ptx_line, self._call.source))
        statements += [self._statement(item, end) for item in self._callee.body or ()]
        return [*statements, Label(end)]

    def _statement(self, item: Statement, end: str) -> Statement:
        if not item.ptx_line and not isinstance(item, Label):  # of the device runtime, which has no lines of its own
            item = replace(item, ptx_line=self._call.ptx_line, source=self._call.source)
        if isinstance(item, Label):
            return replace(item, name=self.name(item.name))
        guard = None if item.guard is None else Guard(self.name(item.guard.register), item.guard.negated)
        if isinstance(item, Call):
            callee = self._operand(item.callee)
            assert isinstance(callee, Symbol | Register)
            return replace(
                item,
                callee=callee,
                results=tuple(self._operand(operand) for operand in item.results),
                arguments=tuple(self._operand(operand) for operand in item.arguments),
                guard=guard,
            )
        if item.opcode == "ret":
            return Instruction("bra", (), (Symbol(end),), guard, item.ptx_line, item.source)
        return replace(item, operands=tuple(self._operand(operand) for operand in item.operands), guard=guard)

    def _operand(self, operand: Operand) -> Operand:
        if isinstance(operand, Register | Symbol):
            return replace(operand, name=self.name(operand.name))
        if isinstance(operand, Negated):
            return Negated(Register(self.name(operand.operand.name)))
        if isinstance(operand, Selected):
            return Selected(Register(self.name(operand.register.name)), operand.part)
        if isinstance(operand, Minus):
            return Minus(self._operand(operand.operand))  # type: ignore[arg-type]  # a register stays one
        if isinstance(operand, Address):
            base = operand.base if not isinstance(operand.base, Register | Symbol) else self._operand(operand.base)
            return replace(operand, base=base)  # type: ignore[arg-type]  # a register stays one, a symbol too
        if isinstance(operand, Vector):
            return Vector(tuple(self._operand(item) for item in operand.elements))
        if isinstance(operand, Pair):
            return Pair(self._operand(operand.first), self._operand(operand.second))
        if isinstance(operand, TextureAddress):
            return replace(operand, coordinates=self._operand(operand.coordinates))
        return operand
