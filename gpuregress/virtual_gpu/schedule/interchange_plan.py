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
from gpuregress.virtual_gpu.checks.program_facts import commuting_kind, registers_read
from gpuregress.virtual_gpu.functions.kernel_body import Body
from gpuregress.virtual_gpu.ptx.modifiers import is_ordered, lanes, size, space_of, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, Control, MemoryEffect, ResultKind, info
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Label, Register
from gpuregress.virtual_gpu.schedule.rematerialize import Rematerializer
from gpuregress.virtual_gpu.schedule.vectorised_rows import Access, Rows

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

Variable = tuple[str, object]
"""A buffer or variable: ("param", first byte), ("symbol", name) or ("shared", key)."""


class _Touch(Record):
    """A statement that accesses memory.

    Attributes:
        block: its block.
        variables: what it may access; None: anything.
        effect: "" for a read, `write`, or the kind of an atomic operation that commutes with itself.
        loop: whether it is in a loop that is interchanged, at addresses with a stride.
        own: its address outside these loops, if no two threads of a row touch the same byte; else None.
    """

    block: int
    variables: frozenset[Variable] | None
    effect: str
    loop: bool
    own: Address | None = None


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
class RegionPlan:
    """The loops of one region that may be interchanged.

    Attributes:
        loops: in the order of the code.
        exits: block behind a loop → the registers that are kept there.
        live: block → the registers that live at its start.
        distinct: pairs of variables that must not be the same buffer.
    """

    loops: list[LoopPlan]
    live: list[frozenset[str]]
    distinct: list[tuple[Variable, Variable]]


