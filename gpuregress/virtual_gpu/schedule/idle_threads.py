"""Guards after which the rest of a row of threads does nothing until its next wait.

In a tree reduction, `if (threadIdx.x < half)` leaves most threads idle. Where one thread has found that its number is
too large, the threads after it would find the same, and need not run.
"""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.builder.services import Services
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, Control, Exchange, MemoryEffect, ResultKind, Wait, info
from gpuregress.virtual_gpu.ptx.tree import Call, Instruction, Integer, Label, Operand, Register, Statement
from gpuregress.virtual_gpu.schedule.rematerialize import Rematerializer

_THREAD = "%tid.x"
_LATER = {"ge": True, "gt": True, "hs": True, "hi": True, "lt": False, "le": False, "lo": False, "ls": False}
"""Comparison of a thread's number with another one → whether it holds for all later threads once it holds."""
_MIRRORED = {"ge": "le", "gt": "lt", "le": "ge", "lt": "gt", "hs": "ls", "hi": "lo", "ls": "hs", "lo": "hi"}

Edge = tuple[int, int]


def idle_edges(emitter: Services, rematerializer: Rematerializer, varying: frozenset[str], index: int) -> set[Edge]:
    """Return the edges (block, block) after which the thread, and all later ones of the row, do nothing.

    Args:
        emitter: the kernel's.
        rematerializer: the kernel's.
        varying: the registers that may differ between threads.
        index: the statement after which the region starts; -1: at the start of the kernel.
    """
    return _Search(emitter, rematerializer, varying).edges(index)


def does_nothing(emitter: Services, rematerializer: Rematerializer, varying: frozenset[str], number: int) -> bool:
    """Whether all threads that enter a block take the same way to their next wait or end, without any effect."""
    return _Search(emitter, rematerializer, varying).does_nothing(number)


class _Search:
    def __init__(self, emitter: Services, rematerializer: Rematerializer, varying: frozenset[str]) -> None:
        self.emitter, self.rematerializer, self.varying = emitter, rematerializer, varying
        self.flow = emitter.flow

    def edges(self, index: int) -> set[Edge]:
        flow = self.flow
        number = 0 if index < 0 else flow.block_at(index)
        pending, seen = [(number, index + 1)], set[int]()
        edges: set[Edge] = set()
        busy: set[int] = set()
        while pending:
            number, start = pending.pop()
            seen.add(number)
            block = flow.blocks[number]
            if not flow.waits.isdisjoint(range(start, block.end)):
                continue
            if not all(map(self._is_quiet, flow.statements[start : block.end])):
                busy.update(block.successors)
                continue
            branch = flow.last_of(number)
            if isinstance(branch, Instruction) and self._diverges(branch):
                edge = self._idle_edge(number, branch)
                if edge is not None:
                    edges.add(edge)
                busy.update(block.successors)
                continue
            pending += [(item, flow.blocks[item].start) for item in block.successors if item not in seen]
        behind = flow.reachable_without_waits(busy)
        return {edge for edge in edges if edge[0] not in behind}

    def _is_quiet(self, statement: Statement) -> bool:
        """Whether a statement only computes registers, or branches."""
        if isinstance(statement, Label):
            return True
        if isinstance(statement, Call):
            return False
        facts = info(statement)
        if facts.control in {Control.BRANCH, Control.LEAVE}:
            return True
        if facts.memory is MemoryEffect.READ:
            return statement.modifiers[:1] == ("param",)
        return facts.control is Control.NEXT and facts.result is ResultKind.PURE and facts.memory is MemoryEffect.NONE

    def _is_uniform(self, name: str) -> bool:
        return name not in self.varying and name in self.flow.types

    def _diverges(self, branch: Instruction) -> bool:
        ends = info(branch).ends_block and (branch.guard is not None or info(branch).control is Control.BRANCH_TABLE)
        return ends and not all(map(self._is_uniform, effects.reads(branch)))

    def _idle_edge(self, number: int, branch: Instruction) -> Edge | None:
        if info(branch).control is not Control.BRANCH or branch.guard is None:
            return None
        stays = self._stays_true(branch.guard.register)
        if stays is None:
            return None
        taken = self.flow.block_of_label[self.flow.targets(branch)[0]]
        target = taken if stays != branch.guard.negated else number + 1
        if taken == number + 1 or not self.does_nothing(target):
            return None
        return number, target

    def _stays_true(self, predicate: str) -> bool | None:
        """Whether a predicate holds for all later threads once it holds, or (False) fails once it fails."""
        item = self.rematerializer.definition(predicate)
        if item is None or info(item).arithmetic is not Arithmetic.COMPARE or len(item.operands) != 3:
            return None
        if len(item.modifiers) != 2 or item.modifiers[1] not in ("s32", "u32", "b32"):
            return None
        order = item.modifiers[0]
        left, right = item.operands[1:]
        if self._is_thread(right):
            order = _MIRRORED.get(order, order)
            left, right = right, left
        if not self._is_thread(left):
            return None
        if right == Integer(0) and order in ("ne", "eq"):
            return order == "ne"
        if isinstance(right, Integer) or (isinstance(right, Register) and self._is_uniform(right.name)):
            return _LATER.get(order)
        return None

    def _is_thread(self, operand: Operand) -> bool:
        """Whether an operand is the thread's number along x."""
        if not isinstance(operand, Register):
            return False
        if operand.name == _THREAD:
            return True
        item = self.rematerializer.definition(operand.name)
        return item is not None and info(item).arithmetic is Arithmetic.COPY and item.operands[1] == Register(_THREAD)

    def does_nothing(self, start: int) -> bool:
        """Whether all threads that enter a block come to the same barrier or end without any effect."""
        seen: set[int] = set()
        pending = [start]
        while pending:
            number = pending.pop()
            if number in seen:
                continue
            seen.add(number)
            for index in self.flow.indices(number):
                statement = self.flow.statements[index]
                if index in self.flow.waits:
                    if not self._keeps_nothing(index):
                        return False
                    break
                if not self._is_quiet(statement) or (isinstance(statement, Instruction) and self._diverges(statement)):
                    return False
            else:
                pending += self.flow.blocks[number].successors
        return True

    def _keeps_nothing(self, index: int) -> bool:
        """Whether threads come to a plain barrier, for which no register of a thread of its own has to be kept."""
        item, liveness = self.flow.statements[index], self.flow.liveness
        assert isinstance(item, Instruction)
        assert liveness is not None
        facts = info(item)
        if facts.wait is not Wait.BLOCK or facts.result is not ResultKind.NONE or facts.exchange is not Exchange.NONE:
            return False
        if item.guard is not None or not all(map(self._is_uniform, effects.reads(item))):
            return False
        return not self.rematerializer.kept(liveness.saved_at(index) & self.varying)
