"""LLVM module that is built from a PTX module, with its variables and the frames of functions."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from llvmlite import ir

from gpuregress.gpu.errors import UnsupportedError
from gpuregress.virtual_gpu.analysis.effects import waits
from gpuregress.virtual_gpu.analysis.module_facts import is_clustered, uses_reserved_shared
from gpuregress.virtual_gpu.builder.address_resolution import build_resolve, build_resolve_in, build_resolve_own
from gpuregress.virtual_gpu.builder.structured import I8, I32, POINTER, entry_alloca
from gpuregress.virtual_gpu.ptx.modifiers import byte_size, lay_out
from gpuregress.virtual_gpu.ptx.modifiers import size as type_size
from gpuregress.virtual_gpu.ptx.tree import (
    Call,
    Float,
    Function,
    Initializer,
    Instruction,
    Integer,
    MaskedSymbol,
    Module,
    Symbol,
    Variable,
    chain_text,
    code_line,
)
from gpuregress.virtual_gpu.runtime.machine_layout import (
    FUNCTION_STEP,
    FUNCTION_WINDOW,
    LOCAL_GAP,
    SHARED_START,
    lay_out_shared,
)
from gpuregress.virtual_gpu.runtime.probe_sites import COUNTERS, Lines, ProbeKind, ProbeSite, Stretch
from gpuregress.virtual_gpu.runtime.program import Relocation, Schedule, Site, VariableFacts

ProbeKey = tuple[str, str, int]


def has_local_gaps(function: Function) -> bool:
    """Whether a function has gaps after its local variables: a kernel that has any."""
    return function.is_entry and any(item.space == "local" for item in function.variables)


class Unit:
    """A module being built.

    Args:
        tree: the PTX.
        schedule: how the threads of a block are run; the usual way where not given.

    Attributes:
        granules: state space → log2 of the bytes of a shadow cell there; None where accesses are not checked.
        synchronizes: whether races are looked for and strong accesses may order other ones: there are fences, or
            accesses that acquire or release.
        orders_in_part: whether a wait may order some threads of a block, or some blocks, and leave others.
        has_strong_accesses: whether there are atomic, volatile or ordered accesses.
        allocates: whether kernels allocate memory of the heap.
        watches_local: whether reads of local memory that was not written are looked for.
        commuting: the kind of its commuting atomic operations, where conflicts are looked for.
        volatile_data: names of volatile shared variables whose accesses are checked as plain ones.
    """

    granules: dict[str, int] | None = None
    synchronizes: bool = False
    orders_in_part: bool = False
    has_strong_accesses: bool = False
    allocates: bool = False
    watches_local: bool = False
    commuting: str = ""
    volatile_data: frozenset[str] = frozenset()

    def __init__(self, tree: Module, schedule: Schedule | None = None) -> None:
        self.tree, self.schedule = tree, schedule or Schedule()
        self.module = ir.Module("ptx")
        self.sites: dict[Site, int] = {}
        self.probes: dict[ProbeKey, ProbeSite] = {}
        self.counter_count = 0
        self.stretches: dict[tuple[str, int], tuple[int, Stretch]] = {}
        self.functions = {item.name: item for item in tree.functions if item.body is not None}
        self.function_numbers = {name: index for index, name in enumerate(self.functions)}
        self.variables = {item.name: item for item in tree.variables}
        memory = [item for item in tree.variables if item.space in ("global", "const")]
        self.symbols = [item.name for item in memory if item.linkage != "extern" or item.count is not None]
        self.symbol_numbers = {name: index for index, name in enumerate(self.symbols)}
        self.tables: list[str] = []
        self.device_functions: dict[str, ir.Function] = {}
        self.called_functions: list[str] = []
        self.address_taken = self._functions_with_an_address()
        self._resolve_in: dict[str, ir.Function] = {}
        self.clustered = any(is_clustered(item) for item in self.functions.values())
        self._place_shared()
        self.resolve = build_resolve(
            self.module,
            self.shared_ranges(),
            self.dynamic_start,
            clustered=self.clustered,
            has_local_gaps=any(has_local_gaps(item) for item in self.functions.values()),
        )

    def resolve_in(self, space: str) -> ir.Function:
        """As `resolve`, for accesses that name their state space; "" for generic ones."""
        if not space:
            return self.resolve
        if space not in self._resolve_in:
            self._resolve_in[space] = build_resolve_in(self.module, self.resolve, space)
        return self._resolve_in[space]

    @cached_property
    def resolve_own(self) -> ir.Function:
        """As `resolve`, for accesses that reach the own block's shared memory only."""
        return build_resolve_own(self.module, self.resolve)

    def _instructions(self) -> Iterator[Instruction]:
        for function in self.functions.values():
            for statement in function.body or ():
                if isinstance(statement, Instruction):
                    yield statement

    @cached_property
    def has_products(self) -> bool:
        """Whether a kernel multiplies matrices in shared memory asynchronously (wgmma)."""
        return any(item.opcode == "wgmma" for item in self._instructions())

    @cached_property
    def _copies(self) -> list[tuple[str, ...]]:
        """The modifiers of all asynchronous copies of the module."""
        return [item.modifiers for item in self._instructions() if item.opcode == "cp"]

    @cached_property
    def has_bulk_copies(self) -> bool:
        """Whether a function of the module has a bulk copy or an asynchronous store, which arrives as one."""
        if any("bulk" in words for words in self._copies):
            return True
        return any(item.opcode in ("st", "red") and item.modifiers[:1] == ("async",) for item in self._instructions())

    @property
    def has_copies(self) -> bool:
        """Whether a function of the module has a copy that is not a bulk copy."""
        return any("bulk" not in words for words in self._copies)

    @property
    def has_copy_arrivals(self) -> bool:
        """Whether copies that are not bulk copies signal mbarriers."""
        return any(words[:2] == ("async", "mbarrier") for words in self._copies)

    def _functions_with_an_address(self) -> list[str]:
        named: set[str] = set()
        for instruction in self._instructions():
            named.update(operand.name for operand in instruction.operands if isinstance(operand, Symbol))
        for variable in self.tree.variables:
            for item in variable.initializer:
                if type(item) is Integer:
                    continue  # Some libraries bring tables of 50,000 numbers.
                if isinstance(item, Symbol):
                    named.add(item.name)
                elif isinstance(item, MaskedSymbol):
                    named.add(item.symbol.name)
        return [name for name in self.functions if name in named]

    def _place_shared(self) -> None:
        owners = {"": self.tree.variables}
        for function in self.functions.values():
            owners[function.name] = function.variables
        self.shared: dict[tuple[str, str], Variable] = {}
        for owner, variables in owners.items():
            for item in variables:
                if item.space == "shared":
                    self.shared[owner, item.name] = item
        self._static_shared = {key: item for key, item in self.shared.items() if item.count is not None}
        places = [(byte_size(item), item.alignment) for item in self._static_shared.values()]
        starts, self.dynamic_start = lay_out_shared(places)
        self.shared_starts = dict.fromkeys(self.shared, self.dynamic_start)
        self.shared_starts |= zip(self._static_shared, starts, strict=True)

    def shared_ranges(self) -> list[tuple[int, int]]:
        """Return (address, bytes) of each static shared variable, and of the reserved memory where it is used."""
        ranges = [(self.shared_starts[key], byte_size(item)) for key, item in self._static_shared.items()]
        if any(map(uses_reserved_shared, self.functions.values())):
            ranges.append((0, SHARED_START))
        return ranges

    def shared_key(self, function: str, name: str) -> tuple[str, str] | None:
        """Return the key of the shared variable that a name refers to in a function."""
        for key in ((function, name), ("", name)):
            if key in self.shared:
                return key
        return None

    def function_address(self, name: str) -> int:
        """A device function's address as a kernel sees it."""
        return FUNCTION_WINDOW + FUNCTION_STEP * (1 + self.function_numbers[name])

    def table_number(self, name: str) -> int:
        """Return the index of a special-function table among those that the module uses."""
        if name not in self.tables:
            self.tables.append(name)
        return self.tables.index(name)

    def constants(self, values: Sequence[int]) -> ir.Value:
        """A pointer to constant numbers (i32)."""
        kind = ir.ArrayType(I32, len(values))
        array = ir.GlobalVariable(self.module, kind, self.module.get_unique_name("constants"))
        array.global_constant, array.linkage = True, "internal"
        array.initializer = ir.Constant(kind, values)
        array.type = POINTER
        return array

    def site(
        self,
        statement: Instruction | Call,
        action: str = "",
        space: str = "",
        size: int = 0,
        buffer: int | str | None = None,
    ) -> int:
        """The number of a statement's site."""
        mnemonic = statement.mnemonic if isinstance(statement, Instruction) else "call"
        site = Site(
            mnemonic=mnemonic,
            source_line=code_line(statement),
            action=action,
            space=space,
            size=size,
            buffer=buffer,
            library=chain_text(statement.source.library) if statement.source else "",
        )
        return self.sites.setdefault(site, len(self.sites))

    def probe(self, kind: ProbeKind, function: str, index: int, lines: Lines, **more: Any) -> ProbeSite:
        """The site of a probe, with counters of its own.

        Args:
            kind: what is counted.
            function: PTX function.
            index: its statement, or block.
            lines: source lines that it belongs to.
            more: further fields of the site.
        """
        key = (kind, function, index)
        if key not in self.probes:
            self.probes[key] = ProbeSite(kind, function, index, self.counter_count, lines, **more)
            self.counter_count += COUNTERS[kind]
        return self.probes[key]

    def device_function(self, name: str) -> ir.Function:
        """The LLVM function of a device function: (machine, thread, results…, parameters…) → status."""
        if name not in self.device_functions:
            tree = self.functions[name]
            pointers = [POINTER] * (2 + len(tree.results) + len(tree.parameters))
            function = ir.Function(self.module, ir.FunctionType(I32, pointers), f"device.{name}")
            function.linkage = "internal"
            self.device_functions[name] = function
            self.called_functions.append(name)
            if any(waits(item) for item in tree.body or ()):
                raise UnsupportedError(
                    f"{name} waits for other threads (a barrier or warp operation) and is called recursively or "
                    "through a pointer: not supported by the cpu device"
                )
        return self.device_functions[name]


