"""Arithmetic on sums as a GPU's integer instructions do it: 32 and 64 bits, quotients and masks as further numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from gpuregress.devices.cpu.parallel.affine_expressions import Knowledge, NotUnderstoodError, Sum


class Operations(ABC):
    """What instructions make of sums; whoever reads the nodes decides what is open.

    Args:
        ranges: each coordinate's least and greatest value.
    """

    def __init__(self, ranges: Mapping[str, tuple[int, int]]) -> None:
        self.known = Knowledge(ranges)
        self.mixed: dict[str, tuple[Sum, int]] = {}
        self._open: list[str] = []
        """Loops whose rounds are being bounded; their values are looked at when that is done."""
        self._unproven: list[tuple[Sum, int, int]] = []

    @abstractmethod
    def value(self, node: int) -> Sum:
        """A node's value, modulo 2^32 or 2^64."""

    @abstractmethod
    def _choose(self, key: str, ways: Sequence[int]) -> int:
        """One of several ways."""

    @abstractmethod
    def _constrain(self, item: Sum) -> None:
        """Takes in that a sum is at most 0."""

    def _product(self, left: Sum, right: Sum) -> Sum:
        if right.factors:
            left, right = right, left
        if right.factors:
            raise NotUnderstoodError
        return left.times(right.constant)

    def _exact(self, node: int, bits: int, *, signed: bool) -> Sum:
        """The value that a register's bits stand for."""
        return self._in_range(self.value(node), bits, signed=signed)

    def _in_range(self, item: Sum, bits: int, *, signed: bool) -> Sum:
        least = -(1 << bits - 1) if signed else 0
        moving = [atom for atom in self._open if atom in item.factors]
        first = item
        for atom in moving:
            first = first.replaced(atom, Sum(0))
        low, high = self.known.least(first), self.known.most(first)
        turns = (low - least) >> bits
        if (high - least) >> bits != turns:
            raise NotUnderstoodError
        item = item.add(-turns << bits)
        if moving:
            self._unproven.append((item, least, least + (1 << bits) - 1))
        return item

    def _constant(self, node: int, bits: int) -> int | None:
        item = self.value(node)
        return None if item.factors else item.constant % (1 << bits)

    def _atom(self, name: str, low: int, high: int) -> Sum:
        if low == high:
            return Sum(low)
        self.known.ranges[name] = low, high
        return Sum(0, {name: 1})

    def _bitwise(self, row: Sequence[Any], node: int) -> Sum:
        kind, bits, left, right = row
        if kind == "<<":
            by = self._constant(right, 32)
            if by is None:
                raise NotUnderstoodError
            return self.value(left).times(1 << by) if by < bits else Sum(0)
        first, second = self._known_constant(left, bits), self._known_constant(right, bits)
        if first is not None and second is not None:
            return Sum({"&": first & second, "|": first | second, "^": first ^ second}[kind])
        if first is not None:
            left, right, second = right, left, first
        if kind == "|" and second is not None:
            return self.value(left).add(second).plus(self._masked(left, second, bits, node), -1)
        if kind == "|":
            return self._disjoint(left, right, bits)
        if second is None:
            raise NotUnderstoodError
        return self._masked(left, second, bits, node) if kind == "&" else self._mixed(left, second, bits, node)

    def _known_constant(self, node: int, bits: int) -> int | None:
        """A constant, where a node is one; it need not be understood."""
        try:
            return self._constant(node, bits)
        except NotUnderstoodError:
            return None

    def _masked(self, node: int, mask: int, bits: int, name: int) -> Sum:
        """`x & mask`."""
        power = mask + 1 if mask & (mask + 1) == 0 else 0
        down = (1 << bits) - mask
        try:
            item = self._exact(node, bits, signed=True)
        except NotUnderstoodError:
            if mask >> (bits - 1) or self._open:
                raise
            return self._atom(f"&{name}", 0, mask)
        if any(atom in item.factors for atom in self._open):
            raise NotUnderstoodError
        if power:
            return item.plus(self._quotient(item, power, f"&{name}"), -power)
        if mask and down & (down - 1) == 0:
            return self._quotient(item, down, f"&{name}").times(down)
        if mask >> (bits - 1):
            raise NotUnderstoodError
        return self._atom(f"&{name}", 0, mask)

    def _quotient(self, item: Sum, divisor: int, name: str) -> Sum:
        """A sum divided, rounded down."""
        if any(atom in item.factors for atom in self._open):
            raise NotUnderstoodError
        if all(factor % divisor == 0 for factor in item.factors.values()):
            return Sum(item.constant // divisor, {atom: factor // divisor for atom, factor in item.factors.items()})
        found = self._atom(f"{name}/", self.known.least(item) // divisor, self.known.most(item) // divisor)
        rest = item.plus(found, -divisor)
        self.known.constrain(rest.times(-1))
        self.known.constrain(rest.add(1 - divisor))
        return found

    def _mixed(self, node: int, mask: int, bits: int, name: int) -> Sum:
        """`x ^ mask`."""
        if mask == 0:
            return self.value(node)
        if mask == (1 << bits) - 1:
            return self.value(node).times(-1).add(-1)
        item = self._exact(node, bits, signed=True)
        if any(atom in item.factors for atom in self._open) or self.known.least(item) < 0 or mask >> (bits - 1):
            raise NotUnderstoodError
        for power in reversed(range(mask.bit_length())):
            step = 1 << power
            if not any(number % step for number in (mask, item.constant, *item.factors.values())):
                break
        mask >>= power
        item = Sum(item.constant >> power, {atom: factor >> power for atom, factor in item.factors.items()})
        group = 1 << mask.bit_length()
        self.mixed[f"^{name}"] = item, group
        return self._atom(f"^{name}", *mixed_range(self.known, item, group)).times(1 << power)

    def _disjoint(self, left: int, right: int, bits: int) -> Sum:
        """`x | y` where no bit is in both."""
        first, second = (self._exact(node, bits, signed=True) for node in (left, right))
        for high, low in ((first, second), (second, first)):
            power = 1 << max(0, self.known.most(low)).bit_length()
            numbers = (high.constant, *high.factors.values())
            if self.known.least(low) >= 0 and all(number % power == 0 for number in numbers):
                return high.plus(low)
        raise NotUnderstoodError

    def _signed(self, row: Sequence[Any], node: int) -> Sum:
        kind, signed, bits, left, right = row
        first = self._exact(left, bits, signed=signed)
        if kind == ">>":
            by = self._constant(right, 32)
            if by is None:
                raise NotUnderstoodError
            return self._quotient(first, 1 << min(by, bits), f">{node}")
        second = self._exact(right, bits, signed=signed)
        if kind == "hi":
            return self._quotient(self._product(first, second), 1 << bits, f"h{node}")
        if kind in ("min", "max"):
            return self._extreme(kind, first, second, node)
        if second.factors or second.constant <= 0 or self.known.least(first) < 0:
            raise NotUnderstoodError
        quotient = self._quotient(first, second.constant, f"/{node}")
        return quotient if kind == "/" else first.plus(quotient, -second.constant)

    def _extreme(self, kind: str, first: Sum, second: Sum, node: int) -> Sum:
        if any(atom in item.factors for atom in self._open for item in (first, second)):
            raise NotUnderstoodError
        difference = first.plus(second, -1) if kind == "min" else second.plus(first, -1)
        if self.known.most(difference) <= 0:
            return first
        if self.known.least(difference) >= 0:
            return second
        if self._choose(f"m{node}", (0, 1)) == 0:
            self._constrain(difference)
            return first
        self._constrain(difference.times(-1))
        return second


def mixed_range(known: Knowledge, item: Sum, group: int) -> tuple[int, int]:
    """Between what `x ^ mask` lies, the mask below `group`, a power of two."""
    return known.least(item) // group * group, known.most(item) // group * group + group - 1
