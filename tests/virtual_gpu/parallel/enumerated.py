"""Footprints enumerated thread by thread, iteration by iteration: the oracle of the dependence test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from gpuregress.foundation.records import Dim3
from gpuregress.virtual_gpu.runtime.footprint_ir import (
    Conditions,
    Constant,
    Coordinate,
    Footprint,
    Induction,
    Operation,
    ParameterValue,
    Phi,
    Read,
    Write,
)

MOST_ROUNDS = 40


class EndlessError(Exception):
    """A loop has too many rounds to be enumerated."""


class Thread:
    """One thread: its coordinates, and its path through the joins and loops of a footprint.

    Args:
        footprint: its loops are not nested.
        parameters: the argument bytes.
        coordinates: `tid.x` … `nctaid.z`.
    """

    def __init__(self, footprint: Footprint, parameters: bytes, coordinates: Mapping[str, int]) -> None:
        self.footprint, self.parameters, self.coordinates = footprint, parameters, coordinates
        self.rounds: dict[int, int] = {}

    def touched(self, access: Write | Read) -> Iterator[int]:
        """The bytes that an access touches, over all iterations of the loop that it is in."""
        assert access.address is not None
        inside = self.loops_of(access.address, through_joins=False)
        self.rounds = {}
        try:
            self.leave_loops(self.loops_of(access.address, through_joins=True) - inside)
        except LookupError:
            return
        for _ in self.go_round(inside):
            try:
                if self.hold(access.conditions):
                    first = (self.value(access.address) + access.offset) % (1 << 64)
                    yield from range(first, first + access.size)
            except LookupError:
                continue  # It did not come this way.

    def loops_of(self, number: int, *, through_joins: bool) -> set[int]:
        """The headers of the loops whose iterations a value depends on: those that it is in, or has been through."""
        node = self.footprint.nodes[number]
        if isinstance(node, Induction):
            return {node.block} | self.loops_of(node.initial, through_joins=through_joins)
        if isinstance(node, Phi) and not through_joins:
            return set()
        return set().union(*(self.loops_of(item, through_joins=through_joins) for item in node.operands))

    def go_round(self, heads: set[int]) -> Iterator[None]:
        """Every iteration of the loop, if there is one."""
        if not heads:
            yield
            return
        (head,) = heads
        loop = self.footprint.loops[head]
        if not self.hold(loop.enter):
            return
        for number in range(MOST_ROUNDS):
            self.rounds[head] = number
            yield
            if not self.hold(loop.repeat):
                return
        raise EndlessError

    def leave_loops(self, heads: set[int]) -> None:
        """Goes through loops to their last iterations."""
        for head in sorted(heads):
            for _ in self.go_round({head}):
                pass

    def hold(self, conditions: Conditions) -> bool:
        """Whether all conditions hold."""
        return all(bool(self.value(item.predicate)) == item.holds for item in conditions)

    def value(self, number: int) -> int:
        """A node's bits."""
        node = self.footprint.nodes[number]
        if isinstance(node, Constant):
            return node.value % (1 << 64)
        if isinstance(node, Coordinate):
            return self.coordinates[node.register]
        if isinstance(node, ParameterValue):
            data = self.parameters[node.offset : node.offset + node.size]
            return int.from_bytes(data, "little", signed=True) % (1 << 64)
        if isinstance(node, Phi):
            return self.value(node.operands[node.predecessors.index(self.predecessor(node))])
        if isinstance(node, Induction):
            step = sum(sign * self.value(term) for sign, term in node.steps)
            return (self.value(node.initial) + self.rounds[node.block] * step) % (1 << 64)
        assert isinstance(node, Operation)
        if node.operator == "widen":
            return _as(self.value(node.operands[0]), 32, signed=node.signed) % (1 << 64)
        if node.operator == "select":
            condition, if_true, if_false = node.operands
            return self.value(if_true if self.value(condition) else if_false)
        return _result(node, [self.value(item) for item in node.operands]) % (1 << 64)

    def predecessor(self, phi: Phi) -> int:
        """The block through which the thread came to a join: the one whose conditions hold."""
        for block in phi.predecessors:
            try:
                if self.hold(self.footprint.joins[phi.block][block]):
                    return block
            except LookupError:
                continue
        raise LookupError(phi.block)


def _result(node: Operation, values: list[int]) -> int:
    operator, bits = node.operator, node.bits
    if operator in ("+", "-", "*"):
        return {"+": values[0] + values[1], "-": values[0] - values[1], "*": values[0] * values[1]}[operator]
    if operator in ("and", "or", "not"):
        return int({"and": all(values), "or": any(values), "not": not values[0]}[operator])
    if operator in ("<<", "&", "|", "^"):
        left, right = (value % (1 << bits) for value in values)
        if operator == "<<":
            return left << right if right < bits else 0
        return {"&": left & right, "|": left | right, "^": left ^ right}[operator]
    left, right = (_as(value, bits, signed=node.signed) for value in values)
    if node.is_comparison:
        orders = {"==": left == right, "!=": left != right, "<": left < right, "<=": left <= right}
        return int((orders | {">": left > right, ">=": left >= right})[operator])
    if operator == "hi":
        return (left * right) >> bits
    if operator == ">>":
        return left >> min(right % (1 << 32), bits)
    if operator in ("/", "%"):
        if right == 0:
            raise LookupError("division by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - right * quotient
    return min(left, right) if operator == "min" else max(left, right)


def _as(value: int, bits: int, *, signed: bool) -> int:
    value %= 1 << bits
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def threads(footprint: Footprint, parameters: bytes, grid: Dim3, block: Dim3) -> Iterator[tuple[Dim3, Thread]]:
    """Each thread of a launch with its block."""
    sizes = {f"ntid.{axis}": size for axis, size in zip("xyz", block, strict=True)}
    sizes |= {f"nctaid.{axis}": size for axis, size in zip("xyz", grid, strict=True)}
    for position in product(*map(range, grid)):
        for inside in product(*map(range, block)):
            coordinates = {f"ctaid.{axis}": number for axis, number in zip("xyz", position, strict=True)}
            coordinates |= {f"tid.{axis}": number for axis, number in zip("xyz", inside, strict=True)}
            yield (position[0], position[1], position[2]), Thread(footprint, parameters, sizes | coordinates)


def clash(footprint: Footprint, parameters: bytes, grid: Dim3, block: Dim3, cuts: Sequence[int]) -> bool:
    """Whether a part of a launch, cut at these linear numbers of blocks, touches a byte that another part writes.

    Raises:
        EndlessError: a loop has too many rounds.
    """
    written: dict[int, set[int]] = {}
    touched: dict[int, set[int]] = {}
    for position, thread in threads(footprint, parameters, grid, block):
        number = position[0] + grid[0] * (position[1] + grid[1] * position[2])
        part = sum(number >= cut for cut in cuts[1:-1])
        for access in footprint.accesses:
            assert isinstance(access, Write | Read)
            for byte in thread.touched(access):
                touched.setdefault(byte, set()).add(part)
                if isinstance(access, Write):
                    written.setdefault(byte, set()).add(part)
    return any(len(touched[byte]) > 1 for byte in written)
