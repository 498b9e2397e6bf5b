"""The launch in which a fault happened, and the names of threads and variables in messages."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
from msgspec import field

from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.programs import Dim3
from gpuregress.gpu.records import Record
from gpuregress.virtual_gpu.runtime.machine_layout import Machine
from gpuregress.virtual_gpu.runtime.memory import AddressSpace, Region
from gpuregress.virtual_gpu.runtime.program import KernelFacts, ModuleFacts
from gpuregress.virtual_gpu.runtime.textures import Textures

_LOCAL_NAME = re.compile(r"_ZZ.*E(?P<size>\d+)(?P<rest>[\w$]+)")
_DEPOT = re.compile(r".*__local_depot\d+")
_PART_OF_DEPOT = re.compile(r".*__local_depot\d+\$\d+\$(?P<name>\w+)")
BlockContext = npt.NDArray[np.uint8]
"""The context of a block's threads, bytes: rows of states, keys and registers; see `machine_layout.ROWS`."""


class ClusterBlock(Record):
    """A block of the cluster that ran last.

    Attributes:
        coordinates: in the grid.
        context: its threads' context; None before it has begun.
        done: all of its threads have exited; another block may use its context.
    """

    coordinates: Dim3
    context: BlockContext | None
    done: bool


class BadAccess(Exception):
    """An access of a bulk copy outside of its memory, or misaligned.

    Args:
        address: generic.
        size: bytes.
        action: `read` or `write`.
        alignment: of the address, bytes.
        is_far: whether it is in another block's shared memory.
    """

    def __init__(self, address: int, size: int, action: str, alignment: int, *, is_far: bool = False) -> None:
        super().__init__()
        self.address, self.size, self.action, self.alignment = address, size, action, alignment
        self.is_far = is_far


class FaultContext(Record):
    """The launch in which a fault happened, with the facts that its message needs.

    Attributes:
        module: the facts of the program.
        kernel: the kernel's facts.
        name: the kernel's name.
        space: all regions.
        dynamic_size: bytes of dynamic shared memory.
        block: threads along x, y, z.
        parameters: the argument bytes as the kernel sees them.
        context: the threads' context, for kernels in which threads wait.
        textures: all texture and surface objects.
        cluster: the blocks of the cluster, by rank, for a kernel that asks for clusters; the resident blocks of a
            kernel whose threads spin.
        bad_access: the access that is the fault, of an instruction with several.
        modules: the facts of all loaded programs, by number: memory may be allocated by one and used by another.
        not_begun: blocks that wait for room on the device.
        ended: blocks that have ended before, where `cluster` does not have them.
        checks_barriers: whether misused barriers and masks are faults of the kind `barrier`.
    """

    module: ModuleFacts
    kernel: KernelFacts
    name: str
    space: AddressSpace
    dynamic_size: int
    block: Dim3
    parameters: bytes
    context: BlockContext
    textures: Textures = field(default_factory=Textures)
    cluster: tuple[ClusterBlock, ...] = ()
    bad_access: BadAccess | None = None
    modules: tuple[ModuleFacts, ...] = ()
    not_begun: int = 0
    ended: int = 0
    checks_barriers: bool = False

    def buffer_of_parameter(self, first_byte: int) -> Region | None:
        """The region that the pointer in a parameter leads to."""
        return self.space.find(int.from_bytes(self.parameters[first_byte : first_byte + 8], "little"))


def thread_of(machine: Machine) -> str:
    """`thread (232,0,0) of block (3,0,0)`."""
    x, y, z = machine.fault_tid_x, machine.fault_tid_y, machine.fault_tid_z
    return f"thread ({x},{y},{z}) of {block_of(machine)}"


def block_of(machine: Machine) -> str:
    """`block (3,0,0)`."""
    return f"block ({machine.fault_ctaid_x},{machine.fault_ctaid_y},{machine.fault_ctaid_z})"


def counted(count: int, noun: str) -> str:
    """`1 byte`, `2 bytes`: a number with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def coordinates(number: int, sides: Dim3) -> Dim3:
    """The coordinates of a thread in its block, or of a block in its grid, by its linear number."""
    row, x = divmod(number, sides[0])
    z, y = divmod(row, sides[1])
    return (x, y, z)


def plain(name: str) -> str:
    """A variable's name as the source has it: `_ZZ3redE4tile` → `tile`; others stay.

    A struct's fields may be variables of their own, `_ZZ3redE4pair_$_1`: they have the struct's name. `put~2.buf` is
    the variable `buf` of the second call that was inlined, of `put`. `__local_depot0$20$set` is the array `set`, and
    `__local_depot0` is all local memory of a function, whose variables are not known.
    """
    part = _PART_OF_DEPOT.fullmatch(name)
    if part is not None:
        return part["name"]
    if _DEPOT.fullmatch(name) is not None:
        return "local memory"
    if "~" in name:
        name = name[name.rfind("~") + 1 :].partition(".")[2]
    match = _LOCAL_NAME.fullmatch(name)
    if match is not None:
        return match["rest"][: int(match["size"])]
    if name.startswith("_Z"):
        return demangle(name)
    return name.partition("@")[0]  # The parser made the name of a function's variable unique.
