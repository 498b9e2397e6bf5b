"""Control-flow graph of a function: basic blocks, the waits in them, and loops that may spin.

A spin loop repeats until another thread writes something; its back edge lets the other threads run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from gpuregress.gpu.graphs import reachable_from
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.liveness import Block, Liveness
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, Control, MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Call, Function, Instruction, Integer, Label, Register, Statement, Symbol

_SHIFTS = frozenset((Arithmetic.SHIFT_LEFT, Arithmetic.SHIFT_RIGHT))
_STEPS = frozenset((Arithmetic.ADD, Arithmetic.SUBTRACT)) | _SHIFTS
_COUNTING = _SHIFTS | {Arithmetic.COPY, Arithmetic.CONVERT, Arithmetic.COMPARE, Arithmetic.NOT}


class ControlFlowGraph:
    """Basic blocks of a function and the edges between them.

    Args:
        function: with a body.

    Attributes:
        statements: the body.
        types: register → its declared type.
        blocks: in the order of the body; the last one is empty.
        block_of_label: label → the number of its block.
        spins: back edges (block, block) of loops that may wait for another thread.
        waiting_heads: the first blocks of those of them that another thread ends: their number of iterations may depend
            on the order of the threads.
        waiting_blocks: all blocks of the latter.
        spinning_blocks: all blocks of the loops of `spins`.
        spin_reads: back edge of a loop that may wait -> the statement by which it sees what other threads write.
        spin_effects: statements of such loops that change more than registers, or read a clock.
        spin_updates: atomic operations of such loops that may leave memory as it was.
        spin_registers: the registers on which the end of such a loop, or what it does to memory, depends.
        waits: the statements at which a thread may have to wait.
    """

    def __init__(self, function: Function) -> None:
        assert function.body is not None
        self._function = function
        self.statements: tuple[Statement, ...] = function.body
        self.types = {item.name: item.type for item in function.registers}
        self.blocks = self._split()
        self._starts = [block.start for block in self.blocks]
        self.block_of_label: dict[str, int] = {}
        for index, statement in enumerate(self.statements):
            if isinstance(statement, Label):
                self.block_of_label[statement.name] = self.block_at(index)
        self._connect()
        self.waiting_heads, self.waiting_blocks = set[int](), set[int]()
        self.spinning_blocks = set[int]()
        self.spin_reads: dict[tuple[int, int], int] = {}
        self.spin_effects: set[int] = set()
        self.spin_updates: set[int] = set()
        self.spin_registers: set[str] = set()
        self.spins = self._spinning_edges()
        self.waits = {index for index, statement in enumerate(self.statements) if effects.waits(statement)}

    @cached_property
    def liveness(self) -> Liveness | None:
        """Liveness of the registers at waits; None where no thread waits."""
        if not self.needs_scheduler:
            return None
        return Liveness(self.statements, self.blocks, self.waits, self.spins)

    @cached_property
    def predecessors(self) -> list[list[int]]:
        """Block → those from which an edge leads to it, once for each edge."""
        predecessors: list[list[int]] = [[] for _ in self.blocks]
        for number, block in enumerate(self.blocks):
            for successor in block.successors:
                predecessors[successor].append(number)
        return predecessors

    @property
    def needs_scheduler(self) -> bool:
        """Whether a thread may have to wait for another."""
        return bool(self.waits or self.spins)

    def block_at(self, index: int) -> int:
        """The block that holds statement `index`."""
        return bisect_right(self._starts, index) - 1

    def indices(self, number: int) -> range:
        """The statements of a block."""
        return range(self.blocks[number].start, self.blocks[number].end)

    def last_of(self, number: int) -> Statement | None:
        """The last statement of a block; None where it is empty."""
        block = self.blocks[number]
        return self.statements[block.end - 1] if block.end > block.start else None

    def must_wait(self, index: int) -> bool:
        """Whether no thread goes past a statement without a wait."""
        return index in self.waits and self.statements[index].guard is None

    def reachable(self, starts: Iterable[int], ends: Callable[[int], bool] | None = None) -> set[int]:
        """The blocks that control can reach from some blocks, these included.

        Args:
            starts: where control comes from.
            ends: whether a block is where the search ends; it is left out, too.
        """

        def entered(blocks: Iterable[int]) -> list[int]:
            return [number for number in blocks if ends is None or not ends(number)]

        return set(reachable_from(entered(starts), lambda number: entered(self.blocks[number].successors)))

    def reachable_without_waits(self, starts: Iterable[int]) -> set[int]:
        """The blocks that control can reach from some blocks, these included, before a thread must wait."""

        def following(number: int) -> Sequence[int]:
            return () if any(map(self.must_wait, self.indices(number))) else self.blocks[number].successors

        return set(reachable_from(starts, following))

    def may_leave(self, index: int) -> bool:
        """Whether a thread may stop inside a statement: it waits, or calls a function that may exit."""
        return index in self.waits or isinstance(self.statements[index], Call)

    @cached_property
    def polled(self) -> frozenset[int]:
        """The reads of what other threads write on whose values the end of a loop depends that spins.

        The compiler may have put the first one before the loop.
        """
        polled: set[int] = set()
        for edge in self.spins:
            loop = self._loops[edge]
            needed, _ = self._slice(loop, self._exits_of(loop))
            reads = self._polls(loop) | self._observing(needed)
            first = self._statements_of(set(self.predecessors[edge[1]]) - loop)
            polled |= reads | {one for one in first for other in reads if self._is_same_load(one, other)}
        return frozenset(polled)

    def _is_same_load(self, index: int, other: int) -> bool:
        """Whether two statements read the same address in the same way."""
        one, two = self.statements[index], self.statements[other]
        if not isinstance(one, Instruction) or not isinstance(two, Instruction) or one.opcode != "ld":
            return False
        return (one.opcode, one.modifiers, one.address) == (two.opcode, two.modifiers, two.address)

    @cached_property
    def long_loops(self) -> dict[tuple[int, int], int]:
        """The back edges of loops that may take long, with the statement on which the end of each depends.

        Those are loops that no counter is known to end, and loops that contain others.
        """
        long_loops = {}
        for edge, loop in self._loops.items():
            exits = self._exits_of(loop)
            is_outer = any(other < loop for other in self._loops.values())
            if is_outer or not any(self._is_counted(loop, index) for index in exits):
                condition = max(exits, default=self.blocks[edge[0]].end - 1)
                if isinstance(self.statements[condition], Instruction):
                    long_loops[edge] = condition
        return long_loops

    def _is_counted(self, loop: set[int], exit_: int) -> bool:
        """Whether a loop's exit depends on sums with constants and on comparisons alone, as with a counter."""
        needed, _ = self._slice(loop, {exit_})
        has_step = False
        for index in needed:
            statement = self.statements[index]
            if not _counts(statement):
                return False
            has_step = has_step or (isinstance(statement, Instruction) and info(statement).arithmetic in _STEPS)
        return has_step and self._is_carried(needed)

    def _statements_of(self, loop: set[int]) -> list[int]:
        indices: list[int] = []
        for number in sorted(loop):
            indices += self.indices(number)
        return indices

    def _exits_of(self, loop: set[int]) -> set[int]:
        """The statements at which a thread may leave a loop."""
        exits: set[int] = set()
        for number in loop:
            last = self.last_of(number)
            if last is not None and (_may_end(last) or not loop.issuperset(self.blocks[number].successors)):
                exits.add(self.blocks[number].end - 1)
        return exits

    def _observing(self, indices: Iterable[int]) -> set[int]:
        """The statements among some that read what another thread may write meanwhile."""
        return {index for index in indices if effects.may_change_between_reads(self.statements[index])}

    def _slice(self, loop: set[int], criteria: set[int]) -> tuple[set[int], set[str]]:
        """Return the statements of a loop that some of its statements depend on, and the registers that those read."""
        inside = self._statements_of(loop)
        used: set[str] = set()
        for index in criteria:
            used.update(_reads(self.statements[index]))
        needed: set[int] = set()
        has_grown = True
        while has_grown:
            has_grown = False
            for index in inside:
                if index not in needed and not used.isdisjoint(_sets(self.statements[index])):
                    needed.add(index)
                    used.update(_reads(self.statements[index]))
                    has_grown = True
        return needed, used

    def targets(self, instruction: Instruction) -> tuple[str, ...]:
        """The labels that a branch may go to."""
        control = info(instruction).control
        if control is Control.BRANCH:
            label = instruction.operands[0]
            if isinstance(label, Symbol):
                return (label.name,)
        elif control is Control.BRANCH_TABLE:
            table = instruction.operands[1]
            if isinstance(table, Symbol):
                return self._function.branch_targets.get(table.name, ())
        return ()

    def until_waits(self, index: int) -> dict[tuple[int, bool], tuple[int, int]]:
        """The statements from one (-1: the start) to the next waits: (block, whether it is whole) → its statements.

        A block may be entered in the middle first and at its start later.
        """
        number = max(0, self.block_at(index))
        pending = [(number, index + 1)]
        stretches: dict[tuple[int, bool], tuple[int, int]] = {}
        while pending:
            number, start = pending.pop()
            block = self.blocks[number]
            is_whole = start == block.start
            if (number, is_whole) in stretches:
                continue
            stop = start
            while stop < block.end and not self.must_wait(stop):
                stop += 1
            stretches[number, is_whole] = start, stop
            if stop == block.end:
                pending += [(item, self.blocks[item].start) for item in block.successors]
        return stretches

    def _split(self) -> list[Block]:
        starts = {0}
        for index, statement in enumerate(self.statements):
            if isinstance(statement, Label):
                starts.add(index)
            elif isinstance(statement, Instruction) and info(statement).ends_block:
                starts.add(index + 1)
        # A last, empty block: control may fall off the end, which is a return.
        edges = sorted(starts | {len(self.statements)})
        return [Block(start, end) for start, end in zip(edges, [*edges[1:], len(self.statements)], strict=True)]

    def _connect(self) -> None:
        for index, block in enumerate(self.blocks):
            last = self.last_of(index)
            if isinstance(last, Instruction):
                block.successors += [self.block_of_label[name] for name in self.targets(last)]
            falls_through = last is None or not effects.ends_thread(last)
            if falls_through and index + 1 < len(self.blocks):
                block.successors.append(index + 1)

    # --- loops that wait for another thread ---------------------------------------------------------------------------

    def _spinning_edges(self) -> set[tuple[int, int]]:
        """Back edges (block, block) of loops whose exit depends on what another thread writes."""
        self._loops: dict[tuple[int, int], set[int]] = {}
        edges = list(self._back_edges())
        if not edges:
            return set()
        tainted = self._tainted()
        loops = self._loops = {edge: natural_loop(self.predecessors, *edge) for edge in edges}
        polls = {edge: self._polls(loop) for edge, loop in loops.items()}
        spins = {edge for edge, loop in loops.items() if polls[edge] or self._depends(loop, tainted)}
        for edge in spins:
            self.spinning_blocks |= loops[edge]
            inside = self._statements_of(loops[edge])
            # The last one is nearest to the branch that depends on it.
            self.spin_reads[edge] = max(polls[edge] or self._observing(inside))
            changes = {index for index in inside if effects.changes_more_than_registers(self.statements[index])}
            self.spin_effects |= changes
            updates = {index for index in inside if effects.writes_memory(self.statements[index])}
            self.spin_updates |= updates - changes
            branches = {self.blocks[number].end - 1 for number in loops[edge]}
            self.spin_registers |= self._slice(loops[edge], updates | changes | branches)[1]
            if polls[edge] or any(self._leaves(number, loops[edge], tainted) for number in loops[edge]):
                self.waiting_heads.add(edge[1])
                self.waiting_blocks |= loops[edge]
        return spins

    def _polls(self, loop: set[int]) -> set[int]:
        """Return the reads on which alone the end of a loop depends that writes nothing; none if there is more to it.

        They may be plain ones: where the compiler has left them in the loop, an atomic operation or a fence is there.
        A register that an iteration computes from its own value of the one before, as a counter, may end the loop.
        """
        if any(effects.stores(self.statements[index]) for index in self._statements_of(loop)):
            return set()
        needed, _ = self._slice(loop, self._exits_of(loop))
        if self._is_carried(needed):
            return set()
        coherent = {index for index in needed if effects.is_coherent_read(self.statements[index])}
        return coherent | self._observing(needed)

    def _is_carried(self, statements: set[int]) -> bool:
        """Whether a register that some statements of a loop set depends on itself."""
        needs: dict[str, set[str]] = {}
        for index in statements:
            for name in _sets(self.statements[index]):
                needs.setdefault(name, set()).update(_reads(self.statements[index]))
        return any(name in reachable_from(needs[name], lambda other: needs.get(other, ())) for name in needs)

    def _leaves(self, index: int, loop: set[int], tainted: set[str]) -> bool:
        """Whether a block may leave a loop at a branch, or an exit, that depends on what another thread writes."""
        successors, last = self.blocks[index].successors, self.last_of(index)
        if last is None or tainted.isdisjoint(effects.reads(last)):
            return False
        return not successors or not loop.issuperset(successors) or _may_end(last)

    def _tainted(self) -> set[str]:
        """The registers that may depend on what another thread writes meanwhile."""
        tainted: set[str] = set()
        for index in self._observing(range(len(self.statements))):
            tainted.update(effects.sets(self.statements[index]))
        before = -1
        while tainted and len(tainted) != before:
            before = len(tainted)
            is_shared = False
            for statement in self.statements:
                if not tainted.isdisjoint(_reads(statement)):
                    tainted.update(_sets(statement))
                    is_shared = is_shared or effects.is_shared_access(statement, MemoryEffect.WRITE)
            # One thread of a block looks, and tells the others through shared memory.
            if is_shared:
                for statement in self.statements:
                    if effects.is_shared_access(statement, MemoryEffect.READ):
                        tainted.update(effects.sets(statement))
        return tainted

    def _depends(self, loop: set[int], tainted: set[str]) -> bool:
        """Whether a loop reads what another thread may write, and a branch in it may depend on that."""
        inside = self._statements_of(loop)
        if not self._observing(inside):
            return False
        for index in inside:
            statement = self.statements[index]
            if not isinstance(statement, Instruction) or info(statement).control in {Control.NEXT, Control.TRAP}:
                continue
            if not tainted.isdisjoint(effects.reads(statement)):
                return True
        return False

    def _back_edges(self) -> Iterator[tuple[int, int]]:
        state: dict[int, int] = {}
        stack = [(0, iter(self.blocks[0].successors))]
        state[0] = 1
        while stack:
            index, successors = stack[-1]
            for successor in successors:
                if state.get(successor) == 1:
                    yield (index, successor)
                elif successor not in state:
                    state[successor] = 1
                    stack.append((successor, iter(self.blocks[successor].successors)))
                    break
            else:
                state[index] = 2
                stack.pop()


