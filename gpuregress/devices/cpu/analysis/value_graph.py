"""What registers hold, as a graph of plain JSON nodes: which statement's value is read where, over joins and loops.

Built as static single assignment (Braun and others, "Simple and Efficient Construction of Static Single Assignment
Form", 2013), but only for the registers that are asked for. Nodes are numbers of rows in `Values.nodes`:

    ["c", value]   ["x", coordinate]   ["p", first byte, bytes]   a launch's numbers
    ["s", name, offset]                                            a variable's address
    ["+", a, b]   ["-", a, b]   ["*", a, b]                        modulo 2^32 or 2^64
    ["widen", signed, a]                                           32 bits made 64
    ["<<" | "&" | "|" | "^", bits, a, b]
    [">>" | "/" | "%" | "hi" | "min" | "max", signed, bits, a, b]    "hi": the high half of a product
    ["?:", condition, a, b]
    ["cmp", order, signed, bits, a, b]   ["and", a, b]   ["or", a, b]   ["not", a]
    ["join", block, [[block before, a], …]]                        by which way the thread came
    ["round", head, first, [[sign, a], …]]                         a loop's value: first + rounds * (the sum of ±a)
    ["?"]                                                          anything else
"""

from __future__ import annotations

from typing import Any

from gpuregress.devices.cpu.analysis import effects
from gpuregress.devices.cpu.analysis.control_flow_graph import Graph, Loop
from gpuregress.devices.cpu.ptx.memory_access import element_type
from gpuregress.devices.cpu.ptx.tree import Address, Instruction, Integer, Operand, Register, Symbol, Vector
from gpuregress.devices.cpu.ptx.types import size

