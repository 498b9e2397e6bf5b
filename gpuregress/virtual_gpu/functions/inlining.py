"""Inlining of device functions, so that they may wait and pointers can be followed into them.

Recursive functions and long ones that never wait stay functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gpuregress.gpu.graphs import reachable_from
from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Call,
    Function,
    Guard,
    Instruction,
    Label,
    Module,
    Operand,
    Register,
    RegisterDeclaration,
    Statement,
    Symbol,
    Variable,
    instruction_at,
)

MOST_STATEMENTS = 400
"""Longer functions that never wait are called."""


def inlined(tree: Module) -> Module:
    """The module with calls replaced by bodies where that is possible."""
    tree = _with_common_shared(tree)
    inliner = _Inliner({item.name: item for item in tree.functions if item.body is not None})
    return replace(tree, functions=tuple(map(inliner.function, tree.functions)))


def _with_common_shared(tree: Module) -> Module:
    """The module with the shared variables of its device functions as its own: all calls of one have the same memory.

    CUDA C++ programming guide, "__shared__": the variables of a function are static ones. Their names are mangled; in
    PTX by hand a name may stand for several variables, and those stay where they are.
    """
    declared = Counter(item.name for item in tree.variables)
    for function in tree.functions:
        declared.update(item.name for item in function.variables)
    moved: list[Variable] = []
    functions: list[Function] = []
    for function in tree.functions:
        if not function.is_entry and function.body is not None:
            shared = [item for item in function.variables if item.space == "shared" and declared[item.name] == 1]
            moved += shared
            kept = tuple(item for item in function.variables if item not in shared)
            functions.append(replace(function, variables=kept))
        else:
            functions.append(function)
    return replace(tree, variables=(*tree.variables, *moved), functions=tuple(functions))


def _callees(function: Function) -> set[str]:
    names: set[str] = set()
    for item in function.body or ():
        if isinstance(item, Call) and isinstance(item.callee, Symbol):
            names.add(item.callee.name)
    return names


class _Inliner:
    """Inlines the functions of a module.

    Args:
        bodies: its functions that have a body, by name.
    """

    def __init__(self, bodies: dict[str, Function]) -> None:
        self._bodies = bodies
        self._done: dict[str, Function] = {}
        self._count = 0
        self._recursive: set[str] = set()
        self._waiting: set[str] = set()
        waiting = {name for name, function in bodies.items() if any(map(_waits, function.body or ()))}
        for name, function in bodies.items():
            called = self._reached(_callees(function))
            if name in called:
                self._recursive.add(name)
            if not waiting.isdisjoint({name, *called}):
                self._waiting.add(name)

    def _reached(self, starts: set[str]) -> set[str]:
        """The functions with a body that some functions call, these included, directly or not."""
        bodies = self._bodies
        return set(reachable_from(starts & bodies.keys(), lambda name: _callees(bodies[name]) & bodies.keys()))

    def function(self, function: Function) -> Function:
        """The function with its calls replaced."""
        if function.body is None or not any(isinstance(item, Call) for item in function.body):
            return function
        if function.name not in self._done:
            self._done[function.name] = _with_lasting_parameters(self._expand(function))
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
        if not all(isinstance(item, Symbol) for item in (*statement.results, *statement.arguments)):
            return None
        callee = self.function(self._bodies[name])
        is_short = len(callee.body or ()) <= MOST_STATEMENTS
        return callee if is_short or name in self._waiting else None


def _waits(statement: Statement) -> bool:
    """Whether a thread may wait at a statement, or in a loop that spins around it."""
    return effects.waits(statement) or effects.may_change_between_reads(statement)


# --- parameters that last while a thread waits ------------------------------------------------------------------------
# A `.param` variable of an inlined call is one variable for all threads of the block: nvcc reads it before anything
# else, and sets the result last. Other PTX may read it after a wait, in which the other threads set it, too. Then it
# becomes a variable in local memory, which each thread has for itself.


def _with_lasting_parameters(function: Function) -> Function:
    waits = [index for index, item in enumerate(function.statements) if _waits(item)]
    if not waits:
        return function
    back_edges = _back_edges(function)
    lasting: set[str] = set()
    for name, (first, last) in _uses_of_parameters(function).items():
        is_crossed = any(first < index < last for index in waits)
        is_in_loop = any(first < target <= last < source for source, target in back_edges)
        if is_crossed or is_in_loop:
            lasting.add(name)
    if not lasting:
        return function
    variables = [replace(item, space="local") if item.name in lasting else item for item in function.variables]
    body = [_in_local_memory(item, lasting) for item in function.statements]
    return replace(function, variables=tuple(variables), body=tuple(body))


def _uses_of_parameters(function: Function) -> dict[str, tuple[int, int]]:
    """The first and the last load or store of each `.param` variable that nothing else refers to."""
    parameters = {item.name for item in function.variables if item.space == "param"}
    uses: dict[str, tuple[int, int]] = {}
    others: set[str] = set()
    for index, item in enumerate(function.statements):
        if isinstance(item, Label):
            continue
        operands = (*item.results, *item.arguments) if isinstance(item, Call) else item.operands
        for operand in operands:
            base = operand.base if isinstance(operand, Address) else operand
            if not isinstance(base, Symbol) or base.name not in parameters:
                continue
            if isinstance(operand, Address):
                first, _ = uses.get(base.name, (index, index))
                uses[base.name] = first, index
            else:
                others.add(base.name)  # A call that is not inlined does not wait.
    return {name: use for name, use in uses.items() if name not in others}


def _back_edges(function: Function) -> list[tuple[int, int]]:
    """The branches to earlier labels, as the places of both."""
    labels = {item.name: index for index, item in enumerate(function.statements) if isinstance(item, Label)}
    edges: list[tuple[int, int]] = []
    for index, item in enumerate(function.statements):
        if not isinstance(item, Instruction) or item.opcode not in ("bra", "brx"):
            continue
        names = [operand.name for operand in item.operands if isinstance(operand, Symbol)]
        for name in names:
            targets = function.branch_targets.get(name, (name,))
            edges += [(index, labels[target]) for target in targets if labels.get(target, index) < index]
    return edges


def _in_local_memory(item: Statement, variables: set[str]) -> Statement:
    """Return a load or store of one of these variables as one in local memory, any other statement as it is."""
    address = item.address if isinstance(item, Instruction) else None
    if not isinstance(item, Instruction) or address is None:
        return item
    if not isinstance(address.base, Symbol) or address.base.name not in variables:
        return item
    modifiers = tuple("local" if word.partition("::")[0] == "param" else word for word in item.modifiers)
    return replace(item, modifiers=modifiers)


class _Copy:
    """A callee's body under names of its own; its parameters are the caller's variables."""

    def __init__(self, callee: Function, call: Call, prefix: str) -> None:
        self._callee = callee
        self._call = call
        self._prefix = prefix
        self._names: dict[str, str] = {}
        for formal, actual in zip(
            (*callee.results, *callee.parameters), (*call.results, *call.arguments), strict=False
        ):
            assert isinstance(actual, Symbol)
            self._names[formal.name] = actual.name
        declared = [item.name for item in callee.variables]
        declared += [item.name for item in callee.registers]
        declared += [item.name for item in callee.body or () if isinstance(item, Label)]
        declared += [item.name for item in callee.prototypes]
        for name in (*declared, *callee.branch_targets):
            percent = "%" if name.startswith("%") else ""
            self._names[name] = f"{percent}{prefix}.{name.lstrip('%')}"

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
        return {self.name(name): tuple(map(self.name, labels)) for name, labels in self._callee.branch_targets.items()}

    def statements(self) -> list[Statement]:
        """The callee's body; a return becomes a branch to its end."""
        skip = self._call.guard
        statements: list[Statement] = []
        if skip is not None:
            statements.append(self._branch_to_end(self._call, Guard(skip.register, not skip.negated)))
        statements += [self._statement(item) for item in self._callee.body or ()]
        return [*statements, Label(self._end)]

    @property
    def _end(self) -> str:
        return f"{self._prefix}.end"

    def _branch_to_end(self, place: Instruction | Call, guard: Guard | None) -> Instruction:
        return replace(instruction_at(place, "bra", (), Symbol(self._end)), guard=guard)

    def _statement(self, item: Statement) -> Statement:
        if isinstance(item, Label):
            return replace(item, name=self.name(item.name))
        if not item.ptx_line:  # of the device runtime, which has no lines of its own
            item = replace(item, ptx_line=self._call.ptx_line, source=self._call.source)
        guard = item.guard
        if guard is not None:
            guard = Guard(self.name(guard.register), guard.negated)
        if isinstance(item, Call):
            callee = effects.renamed(item.callee, self.name)
            assert isinstance(callee, Symbol | Register)
            results, arguments = self._operands(item.results), self._operands(item.arguments)
            return replace(item, callee=callee, results=results, arguments=arguments, guard=guard)
        if item.opcode == "ret":
            return self._branch_to_end(item, guard)
        return replace(item, operands=self._operands(item.operands), guard=guard)

    def _operands(self, operands: Iterable[Operand]) -> tuple[Operand, ...]:
        return tuple(effects.renamed(operand, self.name) for operand in operands)
