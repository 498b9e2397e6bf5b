"""Legality of loop interchange, for loops that a row of threads may run together.

Interchange changes the order of accesses of different threads. It is legal if no two of them touch the same byte, one
of them writing, unless the order stays the same. What cannot be known at compile time is checked when the kernel runs:

- the registers at the loop's head differ by their strides from thread to thread;
- memory that is written is touched in bands, one for each iteration, that do not overlap;
- in each iteration, all threads take the same way and all accesses are in bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.innermost_loops import InnermostLoop, innermost_loops
from gpuregress.virtual_gpu.analysis.liveness import Liveness
from gpuregress.virtual_gpu.analysis.pointers import PointsTo
from gpuregress.virtual_gpu.analysis.strides import Stride, Strides
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import I32, I64
from gpuregress.virtual_gpu.checks.program_facts import commuting_kind
from gpuregress.virtual_gpu.functions.kernel_body import Body
from gpuregress.virtual_gpu.ptx.modifiers import is_ordered, lanes, size, space_of, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, Control, MemoryEffect, ResultKind, info
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Label, Register
from gpuregress.virtual_gpu.schedule.rematerialize import Rematerializer
from gpuregress.virtual_gpu.schedule.vectorised_rows import Access, Rows, is_injective

_WIDEST_STEP = 64
"""Bytes between neighbours beyond which a thread alone uses the cache better than a row does."""
_LARGEST_BODY = 256

_PRODUCTS = frozenset([Arithmetic.MULTIPLY, Arithmetic.MULTIPLY_ADD])
_LINEAR = _PRODUCTS.union(
    [
        Arithmetic.COPY,
        Arithmetic.CONVERT,
        Arithmetic.ADD,
        Arithmetic.SUBTRACT,
        Arithmetic.NEGATE,
        Arithmetic.SHIFT_LEFT,
    ]
)

Stretches = dict[tuple[int, bool], tuple[int, int]]
"""See `ControlFlowGraph.until_waits`."""
Variable = tuple[str, object]
"""A buffer or variable: ("param", first byte), ("symbol", name) or ("shared", key)."""


class _Touch(Record):
    """A statement that accesses memory.

    Attributes:
        block: its block.
        variables: what it may access; None: anything.
        effect: "" for a read, `write`, or the kind of an atomic operation that commutes with itself.
        is_interchanged: whether it is in a loop that is interchanged, at addresses with a stride.
        separate: its address outside these loops, if no two threads of a row touch the same byte; else None.
    """

    block: int
    variables: frozenset[Variable] | None
    effect: str
    is_interchanged: bool
    separate: Address | None = None


class LoopValues:
    """The rematerialization of values inside a loop: down to the registers that are kept at its head.

    Args:
        base: that of the kernel.
        definitions: the loop's own.
        kept: the registers at its head.
    """

    def __init__(self, base: Rematerializer, definitions: dict[str, Instruction], kept: frozenset[str]) -> None:
        self._base, self._definitions, self._kept = base, definitions, kept

    def definition(self, name: str) -> Instruction | None:
        """Return the instruction that computes a value, or None for one that is kept."""
        if name in self._kept:
            return None
        return self._definitions.get(name) or self._base.definition(name)

    def rematerialize_all(self, emitter: Services, names: list[str]) -> None:
        """Compute values at the emitter's position."""
        self._base.emit_all(emitter, names, self.definition)


@dataclass(slots=True)
class LoopPlan:
    """A loop that may be interchanged with the loop over a row's threads.

    Attributes:
        loop: the loop.
        live: the registers that live at its head.
        kept: those of them that are kept in memory for each thread.
        steps: kept register → its stride; the others have a value for each thread.
        saved: the registers without stride whose values at the end of an iteration are kept.
        rows: what must hold for an iteration.
        bands: variable that is written → the accesses to it that form a band together.
        is_parallel: whether LLVM may assume that the threads of an iteration are independent.
    """

    loop: InnermostLoop
    live: frozenset[str]
    kept: list[str]
    steps: dict[str, int]
    saved: list[str]
    rows: Rows
    bands: dict[Variable, list[list[Access]]] = field(default_factory=dict)
    is_parallel: bool = True

    @property
    def moving(self) -> list[str]:
        """The registers with a stride that an iteration changes."""
        return [name for name in self.steps if name in self.loop.last]


