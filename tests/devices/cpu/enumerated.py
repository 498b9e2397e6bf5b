"""Footprints worked out thread by thread, round by round: what `apart` must not call apart when it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from gpuregress.records import Dim3

Footprint = Mapping[str, Any]
MOST_ROUNDS = 40


class EndlessError(Exception):
    """A loop has too many rounds to be enumerated."""


class Thread:
    """One thread: its coordinates, and how it goes through the joins and loops of a footprint.

    Args:
        footprint: as `lower.footprint` writes it; its loops are not nested.
        parameters: the argument bytes.
        coordinates: `tid.x` … `nctaid.z`.
    """

    def __init__(self, footprint: Footprint, parameters: bytes, coordinates: Mapping[str, int]) -> None:
        self.footprint, self.parameters, self.coordinates = footprint, parameters, coordinates
        self.rounds: dict[int, int] = {}

    def touched(self, access: Sequence[Any]) -> Iterator[int]:
        """The bytes that an access touches, over all rounds of the loop that it is in."""
        kind, count, node, offset, conditions = access[:5]
        del kind
        inside = self.loops_of(node, through_joins=False)
        self.rounds = {}
        try:
            self.leave_loops(self.loops_of(node, through_joins=True) - inside)
        except LookupError:
            return
        for _ in self.go_round(inside):
            try:
                if all(self.holds(item, wanted) for item, wanted in conditions):
                    first = (self.value(node) + offset) % (1 << 64)
                    yield from range(first, first + count)
            except LookupError:
                continue  # It did not come this way.

    def loops_of(self, node: int, *, through_joins: bool) -> set[int]:
        """The heads of the loops whose rounds a value depends on: those that it is in, or has been through."""
        row = self.footprint["nodes"][node]
        if row[0] == "round":
            return {row[1]} | self.loops_of(row[2], through_joins=through_joins)
        if row[0] == "join":
            return (
                set().union(*(self.loops_of(item, through_joins=True) for _, item in row[2]))
                if through_joins
                else set()
            )
        found: set[int] = set()
        for item in _operands(row):
            found |= self.loops_of(item, through_joins=through_joins)
        return found

    def go_round(self, heads: set[int]) -> Iterator[None]:
        """Every round of the loop, if there is one."""
        if not heads:
            yield
            return
        (head,) = heads
        again, before = self.footprint["loops"][str(head)]
        if not all(self.holds(item, wanted) for item, wanted in before):
            return
        for number in range(MOST_ROUNDS):
            self.rounds[head] = number
            yield
            if not all(self.holds(item, wanted) for item, wanted in again):
                return
        raise EndlessError

    def leave_loops(self, heads: set[int]) -> None:
        """Goes through loops to their last rounds."""
        for head in sorted(heads):
            for _ in self.go_round({head}):
                pass

    def holds(self, node: int, wanted: bool) -> bool:  # noqa: FBT001 - a pair's
        return bool(self.value(node)) == wanted

    def value(self, node: int) -> int:
        """A node's bits."""
        row = self.footprint["nodes"][node]
        kind = row[0]
        if kind == "c":
            return int(row[1]) % (1 << 64)
        if kind == "x":
            return int(self.coordinates[row[1]])
        if kind == "p":
            return int.from_bytes(self.parameters[row[1] : row[1] + row[2]], "little", signed=True) % (1 << 64)
        if kind == "widen":
            return int(_as(self.value(row[2]), 32, signed=row[1])) % (1 << 64)
        if kind == "join":
            return self.value(dict(row[2])[self.way(row[1], [way for way, _ in row[2]])])
        if kind == "round":
            step = sum(int(sign) * self.value(item) for sign, item in row[3])
            return (self.value(row[2]) + self.rounds[row[1]] * step) % (1 << 64)
        if kind == "?:":
            return self.value(row[2] if self.value(row[1]) else row[3])
        return _result(row, [self.value(item) for item in _operands(row)]) % (1 << 64)

    def way(self, block: int, ways: Sequence[int]) -> int:
        """By which way the thread came to a block: the one whose conditions hold."""
        for way in ways:
            try:
                if all(self.holds(item, wanted) for item, wanted in self.footprint["joins"][str(block)][str(way)]):
                    return way
            except LookupError:
                continue
        raise LookupError(block)


