"""Points-to analysis of a kernel's PTX: which buffers it reads and writes. Builds and runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.analysis import effects
from gpuregress.virtual_gpu.analysis.control_flow_graph import ControlFlowGraph
from gpuregress.virtual_gpu.analysis.pointers import PointsTo
from gpuregress.virtual_gpu.functions.inlining import inlined
from gpuregress.virtual_gpu.ptx import parser
from gpuregress.virtual_gpu.ptx.modifiers import lay_out, space_of
from gpuregress.virtual_gpu.ptx.opcode_table import MemoryEffect, info
from gpuregress.virtual_gpu.ptx.tree import (
    Address,
    Call,
    Function,
    Instruction,
    Operand,
    Register,
    Statement,
    Symbol,
    TextureAddress,
)

Base = int | str
"""A base pointer: its first byte in the parameter space, or the name of a variable."""

_NUMBERS = re.compile(r"^(\s*\.(?:visible \.)?(?:global|const) [^={};]*\[\d+\]) *= *\{[\s\d,]*\};", re.MULTILINE)
"""A variable that is initialized with whole numbers. Parsing those takes long where a source includes cuRAND's."""

_OWN_SPACES = frozenset(["shared", "local", "param"])
_FLOATS = frozenset(["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"])
_HARMLESS_CALLS = frozenset(["vprintf", "__assertfail", "malloc", "free"])


@dataclass(slots=True)
class Accesses:
    """What a kernel does to global memory.

    Attributes:
        offsets: each parameter's first byte in the parameter space.
        read: the base pointers it may read through.
        written: those it may write through; atomic operations both read and write.
        updated: those it reads and writes through in one operation.
        stored: those it may write through without reading.
        combined: those to whose contents it adds, or combines them otherwise, in one operation; an exchange does not.
        float_sums: those to whose contents it adds floats in one operation.
        read_first: those it may read an element through before it has written any.
        reads_anywhere: whether it reads through an address of unknown origin.
        writes_anywhere: whether it writes through one.
    """

    offsets: tuple[int, ...]
    read: set[Base] = field(default_factory=set)
    written: set[Base] = field(default_factory=set)
    updated: set[Base] = field(default_factory=set)
    stored: set[Base] = field(default_factory=set)
    combined: set[Base] = field(default_factory=set)
    float_sums: set[Base] = field(default_factory=set)
    read_first: set[Base] = field(default_factory=set)
    reads_anywhere: bool = False
    writes_anywhere: bool = False

    def of_parameter(self, number: int, size: int, bases: set[Base], offset: int = 0) -> bool:
        """Whether one of the base pointers is inside `size` bytes of a parameter, from `offset` on."""
        first = self.offsets[number] + offset
        return any(isinstance(base, int) and first <= base < first + size for base in bases)


def of_kernel(ptx: str, kernel: str) -> Accesses:
    """The accesses of one kernel.

    Args:
        ptx: a whole module.
        kernel: the mangled name of an entry.

    Raises:
        UnsupportedError: the PTX cannot be parsed.
        KeyError: there is no such entry.
    """
    module = parser.parse(_NUMBERS.sub(r"\1;", ptx), (kernel,))
    functions = {item.name: item for item in inlined(module).functions}
    return _Collector(_without_copies(functions[kernel])).collect()


def _without_copies(function: Function) -> Function:
    """The function with the arguments of inlined calls passed by moves, not through `.param` variables."""
    own = {item.name for item in function.variables if item.space == "param"}
    stored: dict[tuple[str, int], list[Operand]] = {}
    for item in function.instructions:
        if info(item).memory is MemoryEffect.WRITE:
            variable_byte = _param_byte(item, 0, own)
            if variable_byte is not None:
                stored.setdefault(variable_byte, []).append(item.operands[1])
    body = list(function.statements)
    for position, statement in enumerate(body):
        if not isinstance(statement, Instruction) or info(statement).memory is not MemoryEffect.READ:
            continue
        variable_byte = _param_byte(statement, 1, own)
        values = stored.get(variable_byte, []) if variable_byte is not None else []
        target = statement.operands[0]
        if len(values) == 1 and isinstance(values[0], Register) and isinstance(target, Register):
            kind = statement.modifiers[-1:]
            body[position] = replace(statement, opcode="mov", modifiers=kind, operands=(target, values[0]))
    return replace(function, body=tuple(body))


def _param_byte(item: Instruction, at: int, own: set[str]) -> tuple[str, int] | None:
    """The `.param` variable of the body, and the byte in it, that an operand is the address of."""
    address = item.operands[at]
    if isinstance(address, Address) and isinstance(address.base, Symbol) and address.base.name in own:
        return address.base.name, address.base.offset + address.offset
    return None


