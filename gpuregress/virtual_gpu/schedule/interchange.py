"""Loop interchange: a row of threads runs a loop together, one iteration of all threads at a time.

The plain code runs thread by thread. Where a thread enters a loop that may be interchanged, it is parked: its registers
are kept in memory, and the next thread runs. If all threads of the row are parked at the same loop, its iterations run
without checks, with the loop over the threads inside, which LLVM vectorises. What must hold is checked before each
iteration; when it does not, the threads go on one by one in the plain code, at the loop's head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.builder.services import Proven
from gpuregress.virtual_gpu.builder.structured import I1, I32, I64, Cell, i32, i64
from gpuregress.virtual_gpu.builder.threads import ThreadElements, dimension, row
from gpuregress.virtual_gpu.functions.kernel_body import Body
from gpuregress.virtual_gpu.ptx.tree import Register
from gpuregress.virtual_gpu.schedule.idle_threads import does_nothing
from gpuregress.virtual_gpu.schedule.interchange_plan import LoopPlan, RegionPlan, Variable
from gpuregress.virtual_gpu.schedule.rematerialize import Rematerializer
from gpuregress.virtual_gpu.schedule.vectorised_rows import SHORTEST_ROW, Access, AccessKey, ProvenRow, widened

# --- loop metadata ----------------------------------------------------------------------------------------------------
# LLVM metadata of parallel loops: their iterations access memory independently of each other.
#
# LLVM language reference, "llvm.loop.parallel_accesses" and "llvm.access.group".


class _Distinct(ir.MDValue):  # type: ignore[misc]  # llvmlite has no types
    """A metadata node that equals no other one; where it is a loop's, its first operand is itself."""

    def __init__(self, module: ir.Module, operands: Sequence[Any], *, names_itself: bool) -> None:
        super().__init__(module, operands, name=str(len(module.metadata)))
        self._names_itself = names_itself

    def descr(self, buf: list[str]) -> None:
        references = [item.get_reference() for item in self.operands]
        if self._names_itself:
            references.insert(0, self.get_reference())
        buf += (f"distinct !{{ {', '.join(references)} }}", "\n")


def mark_parallel(module: ir.Module, blocks: Iterable[ir.Block], branch: ir.Instruction) -> None:
    """Declare the accesses in a loop's blocks independent; stack slots are left out: they become registers.

    Args:
        module: the loop's.
        blocks: the loop's.
        branch: the one back to its head.
    """
    group = _Distinct(module, (), names_itself=False)
    accesses = module.add_metadata(["llvm.loop.parallel_accesses", group])
    # Without interleaving, LLVM builds no second vector loop for what is left over: half of the code to compile.
    single = module.add_metadata(["llvm.loop.interleave.count", ir.Constant(ir.IntType(32), 1)])
    branch.set_metadata("llvm.loop", _Distinct(module, (accesses, single), names_itself=True))
    for block in blocks:
        for item in block.instructions:
            if isinstance(item, ir.LoadInstr | ir.StoreInstr) and not isinstance(item.operands[-1], ir.AllocaInstr):
                item.set_metadata("llvm.access.group", group)


def keep_scalar(module: ir.Module, branch: ir.Instruction) -> None:
    """Tell LLVM not to vectorise a loop that runs too seldom to be worth the time it takes to compile.

    Args:
        module: the loop's.
        branch: the one back to its head.
    """
    disabled = module.add_metadata(["llvm.loop.vectorize.enable", ir.Constant(ir.IntType(1), 0)])
    branch.set_metadata("llvm.loop", _Distinct(module, (disabled,), names_itself=True))


# --- interchange ------------------------------------------------------------------------------------------------------

_GONE = -1
_MOST_CREDIT = 4
"""Rows, one after the other, that gained nothing by interchange, after which a launch no longer tries."""


