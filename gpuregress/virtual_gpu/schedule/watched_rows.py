"""Dynamic checks of a vectorised row, before any of its threads runs.

Where the quick way of the checks suffices for all of them, they are noted and the row runs a copy of the code without
checks. Two accesses of different threads of the row must not meet, unless both read and nothing has to be noted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

from llvmlite import ir

from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.builder.structured import I1, I64, Cell, counted, i64
from gpuregress.virtual_gpu.builder.threads import dimension
from gpuregress.virtual_gpu.checks import synchronization
from gpuregress.virtual_gpu.checks.access_check import RowAccess, RowRules
from gpuregress.virtual_gpu.checks.access_notes import UNSHARED, AccessNote, RegionFlags, flags_of, rules
from gpuregress.virtual_gpu.checks.shadow_cells import READ, CellAccess
from gpuregress.virtual_gpu.isa.memory.load_store import MemoryAccess, access_site
from gpuregress.virtual_gpu.ptx.modifiers import lanes, size, space_of, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction
from gpuregress.virtual_gpu.runtime.checks import layout
from gpuregress.virtual_gpu.schedule.vectorised_rows import Access, AccessKey, Rows, is_injective, widened

SharedKey = tuple[str, str]
_MOST_PAIRS = 64


@dataclass(slots=True)
class _Touch:
    """The accesses of each thread of a row to one address.

    Attributes:
        access: the address and its stride.
        flags: of the region of global memory; None for shared memory.
        notes: what each of them does, in the order of the code.
        is_certain: whether each thread makes all of them.
        settled: whether nothing need be examined, i1; set when the code is built.
    """

    access: Access
    flags: RegionFlags | None
    notes: list[AccessNote] = field(default_factory=list)
    is_certain: bool = True
    settled: ir.Value = field(default_factory=lambda: ir.Constant(I1, 0))

    @property
    def writes(self) -> bool:
        """Whether any of them writes."""
        return any(note.action != "read" for note in self.notes)

    def of_row(self) -> RowAccess:
        """The accesses as their check sees them."""
        return RowAccess(
            space="shared" if self.flags is None else "global",
            step=self.access.step,
            count=self.access.count,
            reads_first=self.notes[0].action == "read",
            writes=self.writes,
            reads_last=self.notes[-1].action == "read",
            is_incoherent=any(note.is_incoherent for note in self.notes),
        )

    def last_flags(self, *, is_read: bool) -> int:
        """The flags of the last read, or of the last write; 0 where there is none."""
        for note in reversed(self.notes):
            if (note.action == "read") is is_read:
                return note.flags
        return 0


class WatchedRow:
    """The checks of one region's rows.

    Args:
        emitter: the kernel's.
        rows: the region's.
        complete: shared variable → whether the block has written all of it; None where the region may write shared
            memory, or is not between barriers of the block.
    """

    def __init__(self, emitter: Services, rows: Rows, complete: Mapping[SharedKey, Cell] | None) -> None:
        self._emitter, self._rows = emitter, rows
        self._complete, self._reads_shared = complete, complete is not None
        self._rules = RowRules(rules(emitter))
        self._touches: dict[AccessKey, _Touch] = {}

    def analyze(self) -> bool:
        """Whether the rows can be examined as a whole."""
        if self._emitter.unit.clustered:
            return False
        for index, is_certain in self._rows.touched:
            statement = self._emitter.flow.statements[index]
            assert isinstance(statement, Instruction)
            if not self._add(statement, is_certain=is_certain):
                return False
        return sum(1 for _ in self._pairs()) <= _MOST_PAIRS

    def _add(self, item: Instruction, *, is_certain: bool) -> bool:
        emitter, is_read = self._emitter, info(item).memory is MemoryEffect.READ
        address, space = item.operands[1 if is_read else 0], space_of(item)
        assert isinstance(address, Address)
        if space == "const":
            return True
        if item.used_bytes is not None or item.live_if:
            return False  # the code that checks each access watches what is used alone
        count = lanes(item) * size(type_of(item))
        action = "read" if is_read else "write"
        site = access_site(emitter, MemoryAccess(item, address, space, count, action))
        note = AccessNote(item, action, space, count, site)
        flags = None if space == "shared" else flags_of(emitter, address)
        if note.is_strong or (space != "shared" and flags is None):
            return False
        touch = self._touches.setdefault((address, count), _Touch(self._rows.accesses[(address, count)], flags))
        touch.notes.append(note)
        touch.is_certain = touch.is_certain and is_certain
        # What is written by all threads at once, or by some only, is left to the code that checks each access.
        is_open = space == "shared" and not self._reads_shared
        return not (is_open and (not is_certain or (touch.writes and not touch.access.step)))

    def _pairs(self) -> Iterator[tuple[_Touch, _Touch]]:
        """Accesses that are noted, and might meet where they are made by different threads."""
        noted = [touch for touch in self._touches.values() if self._is_noted(touch)]
        for first, second in combinations(noted, 2):
            if (first.flags is None) == (second.flags is None) and not _are_apart(first.access, second.access):
                yield first, second

    def _is_noted(self, touch: _Touch) -> bool:
        """Whether accesses leave a note: shared memory that a region only reads needs none."""
        return touch.flags is not None or not self._reads_shared

    # --- code ---------------------------------------------------------------------------------------------------------

    def build(self, b: ir.IRBuilder, first: ir.Value, proven: ir.Block, checked: ir.Block) -> None:
        """Examine one row, and note its accesses.

        Args:
            b: where the row starts; its bounds have been proven.
            first: the number of its first thread.
            proven: where to go if nothing else need be checked.
            checked: where to go otherwise; nothing has been noted.
        """
        view = self._emitter.view
        self._width = b.zext(dimension(view, "block_x"), I64)
        self._first = {key: widened(b, value) for key, value in self._rows.first_values.addresses.items()}
        epoch = synchronization.now(b, view.machine, first)
        for touch in self._touches.values():
            touch.settled = _is_settled(b, self._emitter, touch.access.address, touch.flags, self._complete)
        holds = Cell(b, ir.Constant(I1, 1))
        for pair in self._pairs():
            holds.set(b.and_(holds.get(b), self._do_not_meet(b, *pair)), b)
        for touch in self._touches.values():
            with b.if_then(b.not_(touch.settled)):
                holds.set(b.and_(holds.get(b), self._test(b, touch, epoch)), b)
        note = b.append_basic_block("note_row")
        b.cbranch(holds.get(b), note, checked)
        b.position_at_end(note)
        for touch in self._touches.values():
            if self._is_noted(touch):
                with b.if_then(b.not_(touch.settled)):
                    self._note(b, touch, epoch)
        b.branch(proven)

    def _do_not_meet(self, b: ir.IRBuilder, first: _Touch, second: _Touch) -> ir.Value:
        low, end = self._extent(b, first)
        second_low, second_end = self._extent(b, second)
        apart = b.or_(b.icmp_unsigned("<=", end, second_low), b.icmp_unsigned("<=", second_end, low))
        for touch in (first, second):
            if touch.flags is not None:
                apart = b.or_(apart, touch.flags.is_race_free)
        return apart

    def _extent(self, b: ir.IRBuilder, touch: _Touch) -> tuple[ir.Value, ir.Value]:
        """The first address of a row's accesses, and the one after the last."""
        first = self._first[touch.access.key]
        span = b.mul(b.sub(self._width, i64(1)), i64(touch.access.step))
        last = b.add(first, span)
        if touch.access.step < 0:
            first, last = last, first
        return first, b.add(last, i64(touch.access.count))

    def _test(self, b: ir.IRBuilder, touch: _Touch, epoch: ir.Value) -> ir.Value:
        access, first, machine = touch.access, self._first[touch.access.key], self._emitter.view.machine
        if not self._is_noted(touch):
            shift = rules(self._emitter).shifts["shared"]
            cells = max(1, access.count >> shift)
            if cells > 1 and access.step not in (0, access.count):
                return ir.Constant(I1, 0)
            step, count = 1 << layout.CELL_SHIFT, i64(cells)
            if access.step:
                step = (access.step >> shift << layout.CELL_SHIFT) // cells
                count = b.mul(self._width, count)
            return self._rules.is_initialized(b, machine, first, i64(step), count)
        if not touch.is_certain or (touch.writes and not access.step):
            return ir.Constant(I1, 0)
        if not access.step:
            return ir.Constant(I1, 1)  # The check of the first and the last thread examines it.
        return self._rules.test(touch.of_row(), b, machine, first, epoch, self._width)

    def _note(self, b: ir.IRBuilder, touch: _Touch, epoch: ir.Value) -> None:
        access, first, machine = touch.access, self._first[touch.access.key], self._emitter.view.machine
        read = touch.last_flags(is_read=True)
        if access.step:
            write_epoch = b.or_(epoch, i64(touch.last_flags(is_read=False)))
            read_epoch = b.or_(epoch, i64(read))
            self._rules.note(touch.of_row(), b, machine, first, write_epoch, read_epoch, self._width)
            return
        row = touch.of_row()
        single = CellAccess(READ, is_strong=False, reads=False, count=access.count, is_incoherent=row.is_incoherent)
        check = partial(rules(self._emitter).access, single, row.space, b, machine, first)
        if self._emitter.unit.orders_in_part:
            with counted(b, self._width) as lane:
                thread = b.add(epoch, b.shl(lane, i64(layout.THREAD_SHIFT)))
                check(b.or_(thread, i64(read)))
            return
        # Of the threads that read one address, two are as far from each other as any.
        last = b.shl(b.sub(self._width, i64(1)), i64(layout.THREAD_SHIFT))
        for thread in (epoch, b.add(epoch, last)):
            check(b.or_(thread, i64(read)))


