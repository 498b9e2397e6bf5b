"""Control-flow graph of a function: basic blocks, the waits in them, and loops that may spin.

A spin loop repeats until another thread writes something; its back edge lets the other threads run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

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
        self.block_of_label = {
            self.statements[block.start].name: index  # type: ignore[union-attr]  # it is a Label
            for index, block in enumerate(self.blocks)
            if block.start < block.end and isinstance(self.statements[block.start], Label)
        }
        self._connect()
        self.waiting_heads, self.waiting_blocks = set[int](), set[int]()
        self.spinning_blocks = set[int]()
        self._spinning_loops: list[set[int]] = []
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

    @property
    def needs_scheduler(self) -> bool:
        """Whether a thread may have to wait for another."""
        return bool(self.waits or self.spins)

    def block_at(self, index: int) -> int:
        """The block that holds statement `index`."""
        return bisect_right(self._starts, index) - 1

    def may_leave(self, index: int) -> bool:
        """Whether a thread may stop inside a statement: it waits, or calls a function that may exit."""
        return index in self.waits or isinstance(self.statements[index], Call)

    @cached_property
    def polled(self) -> frozenset[int]:
        """The reads of what other threads write on whose values the end of a loop depends that spins."""
        return frozenset(at for loop in self._spinning_loops for at in self._polled_in(loop))

    def _polled_in(self, loop: set[int]) -> set[int]:
        """The reads that a loop's exits use, directly or by way of other statements of the loop."""
        found, _ = self._slice(loop, self._exits_of(loop))
        return {at for at in found if effects.may_change_between_reads(self.statements[at])}

    @cached_property
    def long_loops(self) -> dict[tuple[int, int], int]:
        """The back edges of loops that may take long, with the statement on which the end of each depends.

        Those are loops that no counter is known to end, and loops that contain others.
        """
        found = {}
        for edge, loop in self._loops.items():
            exits = self._exits_of(loop)
            is_outer = any(other < loop for other in self._loops.values())
            if is_outer or not any(self._is_counted(loop, exit_) for exit_ in exits):
                found[edge] = max(exits, default=self.blocks[edge[0]].end - 1)
        return {edge: at for edge, at in found.items() if isinstance(self.statements[at], Instruction)}

    def _is_counted(self, loop: set[int], exit_: int) -> bool:
        """Whether a loop's exit depends on sums with constants and on comparisons alone, as with a counter."""
        found, _ = self._slice(loop, {exit_})
        statements = [self.statements[at] for at in found]
        has_step = any(isinstance(item, Instruction) and info(item).arithmetic in _STEPS for item in statements)
        return has_step and self._is_carried(found) and all(map(_counts, statements))

    def _statements_of(self, loop: set[int]) -> list[int]:
        return [at for index in sorted(loop) for at in range(self.blocks[index].start, self.blocks[index].end)]

    def _exits_of(self, loop: set[int]) -> set[int]:
        """The statements at which a thread may leave a loop."""
        ends = (
            (index, self.blocks[index].end - 1) for index in loop if self.blocks[index].start < self.blocks[index].end
        )
        return {
            at
            for index, at in ends
            if not loop.issuperset(self.blocks[index].successors) or _may_end(self.statements[at])
        }

    def _slice(self, loop: set[int], criteria: set[int]) -> tuple[set[int], set[str]]:
        """Return the statements of a loop that some of its statements depend on, and the registers that those read."""
        inside = self._statements_of(loop)
        used = {name for at in criteria for name in _reads(self.statements[at])}
        found: set[int] = set()
        while more := {at for at in inside if at not in found and not used.isdisjoint(_sets(self.statements[at]))}:
            found |= more
            used |= {name for at in more for name in _reads(self.statements[at])}
        return found, used

    def targets(self, instruction: Instruction) -> tuple[str, ...]:
        """The labels that a branch may go to."""
        control = info(instruction).control
        if control is Control.BRANCH:
            label = instruction.operands[0]
            return (label.name,) if isinstance(label, Symbol) else ()
        if control is Control.BRANCH_TABLE:
            table = instruction.operands[1]
            return self._function.branch_targets.get(table.name, ()) if isinstance(table, Symbol) else ()
        return ()

    def until_waits(self, index: int) -> dict[tuple[int, bool], tuple[int, int]]:
        """The statements from one (-1: the start) to the next waits: (block, whether it is whole) → its statements.

        A block may be entered in the middle first and at its start later.
        """
        number = 0 if index < 0 else self.block_at(index)
        pending = [(number, index + 1, False)]
        found: dict[tuple[int, bool], tuple[int, int]] = {}
        while pending:
            number, start, whole = pending.pop()
            block = self.blocks[number]
            whole = whole or start == block.start
            if (number, whole) in found:
                continue
            waits = (at for at in range(start, block.end) if at in self.waits and self.statements[at].guard is None)
            stop = next(waits, None)
            found[number, whole] = start, block.end if stop is None else stop
            pending += [(item, self.blocks[item].start, True) for item in block.successors if stop is None]
        return found

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
            last = self.statements[block.end - 1] if block.end > block.start else None
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
        predecessors: dict[int, list[int]] = {}
        for index, block in enumerate(self.blocks):
            for successor in block.successors:
                predecessors.setdefault(successor, []).append(index)
        loops = self._loops = {edge: natural_loop(predecessors, *edge) for edge in edges}
        polls = {edge: self._polls(loop) for edge, loop in loops.items()}
        spins = {edge for edge, loop in loops.items() if polls[edge] or self._depends(loop, tainted)}
        self._spinning_loops = [loops[edge] for edge in spins]
        for edge in spins:
            self.spinning_blocks |= loops[edge]
            inside = self._statements_of(loops[edge])
            observing = [at for at in inside if effects.may_change_between_reads(self.statements[at])]
            # The last one is nearest to the branch that depends on it.
            self.spin_reads[edge] = max(polls[edge] or observing)
            changes = {at for at in inside if effects.changes_more_than_registers(self.statements[at])}
            self.spin_effects |= changes
            updates = {at for at in inside if effects.writes_memory(self.statements[at])}
            self.spin_updates |= updates - changes
            branches = {self.blocks[index].end - 1 for index in loops[edge]}
            self.spin_registers |= self._slice(loops[edge], updates | changes | branches)[1]
            if polls[edge] or any(self._leaves(index, loops[edge], tainted) for index in loops[edge]):
                self.waiting_heads.add(edge[1])
                self.waiting_blocks |= loops[edge]
        return spins

    def _polls(self, loop: set[int]) -> set[int]:
        """Return the reads on which alone the end of a loop depends that writes nothing; none if there is more to it.

        They may be plain ones: where the compiler has left them in the loop, an atomic operation or a fence is there.
        A register that an iteration computes from its own value of the one before, as a counter, may end the loop.
        """
        if any(effects.stores(self.statements[at]) for at in self._statements_of(loop)):
            return set()
        exits = self._exits_of(loop)
        found, _ = self._slice(loop, exits)
        reads = {at for at in found if effects.may_change_between_reads(self.statements[at])}
        reads |= {at for at in found if effects.is_coherent_read(self.statements[at])}
        return set() if self._is_carried(found) else reads

    def _is_carried(self, statements: set[int]) -> bool:
        """Whether a register that some statements of a loop set depends on itself."""
        needs: dict[str, set[str]] = {}
        for at in statements:
            for name in _sets(self.statements[at]):
                needs.setdefault(name, set()).update(_reads(self.statements[at]))
        for name in needs:
            seen, pending = set[str](), [name]
            while pending:
                for other in needs.get(pending.pop(), ()):
                    if other == name:
                        return True
                    if other not in seen:
                        seen.add(other)
                        pending.append(other)
        return False

    def _leaves(self, index: int, loop: set[int], tainted: set[str]) -> bool:
        """Whether a block may leave a loop at a branch, or an exit, that depends on what another thread writes."""
        block = self.blocks[index]
        last = self.statements[block.end - 1] if block.end > block.start else None
        may_leave = not block.successors or not loop.issuperset(block.successors) or _may_end(last)
        return may_leave and last is not None and not tainted.isdisjoint(effects.reads(last))

    def _tainted(self) -> set[str]:
        tainted = {
            name
            for statement in self.statements
            if effects.may_change_between_reads(statement)
            for name in effects.sets(statement)
        }
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
                loads = (item for item in self.statements if effects.is_shared_access(item, MemoryEffect.READ))
                tainted.update(name for item in loads for name in effects.sets(item))
        return tainted

    def _depends(self, loop: set[int], tainted: set[str]) -> bool:
        inside = [
            self.statements[at] for index in loop for at in range(self.blocks[index].start, self.blocks[index].end)
        ]
        if not any(effects.may_change_between_reads(statement) for statement in inside):
            return False
        return any(
            isinstance(statement, Instruction)
            and info(statement).control not in {Control.NEXT, Control.TRAP}
            and not tainted.isdisjoint(effects.reads(statement))
            for statement in inside
        )

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
    is_read = isinstance(statement, Instruction) and info(statement).memory is MemoryEffect.READ
    name = effects.argument(statement) if is_read else ""
    return (*effects.reads(statement), name) if name else effects.reads(statement)