class _Hull(Record):
    """The extent of a variable's accesses in the loops of a row.

    Attributes:
        low: its first address.
        high: the address after its last byte.
        least: the first address in the current iteration.
        most: the address after the last byte in the current iteration.
        move: the distance to the next iteration.
    """

    low: Cell
    high: Cell
    least: Cell
    most: Cell
    move: Cell

    @classmethod
    def empty(cls, b: ir.IRBuilder) -> Self:
        """Return the hull of nothing."""
        low, high = Cell(b, i64((1 << 63) - 1)), Cell(b, i64(0))
        return cls(low=low, high=high, least=Cell(b, i64(0)), most=Cell(b, i64(0)), move=Cell(b, i64(0)))

    def begin(self, b: ir.IRBuilder, least: ir.Value, most: ir.Value, move: ir.Value) -> None:
        """Begin a loop."""
        self.least.set(least, b)
        self.most.set(most, b)
        self.move.set(move, b)

    def extend(self, b: ir.IRBuilder) -> None:
        """Add an iteration."""
        low, high = self.low.get(b), self.high.get(b)
        least, most = self.least.get(b), self.most.get(b)
        self.low.set(b.select(b.icmp_unsigned("<", least, low), least, low), b)
        self.high.set(b.select(b.icmp_unsigned(">", most, high), most, high), b)
        move = self.move.get(b)
        self.least.add(move, b)
        self.most.add(move, b)


@dataclass(slots=True)
class _Site:
    """What the builder needs at one loop.

    Attributes:
        head: the place of a thread at the loop's head; the one after it is `head + 1`.
        parked: the number of threads that are parked here.
        first: kept register with a stride → its value in the row's first thread.
        after: the same after the iteration.
    """

    plan: LoopPlan
    head: int
    parked: Cell
    start: ir.Block
    first: dict[str, Cell] = field(default_factory=dict)
    after: dict[str, Cell] = field(default_factory=dict)


