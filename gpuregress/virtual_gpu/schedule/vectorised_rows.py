"""Vectorised rows: threads side by side along x whose accesses need no checks.

Where a region has no loop and each of its addresses grows by a constant from thread to thread, the accesses of a row's
first and last thread decide whether all in between are inside. Where they are, and each guard that compares such a
value (`if (i < n)`) lets the whole row pass, the row runs a copy of the code without checks, which LLVM can vectorise.
All other rows run the checked code, which also finds the faults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis.strides import Stride, Strides
from gpuregress.virtual_gpu.builder.services import Proven, Services
from gpuregress.virtual_gpu.builder.structured import I1, I32, I64, at, i32, i64
from gpuregress.virtual_gpu.builder.threads import dimension
from gpuregress.virtual_gpu.isa.memory.load_store import address_value, guessed_region
from gpuregress.virtual_gpu.ptx.modifiers import INDEX_BITS, SPACES, is_signed, lanes, size, space_of, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, Control, MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Label, Register, Statement, Symbol
from gpuregress.virtual_gpu.schedule.rematerialize import Rematerializer

SHORTEST_ROW = 16
"""Threads along x from which on proving a row costs less than checking it."""
_LARGEST_STEP = 1 << 20
"""Bytes between neighbours: so few that 1,024 threads cannot go round even 32-bit addresses."""
_ORDERS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
_EQUAL = {"eq": "==", "ne": "!="}
_LOGIC: dict[Arithmetic, Callable[..., ir.Value]] = {
    Arithmetic.NOT: ir.IRBuilder.not_,
    Arithmetic.AND: ir.IRBuilder.and_,
    Arithmetic.OR: ir.IRBuilder.or_,
    Arithmetic.XOR: ir.IRBuilder.xor,
}


class Access(Record):
    """An access with a stride.

    Attributes:
        address: `[base + offset]`.
        space: "" for a generic address.
        count: bytes.
        step: its stride.
    """

    address: Address
    space: str
    count: int
    step: int


class ProvenRow(Record):
    """The result of `Rows.prove`.

    Attributes:
        holds: whether nothing need be checked in this row, i1.
        accesses: each access with a host pointer to where the row's first thread makes it.
        branches: guarded branch → whether it is taken.
    """

    holds: ir.Value
    accesses: tuple[tuple[Access, ir.Value], ...]
    branches: dict[int, bool]

    def of_thread(self, b: ir.IRBuilder, tid_x: ir.Value, *, is_watched: bool) -> Proven:
        """Return the facts proven for one of the row's threads; `tid_x` is an i64."""
        pointers = {
            (item.address, item.count): at(b, first, b.mul(tid_x, i64(item.step))) if item.step else first
            for item, first in self.accesses
        }
        return Proven(pointers, self.branches, is_watched=is_watched)


class RowValues(Protocol):
    """The values that can be computed for any thread of a row."""

    def definition(self, name: str) -> Instruction | None:
        """Return the instruction that computes a register."""

    def rematerialize_all(self, emitter: Services, names: list[str]) -> None:
        """Compute registers at the emitter's position."""


