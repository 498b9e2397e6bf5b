"""Results of wgmma.mma_async in flight: a data-flow analysis, and checks of reads before the wait.

A result is in flight until a `wgmma.wait_group` waits for its group. The manual leaves its value open until then, so
that reading it is a fault. A plain `mov` is no read: compilers copy accumulators freely, and take pairs of halves
apart. The copy is in flight, too. Another wgmma may add to it. The analysis follows each register with the least number
of groups that were committed since. Where it cannot exclude a read in flight, each thread counts its groups, and the
read is checked.

PTX ISA manual, 9.7.15.7.
"""

from __future__ import annotations

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, info
from gpuregress.virtual_gpu.ptx.tree import (
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
    Vector,
    code_line,
    elements,
    instruction_at,
)

_COMMITTED, _DONE, _NEXT = "%wgmma.committed", "%wgmma.done", "%wgmma.next"
_STAMP = "%wgmma.stamp."
_MOST = 64
"""Groups that are distinguished."""


class _InFlight(Record):
    """A result that may be in flight: the groups committed since, at least, and the wgmma's place."""

    commits: int
    origin: str


_State = dict[str, _InFlight]


def with_results(tree: Module) -> Module:
    """The module with D among the sources of each wgmma.mma_async, and with the checks of reads."""
    return replace(tree, functions=tuple(_function(item) for item in tree.functions))


def _function(function: Function) -> Function:
    if not any(_is(item, "mma_async") for item in function.statements):
        return function
    body = tuple(_with_accumulator(item) for item in function.statements)
    function = replace(function, body=body)
    flow = ControlFlowGraph(function)
    reads = _reads_in_flight(flow)
    return _Checked(function, reads).function() if reads else function


def _is(statement: Statement, form: str) -> bool:
    return isinstance(statement, Instruction) and statement.opcode == "wgmma" and form in statement.modifiers


def _with_accumulator(statement: Statement) -> Statement:
    if not _is(statement, "mma_async") or not isinstance(statement, Instruction):
        return statement
    return replace(statement, operands=(*statement.operands, statement.operands[0]))


# --- the analysis -----------------------------------------------------------------------------------------------------


def _reads_in_flight(flow: ControlFlowGraph) -> dict[int, dict[str, str]]:
    """Statement → the registers that it may read in flight, with the place of the wgmma."""
    entry: list[_State | None] = [None] * len(flow.blocks)
    entry[0] = {}
    pending = {0}
    while pending:
        number = min(pending)
        pending.discard(number)
        block = flow.blocks[number]
        state = dict(entry[number] or {})
        for index in range(block.start, block.end):
            _step(state, flow.statements[index])
        for target in block.successors:
            joined = _join(entry[target], state)
            if joined != entry[target]:
                entry[target] = joined
                pending.add(target)
    found: dict[int, dict[str, str]] = {}
    for block, before in zip(flow.blocks, entry, strict=True):
        state = dict(before or {})
        for index in range(block.start, block.end):
            read = {name: state[name].origin for name in _uses(flow.statements[index]) if name in state}
            if read:
                found[index] = read
            _step(state, flow.statements[index])
    return found


def _join(before: _State | None, state: _State) -> _State:
    joined = dict(before or {})
    for name, one in state.items():
        if name not in joined or one.commits < joined[name].commits:
            joined[name] = one
    return joined


def _step(state: _State, statement: Statement) -> None:
    """Update the registers in flight by a statement; one with a guard may not happen."""
    results = effects.sets(statement)
    if _is(statement, "mma_async"):
        state |= dict.fromkeys(results, _InFlight(0, _where(statement)))
        return
    copied = [state[name] for name in _copied(statement) if name in state]
    if copied:
        state |= dict.fromkeys(results, min(copied, key=lambda item: item.commits))
        return
    if statement.guard is not None:
        return
    if _is(statement, "commit_group"):
        for name, item in state.items():
            state[name] = _InFlight(min(item.commits + 1, _MOST), item.origin)
    elif _is(statement, "wait_group"):
        most = _group_count(statement)
        for name, item in list(state.items()):
            if item.commits > most:
                del state[name]
    for name in results:
        state.pop(name, None)


def _where(statement: Statement) -> str:
    assert isinstance(statement, Instruction)
    return str(code_line(statement))