class Interchange:
    """The loops of one region that are interchanged, for one row of threads after the other.

    Args:
        body: the kernel's.
        rematerializer: the kernel's.
        plan: the region's loops.
        varying: the registers that may differ between threads.
    """

    def __init__(self, body: Body, rematerializer: Rematerializer, plan: RegionPlan, varying: frozenset[str]) -> None:
        self._varying = varying
        self.body, self.emitter, self.view, self.llvm = body, body.emitter, body.view, body.llvm
        self.rematerializer, self.plan = rematerializer, plan
        self.context = body.view.pointer("context")
        self._credit = Cell(body.entry, i32(_MOST_CREDIT))

    def build(
        self,
        b: ir.IRBuilder,
        first: ir.Value,
        tid: dict[str, ir.Value],
        begin: Callable[[ir.IRBuilder, ir.Value, ir.Block], None],
        done: ir.Block,
        allowed: ir.Value | None = None,
    ) -> None:
        """Build the code of one row.

        Args:
            b: where the row starts.
            first: the number of its first thread.
            tid: `tid_y` and `tid_z`.
            begin: builds the region's code for the thread of a number, which ends at a block.
            done: where to go when all threads have come to their next waits.
            allowed: whether the loops may be interchanged; None: they may.
        """
        self._first, self._tid, self._done = first, tid, done
        self._width = dimension(self.view, "block_x")
        wide = b.icmp_unsigned(">=", self._width, i32(SHORTEST_ROW))
        pays = b.icmp_signed(">", self._credit.get(b), i32(0))
        parks = b.and_(b.and_(wide, pays), self._are_distinct(b))
        self._parking = Cell(b, parks if allowed is None else b.and_(parks, allowed))
        self._single = Cell(b, ir.Constant(I1, 0))
        self._from, self._iterations = Cell(b, i32(0)), Cell(b, i32(0))
        self._place, self._x, self._wide = Cell(b, i32(0)), Cell(b, i32(0)), Cell(b, i64(0))
        self._hulls: dict[Variable, _Hull] = {}
        for loop in self.plan.loops:
            for variable in loop.bands:
                if variable not in self._hulls:
                    self._hulls[variable] = _Hull.empty(b)
        self._sites: list[_Site] = []
        for number, loop in enumerate(self.plan.loops):
            parked, start = Cell(b, i32(0)), self.llvm.append_basic_block("interchanged")
            self._sites.append(_Site(plan=loop, head=1 + 2 * number, parked=parked, start=start))
        self._pass = self.llvm.append_basic_block("row_pass")
        self._thread = self.llvm.append_basic_block("row_thread")
        self._next = self.llvm.append_basic_block("row_next")
        b.branch(self._pass)
        self._build_pass(begin)
        for site in self._sites:
            self._build_site(site)

    def leave(self, b: ir.IRBuilder) -> None:
        """Note that the thread has come to its next wait, or its end."""
        b.store(i32(_GONE), self._places(b, self._index))

    # --- the plain code -----------------------------------------------------------------------------------------------

    def _build_pass(self, begin: Callable[[ir.IRBuilder, ir.Value, ir.Block], None]) -> None:
        b = ir.IRBuilder(self._pass)
        for site in self._sites:
            site.parked.set(i32(0), b)
        self._x.set(self._from.get(b), b)
        b.branch(self._thread)
        b = ir.IRBuilder(self._thread)
        x = self._x.get(b)
        self._before = self.emitter.counter.total(b)
        self._index = b.add(self._first, x)
        place = b.select(self._single.get(b), b.load(self._places(b, self._index), typ=I32), self._place.get(b))
        self.body.start_thread(b, self._tid | {"tid_x": x}, self._index)
        switch = b.switch(place, self._next)
        start = self.llvm.append_basic_block("row_start")
        switch.add_case(i32(0), start)
        self.emitter.proven = Proven()
        self.emitter.entrances = {site.plan.loop.number: self._entrance(site) for site in self._sites}
        begin(ir.IRBuilder(start), self._index, self._next)
        for site in self._sites:
            number = site.plan.loop.number
            for place_number, target in ((site.head, number), (site.head + 1, number + 1)):
                block = self.llvm.append_basic_block("row_resume")
                switch.add_case(i32(place_number), block)
                self._resume(ir.IRBuilder(block), number, target)
        self.emitter.entrances = {}
        self._end_pass()

    def _resume(self, b: ir.IRBuilder, number: int, target: int) -> None:
        live = self.plan.live[target]
        self.emitter.begin(b, number)
        for name in self.rematerializer.kept(live & self.emitter.flow.types.keys()):
            slot, type_ = self.emitter.home(name)
            b.store(self.body.slots.restore(b, ThreadElements(self.context, self._index), name, type_), slot)
        self.rematerializer.rematerialize(self.emitter, live)
        self.emitter.go_on(target)

    def _entrance(self, site: _Site) -> Callable[[ir.Block], ir.Block]:
        """Build the block through which a thread enters a loop from outside; it leads to the loop's plain code."""

        def build(plain: ir.Block) -> ir.Block:
            entrance, park = self.llvm.append_basic_block("entrance"), self.llvm.append_basic_block("park")
            b = ir.IRBuilder(entrance)
            b.cbranch(self._parking.get(b), park, plain)
            b = ir.IRBuilder(park)
            for name in site.plan.kept:
                slot, type_ = self.emitter.home(name)
                self.body.slots.save(b, ThreadElements(self.context, self._index), name, b.load(slot, typ=type_))
            b.store(i32(site.head), self._places(b, self._index))
            site.parked.add(i32(1), b)
            b.branch(self._next)
            return entrance

        return build

    def _end_pass(self) -> None:
        b = ir.IRBuilder(self._next)
        following = b.add(self._x.get(b), i32(1))
        self._x.set(following, b)
        end = self.llvm.append_basic_block("row_end")
        b.cbranch(b.icmp_unsigned("<", following, self._width), self._thread, end)
        b.position_at_end(end)
        left_out = b.zext(self._from.get(b), I64)
        self.emitter.counter.add(b, b.mul(left_out, b.sub(self.emitter.counter.total(b), self._before)))
        self._from.set(i32(0), b)
        total: ir.Value = i32(0)
        for site in self._sites:
            parked = site.parked.get(b)
            total = b.add(total, parked)
            other = self.llvm.append_basic_block("row_end")
            b.cbranch(b.icmp_unsigned("==", parked, self._width), site.start, other)
            b.position_at_end(other)
        scattered = self.llvm.append_basic_block("row_scattered")
        b.cbranch(b.icmp_unsigned("==", total, i32(0)), self._done, scattered)
        b.position_at_end(scattered)
        self._go_on_alone(b)

    def _go_on_alone(self, b: ir.IRBuilder) -> None:
        """Let each thread go on at its own place, and park no more."""
        self._single.set(ir.Constant(I1, 1), b)
        self._parking.set(ir.Constant(I1, 0), b)
        self._credit.add(i32(-1), b)
        b.branch(self._pass)

    def _places(self, b: ir.IRBuilder, index: ir.Value) -> ir.Value:
        return row(b, self.context, "state", index)

    # --- an interchanged loop -----------------------------------------------------------------------------------------

    def _build_site(self, site: _Site) -> None:
        plan = site.plan
        b = ir.IRBuilder(site.start)
        for name in plan.steps:
            type_ = self.emitter.declared(name)
            value = self.body.slots.restore(b, ThreadElements(self.context, self._first), name, type_)
            site.first[name], site.after[name] = Cell(b, value), Cell(b, value)
        refused = self.llvm.append_basic_block("refused")
        iteration = self.llvm.append_basic_block("iteration")
        holds = self._strides_hold(b, site)
        self._advance(b, site)
        self._iterations.set(i32(0), b)
        b.cbranch(b.and_(holds, self._bands_hold(b, site)), iteration, refused)
        self._build_iteration(site, iteration)
        b.position_at_end(refused)
        self._credit.add(i32(-1), b)
        self._place.set(i32(site.head), b)
        self._parking.set(ir.Constant(I1, 0), b)
        b.branch(self._pass)

    def _strides_hold(self, b: ir.IRBuilder, site: _Site) -> ir.Value:
        """Whether the parked threads' registers have the strides that are expected of them."""
        holds = Cell(b, ir.Constant(I1, 1))
        first = {name: cell.get(b) for name, cell in site.first.items()}
        with self._threads(b, "verify") as (b_thread, x):
            index = b_thread.add(self._first, x)
            for name, step in site.plan.steps.items():
                type_ = self.emitter.declared(name)
                value = self.body.slots.restore(b_thread, ThreadElements(self.context, index), name, type_)
                equal = b_thread.icmp_unsigned("==", value, _stepped(b_thread, first[name], step, x))
                holds.set(b_thread.and_(holds.get(b_thread), equal), b_thread)
        return holds.get(b)

    def _are_distinct(self, b: ir.IRBuilder) -> ir.Value:
        """Whether different parameters point to different buffers; a thread that is parked runs after later ones."""
        answer: ir.Value = ir.Constant(I1, 1)
        for first, second in self.plan.distinct:
            first_host, second_host = self._host(first), self._host(second)
            answer = b.and_(answer, b.icmp_unsigned("!=", first_host, second_host))
        return answer

    def _host(self, variable: Variable) -> ir.Value:
        kind, key = variable
        if kind == "param":
            assert isinstance(key, int)
            return self.view.parameter_region(key).host
        return self.view.symbol_region(str(key)).host

    def _build_iteration(self, site: _Site, block: ir.Block) -> None:
        plan, emitter = site.plan, self.emitter
        b = ir.IRBuilder(block)
        emitter.begin(b, plan.loop.number)
        proven = plan.rows.prove(b, lambda inner, x: self._become(inner, site, x, site.first))
        more = plan.rows.first_predicate(plan.loop.guard.register)
        more = b.not_(more) if plan.loop.guard.negated else more
        self._advance(b, site)
        threads, left = self.llvm.append_basic_block("threads"), self.llvm.append_basic_block("left")
        self._place.set(i32(site.head), b)
        self._parking.set(ir.Constant(I1, 0), b)
        b.cbranch(proven.holds, threads, left)
        b.position_at_end(threads)
        self._build_threads(b, site, proven, more)
        for name in plan.moving:
            site.first[name].set(site.after[name].get(b), b)
        for variable in plan.bands:
            self._hulls[variable].extend(b)
        self._iterations.add(i32(1), b)
        self._place.set(i32(site.head + 1), b)
        self._parking.set(ir.Constant(I1, 1), b)
        self._from.set(b.select(more, i32(0), self._first_to_go_on(b, plan)), b)
        b.cbranch(more, block, left)
        self._write_back(ir.IRBuilder(left), site)

    def _first_to_go_on(self, b: ir.IRBuilder, plan: LoopPlan) -> ir.Value:
        """The first thread that runs after a loop: the last one, which stands for all, if they do nothing there."""
        if does_nothing(self.emitter, self.rematerializer, self._varying, plan.loop.number + 1):
            return b.sub(self._width, i32(1))
        return i32(0)

    def _advance(self, b: ir.IRBuilder, site: _Site) -> None:
        """Compute the registers with a stride as they are after an iteration."""
        loop, emitter = site.plan.loop, self.emitter
        self._become(b, site, i32(0), site.first)
        site.plan.rows.rematerializer.rematerialize_all(emitter, [loop.last[name] for name in site.plan.moving])
        for name in site.plan.moving:
            kind = "b32" if emitter.declared(name) == I32 else "b64"
            site.after[name].set(emitter.read(Register(loop.last[name]), kind), b)

    def _become(self, b: ir.IRBuilder, site: _Site, x: ir.Value, values: dict[str, Cell]) -> None:
        """Set the coordinates and the registers with a stride to those of a thread."""
        self.body.start_thread(b, self._tid | {"tid_x": x}, b.add(self._first, x))
        for name, step in site.plan.steps.items():
            value = _stepped(b, values[name].get(b), step, x)
            b.store(value, self.emitter.home(name)[0])
        self.emitter.begin(b, site.plan.loop.number)

    def _bands_hold(self, b: ir.IRBuilder, site: _Site) -> ir.Value:
        """Whether no iteration touches written memory that another one, or a loop before, touches in another thread.

        The bands of a variable are disjoint, and all move by the same distance from one iteration to the next: at
        least by their extent, away from what earlier loops have touched.
        """
        here = self._addresses(b, site, site.first)
        there = self._addresses(b, site, site.after)
        last = b.zext(b.sub(self._width, i32(1)), I64)
        answer: ir.Value = ir.Constant(I1, 1)
        for variable, bands in site.plan.bands.items():
            lows: list[ir.Value] = []
            highs: list[ir.Value] = []
            moves: list[ir.Value] = []
            for band in bands:
                lowest, top = band[0], max(access.address.offset + access.count for access in band)
                low = here[lowest.key]
                moves.append(b.sub(there[lowest.key], low))
                span = b.mul(last, i64(abs(lowest.step)))
                if lowest.step < 0:
                    low = b.sub(low, span)
                lows.append(low)
                highs.append(b.add(b.add(low, span), i64(top - lowest.address.offset)))
            rising: ir.Value = ir.Constant(I1, 1)
            falling: ir.Value = ir.Constant(I1, 1)
            for number in range(1, len(bands)):
                rising = b.and_(rising, b.icmp_unsigned(">=", lows[number], highs[number - 1]))
                falling = b.and_(falling, b.icmp_unsigned("<=", highs[number], lows[number - 1]))
            least = b.select(rising, lows[0], lows[-1])
            most = b.select(rising, highs[-1], highs[0])
            move, extent = moves[0], b.sub(most, least)
            for other in moves[1:]:
                answer = b.and_(answer, b.icmp_unsigned("==", move, other))
            hull = self._hulls[variable]
            up = b.and_(b.icmp_signed(">=", move, i64(0)), b.icmp_unsigned(">=", least, hull.high.get(b)))
            down = b.and_(b.icmp_signed("<=", move, i64(0)), b.icmp_unsigned("<=", most, hull.low.get(b)))
            far = b.or_(b.icmp_signed(">=", move, extent), b.icmp_signed(">=", b.sub(i64(0), move), extent))
            if len(bands) == 1:
                far = b.or_(far, b.icmp_unsigned("==", move, i64(0)))
            answer = b.and_(answer, b.and_(b.or_(rising, falling), b.and_(far, b.or_(up, down))))
            hull.begin(b, least, most, move)
        return answer

    def _addresses(self, b: ir.IRBuilder, site: _Site, values: dict[str, Cell]) -> dict[AccessKey, ir.Value]:
        """The addresses of written variables in the row's first thread, for registers with a stride as given."""
        self._become(b, site, i32(0), values)
        accesses: list[Access] = []
        for bands in site.plan.bands.values():
            accesses += chain.from_iterable(bands)
        addresses = site.plan.rows.addresses(accesses)
        self.emitter.begin(b, site.plan.loop.number)
        return {key: widened(b, address) for key, address in addresses.items()}

    def _build_threads(self, b: ir.IRBuilder, site: _Site, proven: ProvenRow, more: ir.Value) -> None:
        """Build the loop over the threads; `b` goes on after it."""
        plan, emitter = site.plan, self.emitter
        first = {name: cell.get(b) for name, cell in site.first.items()}
        escape = None if plan.is_parallel else self.llvm.append_basic_block("escape")
        with self._threads(b, "lane", is_parallel=plan.is_parallel) as (inner, x):
            self.body.start_thread(inner, self._tid | {"tid_x": x}, inner.add(self._first, x))
            index = inner.add(self._first, x)
            emitter.begin(inner, plan.loop.number)
            for name in plan.kept:
                slot, type_ = emitter.home(name)
                if name in plan.steps:
                    value = _stepped(inner, first[name], plan.steps[name], x)
                else:
                    value = self.body.slots.restore(inner, ThreadElements(self.context, index), name, type_)
                inner.store(value, slot)
            self.rematerializer.rematerialize(emitter, plan.live)
            emitter.proven = proven.of_thread(
                inner, self._wide.get(inner), is_watched=self.body.unit.granules is not None
            )
            emitter.proven.escape = escape
            emitter.lower_statements(plan.loop.body)
            inner.position_at_end(emitter.builder.block)
            for name in plan.saved:
                type_ = emitter.declared(name)
                value = inner.load(emitter.home(plan.loop.last[name])[0], typ=type_)
                self.body.slots.save(inner, ThreadElements(self.context, index), name, value)
            emitter.count(plan.loop.number)
            emitter.proven = Proven()
        if escape is not None:
            self._build_escape(ir.IRBuilder(escape), site, more)

    def _build_escape(self, b: ir.IRBuilder, site: _Site, more: ir.Value) -> None:
        """A thread's check has failed: those before it have done this iteration, the others have not."""
        stopped = b.trunc(self._wide.get(b), I32)
        first = {name: site.first[name].get(b) for name in site.plan.moving}
        after = {name: site.after[name].get(b) for name in site.plan.moving}
        ahead = b.select(more, i32(site.head), i32(site.head + 1))
        with self._threads(b, "scatter") as (inner, x):
            index = inner.add(self._first, x)
            is_ahead = inner.icmp_unsigned("<", x, stopped)
            for name in site.plan.moving:
                step = site.plan.steps[name]
                value = _stepped(inner, inner.select(is_ahead, after[name], first[name]), step, x)
                self.body.slots.save(inner, ThreadElements(self.context, index), name, value)
            inner.store(inner.select(is_ahead, ahead, i32(site.head)), self._places(inner, index))
        self._go_on_alone(b)

    def _write_back(self, b: ir.IRBuilder, site: _Site) -> None:
        """Keep the registers with a stride for each thread, and go on in the plain code."""
        moving = site.plan.moving
        # Parking costs as much as it gains where a loop runs once.
        pays = b.icmp_unsigned(">", self._iterations.get(b), i32(1))
        self._credit.set(b.select(pays, i32(_MOST_CREDIT), b.sub(self._credit.get(b), i32(1))), b)
        first = {name: site.first[name].get(b) for name in moving}
        if moving:
            with self._threads(b, "write_back") as (inner, x):
                index = inner.add(self._first, x)
                for name in moving:
                    value = _stepped(inner, first[name], site.plan.steps[name], x)
                    self.body.slots.save(inner, ThreadElements(self.context, index), name, value)
        self._single.set(ir.Constant(I1, 0), b)
        b.branch(self._pass)

    @contextmanager
    def _threads(
        self, b: ir.IRBuilder, name: str, *, is_parallel: bool = False
    ) -> Iterator[tuple[ir.IRBuilder, ir.Value]]:
        """Run the body for each x of the row; `b` goes on after the loop."""
        head, after = self.llvm.append_basic_block(name), self.llvm.append_basic_block(f"{name}_done")
        end = b.zext(self._width, I64)
        self._wide.set(i64(0), b)
        b.branch(head)
        inner = ir.IRBuilder(head)
        before = len(self.llvm.blocks)
        wide = self._wide.get(inner)
        yield inner, inner.trunc(wide, I32)
        following = inner.add(wide, i64(1), flags=("nuw", "nsw"))
        self._wide.set(following, inner)
        branch = inner.cbranch(inner.icmp_unsigned("<", following, end), head, after)
        if is_parallel:
            mark_parallel(self.body.unit.module, [head, *self.llvm.blocks[before:]], branch)
        else:
            keep_scalar(self.body.unit.module, branch)
        b.position_at_end(after)


def _stepped(b: ir.IRBuilder, first: ir.Value, step: int, x: ir.Value) -> ir.Value:
    """The value of a register with a stride in thread `x` of a row."""
    if step == 0:
        return first
    wide = b.zext(x, I64) if first.type == I64 else x
    return b.add(first, b.mul(wide, ir.Constant(first.type, step)))
