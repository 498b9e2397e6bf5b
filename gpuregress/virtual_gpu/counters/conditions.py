"""Conditions of branches and guarded instructions, those of one place of the source apart.

A compiler gives all conditions of a line one column: those of `a && b`, and those of a macro. It also copies one
condition, as in an unrolled loop, and reverses it. Copies have the same kind of comparison, of values with the same
origins. Constants are no part of an integer comparison: those of an unrolled loop differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph, single_definitions
from gpuregress.virtual_gpu.counters.loop_plan import CountedLoop
from gpuregress.virtual_gpu.counters.origins import NONE, Origins, find_origins, number_of, parameter_of
from gpuregress.virtual_gpu.ptx.tree import (
    Call,
    Float,
    Instruction,
    Integer,
    Label,
    Negated,
    Operand,
    Register,
    Statement,
)

_ORDERS = {
    "eq": ("eq", False, False),
    "ne": ("eq", True, False),
    "lt": ("lt", False, False),
    "ge": ("lt", True, False),
    "gt": ("lt", False, True),
    "le": ("lt", True, True),
}
"""Comparison → the one that it is made of; whether that is inverted, and with its operands exchanged."""
_ALIASES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge", "equ": "eq", "neu": "ne"} | {
    f"{order}u": order for order in ("lt", "le", "gt", "ge")
}
_LOGIC = frozenset(["and", "or", "xor"])
_DEEPEST = 8
Place = tuple[tuple[str, int, int], ...]


class BranchCondition(Record):
    """The condition of a branch or a guard.

    Attributes:
        name: the same for all copies of a condition, another one for each further condition of the place.
        is_inverted: whether the guard is true where the named condition is false.
        is_added: whether the compiler added it when it unrolled a loop: the place is in a loop, and this condition only
            outside of it.
        origins: of all values that it compares.
    """

    name: str
    is_inverted: bool
    is_added: bool = False
    origins: Origins = NONE


class _Test(Record):
    """What computes a predicate: the kind of comparison, and the origins and constants of its operands."""

    shape: str
    details: tuple[object, ...]
    is_inverted: bool = False


def find_conditions(flow: ControlFlowGraph, depth_of: Callable[[int], int]) -> dict[int, BranchCondition]:
    """Find the conditions of a function.

    Args:
        flow: the function's.
        depth_of: number of a block → loops around it.

    Returns:
        statement with a guard → its condition.
    """
    tests = _Tests(flow)
    found: dict[int, tuple[Place, BranchCondition]] = {}
    seen: dict[tuple[Place, str], dict[tuple[object, ...], int]] = {}
    deepest: dict[tuple[Place, str], int] = {}
    for at, statement in enumerate(flow.statements):
        if isinstance(statement, Label) or statement.guard is None:
            continue
        test, place = tests.of(statement.guard.register), _place(statement)
        others = seen.setdefault((place, test.shape), {})
        number = others.setdefault(test.details, len(others))
        name = f"{test.shape} {number + 1}" if number else test.shape
        inverted = test.is_inverted != statement.guard.negated
        found[at] = place, BranchCondition(name, inverted, origins=tests.origins(statement.guard.register))
        depth = depth_of(flow.block_at(at))
        for key in ((place, name), (place, "")):
            deepest[key] = max(depth, deepest.get(key, 0))
    return {
        at: replace(one, is_added=deepest[place, one.name] < deepest[place, ""]) for at, (place, one) in found.items()
    }


def _place(statement: Instruction | Call) -> Place:
    source = statement.source
    return () if source is None else source.inner or ((source.file, source.line, 0),)


class _Tests:
    """The tests that predicates of a function are computed by."""

    def __init__(self, flow: ControlFlowGraph) -> None:
        self._definitions = single_definitions(flow.statements)
        self._origins = find_origins(flow.statements, _parameter)

    def origins(self, predicate: str) -> Origins:
        """The origins of a predicate."""
        return self._origins.get(predicate, NONE)

    def of(self, predicate: str, depth: int = 0) -> _Test:
        """The test of a predicate; its origins alone where it is not known, or set at several statements."""
        statement = self._definitions.get(predicate)
        if statement is None or depth == _DEEPEST:
            return _Test("predicate", (self._origins.get(predicate, NONE),))
        if statement.opcode == "setp" and len(statement.operands) == len(("result", "left", "right")):
            return self._comparison(statement)
        parts = [self._part(item, depth + 1) for item in statement.operands[1:]]
        if statement.opcode in ("not", "mov") and len(parts) == 1:
            inverted = parts[0].is_inverted != (statement.opcode == "not")
            return _Test(parts[0].shape, parts[0].details, inverted)
        if statement.opcode in _LOGIC:
            shape = ", ".join(f"not {one.shape}" if one.is_inverted else one.shape for one in parts)
            return _Test(f"{statement.opcode}({shape})", tuple(one.details for one in parts))
        return _Test(statement.opcode, tuple(self._detail(item) for item in statement.operands[1:]))

    def _part(self, operand: Operand, depth: int) -> _Test:
        if isinstance(operand, Negated):
            test = self._part(operand.operand, depth)
            return _Test(test.shape, test.details, not test.is_inverted)
        return self.of(operand.name, depth) if isinstance(operand, Register) else _Test("constant", ())

    def _comparison(self, statement: Instruction) -> _Test:
        word, type_name = statement.modifiers[0], statement.modifiers[-1]
        order, inverted, exchanged = _ORDERS.get(_ALIASES.get(word, word), (word, False, False))
        operands = statement.operands[1:][:: -1 if exchanged else 1]
        kinds = " ".join("constant" if isinstance(item, Integer | Float) else "value" for item in operands)
        kind = "float" if "f" in type_name else "integer"
        return _Test(f"{order} {kind} {kinds}", tuple(map(self._detail, operands)), inverted)

    def _detail(self, operand: Operand) -> object:
        if isinstance(operand, Register):
            return number_of(operand.name) | self._origins.get(operand.name, NONE)
        return operand if isinstance(operand, Float) else None


def _parameter(statement: Statement) -> Origins:
    name = parameter_of(statement)
    return frozenset([name]) if name else NONE


def number_loops(
    loops: Sequence[CountedLoop], conditions: Mapping[int, BranchCondition], flow: ControlFlowGraph
) -> dict[int, int]:
    """Number the loops of one place of the source, as of a macro.

    A compiler also makes several loops of one. Their conditions come from the same values: the origins of one hold
    those of the other.

    Returns:
        header → number among the loops of its place, the same for those that are made of one.
    """
    found: dict[int, int] = {}
    seen: dict[Place, list[Origins]] = {}
    for loop in sorted(loops, key=lambda one: one.statement):
        statement, known = flow.statements[loop.statement], conditions.get(loop.statement)
        origins = known.origins if known is not None else NONE
        others = seen.setdefault(() if isinstance(statement, Label) else _place(statement), [])
        found[loop.head] = next((at for at, one in enumerate(others) if one <= origins or origins <= one), len(others))
        if found[loop.head] == len(others):
            others.append(origins)
    return found
