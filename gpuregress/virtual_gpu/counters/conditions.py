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
    Float,
    Instruction,
    Integer,
    Label,
    Negated,
    Operand,
    Register,
    SourceLine,
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
    special, dot, axis = register.lstrip("%").partition(".")
    if special not in _NUMBERS:
        return NONE
    return frozenset([_NUMBERS[special] + dot + axis])


def parameter_of(statement: Statement) -> str:
    """The kernel's parameter that a statement loads, as `args[2]`; "" for another statement.

    A member of a structure has its distance from the structure's beginning: `(args[2] at byte 8)`.
    """
    if not isinstance(statement, Instruction) or statement.opcode != "ld" or "param" not in statement.modifiers:
        return ""
    for operand in statement.operands:
        if isinstance(operand, Address) and isinstance(operand.base, Symbol):
            number = operand.base.name.rpartition("_param_")[2]
            distance = operand.base.offset + operand.offset
            if not number.isdigit():
                return ""
            return f"(args[{number}] at byte {distance})" if distance else f"args[{number}]"
    return ""


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
    transfers = [(effects.reads(item), effects.sets(item), own(item)) for item in statements]
    origins: dict[str, Origins] = {}
    changed = True
    while changed:
        changed = False
        for read, results, further in transfers:
            sources = further
            for name in read:
                sources |= number_of(name) | origins.get(name, NONE)
            for name in results:
                known = origins.get(name, NONE)
                if not sources <= known:
                    origins[name] = known | sources
                    changed = True
    return origins


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
    bounds: dict[int, IndexBound] = {}
    for position, statement in enumerate(flow.statements):
        if not isinstance(statement, Instruction) or statement.opcode != "setp":
            continue
        order, type_name = _BOUND_ORDERS.get(statement.modifiers[0]), statement.modifiers[-1]
        if order is None or type_name not in _TYPES or guards.isdisjoint(effects.sets(statement)):
            continue
        index, limit = statement.operands[1:3]
        index_names = _index_names(index, indices)
        if not index_names:
            index, limit, order = limit, index, _MIRRORED[order]
            index_names = _index_names(index, indices)
        if not index_names:
            continue
        limit_name = ""
        if isinstance(limit, Integer):
            limit_name = str(limit.value)
        elif isinstance(limit, Register):
            limit_name = parameters.get(limit.name, "")
        bounds[position] = IndexBound(
            order=order,
            index=index,
            limit=limit,
            type_name=type_name,
            index_name=" ".join(sorted(index_names)),
            limit_name=limit_name,
        )
    return bounds


def _index_names(operand: Operand, indices: Mapping[str, Origins]) -> Origins:
    """The numbers of threads and blocks that an operand is computed from."""
    if not isinstance(operand, Register):
        return NONE
    return number_of(operand.name) or indices.get(operand.name, NONE)


def _indices(flow: ControlFlowGraph) -> Mapping[str, Origins]:
    """The registers that are computed from numbers of threads and blocks, without memory and floating point."""
    return find_origins(item for item in flow.statements if _is_integer_arithmetic(item))


def _is_integer_arithmetic(statement: Statement) -> bool:
    if not isinstance(statement, Instruction):
        return False
    properties = info(statement)
    if properties.result is not ResultKind.PURE or properties.memory is not MemoryEffect.NONE:
        return False
    return not any(word.startswith(("f", "bf", "tf")) for word in statement.modifiers)


def _parameters(flow: ControlFlowGraph) -> dict[str, str]:
    """The registers that hold a kernel's parameter as it is, as `args[2]`."""
    return {name: parameter_of(item) for name, item in single_definitions(flow.statements).items()}


def _guards(flow: ControlFlowGraph, deciding: set[int]) -> set[str]:
    """The predicates that guard an instruction, directly or through logic, but for those of loops."""
    ends = {flow.blocks[block].end - 1 for block in deciding}
    guards: set[str] = set()
    for position, statement in enumerate(flow.statements):
        if statement.guard is not None and position not in ends:
            guards.add(statement.guard.register)
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
        plan.loops.append(
            CountedLoop(
                head=head,
                blocks=inside,
                depth=depth,
                tests_first=tests_first,
                skips=skips,
                statement=statement,
                waits=_may_wait(flow, inside),
            )
        )
        plan.deciding.add(deciding)
        plan.deciding.update(start for start, _ in skips)
    return plan


def _may_wait(flow: ControlFlowGraph, blocks: frozenset[int]) -> bool:
    if any(start in blocks for start, _ in flow.spins):
        return True
    return any(flow.block_at(position) in blocks for position in flow.waits)


def _is_exit(flow: ControlFlowGraph, block: int, inside: frozenset[int]) -> bool:
    return not inside.issuperset(flow.blocks[block].successors)


