"""Traces of one function: code that writes a row for each execution of a stretch by a lane."""

from __future__ import annotations

from llvmlite import ir

from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.builder.address_resolution import field, in_space, set_field
from gpuregress.virtual_gpu.builder.region_bounds import MachineView
from gpuregress.virtual_gpu.builder.services import Services, raw_call
from gpuregress.virtual_gpu.builder.structured import I64, POINTER, Cell, at, i64, subroutine
from gpuregress.virtual_gpu.builder.translation_unit import Unit
from gpuregress.virtual_gpu.counters.conditions import CountedLoop
from gpuregress.virtual_gpu.isa.memory.load_store import generic_address
from gpuregress.virtual_gpu.ptx.modifiers import lanes, modifier_among, size, space_of, type_of
from gpuregress.virtual_gpu.ptx.opcode_table import Control, MemoryEffect, Wait, info, instruction_count
from gpuregress.virtual_gpu.ptx.tree import Address, Call, Instruction, Integer, Register
from gpuregress.virtual_gpu.runtime.machine_layout import CLUSTER_SHIFT, SHARED_WINDOW, TRACE_FLUSH, TRACE_FULL
from gpuregress.virtual_gpu.runtime.probe_sites import OTHER_BLOCK, Access, Stretch, TracedAccess, TracedInstruction

# --- instruction classes ----------------------------------------------------------------------------------------------
# Classes of PTX instructions by the unit that executes them.

_SPECIAL = frozenset(["sin", "cos", "ex2", "lg2", "rcp", "rsqrt", "sqrt", "tanh"])
_MOVES = frozenset(["mov", "cvta", "selp", "prmt", "mapa"])


def instruction_class(statement: Instruction | Call) -> str:
    """The class of an instruction.

    Returns:
        `integer`, `float`, `double`, `half`, `sfu`, `tensor`, `conversion`, `move`, `predicate`, `control`, `barrier`,
        `warp`, `texture`, `other`, or a memory class: `load.global`, `store.shared`, `atomic.global`, `copy`, ….
    """
    if isinstance(statement, Call):
        return "control"
    facts, opcode = info(statement), statement.opcode
    if facts.family.startswith("matrix."):
        is_product = "mma" in (opcode, *statement.modifiers[:1]) or "mma_async" in statement.modifiers
        if is_product:
            return "tensor"
        return "barrier" if opcode == "wgmma" else _memory(statement)
    if facts.family.startswith("texture"):
        return "texture"
    if opcode == "bar" and statement.modifiers[:1] == ("warp",):
        return "warp"
    if opcode in ("bar", "barrier", "mbarrier", "fence", "membar") or facts.wait in (Wait.BLOCK, Wait.CLUSTER):
        return "barrier"
    if facts.family.startswith("warp_"):
        return "warp"
    if facts.memory is not MemoryEffect.NONE:
        return _memory(statement)
    if facts.control is not Control.NEXT:
        return "control"
    if opcode == "cvt":
        return "conversion"
    if opcode in _MOVES:
        return "move"
    if statement.modifiers[-1:] == ("pred",):
        return "predicate"
    return _arithmetic(statement)


def _memory(statement: Instruction) -> str:
    effect = info(statement).memory
    space = space_of(statement) or "generic"
    if effect is MemoryEffect.COPY:
        return "copy"
    if effect is MemoryEffect.UPDATE:
        return f"atomic.{space}"
    if effect is MemoryEffect.WRITE:
        return f"store.{space}"
    if effect is MemoryEffect.NONE:
        return "warp"
    return f"load.{space}"


def _arithmetic(statement: Instruction) -> str:
    if statement.opcode in _SPECIAL:
        return "sfu"
    type_name = statement.modifiers[-1] if statement.modifiers else ""
    if statement.opcode in ("setp", "set"):
        for word in statement.modifiers:
            if word[:1] in "usfb" and word[1:2].isdigit():
                type_name = word
    if type_name == "f64":
        return "double"
    if type_name.startswith(("f16", "bf16")):
        return "half"
    if type_name.startswith("f"):
        return "float"
    if type_name.startswith(("u", "s", "b")):
        return "integer"
    return "other"


# --- traces -----------------------------------------------------------------------------------------------------------

_KINDS: dict[MemoryEffect, Access] = {
    MemoryEffect.READ: "load",
    MemoryEffect.WRITE: "store",
    MemoryEffect.UPDATE: "atomic",
}
_OPCODES = frozenset(["ld", "ldu", "st", "atom", "red", "ldmatrix", "stmatrix"])
_OF_MATRICES = ("ldmatrix", "stmatrix")
_FACTOR, _STEP = 0x5851_F42D_4C95_7F2D, 0x1405_7B7E_F767_814F
"""Knuth's multiplier of a linear congruential generator (MMIX), and an odd number."""
_HEADER = 2
_BULK = "sectors of bulk copies"
_SENT = "requests of asynchronous stores"


