"""Probes of one function: code that counts executions of blocks, branches, loops and bounds."""

from __future__ import annotations

from functools import cached_property

from llvmlite import ir

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.builder.region_bounds import MachineView
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import I32, I64, Cell, at, convert, i32, i64
from gpuregress.virtual_gpu.builder.threads import Thread, linear_thread
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.counters.conditions import (
    BranchCondition,
    CountedLoop,
    CountedLoops,
    IndexBound,
    find_bounds,
    find_conditions,
    number_loops,
    plan_loops,
)
from gpuregress.virtual_gpu.counters.traces import Traces, source_places
from gpuregress.virtual_gpu.ptx.modifiers import is_signed
from gpuregress.virtual_gpu.ptx.opcode_table import Control, Wait, info
from gpuregress.virtual_gpu.ptx.tree import Call, Instruction, Label
from gpuregress.virtual_gpu.runtime.probe_sites import Lines, ProbeKind


class Probes:
    """The probes of one function."""

    def __init__(self, unit: Unit, name: str, flow: ControlFlowGraph) -> None:
        self._unit, self._name, self._flow = unit, name, flow
        self._cells: dict[int, Cell] = {}
        has_costs = unit.schedule.instruments.costs
        self._traces = Traces(unit, name, flow, self._plan.loops) if has_costs else None

    def begin_thread(self, view: MachineView, b: ir.IRBuilder, thread: Thread) -> None:
        """Begin or continue a thread of the kernel."""
        if self._traces is not None:
            self._traces.begin_thread(view, b, linear_thread(b, view, thread))

    @cached_property
    def _plan(self) -> CountedLoops:
        return plan_loops(self._flow)

    @cached_property
    def _bounds(self) -> dict[int, IndexBound]:
        return find_bounds(self._flow, self._plan.deciding)

    @cached_property
    def _conditions(self) -> dict[int, BranchCondition]:
        return find_conditions(self._flow, self._plan.depth)

    @cached_property
    def _loop_numbers(self) -> dict[int, int]:
        return number_loops(self._plan.loops, self._conditions, self._flow)

    # --- executions ---------------------------------------------------------------------------------------------------

    def run(self, emitter: Services, start: int) -> None:
        """Count an execution of the instructions from a statement to the next wait or the end of its block."""
        if self._instructions(start):
            self._bump(emitter, self._run(start))
        if self._traces is not None:
            self._traces.begin(emitter, start, self._numbered(start))

    def predicate(self, emitter: Services) -> None:
        """Count the execution of the guarded instruction at hand; built where its guard is true."""
        self._bump(emitter, self._guarded("predicate", emitter.index))

    def instruction(self, emitter: Services) -> None:
        """Count what the instruction at hand does; built where it is executed."""
        self._bound(emitter)
        if self._traces is not None:
            self._traces.access(emitter)

    def _bound(self, emitter: Services) -> None:
        """Count the comparison at hand, if it compares an index with a limit next to it."""
        bound = self._bounds.get(emitter.index)
        if bound is None:
            return
        at_, b = emitter.index, emitter.builder
        lines = self._lines(at_, at_ + 1)
        names = {"note": bound.order, "source": bound.index_name, "limit": bound.limit_name}
        site = self._unit.probe("bound", self._name, at_, lines, base=self._run_of(at_), **names)
        signed = is_signed(bound.type_name)
        index, limit = (
            convert(b, emitter.read(item, bound.type_name), I64, signed=signed) for item in (bound.index, bound.limit)
        )
        place = b.add(b.sub(index, limit), i64(1))
        with b.if_then(b.icmp_unsigned("<", place, i64(3)), likely=False):
            self._add(emitter, b, b.add(place, i64(site.first)))

    # --- edges --------------------------------------------------------------------------------------------------------

    def on_edge(self, emitter: Services, target: int, block: ir.Block) -> ir.Block:
        """Return the block to branch to for an edge of the flow, which counts what the edge means."""
        edge = (emitter.block_number, target)
        plan = self._plan
        counted = self._branch(edge)
        is_taken = self._traces is not None and self._is_taken(edge)
        if (
            counted is None
            and not is_taken
            and not any((plan.entered(edge), plan.repeated(edge), plan.left(edge), plan.skipped(edge)))
        ):
            return block
        detour = emitter.builder.append_basic_block("edge")
        builder, emitter.builder = emitter.builder, ir.IRBuilder(detour)
        if counted is not None:
            self._bump(emitter, counted)
        if self._traces is not None:
            self._trace_edge(emitter, edge, is_taken=is_taken)
        for loop in plan.left(edge):
            self._leave(emitter, loop, edge[0])
        for loop in plan.skipped(edge):
            self._bump(emitter, self._loop(loop))
        for loop in plan.repeated(edge):
            self._set(emitter, loop, emitter.builder.add(self._get(emitter, loop), i32(1)))
        for loop in plan.entered(edge):
            self._set(emitter, loop, i32(0))
        emitter.builder.branch(block)
        emitter.builder = builder
        return detour

    def _branch(self, edge: tuple[int, int]) -> int | None:
        """The counter of a branch that takes an edge; None where no branch of the program's own decides about it."""
        block, last = self._flow.blocks[edge[0]], self._flow.last_of(edge[0])
        if not isinstance(last, Instruction) or edge[0] in self._plan.deciding:
            return None
        at_, control = block.end - 1, info(last).control
        lines = self._lines(at_, at_ + 1)
        if control is Control.BRANCH_TABLE and edge[1] in block.successors:
            return self._unit.probe("case", self._name, edge[0] << 16 | edge[1], lines, base=self._run_of(at_)).first
        if control is not Control.BRANCH or last.guard is None or len(set(block.successors)) < 2:
            return None
        if self._conditions[at_].is_added:
            return None
        counter = self._guarded("branch", at_, is_inside=self._is_inside(edge[0], lines))
        # The other side is what is left; the site is there nevertheless.
        if edge[1] != block.successors[0]:
            return None
        return counter

    def _is_inside(self, block: int, lines: Lines) -> bool:
        """Whether a branch is one of the program in a loop of its own place, the innermost one, and not the loop's.

        It goes on inside of the loop, or leaves it for another reason: by values of other origins.
        """
        loop, here = self._plan.innermost(block), _without_columns(lines)
        if loop is None or self._place(loop) != here:
            return False
        if any(other.blocks < loop.blocks and self._place(other) == here for other in self._plan.loops):
            return False
        if loop.blocks.issuperset(self._flow.blocks[block].successors):
            return True
        deciding = self._conditions.get(loop.statement)
        own = self._conditions[self._flow.blocks[block].end - 1].origins
        return deciding is not None and not (own <= deciding.origins or deciding.origins <= own)

    def _place(self, loop: CountedLoop) -> list[list[tuple[str, int]]]:
        return _without_columns(self._lines(loop.statement, loop.statement + 1))

    def _guarded(self, kind: ProbeKind, at_: int, *, is_inside: bool = False) -> int:
        """The counter of a statement with a guard."""
        condition, lines = self._conditions[at_], self._lines(at_, at_ + 1)
        more = {"note": condition.name, "is_inverted": condition.is_inverted, "is_inside": is_inside}
        return self._unit.probe(kind, self._name, at_, lines, base=self._run_of(at_), **more).first

    def _is_taken(self, edge: tuple[int, int]) -> bool:
        """Whether an edge is that of a conditional branch that is taken."""
        last = self._flow.last_of(edge[0])
        if not isinstance(last, Instruction) or info(last).control is not Control.BRANCH:
            return False
        return last.guard is not None and edge[1] == self._flow.blocks[edge[0]].successors[0]

    def _trace_edge(self, emitter: Services, edge: tuple[int, int], *, is_taken: bool) -> None:
        assert self._traces is not None
        if is_taken:
            self._traces.take(emitter)
        for loop in self._plan.repeated(edge):
            self._traces.repeat(emitter, loop)
        for loop in self._plan.entered(edge):
            self._traces.enter(emitter, loop)

    def _leave(self, emitter: Services, loop: CountedLoop, source: int) -> None:
        b = emitter.builder
        times = self._get(emitter, loop)
        if not (loop.tests_first and source == loop.head):
            times = b.add(times, i32(1))
        many = b.select(b.icmp_unsigned("<", times, i32(2)), times, i32(2))
        self._add(emitter, b, b.add(b.zext(many, I64), i64(self._loop(loop))))

    def _loop(self, loop: CountedLoop) -> int:
        """The first counter of a loop."""
        lines = self._lines(loop.statement, loop.statement + 1)
        note = "zero" if loop.tests_first or loop.skips else ""
        number = self._loop_numbers[loop.head]
        return self._unit.probe("loop", self._name, loop.head, lines, note=note, number=number).first

    def _get(self, emitter: Services, loop: CountedLoop) -> ir.Value:
        if loop.waits:
            return emitter.exits.load_kept(emitter, f"%iterations{loop.head}")
        return self._cell(emitter, loop).get(emitter.builder)

    def _set(self, emitter: Services, loop: CountedLoop, value: ir.Value) -> None:
        if loop.waits:
            emitter.exits.keep(emitter, f"%iterations{loop.head}", value)
        else:
            self._cell(emitter, loop).set(value, emitter.builder)

    def _cell(self, emitter: Services, loop: CountedLoop) -> Cell:
        if loop.head not in self._cells:
            self._cells[loop.head] = Cell(emitter.view.entry, ir.Constant(I32, 0))
        return self._cells[loop.head]

    # --- stretches of instructions ------------------------------------------------------------------------------------

    def _run(self, start: int) -> int:
        return self._unit.probe("run", self._name, start, self._lines(start, self._end(start), unguarded=True)).first

    def _run_of(self, index: int) -> int:
        """The first counter of the stretch that holds a statement."""
        start = index
        block = self._flow.blocks[self._flow.block_at(index)]
        while start > block.start and not self._flow.may_leave(start - 1):
            start -= 1
        return self._run(start)

    def _end(self, start: int) -> int:
        end = self._flow.blocks[self._flow.block_at(start)].end
        for index in range(start, end):
            if self._flow.may_leave(index):
                return index + 1
        return end

    def _instructions(self, start: int) -> list[Instruction | Call]:
        return [item for _, item in self._numbered(start)]

    def _numbered(self, start: int) -> list[tuple[int, Instruction | Call]]:
        items = enumerate(self._flow.statements[start : self._end(start)], start)
        return [(at_, item) for at_, item in items if not isinstance(item, Label) and not _is_inserted(item)]

    def _lines(self, start: int, end: int, *, unguarded: bool = False) -> Lines:
        """The source lines of statements; without those that a guard may leave out, where only the others are meant."""
        found: dict[tuple[tuple[str, int, int], ...], None] = {}
        for item in self._flow.statements[start:end]:
            if unguarded and _is_predicated(item):
                continue
            if not isinstance(item, Label) and not _is_inserted(item):
                found[source_places(item)] = None
        return tuple(found)

    def _bump(self, emitter: Services, counter: int) -> None:
        self._add(emitter, emitter.builder, i64(counter))

    def _add(self, emitter: Services, b: ir.IRBuilder, counter: ir.Value) -> None:
        pointer = at(b, emitter.view.pointer("counters"), b.shl(counter, i64(3)))
        b.store(b.add(b.load(pointer, typ=I64), i64(1)), pointer)


def _without_columns(lines: Lines) -> list[list[tuple[str, int]]]:
    return [[place[:2] for place in chain] for chain in lines]


def _is_predicated(statement: Instruction | Call | Label) -> bool:
    """Whether a guard decides about an execution; a branch is executed on both of its sides."""
    if isinstance(statement, Label) or statement.guard is None:
        return False
    return isinstance(statement, Call) or info(statement).control not in (Control.BRANCH, Control.BRANCH_TABLE)


def _is_inserted(statement: Instruction | Call) -> bool:
    """Whether the compiler itself put a statement there."""
    return isinstance(statement, Instruction) and info(statement).wait is Wait.STEP