def plan(body: Body, rematerializer: Rematerializer, index: int) -> RegionPlan | None:
    """Return the loops to interchange in the region behind statement `index` (-1: at the start); None: none."""
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
        loops = [item for item in innermost_loops(self.flow) if (item.number, True) in blocks and item.number]
        if not loops:
            return None
        self._read = registers_read(self.flow.statements)
        self._live = Liveness(self.flow.statements, self.flow.blocks, (), ()).live_in
        plans = [item for item in map(self._loop, loops) if item is not None]
        while plans:
            touches = self._touches(blocks, plans)
            if touches is None:
                return None
            distinct = self._is_legal(touches, plans)
            if distinct is not None:
                return RegionPlan(plans, self._live, distinct)
            plans.pop()
        return None

    # --- one loop -----------------------------------------------------------------------------------------------------

    def _loop(self, loop: InnermostLoop) -> LoopPlan | None:
        if len(loop.body) > _LARGEST_BODY or not all(self._admits(item) for item in loop.body):
            return None
        live, behind = self._live[loop.number], self._live[loop.number + 1]
        kept = self._kept(live)
        for name, register in loop.origin.items():
            self.emitter.declare(name, register)
        known = self.rematerializer.all_definitions()
        needed, computed = self._needed(loop, set(kept))
        if needed is None:
            return None
        steps = self._guesses(loop, kept, needed)
        while True:
            leaves = {name: Stride(step) for name, step in steps.items()}
            definitions = known | loop.definitions
            definitions = {name: item for name, item in definitions.items() if name not in kept}
            strides = Strides(definitions, leaves)
            wrong = [name for name in steps if name in loop.last and not _keeps(strides, loop.last[name], steps[name])]
            if not wrong:
                break
            if needed.intersection(wrong):
                return None
            steps = {name: step for name, step in steps.items() if name not in wrong}
        values = LoopValues(self.rematerializer, loop.definitions, frozenset(kept))
        rows = Rows(self.emitter, values, strides, definitions)
        saved = [name for name in loop.last if name not in steps and (name in kept or name in self._kept(behind))]
        plan = LoopPlan(loop, live, kept, steps, sorted(saved), rows)
        for name in plan.moving:
            stride = strides.of(Register(loop.last[name]))
            assert stride is not None
            rows.widened |= stride.widened
        return plan if self._accesses(plan, computed) and rows.is_monotone(loop.guard.register) else None

    def _kept(self, live: frozenset[str]) -> list[str]:
        names = (name for name in live if name in self.emitter.flow.types)
        return sorted(name for name in names if name not in self.rematerializer)

    def _admits(self, item: Instruction) -> bool:
        facts = info(item)
        if facts.memory is MemoryEffect.UPDATE:
            return bool(commuting_kind(item, self._read))
        return facts.vectorizes and not effects.may_change_between_reads(item) and not is_ordered(item)

    def _needed(self, loop: InnermostLoop, kept: set[str]) -> tuple[set[str] | None, set[str]]:
        """The kept registers that addresses and the predicate are computed from, and the addresses that are data."""
        needed: set[str] = set()
        computed: set[str] = set()
        definitions = loop.definitions
        made = {name for item in loop.body for name in effects.sets(item)}

        def follow(name: str, seen: set[str]) -> bool:
            """Whether a value is computed from registers alone."""
            if name in seen:
                return True
            seen.add(name)
            item = definitions.get(name)
            if item is None:
                return name not in made
            return all(follow(other, seen) for other in effects.reads(item))

        seen: set[str] = set()
        if not follow(loop.guard.register, seen):
            return None, computed
        needed |= seen & kept
        for item in loop.body:
            address = _address(item)
            if address is not None and isinstance(address.base, Register):
                seen = set()
                if follow(address.base.name, seen):
                    needed |= seen & kept
                else:
                    computed.add(address.base.name)
        return needed, computed

    def _guesses(self, loop: InnermostLoop, kept: list[str], needed: set[str]) -> dict[str, int]:
        """The likely strides of the registers at a loop's head: those of values from outside the loop."""
        block = self.flow.blocks[loop.number]
        outside: dict[str, Instruction] = {}
        for index, item in enumerate(self.flow.statements):
            inside = block.start <= index < block.end
            if not isinstance(item, Instruction) or item.guard is not None or inside or not item.operands:
                continue
            reads_memory = info(item).memory is not MemoryEffect.NONE and space_of(item) != "param"
            if isinstance(item.operands[0], Register) and info(item).result is not ResultKind.NONE and not reads_memory:
                outside.setdefault(item.operands[0].name, item)
        strides, steps = Strides(outside), {}
        for name in kept:
            if self.emitter.declared(name) not in (I32, I64):
                continue
            stride = strides.of(Register(name))
            if stride is not None or name in needed:
                steps[name] = 0 if stride is None else stride.step
        return steps

    # --- memory -------------------------------------------------------------------------------------------------------

    def _accesses(self, plan: LoopPlan, computed: set[str]) -> bool:
        """Whether each access has a narrow stride, or an address that is data and can be checked before any effect."""
        rows, has_effects = plan.rows, False
        for item in plan.loop.body:
            effect = info(item).memory
            if effect is MemoryEffect.NONE:
                continue
            address = _address(item)
            if address is None:
                return False
            data = isinstance(address.base, Register) and address.base.name in computed
            if data or effect is MemoryEffect.UPDATE:
                if has_effects or self._variable(address, space_of(item)) is None:
                    return False
                if not rows.has_region(address, space_of(item)):
                    return False
                plan.is_parallel = False
            elif not rows.admits_access(item):
                return False
            has_effects = has_effects or effect is not MemoryEffect.READ
        if not rows.accesses or any(abs(item.step) > _WIDEST_STEP for item in rows.accesses.values()):
            return False
        return any(item.step for item in rows.accesses.values())

    def _variable(self, address: Address, space: str) -> Variable | None:
        """The variable in whose bounds an access of a loop is checked."""
        origin = self.emitter.provenance.of(address.base)
        if origin is None:
            return None
        if origin.kind == "param":
            return ("param", origin.offset) if space != "shared" else None
        return self._named(origin.name)

    def _named(self, name: str) -> Variable:
        key = self.emitter.unit.shared_key(self.emitter.function.name, name)
        return ("symbol", name) if key is None else ("shared", key)

    def _touches(self, blocks: dict[tuple[int, bool], tuple[int, int]], plans: list[LoopPlan]) -> list[_Touch] | None:
        """All accesses of a region; None where it does more than access memory."""
        touches: list[_Touch] = []
        loops = {item.loop.number for item in plans}
        for plan in plans:
            for item in plan.loop.body:
                if info(item).memory is MemoryEffect.NONE or space_of(item) == "param":
                    continue
                address = _address(item)
                assert address is not None
                variable = self._variable(address, space_of(item))
                proven = (address, lanes(item) * size(type_of(item))) in plan.rows.accesses
                proven = proven and info(item).memory is not MemoryEffect.UPDATE
                variables = frozenset([variable]) if variable else None
                touches.append(_Touch(plan.loop.number, variables, self._effect(item), proven))
        for (number, _), (start, end) in blocks.items():
            for statement in self.flow.statements[start:end] if number not in loops else ():
                if isinstance(statement, Label):
                    continue
                if not isinstance(statement, Instruction) or not self._is_plain(statement):
                    return None
                if info(statement).memory is not MemoryEffect.NONE and space_of(statement) != "param":
                    variables, effect = self._possible(statement), self._effect(statement)
                    touches.append(_Touch(number, variables, effect, loop=False, own=self._own(statement)))
        return touches

    def _own(self, item: Instruction) -> Address | None:
        address = _address(item)
        stride = None if address is None else self._strides.of(address.base)
        return None if stride is None or abs(stride.step) < lanes(item) * size(type_of(item)) else address

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
        address = _address(item)
        if address is None:
            return None
        if space_of(item) == "shared":
            return frozenset(("shared", key) for key in self.emitter.unit.shared)
        found = self._points_to.of(address.base)
        if found is None:
            return None
        return frozenset(("param", name) if isinstance(name, int) else self._named(name) for name in found)

    # --- legality -----------------------------------------------------------------------------------------------------

    def _is_legal(self, touches: list[_Touch], plans: list[LoopPlan]) -> list[tuple[Variable, Variable]] | None:
        """Whether interchange keeps the order of accesses that conflict; the variables that must differ then."""
        written = [item for item in touches if item.effect]
        if written and any(item.variables is None for item in touches):
            return None
        everything = frozenset[Variable]().union(*(item.variables or frozenset() for item in touches))
        stored = frozenset[Variable]().union(*(item.variables or frozenset() for item in written))
        for variable in sorted(stored, key=str):
            mine = [item for item in touches if item.variables and variable in item.variables]
            if len({item.effect for item in mine}) == 1 and mine[0].effect != "write":
                continue  # Atomic operations that commute.
            if all(item.loop for item in mine):
                for plan in plans:
                    self._form_bands(plan, variable)
            elif not self._keeps_order(mine, {plan.loop.number for plan in plans}):
                return None
        for plan in plans:
            for bands in plan.bands.values():
                if not all(_is_injective(band) and self._moves_evenly(plan, band[0]) for band in bands):
                    return None
        return [
            (one, other)
            for one in sorted(stored, key=str)
            for other in sorted(everything, key=str)
            if one != other and "shared" not in (one[0], other[0]) and not (other in stored and str(other) < str(one))
        ]

    def _form_bands(self, plan: LoopPlan, variable: Variable) -> None:
        bands: list[list[Access]] = []
        open_bands: dict[object, list[Access]] = {}
        mine = (item for item in plan.rows.accesses.values() if self._variable(item.address, item.space) == variable)
        for item in sorted(mine, key=lambda item: item.address.offset):
            band = open_bands.get(item.address.base)
            if band is None or not _is_injective([*band, item]):
                band = open_bands[item.address.base] = []
                bands.append(band)
            band.append(item)
        if bands:
            plan.bands[variable] = bands

    def _moves_evenly(self, plan: LoopPlan, access: Access) -> bool:
        """Whether an address grows by the same amount from each iteration to the next."""
        definitions, moving = plan.loop.definitions, set(plan.moving)

        def moves(name: str) -> bool:
            item = definitions.get(name)
            return name in moving or (item is not None and any(map(moves, effects.reads(item))))

        def is_sum(name: str, start: str) -> bool:
            """Whether a value is a register plus what does not change."""
            item = definitions.get(name)
            if name == start or item is None:
                return name == start
            if info(item).arithmetic not in {Arithmetic.ADD, Arithmetic.SUBTRACT, Arithmetic.COPY}:
                return False
            changing = [other for other in effects.reads(item) if moves(other)]
            first = item.operands[1]
            subtracted = info(item).arithmetic is Arithmetic.SUBTRACT and changing != [getattr(first, "name", "")]
            return len(changing) == 1 and not subtracted and is_sum(changing[0], start)

        def is_linear(name: str) -> bool:
            item = definitions.get(name)
            if not moves(name):
                return True
            if item is None:
                return is_sum(plan.loop.last[name], name)
            factors = [other for other in item.operands[1:3] if isinstance(other, Register) and moves(other.name)]
            operation = info(item).arithmetic
            if operation not in _LINEAR or (operation in _PRODUCTS and len(factors) > 1):
                return False
            if operation is Arithmetic.SHIFT_LEFT and item.operands[2] in factors:
                return False
            return all(map(is_linear, effects.reads(item)))

        return not isinstance(access.address.base, Register) or is_linear(access.address.base.name)

    def _keeps_order(self, touches: list[_Touch], loops: set[int]) -> bool:
        """Whether accesses lie all before the loops that are interchanged, or all behind.

        Threads run in order before the loops. Behind them, a thread that skips the loop is ahead of those that are
        parked there; so each must touch an element of its own, all at the same address.
        """
        blocks = {item.block for item in touches}
        if not blocks.isdisjoint(loops):
            return False
        behind = self._reachable({item for loop in loops for item in self.flow.blocks[loop].successors})
        if blocks.isdisjoint(behind):
            return True
        own = {item.own for item in touches}
        return len(own) == 1 and None not in own and all(loops.isdisjoint(self._reachable({item})) for item in blocks)

    def _reachable(self, starts: set[int]) -> set[int]:
        seen, pending = set[int](), list(starts)
        while pending:
            number = pending.pop()
            if number not in seen:
                seen.add(number)
                pending += self.flow.blocks[number].successors
        return seen


def _address(item: Instruction) -> Address | None:
    return next((operand for operand in item.operands if isinstance(operand, Address)), None)


def _keeps(strides: Strides, name: str, step: int) -> bool:
    stride = strides.of(Register(name))
    return stride is not None and stride.step == step


def _is_injective(band: list[Access]) -> bool:
    """Whether different threads touch different bytes of a band."""
    first = min(item.address.offset for item in band)
    last = max(item.address.offset + item.count for item in band)
    return last - first <= abs(band[0].step)