@dataclass(slots=True)
class Rows:
    """The conditions under which the rows of one region need no checks; see `plan`."""

    emitter: Services
    rematerializer: RowValues
    strides: Strides
    definitions: dict[str, Instruction]
    accesses: dict[tuple[Address, int], Access] = field(default_factory=dict)
    branches: dict[int, bool] = field(default_factory=dict)
    leaves: dict[str, Instruction] = field(default_factory=dict)
    guards: list[tuple[str, bool]] = field(default_factory=list)
    widened: set[tuple[str, bool]] = field(default_factory=set)
    ordered: set[tuple[str, bool]] = field(default_factory=set)
    first_values: dict[object, ir.Value] = field(default_factory=dict)
    touched: list[tuple[int, bool]] = field(default_factory=list)
    """Statements that access memory, with whether each thread of a proven row executes them."""

    # --- looking at the code ------------------------------------------------------------------------------------------

    def analyze(self, number: int, start: int) -> bool:
        """Whether the code from a statement on to the next waits can be proven at all."""
        flow = self.emitter.flow
        pending, seen = [(number, start)], {number}
        is_certain = True
        while pending:
            number, start = pending.pop()
            for index in range(start, flow.blocks[number].end):
                if not self._admits(index):
                    return False
                if self._is_watchable(index):
                    self.touched.append((index, is_certain))
                if index in flow.waits:
                    break
            else:
                following = self._following(number)
                if any(item <= number for item in following):
                    return False
                is_certain = is_certain and len(following) < 2
                pending += [(item, flow.blocks[item].start) for item in following if item not in seen]
                seen.update(following)
        return bool(self.accesses)

    def _is_watchable(self, index: int) -> bool:
        statement = self.emitter.flow.statements[index]
        return _is_access(statement) and isinstance(statement, Instruction) and space_of(statement) != "param"

    def _admits(self, index: int) -> bool:
        statement = self.emitter.flow.statements[index]
        if isinstance(statement, Label):
            return True
        if not isinstance(statement, Instruction) or not info(statement).vectorizes:
            return False
        if statement.guard is not None and info(statement).control is not Control.BRANCH:
            return False
        return info(statement).memory is MemoryEffect.NONE or self.admits_access(statement)

    def admits_access(self, instruction: Instruction) -> bool:
        """Whether an access has a stride and a region that are known; it is then one of `accesses`."""
        address = instruction.operands[1 if info(instruction).memory is MemoryEffect.READ else 0]
        space = space_of(instruction)
        if not isinstance(address, Address) or "volatile" in instruction.modifiers:
            return False
        if space == "param":
            base = address.base
            return isinstance(base, Symbol) and base.name in self.emitter.frame.parameter_offsets
        if space not in SPACES or space == "local":
            return False
        stride = self.strides.of(address.base)
        count = lanes(instruction) * size(type_of(instruction))
        if stride is None or abs(stride.step) >= _LARGEST_STEP or stride.step % count:
            return False
        if not self.has_region(address, space):
            return False
        known = self.accesses.get((address, count))
        if known is not None and known.space != space:
            return False
        self.accesses[(address, count)] = Access(address, space, count, stride.step)
        self.widened |= stride.widened
        return True

    def has_region(self, address: Address, space: str) -> bool:
        """Whether `guessed_region` has an answer that is known before the threads run."""
        origin, unit = self.emitter.provenance.of(address.base), self.emitter.unit
        if origin is None:
            return False
        if origin.kind == "param":
            return space in ("", "global", "const")
        shared = unit.shared_key(self.emitter.function.name, origin.name)
        return shared is not None if space == "shared" else shared is None and origin.name in unit.symbol_numbers

    def _following(self, number: int) -> list[int]:
        flow = self.emitter.flow
        block = flow.blocks[number]
        index = block.end - 1
        last = flow.statements[index] if block.end > block.start else None
        if not isinstance(last, Instruction) or info(last).control is not Control.BRANCH or last.guard is None:
            return block.successors
        known = dict(self.leaves), set(self.widened), set(self.ordered)
        if not self.is_monotone(last.guard.register):
            self.leaves, self.widened, self.ordered = known
            return block.successors
        target, beyond = flow.block_of_label[flow.targets(last)[0]], number + 1
        # The way with more memory in it is the one that is worth proving.
        taken = self._accesses_behind(target) > self._accesses_behind(beyond)
        self.branches[index] = taken
        self.guards.append((last.guard.register, taken != last.guard.negated))
        return [target if taken else beyond]

    def _accesses_behind(self, number: int) -> int:
        flow, total = self.emitter.flow, 0
        pending, seen = [number], {number}
        while pending:
            block = flow.blocks[pending.pop()]
            total += sum(map(_is_access, flow.statements[block.start : block.end]))
            pending += [item for item in block.successors if item not in seen]
            seen.update(block.successors)
        return total

    def is_monotone(self, name: str) -> bool:
        """Whether a predicate compares values that change monotonically along a row."""
        instruction = self.rematerializer.definition(name)
        if instruction is None:
            return False
        operation = info(instruction).arithmetic
        if operation in _LOGIC:
            return all(isinstance(item, Register) and self.is_monotone(item.name) for item in instruction.operands[1:])
        if operation is not Arithmetic.COMPARE or len(instruction.operands) != 3 or len(instruction.modifiers) != 2:
            return False
        order, type_name = instruction.modifiers
        strides = [self.strides.of(item) for item in instruction.operands[1:]]
        known: list[Stride] = [item for item in strides if item is not None]
        if len(known) < 2 or type_name not in INDEX_BITS or order not in {*_ORDERS, *_EQUAL}:
            return False
        moving = [item.step != 0 for item in known]
        if all(moving) or (any(moving) and order in _EQUAL):
            return False
        self.leaves[name] = instruction
        for operand, stride, moves in zip(instruction.operands[1:], known, moving, strict=True):
            self.widened |= stride.widened
            if moves and isinstance(operand, Register):
                wraps = self.widened if type_name.endswith("32") else self.ordered
                wraps.add((operand.name, is_signed(type_name)))
            if abs(stride.step) >= _LARGEST_STEP:
                return False
        return True

    # --- what is checked when the kernel runs -------------------------------------------------------------------------

    def prove(self, b: ir.IRBuilder, become: Callable[[ir.IRBuilder, ir.Value], None]) -> ProvenRow:
        """Build the checks for one row; `become(builder, tid_x)` makes the emitter speak for one of its threads."""
        emitter = self.emitter
        before, emitter.builder = emitter.builder, b
        length = dimension(emitter.view, "block_x")
        last = b.sub(length, i32(1))
        become(b, i32(0))
        self.first_values = first_values = self._values()
        become(b, last)
        last_values = self._values()
        span = b.zext(last, I64)
        holds = [b.icmp_unsigned(">=", length, i32(SHORTEST_ROW))]
        for name, signed in sorted(self.widened):
            extend = b.sext if signed else b.zext
            grown = b.sub(extend(last_values[name], I64), extend(first_values[name], I64))
            stride = self.strides.of(Register(name))
            assert stride is not None
            holds.append(b.icmp_unsigned("==", grown, b.mul(span, i64(stride.step))))
        holds += [
            self._in_order(name, first_values[name], last_values[name], signed) for name, signed in sorted(self.ordered)
        ]
        holds += [b.icmp_unsigned("==", first_values[name], last_values[name]) for name in self.leaves]
        for name, wanted in self.guards:
            value = self._predicate(name, first_values)
            holds.append(value if wanted else b.not_(value))
        accesses: list[tuple[Access, ir.Value]] = []
        for group in self._groups():
            inside, pointers = self._inside(group, first_values, last_values)
            holds += inside
            accesses += zip(group, pointers, strict=True)
        answer: ir.Value = ir.Constant(I1, 1)
        for part in holds:
            answer = b.and_(answer, part)
        emitter.builder = before
        return ProvenRow(answer, tuple(accesses), self.branches)

    def first_predicate(self, name: str) -> ir.Value:
        """The value of a predicate in the first thread of the row that `prove` has looked at."""
        return self._predicate(name, self.first_values)

    def addresses(self, accesses: list[Access]) -> dict[int, ir.Value]:
        """The addresses of accesses in the thread for which the emitter speaks, by `id`."""
        bases = [item.address.base.name for item in accesses if isinstance(item.address.base, Register)]
        known = [name for name in dict.fromkeys(bases) if name in self.definitions]
        self.rematerializer.rematerialize_all(self.emitter, known)
        return {id(item): address_value(self.emitter, item.address) for item in accesses}

    def _in_order(self, name: str, first: ir.Value, last: ir.Value, signed: bool) -> ir.Value:  # noqa: FBT001 - a pair's
        """That a 64-bit value, which grows by less than 2^30 in a row, does not wrap in it."""
        stride = self.strides.of(Register(name))
        assert stride is not None
        b = self.emitter.builder
        compare = b.icmp_signed if signed else b.icmp_unsigned
        return compare(">=" if stride.step > 0 else "<=", last, first)

    def _values(self) -> dict[object, ir.Value]:
        """The values of one thread: widened registers, comparisons and addresses."""
        emitter = self.emitter
        compared = [item for leaf in self.leaves.values() for item in leaf.operands[1:]]
        named = [name for name, _ in sorted(self.widened)]
        named += [item.name for item in compared if isinstance(item, Register)]
        named += [key[0].base.name for key in self.accesses if isinstance(key[0].base, Register)]
        self.rematerializer.rematerialize_all(
            emitter, [name for name in dict.fromkeys(named) if name in self.definitions]
        )
        values: dict[object, ir.Value] = {}
        for name, _ in sorted(self.widened):
            values[name] = emitter.read(Register(name), "b32")
        for name, _ in sorted(self.ordered):
            values[name] = emitter.read(Register(name), "b64")
        for name, leaf in self.leaves.items():
            values[name] = self._compare(leaf)
        for key, item in self.accesses.items():
            values[key] = address_value(emitter, item.address)
        return values

    def _compare(self, leaf: Instruction) -> ir.Value:
        order, type_name = leaf.modifiers
        left, right = (self.emitter.read(item, type_name) for item in leaf.operands[1:])
        signed = is_signed(type_name) and order in ("lt", "le", "gt", "ge")
        compare = self.emitter.builder.icmp_signed if signed else self.emitter.builder.icmp_unsigned
        return compare(_ORDERS.get(order) or _EQUAL[order], left, right)

    def _predicate(self, name: str, values: dict[object, ir.Value]) -> ir.Value:
        if name in self.leaves:
            return values[name]
        b, instruction = self.emitter.builder, self.rematerializer.definition(name)
        assert instruction is not None
        parts = [self._predicate(item.name, values) for item in instruction.operands[1:] if isinstance(item, Register)]
        return _LOGIC[info(instruction).arithmetic](b, *parts)

    def _groups(self) -> list[list[Access]]:
        """The accesses that differ by a constant, a multiple of their bytes, in the order of their addresses."""
        groups: dict[object, list[Access]] = {}
        for item in sorted(self.accesses.values(), key=lambda item: item.address.offset):
            key = (item.address.base, item.space, item.count, item.address.offset % item.count)
            started = groups.setdefault(key, [])
            if started and item.address.offset - started[0].address.offset >= _LARGEST_STEP:
                started = groups[(*key, item.address.offset)] = []
            started.append(item)
        return list(groups.values())

    def _inside(
        self, group: list[Access], first: dict[object, ir.Value], last: dict[object, ir.Value]
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """That all accesses of a group are inside their region and aligned, and host pointers to the first thread's.

        Between the lowest and the highest address lies less than 2^31, and all of it is as aligned as they are.
        """
        emitter, b, lowest, highest = self.emitter, self.emitter.builder, group[0], group[-1]
        ends = (first, last) if lowest.step >= 0 else (last, first)
        low, high = (values[_key(item)] for values, item in zip(ends, (lowest, highest), strict=True))
        region = guessed_region(emitter, lowest.address, lowest.space, low.type)
        assert region is not None
        limit = emitter.view.limit(region, lowest.count, low.type)
        shift = ir.Constant(low.type, lowest.count.bit_length() - 1)
        holds = []
        for value in (low, high):
            offset = b.sub(value, region.base)
            rotated = emitter.intrinsic(f"llvm.fshr.i{value.type.width}", value.type, offset, offset, shift)
            holds.append(b.icmp_unsigned("<", rotated, limit))
        start = b.sub(first[_key(lowest)], region.base)
        pointer = at(b, region.host, b.zext(start, I64) if low.type == I32 else start)
        return holds, [at(b, pointer, item.address.offset - lowest.address.offset) for item in group]


def _key(item: Access) -> tuple[Address, int]:
    return (item.address, item.count)


def _is_access(statement: Statement) -> bool:
    if not isinstance(statement, Instruction):
        return False
    return info(statement).vectorizes and info(statement).memory is not MemoryEffect.NONE


def plan(emitter: Services, rematerializer: Rematerializer, index: int) -> Rows | None:
    """Return the conditions for a row of the region that starts behind statement `index` (-1: at the start).

    Returns:
        None where no row of it can be proven.
    """
    definitions = rematerializer.all_definitions()
    rows = Rows(emitter, rematerializer, Strides(definitions), definitions)
    number = 0 if index < 0 else emitter.flow.block_at(index)
    return rows if rows.analyze(number, index + 1) else None