# --- initial values of variables --------------------------------------------------------------------------------------
# Initial contents of module variables: numbers at once, addresses as relocations for the loader.


def variable_facts(variable: Variable) -> VariableFacts:
    """Return a variable's initial bytes and relocations."""
    step = type_size(variable.type)
    data = bytearray(step * len(variable.initializer))
    relocations: list[Relocation] = []
    for index, item in enumerate(variable.initializer):
        offset = index * step
        if isinstance(item, Integer | Float):
            data[offset : offset + step] = _bytes(item, variable.type, step)
        else:
            relocations.append(_relocation(item, offset, step))
    return VariableFacts(variable.name, byte_size(variable), step, data.rstrip(b"\0").hex(), tuple(relocations))


_FORMATS = {32: "<f", 64: "<d"}


def _bytes(item: Integer | Float, type_name: str, step: int) -> bytes:
    if isinstance(item, Integer):
        # `.f32 x = 1` is the number one; in an integer's place it is the bits.
        if type_name not in ("f32", "f64"):
            return (item.value & (1 << 8 * step) - 1).to_bytes(step, "little")
        item = Float(int.from_bytes(struct.pack("<d", item.value), "little"), 64)
    if 8 * step == item.width or type_name not in ("f32", "f64"):
        return (item.bits & (1 << 8 * step) - 1).to_bytes(step, "little")
    (value,) = struct.unpack(_FORMATS[item.width], item.bits.to_bytes(item.width // 8, "little"))
    return struct.pack(_FORMATS[8 * step], value)


def _relocation(item: Initializer, offset: int, size: int) -> Relocation:
    if isinstance(item, MaskedSymbol):
        shift = (item.mask & -item.mask).bit_length() - 1
        return Relocation(offset, size, item.symbol.name, item.symbol.offset, shift)
    assert not isinstance(item, Integer | Float)
    return Relocation(offset, size, item.name, item.offset, 0)


# --- frames of functions ----------------------------------------------------------------------------------------------
# Frame of a function: the layout of its `.param` and `.local` variables.


_PART = re.compile(r"__local_depot\d+\$")
"""In the name of a local array that is a part of the function's depot (`toolchain.local_arrays`)."""


class Frame:
    """The frame of one function.

    Args:
        function: its syntax tree.
        llvm: the LLVM function that holds the stack slots.
        memory: results and parameters of a device function, by name; None for a kernel.
    """

    def __init__(self, function: Function, llvm: ir.Function, memory: dict[str, ir.Value] | None) -> None:
        self._llvm = llvm
        self._memory = dict(memory or {})
        self._variables = {item.name: item for item in function.variables}
        self.parameters = {item.name: item for item in function.parameters}
        self.parameter_offsets, self.parameter_bytes = lay_out(function.parameters)
        locals_ = [item for item in function.variables if item.space == "local"]
        self.local_offsets, size = lay_out(locals_, LOCAL_GAP if has_local_gaps(function) else 0)
        self.local_bytes = -(-size // 16) * 16
        _, declared = lay_out([item for item in locals_ if not _PART.search(item.name)])
        self.declared_local_bytes = -(-declared // 16) * 16

    def param_memory(self, name: str) -> ir.Value | None:
        """A pointer to a `.param` variable of the body, or to a device function's own; None for a kernel's."""
        if name not in self._memory and name in self._variables and self._variables[name].space == "param":
            type_ = ir.ArrayType(I8, max(1, byte_size(self._variables[name])))
            self._memory[name] = entry_alloca(self._llvm, type_, align=16)
        return self._memory.get(name)

    def variable(self, name: str) -> Variable | None:
        """A variable declared in the body."""
        return self._variables.get(name)
