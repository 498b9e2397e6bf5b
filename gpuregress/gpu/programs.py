"""Records of compiled programs, of their launches and arguments, and of devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import field

from gpuregress.gpu.errors import DeviceError
from gpuregress.gpu.records import Record, Sparse

Dim3 = tuple[int, int, int]

HARNESS_FILE = "gpuregress_call"
"""The file name of generated text in messages and line information; no line of it is the user's."""


class LaunchShape(Record):
    """The threads of a launch: blocks and threads of a block along x, y, z, and dynamic shared memory in bytes."""

    grid: Dim3
    block: Dim3
    shared: int = 0


TypeKind = Literal["void", "bool", "int", "uint", "float", "pointer", "enum", "class", "opaque"]
"""What a type is; `opaque`: bytes whose meaning the type does not tell, as those of a union."""


class MemberLayout(Sparse):
    """A data member as it is compiled.

    Attributes:
        path: its name, `pos.x` in a structure within.
        type: of an element, in C++.
        kind: of an element.
        offset: bytes.
        size: bytes of an element.
        count: elements; 1 for what is no array.
        pointee: what it points to, where that is known.
    """

    path: str
    type: str
    kind: TypeKind
    offset: int
    size: int
    count: int = 1
    pointee: TypeLayout | None = None


class TypeLayout(Sparse):
    """A type as it is compiled.

    Attributes:
        kind: what it is.
        size: bytes; 0: not known.
        fields: of a structure, where its members are known; those of structures within stand in their place.
        name: in C++; "" where that is known otherwise.
        pointee: what it points to, where that is known.
        count: elements of an array.
    """

    kind: TypeKind
    size: int
    fields: tuple[MemberLayout, ...] = ()
    name: str = ""
    pointee: TypeLayout | None = None
    count: int = 1

    @property
    def pointers(self) -> tuple[str, ...]:
        """The members that are pointers."""
        return tuple(one.path for one in self.fields if one.kind == "pointer")


class Parameter(Record):
    """A kernel parameter as the compiled code declares it.

    Attributes:
        size: bytes.
        alignment: bytes.
        kind: `pointer`, `integer`, `float`, `struct`, or `word` (8 bytes that may be either).
        name: from the C++ source where it could be read there, else "".
        const: whether the C++ source declares it a pointer to const.
    """

    size: int
    alignment: int
    kind: Literal["pointer", "integer", "float", "struct", "word"]
    name: str = ""
    const: bool = False


class CompiledDescriptor(Sparse):
    """How a compiler wants a descriptor of a tensor: its tensor map, then 32-bit extents and 64-bit strides.

    Attributes:
        argument: position among the job's arguments.
        axes: of the tensor.
        box: elements of a copied box along each axis, slowest first; (): a pointer with 64-bit extents and strides is
            passed in place of a map.
        swizzle: of the map.
    """

    argument: int
    axes: int
    box: tuple[int, ...] = ()
    swizzle: str = "none"


class WarpParameter(Sparse):
    """A parameter of a Warp kernel, after the launch bounds.

    Attributes:
        name: in the kernel's definition.
        dtype: of a number, or of the numbers in an array; "" for a structure.
        axes: of an array, which is passed as Warp's `array_t`; 0: the parameter is no array.
        element: the extents of an array's element: (3,) for `wp.vec3`, (3, 3) for `wp.mat33`, () for a number; of a
            structure its bytes.
    """

    name: str
    dtype: str
    axes: int = 0
    element: tuple[int, ...] = ()


class WarpLaunch(Record):
    """How Warp launches a kernel: in blocks along x, with the extents of `wp.launch` as the first argument.

    Attributes:
        axes: the values of `wp.tid()`.
        parameters: of the kernel.
    """

    axes: int
    parameters: tuple[WarpParameter, ...]


class CompiledLaunch(Sparse):
    """What a kernel's compiler decided about its launches, and a job need not say.

    Attributes:
        block: threads along x, y, z; None: the job says it.
        shared: dynamic shared memory, bytes.
        cluster: blocks of a cluster along x; the job's grid counts clusters.
        arguments: for each argument of the job the number of its axes, where it is passed as the fields of an array;
            0: as it is.
        descriptors: those of the arguments that are descriptors of tensors.
        hidden: for each pointer after the job's arguments the bytes of memory that a block needs there; 0: it is null.
        entry: the kernel's name in the PTX; "": it is the only one there.
        warp: how Warp passes the arguments; None: the kernel is in another language.
    """

    block: tuple[int, int, int] | None = None
    shared: int | None = None
    cluster: int | None = None
    arguments: tuple[int, ...] = ()
    descriptors: tuple[CompiledDescriptor, ...] = ()
    hidden: tuple[int, ...] = ()
    entry: str = ""
    warp: WarpLaunch | None = None


