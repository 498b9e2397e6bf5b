"""Vectorised rows: threads side by side along x whose accesses need no checks.

Where a region has no loop and each of its addresses grows by a constant from thread to thread, the accesses of a row's
first and last thread decide whether all in between are inside. Where they are, and each guard that compares such a
value (`if (i < n)`) lets the whole row pass, the row runs a copy of the code without checks, which LLVM can vectorise.
All other rows run the checked code, which also finds the faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, TypeGuard

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis.strides import Strides
from gpuregress.virtual_gpu.analysis.value_graph import ORDERS
from gpuregress.virtual_gpu.builder.services import Proven, Services
from gpuregress.virtual_gpu.builder.structured import I1, I32, I64, at, i32, i64
from gpuregress.virtual_gpu.builder.threads import dimension
from gpuregress.virtual_gpu.isa.memory.load_store import address_value, guessed_region
from gpuregress.virtual_gpu.ptx.modifiers import INDEX_BITS, SPACES, is_signed, lanes, size, space_of, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, Control, MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Label, Operand, Register, Statement, Symbol
from gpuregress.virtual_gpu.schedule.rematerialize import Rematerializer

SHORTEST_ROW = 16
"""Threads along x from which on proving a row costs less than checking it."""
_LARGEST_STEP = 1 << 20
"""Bytes between neighbours: so few that 1,024 threads cannot go round even 32-bit addresses."""
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

    @property
    def key(self) -> AccessKey:
        """What identifies it: its address and its bytes."""
        return self.address, self.count


AccessKey: TypeAlias = tuple[Address, int]


def is_injective(accesses: Sequence[Access]) -> bool:
    """Whether different threads touch different bytes by accesses with the same base and stride."""
    first = min(item.address.offset for item in accesses)
    end = max(item.address.offset + item.count for item in accesses)
    return end - first <= abs(accesses[0].step)


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
        pointers: dict[AccessKey, ir.Value] = {}
        for access, first in self.accesses:
            pointers[access.key] = at(b, first, b.mul(tid_x, i64(access.step))) if access.step else first
        return Proven(pointers, self.branches, is_watched=is_watched)


class ThreadValues(Protocol):
    """The values that can be computed for any thread of a row."""

    def definition(self, name: str) -> Instruction | None:
        """Return the instruction that computes a register."""

    def rematerialize_all(self, emitter: Services, names: list[str]) -> None:
        """Compute registers at the emitter's position."""


class RowValues(NamedTuple):
    """What the conditions of a row need of one of its threads.

    Attributes:
        registers: the value of each register that must not wrap.
        predicates: of each comparison, by the register that it sets.
        addresses: of each access.
    """

    registers: dict[str, ir.Value]
    predicates: dict[str, ir.Value]
    addresses: dict[AccessKey, ir.Value]


