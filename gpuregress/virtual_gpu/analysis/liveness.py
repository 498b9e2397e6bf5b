"""Liveness analysis of registers at waits: those to keep, those that changed, and those to reload.

A data-flow analysis over basic blocks. Each block is summarised once, and its waits are annotated in one walk over it:
matrix kernels have blocks of ten thousand statements with hundreds of waits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.ptx.tree import Statement


@dataclass(slots=True)
class Block:
    """Statements `start` to `end` (exclusive), entered at the first and left after the last."""

    start: int
    end: int
    successors: list[int] = field(default_factory=list)


class AtWait(NamedTuple):
    """Registers at a wait.

    Attributes:
        live: those read after it before they are set.
        dirty: those that may have changed since they were last saved.
        needed: those read before the thread waits again.
    """

    live: frozenset[str]
    dirty: frozenset[str]
    needed: frozenset[str]


@dataclass(slots=True)
class _Backward:
    """Transfer function of code: live before it are `gen`, and those live after it except `kill`."""

    gen: set[str]
    kill: set[str]
    opaque: bool = False

    def before(self, after: Collection[str]) -> frozenset[str]:
        return frozenset(self.gen if self.opaque else self.gen.union(set(after) - self.kill))


class Liveness:
    """Live, dirty and needed registers at the waits of a function.

    Args:
        statements: the function's body.
        blocks: its blocks, connected.
        waits: the statements at which a thread may wait.
        spins: the edges (block, block) at which it yields to other threads.

    Attributes:
        live_in: for each block, the registers that are read there or later before they are set.
        live_after: wait → the registers that are read after it before they are set.
        dirty_in: for each block, the registers that may have been set since the thread last waited.
        dirty_before: wait → the registers that may have been set since the wait before.
        needed_after: wait → the registers that are read, or saved, before the thread waits again.
        needed_results: wait → those among them that the waiting statement leaves in the context.
    """

    def __init__(
        self,
        statements: Sequence[Statement],
        blocks: Sequence[Block],
        waits: Collection[int],
        spins: Collection[tuple[int, int]],
    ) -> None:
        self._blocks, self._waits, self._spins = blocks, frozenset(waits), frozenset(spins)
        self._sets = [frozenset(effects.sets(statement)) for statement in statements]
        self._reads = [frozenset(effects.reads(statement)) for statement in statements]
        self._guarded = [statement.guard is not None for statement in statements]
        self._resumed: dict[int, frozenset[str]] = {}
        self._results: dict[int, frozenset[str]] = {}
        self._in_context: dict[int, frozenset[str]] = {}
        self._left: dict[int, frozenset[str]] = {}
        for position in self._waits:
            statement = statements[position]
            self._resumed[position] = frozenset(effects.reads_after_wait(statement))
            self._results[position] = frozenset(effects.sets_after_wait(statement))
            self._in_context[position] = frozenset(effects.context_operands(statement))
            self._left[position] = frozenset(effects.context_results(statement))
        self.live_after: dict[int, frozenset[str]] = {}
        self.dirty_before: dict[int, frozenset[str]] = {}
        self.needed_after: dict[int, frozenset[str]] = {}
        self.needed_results: dict[int, frozenset[str]] = {}
        self.live_in = self._solve(self.live_after, through_waits=True)
        # Registers that no wait saves are not followed: debug builds have thousands of them.
        self._saved = frozenset().union(*self.live_after.values(), *self._resumed.values())
        self.dirty_in = self._find_dirty()
        self._solve(self.needed_after, through_waits=False)

    # --- changed since it was last saved ------------------------------------------------------------------------------

    def _find_dirty(self) -> list[frozenset[str]]:
        dirty_in = [frozenset[str]()] * len(self._blocks)
        # What is read before it is set is 0 at the start, and was never saved.
        dirty_in[0] = self.live_in[0] & self._saved
        steps = [self._changes(block) for block in self._blocks]
        pending = set(range(len(self._blocks)))
        while pending:
            # In the order of the code, a few iterations of each loop suffice.
            for index in sorted(pending):
                pending.discard(index)
                changed, saved = steps[index]
                dirty = changed if saved else dirty_in[index] | changed
                for target in self._blocks[index].successors:
                    if not dirty <= dirty_in[target]:
                        dirty_in[target] |= dirty
                        pending.add(target)
        for block, dirty in zip(self._blocks, dirty_in, strict=True):
            self._changes(block, dirty)
        return dirty_in

    def _changes(self, block: Block, before: Collection[str] = ()) -> tuple[frozenset[str], bool]:
        """The registers set after the last unguarded wait of a block, and whether it has one; fills `dirty_before`."""
        dirty, saved = set(before), False
        for position in range(block.start, block.end):
            if position in self._waits:
                self.dirty_before[position] = frozenset(
                    dirty | ((self._sets[position] - self._results[position]) & self._saved)
                )
                # A guarded wait may not happen: what was dirty before it stays so.
                if not self._guarded[position]:
                    dirty, saved = set(), True
            dirty |= (self._sets[position] - self._left.get(position, frozenset())) & self._saved
        return frozenset(dirty), saved

    def saved_at(self, position: int) -> frozenset[str]:
        """The registers that the wait at `position` saves: those that have changed and are live."""
        return self.dirty_before[position] & (self.live_after[position] | self._resumed[position])

    # --- backwards over statements ------------------------------------------------------------------------------------

    def _solve(self, notes: dict[int, frozenset[str]], *, through_waits: bool) -> list[frozenset[str]]:
        """Solve the data-flow equations: the registers live before each block; `notes` gets those after each wait."""
        steps: list[_Backward] = []
        for block in self._blocks:
            step = _Backward(set(), set())
            for position in range(block.end - 1, block.start - 1, -1):
                self._step(step, position, through_waits=through_waits)
            steps.append(step)
        before = [frozenset[str]()] * len(self._blocks)
        changed = True
        while changed:
            changed = False
            for index in range(len(self._blocks) - 1, -1, -1):
                registers = steps[index].before(self._after(index, before, through_waits=through_waits))
                changed = changed or registers != before[index]
                before[index] = registers
        for index, block in enumerate(self._blocks):
            self._note(
                block, self._after(index, before, through_waits=through_waits), notes, through_waits=through_waits
            )
        return before

    def _after(self, index: int, before: Sequence[frozenset[str]], *, through_waits: bool) -> frozenset[str]:
        """The registers live at the end of a block, from those before its successors."""
        registers: set[str] = set()
        for target in self._blocks[index].successors:
            # On an edge that may spin, all live registers are saved.
            is_saved = not through_waits and (index, target) in self._spins
            registers |= self.live_in[target] if is_saved else before[target]
        return frozenset(registers)

    def _note(
        self, block: Block, after: frozenset[str], notes: dict[int, frozenset[str]], *, through_waits: bool
    ) -> None:
        """Store the registers that are live after each wait of a block."""
        step = _Backward(set(), set())
        for position in range(block.end - 1, block.start - 1, -1):
            if position in self._waits:
                before = step.before(after)
                notes[position] = before - self._results[position]
                if not through_waits:
                    self.needed_results[position] = before & self._left[position]
            self._step(step, position, through_waits=through_waits)

    def _step(self, step: _Backward, position: int, *, through_waits: bool) -> None:
        """Extend a stretch of code by the statement before it."""
        waits = not through_waits and position in self._waits
        if not self._guarded[position]:
            if waits:
                step.gen.clear()
                step.opaque = True
            step.gen -= self._sets[position]
            if not step.opaque:
                step.kill |= self._sets[position]
        if waits:
            shown = self._in_context[position]
            step.gen |= self.saved_at(position) - (self._sets[position] - shown)
            step.gen |= self._reads[position] - shown
        else:
            step.gen |= self._reads[position]
