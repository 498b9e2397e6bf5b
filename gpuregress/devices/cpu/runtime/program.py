"""A compiled program: object code, and what must be known to launch its kernels. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpuregress.devices.cpu.runtime.sites import Site


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the threads of a block are run: part of what decides the object code.

    Attributes:
        last_first: whether a block's threads take turns from the last to the first.
        proven_rows: whether rows of threads that need no checks get code without, which is built beside the checked
            code and takes as long to compile.
    """

    last_first: bool = False
    proven_rows: bool = True


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What a launch must know of a kernel; see `lower.kernel.BuiltKernel`."""

    symbol: str
    parameter_bytes: int
    local_bytes: int
    context_bytes: int
    static_shared: int
    places: tuple[int, ...]
    max_threads: int
    required_block: tuple[int, int, int] | None
    cooperative: bool
    footprint: dict[str, Any] | None
    cluster: tuple[int, int, int] = (1, 1, 1)


@dataclass(frozen=True, slots=True)
class VariableFacts:
    """A module variable: its bytes, and what of them are addresses.

    Attributes:
        name: as the PTX has it.
        size: bytes.
        itemsize: bytes of an element.
        data: its first contents, hexadecimal; zeros follow.
        addresses: (byte, bytes, symbol, offset, shift) for each address in it.
    """

    name: str
    size: int
    itemsize: int
    data: str
    addresses: tuple[tuple[int, int, str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """Everything that is kept.

    Attributes:
        code: object code.
        kernels: name → facts.
        sites: the places that faults can name.
        variables: the module's, in the order of the machine's `symbols`.
        tables: special-function tables in the machine's order.
        shared: name, address, bytes (-1: dynamic) of each shared variable.
        functions: device function → its address.
        dynamic_start: where the dynamic shared memory starts.
        refused: kernels that need what is not there → the message.
    """

    code: bytes
    kernels: dict[str, KernelFacts]
    sites: tuple[Site, ...]
    variables: tuple[VariableFacts, ...]
    tables: tuple[str, ...]
    shared: tuple[tuple[str, int, int], ...]
    functions: dict[str, int]
    dynamic_start: int
    refused: dict[str, str]
