"""Reaching definitions: the instructions whose value a use of a register may see.

Compilers give a loop's variable the register of its first value. So a register that is set twice may still have one
known value where it is read before the loop.
"""

from __future__ import annotations

from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph


class ReachingDefinitions:
    """The definitions of a function's registers, searched backwards from a use when one asks.

    Args:
        flow: the function's control flow.

    Attributes:
        sites: register → the statements that define it.
    """

    def __init__(self, flow: ControlFlowGraph) -> None:
        self._flow = flow
        self.sites: dict[str, list[int]] = {}
        for index, statement in enumerate(flow.statements):
            for name in effects.sets(statement):
                self.sites.setdefault(name, []).append(index)
        self._predecessors: dict[int, list[int]] = {}
        for number, block in enumerate(flow.blocks):
            for successor in block.successors:
                self._predecessors.setdefault(successor, []).append(number)
        self._known: dict[tuple[str, int], int | None] = {}

    def only(self, name: str, index: int) -> int | None:
        """Return the one definition that reaches statement `index`; None where there are several, or perhaps none."""
        number = self._flow.block_at(index)
        found = self._last_in(name, number, index)
        if found is None:
            key = (name, number)
            if key not in self._known:
                self._known[key] = self._before(name, number)
            return self._known[key]
        return found if self._flow.statements[found].guard is None else None

    def _last_in(self, name: str, number: int, end: int) -> int | None:
        """The last definition in a block, before statement `end`."""
        start = self._flow.blocks[number].start
        return max((site for site in self.sites.get(name, ()) if start <= site < end), default=None)

    def _before(self, name: str, number: int) -> int | None:
        """The only definition that reaches a block's start."""
        flow, only = self._flow, None
        pending, seen = [number], {number}
        while pending:
            at = pending.pop()
            if at == 0:
                return None  # Also from the function's start, where nothing is defined.
            for before in self._predecessors.get(at, ()):
                found = self._last_in(name, before, flow.blocks[before].end)
                if found is None:
                    if before not in seen:
                        seen.add(before)
                        pending.append(before)
                    continue
                if flow.statements[found].guard is not None or only not in (None, found):
                    return None
                only = found
        return only
