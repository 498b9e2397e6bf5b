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

from gpuregress.devices.cpu.parallel.affine_expressions import INFINITE, Knowledge, NotUnderstoodError, Sum
from gpuregress.devices.cpu.parallel.affine_operations import Operations
from gpuregress.devices.cpu.parallel.constraints import OPPOSITE, at_most_zero, compared, counted, most_rounds

_MOST_INSTANCES = 24
_MOST_READINGS = 200
Footprint = Mapping[str, Any]


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


class _Reader(Operations):
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
        super().__init__(ranges)
        self._values: dict[int, Sum] = {}
        self._assumed: set[tuple[int, bool]] = set()
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
        return compared(row[1], low, high)

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
            return [(row[1] if wanted else OPPOSITE[row[1]], row)]
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
        for item in at_most_zero(order, difference, self.known):
            self._constrain(item)

    def _greater_than_mixed(self, greater: Sum, less: Sum) -> None:
        """`(x ^ mask) > x`: the mask's highest bit is not in x."""
        for atom, (item, group) in self.mixed.items():
            factor = greater.factors.get(atom, 0)
            same = factor > 0 and greater == Sum(0, {atom: factor}) and less == item.times(factor)
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
            most = min(most, most_rounds(item, atom, self.known))
        self._open.remove(atom)
        self.known.ranges[atom] = 0, most
        for item, low, high in self._unproven:
            if any(other in item.factors for other in self._open):
                unproven.append((item, low, high))
            elif self.known.least(item) < low or self.known.most(item) > high:
                # What was read on the way is not so: nothing is known of the rounds. Bounds of loops inside stay:
                # they count rounds within one of these (`_of_this_round`), and what came of them is dropped here.
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
                found += counted(difference, atom, self.known)
            elif order != "==":
                found += [item for item in at_most_zero(order, difference, self.known) if item.factors[atom] > 0]
        return found