Node = list[Any]
COORDINATES = frozenset(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz")
_BITS = {"s32": 32, "u32": 32, "b32": 32, "s64": 64, "u64": 64, "b64": 64}
_SUMS = {"add": "+", "sub": "-", "mul": "*"}
_BITWISE = {"shl": "<<", "and": "&", "or": "|", "xor": "^"}
_SIGNED = {"shr": ">>", "div": "/", "rem": "%", "mul": "hi", "min": "min", "max": "max"}
_ORDERS = {
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">=",
}  # fmt: skip
_UNDERSTOOD = frozenset(["lo", "hi", "wide", "to", "global"])
"""What may stand between an arithmetic instruction and its type: no `cc`, `sat`, `relu`."""
_LOGIC = {"and": "and", "or": "or", "not": "not", "mov": "="}
_MOST_NODES = 20_000


class Values:
    """The values of one kernel's registers.

    Args:
        graph: the kernel's.
        parameters: the parameters' names → their first byte in the parameter space.
    """

    def __init__(self, graph: Graph, parameters: dict[str, int]) -> None:
        self._graph = graph
        self._statements = graph.flow.statements
        self._wide = {name for name, kind in graph.flow.types.items() if kind[1:] == "64"}
        self._parameters = parameters
        self.nodes: list[Node] = [["?"]]
        self.overfull = False
        self._block_of = [0] * (len(self._statements) + 1)
        self._last: dict[int, dict[str, int]] = {number: {} for number in graph.reachable}
        for number in graph.reachable:
            block = graph.flow.blocks[number]
            for index in range(block.start, block.end):
                self._block_of[index] = number
                self._last[number] |= dict.fromkeys(effects.sets(self._statements[index]), index)
        self._numbers: dict[Any, int] = {}
        self._homes: dict[int, int] = {}
        self._pending: list[tuple[int, str, int]] = []
        """Joins and definitions whose operands are still to be looked at."""

    def read(self, operand: Operand, index: int) -> int:
        """The node of an operand of a statement; `settle` completes it."""
        if isinstance(operand, Integer):
            return self._node(("c", operand.value), ["c", operand.value])
        if isinstance(operand, Symbol):
            return self._node(("s", operand), ["s", operand.name, operand.offset])
        if not isinstance(operand, Register):
            return 0
        if operand.name in COORDINATES:
            return self._node(("x", operand.name), ["x", operand.name[1:]])
        number = self._block_of[index]
        start = self._graph.flow.blocks[number].start
        for place in range(index - 1, start - 1, -1):
            if operand.name in effects.sets(self._statements[place]):
                return self._definition(operand.name, place)
        return self._at_start(operand.name, number)

    def at_end(self, name: str, number: int) -> int:
        """The node of what a register holds at the end of a block."""
        while True:
            if name in COORDINATES:
                return self._node(("x", name), ["x", name[1:]])
            place = self._last[number].get(name)
            if place is not None:
                return self._definition(name, place)
            if len(self._graph.before[number]) != 1 or number == 0:
                return self._at_start(name, number)
            number = self._graph.before[number][0]

    def settle(self) -> None:
        """Looks at the operands of all that was read; finds out which joins are none, and which are loops' values."""
        while self._pending:
            node, name, place = self._pending.pop()
            if len(self.nodes) > _MOST_NODES:
                self.overfull = True
                self._pending.clear()
                return
            row = self.nodes[node]
            if row[0] == "join":
                row[2] += [[item, self.at_end(name, item)] for item in self._graph.before[row[1]]]
            else:
                self.nodes[node] = self._of_instruction(name, place)
        self._forget_needless_joins()
        for node, row in enumerate(list(self.nodes)):
            if row[0] == "join" and row[1] in self._graph.loops:
                self.nodes[node] = self._round(node, self._graph.loops[row[1]])

    def follow(self, node: int) -> int:
        """The node that a node stands for."""
        while self.nodes[node][0] == "=":
            node = self.nodes[node][1]
        return node

    def home(self, node: int) -> int:
        """The block where a node's statement is, or that begins with its join."""
        return self._homes.get(node, 0)

    # --- building -----------------------------------------------------------------------------------------------------

    def _node(self, key: Any, row: Node, home: int = 0) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.nodes)
            self.nodes.append(row)
            self._homes[self._numbers[key]] = home
        return self._numbers[key]

    def _definition(self, name: str, place: int) -> int:
        key = (name, place)
        if key not in self._numbers:
            self._pending.append((self._node(key, ["?"], self._block_of[place]), name, place))
        return self._numbers[key]

    def _at_start(self, name: str, number: int) -> int:
        before = self._graph.before[number]
        if number == 0 or not before:
            return 0
        if len(before) == 1:
            return self.at_end(name, before[0])
        key = ("join", name, number)
        if key not in self._numbers:
            self._pending.append((self._node(key, ["join", number, []], number), name, -1))
        return self._numbers[key]

    def _of_instruction(self, name: str, place: int) -> Node:
        """What an instruction puts into a register; `ld.param.u32 %rd1` fills one that is wider than its result."""
        item = self._statements[place]
        if not isinstance(item, Instruction) or item.guard is not None or not item.modifiers:
            return ["?"]
        row, words = self._result(item, name, place), item.modifiers
        kind = words[0 if item.opcode == "cvt" else -1]
        if name not in self._wide or _BITS.get(kind) != 32 or "wide" in words or row == ["?"]:
            return row
        return ["widen", kind.startswith("s"), self._new(row)]

    def _result(self, item: Instruction, name: str, place: int) -> Node:
        opcode, words = item.opcode, item.modifiers
        if opcode == "ld":
            return self._parameter(item, name)
        if not isinstance(item.operands[0], Register):
            return ["?"]
        if words[-1] == "pred":
            return self._of_logic(item, place)
        bits = _BITS.get(words[-1], 0)
        if not bits:
            return ["?"]
        if opcode == "cvt":
            return self._conversion(item, bits, place)
        if opcode == "setp":
            return self._comparison(item, bits, place)
        if not _UNDERSTOOD.issuperset(words[:-1]):
            return ["?"]
        return self._arithmetic(item, bits, [self.read(operand, place) for operand in item.operands[1:]])

    def _arithmetic(self, item: Instruction, bits: int, parts: list[int]) -> Node:
        opcode, words = item.opcode, item.modifiers
        signed = words[-1].startswith("s")
        if opcode == "mov" or (opcode == "cvta" and "global" in words):
            return ["=", parts[0]]
        if opcode in ("mul", "mad") and "wide" in words:
            parts[:2] = [self._new(["widen", signed, part]) for part in parts[:2]]
        if "hi" in words:
            return self._high_half(opcode, signed, bits, parts)
        if opcode == "mad":
            return ["+", self._new(["*", *parts[:2]]), parts[2]]
        if opcode in _SUMS:
            return [_SUMS[opcode], *parts]
        if opcode in _BITWISE:
            return [_BITWISE[opcode], bits, *parts]
        if opcode in _SIGNED:
            return [_SIGNED[opcode], signed, bits, *parts]
        if opcode in ("bfe", "bfi"):
            return self._bit_field(item, bits, parts)
        if opcode in ("not", "neg"):
            return ["-", self._new(["c", -1 if opcode == "not" else 0]), parts[0]]
        return ["?:", parts[2], parts[0], parts[1]] if opcode == "selp" else ["?"]

    def _high_half(self, opcode: str, signed: bool, bits: int, parts: list[int]) -> Node:  # noqa: FBT001 - of a type
        product: Node = ["hi", signed, bits, *parts[:2]]
        if opcode == "mad":
            return ["+", self._new(product), parts[2]]
        return product if opcode == "mul" else ["?"]

    def _bit_field(self, item: Instruction, bits: int, parts: list[int]) -> Node:
        """`bfi` that fills all bits above a place, and `bfe` of an unsigned number."""
        place, length = item.operands[-2:]
        if not isinstance(place, Integer) or not isinstance(length, Integer) or not 0 <= place.value < bits:
            return ["?"]
        if item.opcode == "bfe" and not item.modifiers[-1].startswith("s") and 0 < length.value <= bits:
            mask = self._new(["c", (1 << length.value) - 1])
            return ["&", bits, self._new([">>", False, bits, parts[0], parts[1]]), mask]
        if item.opcode == "bfi" and place.value + length.value == bits:
            mask = self._new(["c", (1 << place.value) - 1])
            return ["+", self._new(["&", bits, parts[1], mask]), self._new(["<<", bits, parts[0], parts[2]])]
        return ["?"]

    def _new(self, row: Node) -> int:
        self.nodes.append(row)
        return len(self.nodes) - 1

    def _of_logic(self, item: Instruction, place: int) -> Node:
        if item.opcode not in _LOGIC or not all(isinstance(operand, Register) for operand in item.operands):
            return ["?"]
        return [_LOGIC[item.opcode], *(self.read(operand, place) for operand in item.operands[1:])]

    def _comparison(self, item: Instruction, bits: int, place: int) -> Node:
        words = item.modifiers
        if len(words) != 2 or words[0] not in _ORDERS or len(item.operands) != 3:
            return ["?"]
        left, right = (self.read(operand, place) for operand in item.operands[1:])
        signed = words[1].startswith("s") or words[0] in ("eq", "ne")
        return ["cmp", _ORDERS[words[0]], signed, bits, left, right]

    def _conversion(self, item: Instruction, of: int, place: int) -> Node:
        words = item.modifiers
        if len(words) != 2 or words[0] not in _BITS:
            return ["?"]
        source = self.read(item.operands[1], place)
        return ["widen", words[-1].startswith("s"), source] if _BITS[words[0]] > of else ["=", source]

    def _parameter(self, item: Instruction, name: str) -> Node:
        first = parameter_byte(item, name, self._parameters)
        bits = _BITS.get(item.modifiers[-1], 0)
        return ["?"] if first is None or not bits else ["p", first, bits // 8]

    # --- joins --------------------------------------------------------------------------------------------------------

    def _forget_needless_joins(self) -> None:
        """Where every way brings the same value there is no join."""
        changed = True
        while changed:
            changed = False
            for node, row in enumerate(self.nodes):
                if row[0] == "join":
                    others = {self.follow(value) for _, value in row[2]} - {node}
                    if len(others) == 1:
                        self.nodes[node], changed = ["=", others.pop()], True

    def _round(self, node: int, loop: Loop) -> Node:
        """A join at a loop's head as the value of its rounds; where it is no sum of what stays the same: anything."""
        _, number, ways = self.nodes[node]
        following = next((value for before, value in ways if before == loop.latch), 0)
        outside = [[before, value] for before, value in ways if before != loop.latch]
        steps = self._steps(following, node, loop)
        if loop.latch is None or steps is None or not outside:
            return ["?"]
        first = outside[0][1] if len(outside) == 1 else self._new(["join", number, outside])
        return ["round", number, first, steps]

    def _steps(self, node: int, goal: int, loop: Loop) -> list[list[int]] | None:
        """What is added to a loop's value in a round: ±1 and a node each."""
        steps: list[list[int]] = []
        for _ in range(32):
            node = self.follow(node)
            if node == goal:
                return steps
            row = self.nodes[node]
            if row[0] not in ("+", "-"):
                return None
            left, right = row[1:]
            if row[0] == "+" and self._stays(left, loop):
                left, right = right, left
            if not self._stays(right, loop):
                return None
            steps.append([1 if row[0] == "+" else -1, self.follow(right)])
            node = left
        return None

    def _stays(self, node: int, loop: Loop) -> bool:
        """Whether a value is the same in all rounds of a loop."""
        pending, seen = [node], set[int]()
        while pending:
            node = self.follow(pending.pop())
            if node in seen:
                continue
            seen.add(node)
            row = self.nodes[node]
            if row[0] == "?":
                return False
            if row[0] in ("join", "round"):
                if row[1] in loop.blocks:
                    return False
                continue
            pending += operands(row)
        return True


def operands(row: Node) -> list[int]:
    """The nodes that a node names."""
    kind = row[0]
    if kind in ("c", "x", "p", "s", "?"):
        return []
    if kind == "join":
        return [value for _, value in row[2]]
    if kind == "round":
        return [row[2], *(value for _, value in row[3])]
    skip = {"widen": 2, "<<": 2, "&": 2, "|": 2, "^": 2, "cmp": 4}
    return row[skip.get(kind, 3 if kind in _SIGNED.values() else 1) :]


def parameter_byte(item: Instruction, name: str, parameters: dict[str, int]) -> int | None:
    """The byte of the parameter space from which a load sets a register; None where it loads something else."""
    target, address = item.operands[:2]
    if item.modifiers[0] != "param" or not isinstance(address, Address):
        return None
    if not isinstance(address.base, Symbol) or address.base.name not in parameters:
        return None
    elements = target.elements if isinstance(target, Vector) else (target,)
    place = [isinstance(element, Register) and element.name == name for element in elements].index(True)
    return parameters[address.base.name] + address.offset + place * size(element_type(item))