@dataclass(slots=True)
class _Needed:
    """What the addresses and the predicate of a loop are computed from.

    Attributes:
        registers: the registers in them.
        data: the bases of addresses that depend on memory, too.
    """

    registers: set[str] = field(default_factory=set)
    data: set[str] = field(default_factory=set)


@dataclass(slots=True)
class RegionPlan:
    """The loops of one region that may be interchanged.

    Attributes:
        loops: in the order of the code.
        live: block → the registers that live at its start.
        distinct: pairs of variables that must not be the same buffer.
    """

    loops: list[LoopPlan]
    live: list[frozenset[str]]
    distinct: list[tuple[Variable, Variable]]


def plan(body: Body, rematerializer: Rematerializer, index: int) -> RegionPlan | None:
    """Return the loops to interchange in the region after statement `index` (-1: at the start); None: none."""
    if body.local_bytes or body.has_calls or body.is_co_resident or body.emitter.flow.spins:
        return None
    return _Planner(body.emitter, rematerializer).plan(index)


class _Planner:
    def __init__(self, emitter: Services, rematerializer: Rematerializer) -> None:
        self.emitter, self.rematerializer = emitter, rematerializer
        self.flow = emitter.flow
        self._strides = Strides(rematerializer.all_definitions())
        self._points_to = PointsTo(self.flow.statements, emitter.frame.parameter_offsets)

    def plan(self, index: int) -> RegionPlan | None:
        blocks = self.flow.until_waits(index)
        loops = [loop for loop in innermost_loops(self.flow) if loop.number and (loop.number, True) in blocks]
        if not loops:
            return None
        self._read = effects.registers_read(self.flow.statements)
        self._live = self._live_in(index, blocks)
        plans: list[LoopPlan] = []
        for loop in loops:
            plan = self._loop(loop)
            if plan is not None:
                plans.append(plan)
        while plans:
            touches = self._touches(blocks, plans)
            if touches is None:
                return None
            distinct = self._is_legal(touches, plans)
            if distinct is not None:
                return RegionPlan(plans, self._live, distinct)
            plans.pop()
        return None

    def _live_in(self, index: int, blocks: Stretches) -> list[frozenset[str]]:
        """Block → the registers that live at its start and have their values, in the region after statement `index`.

        A register that the region neither reads nor sets is in memory all the time, where the wait before has saved it.
        """
        live = Liveness(self.flow.statements, self.flow.blocks, (), ()).live_in
        if index < 0:
            return live
        assert self.flow.liveness is not None
        present = self.flow.liveness.needed_after[index].union(effects.sets(self.flow.statements[index]))
        for start, end in blocks.values():
            present = present.union(*map(effects.sets, self.flow.statements[start:end]))
        return [registers & present for registers in live]

    # --- one loop -----------------------------------------------------------------------------------------------------

    def _loop(self, loop: InnermostLoop) -> LoopPlan | None:
        if len(loop.body) > _LARGEST_BODY or not all(self._admits(item) for item in loop.body):
            return None
        live, behind = self._live[loop.number], self._live[loop.number + 1]
        kept = self._kept(live)
        for name, register in loop.origin.items():
            self.emitter.declare(name, register)
        known = self.rematerializer.all_definitions()
        needed = self._needed(loop)
        if needed is None:
            return None
        needed.registers.intersection_update(kept)
        steps = self._guesses(loop, kept, needed.registers)
        definitions = known | loop.definitions
        for name in kept:
            definitions.pop(name, None)
        # Registers that do not keep their strides in an iteration are taken out until all that are left do.
        while True:
            strides = Strides(definitions, {name: Stride(step) for name, step in steps.items()})
            changing = [name for name, step in steps.items() if not _keeps(strides, loop.last.get(name), step)]
            if not changing:
                break
            if not needed.registers.isdisjoint(changing):
                return None
            for name in changing:
                del steps[name]
        values = LoopValues(self.rematerializer, loop.definitions, frozenset(kept))
        rows = Rows(self.emitter, values, strides, definitions)
        kept_behind = {*kept, *self._kept(behind)}
        saved = sorted(name for name in loop.last if name not in steps and name in kept_behind)
        plan = LoopPlan(loop=loop, live=live, kept=kept, steps=steps, saved=saved, rows=rows)
        for name in plan.moving:
            stride = strides.of(Register(loop.last[name]))
            assert stride is not None
            rows.widened |= stride.widened
        if not self._accesses(plan, needed.data) or not rows.is_monotone(loop.guard.register):
            return None
        return plan

    def _kept(self, live: frozenset[str]) -> list[str]:
        """The registers among those live that are kept in memory for each thread."""
        return self.rematerializer.kept(live & self.flow.types.keys())

    def _admits(self, item: Instruction) -> bool:
        facts = info(item)
        if facts.memory is MemoryEffect.UPDATE:
            return bool(commuting_kind(item, self._read))
        return facts.vectorizes and not effects.may_change_between_reads(item) and not is_ordered(item)

    def _needed(self, loop: InnermostLoop) -> _Needed | None:
        """What the addresses and the predicate are computed from; None where the predicate is data."""
        definitions = loop.definitions

        def follow(name: str, seen: set[str]) -> bool:
            """Whether a value is computed from registers alone."""
            if name in seen:
                return True
            seen.add(name)
            item = definitions.get(name)
            if item is None:
                return name not in loop.origin
            return all(follow(source, seen) for source in effects.reads(item))

        needed = _Needed()
        if not follow(loop.guard.register, needed.registers):
            return None
        for item in loop.body:
            address = effects.address_of(item)
            if address is not None and isinstance(address.base, Register):
                sources: set[str] = set()
                if follow(address.base.name, sources):
                    needed.registers |= sources
                else:
                    needed.data.add(address.base.name)
        return needed

    def _guesses(self, loop: InnermostLoop, kept: list[str], needed: set[str]) -> dict[str, int]:
        """The likely strides of the registers at a loop's head: those of values from outside the loop."""
        inside = self.flow.indices(loop.number)
        outside: dict[str, Instruction] = {}
        for index, item in enumerate(self.flow.statements):
            if index in inside or not isinstance(item, Instruction) or item.guard is not None or not item.operands:
                continue
            if info(item).result is ResultKind.NONE or not isinstance(item.operands[0], Register):
                continue
            if info(item).memory is MemoryEffect.NONE or space_of(item) == "param":
                outside.setdefault(item.operands[0].name, item)
        strides = Strides(outside)
        steps: dict[str, int] = {}
        for name in kept:
            if self.emitter.declared(name) not in (I32, I64):
                continue
            stride = strides.of(Register(name))
            if stride is not None:
                steps[name] = stride.step
            elif name in needed:
                steps[name] = 0
        return steps

    # --- memory -------------------------------------------------------------------------------------------------------

    def _accesses(self, plan: LoopPlan, data: set[str]) -> bool:
        """Whether each access has a narrow stride, or an address that is data and can be checked before any effect."""
        rows, has_effects = plan.rows, False
        for item in plan.loop.body:
            effect = info(item).memory
            if effect is MemoryEffect.NONE:
                continue
            address = effects.address_of(item)
            if address is None:
                return False
            is_data = isinstance(address.base, Register) and address.base.name in data
            if is_data or effect is MemoryEffect.UPDATE:
                if has_effects or self._variable(address, space_of(item)) is None:
                    return False
                if not rows.has_region(address, space_of(item)):
                    return False
                plan.is_parallel = False
            elif not rows.admits_access(item):
                return False
            has_effects = has_effects or effect is not MemoryEffect.READ
        widths = {abs(access.step) for access in rows.accesses.values()}
        return 0 < max(widths, default=0) <= _WIDEST_STEP

    def _variable(self, address: Address, space: str) -> Variable | None:
        """The variable in whose bounds an access of a loop is checked."""
        origin = self.emitter.provenance.of(address.base)
        if origin is None:
            return None
        if origin.kind == "symbol":
            return self._named(origin.name)
        return None if space == "shared" else ("param", origin.offset)

    def _named(self, name: int | str) -> Variable:
        """The variable of that name, or the parameter at that byte."""
        if isinstance(name, int):
            return "param", name
        key = self.emitter.unit.shared_key(self.emitter.function.name, name)
        return ("symbol", name) if key is None else ("shared", key)

    def _touches(self, blocks: Stretches, plans: list[LoopPlan]) -> list[_Touch] | None:
        """All accesses of a region; None where it does more than access memory."""
        touches: list[_Touch] = []
        loops = {item.loop.number for item in plans}
        for plan in plans:
            for item in plan.loop.body:
                if info(item).memory is MemoryEffect.NONE or space_of(item) == "param":
                    continue
                address = effects.address_of(item)
                assert address is not None
                variable = self._variable(address, space_of(item))
                is_proven = (address, lanes(item) * size(type_of(item))) in plan.rows.accesses
                touch = _Touch(
                    block=plan.loop.number,
                    variables=None if variable is None else frozenset([variable]),
                    effect=self._effect(item),
                    is_interchanged=is_proven and info(item).memory is not MemoryEffect.UPDATE,
                )
                touches.append(touch)
        for (number, _), (start, end) in blocks.items():
            if number in loops:
                continue
            for statement in self.flow.statements[start:end]:
                if isinstance(statement, Label):
                    continue
                if not isinstance(statement, Instruction) or not self._is_plain(statement):
                    return None
                if info(statement).memory is not MemoryEffect.NONE and space_of(statement) != "param":
                    touch = _Touch(
                        block=number,
                        variables=self._possible(statement),
                        effect=self._effect(statement),
                        is_interchanged=False,
                        separate=self._separate(statement),
                    )
                    touches.append(touch)
        return touches

    def _separate(self, item: Instruction) -> Address | None:
        """The address of an access, where no two threads of a row touch the same byte by it."""
        address = effects.address_of(item)
        if address is None:
            return None
        stride = self._strides.of(address.base)
        if stride is None or abs(stride.step) < lanes(item) * size(type_of(item)):
            return None
        return address

    def _is_plain(self, item: Instruction) -> bool:
        facts = info(item)
        if facts.crosses_blocks or facts.control not in {Control.NEXT, Control.BRANCH, Control.LEAVE}:
            return False
        if facts.memory is MemoryEffect.UPDATE:
            return bool(commuting_kind(item, self._read))
        if facts.memory is MemoryEffect.NONE:
            return not facts.observes_threads and facts.result is not ResultKind.VARYING
        return item.opcode in ("ld", "ldu", "st") and "async" not in item.modifiers and not is_ordered(item)

    def _effect(self, item: Instruction) -> str:
        if info(item).memory is MemoryEffect.UPDATE:
            return commuting_kind(item, self._read)
        return "" if info(item).memory is MemoryEffect.READ else "write"

    def _possible(self, item: Instruction) -> frozenset[Variable] | None:
        """The variables that an access outside the loops may touch."""
        address = effects.address_of(item)
        if address is None:
            return None
        if space_of(item) == "shared":
            return frozenset(("shared", key) for key in self.emitter.unit.shared)
        targets = self._points_to.of(address.base)
        return None if targets is None else frozenset(map(self._named, targets))

    # --- legality -----------------------------------------------------------------------------------------------------

    def _is_legal(self, touches: list[_Touch], plans: list[LoopPlan]) -> list[tuple[Variable, Variable]] | None:
        """Whether interchange keeps the order of accesses that conflict; the variables that must differ then."""
        everything: set[Variable] = set()
        stored: set[Variable] = set()
        for touch in touches:
            everything |= touch.variables or set()
            if touch.effect:
                stored |= touch.variables or set()
        has_effects = any(touch.effect for touch in touches)
        if has_effects and any(touch.variables is None for touch in touches):
            return None
        for variable in sorted(stored, key=str):
            reaching = [touch for touch in touches if touch.variables and variable in touch.variables]
            if len({touch.effect for touch in reaching}) == 1 and reaching[0].effect != "write":
                continue  # Atomic operations that commute.
            if all(touch.is_interchanged for touch in reaching):
                for plan in plans:
                    self._form_bands(plan, variable)
            elif not self._keeps_order(reaching, {plan.loop.number for plan in plans}):
                return None
        for plan in plans:
            for bands in plan.bands.values():
                for band in bands:
                    if not is_injective(band) or not _Movement(plan).is_even(band[0]):
                        return None
        pairs: list[tuple[Variable, Variable]] = []
        for variable in sorted(stored, key=str):
            for other in sorted(everything - {variable}, key=str):
                is_listed = other in stored and str(other) < str(variable)
                if not is_listed and "shared" not in (variable[0], other[0]):
                    pairs.append((variable, other))
        return pairs

    def _form_bands(self, plan: LoopPlan, variable: Variable) -> None:
        bands: list[list[Access]] = []
        open_bands: dict[object, list[Access]] = {}
        for access in sorted(plan.rows.accesses.values(), key=lambda access: access.address.offset):
            if self._variable(access.address, access.space) != variable:
                continue
            band = open_bands.get(access.address.base)
            if band is None or not is_injective([*band, access]):
                band = open_bands[access.address.base] = []
                bands.append(band)
            band.append(access)
        if bands:
            plan.bands[variable] = bands

    def _keeps_order(self, touches: list[_Touch], loops: set[int]) -> bool:
        """Whether accesses lie all before the loops that are interchanged, or all after.

        Threads run in order before the loops. After them, a thread that skips the loop is ahead of those that are
        parked there; so each must touch an element of its own, all at the same address.
        """
        blocks = {touch.block for touch in touches}
        if not blocks.isdisjoint(loops):
            return False
        if blocks.isdisjoint(self.flow.reachable(loops)):
            return True
        addresses = {touch.separate for touch in touches}
        return len(addresses) == 1 and None not in addresses and loops.isdisjoint(self.flow.reachable(blocks))


