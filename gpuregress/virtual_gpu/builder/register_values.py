"""Known values of registers: store-to-load forwarding within the straight-line code of a function."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.effects import CARRY


class Known(Record):
    """The value of a register.

    Attributes:
        value: in the register's type.
        block: where it was computed; None once it is certain that this dominates the code that follows.
        position: the number of instructions that were in the block by then.
    """

    value: ir.Value
    block: ir.Block | None
    position: int = 0


class RegisterValues:
    """The known values at one point of a function under construction.

    A statement may become several LLVM blocks. Those that dominate the next statement are the block in which it
    starts and the one in which it ends, so values that are computed in another one are not kept.

    Args:
        local: registers without memory of their own.
        followed: the registers that may be forwarded. A lowering's temporaries are not: it may set them in a loop.
    """

    def __init__(self, local: frozenset[str], followed: frozenset[str]) -> None:
        self.local = local
        self._followed = followed
        self._known: dict[str, Known] = {}
        self._pending: set[str] = set()
        self._start: ir.Block | None = None
        self._guarded = False

    def begin(self, block: ir.Block, *, guarded: bool = False) -> None:
        """Begin a statement in a block; where it is guarded, the next one does not see what it computes."""
        self._start, self._guarded = block, guarded

    def end(self, block: ir.Block) -> dict[str, Known]:
        """End a statement in a block; return the values of local registers that must be stored where they are."""
        lost: dict[str, Known] = {}
        for name in self._pending:
            known = self._known.get(name)
            if known is None or known.block is None:
                continue
            if known.block is block:
                self._known[name] = Known(known.value, None)
                continue
            del self._known[name]
            if name in self.local:
                lost[name] = known
        self._pending.clear()
        self._guarded = False
        return lost

    def clear(self, block: ir.Block | None = None) -> None:
        """Forget all values: control comes from elsewhere, and goes on in `block`."""
        self._known.clear()
        self._pending.clear()
        self._start = block

    def get(self, name: str, block: ir.Block) -> ir.Value | None:
        """The value of a register where code in `block` uses it; None where it must be loaded."""
        known = self._known.get(name)
        return known.value if known is not None and known.block in (None, block) else None

    def take(self, name: str) -> Known | None:
        """Forget a local register's value, which is then to be stored; None where there is none."""
        return self._known.pop(name, None) if name in self.local else None

    def loaded(self, name: str, value: ir.Value, block: ir.Block) -> None:
        """Keep a value that was loaded from a register's memory."""
        if block is self._start and not self._guarded and name in self._followed:
            self._known[name] = Known(value, None)

    def set(self, name: str, value: ir.Value, block: ir.Block) -> None:
        """Keep a value that was written to a register."""
        if name not in self._followed or (self._guarded and name not in self.local):
            self._known.pop(name, None)
        elif block is self._start:
            self._known[name] = Known(value, None)
        else:
            self._known[name] = Known(value, block, len(block.instructions))
            self._pending.add(name)

    def copy(self) -> dict[str, Known]:
        """The known values, for `restore`."""
        return dict(self._known)

    def restore(self, known: dict[str, Known], block: ir.Block) -> None:
        """Return to a point where these values were known."""
        self._known = known
        self._start = block


# --- local registers --------------------------------------------------------------------------------------------------
# Registers whose values never leave a stretch of straight-line code between two waits.


def local_registers(flow: ControlFlowGraph) -> frozenset[str]:
    """Return the registers that need no memory.

    All statements that name such a register are in one basic block with no wait between them, the first of them
    sets it, and none sets it under a guard. Statements that wait are built twice, so what they name is not local.
    """
    stretch_of: dict[str, int] = {}
    others = {CARRY}
    stretch = 0
    for block in flow.blocks:
        stretch += 1
        for index in range(block.start, block.end):
            statement = flow.statements[index]
            reads, sets = effects.reads(statement), effects.sets(statement)
            others.update(name for name in reads if stretch_of.get(name) != stretch)
            for name in sets:
                if stretch_of.setdefault(name, stretch) != stretch or statement.guard is not None:
                    others.add(name)
            if index in flow.waits:
                others.update(reads, sets)
                stretch += 1
    return frozenset(stretch_of) - others