def _may_end(statement: Statement | None) -> bool:
    """Whether a thread may exit or return at the end of a block."""
    return isinstance(statement, Instruction) and info(statement).control is Control.LEAVE


def _reads(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement uses, and the argument of an inlined call."""
    names = effects.reads(statement)
    if isinstance(statement, Instruction) and info(statement).memory is MemoryEffect.READ:
        names += effects.argument(statement)
    return names


def _sets(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement defines, and the argument of an inlined call."""
    names = effects.sets(statement)
    if isinstance(statement, Instruction) and info(statement).memory is MemoryEffect.WRITE:
        names += effects.argument(statement)
    return names


def _counts(statement: Statement) -> bool:
    """Whether a statement may be a part of a counter: a step of 0 is none, and a step in a register may be 0."""
    if not isinstance(statement, Instruction):
        return False
    operation = info(statement).arithmetic
    if operation in (Arithmetic.ADD, Arithmetic.SUBTRACT):
        return any(isinstance(item, Integer) and item.value for item in statement.operands)
    return operation in _COUNTING


def natural_loop(predecessors: Mapping[int, Iterable[int]] | Sequence[Iterable[int]], tail: int, head: int) -> set[int]:
    """The blocks of the natural loop of a back edge from `tail` to `head`."""
    return {head, *reachable_from([tail], lambda number: () if number == head else predecessors[number])}


def single_definitions(statements: tuple[Statement, ...]) -> dict[str, Instruction]:
    """Registers with exactly one definition: an unguarded instruction with no other result."""
    count = Counter[str]()
    definitions: dict[str, Instruction] = {}
    for statement in statements:
        count.update(effects.sets(statement))
        if not isinstance(statement, Instruction) or statement.guard is not None or not effects.sets(statement):
            continue
        if isinstance(statement.operands[0], Register):
            definitions[statement.operands[0].name] = statement
    return {name: instruction for name, instruction in definitions.items() if count[name] == 1}


# --- dominance --------------------------------------------------------------------------------------------------------
# Dominators and natural loops of a control-flow graph, and the predicates on its edges.
#
# Dominators are computed by iteration to a fixed point, as bits of an integer: bit n of a block's set stands for block
# n.


class Loop(Record):
    """A natural loop: control enters it at its header only.

    Attributes:
        head: the header, where each iteration begins.
        latch: the one block that branches back to the header; None where there are several.
        blocks: all blocks of the loop.
    """

    head: int
    latch: int | None
    blocks: frozenset[int]


class Dominance:
    """Dominators, natural loops and edge conditions of one kernel.

    Args:
        flow: its control-flow graph.

    Attributes:
        reachable: the blocks that control can reach.
        predecessors: block → its reachable predecessors.
        loops: header → natural loop.
        is_reducible: whether each cycle is a natural loop.
    """

    def __init__(self, flow: ControlFlowGraph) -> None:
        self.flow = flow
        self.reachable = flow.reachable([0])
        self.predecessors: dict[int, list[int]] = {number: [] for number in self.reachable}
        for number in sorted(self.reachable):
            for successor in dict.fromkeys(flow.blocks[number].successors):
                self.predecessors[successor].append(number)
        everything = (1 << len(flow.blocks)) - 1
        others = sorted(self.reachable - {0})
        self._dominators = dominator_sets(others, self.predecessors.__getitem__, everything, {0: 1})
        self.loops: dict[int, Loop] = {}
        self.is_reducible = self._find_loops()

    def dominates(self, above: int, below: int) -> bool:
        """Whether every path to `below` passes `above`."""
        return bool(self._dominators[below] >> above & 1)

    def dominators(self, number: int) -> list[int]:
        """The dominators of a block, itself included, in the order of the path to it."""
        blocks = [above for above in self.reachable if self.dominates(above, number)]
        return sorted(blocks, key=lambda above: self._dominators[above].bit_count())

    def condition(self, number: int, successor: int) -> tuple[str, bool] | None:
        """The predicate of an edge and the value that it must have; None where no predicate decides."""
        successors, last = self.flow.blocks[number].successors, self.flow.last_of(number)
        if not isinstance(last, Instruction) or last.guard is None or len(set(successors)) != len(successors):
            return None
        control = info(last).control
        if control in {Control.NEXT, Control.BRANCH_TABLE}:
            return None
        is_taken = control is Control.BRANCH and successor == successors[0]
        return last.guard.register, is_taken != last.guard.negated

    def edges_above(self, number: int) -> list[tuple[int, int]]:
        """The edges that every path to a block takes, in order; inside a loop those of the current iteration."""
        above = [block for block in self.dominators(number) if block and len(self.predecessors[block]) == 1]
        return [(self.predecessors[block][0], block) for block in above]

    def _find_loops(self) -> bool:
        """Collect the natural loops; whether there are no other cycles."""
        tails: dict[int, list[int]] = {}
        for head in sorted(self.reachable):
            tails[head] = [tail for tail in self.predecessors[head] if self.dominates(head, tail)]
            if not tails[head]:
                continue
            inside: set[int] = set()
            for tail in tails[head]:
                inside |= natural_loop(self.predecessors, tail, head)
            # The entry of the kernel is no header of its own: control comes to it from outside, too.
            latch = tails[head][0] if len(tails[head]) == 1 and head else None
            self.loops[head] = Loop(head, latch, frozenset(inside))
        return not self._has_cycle_without(tails)

    def _has_cycle_without(self, tails: Mapping[int, Collection[int]]) -> bool:
        """Whether there are cycles besides those of the edges from `tails` back to their heads (Kahn's algorithm)."""
        missing: dict[int, int] = {}
        for number in self.reachable:
            missing[number] = len(self.predecessors[number]) - len(tails[number])
        pending = [number for number, count in missing.items() if count == 0]
        seen = 0
        while pending:
            number = pending.pop()
            seen += 1
            for successor in set(self.flow.blocks[number].successors):
                if number not in tails[successor]:
                    missing[successor] -= 1
                    if missing[successor] == 0:
                        pending.append(successor)
        return seen < len(self.reachable)


def dominator_sets(
    order: Sequence[int], predecessors: Callable[[int], Iterable[int]], everything: int, roots: dict[int, int]
) -> dict[int, int]:
    """Compute the dominators of each block; with successors for predecessors, its postdominators.

    Args:
        order: the blocks to visit, those near a root first.
        predecessors: of a block.
        everything: the set of all blocks, as bits.
        roots: the entry (or exit) → its own set.
    """
    sets = dict.fromkeys(order, everything) | roots
    changed = True
    while changed:
        changed = False
        for number in order:
            common = everything
            for item in predecessors(number):
                common &= sets[item]
            common |= 1 << number
            if common != sets[number]:
                sets[number], changed = common, True
    return sets
