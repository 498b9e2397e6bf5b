"""Stores by which several lanes of a warp may write one address, and what keeps their lanes in order.

CUDA leaves open which lane's value stays. An H200 kept the same one in every run. A warp stores 128 bytes at a time: 8
bytes by one half after the other, 16 bytes by one quarter after the other. The lowest lane of the last part stays. It
is so for every width and vector, in global and shared memory. A schedule that runs the lanes in the groups of
`ContestedStores`, each from its last lane to its first, keeps the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import field

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.lanes.values import LANES
from gpuregress.virtual_gpu.ptx.modifiers import space_of
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Call, Float, Instruction, Integer, Operand, Register, Statement, Vector

_COMMUTING = frozenset(["add", "min", "max", "and", "or", "xor"])
_OF_THREAD = ("%tid", "%laneid")
_AT_A_TIME = 128
"""Bytes that a warp stores at a time."""


class ContestedStores(Record):
    """The stores of one kernel that lanes of a warp may make to one address.

    Attributes:
        groups: statement -> the lanes of a group, whose lowest lane wins over the others of its group, and whose last
            group wins over the others of the warp.
        ordered: the statements whose results show the order of the lanes, which is that of their numbers on a card.
    """

    groups: Mapping[int, int] = field(default_factory=dict)
    ordered: frozenset[int] = frozenset()

    def group(self, statements: Iterable[int]) -> int:
        """The lanes of the groups in which some statements should run; 0 where the order is that of the lanes."""
        indices = set(statements)
        if not self.ordered.isdisjoint(indices):
            return 0
        return min((self.groups[index] for index in indices & self.groups.keys()), default=0)

    def moved(self, to: Mapping[int, int]) -> ContestedStores:
        """The same after statements have got other numbers."""
        groups = {to[index]: group for index, group in self.groups.items()}
        return ContestedStores(groups, frozenset(to[index] for index in self.ordered))


def group_of(count: int) -> int:
    """The lanes that store so many bytes each at a time."""
    return min(LANES, _AT_A_TIME // count)


def ordered_statements(statements: tuple[Statement, ...]) -> frozenset[int]:
    """The statements whose results show the order of the lanes: most atomic operations, and calls."""
    used = frozenset(name for item in statements for name in effects.reads(item))
    return frozenset(index for index, item in enumerate(statements) if _shows_order(item, used))


def _shows_order(item: Statement, used: frozenset[str]) -> bool:
    if not isinstance(item, Instruction):
        return isinstance(item, Call)
    if info(item).memory is not MemoryEffect.UPDATE:
        return False
    is_float = any(word.startswith(("f", "bf")) for word in item.modifiers)
    return is_float or _COMMUTING.isdisjoint(item.modifiers) or not used.isdisjoint(effects.sets(item))


class Slices:
    """Backward slices of a kernel's registers.

    Args:
        statements: the kernel's.
    """

    def __init__(self, statements: tuple[Statement, ...]) -> None:
        self._slices: dict[str, list[Instruction]] = {}
        self._definitions: dict[str, list[Statement]] = {}
        for item in statements:
            for name in effects.sets(item):
                self._definitions.setdefault(name, []).append(item)

    def is_spread(self, name: str) -> bool:
        """Whether a register that may be the same in several lanes is meant to differ in all of them.

        It is the result of an atomic operation, a place that each lane was given; or a loop counts it from the number
        of the thread, and it is no data: a grid-stride loop.
        """
        found = self._slice(name)
        effects_ = {info(item).memory for item in found if space_of(item) not in ("param", "const")}
        names = {one for item in found for one in effects.sets(item)}
        counts = any(len(self._definitions[one]) > 1 for one in names)
        of_thread = any(one.startswith(_OF_THREAD) for item in found for one in effects.reads(item))
        return MemoryEffect.UPDATE in effects_ or (counts and of_thread and MemoryEffect.READ not in effects_)

    def is_data(self, name: str) -> bool:
        """Whether a register depends on what was read from memory."""
        reads = (item for item in self._slice(name) if info(item).memory is MemoryEffect.READ)
        return any(space_of(item) not in ("param", "const") for item in reads)

    def is_same(self, operand: Operand) -> bool:
        """Whether a value is certainly the same in all lanes: a constant, or a parameter."""
        if isinstance(operand, Register):
            return self._is_same(operand.name, 0)
        return isinstance(operand, Integer | Float) or (
            isinstance(operand, Vector) and all(map(self.is_same, operand.elements))
        )

    def _is_same(self, name: str, depth: int) -> bool:
        found = self._definitions.get(name, [])
        if len(found) != 1 or not isinstance(found[0], Instruction) or found[0].guard is not None or depth > LANES:
            return False
        item = found[0]
        if info(item).memory is MemoryEffect.READ:
            return space_of(item) == "param" and all(not isinstance(one, Register) for one in item.operands[1:])
        if info(item).arithmetic not in (Arithmetic.COPY, Arithmetic.CONVERT):
            return False
        return all(self._is_same(one, depth + 1) for one in effects.reads(item))

    def _slice(self, name: str) -> list[Instruction]:
        """The instructions that a register depends on; an atomic operation is its own end."""
        known = self._slices.get(name)
        if known is not None:
            return known
        found = self._slices[name] = []
        names, pending = {name}, [name]
        while pending:
            for item in self._definitions.get(pending.pop(), ()):
                if not isinstance(item, Instruction):
                    continue
                found.append(item)
                if info(item).memory is not MemoryEffect.UPDATE:
                    new = set(effects.reads(item)) - names
                    names |= new
                    pending += new
        return found
