"""Symbolic values of the lanes of a warp: polynomials with one coefficient for each lane.

A value is a sum of monomials. The atoms of a monomial are the same in all lanes (parameters, the block's number, the
number of iterations done); its coefficient may differ from lane to lane. So `s[threadIdx.x ^ 1]` is the address of `s`,
plus 128 times the number of the warp, plus 4, 0, 12, 8, .... A value that the lanes do not share and that is no such
sum is an atom that varies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gpuregress.gpu.graphs import reachable_from
from gpuregress.virtual_gpu.analysis.control_flow_graph import Dominance, Loop
from gpuregress.virtual_gpu.analysis.value_graph import UNKNOWN, ValueGraph
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic
from gpuregress.virtual_gpu.ptx.tree import Instruction, Operand, Register
from gpuregress.virtual_gpu.runtime.footprint_ir import (
    Constant,
    Coordinate,
    Induction,
    Node,
    Operation,
    ParameterValue,
    Phi,
    Unknown,
    VariableAddress,
)

LANES = 32
_LARGEST = 1 << 40
"""Coefficients beyond it are not followed: a product of two stays below 2^63."""
_DEEPEST = 200
_MOST_MONOMIALS = 24

Lanes: TypeAlias = npt.NDArray[np.int64]
"""One number for each lane."""


class Atom(NamedTuple):
    """A value that monomials are made of.

    Attributes:
        name: identifies it.
        least: its lower bound, None where there is none.
        headers: the headers of the loops in whose iterations it may differ.
        varies: whether the lanes may have different ones.
    """

    name: str
    least: int | None = 0
    headers: frozenset[int] = frozenset()
    varies: bool = False


WIDTH = Atom("ntid.x", 1)
"""Threads of a block along x: more than the number of any lane that a row has."""
Monomial: TypeAlias = tuple[Atom, ...]
LaneValue: TypeAlias = dict[Monomial, Lanes]
CONSTANT: Monomial = ()


def iterations(header: int) -> Atom:
    """The number of iterations that a loop has done."""
    return Atom(f"iterations.{header}", 0, frozenset([header]))


def constant(value: int | Lanes) -> LaneValue:
    """A known number, or one for each lane."""
    return {CONSTANT: np.zeros(LANES, np.int64) + value}


def of_atom(atom: Atom) -> LaneValue:
    """The value of an atom."""
    return {(atom,): np.ones(LANES, np.int64)}


def varies(monomial: Monomial) -> bool:
    """Whether the lanes may have different values of a monomial."""
    return any(atom.varies for atom in monomial)


def are_equal(lanes: Lanes) -> bool:
    """Whether all lanes have one number."""
    return bool((lanes == lanes[0]).all())


def _is_flat(value: LaneValue) -> bool:
    """Whether all lanes have the same value."""
    return all(are_equal(lanes) and not varies(monomial) for monomial, lanes in value.items())


def _add_to(total: LaneValue, monomial: Monomial, lanes: Lanes) -> None:
    total[monomial] = total[monomial] + lanes if monomial in total else lanes


def _without_zeros(value: LaneValue) -> LaneValue:
    return {monomial: lanes for monomial, lanes in value.items() if monomial == CONSTANT or lanes.any()}


def plus(left: LaneValue, right: LaneValue, sign: int = 1) -> LaneValue:
    """`left + sign * right`."""
    total = dict(left)
    for monomial, lanes in right.items():
        _add_to(total, monomial, sign * lanes)
    return _without_zeros(total)


def times(left: LaneValue, right: LaneValue) -> LaneValue | None:
    """The product; None where it is too large to follow."""
    total: LaneValue = {}
    for first, a in left.items():
        for second, b in right.items():
            if abs(a).max() * float(abs(b).max()) > _LARGEST:
                return None
            _add_to(total, tuple(sorted((*first, *second))), a * b)
    return total if len(total) <= _MOST_MONOMIALS else None


def substituted(value: LaneValue, replacement: Callable[[Atom], LaneValue | None]) -> LaneValue | None:
    """The value with other values in place of atoms; None where it becomes too large to follow."""
    total = constant(0)
    for monomial, lanes in value.items():
        factors = [replacement(atom) for atom in monomial]
        if all(factor is None for factor in factors):
            if monomial and abs(lanes).max() > _LARGEST:
                return None
            _add_to(total, monomial, lanes)
            continue
        term: LaneValue = {CONSTANT: lanes}
        for atom, factor in zip(monomial, factors, strict=True):
            product = times(term, of_atom(atom) if factor is None else factor)
            if product is None:
                return None
            term = product
        total = plus(total, term)
    return _without_zeros(total)


class LaneGraph(ValueGraph):
    """A value graph that follows addresses in all state spaces, and keeps what a loop changes by no fixed step."""

    def read(self, operand: Operand, index: int) -> int:
        """Return the node of an operand of statement `index`."""
        if isinstance(operand, Register) and operand.name == "%laneid":
            return self._intern(Coordinate("laneid"))
        return super().read(operand, index)

    def _address(self, _item: Instruction, _bits: int, sources: tuple[int, ...]) -> Node:
        return Operation("copy", sources)

    def _induction(self, node: int, phi: Phi, loop: Loop) -> Node:
        induction = super()._induction(node, phi, loop)
        return phi if induction == UNKNOWN else induction

    _rules: ClassVar[dict[Arithmetic, Callable[..., Node]]] = {**ValueGraph._rules, Arithmetic.COPY: _address}  # noqa: SLF001 - its base


class LaneValues:
    """The symbolic values of a completed graph's nodes.

    Args:
        flow: the kernel's control flow.
        graph: its value graph.
        width: threads of a warp along x: 32 where a warp is a part of a row; 1, 2, 4, 8 or 16 where it is whole rows;
            0 where it is neither.
    """

    def __init__(self, flow: Dominance, graph: LaneGraph, width: int) -> None:
        self._flow, self._graph, self._width = flow, graph, width
        self._known: dict[int, LaneValue] = {}
        self._shared: dict[int, bool] = {}
        self._depth = 0
        self.partners: dict[str, LaneValue] = {}
        """Name of an atom that varies and is `a ^ b`, `b` being the same in all lanes -> a."""

    def of(self, node: int) -> LaneValue:
        """The value of a node."""
        node = self._graph.follow(node)
        if node not in self._known:
            self._known[node] = self._varying(node)  # a cycle, or too deep
            if self._depth < _DEEPEST:
                self._depth += 1
                value = self._of_node(self._graph.nodes[node])
                self._depth -= 1
                if value is None:
                    value = self._opaque(node) if self.is_shared(node) else self._varying(node)
                    self._note_partners(node, value)
                self._known[node] = value
        return self._known[node]

    def _varying(self, node: int) -> LaneValue:
        return of_atom(Atom(f"node.{node}", None, varies=True))

    def _note_partners(self, node: int, value: LaneValue) -> None:
        item = self._graph.nodes[node]
        if not isinstance(item, Operation) or item.operator != "^":
            return
        left, right = item.operands
        if self.is_shared(left):
            left, right = right, left
        ((atom,),) = value
        if atom.varies and self.is_shared(right):
            self.partners[atom.name] = self.of(left)

    def _opaque(self, node: int) -> LaneValue:
        """A value that all lanes share, of which no more is known."""
        least = 0 if self._is_natural(node, set()) else None
        return of_atom(Atom(f"node.{node}", least, frozenset(self._headers(node))))

    # --- nodes --------------------------------------------------------------------------------------------------------

    def _of_node(self, item: Node) -> LaneValue | None:
        if isinstance(item, Constant) and abs(item.value) <= _LARGEST:
            return constant(item.value)
        if isinstance(item, Coordinate):
            return self._coordinate(item.register)
        if isinstance(item, ParameterValue):
            return of_atom(Atom(f"param.{item.offset}", None))
        if isinstance(item, VariableAddress):
            return plus(of_atom(Atom(f"variable.{item.variable}", None)), constant(item.byte))
        if isinstance(item, Induction):
            return self._induction(item)
        if isinstance(item, Phi) and item.block not in self._flow.loops:
            return self._join(item)
        if isinstance(item, Operation):
            return self._operation(item)
        return None

    def _coordinate(self, register: str) -> LaneValue | None:
        lane = np.arange(LANES)
        if register == "laneid":
            return constant(lane)
        if register == WIDTH.name and self._width in (0, LANES):
            return of_atom(WIDTH)
        if register == WIDTH.name:
            return constant(self._width)
        if not register.startswith("tid."):
            least = 1 if register.startswith("n") else 0
            return of_atom(Atom(register, least))
        if not self._width:
            return None
        if self._width == LANES:
            axis, in_warp = "x", lane
        elif register == "tid.x":
            return constant(lane % self._width)
        else:
            axis, in_warp = "y", lane // self._width
        if register != f"tid.{axis}":
            return of_atom(Atom(register))
        warps: LaneValue = {(Atom(f"warp.{axis}"),): np.full(LANES, in_warp[-1] + 1)}
        return plus(warps, constant(in_warp))

    def _join(self, item: Phi) -> LaneValue | None:
        """A value from several blocks: one of them, plus a multiple of the block's width where they differ by such."""
        first, *others = (self.of(operand) for operand in item.operands)
        factor = 0
        for other in others:
            for monomial, lanes in plus(other, first, -1).items():
                if not lanes.any():
                    continue
                if WIDTH not in monomial or not are_equal(lanes):
                    return None
                factor = math.gcd(factor, int(lanes[0]))
        if not factor:
            return None
        unknown = Atom(f"join.{item.block}", None, varies=True)
        return plus(first, {tuple(sorted((WIDTH, unknown))): np.full(LANES, factor)})

    def _induction(self, item: Induction) -> LaneValue | None:
        initial, *steps = (self.of(operand) for operand in item.operands)
        step = constant(0)
        for sign, term in zip(item.signs, steps, strict=True):
            step = plus(step, term, sign)
        grown = times(step, of_atom(iterations(item.block)))
        return None if grown is None else plus(initial, grown)

    def _operation(self, item: Operation) -> LaneValue | None:
        sources = [self.of(operand) for operand in item.operands]
        if item.operator == "widen":
            return sources[0]
        if item.operator in ("+", "-"):
            sign = 1 if item.operator == "+" else -1
            total = plus(sources[0], sources[1], sign)
            return total if len(total) <= _MOST_MONOMIALS else None
        if item.operator == "*":
            return times(sources[0], sources[1])
        if item.operator == "<<":
            factor = _power_of_two(sources[1])
            return None if factor is None else times(sources[0], factor)
        if item.operator not in _RULES or len(sources) != 2:
            return None
        return _RULES[item.operator](sources[0], sources[1])

    # --- values that all lanes share ----------------------------------------------------------------------------------

    def is_shared(self, node: int) -> bool:
        """Whether a value is the same in all lanes of a warp, at the same iteration of its loops."""
        node = self._graph.follow(node)
        if node not in self._shared:
            self._shared[node] = True  # of a cycle: until something in it is not
            self._shared[node] = self._finds_shared(node)
        return self._shared[node]

    def _finds_shared(self, node: int) -> bool:
        item = self._graph.nodes[node]
        if isinstance(item, Unknown):
            return False
        if isinstance(item, Coordinate):
            value = self._coordinate(item.register)
            return value is not None and _is_flat(value)
        if isinstance(item, Phi) and item.block not in self._flow.loops:
            return False  # lanes may come from different blocks
        known = self._known.get(node)
        if known is not None and _is_flat(known):
            return True
        return all(map(self.is_shared, item.operands))

    def _is_natural(self, node: int, seen: set[int]) -> bool:
        """Whether a value is not negative, if nothing overflows."""
        node = self._graph.follow(node)
        if node in seen:
            return True
        seen.add(node)
        item = self._graph.nodes[node]
        if isinstance(item, Constant):
            return item.value >= 0
        if isinstance(item, Coordinate):
            return True
        if isinstance(item, Operation):
            if item.operator in (">>", "/", "%") and not item.signed:
                return True
            if item.operator == "&":
                return any(self._is_natural(operand, seen) for operand in item.operands)
            if item.operator not in ("+", "*", "<<", ">>", "/", "%", "min", "widen"):
                return False
        elif not isinstance(item, Phi):
            return False
        return all(self._is_natural(operand, seen) for operand in item.operands)

    def _headers(self, node: int) -> set[int]:
        """The headers of the loops in whose iterations a value may differ."""
        follow, nodes = self._graph.follow, self._graph.nodes
        numbers = reachable_from([follow(node)], lambda number: map(follow, nodes[number].operands))
        values = [nodes[number] for number in numbers]
        return {value.block for value in values if isinstance(value, Phi | Induction)}


