"""Conditions of branches and guarded instructions, those of one place of the source apart.

A compiler gives all conditions of a line one column: those of `a && b`, and those of a macro. It also copies one
condition, as in an unrolled loop, and reverses it. Copies have the same kind of comparison, of values with the same
origins. Constants are no part of an integer comparison: those of an unrolled loop differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph, Dominance, single_definitions
from gpuregress.virtual_gpu.ptx.opcode_table import Control, MemoryEffect, ResultKind, info
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Call,
    Float,
    Instruction,
    Integer,
    Label,
    Negated,
    Operand,
    Register,
    Statement,
    Symbol,
)

# --- origins ----------------------------------------------------------------------------------------------------------
# Origins of values: thread and block numbers, and parameters, that a register is computed from.
#
# A data-flow analysis that ignores the order of statements: a register has the origins of all its definitions.

Origins = frozenset[str]
NONE: Origins = frozenset()
_NUMBERS = {
    "tid": "threadIdx",
    "ctaid": "blockIdx",
    "laneid": "lane",
    "warpid": "warp",
    "clusterid": "cluster",
    "cluster_ctaid": "block of the cluster",
}


def number_of(register: str) -> Origins:
    """The name of a special register that numbers threads or blocks; none for another register."""
    special, _, axis = register.lstrip("%").partition(".")
    return frozenset([f"{_NUMBERS[special]}{axis and f'.{axis}'}"]) if special in _NUMBERS else NONE


def parameter_of(statement: Statement) -> str:
    """The kernel's parameter that a statement loads, as `args[2]`; "" for another statement.

    A member of a structure has its distance from the structure's beginning: `(args[2] at byte 8)`.
    """
    if not isinstance(statement, Instruction) or statement.opcode != "ld" or "param" not in statement.modifiers:
        return ""
    found = next((one for one in statement.operands if isinstance(one, Address)), None)
    if found is None or not isinstance(found.base, Symbol):
        return ""
    number, distance = found.base.name.rpartition("_param_")[2], found.base.offset + found.offset
    if not number.isdigit():
        return ""
    return f"(args[{number}] at byte {distance})" if distance else f"args[{number}]"


def find_origins(
    statements: Iterable[Statement], own: Callable[[Statement], Origins] = lambda _: NONE
) -> Mapping[str, Origins]:
    """Find the origins of all registers.

    Args:
        statements: through which values pass.
        own: further origins of the results of a statement.

    Returns:
        register → origins; without special registers.
    """
    parts = [(effects.reads(item), effects.sets(item), own(item)) for item in statements]
    found: dict[str, Origins] = {}
    changed = True
    while changed:
        changed = False
        for read, set_, more in parts:
            sources = more.union(*(number_of(name) | found.get(name, NONE) for name in read))
            for name in set_ if sources else ():
                if not sources <= found.get(name, NONE):
                    found[name], changed = found.get(name, NONE) | sources, True
    return found


# --- bounds -----------------------------------------------------------------------------------------------------------
# Comparisons of an index with its limit: `if (i < n)`.
#
# An index is a value that a thread's or a block's number is part of. Comparisons that decide about a loop are left out:
# its iterations are counted.

_BOUND_ORDERS = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_TYPES = frozenset(["s16", "u16", "s32", "u32", "s64", "u64"])


class IndexBound(Record):
    """A comparison of an index with a limit.

    Attributes:
        order: `lt`, `le`, `gt` or `ge`, the index on the left.
        index: operand.
        limit: operand.
        type_name: of both, as `s32`.
        index_name: the numbers that the index comes from, `blockIdx.x threadIdx.x`.
        limit_name: `1024`, `args[2]`, "" for another value.
    """

    order: str
    index: Operand
    limit: Operand
    type_name: str
    index_name: str
    limit_name: str


def find_bounds(flow: ControlFlowGraph, deciding: set[int]) -> dict[int, IndexBound]:
    """Find the comparisons of indices that guard something.

    Args:
        flow: the function's.
        deciding: blocks whose branch decides about a loop.

    Returns:
        statement → comparison.
    """
    indices, guards, parameters = _indices(flow), _guards(flow, deciding), _parameters(flow)
    found: dict[int, IndexBound] = {}
    for at, statement in enumerate(flow.statements):
        if not isinstance(statement, Instruction) or statement.opcode != "setp":
            continue
        order, type_name = _BOUND_ORDERS.get(statement.modifiers[0]), statement.modifiers[-1]
        if order is None or type_name not in _TYPES or guards.isdisjoint(effects.sets(statement)):
            continue
        left, right = statement.operands[1:3]
        names = [_of(item.name, indices) if isinstance(item, Register) else frozenset() for item in (left, right)]
        if not names[0] and names[1]:
            left, right, names, order = right, left, names[::-1], _MIRRORED[order]
        if names[0]:
            limit = str(right.value) if isinstance(right, Integer) else ""
            limit = parameters.get(right.name, "") if isinstance(right, Register) else limit
            found[at] = IndexBound(order, left, right, type_name, " ".join(sorted(names[0])), limit)
    return found


def _of(name: str, indices: Mapping[str, Origins]) -> Origins:
    """The numbers of threads and blocks that a register is computed from."""
    return number_of(name) or indices.get(name, NONE)


def _indices(flow: ControlFlowGraph) -> Mapping[str, Origins]:
    """The registers that are computed from numbers of threads and blocks, without memory and floating point."""
    return find_origins(
        item
        for item in flow.statements
        if isinstance(item, Instruction)
        and info(item).result is ResultKind.PURE
        and info(item).memory is MemoryEffect.NONE
        and not any(word.startswith(("f", "bf", "tf")) for word in item.modifiers)
    )


def _parameters(flow: ControlFlowGraph) -> dict[str, str]:
    """The registers that hold a kernel's parameter as it is, as `args[2]`."""
    named = {name: parameter_of(item) for name, item in single_definitions(flow.statements).items()}
    return {name: parameter for name, parameter in named.items() if parameter}


