"""Symbolic values of the lanes of a warp: polynomials with one coefficient for each lane.

A value is a sum of monomials. The atoms of a monomial are the same in all lanes (parameters, the block's number, the
number of iterations done); its coefficient may differ from lane to lane. So `s[threadIdx.x ^ 1]` is the address of `s`,
plus 128 times the number of the warp, plus 4, 0, 12, 8, .... A value that the lanes do not share and that is no such
sum is an atom that varies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

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


def plus(left: LaneValue, right: LaneValue, sign: int = 1) -> LaneValue:
    """`left + sign * right`."""
    total = dict(left)
    for monomial, lanes in right.items():
        total[monomial] = total[monomial] + sign * lanes if monomial in total else sign * lanes
    return {monomial: lanes for monomial, lanes in total.items() if monomial == CONSTANT or lanes.any()}


def times(left: LaneValue, right: LaneValue) -> LaneValue | None:
    """The product; None where it is too large to follow."""
    total: LaneValue = {}
    for first, a in left.items():
        for second, b in right.items():
            if abs(a).max() * float(abs(b).max()) > _LARGEST:
                return None
            monomial = tuple(sorted((*first, *second)))
            product = a * b
            total[monomial] = total[monomial] + product if monomial in total else product
    return total if len(total) <= _MOST_MONOMIALS else None


def substituted(value: LaneValue, replacement: Callable[[Atom], LaneValue | None]) -> LaneValue | None:
    """The value with other values in place of atoms; None where it becomes too large to follow."""
    total = constant(0)
    for monomial, lanes in value.items():
        others = [replacement(atom) for atom in monomial]
        if all(other is None for other in others):
            if monomial and abs(lanes).max() > _LARGEST:
                return None
            total[monomial] = total[monomial] + lanes if monomial in total else lanes
            continue
        term: LaneValue | None = {CONSTANT: lanes}
        for atom, other in zip(monomial, others, strict=True):
            term = times(term, of_atom(atom) if other is None else other) if term is not None else None
        if term is None:
            return None
        total = plus(total, term)
    return {monomial: lanes for monomial, lanes in total.items() if monomial == CONSTANT or lanes.any()}


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
        found = super()._induction(node, phi, loop)
        return phi if found == UNKNOWN else found

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
        self.partners: dict[str, tuple[LaneValue, LaneValue]] = {}
        """Name of an atom that varies and is `a ^ b`, `b` being the same in all lanes -> a, b."""

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
        return of_atom(Atom(f"node.{node}", None, frozenset(), varies=True))

    def _note_partners(self, node: int, value: LaneValue) -> None:
        item = self._graph.nodes[node]
        if isinstance(item, Operation) and item.operator == "^":
            left, right = item.operands
            if self.is_shared(left):
                left, right = right, left
            ((atom,),) = value
            if atom.varies and self.is_shared(right):
                self.partners[atom.name] = self.of(left), self.of(right)

    def _opaque(self, node: int) -> LaneValue:
        """A value that all lanes share, of which no more is known."""
        least = 0 if self._is_natural(node, set()) else None
        return of_atom(Atom(f"node.{node}", least, frozenset(self._headers(node))))

    # --- nodes --------------------------------------------------------------------------------------------------------

    def _of_node(self, item: Node) -> LaneValue | None:
        if isinstance(item, Constant):
            return constant(item.value) if abs(item.value) <= _LARGEST else None
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
        return self._operation(item) if isinstance(item, Operation) else None

    def _coordinate(self, register: str) -> LaneValue | None:
        lane = np.arange(LANES)
        if register == "laneid":
            return constant(lane)
        if register == WIDTH.name:
            return of_atom(WIDTH) if self._width in (0, LANES) else constant(self._width)
        if not register.startswith("tid."):
            return of_atom(Atom(register, 1 if register.startswith("n") else 0))
        if not self._width:
            return None
        if self._width == LANES:
            warp: LaneValue = {(Atom("warp.x"),): np.full(LANES, LANES)}
            return plus(warp, constant(lane)) if register == "tid.x" else of_atom(Atom(register))
        if register == "tid.x":
            return constant(lane % self._width)
        rows: LaneValue = {(Atom("warp.y"),): np.full(LANES, LANES // self._width)}
        return plus(rows, constant(lane // self._width)) if register == "tid.y" else of_atom(Atom(register))

    def _join(self, item: Phi) -> LaneValue | None:
        """A value from several blocks: one of them, plus a multiple of the block's width where they differ by such."""
        first, *others = (self.of(operand) for operand in item.operands)
        differences = [plus(other, first, -1) for other in others]
        terms = [(key, lanes) for one in differences for key, lanes in one.items() if lanes.any()]
        if not terms or not all(WIDTH in key for key, _ in terms):
            return None
        factor = int(np.gcd.reduce([abs(lanes).max() for _, lanes in terms if _are_equal(lanes)] or [0]))
        if not factor or not all(_are_equal(lanes) for _, lanes in terms):
            return None
        unknown = Atom(f"join.{item.block}", None, frozenset(), varies=True)
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
            total = plus(sources[0], sources[1], 1 if item.operator == "+" else -1)
            return total if len(total) <= _MOST_MONOMIALS else None
        if item.operator == "*":
            return times(sources[0], sources[1])
        if item.operator == "<<":
            amount = _number(sources[1])
            return times(sources[0], constant(1 << amount)) if amount is not None and 0 <= amount < 40 else None
        rule = _RULES.get(item.operator)
        return None if rule is None or len(sources) != 2 else rule(sources[0], sources[1])

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
            return value is not None and all((lanes == lanes[0]).all() for lanes in value.values())
        if isinstance(item, Phi) and item.block not in self._flow.loops:
            return False  # lanes may come from different blocks
        known = self._known.get(node)
        if known is not None and all(_is_flat(monomial, lanes) for monomial, lanes in known.items()):
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
            if item.operator == "&" and any(self._is_natural(operand, seen) for operand in item.operands):
                return True
            if item.operator in ("+", "*", "<<", ">>", "/", "%", "min", "widen"):
                return all(self._is_natural(operand, seen) for operand in item.operands)
            return False
        return isinstance(item, Phi) and all(self._is_natural(operand, seen) for operand in item.operands)

    def _headers(self, node: int) -> set[int]:
        """The headers of the loops in whose iterations a value may differ."""
        headers, seen, pending = set[int](), set[int](), [node]
        while pending:
            number = self._graph.follow(pending.pop())
            if number not in seen:
                seen.add(number)
                item = self._graph.nodes[number]
                pending += item.operands
                headers |= {item.block} if isinstance(item, Phi | Induction) else set()
        return headers


