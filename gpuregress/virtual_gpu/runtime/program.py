"""A compiled module as plain records: object code, and the facts that launches and messages need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property

import msgspec
from msgspec import field

from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.errors import CodeLine
from gpuregress.gpu.instruments import Instruments
from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.footprint_ir import Footprint
from gpuregress.virtual_gpu.runtime.probe_sites import ProbeSite, Stretch

NO_KERNEL = ("",)
"""In place of the names of kernels: a module is checked, its variables are placed, and none of its kernels is built."""


class Schedule(Record):
    """The order and the checks with which the threads of a block run, how fast, and with whose tensor cores.

    Attributes:
        last_first: whether a block's threads take turns from the last to the first.
        proven_rows: whether rows of threads that need no checks get code without, which is built beside the checked
            code and takes as long to compile.
        is_optimised: whether LLVM optimises the code, which takes most of the compilation.
        counts: whether the executed instructions are counted.
        card: the architecture whose tensor cores are emulated.
        warp_width: threads of a warp along x: 32 where a warp is a part of a row; 1, 2, 4, 8 or 16 where it is whole
            rows; 0 where it is neither.
        aliases: first bytes of two parameters that hold the same address, the earlier one after the other.
        instruments: what the code watches and counts besides its results.
        permuted: whether a block's threads run in the order of the launch's table.
        in_step: whether the lanes of a warp make each access to memory together.
    """

    last_first: bool = False
    proven_rows: bool = True
    is_optimised: bool = True
    counts: bool = True
    card: str = SM_90.name
    warp_width: int = 32
    aliases: tuple[tuple[int, int], ...] = ()
    instruments: Instruments = field(default_factory=Instruments)
    permuted: bool = False
    in_step: bool = False


class Site(Record):
    """An instruction that a fault or a wait can name.

    Attributes:
        mnemonic: the PTX instruction.
        source_line: with the calls that it is inlined into; that of the PTX where the compiler left none.
        action: `read`, `write`, `atomic access`, or "" where it is no access.
        space: `global`, `shared`, … or "" for a generic address.
        size: bytes of the access.
        buffer: the variable, or first byte of the parameter, that the address comes from; None where it is not known.
        library: the lines of a library that `where` calls, as there; "" where the instruction is of no library.
    """

    mnemonic: str
    source_line: CodeLine
    action: str = ""
    space: str = ""
    size: int = 0
    buffer: int | str | None = None
    library: str = ""

    @property
    def where(self) -> str:
        """The source line in words: `saxpy.cu:12`, `dot.cuh:8, called at gemv.cu:10`, or `PTX line 9`."""
        return str(self.source_line)

    @property
    def lines(self) -> tuple[str, ...]:
        """The source line and its calls in words, the innermost first."""
        return self.source_line.lines


class StoredFootprint(Record, dict=True):
    """A kernel's footprint as JSON, decoded when a launch is partitioned: most launches are too small for that.

    Attributes:
        has_loops: whether the kernel has any loop.
        data: JSON text.
    """

    has_loops: bool
    data: str

    @cached_property
    def footprint(self) -> Footprint:
        """The footprint itself.

        Raises:
            msgspec.DecodeError: it is damaged.
        """
        return msgspec.json.decode(self.data, type=Footprint)


class PlacedVariable(Record):
    """A variable in shared memory or in the local memory of a thread: its name, first byte there, and bytes."""

    name: str
    start: int
    size: int

    def distance(self, offset: int) -> int:
        """Bytes between an offset and the variable."""
        return max(self.start - offset, offset - (self.start + self.size), 0)


class KernelFacts(Record):
    """The facts of a compiled kernel.

    Attributes:
        symbol: its name in the object code.
        local_bytes: local memory of a thread.
        context_bytes: thread context of a block; 0 where no thread waits.
        static_shared: declared bytes of shared memory.
        wait_sites: number of the site of each wait, in order.
        max_threads: of a block.
        required_block: threads along x, y, z that it must be launched with, where it says so.
        cooperative: whether its blocks may wait for the whole grid.
        footprint: its accesses to global memory; None where the order of its blocks may matter.
        cluster: blocks of a cluster along x, y, z.
        uncounted: source lines of the loops whose instructions are not counted, because they wait for other threads.
        has_copies: whether its threads may issue `cp.async`.
        assumes_rows: whether the code is right only for blocks of the schedule's `warp_width`.
        assumes_distinct: whether the code may be wrong where two parameters hold one address, but for the `aliases` of
            the schedule.
        watches_exchanges: whether it looks for values that lanes of a warp exchange with no wait between.
        may_spin: whether its threads may spin until another block has run.
        in_cluster: whether it is launched in clusters, of one block or more.
        granules: log2 of the bytes that a shadow cell stands for, in shared and in global memory; none: nothing is
            checked.
        unwatched: what it accesses that dynamic checks cannot watch, in words.
        written: first bytes of the parameters, and variables, that it may write global memory through; None: it may
            write anywhere, or nothing is checked.
        locals: its local variables, which have gaps between them, and the stack of called functions, without a name.
        declared_local: bytes of local memory that its PTX declares, without gaps.
    """

    symbol: str
    local_bytes: int
    context_bytes: int
    static_shared: int
    wait_sites: tuple[int, ...]
    max_threads: int
    required_block: Dim3 | None
    cooperative: bool
    footprint: StoredFootprint | None
    cluster: Dim3
    uncounted: tuple[str, ...] = ()
    has_copies: bool = False
    assumes_rows: bool = False
    watches_exchanges: bool = False
    may_spin: bool = False
    assumes_distinct: bool = False
    in_cluster: bool = False
    granules: tuple[int, ...] = ()
    unwatched: tuple[str, ...] = ()
    written: tuple[int | str, ...] | None = None
    locals: tuple[PlacedVariable, ...] = ()
    declared_local: int = 0


class Relocation(Record):
    """An address in a variable's initial contents, known when the program is loaded: `symbol + addend >> shift`.

    Attributes:
        offset: first byte of the variable that holds it.
        size: bytes.
        symbol: the variable or function.
        addend: bytes added to its address.
        shift: bits by which the sum is shifted to the right.
    """

    offset: int
    size: int
    symbol: str
    addend: int
    shift: int


class VariableFacts(Record):
    """A module variable and its initial contents.

    Attributes:
        name: as the PTX has it.
        size: bytes.
        itemsize: bytes of an element.
        data: initial contents, hexadecimal; zeros follow.
        relocations: the addresses in it.
    """

    name: str
    size: int
    itemsize: int
    data: str
    relocations: tuple[Relocation, ...]


class SharedVariable(Record):
    """A shared variable: its address in the shared window, and its bytes; -1 for the dynamic shared memory."""

    name: str
    address: int
    size: int


class ModuleFacts(Record):
    """The facts of a compiled PTX module.

    Attributes:
        kernels: name -> facts.
        sites: the instructions that faults can name.
        variables: the module's, in the order of the machine's `symbols`.
        tables: special-function tables in the machine's order.
        shared: the shared variables.
        functions: device function -> its address.
        dynamic_start: address of the dynamic shared memory.
        refused: kernel that needs an unsupported instruction -> the message, and the source line.
        constant_bytes: of the `__constant__` variables.
        stretches: whose executions are traced.
        probes: what its counters count, in their order; none where nothing is counted.
    """

    kernels: Mapping[str, KernelFacts]
    sites: tuple[Site, ...]
    variables: tuple[VariableFacts, ...]
    tables: tuple[str, ...]
    shared: tuple[SharedVariable, ...]
    functions: Mapping[str, int]
    dynamic_start: int
    refused: Mapping[str, tuple[str, CodeLine | None]]
    constant_bytes: int
    probes: tuple[ProbeSite, ...] = ()
    stretches: tuple[Stretch, ...] = ()


@dataclass(frozen=True, slots=True)
class CompiledModule:
    """A compiled PTX module: object code, and the facts that launches and messages need.

    Attributes:
        seconds: stage of the compilation, in words → its wall time; empty where it was loaded from the cache.
    """

    code: bytes
    facts: ModuleFacts
    seconds: Mapping[str, float] = dataclass_field(default_factory=dict, compare=False)
