"""Value graph of a kernel's registers in static single assignment form.

Built on demand, for the registers that are read (Braun and others, "Simple and Efficient Construction of Static Single
Assignment Form", 2013). The nodes are those of `runtime.footprint_ir`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import ClassVar

from gpuregress.gpu.graphs import reachable_from
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import Dominance, Loop
from gpuregress.virtual_gpu.ptx.modifiers import INDEX_BITS, is_signed, size, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import Arithmetic, MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import Address, Instruction, Integer, Operand, Register, Symbol, elements
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

COORDINATES = frozenset(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz")
UNKNOWN = Unknown()
_WRAPPING = {Arithmetic.ADD: "+", Arithmetic.SUBTRACT: "-"}
_BITWISE = {Arithmetic.SHIFT_LEFT: "<<", Arithmetic.AND: "&", Arithmetic.OR: "|", Arithmetic.XOR: "^"}
_SIGNED = {
    Arithmetic.SHIFT_RIGHT: ">>",
    Arithmetic.DIVIDE: "/",
    Arithmetic.REMAINDER: "%",
    Arithmetic.MIN: "min",
    Arithmetic.MAX: "max",
}
ORDERS = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">=",
}  # fmt: skip
_UNDERSTOOD = frozenset(["lo", "hi", "wide", "to", "global"])
"""Modifiers allowed between an arithmetic instruction and its type: no `cc`, `sat`, `relu`."""
_LOGIC = {Arithmetic.AND: "and", Arithmetic.OR: "or", Arithmetic.NOT: "not", Arithmetic.COPY: "copy"}
_MOST_NODES = 20_000
_MOST_STEPS = 32


class ValueGraph:
    """Values of one kernel's registers.

    Args:
        graph: control-flow graph of the kernel.
        parameters: name of each parameter -> its first byte in the parameter space.
    """

    def __init__(self, graph: Dominance, parameters: dict[str, int]) -> None:
        self._graph = graph
        self._statements = graph.flow.statements
        self._wide = {name for name, kind in graph.flow.types.items() if kind[1:] == "64"}
        self._parameters = parameters
        self.nodes: list[Node] = [UNKNOWN]
        self.overfull = False
        self._block_of = [0] * (len(self._statements) + 1)
        self._last: dict[int, dict[str, int]] = {number: {} for number in graph.reachable}
        for number in graph.reachable:
            block = graph.flow.blocks[number]
            for index in range(block.start, block.end):
                self._block_of[index] = number
                self._last[number] |= dict.fromkeys(effects.sets(self._statements[index]), index)
        self._numbers: dict[Hashable, int] = {}
        self._pending: list[tuple[int, str, int]] = []
        """(node, register, statement) of phi nodes and definitions whose operands are not filled in yet."""

    def read(self, operand: Operand, index: int) -> int:
        """Return the node of an operand of statement `index`; `complete` fills it in."""
        if isinstance(operand, Integer):
            return self._intern(Constant(operand.value))
        if isinstance(operand, Symbol):
            return self._intern(VariableAddress(operand.name, operand.offset))
        if not isinstance(operand, Register):
            return 0
        if operand.name in COORDINATES:
            return self._intern(Coordinate(operand.name[1:]))
        number = self._block_of[index]
        start = self._graph.flow.blocks[number].start
        for definition in range(index - 1, start - 1, -1):
            if operand.name in effects.sets(self._statements[definition]):
                return self._definition(operand.name, definition)
        return self._at_start(operand.name, number)

    def at_end(self, name: str, number: int) -> int:
        """Return the node of a register's value at the end of a block."""
        while True:
            if name in COORDINATES:
                return self._intern(Coordinate(name[1:]))
            definition = self._last[number].get(name)
            if definition is not None:
                return self._definition(name, definition)
            if len(self._graph.predecessors[number]) != 1 or number == 0:
                return self._at_start(name, number)
            number = self._graph.predecessors[number][0]

    def complete(self) -> None:
        """Fill in all operands, remove trivial phi nodes, and recognise induction variables."""
        while self._pending:
            node, name, definition = self._pending.pop()
            if len(self.nodes) > _MOST_NODES:
                self.overfull = True
                self._pending.clear()
                return
            phi = self.nodes[node]
            if isinstance(phi, Phi):
                before = tuple(self._graph.predecessors[phi.block])
                self.nodes[node] = Phi(phi.block, before, tuple(self.at_end(name, item) for item in before))
            else:
                self.nodes[node] = self._of_instruction(name, definition)
        self._remove_trivial_phis()
        for node, phi in enumerate(list(self.nodes)):
            if isinstance(phi, Phi) and phi.block in self._graph.loops:
                self.nodes[node] = self._induction(node, phi, self._graph.loops[phi.block])

    def follow(self, node: int) -> int:
        """Return the node at the end of a chain of copies."""
        while isinstance(copy := self.nodes[node], Operation) and copy.operator == "copy":
            node = copy.operands[0]
        return node

    # --- building -----------------------------------------------------------------------------------------------------

    def _intern(self, node: Node, key: Hashable = None) -> int:
        key = key or node
        if key not in self._numbers:
            self._numbers[key] = self._new(node)
        return self._numbers[key]

    def _new(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _definition(self, name: str, definition: int) -> int:
        key = (name, definition)
        if key not in self._numbers:
            self._pending.append((self._intern(UNKNOWN, key), name, definition))
        return self._numbers[key]

    def _at_start(self, name: str, number: int) -> int:
        before = self._graph.predecessors[number]
        if number == 0 or not before:
            return 0
        if len(before) == 1:
            return self.at_end(name, before[0])
        key = ("phi", name, number)
        if key not in self._numbers:
            self._pending.append((self._intern(Phi(number, (), ()), key), name, -1))
        return self._numbers[key]

    def _of_instruction(self, name: str, index: int) -> Node:
        """The value that an instruction writes; `ld.param.u32 %rd1` writes a register wider than its result."""
        item = self._statements[index]
        if not isinstance(item, Instruction) or item.guard is not None or not item.modifiers:
            return UNKNOWN
        result, words = self._result(item, name, index), item.modifiers
        kind = words[0] if info(item).arithmetic is Arithmetic.CONVERT else words[-1]
        if name not in self._wide or INDEX_BITS.get(kind) != 32 or "wide" in words or result == UNKNOWN:
            return result
        return Operation("widen", (self._new(result),), signed=is_signed(kind))

    def _result(self, item: Instruction, name: str, index: int) -> Node:
        facts, words = info(item), item.modifiers
        if facts.memory is MemoryEffect.READ:
            return self._parameter(item, name)
        if not isinstance(item.operands[0], Register):
            return UNKNOWN
        if words[-1] == "pred":
            return self._of_logic(item, index)
        bits = INDEX_BITS.get(words[-1], 0)
        if not bits:
            return UNKNOWN
        if facts.arithmetic is Arithmetic.CONVERT:
            return self._conversion(item, bits, index)
        if facts.arithmetic is Arithmetic.COMPARE:
            return self._comparison(item, bits, index)
        if not _UNDERSTOOD.issuperset(words[:-1]):
            return UNKNOWN
        return self._arithmetic(item, bits, tuple(self.read(operand, index) for operand in item.operands[1:]))

    def _arithmetic(self, item: Instruction, bits: int, sources: tuple[int, ...]) -> Node:
        operation = info(item).arithmetic
        if operation in _WRAPPING:
            return Operation(_WRAPPING[operation], sources)
        if operation in _BITWISE:
            return Operation(_BITWISE[operation], sources, bits)
        if operation in _SIGNED:
            return Operation(_SIGNED[operation], sources, bits, is_signed(item.modifiers[-1]))
        rule = self._rules.get(operation)
        return UNKNOWN if rule is None else rule(self, item, bits, sources)

    def _copy(self, item: Instruction, _bits: int, sources: tuple[int, ...]) -> Node:
        """The value of a `mov`, or of a `cvta` for global memory, whose addresses are generic ones."""
        is_other_space = info(item).makes_address and "global" not in item.modifiers
        return UNKNOWN if is_other_space else Operation("copy", sources)

    def _product(self, item: Instruction, bits: int, sources: tuple[int, ...]) -> Node:
        words, factors = item.modifiers, sources[:2]
        signed = is_signed(words[-1])
        if "wide" in words:
            factors = tuple(self._new(Operation("widen", (factor,), signed=signed)) for factor in factors)
        product = Operation("*", factors)
        if "hi" in words:
            product = Operation("hi", factors, bits, signed)
        if len(sources) == 2:
            return product
        return Operation("+", (self._new(product), sources[2]))

    def _negation(self, item: Instruction, _bits: int, sources: tuple[int, ...]) -> Node:
        """`-a` is 0 - a, `~a` is -1 - a."""
        minuend = -1 if info(item).arithmetic is Arithmetic.NOT else 0
        return Operation("-", (self._new(Constant(minuend)), sources[0]))

    def _selection(self, _item: Instruction, _bits: int, sources: tuple[int, ...]) -> Node:
        return Operation("select", (sources[2], sources[0], sources[1]))

    def _extraction(self, item: Instruction, bits: int, sources: tuple[int, ...]) -> Node:
        """The value of an unsigned `bfe` of a known bit field."""
        position, length = item.operands[-2:]
        if not isinstance(position, Integer) or not isinstance(length, Integer) or not 0 <= position.value < bits:
            return UNKNOWN
        if is_signed(item.modifiers[-1]) or not 0 < length.value <= bits:
            return UNKNOWN
        mask = self._new(Constant((1 << length.value) - 1))
        return Operation("&", (self._new(Operation(">>", sources[:2], bits)), mask), bits)

    def _insertion(self, item: Instruction, bits: int, sources: tuple[int, ...]) -> Node:
        """The value of a `bfi` that fills all bits above a position."""
        position, length = item.operands[-2:]
        if not isinstance(position, Integer) or not isinstance(length, Integer) or not 0 <= position.value < bits:
            return UNKNOWN
        if position.value + length.value != bits:
            return UNKNOWN
        mask = self._new(Constant((1 << position.value) - 1))
        low = self._new(Operation("&", (sources[1], mask), bits))
        return Operation("+", (low, self._new(Operation("<<", (sources[0], sources[2]), bits))))

    _rules: ClassVar[dict[Arithmetic, Callable[..., Node]]] = {
        Arithmetic.COPY: _copy,
        Arithmetic.MULTIPLY: _product,
        Arithmetic.MULTIPLY_ADD: _product,
        Arithmetic.NEGATE: _negation,
        Arithmetic.NOT: _negation,
        Arithmetic.SELECT: _selection,
        Arithmetic.EXTRACT: _extraction,
        Arithmetic.INSERT: _insertion,
    }

    def _of_logic(self, item: Instruction, index: int) -> Node:
        operation = info(item).arithmetic
        if operation not in _LOGIC or not all(isinstance(operand, Register) for operand in item.operands):
            return UNKNOWN
        return Operation(_LOGIC[operation], tuple(self.read(operand, index) for operand in item.operands[1:]))

    def _comparison(self, item: Instruction, bits: int, index: int) -> Node:
        words = item.modifiers
        if len(words) != 2 or words[0] not in ORDERS or len(item.operands) != 3:
            return UNKNOWN
        sides = tuple(self.read(operand, index) for operand in item.operands[1:])
        signed = is_signed(words[1]) or words[0] in ("eq", "ne")
        return Operation(ORDERS[words[0]], sides, bits, signed)

    def _conversion(self, item: Instruction, source_bits: int, index: int) -> Node:
        words = item.modifiers
        if len(words) != 2 or words[0] not in INDEX_BITS:
            return UNKNOWN
        source = (self.read(item.operands[1], index),)
        if INDEX_BITS[words[0]] > source_bits:
            return Operation("widen", source, signed=is_signed(words[-1]))
        return Operation("copy", source)

    def _parameter(self, item: Instruction, name: str) -> Node:
        first = parameter_byte(item, name, self._parameters)
        bits = INDEX_BITS.get(item.modifiers[-1], 0)
        return UNKNOWN if first is None or not bits else ParameterValue(first, bits // 8)

    # --- phi nodes ----------------------------------------------------------------------------------------------------

    def _remove_trivial_phis(self) -> None:
        """Replace each phi node whose operands are all the same value by a copy of it."""
        changed = True
        while changed:
            changed = False
            for node, phi in enumerate(self.nodes):
                if isinstance(phi, Phi):
                    others = {self.follow(value) for value in phi.operands} - {node}
                    if len(others) == 1:
                        self.nodes[node] = Operation("copy", tuple(others))
                        changed = True

    def _induction(self, node: int, phi: Phi, loop: Loop) -> Node:
        """The induction variable that a phi node at a loop's header is; `Unknown` where its step is not invariant."""
        outside = dict(zip(phi.predecessors, phi.operands, strict=True))
        following = 0 if loop.latch is None else outside.pop(loop.latch, 0)
        steps = self._steps(following, node, loop)
        if loop.latch is None or steps is None or not outside:
            return UNKNOWN
        values = tuple(outside.values())
        initial = values[0] if len(values) == 1 else self._new(Phi(phi.block, tuple(outside), values))
        signs = tuple(sign for sign, _ in steps)
        return Induction(phi.block, signs, (initial, *(term for _, term in steps)))

    def _steps(self, node: int, goal: int, loop: Loop) -> list[tuple[int, int]] | None:
        """(sign, node) of each term that an iteration adds to a value; None where it does anything else with it."""
        steps: list[tuple[int, int]] = []
        for _ in range(_MOST_STEPS):
            node = self.follow(node)
            if node == goal:
                return steps
            sum_ = self.nodes[node]
            if not isinstance(sum_, Operation) or sum_.operator not in ("+", "-"):
                return None
            left, right = sum_.operands
            if sum_.operator == "+" and self._is_invariant(left, loop):
                left, right = right, left
            if not self._is_invariant(right, loop):
                return None
            steps.append((1 if sum_.operator == "+" else -1, self.follow(right)))
            node = left
        return None

    def _is_invariant(self, node: int, loop: Loop) -> bool:
        """Whether a value is the same in all iterations of a loop."""

        def operands(number: int) -> Iterable[int]:
            value = self.nodes[number]
            return () if isinstance(value, Phi | Induction) else map(self.follow, value.operands)

        for number in reachable_from([self.follow(node)], operands):
            value = self.nodes[number]
            if isinstance(value, Unknown) or (isinstance(value, Phi | Induction) and value.block in loop.blocks):
                return False
        return True


def parameter_byte(item: Instruction, name: str, parameters: dict[str, int]) -> int | None:
    """Return the byte of the parameter space from which a load sets a register; None for any other load."""
    target, address = item.operands[:2]
    if item.modifiers[0] != "param" or not isinstance(address, Address):
        return None
    if not isinstance(address.base, Symbol) or address.base.name not in parameters:
        return None
    position = elements(target).index(Register(name))
    return parameters[address.base.name] + address.offset + position * size(type_of(item))