def _sets(statement: Statement) -> tuple[str, ...]:
    """The registers that a statement defines, and the argument of an inlined call."""
    is_written = isinstance(statement, Instruction) and info(statement).memory is MemoryEffect.WRITE
    name = effects.argument(statement) if is_written else ""
    return (*effects.sets(statement), name) if name else effects.sets(statement)


def _counts(statement: Statement) -> bool:
    """Whether a statement may be a part of a counter: a step of 0 is none, and a step in a register may be 0."""
    if not isinstance(statement, Instruction):
        return False
    operation = info(statement).arithmetic
    if operation in (Arithmetic.ADD, Arithmetic.SUBTRACT):
        return any(isinstance(item, Integer) and item.value for item in statement.operands)
    return operation in _COUNTING


def natural_loop(predecessors: Mapping[int, Iterable[int]], tail: int, head: int) -> set[int]:
    """The blocks of the natural loop of a back edge from `tail` to `head`."""
    blocks, pending = {head, tail}, [tail] if tail != head else []
    while pending:
        for index in predecessors.get(pending.pop(), ()):
            if index not in blocks:
                blocks.add(index)
                pending.append(index)
    return blocks


def single_definitions(statements: tuple[Statement, ...]) -> dict[str, Instruction]:
    """Registers with exactly one definition: an unguarded instruction with no other result."""
    count: dict[str, int] = {}
    definitions: dict[str, Instruction] = {}
    for statement in statements:
        for name in effects.sets(statement):
            count[name] = count.get(name, 0) + 1
            if isinstance(statement, Instruction) and statement.guard is None:
                definitions[name] = statement
    return {
        name: instruction
        for name, instruction in definitions.items()
        if count[name] == 1 and isinstance(instruction.operands[0], Register)
    }


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
        self.reachable = self._reachable()
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
        mask = self._dominators[number]
        blocks = [item for item in self.reachable if mask >> item & 1]
        return sorted(blocks, key=lambda item: self._dominators[item].bit_count())

    def condition(self, number: int, successor: int) -> tuple[str, bool] | None:
        """The predicate of an edge and the value that it must have; None where no predicate decides."""
        block = self.flow.blocks[number]
        last = self.flow.statements[block.end - 1] if block.end > block.start else None
        control = info(last).control if isinstance(last, Instruction) else Control.NEXT
        if last is None or last.guard is None or control in {Control.NEXT, Control.BRANCH_TABLE}:
            return None
        if len(set(block.successors)) != len(block.successors):
            return None
        taken = control is Control.BRANCH and successor == block.successors[0]
        return last.guard.register, taken != last.guard.negated

    def edges_above(self, number: int) -> list[tuple[int, int]]:
        """The edges that every path to a block takes, in order; inside a loop those of the current iteration."""
        return [
            (self.predecessors[item][0], item)
            for item in self.dominators(number)
            if item and len(self.predecessors[item]) == 1
        ]

    def _reachable(self) -> set[int]:
        seen, pending = {0}, [0]
        while pending:
            for successor in self.flow.blocks[pending.pop()].successors:
                if successor not in seen:
                    seen.add(successor)
                    pending.append(successor)
        return seen

    def _find_loops(self) -> bool:
        """Collect the natural loops; whether there are no other cycles."""
        backward = {
            (tail, head)
            for tail in self.reachable
            for head in self.flow.blocks[tail].successors
            if self.dominates(head, tail)
        }
        for head in {head for _, head in backward}:
            tails = [tail for tail, other in backward if other == head]
            inside = frozenset().union(*(natural_loop(self.predecessors, tail, head) for tail in tails))
            self.loops[head] = Loop(head, tails[0] if len(tails) == 1 and head else None, inside)
        return not self._has_cycle_without(backward)

    def _has_cycle_without(self, backward: set[tuple[int, int]]) -> bool:
        missing = {
            number: sum((item, number) not in backward for item in self.predecessors[number])
            for number in self.reachable
        }
        pending, seen = [number for number, count in missing.items() if count == 0], 0
        while pending:
            number = pending.pop()
            seen += 1
            for successor in set(self.flow.blocks[number].successors):
                if (number, successor) not in backward:
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