def _guards(flow: ControlFlowGraph, deciding: set[int]) -> set[str]:
    """The predicates that guard an instruction, directly or through logic, but for those of loops."""
    ends = {flow.blocks[block].end - 1 for block in deciding}
    guards = {
        statement.guard.register
        for at, statement in enumerate(flow.statements)
        if statement.guard is not None and at not in ends
    }
    before = -1
    while len(guards) != before:
        before = len(guards)
        for statement in flow.statements:
            is_logic = isinstance(statement, Instruction) and statement.modifiers[-1:] == ("pred",)
            if is_logic and not guards.isdisjoint(effects.sets(statement)):
                guards.update(effects.reads(statement))
    return guards


# --- loop plan --------------------------------------------------------------------------------------------------------
# Natural loops of a function as coverage sees them: their form, and the branches that skip them.

_MOST_BLOCKS_ABOVE = 4
Edge = tuple[int, int]


class CountedLoop(Record):
    """A natural loop whose iterations are counted.

    Attributes:
        head: its header.
        blocks: all of it.
        depth: loops around it.
        tests_first: whether the header decides before each iteration, as `while` does; else the loop is tested at its
            end, as `do … while`.
        skips: edges that skip the loop without an iteration.
        statement: the branch that decides about another iteration.
        waits: whether a thread may wait inside.
    """

    head: int
    blocks: frozenset[int]
    depth: int
    tests_first: bool
    skips: frozenset[Edge]
    statement: int
    waits: bool


@dataclass(slots=True)
class CountedLoops:
    """The loops of a function by the edges at which their counts change.

    Attributes:
        loops: outer ones first.
        deciding: blocks whose branch decides about iterations of a loop, or skips it.
    """

    loops: list[CountedLoop] = field(default_factory=list)
    deciding: set[int] = field(default_factory=set)

    def entered(self, edge: Edge) -> list[CountedLoop]:
        """The loops that an edge enters."""
        return [loop for loop in self.loops if edge[1] == loop.head and edge[0] not in loop.blocks]

    def repeated(self, edge: Edge) -> list[CountedLoop]:
        """The loops of which an edge begins another iteration."""
        return [loop for loop in self.loops if edge[1] == loop.head and edge[0] in loop.blocks]

    def left(self, edge: Edge) -> list[CountedLoop]:
        """The loops that an edge leaves."""
        return [loop for loop in self.loops if edge[0] in loop.blocks and edge[1] not in loop.blocks]

    def skipped(self, edge: Edge) -> list[CountedLoop]:
        """The loops that an edge skips."""
        return [loop for loop in self.loops if edge in loop.skips]

    def depth(self, block: int) -> int:
        """The loops around a block."""
        return sum(block in loop.blocks for loop in self.loops)

    def innermost(self, block: int) -> CountedLoop | None:
        """The innermost loop that holds a block."""
        return max((loop for loop in self.loops if block in loop.blocks), key=lambda loop: loop.depth, default=None)


def plan_loops(flow: ControlFlowGraph) -> CountedLoops:
    """Find the natural loops of a function, and how each is entered, repeated, left and skipped."""
    dominance = Dominance(flow)
    plan = CountedLoops()
    for head, loop in sorted(dominance.loops.items(), key=lambda item: -len(item[1].blocks)):
        inside = frozenset(loop.blocks)
        depth = sum(inside < other.blocks for other in plan.loops)
        latches = [block for block in inside if head in flow.blocks[block].successors]
        tests_first = _is_exit(flow, head, inside) and not any(_is_exit(flow, block, inside) for block in latches)
        deciding = head if tests_first else max(latches)
        statement = flow.blocks[deciding].end - 1
        skips = frozenset(_skips(flow, dominance, head, inside, statement))
        waits = any(
            index in flow.waits for block in inside for index in range(flow.blocks[block].start, flow.blocks[block].end)
        ) or any(edge[0] in inside for edge in flow.spins)
        plan.loops.append(CountedLoop(head, inside, depth, tests_first, skips, statement, waits))
        plan.deciding |= {deciding, *(edge[0] for edge in skips)}
    return plan


def _is_exit(flow: ControlFlowGraph, block: int, inside: frozenset[int]) -> bool:
    return not inside.issuperset(flow.blocks[block].successors)


def _skips(
    flow: ControlFlowGraph, dominance: Dominance, head: int, inside: frozenset[int], statement: int
) -> list[Edge]:
    """The other side of the branches that stand for the loop's own condition before its first iteration.

    A compiler that moves the test of a loop to its end leaves one in front of it, with the line of the loop.
    """
    line = flow.statements[statement]
    found: list[Edge] = []
    for entry in dominance.predecessors[head]:
        block, child = entry, head
        for _ in range(_MOST_BLOCKS_ABOVE if entry not in inside else 0):
            number = flow.blocks[block]
            last = flow.statements[number.end - 1] if number.end > number.start else None
            if (
                isinstance(last, Instruction)
                and isinstance(line, Instruction)
                and info(last).control is Control.BRANCH
                and last.guard is not None
                and last.source == line.source
                and last.source is not None
            ):
                found += [(block, other) for other in number.successors if other != child and other not in inside]
                break
            above = dominance.predecessors.get(block, [])
            if len(above) != 1 or above[0] in inside:
                break
            block, child = above[0], block
    return found


# --- conditions -------------------------------------------------------------------------------------------------------

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