class _Movement:
    """How the registers of a loop change from each iteration to the next.

    Args:
        plan: of the loop.
    """

    def __init__(self, plan: LoopPlan) -> None:
        self._definitions, self._last = plan.loop.definitions, plan.loop.last
        self._moving = set(plan.moving)

    def is_even(self, access: Access) -> bool:
        """Whether an address grows by the same amount from each iteration to the next."""
        base = access.address.base
        return not isinstance(base, Register) or self._is_linear(base.name)

    def _moves(self, name: str) -> bool:
        if name in self._moving:
            return True
        item = self._definitions.get(name)
        return item is not None and any(map(self._moves, effects.reads(item)))

    def _is_sum(self, name: str, start: str) -> bool:
        """Whether a value is a register plus what does not change."""
        item = self._definitions.get(name)
        if name == start or item is None:
            return name == start
        operation = info(item).arithmetic
        if operation not in {Arithmetic.ADD, Arithmetic.SUBTRACT, Arithmetic.COPY}:
            return False
        changing = [source for source in effects.reads(item) if self._moves(source)]
        if len(changing) != 1 or (operation is Arithmetic.SUBTRACT and item.operands[1] != Register(changing[0])):
            return False
        return self._is_sum(changing[0], start)

    def _is_linear(self, name: str) -> bool:
        if not self._moves(name):
            return True
        item = self._definitions.get(name)
        if item is None:
            return self._is_sum(self._last[name], name)
        factors = [source for source in item.operands[1:3] if isinstance(source, Register) and self._moves(source.name)]
        operation = info(item).arithmetic
        if operation not in _LINEAR or (operation in _PRODUCTS and len(factors) > 1):
            return False
        if operation is Arithmetic.SHIFT_LEFT and item.operands[2] in factors:
            return False
        return all(map(self._is_linear, effects.reads(item)))


def _keeps(strides: Strides, name: str | None, step: int) -> bool:
    """Whether a value has a stride; one that the loop does not set has it anyway."""
    if name is None:
        return True
    stride = strides.of(Register(name))
    return stride is not None and stride.step == step