def _group_count(statement: Statement) -> int:
    assert isinstance(statement, Instruction)
    count = statement.operands[0]
    return count.value if isinstance(count, Integer) else _MOST


def _copied(statement: Statement) -> tuple[str, ...]:
    """The registers that a plain move copies, or puts together or takes apart; none of another statement."""
    if not isinstance(statement, Instruction) or info(statement).arithmetic is not Arithmetic.COPY:
        return ()
    if len(statement.operands) != 2 or not isinstance(statement.operands[0], Register | Vector):
        return ()
    return tuple(item.name for item in elements(statement.operands[1]) if isinstance(item, Register))


def _uses(statement: Statement) -> tuple[str, ...]:
    """The registers whose values a statement needs at once; a shadow value is taken once more after the wait."""
    if isinstance(statement, Instruction) and statement.opcode == "%shadow":
        return ()
    if _copied(statement):
        return (statement.guard.register,) if statement.guard else ()
    if not _is(statement, "mma_async"):
        return effects.reads(statement)
    assert isinstance(statement, Instruction)
    return effects.reads(replace(statement, operands=statement.operands[:-1]))


# --- the checks -------------------------------------------------------------------------------------------------------


class _Checked:
    """A function with counted groups and checked reads.

    Args:
        function: any.
        reads: statement → the registers that it may read in flight, with the place of the wgmma.
    """

    def __init__(self, function: Function, reads: dict[int, dict[str, str]]) -> None:
        self._function, self._reads = function, reads
        self._followed = self._sources(set().union(*reads.values()))

    def _sources(self, names: set[str]) -> set[str]:
        """The registers, and those that moves copy to them."""
        before = -1
        while len(names) != before:
            before = len(names)
            for statement in self._function.statements:
                if not names.isdisjoint(effects.sets(statement)):
                    names.update(_copied(statement))
        return names

    def function(self) -> Function:
        """The function with its checks."""
        names = [_COMMITTED, _DONE, _NEXT, *(f"{_STAMP}{name}" for name in sorted(self._followed))]
        body: list[Statement] = [Instruction("mov", ("s32",), (Register(name), Integer(0))) for name in names]
        for index, statement in enumerate(self._function.statements):
            body += [self._check(statement, name, origin) for name, origin in self._reads.get(index, {}).items()]
            body.append(statement)
            body += self._counts(statement)
        registers = (*self._function.registers, *(RegisterDeclaration(name, "s32") for name in names))
        return replace(self._function, body=tuple(body), registers=registers)

    def _check(self, statement: Statement, name: str, origin: str) -> Statement:
        assert isinstance(statement, Instruction | Call)
        mnemonic = statement.mnemonic if isinstance(statement, Instruction) else "call"
        described = (Symbol(name), Symbol(mnemonic), Symbol(origin))
        return instruction_at(statement, "wgmma", ("check",), Register(f"{_STAMP}{name}"), Register(_DONE), *described)

    def _counts(self, statement: Statement) -> list[Statement]:
        """The instructions after a statement: counted groups, and the group of each register that it sets."""
        if not isinstance(statement, Instruction | Call):
            return []
        committed, done, following = (Register(name) for name in (_COMMITTED, _DONE, _NEXT))
        if _is(statement, "commit_group"):
            return [instruction_at(statement, "add", ("s32",), committed, committed, Integer(1))]
        if _is(statement, "wait_group"):
            most = Integer(_group_count(statement))
            sub = instruction_at(statement, "sub", ("s32",), following, committed, most)
            return [sub, instruction_at(statement, "max", ("s32",), done, done, following)]
        named = [name for name in effects.sets(statement) if name in self._followed]
        value: Operand = Integer(0)
        added: list[Statement] = []
        if named and _is(statement, "mma_async"):
            added = [instruction_at(statement, "add", ("s32",), following, committed, Integer(1))]
            value = following
        elif named and (sources := [Register(f"{_STAMP}{name}") for name in _copied(statement)]):
            value = following
            added = [instruction_at(statement, "mov", ("s32",), following, sources[0])]
            added += [instruction_at(statement, "max", ("s32",), following, following, item) for item in sources[1:]]
        return added + [
            instruction_at(statement, "mov", ("s32",), Register(f"{_STAMP}{name}"), value) for name in named
        ]
