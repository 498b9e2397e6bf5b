"""Records of kernel sources, of compiled programs and of devices."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from msgspec import field

from gpuregress.foundation.records.layouts import TypeLayout
from gpuregress.gpu.records import Record, Sparse


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


class PythonKernel(Record):
    """A function in Python of which a compiler makes PTX.

    Attributes:
        language: `triton` and `numba` compile the function; `python`: it returns PTX.
        function: its name in the file.
        signature: parameter → its type in the compiler's words, in the function's order.
        constants: parameter → the value that is compiled in; for `python`, what it is called with.
        settings: `num_warps`, `num_stages`, `num_ctas`, and further options of the compiler.
        arguments: where the function has heuristics, parameter → the number that its launches pass, or the shape of the
            buffer.
    """

    language: Literal["triton", "numba", "python"]
    function: str
    signature: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, bool | int | float | str | None] = field(default_factory=dict)
    settings: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    arguments: Mapping[str, bool | int | float | tuple[int, ...] | None] = field(default_factory=dict)

    @property
    def words(self) -> tuple[str, ...]:
        """Write what it is compiled with as options: `x: *fp32`, `BLOCK=1024`, `num_warps=4`."""
        types = tuple(f"{name}: {text}" for name, text in self.signature.items())
        return (*types, *(f"{name}={value}" for name, value in {**self.constants, **self.settings}.items()))


class Source(Record):
    """A kernel source and the options of its compilation.

    Attributes:
        path: absolute; `.cu`, `.ptx`, `.cubin`, or `.py`.
        options: handed to NVRTC.
        include: absolute folders.
        defines: macro → its text.
        contract: `pinned` or `native`.
        arch: `sm_90`.
        kernels: the C++ names that must be there.
        symbols: the variables that must be there.
        digest: of its text and of all that it includes when it was planned; "": it may be what it is.
        harness: C++ text behind the source that calls a device function; then `kernels` has that function's name alone.
        card: the architecture whose tensor cores the CPU device emulates, `sm_80`; "": its own.
        python: the function of a `.py` that becomes the program; None for other sources.
        host_code: `blank`: NVRTC gets the source and the project's headers without host code; `keep`: as they are.
    """

    path: str
    options: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    contract: Literal["pinned", "native"] = "pinned"
    arch: str = "sm_90"
    kernels: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    digest: str = ""
    harness: str = ""
    card: str = ""
    python: PythonKernel | None = None
    host_code: Literal["blank", "keep"] = "blank"

    @property
    def name(self) -> str:
        """Its file's name, with the function behind it where that is the source: `softmax.py:softmax_kernel`."""
        file = os.path.basename(self.path)  # noqa: PTH119 - text in, text out
        return file if self.python is None else f"{file}:{self.python.function}"


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


class CompiledLaunch(Sparse):
    """What a kernel's compiler decided about its launches, and a job need not say.

    Attributes:
        block: threads along x, y, z; None: the job says it.
        shared: dynamic shared memory, bytes.
        cluster: blocks of a cluster along x; the job's grid counts clusters.
        arguments: for each argument of the job the number of its axes, where it is passed as the fields of an array;
            0: as it is.
        descriptors: those of the arguments that are descriptors of tensors.
        hidden: for each pointer behind the job's arguments the bytes of memory that a block needs there; 0: it is null.
    """

    block: tuple[int, int, int] | None = None
    shared: int | None = None
    cluster: int | None = None
    arguments: tuple[int, ...] = ()
    descriptors: tuple[CompiledDescriptor, ...] = ()
    hidden: tuple[int, ...] = ()


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


CallScope = Literal["thread", "block"]
Given = Literal["buffer", "parameter", "shared"]
HARNESS_KERNEL = "gpuregress_call"
"""The kernel that calls a function under test, in the compiled code."""
HARNESS_FILE = "gpuregress_call"
"""The file name of generated text in messages and line information; no line of it is the user's."""


class FunctionArgument(Record):
    """An argument of a function under test.

    Attributes:
        name: of the parameter, and of the buffer or the job's parameter that it is given.
        type: of the parameter, in C++, with the template arguments put in.
        given: a buffer, the value of a parameter of the job, or shared memory.
        each: for a buffer: whether each call takes its own element, and not all of the buffer.
    """

    name: str
    type: str
    given: Given
    each: bool = False


class FunctionCall(Record):
    """The calls of a function under test: one for each element of its results.

    Attributes:
        name: as the log has it, with template arguments: `clampz<float>`.
        declared: as the source declares it: `clampz<T>(T, T, T)`.
        arguments: in order, without those that keep their defaults.
        calls: their number.
        scope: `block`: all threads of a block make one call together.
        threads: of a block.
        result: the buffer that holds what is returned; "": nothing is returned.
        host: the C++ text behind the source that calls it on the host; "": it is not asked for.
        library: the functions of the mathematical library that it calls, where its host twin is asked for.
        returns: the type of what is returned, as the source writes it.
    """

    name: str
    declared: str
    arguments: tuple[FunctionArgument, ...]
    calls: int
    scope: CallScope = "thread"
    threads: int = 1
    result: str = ""
    host: str = ""
    library: tuple[str, ...] = ()
    returns: str = ""