class Entry(Record):
    """A kernel in a compiled program.

    Attributes:
        mangled: its name in the program.
        parameters: in order.
        launch: what its compiler decided about its launches; None: nothing.
    """

    mangled: str
    parameters: tuple[Parameter, ...]
    launch: CompiledLaunch | None = None


class LineEdit(Record):
    """A line of a text, from 1, as it is and as it is to be."""

    line: int
    before: str
    after: str


class Program(Record):
    """A compiled source, on disk.

    Attributes:
        key: a digest of all that decided its bits.
        ptx: the PTX file (pinned, if the job wants it), absolute; "" where only a cubin is there.
        cubin: the cubin file, absolute; "" where none was built.
        entries: the C++ name of a kernel → its entry.
        symbols: the C++ name of a variable → its mangled name.
        compiler: `nvrtc 13.5.37`.
        options: all options that the compiler was given.
        arch: `sm_90`.
        unknown: why the source's text does not tell all that it was made of, "" where it does.
        card: the architecture whose tensor cores the CPU device emulates, `sm_80`; "": its own.
        types: the C++ name of a kernel → its parameters' types, and that of a variable → its type; of a program with
            debug information.
        local_arrays: edits of the PTX that make local arrays variables of their own, for a device that checks accesses.
        library_files: the files that the PTX names and that belong to libraries: faults name the line that called them.
    """

    key: str
    ptx: str
    cubin: str
    entries: Mapping[str, Entry]
    symbols: Mapping[str, str]
    compiler: str
    options: tuple[str, ...]
    arch: str
    unknown: str = ""
    card: str = ""
    types: Mapping[str, tuple[TypeLayout, ...]] = field(default_factory=dict)
    local_arrays: tuple[LineEdit, ...] = ()
    library_files: tuple[str, ...] = ()


class CardFacts(Sparse):
    """Facts of a GPU beside those that every device has.

    Attributes:
        bus: its PCI bus id.
        uuid: `GPU-6f0c…`; "" where the driver does not tell.
        sticky: whether a fault has ended this process's use of it.
    """

    bus: str = ""
    uuid: str = ""
    sticky: bool = False


class DeviceInfo(Record):
    """The facts of a device that logs and baselines record.

    Attributes:
        name: `cpu` or `cuda:0`.
        model: `virtual sm_90 on x86_64` or `NVIDIA H200`.
        arch: `sm_90`.
        driver: driver and runtime versions, one line.
        memory: bytes.
        limits: what launches are checked against: `max_threads`, `max_block_x` …, `max_grid_x` …, `max_shared`,
            `max_shared_optin`, `registers`.
        card: of a GPU; `extra` in JSON.
    """

    name: str
    model: str
    arch: str
    driver: str
    memory: int
    limits: Mapping[str, int] = field(default_factory=dict)
    card: CardFacts = field(default=CardFacts(), name="extra")


# --- arguments of a launch --------------------------------------------------------------------------------------------
# Parameter space of a kernel: its arguments as one block of bytes.


def offsets(entry: Entry) -> list[int]:
    """Return the byte of the parameter space at which each parameter of a kernel begins."""
    places: list[int] = []
    end = 0
    for parameter in entry.parameters:
        start = end + -end % parameter.alignment
        places.append(start)
        end = start + parameter.size
    return places


def pack(entry: Entry, args: Sequence[bytes]) -> bytes:
    """Join all arguments, each at its parameter's alignment (PTX ISA, "Kernel Function Parameters").

    Args:
        entry: the kernel.
        args: each argument's bytes, in order.

    Raises:
        DeviceError: their number or a size is not the kernel's.
    """
    if len(args) != len(entry.parameters):
        raise DeviceError(f"{entry.mangled} takes {len(entry.parameters)} arguments; {len(args)} were given")
    packed = bytearray()
    for position, (parameter, data) in enumerate(zip(entry.parameters, args, strict=True)):
        if len(data) != parameter.size:
            name = parameter.name or f"number {position + 1}"
            raise DeviceError(f"{entry.mangled}: argument {name} has {parameter.size} bytes; {len(data)} were given")
        packed += bytes(-len(packed) % parameter.alignment) + data
    return bytes(packed)