def _skips(
    flow: ControlFlowGraph, dominance: Dominance, head: int, inside: frozenset[int], statement: int
) -> list[Edge]:
    """The other side of the branches that stand for the loop's own condition before its first iteration.

    A compiler that moves the test of a loop to its end leaves one in front of it, with the line of the loop.
    """
    decision = flow.statements[statement]
    if not isinstance(decision, Instruction) or decision.source is None:
        return []
    skips: list[Edge] = []
    for entry in dominance.predecessors[head]:
        if entry in inside:
            continue
        block, child = entry, head
        for _ in range(_MOST_BLOCKS_ABOVE):
            if _is_decision(flow, block, decision.source):
                others = [other for other in flow.blocks[block].successors if other != child]
                skips += [(block, other) for other in others if other not in inside]
                break
            above = dominance.predecessors.get(block, [])
            if len(above) != 1 or above[0] in inside:
                break
            block, child = above[0], block
    return skips


def _is_decision(flow: ControlFlowGraph, block: int, source: SourceLine) -> bool:
    """Whether a block ends with a branch of a source line that is taken on a condition."""
    last = flow.last_of(block)
    if not isinstance(last, Instruction) or last.guard is None:
        return False
    return info(last).control is Control.BRANCH and last.source == source


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
_ALIASES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge", "equ": "eq", "neu": "ne"}
_ALIASES |= {"ltu": "lt", "leu": "le", "gtu": "gt", "geu": "ge"}
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

    def inverted(self) -> _Test:
        """The opposite test."""
        return replace(self, is_inverted=not self.is_inverted)


def find_conditions(flow: ControlFlowGraph, depth_of: Callable[[int], int]) -> dict[int, BranchCondition]:
    """Find the conditions of a function.

    Args:
        flow: the function's.
        depth_of: number of a block → loops around it.

    Returns:
        statement with a guard → its condition.
    """
    tests = _Tests(flow)
    conditions: dict[int, BranchCondition] = {}
    seen: dict[tuple[Place, str], dict[tuple[object, ...], int]] = {}
    deepest: dict[tuple[Place, str], int] = {}
    for position, statement in enumerate(flow.statements):
        if isinstance(statement, Label) or statement.guard is None:
            continue
        test, place = tests.of(statement.guard.register), _place(statement)
        others = seen.setdefault((place, test.shape), {})
        number = others.setdefault(test.details, len(others))
        name = f"{test.shape} {number + 1}" if number else test.shape
        is_inverted = test.is_inverted != statement.guard.negated
        conditions[position] = BranchCondition(name, is_inverted, origins=tests.origins(statement.guard.register))
        depth = depth_of(flow.block_at(position))
        for key in ((place, name), (place, "")):
            deepest[key] = max(depth, deepest.get(key, 0))
    for position, condition in conditions.items():
        place = _place(flow.statements[position])
        if deepest[place, condition.name] < deepest[place, ""]:
            conditions[position] = replace(condition, is_added=True)
    return conditions


def _place(statement: Statement) -> Place:
    if isinstance(statement, Label) or statement.source is None:
        return ()
    return statement.source.places


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
        if statement.opcode == "mov" and len(parts) == 1:
            return parts[0]
        if statement.opcode == "not" and len(parts) == 1:
            return parts[0].inverted()
        if statement.opcode in _LOGIC:
            shapes = [f"not {part.shape}" if part.is_inverted else part.shape for part in parts]
            return _Test(f"{statement.opcode}({', '.join(shapes)})", tuple(part.details for part in parts))
        return _Test(statement.opcode, tuple(self._detail(item) for item in statement.operands[1:]))

    def _part(self, operand: Operand, depth: int) -> _Test:
        if isinstance(operand, Negated):
            return self._part(operand.operand, depth).inverted()
        if isinstance(operand, Register):
            return self.of(operand.name, depth)
        return _Test("constant", ())

    def _comparison(self, statement: Instruction) -> _Test:
        word, type_name = statement.modifiers[0], statement.modifiers[-1]
        order, is_inverted, is_exchanged = _ORDERS.get(_ALIASES.get(word, word), (word, False, False))
        _, left, right = statement.operands
        if is_exchanged:
            left, right = right, left
        kind = "float" if "f" in type_name else "integer"
        shape = f"{order} {kind} {_operand_kind(left)} {_operand_kind(right)}"
        return _Test(shape, (self._detail(left), self._detail(right)), is_inverted)

    def _detail(self, operand: Operand) -> object:
        if isinstance(operand, Register):
            return number_of(operand.name) | self._origins.get(operand.name, NONE)
        return operand if isinstance(operand, Float) else None


def _operand_kind(operand: Operand) -> str:
    return "constant" if isinstance(operand, Integer | Float) else "value"


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
    numbers: dict[int, int] = {}
    seen: dict[Place, list[Origins]] = {}
    for loop in sorted(loops, key=lambda loop: loop.statement):
        condition = conditions.get(loop.statement)
        origins = condition.origins if condition is not None else NONE
        others = seen.setdefault(_place(flow.statements[loop.statement]), [])
        for number, other in enumerate(others):
            if other <= origins or origins <= other:
                numbers[loop.head] = number
                break
        else:
            numbers[loop.head] = len(others)
            others.append(origins)
    return numbers
