"""Records of the launches of a case: kernel, threads and arguments."""

from __future__ import annotations

from typing import Literal

from gpuregress.gpu.programs import Dim3, LaunchShape
from gpuregress.gpu.records import Record


class Argument(Record):
    """One argument of a kernel.

    Attributes:
        kind: `buffer`, `scalar`, `null` or `struct`.
        buffer: the buffer's name, for `buffer`.
        dtype: the scalar's (or CUDA vector's) type, for `scalar`.
        data: the scalar's little-endian bytes in hexadecimal, for `scalar`.
        text: the scalar as the launch log writes it.
        label: the expression where it is a plain name, as `n`; "" otherwise.
        fields: the members, in order, for `struct`; laid out as C does.
        as_map: whether it is the buffer's tensor map, not its address.
        in_memory: whether the tensor map is in global memory, and its address is passed.
        untyped: whether the kernel may take the buffer's elements for others.
        offset: bytes from the buffer's beginning to the address that is passed.
    """

    kind: Literal["buffer", "scalar", "null", "struct"]
    buffer: str = ""
    dtype: str = ""
    data: str = ""
    text: str = ""
    label: str = ""
    fields: tuple[Argument, ...] = ()
    as_map: bool = False
    in_memory: bool = False
    untyped: bool = False
    offset: int = 0

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers that the kernel is given with it, those inside structs, too."""
        own = (self.buffer,) if self.kind == "buffer" else ()
        return (*own, *(name for member in self.fields for name in member.buffers))

    @property
    def maps_in_memory(self) -> tuple[str, ...]:
        """The buffers whose tensor maps it takes in global memory."""
        own = (self.buffer,) if self.in_memory else ()
        return (*own, *(name for member in self.fields for name in member.maps_in_memory))


class Launch(Record):
    """One launch of one kernel.

    Attributes:
        kernel: its C++ name, as `block_sum<float>`.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        shared: dynamic shared memory, bytes.
        args: in the kernel's order.
        swap: pairs of buffers that exchange their memory after this launch.
        origin: which entry of the job's `launches` it comes from.
        source: position of the kernel's source among the case's sources.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    shared: int
    args: tuple[Argument, ...]
    swap: tuple[tuple[str, str], ...] = ()
    origin: int = 0
    source: int = 0

    @property
    def shape(self) -> LaunchShape:
        """Its threads."""
        return LaunchShape(self.grid, self.block, self.shared)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers that it takes or exchanges."""
        pending, names = list(self.args), dict[str, None]()
        while pending:
            argument = pending.pop()
            names |= {argument.buffer: None} if argument.kind == "buffer" else {}
            pending += argument.fields
        return (*names, *(name for pair in self.swap for name in pair))