# --- bit operations ---------------------------------------------------------------------------------------------------


def _number(value: LaneValue) -> int | None:
    """The number that a value is in all lanes; None where it is not known."""
    symbolic, lanes = _split(value)
    return None if symbolic or not are_equal(lanes) else int(lanes[0])


def _power_of_two(exponent: LaneValue) -> LaneValue | None:
    """2 to the power of a number that is known, and below the bits of `_LARGEST`."""
    amount = _number(exponent)
    if amount is None or not 0 <= amount < _LARGEST.bit_length() - 1:
        return None
    return constant(1 << amount)


def _split(value: LaneValue) -> tuple[LaneValue, Lanes]:
    """The symbolic part of a value, and the number of each lane."""
    symbolic = {monomial: lanes for monomial, lanes in value.items() if monomial != CONSTANT}
    return symbolic, value.get(CONSTANT, np.zeros(LANES, np.int64))


def _is_multiple(symbolic: LaneValue, divisor: int) -> bool:
    """Whether a value consists of multiples of a number, none of them negative."""
    for monomial, lanes in symbolic.items():
        if (lanes % divisor).any() or any(atom.least is None for atom in monomial):
            return False
    return True


def _over(symbolic: LaneValue, divisor: int) -> LaneValue:
    return {monomial: lanes // divisor for monomial, lanes in symbolic.items()}


def _bits(value: LaneValue, combine: Callable[[Lanes], Lanes], width: int) -> LaneValue | None:
    """The value with its low bits combined with something below 2^width."""
    symbolic, lanes = _split(value)
    if not _is_multiple(symbolic, 1 << width):
        return None
    return plus(symbolic, constant(combine(lanes)))


def _and(left: LaneValue, right: LaneValue) -> LaneValue | None:
    mask = _number(right)
    if mask is None:
        left, right, mask = right, left, _number(left)
    if mask is None:
        return _of_numbers(left, right, np.bitwise_and)
    symbolic, lanes = _split(left)
    if (lanes < 0).any():
        return _of_numbers(left, right, np.bitwise_and)
    if mask >= 0 and _is_multiple(symbolic, 1 << mask.bit_length()):
        return constant(lanes & mask)
    low = mask & -mask
    if (mask < 0 or mask >> 31 == 1) and _is_multiple(symbolic, low):
        if mask not in (-low, (1 << 32) - low):
            return None
        return plus(symbolic, constant(lanes & -low))
    return _of_numbers(left, right, np.bitwise_and)


def _or(left: LaneValue, right: LaneValue) -> LaneValue | None:
    return _merged(left, right, np.bitwise_or)


def _xor(left: LaneValue, right: LaneValue) -> LaneValue | None:
    return _merged(left, right, np.bitwise_xor)


def _merged(left: LaneValue, right: LaneValue, combine: Callable[[Lanes, Lanes], Lanes]) -> LaneValue | None:
    if len(_split(left)[0]) < len(_split(right)[0]):
        left, right = right, left
    symbolic, numbers = _split(right)
    if symbolic or (numbers < 0).any():
        return None
    number = _number(right)
    high, lanes = _split(left)
    unit = 1 << int(lanes.max()).bit_length()
    if high and number and number % unit == 0 and _is_multiple(high, unit) and (lanes >= 0).all():
        if not _is_flat(high):
            return None
        atom = _named(f"{combine.__name__}{number // unit}", _over(high, unit))
        return plus({(atom,): np.full(LANES, unit)}, constant(lanes))
    return _bits(left, lambda lanes: combine(lanes, numbers), int(numbers.max()).bit_length())


def _of_numbers(left: LaneValue, right: LaneValue, combine: Callable[[Lanes, Lanes], Lanes]) -> LaneValue | None:
    (first, a), (second, b) = _split(left), _split(right)
    return None if first or second else constant(combine(a, b))


def _shifted_right(left: LaneValue, right: LaneValue) -> LaneValue | None:
    divisor = _power_of_two(right)
    return None if divisor is None else _divided(left, divisor)


def _divided(left: LaneValue, right: LaneValue) -> LaneValue | None:
    divisor = _number(right)
    symbolic, lanes = _split(left)
    if not divisor or divisor < 0 or (lanes < 0).any():
        return None
    if _is_multiple(symbolic, divisor):
        return plus(_over(symbolic, divisor), constant(lanes // divisor))
    if divisor % LANES or (lanes >= LANES).any() or not _is_multiple(symbolic, LANES) or not _is_flat(symbolic):
        return None
    return of_atom(_named(f"/{divisor}", symbolic))


def _remainder(left: LaneValue, right: LaneValue) -> LaneValue | None:
    divisor = _number(right)
    if not divisor or divisor < 0 or divisor & (divisor - 1) or (_split(left)[1] < 0).any():
        return None
    return _and(left, constant(divisor - 1))


def _named(operation: str, symbolic: LaneValue) -> Atom:
    """The atom of a function of values that all lanes share."""
    parts: list[str] = []
    headers: set[int] = set()
    for monomial, lanes in symbolic.items():
        parts.append("*".join([str(int(lanes[0])), *(atom.name for atom in monomial)]))
        headers.update(*(atom.headers for atom in monomial))
    return Atom(f"({'+'.join(sorted(parts))}){operation}", 0, frozenset(headers))


_RULES: dict[str, Callable[[LaneValue, LaneValue], LaneValue | None]] = {
    "&": _and,
    "|": _or,
    "^": _xor,
    ">>": _shifted_right,
    "/": _divided,
    "%": _remainder,
    "min": lambda left, right: _of_numbers(left, right, np.minimum),
    "max": lambda left, right: _of_numbers(left, right, np.maximum),
}