class Traces:
    """The traces of one function."""

    def __init__(self, unit: Unit, name: str, flow: ControlFlowGraph, loops: list[CountedLoop]) -> None:
        self._unit, self._name, self._flow, self._loops = unit, name, flow, loops
        self._iterations: dict[int, Cell] = {}
        self._row: ir.Value | None = None
        self._columns: dict[int, int] = {}
        self._taken = -1

    def begin_thread(self, view: MachineView, b: ir.IRBuilder, linear: ir.Value) -> None:
        """Begin the way of a lane from one wait to the next.

        A warp's way is a new one where another warp ran before, or where this lane has run in it already.
        """
        machine = view.machine
        number = b.zext(linear, I64)
        warp, lane = b.lshr(number, i64(5)), b.and_(number, i64(31))
        bit = b.shl(i64(1), lane)
        mask = field(b, machine, "trace_mask")
        other = b.icmp_unsigned("!=", warp, field(b, machine, "trace_warp"))
        again = b.icmp_unsigned("!=", b.and_(mask, bit), i64(0))
        is_new = b.or_(other, again)
        with b.if_then(b.and_(is_new, b.icmp_unsigned("!=", field(b, machine, "trace_flush"), i64(0))), likely=False):
            raw_call(b, machine, TRACE_FLUSH, machine, machine)
        way = b.add(field(b, machine, "trace_way"), b.zext(is_new, I64))
        set_field(b, machine, "trace_way", way)
        set_field(b, machine, "trace_warp", warp)
        set_field(b, machine, "trace_mask", b.select(is_new, bit, b.or_(mask, bit)))
        set_field(b, machine, "trace_key", b.or_(b.shl(way, i64(5)), lane))
        for loop in self._loops:
            self._cell(view, loop).set(i64(0), b)

    # --- rows ---------------------------------------------------------------------------------------------------------

    def begin(self, emitter: Services, start: int, statements: list[tuple[int, Instruction | Call]]) -> None:
        """Begin a row.

        Args:
            emitter: the function's.
            start: first statement of the stretch.
            statements: its instructions, with their numbers in the function.
        """
        self._row, self._columns, self._taken = None, {}, -1
        if not statements or emitter.block_number in self._flow.waiting_blocks:
            return
        number, stretch = self._stretch(start, statements)
        for column, access in enumerate(stretch.accesses, _HEADER):
            self._columns.setdefault(statements[access.instruction][0], column)
        if stretch.branch >= 0:
            self._taken = stretch.words - 1
        b, view = emitter.builder, emitter.view
        head = at(b, view.pointer("trace"), 16 * number)
        self._row = _new_row(b, view.machine, head, i64(8 * stretch.words))
        loops = [loop for loop in self._loops if emitter.block_number in loop.blocks]
        b.store(self._iteration(emitter, loops), at(b, self._row, 8))
        for column in range(_HEADER, stretch.words):
            value = i64(0) if column == self._taken else i64(-1)
            b.store(value, at(b, self._row, 8 * column))

    def access(self, emitter: Services) -> None:
        """Write the addresses of the instruction at hand into the row."""
        column = self._columns.get(emitter.index)
        if column is None or self._row is None:
            return
        statement = emitter.flow.statements[emitter.index]
        assert isinstance(statement, Instruction)
        for step, (address, space) in enumerate(_addresses(statement)):
            value = generic_address(emitter, address, space)
            if emitter.view.clustered:
                value = _marked(emitter, value)
            emitter.builder.store(value, at(emitter.builder, self._row, 8 * (column + step)))

    def take(self, emitter: Services) -> None:
        """Note that the branch at the end of the row is taken; built on its edge."""
        if self._row is not None and self._taken >= 0:
            emitter.builder.store(i64(1), at(emitter.builder, self._row, 8 * self._taken))

    def enter(self, emitter: Services, loop: CountedLoop) -> None:
        """Number the iterations of a loop that is entered, apart from those of its other executions."""
        b, view = emitter.builder, emitter.view
        around = self._iteration(emitter, [outer for outer in self._loops if loop.blocks < outer.blocks])
        value = b.add(b.mul(b.add(around, i64(loop.head + 1)), i64(_FACTOR)), i64(_STEP))
        self._cell(view, loop).set(value, b)

    def repeat(self, emitter: Services, loop: CountedLoop) -> None:
        """Begin another iteration."""
        self._cell(emitter.view, loop).add(i64(1), emitter.builder)

    def _cell(self, view: MachineView, loop: CountedLoop) -> Cell:
        if loop.head not in self._iterations:
            self._iterations[loop.head] = Cell(view.entry, i64(0))
        return self._iterations[loop.head]

    def _iteration(self, emitter: Services, loops: list[CountedLoop]) -> ir.Value:
        """The number of the iteration of the innermost of some loops; 0 where there is none."""
        if not loops:
            return i64(0)
        innermost = max(loops, key=lambda loop: loop.depth)
        return self._cell(emitter.view, innermost).get(emitter.builder)

    def _stretch(self, start: int, statements: list[tuple[int, Instruction | Call]]) -> tuple[int, Stretch]:
        key = (self._name, start)
        if key not in self._unit.stretches:
            instructions = tuple(_instruction(self._unit, item) for _, item in statements)
            accesses: list[TracedAccess] = []
            for position, (_, item) in enumerate(statements):
                accesses += _accesses(position, item)
            branch = -1
            last = statements[-1][1]
            if isinstance(last, Instruction) and info(last).control is Control.BRANCH and last.guard is not None:
                branch = len(statements) - 1
            stretch = Stretch(self._name, instructions, tuple(accesses), branch)
            self._unit.stretches[key] = len(self._unit.stretches), stretch
        return self._unit.stretches[key]