@dataclass(slots=True)
class Rows:
    """The conditions under which the rows of one region need no checks; see `plan`.

    Attributes:
        emitter: the kernel's.
        rematerializer: computes values for a thread of a row.
        strides: of the region's values.
        definitions: register → the instruction that `rematerializer` computes it by.
        accesses: those with a stride; each must be inside its region in the first and in the last thread.
        branches: guarded branch → whether all threads of a proven row take it.
        leaves: predicate → the comparison that sets it; it must hold in both threads, or in neither.
        guards: predicates, and whether they must hold.
        widened: 32-bit registers that must not wrap within a row, and whether they are signed.
        ordered: the same for 64-bit registers that are compared.
        first_values: the values of the first thread of the row that `prove` has looked at.
        touched: statements that access memory, with whether each thread of a proven row executes them.
    """

    emitter: Services
    rematerializer: ThreadValues
    strides: Strides
    definitions: dict[str, Instruction]
    accesses: dict[AccessKey, Access] = field(default_factory=dict)
    branches: dict[int, bool] = field(default_factory=dict)
    leaves: dict[str, Instruction] = field(default_factory=dict)
    guards: list[tuple[str, bool]] = field(default_factory=list)
    widened: set[tuple[str, bool]] = field(default_factory=set)
    ordered: set[tuple[str, bool]] = field(default_factory=set)
    first_values: RowValues = field(default_factory=lambda: RowValues({}, {}, {}))
    touched: list[tuple[int, bool]] = field(default_factory=list)

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
                if min(following, default=number + 1) <= number:
                    return False  # It is a loop.
                is_certain = is_certain and len(following) < 2
                pending += [(item, flow.blocks[item].start) for item in following if item not in seen]
                seen.update(following)
        return bool(self.accesses)

    def _is_watchable(self, index: int) -> bool:
        statement = self.emitter.flow.statements[index]
        return _is_access(statement) and space_of(statement) != "param"

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
        is_shared = unit.shared_key(self.emitter.function.name, origin.name) is not None
        if space == "shared":
            return is_shared
        return not is_shared and origin.name in unit.symbol_numbers

    def _following(self, number: int) -> list[int]:
        """The blocks that a proven row comes to from a block: one, where it ends with a guard that can be checked."""
        flow = self.emitter.flow
        block, last = flow.blocks[number], flow.last_of(number)
        if not isinstance(last, Instruction) or info(last).control is not Control.BRANCH or last.guard is None:
            return block.successors
        known = dict(self.leaves), set(self.widened), set(self.ordered)
        if not self.is_monotone(last.guard.register):
            self.leaves, self.widened, self.ordered = known
            return block.successors
        target, beyond = flow.block_of_label[flow.targets(last)[0]], number + 1
        # The branch with more memory in it is the one that is worth proving.
        taken = self._accesses_behind(target) > self._accesses_behind(beyond)
        self.branches[block.end - 1] = taken
        self.guards.append((last.guard.register, taken != last.guard.negated))
        return [target] if taken else [beyond]

    def _accesses_behind(self, number: int) -> int:
        flow, total = self.emitter.flow, 0
        for reached in flow.reachable([number]):
            total += sum(_is_access(flow.statements[index]) for index in flow.indices(reached))
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
        left, right = (self.strides.of(item) for item in instruction.operands[1:])
        if left is None or right is None or type_name not in INDEX_BITS or order not in ORDERS:
            return False
        if left.step and right.step:
            return False
        if (left.step or right.step) and order in ("eq", "ne"):
            return False
        self.leaves[name] = instruction
        for operand, stride in zip(instruction.operands[1:], (left, right), strict=True):
            self.widened |= stride.widened
            if stride.step and isinstance(operand, Register):
                must_not_wrap = self.widened if type_name.endswith("32") else self.ordered
                must_not_wrap.add((operand.name, is_signed(type_name)))
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
        first_values = self._values()
        become(b, last)
        last_values = self._values()
        self.first_values = first_values
        span = b.zext(last, I64)
        holds = [b.icmp_unsigned(">=", length, i32(SHORTEST_ROW))]
        for name, signed in sorted(self.widened):
            extend = b.sext if signed else b.zext
            grown = b.sub(extend(last_values.registers[name], I64), extend(first_values.registers[name], I64))
            holds.append(b.icmp_unsigned("==", grown, b.mul(span, i64(self._step(name)))))
        for name, signed in sorted(self.ordered):
            # A 64-bit value, which grows by less than 2^30 in a row, does not wrap in it.
            compare = b.icmp_signed if signed else b.icmp_unsigned
            order = ">=" if self._step(name) > 0 else "<="
            holds.append(compare(order, last_values.registers[name], first_values.registers[name]))
        holds += [
            b.icmp_unsigned("==", first_values.predicates[name], last_values.predicates[name]) for name in self.leaves
        ]
        for name, wanted in self.guards:
            value = self.first_predicate(name)
            holds.append(value if wanted else b.not_(value))
        accesses: list[tuple[Access, ir.Value]] = []
        for group in self._groups():
            inside, pointers = self._inside(group, first_values.addresses, last_values.addresses)
            holds += inside
            accesses += zip(group, pointers, strict=True)
        answer: ir.Value = ir.Constant(I1, 1)
        for part in holds:
            answer = b.and_(answer, part)
        emitter.builder = before
        return ProvenRow(answer, tuple(accesses), self.branches)

    def first_predicate(self, name: str) -> ir.Value:
        """The value of a predicate in the first thread of the row that `prove` has looked at."""
        if name in self.leaves:
            return self.first_values.predicates[name]
        instruction = self.rematerializer.definition(name)
        assert instruction is not None
        parts = [self.first_predicate(item.name) for item in instruction.operands[1:] if isinstance(item, Register)]
        return _LOGIC[info(instruction).arithmetic](self.emitter.builder, *parts)

    def addresses(self, accesses: list[Access]) -> dict[AccessKey, ir.Value]:
        """The addresses of accesses in the thread for which the emitter speaks."""
        self._rematerialize(item.address.base for item in accesses)
        return {item.key: address_value(self.emitter, item.address) for item in accesses}

    def _rematerialize(self, operands: Iterable[Operand]) -> None:
        names = dict.fromkeys(item.name for item in operands if isinstance(item, Register))
        self.rematerializer.rematerialize_all(self.emitter, [name for name in names if name in self.definitions])

    def _step(self, name: str) -> int:
        stride = self.strides.of(Register(name))
        assert stride is not None
        return stride.step

    def _values(self) -> RowValues:
        """The values of the thread for which the emitter speaks."""
        emitter = self.emitter
        operands: list[Operand] = [Register(name) for name, _ in sorted(self.widened)]
        for leaf in self.leaves.values():
            operands += leaf.operands[1:]
        operands += [item.address.base for item in self.accesses.values()]
        self._rematerialize(operands)
        registers: dict[str, ir.Value] = {}
        for name, _ in sorted(self.widened):
            registers[name] = emitter.read(Register(name), "b32")
        for name, _ in sorted(self.ordered):
            registers[name] = emitter.read(Register(name), "b64")
        predicates = {name: self._compare(leaf) for name, leaf in self.leaves.items()}
        addresses = {key: address_value(emitter, item.address) for key, item in self.accesses.items()}
        return RowValues(registers, predicates, addresses)

    def _compare(self, leaf: Instruction) -> ir.Value:
        order, type_name = leaf.modifiers
        left, right = (self.emitter.read(item, type_name) for item in leaf.operands[1:])
        if is_signed(type_name) and order in ("lt", "le", "gt", "ge"):
            return self.emitter.builder.icmp_signed(ORDERS[order], left, right)
        return self.emitter.builder.icmp_unsigned(ORDERS[order], left, right)

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
        self, group: list[Access], first: dict[AccessKey, ir.Value], last: dict[AccessKey, ir.Value]
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """That all accesses of a group are inside their region and aligned, and host pointers to the first thread's.

        Between the lowest and the highest address lies less than 2^31, and all of it is as aligned as they are.
        """
        emitter, b = self.emitter, self.emitter.builder
        lowest, highest = group[0], group[-1]
        if lowest.step >= 0:
            low, high = first[lowest.key], last[highest.key]
        else:
            low, high = last[lowest.key], first[highest.key]
        region = guessed_region(emitter, lowest.address, lowest.space, low.type)
        assert region is not None
        limit = emitter.view.limit(region, lowest.count, low.type)
        shift = ir.Constant(low.type, lowest.count.bit_length() - 1)
        holds = []
        for value in (low, high):
            offset = b.sub(value, region.base)
            rotated = emitter.intrinsic(f"llvm.fshr.i{value.type.width}", value.type, offset, offset, shift)
            holds.append(b.icmp_unsigned("<", rotated, limit))
        pointer = at(b, region.host, widened(b, b.sub(first[lowest.key], region.base)))
        return holds, [at(b, pointer, item.address.offset - lowest.address.offset) for item in group]


def widened(b: ir.IRBuilder, address: ir.Value) -> ir.Value:
    """Return an address of 32 or 64 bits as an i64."""
    return b.zext(address, I64) if address.type == I32 else address


def _is_access(statement: Statement) -> TypeGuard[Instruction]:
    if not isinstance(statement, Instruction):
        return False
    return info(statement).vectorizes and info(statement).memory is not MemoryEffect.NONE


def plan(emitter: Services, rematerializer: Rematerializer, index: int) -> Rows | None:
    """Return the conditions for a row of the region that starts after statement `index` (-1: at the start).

    Returns:
        None where no row of it can be proven.
    """
    definitions = rematerializer.all_definitions()
    rows = Rows(emitter, rematerializer, Strides(definitions), definitions)
    number = 0 if index < 0 else emitter.flow.block_at(index)
    return rows if rows.analyze(number, index + 1) else None