def _operands(row: Sequence[Any]) -> list[int]:
    skip = {"+": 1, "-": 1, "*": 1, "and": 1, "or": 1, "not": 1, "?:": 1, "widen": 2, "cmp": 4}
    skip |= dict.fromkeys(("<<", "&", "|", "^"), 2) | dict.fromkeys((">>", "/", "%", "hi", "min", "max"), 3)
    return list(row[skip.get(row[0], len(row)) :])


def _result(row: Sequence[Any], values: list[int]) -> int:
    kind = row[0]
    if kind in ("+", "-", "*"):
        return {"+": values[0] + values[1], "-": values[0] - values[1], "*": values[0] * values[1]}[kind]
    if kind in ("and", "or", "not"):
        return int({"and": all(values), "or": any(values), "not": not values[0]}[kind])
    if kind in ("<<", "&", "|", "^"):
        bits = int(row[1])
        left, right = (value % (1 << bits) for value in values)
        if kind == "<<":
            return left << right if right < bits else 0
        return {"&": left & right, "|": left | right, "^": left ^ right}[kind]
    signed, bits = row[1:3] if kind != "cmp" else row[2:4]
    left, right = (_as(value, int(bits), signed=bool(signed)) for value in values)
    if kind == "cmp":
        orders = {"==": left == right, "!=": left != right, "<": left < right, "<=": left <= right}
        return int((orders | {">": left > right, ">=": left >= right})[row[1]])
    if kind == "hi":
        return (left * right) >> int(bits)
    if kind == ">>":
        return left >> min(right % (1 << 32), int(bits))
    if kind in ("/", "%"):
        if right == 0:
            raise LookupError("division by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if kind == "/" else left - right * quotient
    return min(left, right) if kind == "min" else max(left, right)


def _as(value: int, bits: int, *, signed: bool) -> int:
    value %= 1 << bits
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def threads(footprint: Footprint, parameters: bytes, grid: Dim3, block: Dim3) -> Iterator[tuple[Dim3, Thread]]:
    """Each thread of a launch with its block."""
    sizes = {f"ntid.{axis}": size for axis, size in zip("xyz", block, strict=True)}
    sizes |= {f"nctaid.{axis}": size for axis, size in zip("xyz", grid, strict=True)}
    for place in product(*map(range, grid)):
        for inside in product(*map(range, block)):
            coordinates = {f"ctaid.{axis}": number for axis, number in zip("xyz", place, strict=True)}
            coordinates |= {f"tid.{axis}": number for axis, number in zip("xyz", inside, strict=True)}
            yield (place[0], place[1], place[2]), Thread(footprint, parameters, sizes | coordinates)


def clash(footprint: Footprint, parameters: bytes, grid: Dim3, block: Dim3, cuts: Sequence[int]) -> bool:
    """Whether a part of a launch, cut at these linear numbers of blocks, touches a byte that another part writes.

    Raises:
        EndlessError: a loop has too many rounds.
    """
    written: dict[int, set[int]] = {}
    touched: dict[int, set[int]] = {}
    for place, thread in threads(footprint, parameters, grid, block):
        number = place[0] + grid[0] * (place[1] + grid[1] * place[2])
        part = sum(number >= cut for cut in cuts[1:-1])
        for access in footprint["accesses"]:
            for byte in thread.touched(access):
                touched.setdefault(byte, set()).add(part)
                if access[0] == "write":
                    written.setdefault(byte, set()).add(part)
    return any(len(touched[byte]) > 1 for byte in written)