@subroutine("trace.row", POINTER)
def _new_row(b: ir.IRBuilder, machine: ir.Value, head: ir.Value, count: ir.Value) -> ir.Value:
    """`(machine, head, bytes)` → a new row with the key of the lane."""
    full = b.icmp_unsigned(">=", b.load(head, typ=I64), b.load(at(b, head, 8), typ=I64))
    with b.if_then(full, likely=False):
        raw_call(b, machine, TRACE_FULL, head, machine)
    place = b.load(head, typ=I64)
    b.store(b.add(place, count), head)
    row = b.inttoptr(place, POINTER)
    b.store(field(b, machine, "trace_key"), row)
    return row


def _marked(emitter: Services, address: ir.Value) -> ir.Value:
    """Mark an address in the shared memory of another block of the cluster."""
    b = emitter.builder
    is_shared = in_space(b, address, "shared")
    rank = b.lshr(b.sub(address, i64(SHARED_WINDOW)), i64(CLUSTER_SHIFT))
    is_other = b.icmp_unsigned("!=", rank, emitter.view.field("cluster_rank"))
    return b.select(b.and_(is_shared, is_other), b.or_(address, i64(OTHER_BLOCK)), address)


def source_places(item: Instruction | Call) -> tuple[tuple[str, int, int], ...]:
    """The place of an instruction, (file, line, column), and of the calls that it is inlined into, innermost first.

    An instruction without a source line has its line of the PTX, in a file without a name.
    """
    if item.source is None:
        return (("", item.ptx_line, 0),)
    return item.source.places


def _instruction(unit: Unit, item: Instruction | Call) -> TracedInstruction:
    mnemonic = item.mnemonic if isinstance(item, Instruction) else "call"
    kind, count, uncounted = instruction_class(item), instruction_count(item), _uncounted(item)
    site = unit.site(item) if uncounted in (_BULK, _SENT) else -1
    return TracedInstruction(
        mnemonic=mnemonic,
        kind=kind,
        ptx_line=item.ptx_line,
        count=count,
        chain=source_places(item),
        site=site,
        uncounted=uncounted,
    )


def _uncounted(item: Instruction | Call) -> str:
    """What an instruction does that is not counted, in words."""
    if not isinstance(item, Instruction):
        return ""
    words, family = (item.opcode, *item.modifiers), info(item).family
    if family.startswith("texture") and info(item).memory is not MemoryEffect.NONE:
        return "accesses of textures and surfaces"
    if words[:2] == ("wgmma", "mma_async"):
        return "matrices that wgmma reads from shared memory"
    if words[0] == "wmma" and words[1] in ("load", "store"):
        return "accesses of wmma.load and wmma.store"
    if words[0] == "cp" and "bulk" in words and info(item).memory is MemoryEffect.COPY:
        return _BULK
    if words[0] in ("st", "red") and "async" in words:
        return _SENT
    return ""


def _addresses(item: Instruction) -> list[tuple[Address, str]]:
    """The addresses that an instruction accesses, with their state spaces."""
    if item.opcode == "cp":
        addresses = [operand for operand in item.operands if isinstance(operand, Address)]
        return list(zip(addresses, ("shared", "global"), strict=False))
    if item.address is None:
        return []
    return [(item.address, "shared" if item.opcode in _OF_MATRICES else space_of(item))]


def _accesses(position: int, item: Instruction | Call) -> list[TracedAccess]:
    """The accesses of an instruction, by its position in a stretch."""
    if not isinstance(item, Instruction):
        return []
    if item.opcode == "cp":
        return _copies(position, item)
    kind, space = _KINDS.get(info(item).memory), space_of(item)
    if kind is None or item.opcode not in _OPCODES or space in ("param", "const") or "async" in item.modifiers:
        return []
    if item.opcode in _OF_MATRICES:
        number = int(modifier_among(item, ("x2", "x4"), "x1")[1:])
        return [TracedAccess(position, kind, 16, 8 * number)]
    assert item.address is not None
    if not isinstance(item.address.base, Register | Integer) and not space:
        return []
    return [TracedAccess(position, kind, lanes(item) * size(type_of(item)))]


def _copies(position: int, item: Instruction) -> list[TracedAccess]:
    """The accesses of `cp.async`; bulk copies are made by a unit of their own."""
    words = item.modifiers
    count = item.operands[2] if len(item.operands) > 2 else None
    if "bulk" in words or words[:1] != ("async",) or not isinstance(count, Integer):
        return []
    return [TracedAccess(position, "store", count.value), TracedAccess(position, "load", count.value)]