def _are_equal(lanes: Lanes) -> bool:
    return bool((lanes == lanes[0]).all())


def _is_flat(monomial: Monomial, lanes: Lanes) -> bool:
    return _are_equal(lanes) and not any(atom.varies for atom in monomial)


# --- bit operations ---------------------------------------------------------------------------------------------------


def _number(value: LaneValue) -> int | None:
    """The number that a value is in all lanes; None where it is not known."""
    lanes = value.get(CONSTANT)
    if lanes is None:
        return None if value else 0
    return int(lanes[0]) if len(value) == 1 and (lanes == lanes[0]).all() else None


def _split(value: LaneValue) -> tuple[LaneValue, Lanes]:
    """The symbolic part of a value, and the number of each lane."""
    symbolic = {monomial: lanes for monomial, lanes in value.items() if monomial != CONSTANT}
    return symbolic, value.get(CONSTANT, np.zeros(LANES, np.int64))


def _is_multiple(symbolic: LaneValue, of: int) -> bool:
    are_natural = all(atom.least is not None for key in symbolic for atom in key)
    return are_natural and not any((lanes % of).any() for lanes in symbolic.values())


def _bits(value: LaneValue, combine: Callable[[Lanes], Lanes], width: int) -> LaneValue | None:
    """The value with its low bits combined with something below 2^width."""
    symbolic, lanes = _split(value)
    return plus(symbolic, constant(combine(lanes))) if _is_multiple(symbolic, 1 << width) else None


def _and(left: LaneValue, right: LaneValue) -> LaneValue | None:
    mask = _number(right)
    if mask is None:
        left, right, mask = right, left, _number(left)
    if mask is None:
        return _of_numbers(left, right, np.bitwise_and)
    symbolic, lanes = _split(left)
    low = mask & -mask
    if mask >= 0 and (lanes >= 0).all() and _is_multiple(symbolic, 1 << mask.bit_length()):
        return constant(lanes & mask)
    if (mask < 0 or mask >> 31 == 1) and _is_multiple(symbolic, low) and (lanes >= 0).all():
        return plus(symbolic, constant(lanes & -low)) if mask in (-low, (1 << 32) - low) else None
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
        if not all(_is_flat(key, part) for key, part in high.items()):
            return None
        units = {key: part // unit for key, part in high.items()}
        atom = _named(f"{combine.__name__}{number // unit}", units)
        return plus({(atom,): np.full(LANES, unit)}, constant(lanes))
    return _bits(left, lambda lanes: combine(lanes, numbers), int(numbers.max()).bit_length())


def _of_numbers(left: LaneValue, right: LaneValue, combine: Callable[[Lanes, Lanes], Lanes]) -> LaneValue | None:
    (first, a), (second, b) = _split(left), _split(right)
    return None if first or second else constant(combine(a, b))


def _shifted_right(left: LaneValue, right: LaneValue) -> LaneValue | None:
    amount = _number(right)
    return None if amount is None or not 0 <= amount < 40 else _divided(left, constant(1 << amount))


def _divided(left: LaneValue, right: LaneValue) -> LaneValue | None:
    divisor = _number(right)
    symbolic, lanes = _split(left)
    if not divisor or divisor < 0 or (lanes < 0).any():
        return None
    if _is_multiple(symbolic, divisor):
        return plus({key: part // divisor for key, part in symbolic.items()}, constant(lanes // divisor))
    if divisor % LANES == 0 and (lanes < LANES).all() and _is_multiple(symbolic, LANES):
        flat = all(_is_flat(key, part) for key, part in symbolic.items())
        return of_atom(_named(f"/{divisor}", symbolic)) if flat else None
    return None


def _remainder(left: LaneValue, right: LaneValue) -> LaneValue | None:
    divisor = _number(right)
    if not divisor or divisor < 0 or divisor & (divisor - 1):
        return None
    return _and(left, constant(divisor - 1)) if (_split(left)[1] >= 0).all() else None


def _named(operation: str, symbolic: LaneValue) -> Atom:
    """The atom of a function of values that all lanes share."""
    parts = sorted(f"{int(lanes[0])}*{'*'.join(atom.name for atom in key)}" for key, lanes in symbolic.items())
    headers = frozenset(header for key in symbolic for atom in key for header in atom.headers)
    return Atom(f"({'+'.join(parts)}){operation}", 0, headers)


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
