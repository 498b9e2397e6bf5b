"""LLVM metadata of parallel loops: their iterations access memory independently of each other.

LLVM language reference, "llvm.loop.parallel_accesses" and "llvm.access.group".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir


class _Distinct(ir.MDValue):  # type: ignore[misc]  # llvmlite has no types
    """A metadata node that equals no other one; where it is a loop's, its first operand is itself."""

    def __init__(self, module: ir.Module, operands: Sequence[Any], *, names_itself: bool) -> None:
        super().__init__(module, operands, name=str(len(module.metadata)))
        self._names_itself = names_itself

    def descr(self, buf: list[str]) -> None:
        own = [self.get_reference()] if self._names_itself else []
        listed = ", ".join(own + [item.get_reference() for item in self.operands])
        buf += (f"distinct !{{ {listed} }}", "\n")


class ParallelLoop:
    """The metadata of one loop.

    Args:
        module: the loop's.
    """

    def __init__(self, module: ir.Module) -> None:
        self._module = module

    def mark(self, blocks: Iterable[ir.Block], branch: ir.Instruction) -> None:
        """Declare the accesses in a loop's blocks independent; stack slots are left out: they become registers.

        Args:
            blocks: the loop's.
            branch: the one back to its head.
        """
        module = self._module
        group = _Distinct(module, (), names_itself=False)
        accesses = module.add_metadata(["llvm.loop.parallel_accesses", group])
        # Without interleaving, LLVM builds no second vector loop for what is left over: half of the code to compile.
        single = module.add_metadata(["llvm.loop.interleave.count", ir.Constant(ir.IntType(32), 1)])
        branch.set_metadata("llvm.loop", _Distinct(module, (accesses, single), names_itself=True))
        for block in blocks:
            for item in block.instructions:
                if isinstance(item, ir.LoadInstr | ir.StoreInstr):
                    pointer = item.operands[-1]
                    if not isinstance(pointer, ir.AllocaInstr):
                        item.set_metadata("llvm.access.group", group)


def keep_scalar(module: ir.Module, branch: ir.Instruction) -> None:
    """Tell LLVM not to vectorise a loop that runs too seldom to be worth the time it takes to compile.

    Args:
        module: the loop's.
        branch: the one back to its head.
    """
    disabled = module.add_metadata(["llvm.loop.vectorize.enable", ir.Constant(ir.IntType(1), 0)])
    branch.set_metadata("llvm.loop", _Distinct(module, (disabled,), names_itself=True))
