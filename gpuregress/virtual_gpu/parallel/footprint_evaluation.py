"""Evaluation of a footprint for one launch: each address as an affine expression with constraints.

One access becomes several instances where its thread may have come along several paths, or a minimum is one or the
other of two values. 32-bit arithmetic wraps around: where a value is widened, compared or divided, it is proven to lie
in its type's range first. The iterations of a loop are bounded by the conditions under which another one follows, by
induction: as long as they held, no value had wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import and_, or_, xor

from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.parallel.affine import (
    NEGATED,
    UNBOUNDED,
    ZERO,
    Affine,
    ConstraintSystem,
    NotAffineError,
    Range,
    decide,
    iteration_limit,
    nonpositive,
    nonpositive_before_zero,
    xor_range,
)
from gpuregress.virtual_gpu.runtime.footprint_ir import (
    Condition,
    Conditions,
    Constant,
    Coordinate,
    Footprint,
    Induction,
    Node,
    Operation,
    ParameterValue,
    Phi,
    VariableAddress,
)

_MOST_INSTANCES = 24
_MOST_EVALUATIONS = 200
_BITWISE: dict[str, Callable[[int, int], int]] = {"&": and_, "|": or_, "^": xor}


class _ForkError(Exception):
    """A decision is open: evaluation starts again with each of the alternatives."""

    def __init__(self, key: str, alternatives: Sequence[int]) -> None:
        super().__init__(key)
        self.key, self.alternatives = key, alternatives


class _InfeasibleError(Exception):
    """The conditions of an instance contradict each other."""


class LaunchValues(Record):
    """A footprint, and the numbers of a launch that its expressions refer to.

    Attributes:
        footprint: of the kernel.
        ranges: least and greatest value of each coordinate.
        parameters: the argument bytes.
        symbols: addresses of module variables.
    """

    footprint: Footprint
    ranges: Mapping[str, Range]
    parameters: bytes
    symbols: Mapping[str, int]

    def parameter(self, offset: int, size: int, *, signed: bool = False) -> int:
        """Return the number in `size` bytes of the parameter space."""
        return int.from_bytes(self.parameters[offset : offset + size], "little", signed=signed)


@dataclass(slots=True)
class Instance:
    """One case in which an access happens.

    Attributes:
        values: the address, or a surface's coordinates.
        system: constraints on the variables.
        xors: variable that stands for `x ^ mask` -> x, and the power of two above the mask.
    """

    values: list[Affine]
    system: ConstraintSystem
    xors: dict[str, tuple[Affine, int]]


def instances(launch: LaunchValues, nodes: Sequence[int], conditions: Conditions) -> list[Instance]:
    """Return all cases in which an access may happen.

    Args:
        launch: the numbers to evaluate for.
        nodes: of the address, or of the coordinates.
        conditions: of the access.

    Raises:
        NotAffineError: the address is not affine, or may wrap around, or there are too many cases.
    """
    cases: list[Instance] = []
    pending: list[dict[str, int]] = [{}]
    evaluations = 0
    while pending:
        evaluations += 1
        if evaluations > _MOST_EVALUATIONS:
            raise NotAffineError
        decisions = pending.pop()
        evaluator = _Evaluator(launch, decisions)
        try:
            for condition in conditions:
                evaluator.assume(condition)
            values = [evaluator.value(node) for node in nodes]
            values = [evaluator.current(item) for item in values]
        except _ForkError as fork:
            pending += [{**decisions, fork.key: alternative} for alternative in fork.alternatives]
            if len(pending) + len(cases) > _MOST_INSTANCES:
                raise NotAffineError from fork
        except _InfeasibleError:
            continue
        else:
            if evaluator.system.is_feasible():
                cases.append(Instance(values, evaluator.system, evaluator.xors))
    return cases


class _Evaluator:
    """Evaluates nodes under one set of decisions.

    Quotients, masks and exclusive-ors become further variables, with constraints on their values.
    """

    def __init__(self, launch: LaunchValues, decisions: Mapping[str, int]) -> None:
        self.system = ConstraintSystem(launch.ranges)
        self.xors: dict[str, tuple[Affine, int]] = {}
        """Variable that stands for `x ^ mask` -> x, and the power of two above the mask."""
        self._open_loops: list[str] = []
        """Iteration variables that are being bounded: facts about their values are proven afterwards."""
        self._to_prove: list[tuple[Affine, int, int]] = []
        """(expression, least, greatest): assumed ranges of values that depend on them."""
        self._launch, self._footprint, self._decisions = launch, launch.footprint, decisions
        self._nodes = launch.footprint.nodes
        self._values: dict[int, Affine] = {}
        self._assumed: set[Condition] = set()
        self._substitutions: dict[str, Affine] = {}

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, node: int) -> Affine:
        """Return a node's value, modulo 2^32 or 2^64.

        Raises:
            NotAffineError: it is no affine expression.
        """
        if node not in self._values:
            value = self._of(self._nodes[node], node)
            self._values[node] = self.current(value)
        return self._values[node]

    def current(self, item: Affine) -> Affine:
        """Return an expression without the variables that equations have determined."""
        for variable, value in self._substitutions.items():
            item = item.substituted(variable, value)
        return item

    def _of(self, node: Node, number: int) -> Affine:
        if isinstance(node, Operation):
            return self._of_operation(node, number)
        if isinstance(node, Constant):
            return Affine(node.value)
        if isinstance(node, Coordinate):
            low, high = self.system.ranges[node.register]
            return Affine(low) if low == high else Affine(0, {node.register: 1})
        if isinstance(node, ParameterValue):
            return Affine(self._launch.parameter(node.offset, node.size, signed=True))
        if isinstance(node, Induction):
            return self._induction(node)
        if isinstance(node, Phi):
            return self._phi(node)
        if isinstance(node, VariableAddress) and node.variable in self._launch.symbols:
            return Affine(self._launch.symbols[node.variable] + node.byte)
        raise NotAffineError

    def _of_operation(self, node: Operation, number: int) -> Affine:
        operator, operands = node.operator, node.operands
        if operator in ("+", "-"):
            return self.value(operands[0]).plus(self.value(operands[1]), 1 if operator == "+" else -1)
        if operator == "*":
            return self._product(self.value(operands[0]), self.value(operands[1]))
        if operator == "widen":
            return self._exact(operands[0], 32, signed=node.signed)
        if operator == "select":
            condition, if_true, if_false = operands
            return self.value(if_true if self._decide(condition, f"?{number}") else if_false)
        if operator in ("<<", "&", "|", "^"):
            return self._bitwise(node, number)
        if operator in (">>", "/", "%", "hi", "min", "max"):
            return self._on_numbers(node, number)
        raise NotAffineError

    # --- numbers of registers -----------------------------------------------------------------------------------------

    def _exact(self, node: int, bits: int, *, signed: bool) -> Affine:
        """The number that a register's bits stand for."""
        return self._in_range(self.value(node), bits, signed=signed)

    def _in_range(self, item: Affine, bits: int, *, signed: bool) -> Affine:
        least = -(1 << bits - 1) if signed else 0
        first = item
        for variable in self._open_loops:
            first = first.substituted(variable, ZERO)
        low, high = self.system.lower_bound(first), self.system.upper_bound(first)
        wraps = (low - least) >> bits
        if (high - least) >> bits != wraps:
            raise NotAffineError
        item = item.add(-wraps << bits)
        if item.depends_on(self._open_loops):
            self._to_prove.append((item, least, least + (1 << bits) - 1))
        return item

    def _constant(self, node: int, bits: int) -> int | None:
        item = self.value(node)
        return None if item.coefficients else item.constant % (1 << bits)

    def _constant_if_affine(self, node: int, bits: int) -> int | None:
        try:
            return self._constant(node, bits)
        except NotAffineError:
            return None

    def _variable(self, name: str, low: int, high: int) -> Affine:
        if low == high:
            return Affine(low)
        self.system.ranges[name] = low, high
        return Affine(0, {name: 1})

    def _refuse_open(self, *items: Affine) -> None:
        if any(item.depends_on(self._open_loops) for item in items):
            raise NotAffineError

    # --- operations ---------------------------------------------------------------------------------------------------

    def _product(self, left: Affine, right: Affine) -> Affine:
        if right.coefficients:
            left, right = right, left
        if right.coefficients:
            raise NotAffineError
        return left.times(right.constant)

    def _bitwise(self, operation: Operation, node: int) -> Affine:
        operator, bits = operation.operator, operation.bits
        left, right = operation.operands
        if operator == "<<":
            amount = self._constant(right, 32)
            if amount is None:
                raise NotAffineError
            return self.value(left).times(1 << amount) if amount < bits else ZERO
        first, mask = self._constant_if_affine(left, bits), self._constant_if_affine(right, bits)
        if first is not None and mask is not None:
            return Affine(_BITWISE[operator](first, mask))
        if first is not None:
            left, mask = right, first
        if mask is None:
            if operator == "|":
                return self._disjoint_or(left, right, bits)
            raise NotAffineError
        if operator == "^":
            return self._xor(left, mask, bits, node)
        if operator == "|":
            return self.value(left).add(mask).minus(self._masked(left, mask, bits, node))
        return self._masked(left, mask, bits, node)

    def _masked(self, operand: int, mask: int, bits: int, node: int) -> Affine:
        """`x & mask`."""
        below = (1 << bits) - mask
        try:
            item = self._exact(operand, bits, signed=True)
        except NotAffineError:
            if mask >> (bits - 1) or self._open_loops:
                raise
            return self._variable(f"&{node}", 0, mask)
        self._refuse_open(item)
        if mask & (mask + 1) == 0:
            return item.plus(self._quotient(item, mask + 1, f"&{node}"), -(mask + 1))
        if mask and below & (below - 1) == 0:
            return self._quotient(item, below, f"&{node}").times(below)
        if mask >> (bits - 1):
            raise NotAffineError
        return self._variable(f"&{node}", 0, mask)

    def _quotient(self, item: Affine, divisor: int, name: str) -> Affine:
        """An expression divided by a positive number, rounded down."""
        self._refuse_open(item)
        if not any(coefficient % divisor for coefficient in item.coefficients.values()):
            return item.divided(divisor)
        low, high = self.system.lower_bound(item) // divisor, self.system.upper_bound(item) // divisor
        quotient = self._variable(f"{name}/", low, high)
        remainder = item.plus(quotient, -divisor)
        self.system.add(remainder.times(-1))
        self.system.add(remainder.add(1 - divisor))
        return quotient

    def _xor(self, operand: int, mask: int, bits: int, node: int) -> Affine:
        """`x ^ mask`."""
        if mask == 0:
            return self.value(operand)
        if mask == (1 << bits) - 1:
            return self.value(operand).times(-1).add(-1)
        item = self._exact(operand, bits, signed=True)
        self._refuse_open(item)
        if self.system.lower_bound(item) < 0 or mask >> (bits - 1):
            raise NotAffineError
        for power in reversed(range(mask.bit_length())):
            if mask % (1 << power) == 0 and item.is_multiple_of(1 << power):
                break
        mask >>= power
        item = item.divided(1 << power)
        group = 1 << mask.bit_length()
        self.xors[f"^{node}"] = item, group
        return self._variable(f"^{node}", *xor_range(self.system, item, group)).times(1 << power)

    def _disjoint_or(self, left: int, right: int, bits: int) -> Affine:
        """`x | y` of numbers that have no bit in common."""
        first, second = self._exact(left, bits, signed=True), self._exact(right, bits, signed=True)
        for high, low in ((first, second), (second, first)):
            power = 1 << max(0, self.system.upper_bound(low)).bit_length()
            if self.system.lower_bound(low) >= 0 and high.is_multiple_of(power):
                return high.plus(low)
        raise NotAffineError

    def _on_numbers(self, operation: Operation, node: int) -> Affine:
        """Shifts to the right, quotients, remainders, minima and maxima."""
        operator, bits, signed = operation.operator, operation.bits, operation.signed
        left, right = operation.operands
        first = self._exact(left, bits, signed=signed)
        if operator == ">>":
            amount = self._constant(right, 32)
            if amount is None:
                raise NotAffineError
            return self._quotient(first, 1 << min(amount, bits), f">{node}")
        second = self._exact(right, bits, signed=signed)
        if operator == "hi":
            return self._quotient(self._product(first, second), 1 << bits, f"h{node}")
        if operator in ("min", "max"):
            return self._extreme(operator, first, second, node)
        if second.coefficients or second.constant <= 0 or self.system.lower_bound(first) < 0:
            raise NotAffineError
        quotient = self._quotient(first, second.constant, f"/{node}")
        return quotient if operator == "/" else first.plus(quotient, -second.constant)

    def _extreme(self, operator: str, first: Affine, second: Affine, node: int) -> Affine:
        self._refuse_open(first, second)
        difference = first.minus(second)
        if operator == "max":
            difference = difference.times(-1)
        if self.system.upper_bound(difference) <= 0:
            return first
        if self.system.lower_bound(difference) >= 0:
            return second
        if self._choose(f"m{node}", (0, 1)) == 0:
            self._constrain(difference)
            return first
        self._constrain(difference.times(-1))
        return second

    # --- decisions ----------------------------------------------------------------------------------------------------

    def _choose(self, key: str, alternatives: Sequence[int]) -> int:
        if key not in self._decisions:
            raise _ForkError(key, alternatives)
        return self._decisions[key]

    def _decide(self, node: int, key: str) -> bool:
        """Whether a predicate holds; each of both in turn where that is open."""
        decided = self._decided(node)
        if decided is not None:
            return decided
        if self._open_loops:
            # It may differ from iteration to iteration.
            raise NotAffineError
        holds = bool(self._choose(key, (0, 1)))
        self.assume(Condition(node, holds))
        return holds

    def _decided(self, number: int) -> bool | None:
        node = self._nodes[number]
        if not isinstance(node, Operation):
            return None
        if node.operator == "not":
            inner = self._decided(node.operands[0])
            return None if inner is None else not inner
        difference = self._difference(node) if node.is_comparison else None
        if difference is None or difference.depends_on(self._open_loops):
            return None
        return decide(node.operator, self.system.lower_bound(difference), self.system.upper_bound(difference))

    def _phi(self, phi: Phi) -> Affine:
        chosen = self._choose(f"j{phi.block}", phi.predecessors)
        if chosen not in phi.predecessors:
            raise NotAffineError
        for condition in self._footprint.joins[phi.block][chosen]:
            self.assume(condition)
        return self.value(phi.operands[phi.predecessors.index(chosen)])

    # --- conditions ---------------------------------------------------------------------------------------------------

    def assume(self, condition: Condition) -> None:
        """Add those constraints of a condition that are affine."""
        if condition in self._assumed:
            return
        self._assumed.add(condition)
        for operator, comparison in self._conjuncts(condition.predicate, holds=condition.holds):
            sides = self._sides(comparison)
            if sides is not None:
                self._compare(operator, *sides)

    def _conjuncts(self, number: int, *, holds: bool) -> list[tuple[str, Operation]]:
        """(operator, comparison) of comparisons that must all hold for a predicate to have a value."""
        node = self._nodes[number]
        if not isinstance(node, Operation):
            return []
        if node.operator == "not":
            return self._conjuncts(node.operands[0], holds=not holds)
        if node.operator == ("and" if holds else "or"):
            return [leaf for item in node.operands for leaf in self._conjuncts(item, holds=holds)]
        if node.is_comparison:
            return [(node.operator if holds else NEGATED[node.operator], node)]
        return []

    def _sides(self, comparison: Operation) -> tuple[Affine, Affine] | None:
        left, right = comparison.operands
        bits, signed = comparison.bits, comparison.signed
        try:
            return self._exact(left, bits, signed=signed), self._exact(right, bits, signed=signed)
        except NotAffineError:
            return None

    def _difference(self, comparison: Operation) -> Affine | None:
        sides = self._sides(comparison)
        return None if sides is None else sides[0].minus(sides[1])

    def _compare(self, operator: str, first: Affine, second: Affine) -> None:
        difference = first.minus(second)
        if difference.depends_on(self._open_loops):
            return
        if operator in (">", ">="):
            self._compare_xor(first, second)
        elif operator in ("<", "<="):
            self._compare_xor(second, first)
        if operator == "==":
            self._equal(difference)
            return
        for item in nonpositive(operator, difference, self.system):
            self._constrain(item)

    def _compare_xor(self, greater: Affine, less: Affine) -> None:
        """`(x ^ mask) > x`: the highest bit of the mask is 0 in x."""
        for variable, (item, group) in self.xors.items():
            factor = greater.coefficients.get(variable, 0)
            same = factor > 0 and greater == Affine(0, {variable: factor}) and less == item.times(factor)
            if same and self.system.upper_bound(item) < group:
                self._constrain(item.add(1 - group // 2))

    def _constrain(self, item: Affine) -> None:
        if not item.coefficients:
            if item.constant > 0:
                raise _InfeasibleError
            return
        self.system.add(item)
        if not self.system.has_ranges():
            raise _InfeasibleError

    def _equal(self, difference: Affine) -> None:
        """Add that a difference is 0, which may determine the iterations of a loop."""
        self._constrain(difference)
        self._constrain(difference.times(-1))
        for variable, coefficient in difference.coefficients.items():
            if variable.startswith("k") and abs(coefficient) == 1:
                value = difference.substituted(variable, ZERO).times(-coefficient)
                low, high = self.system.ranges[variable]
                self._substitute(variable, value)
                self._constrain(value.times(-1).add(low))
                if high < UNBOUNDED:
                    self._constrain(value.add(-high))
                return

    def _substitute(self, variable: str, value: Affine) -> None:
        known = self._substitutions
        self._substitutions = {name: item.substituted(variable, value) for name, item in known.items()}
        self._substitutions[variable] = value
        self._values = {node: item.substituted(variable, value) for node, item in self._values.items()}
        self.xors = {name: (item.substituted(variable, value), group) for name, (item, group) in self.xors.items()}
        constraints, self.system.constraints = self.system.constraints, []
        for item in constraints:
            self._constrain(item.substituted(variable, value))

    # --- loops --------------------------------------------------------------------------------------------------------

    def _induction(self, node: Induction) -> Affine:
        iteration = f"k{node.block}"
        if iteration not in self.system.ranges:
            self._bound_iterations(node.block, iteration)
        step = ZERO
        for sign, term in node.steps:
            step = step.plus(self.value(term), sign)
        if step.coefficients:
            raise NotAffineError
        count = self._substitutions.get(iteration, Affine(0, {iteration: 1}))
        if iteration not in self._open_loops and self.system.ranges[iteration] == (0, 0):
            count = ZERO
        return self.value(node.initial).plus(count, step.constant)

    def _bound_iterations(self, header: int, iteration: str) -> None:
        """Find the range of a loop's iterations."""
        loop = self._footprint.loops[header]
        for condition in loop.enter:
            self.assume(condition)
        if iteration in self.system.ranges:
            return
        self.system.ranges[iteration] = 0, UNBOUNDED
        self._open_loops.append(iteration)
        values, to_prove, self._to_prove = dict(self._values), self._to_prove, []
        repeated = [item for condition in loop.repeat for item in self._growing(condition, iteration)]
        limit = min((iteration_limit(item, iteration, self.system) for item in repeated), default=UNBOUNDED)
        self._open_loops.remove(iteration)
        self.system.ranges[iteration] = 0, limit
        for item, low, high in self._to_prove:
            if item.depends_on(self._open_loops):
                to_prove.append((item, low, high))
            elif self.system.lower_bound(item) < low or self.system.upper_bound(item) > high:
                # An assumption was wrong: nothing is known of the iterations. Bounds of inner loops stay: they count
                # iterations within one of these, and the values that depend on them are dropped here.
                self._values = values
                self.system.ranges[iteration] = 0, UNBOUNDED
                repeated = []
        self._to_prove = to_prove
        for item in repeated:
            self._constrain_last(item, iteration)

    def _constrain_last(self, item: Affine, iteration: str) -> None:
        """Add the bound, in the last iteration, of an expression that is at most 0 in all others."""
        later = item.add(-item.coefficients[iteration]).tightened()
        first = later.substituted(iteration, ZERO)
        self._constrain(later.add(-max(0, self.system.upper_bound(first))))

    def _growing(self, condition: Condition, iteration: str) -> list[Affine]:
        """Expressions that are at most 0 at the end of each iteration save the last, and grow with each."""
        growing = []
        for operator, comparison in self._conjuncts(condition.predicate, holds=condition.holds):
            difference = self._difference(comparison)
            if difference is None or iteration not in difference.coefficients:
                continue
            if operator == "!=":
                growing += nonpositive_before_zero(difference, iteration, self.system)
            elif operator != "==":
                items = nonpositive(operator, difference, self.system)
                growing += [item for item in items if item.coefficients[iteration] > 0]
        return growing