def settled(
    b: ir.IRBuilder, emitter: Services, body: Iterable[Instruction], complete: Mapping[SharedKey, Cell] | None
) -> ir.Value | None:
    """Build whether no access of some code need be examined, i1.

    Args:
        b: where it is asked.
        emitter: the kernel's.
        body: the code.
        complete: see `WatchedRow`.

    Returns:
        None where it is never so.
    """
    answer: ir.Value = ir.Constant(I1, 1)
    for item in body:
        effect, space = info(item).memory, space_of(item)
        if effect is MemoryEffect.NONE or space in UNSHARED:
            continue
        if effect not in (MemoryEffect.READ, MemoryEffect.WRITE):
            return None
        address = item.operands[1 if effect is MemoryEffect.READ else 0]
        if not isinstance(address, Address):
            return None
        flags: RegionFlags | None = None
        if space != "shared":
            flags = flags_of(emitter, address)
            if flags is None:
                return None
        elif complete is None:
            return None
        answer = b.and_(answer, _is_settled(b, emitter, address, flags, complete))
    return answer


def _is_settled(
    b: ir.IRBuilder,
    emitter: Services,
    address: Address,
    flags: RegionFlags | None,
    complete: Mapping[SharedKey, Cell] | None,
) -> ir.Value:
    """Whether an access need not be examined: to a region that is quiet, or to a shared variable with flags None."""
    if flags is not None:
        return flags.is_quiet
    if complete is None:
        return ir.Constant(I1, 0)
    if not rules(emitter).uninitialized:
        return ir.Constant(I1, 1)
    key = shared_key(emitter, address)
    if key is None or key not in complete:
        return ir.Constant(I1, 0)
    return complete[key].get(b)


def shared_key(emitter: Services, address: Address) -> SharedKey | None:
    """The shared variable that an address certainly comes from."""
    origin = emitter.provenance.of(address.base)
    if origin is None or not origin.certain or origin.kind != "symbol":
        return None
    return emitter.unit.shared_key(emitter.function.name, origin.name)


def _are_apart(first: Access, second: Access) -> bool:
    """Whether different threads never touch the same byte, by the strides alone."""
    if first.address.base != second.address.base or first.space != second.space:
        return False
    return first.step == second.step and is_injective([first, second])
