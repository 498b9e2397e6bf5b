"""A footprint's formulas under a launch's numbers: each access as a sum over coordinates and rounds of loops.

One access becomes several `Instance`s where its thread may have come by several ways, or a minimum is one or the other
of two. 32-bit arithmetic wraps around: where a value is widened, compared or divided, it is shown to lie in its type's
range first. A loop's rounds are bounded by what must hold for another round to follow, by induction: while it held, no
value had wrapped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuregress.devices.cpu.sums import INFINITE, Knowledge, Sum

_MOST_INSTANCES = 24
_MOST_READINGS = 200
Footprint = Mapping[str, Any]


class NotUnderstoodError(Exception):
    """A formula is no such sum, or too much would have to be looked at."""


class _ForkError(Exception):
    """A decision is open: `ways` are the answers."""

    def __init__(self, key: str, ways: Sequence[int]) -> None:
        super().__init__(key)
        self.key, self.ways = key, ways


class _ImpossibleError(Exception):
    """What must hold for this instance cannot."""


@dataclass(slots=True)
class Instance:
    """One way in which an access may happen.

    Attributes:
        places: the address, or a surface's coordinates.
        known: what holds of the atoms.
        mixed: for an atom that is `value ^ mask`: the value, and the power of two above the mask.
    """

    places: list[Sum]
    known: Knowledge
    mixed: dict[str, tuple[Sum, int]]


def instances(
    footprint: Footprint,
    nodes: Sequence[int],
    conditions: Sequence[Sequence[Any]],
    ranges: Mapping[str, tuple[int, int]],
    parameters: bytes,
    symbols: Mapping[str, int],
) -> list[Instance]:
    """All ways in which an access may happen.

    Args:
        footprint: the kernel's.
        nodes: of the address, or of the coordinates.
        conditions: what must hold for the access.
        ranges: each coordinate's least and greatest value.
        parameters: the argument bytes.
        symbols: the variables' addresses.

    Raises:
        NotUnderstoodError: the address is no sum over the coordinates and rounds, or may wrap around.
    """
    found: list[Instance] = []
    pending: list[dict[str, int]] = [{}]
    readings = 0
    while pending:
        readings += 1
        if readings > _MOST_READINGS:
            raise NotUnderstoodError
        choices = pending.pop()
        reader = _Reader(footprint, ranges, parameters, symbols, choices)
        try:
            for node, wanted in conditions:
                reader.assume(node, wanted=wanted)
            places = [reader.value(node) for node in nodes]
            places = [reader.current(item) for item in places]
        except _ForkError as fork:
            pending += [{**choices, fork.key: way} for way in fork.ways]
            if len(pending) + len(found) > _MOST_INSTANCES:
                raise NotUnderstoodError from fork
        except _ImpossibleError:
            continue
        else:
            if reader.known.possible():
                found.append(Instance(places, reader.known, reader.mixed))
    return found


class _Reader:
    """Reads nodes under one set of decisions."""

    def __init__(
        self,
        footprint: Footprint,
        ranges: Mapping[str, tuple[int, int]],
        parameters: bytes,
        symbols: Mapping[str, int],
        choices: Mapping[str, int],
    ) -> None:
        self._nodes, self._loops, self._joins = footprint["nodes"], footprint["loops"], footprint["joins"]
        self._parameters, self._symbols, self._choices = parameters, symbols, choices
        self.known = Knowledge(ranges)
        self.mixed: dict[str, tuple[Sum, int]] = {}
        self._values: dict[int, Sum] = {}
        self._assumed: set[tuple[int, bool]] = set()
        self._open: list[str] = []
        """Loops whose rounds are being bounded; their values are looked at when that is done."""
        self._unproven: list[tuple[Sum, int, int]] = []
        self._replaced: dict[str, Sum] = {}

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, node: int) -> Sum:
        """A node's value, modulo 2^32 or 2^64."""
        if node not in self._values:
            found = self._of(self._nodes[node], node)
            self._values[node] = self.current(found)
        return self._values[node]

    def current(self, item: Sum) -> Sum:
        """A sum without the atoms that are known to be others' sums."""
        for atom, by in self._replaced.items():
            item = item.replaced(atom, by)
        return item

    def _of(self, row: Sequence[Any], node: int) -> Sum:
        kind = row[0]
        if kind == "c":
            return Sum(row[1])
        if kind == "x":
            low, high = self.known.ranges[row[1]]
            return Sum(low) if low == high else Sum(0, {row[1]: 1})
        if kind == "p":
            return Sum(int.from_bytes(self._parameters[row[1] : row[1] + row[2]], "little", signed=True))
        if kind == "s" and row[1] in self._symbols:
            return Sum(self._symbols[row[1]] + row[2])
        if kind in ("+", "-"):
            return self.value(row[1]).plus(self.value(row[2]), 1 if kind == "+" else -1)
        if kind == "*":
            return self._product(self.value(row[1]), self.value(row[2]))
        if kind == "widen":
            return self._exact(row[2], 32, signed=row[1])
        if kind == "round":
            return self._round(row)
        if kind == "join":
            return self._join(row)
        if kind == "?:":
            wanted = self._decide(row[1], f"?{node}")
            return self.value(row[2] if wanted else row[3])
        if kind in ("<<", "&", "|", "^"):
            return self._bitwise(row, node)
        if kind in (">>", "/", "%", "hi", "min", "max"):
            return self._signed(row, node)
        raise NotUnderstoodError

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

    # --- bits ---------------------------------------------------------------------------------------------------------

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

    # --- decisions ----------------------------------------------------------------------------------------------------

    def _choose(self, key: str, ways: Sequence[int]) -> int:
        if key not in self._choices:
            raise _ForkError(key, ways)
        return self._choices[key]

    def _decide(self, node: int, key: str) -> bool:
        """Whether a predicate holds; both where that is open."""
        decided = self._known_to_hold(node)
        if decided is not None:
            return decided
        if self._open:
            # It may be decided otherwise in each round.
            raise NotUnderstoodError
        wanted = bool(self._choose(key, (0, 1)))
        self.assume(node, wanted=wanted)
        return wanted

    def _known_to_hold(self, node: int) -> bool | None:
        row = self._nodes[node]
        if row[0] == "not":
            inner = self._known_to_hold(row[1])
            return None if inner is None else not inner
        if row[0] != "cmp":
            return None
        try:
            first, second = (self._exact(item, row[3], signed=row[2]) for item in row[4:])
        except NotUnderstoodError:
            return None
        difference = first.plus(second, -1)
        if any(atom in difference.factors for atom in self._open):
            return None
        low, high = self.known.least(difference), self.known.most(difference)
        return _compared(row[1], low, high)

    def _join(self, row: Sequence[Any]) -> Sum:
        ways = dict(row[2])
        chosen = self._choose(f"j{row[1]}", tuple(ways))
        if chosen not in ways:
            raise NotUnderstoodError
        for node, wanted in self._joins[str(row[1])][str(chosen)]:
            self.assume(node, wanted=wanted)
        return self.value(ways[chosen])

    # --- conditions ---------------------------------------------------------------------------------------------------

    def assume(self, node: int, *, wanted: bool) -> None:
        """Takes in that a predicate holds, or does not, as far as it is understood."""
        if (node, wanted) in self._assumed:
            return
        self._assumed.add((node, wanted))
        for order, row in self._leaves(node, wanted):
            try:
                first, second = (self._exact(item, row[3], signed=row[2]) for item in row[4:])
            except NotUnderstoodError:
                continue
            self._compare(order, first, second)

    def _leaves(self, node: int, wanted: bool) -> list[tuple[str, Sequence[Any]]]:  # noqa: FBT001 - a pair's
        """The comparisons that must all hold for a predicate to be as wanted."""
        row = self._nodes[node]
        if row[0] == "not":
            return self._leaves(row[1], not wanted)
        if (row[0] == "and" and wanted) or (row[0] == "or" and not wanted):
            return [leaf for item in row[1:] for leaf in self._leaves(item, wanted)]
        if row[0] == "cmp":
            return [(row[1] if wanted else _OPPOSITE[row[1]], row)]
        return []

    def _compare(self, order: str, first: Sum, second: Sum) -> None:
        difference = first.plus(second, -1)
        if any(atom in difference.factors for atom in self._open):
            return
        if order in (">", ">="):
            self._greater_than_mixed(first, second)
        elif order in ("<", "<="):
            self._greater_than_mixed(second, first)
        if order == "==":
            self._equal(difference)
            return
        for item in _at_most_zero(order, difference, self.known):
            self._constrain(item)

    def _greater_than_mixed(self, greater: Sum, less: Sum) -> None:
        """`(x ^ mask) > x`: the mask's highest bit is not in x."""
        for atom, (item, group) in self.mixed.items():
            factor = greater.factors.get(atom, 0)
            same = factor and greater == Sum(0, {atom: factor}) and less == item.times(factor)
            if same and self.known.most(item) < group:
                self._constrain(item.add(1 - group // 2))

    def _constrain(self, item: Sum) -> None:
        if not item.factors:
            if item.constant > 0:
                raise _ImpossibleError
            return
        self.known.constrain(item)
        if any(low > high for low, high in self.known.ranges.values()):
            raise _ImpossibleError

    def _equal(self, difference: Sum) -> None:
        """A sum is 0: a loop's rounds in it are what the rest says."""
        self._constrain(difference)
        self._constrain(difference.times(-1))
        for atom, factor in difference.factors.items():
            if atom.startswith("k") and abs(factor) == 1:
                by = difference.replaced(atom, Sum(0)).times(-factor)
                low, high = self.known.ranges[atom]
                self._replace(atom, by)
                self._constrain(by.times(-1).add(low))
                if high < INFINITE:
                    self._constrain(by.add(-high))
                return

    def _replace(self, atom: str, by: Sum) -> None:
        self._replaced = {name: item.replaced(atom, by) for name, item in self._replaced.items()} | {atom: by}
        self._values = {node: item.replaced(atom, by) for node, item in self._values.items()}
        self.mixed = {name: (item.replaced(atom, by), group) for name, (item, group) in self.mixed.items()}
        constraints, self.known.constraints = self.known.constraints, []
        for item in constraints:
            self._constrain(item.replaced(atom, by))

    # --- loops --------------------------------------------------------------------------------------------------------

    def _round(self, row: Sequence[Any]) -> Sum:
        atom = f"k{row[1]}"
        if atom not in self.known.ranges:
            self._bound_rounds(row[1], atom)
        step = Sum(0)
        for sign, node in row[3]:
            step = step.plus(self.value(node), sign)
        if step.factors:
            raise NotUnderstoodError
        rounds = self._replaced.get(atom, Sum(0, {atom: 1}))
        if atom not in self._open and self.known.ranges[atom] == (0, 0):
            rounds = Sum(0)
        return self.value(row[2]).plus(rounds, step.constant)

    def _bound_rounds(self, head: int, atom: str) -> None:
        """How often a loop may have been gone round."""
        rounds, before = self._loops[str(head)]
        for node, wanted in before:
            self.assume(node, wanted=wanted)
        if atom in self.known.ranges:
            return
        self.known.ranges[atom] = 0, INFINITE
        self._open.append(atom)
        held, unproven, self._unproven = dict(self._values), self._unproven, []
        goes_on = [item for node, wanted in rounds for item in self._going_on(node, wanted, atom)]
        most = INFINITE
        for item in goes_on:
            most = min(most, _rounds(item, atom, self.known))
        self._open.remove(atom)
        self.known.ranges[atom] = 0, most
        for item, low, high in self._unproven:
            if any(other in item.factors for other in self._open):
                unproven.append((item, low, high))
            elif self.known.least(item) < low or self.known.most(item) > high:
                # What was read on the way is not so: nothing is known of the rounds.
                self._values = held
                self.known.ranges[atom] = 0, INFINITE
                goes_on = []
        self._unproven = unproven
        for item in goes_on:
            self._bound_later(item, atom)

    def _bound_later(self, item: Sum, atom: str) -> None:
        """A sum was at most 0 in each round but the last: what it is at most in the last."""
        step = item.factors[atom]
        later = item.add(-step).tightened()
        first = Sum(later.constant, {name: factor for name, factor in later.factors.items() if name != atom})
        self._constrain(later.add(-max(0, self.known.most(first))))

    def _going_on(self, node: int, wanted: bool, atom: str) -> list[Sum]:  # noqa: FBT001 - a pair's
        """Sums that are at most 0 at the end of each round that another one follows, and grow from round to round."""
        found = []
        for order, row in self._leaves(node, wanted):
            try:
                first, second = (self._exact(item, row[3], signed=row[2]) for item in row[4:])
            except NotUnderstoodError:
                continue
            difference = first.plus(second, -1)
            if atom not in difference.factors:
                continue
            if order == "!=":
                found += _counted(difference, atom, self.known)
            elif order != "==":
                found += [item for item in _at_most_zero(order, difference, self.known) if item.factors[atom] > 0]
        return found


_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _compared(order: str, low: int, high: int) -> bool | None:
    """Whether a difference that lies between two numbers is below, at, above 0; None where that is open."""
    below, above = high < 0, low > 0
    equal = low == high == 0
    if order in ("==", "!="):
        found = True if equal else False if below or above else None
        return found if order == "==" or found is None else not found
    if order in ("<", ">="):
        found = True if below else False if low >= 0 else None
        return found if order == "<" or found is None else not found
    found = True if above else False if high <= 0 else None
    return found if order == ">" or found is None else not found


def _at_most_zero(order: str, difference: Sum, known: Knowledge) -> list[Sum]:
    """What is at most 0 where a difference is so to 0."""
    if order in ("<", "<="):
        return [difference.add(order == "<")]
    if order in (">", ">="):
        return [difference.times(-1).add(order == ">")]
    if known.most(difference) <= 0:
        return [difference.add(1)]
    if known.least(difference) >= 0:
        return [difference.times(-1).add(1)]
    return []


def _counted(difference: Sum, atom: str, known: Knowledge) -> list[Sum]:
    """The same for a loop that ends when a difference is 0: where it comes there in whole steps, it is on one side."""
    step = difference.factors[atom]
    first = difference.replaced(atom, Sum(0))
    if any(number % step for number in (first.constant, *first.factors.values())):
        return []
    if step < 0:
        return [difference.times(-1).add(-step)] if known.least(first) >= 0 else []
    return [difference.add(step)] if known.most(first) <= 0 else []


def _rounds(item: Sum, atom: str, known: Knowledge) -> int:
    """How many rounds there are at most, where a growing sum is at most 0 in each but the last."""
    least = known.least(item.replaced(atom, Sum(0)))
    if least <= -INFINITE:
        return INFINITE
    return max(0, -least // item.factors[atom] + 1)


def mixed_range(known: Knowledge, item: Sum, group: int) -> tuple[int, int]:
    """Between what `x ^ mask` lies, the mask below `group`, a power of two."""
    return known.least(item) // group * group, known.most(item) // group * group + group - 1