class _Collector:
    def __init__(self, function: Function) -> None:
        self._flow = ControlFlowGraph(function)
        offsets, _ = lay_out(function.parameters)
        self._sources = PointsTo(self._flow.statements, offsets)
        self._parameters: Mapping[str, Base] = offsets
        self._accesses = Accesses(tuple(offsets[item.name] for item in function.parameters))
        self._reads: dict[int, set[Base]] = {}
        self._writes: dict[int, set[Base]] = {}

    def collect(self) -> Accesses:
        for index, statement in enumerate(self._flow.statements):
            if isinstance(statement, Call):
                self._call(statement)
            elif isinstance(statement, Instruction):
                self._instruction(index, statement)
        accesses = self._accesses
        accesses.read = set().union(*self._reads.values())
        accesses.written = set().union(*self._writes.values())
        accesses.read_first = accesses.read - accesses.written
        for item in accesses.read & accesses.written:
            if self._is_read_first(item):
                accesses.read_first.add(item)
        return accesses

    def _call(self, call: Call) -> None:
        """Record a call: a function that was not inlined may do anything."""
        if not isinstance(call.callee, Symbol) or call.callee.name not in _HARMLESS_CALLS:
            self._accesses.reads_anywhere = self._accesses.writes_anywhere = True

    def _instruction(self, index: int, item: Instruction) -> None:
        facts = info(item)
        if item.opcode == "tensormap":
            self._note(index, None, reads=True, writes=True)  # of what a map points to, nothing is known
        elif facts.memory is MemoryEffect.COPY:
            self._copy(index, item)
        elif facts.memory is not MemoryEffect.NONE and (facts.space or space_of(item)) not in _OWN_SPACES:
            addresses = [operand for operand in item.operands if isinstance(operand, Address | TextureAddress)]
            bases = self._bases(addresses[0]) if addresses else None
            writes, reads = facts.memory is not MemoryEffect.READ, facts.memory is not MemoryEffect.WRITE
            self._note(index, bases, reads=reads, writes=writes)
            if facts.memory is MemoryEffect.WRITE:
                self._accesses.stored |= bases or set()
            elif facts.memory is MemoryEffect.UPDATE:
                self._accesses.updated |= bases or set()
                self._combine(item, bases or set())

    def _combine(self, item: Instruction, bases: set[Base]) -> None:
        """Record an atomic operation, or a bulk reduction; what an exchange leaves depends on no earlier contents."""
        if "exch" in item.modifiers:
            self._accesses.stored |= bases
            return
        self._accesses.combined |= bases
        if "add" in item.modifiers and not _FLOATS.isdisjoint(item.modifiers):
            self._accesses.float_sums |= bases

    def _copy(self, index: int, item: Instruction) -> None:
        """`cp.async` and its bulk forms: the first address is written, the second read, where they are global."""
        addresses = [operand for operand in item.operands if isinstance(operand, Address | TextureAddress)]
        spaces = [word for word in item.modifiers if word.partition("::")[0] in ("global", "shared")]
        if not addresses or "prefetch" in item.modifiers:
            return
        if len(addresses) < 2 or len(spaces) != 2:
            self._note(index, None, reads=True, writes=True)
            return
        if spaces[0] == "global":
            bases = self._bases(addresses[0])
            self._note(index, bases, reads="reduce" in item.modifiers, writes=True)
            if "reduce" in item.modifiers:
                self._combine(item, bases or set())
            else:
                self._accesses.stored |= bases or set()
        if spaces[1] == "global":
            self._note(index, self._bases(addresses[1]), reads=True, writes=False)

    def _bases(self, address: Address | TextureAddress) -> set[Base] | None:
        bases = self._sources.of(address.base)
        if bases is None:
            return None
        # A tensor map that is a parameter stands for its tensor.
        return {self._parameters.get(str(base), base) for base in bases}

    def _note(self, index: int, bases: set[Base] | None, *, reads: bool, writes: bool) -> None:
        if bases is None:
            self._accesses.reads_anywhere |= reads
            self._accesses.writes_anywhere |= writes
            return
        if reads:
            self._reads.setdefault(index, set()).update(bases)
        if writes:
            self._writes.setdefault(index, set()).update(bases)

    def _is_read_first(self, wanted: Base) -> bool:
        """Whether a path from the entry reaches a read through a base pointer with no write before."""
        pending, seen = [0], set[int]()
        while pending:
            index = pending.pop()
            if index in seen or index >= len(self._flow.statements):
                continue
            seen.add(index)
            if wanted in self._reads.get(index, ()):
                return True
            statement = self._flow.statements[index]
            is_certain = isinstance(statement, Instruction) and statement.guard is None
            if not (is_certain and self._writes.get(index) == {wanted}):
                pending += self._successors(index, statement)
        return False

    def _successors(self, index: int, statement: Statement) -> Iterator[int]:
        if not effects.ends_thread(statement):
            yield index + 1
        if isinstance(statement, Instruction):
            for label in self._flow.targets(statement):
                yield self._flow.blocks[self._flow.block_of_label[label]].start
