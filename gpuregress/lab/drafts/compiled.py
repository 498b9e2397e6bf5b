"""Facts of a kernel's compiled code for its draft: the buffers and variables that it reads and writes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import field

from gpuregress.foundation import storage
from gpuregress.foundation.errors import CompileError, GpuregressError, Interrupted
from gpuregress.foundation.records import Entry, Source
from gpuregress.gpu import demangle
from gpuregress.gpu.architectures import SM_90
from gpuregress.gpu.records import Record
from gpuregress.lab.drafts import validation
from gpuregress.session import compilation
from gpuregress.toolchain import ptx_declarations
from gpuregress.toolchain.build_options.options import NO_OPTIONS, BuildOptions
from gpuregress.virtual_gpu import buffer_accesses
from gpuregress.virtual_gpu.buffer_accesses import Accesses, Base

_POINTER = 8


class Slot(Record):
    """A pointer or a texture that a kernel is given: a parameter, or a member of a structure that is one.

    Attributes:
        name: of the buffer.
        type: the C++ type, a pointer.
        const: whether what it points to is const.
        number: of the parameter.
        offset: bytes in the parameter.
        path: of the member; "" for the parameter itself.
        texture: `texture` or `surface`; "" for a pointer.
    """

    name: str
    type: str
    const: bool
    number: int
    offset: int = 0
    path: str = ""
    texture: str = ""


class CompiledKernel(Record):
    """A compiled kernel; nothing is known of one that does not compile.

    Attributes:
        entry: its parameters.
        accesses: to global memory.
        has_dynamic_memory: whether it has an `extern __shared__` array.
        most_threads: of a block.
        variables: its source's variables in global and constant memory, mangled → bytes.
        problem: why it does not compile, in a line.
        needs: other template arguments with which it may compile, as in `CompileError`.
    """

    entry: Entry | None = None
    accesses: Accesses | None = None
    has_dynamic_memory: bool = False
    most_threads: int = SM_90.max_threads
    variables: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""
    needs: Literal["any", "classes", "nothing"] = "any"

    def role(self, slot: Slot) -> tuple[str, str]:
        """Return the role of a buffer, `fill`, `zeros` or "" for an output, and a comment with the reason.

        Args:
            slot: that the buffer is given to.
        """
        accesses = self.accesses
        if accesses is None:
            if slot.const:
                return "fill", ""
            return "", "       # an output; give it a fill if the kernel also reads it"
        if _is_among(slot, accesses, accesses.updated) and not slot.const:
            return "zeros", "       # updated by atomic operations: what it starts from is a guess"
        is_written = _is_among(slot, accesses, accesses.written)
        if is_written and _is_among(slot, accesses, accesses.read_first):
            return "fill", "       # the kernel reads it before it writes it"
        if accesses.reads_anywhere and not slot.const:
            return "fill", "       # the kernel may read it first: without a fill if it is an output"
        if is_written:
            return "", ""
        if accesses.writes_anywhere and not slot.const:
            return "fill", "       # the kernel may write it: without a fill if it is an output"
        if slot.const or _is_among(slot, accesses, accesses.read):
            return "fill", ""
        return "", "       # not used by the compiled kernel"

    def reading(self, slots: Sequence[Slot]) -> str:
        """Say in a word or two how the compiled kernel reads a buffer.

        Args:
            slots: that the buffer is given to.
        """
        accesses = self.accesses
        if accesses is None:
            return "takes"
        if any(_is_among(slot, accesses, accesses.updated) for slot in slots):
            return "updates"
        is_read = any(_is_among(slot, accesses, accesses.read) for slot in slots)
        is_written = any(_is_among(slot, accesses, accesses.written) for slot in slots)
        if is_read and not is_written:
            return "reads"
        return "may read"

    def writes(self, slot: Slot) -> bool:
        """Tell whether the compiled kernel may write to a buffer.

        Args:
            slot: that the buffer is given to.
        """
        accesses = self.accesses
        if accesses is None or accesses.writes_anywhere:
            return True
        return _is_among(slot, accesses, accesses.written)

    @property
    def has_effect(self) -> bool:
        """Whether the compiled kernel may write to global memory."""
        return self.accesses is None or self.accesses.writes_anywhere or bool(self.accesses.written)

    def reads_variable(self, name: str) -> bool:
        """Tell whether the compiled kernel may read a variable of its source.

        Args:
            name: in C++, with or without namespaces.
        """
        accesses = self.accesses
        if accesses is None or accesses.reads_anywhere:
            return True
        for base in accesses.read:
            if not isinstance(base, str):
                continue
            variable = demangle.demangle(base) or base
            if variable.rpartition("::")[2] == name.rpartition("::")[2]:
                return True
        return False

    @property
    def written_variables(self) -> dict[str, int]:
        """The variables that it writes: C++ name → bytes."""
        if self.accesses is None:
            return {}
        written = [name for name in self.variables if name in self.accesses.written]
        return {demangle.demangle(name) or name: self.variables[name] for name in written}


def _is_among(slot: Slot, accesses: Accesses, bases: set[Base]) -> bool:
    """Tell whether the memory that a slot points to is among the bases of some addresses."""
    return accesses.of_parameter(slot.number, _POINTER, bases, slot.offset)


def compiled(source: Path, kernel: str, build: BuildOptions = NO_OPTIONS) -> CompiledKernel:
    """Compile a kernel and see what it does.

    Args:
        source: its file.
        kernel: its name, with template arguments.
        build: the options to compile with.
    """
    try:
        program = compilation.compile_source(build.applied_to(Source(str(source.absolute()), kernels=(kernel,))))
        entry = program.entries.get(kernel)
        ptx = storage.read_bytes(Path(program.ptx)).decode(errors="replace")
        if entry is None:
            return CompiledKernel()
        return CompiledKernel(
            entry=entry,
            accesses=buffer_accesses.of_kernel(ptx, entry.mangled),
            has_dynamic_memory=_has_dynamic_memory(ptx, entry.mangled),
            most_threads=_most_threads(ptx, entry.mangled),
            variables=ptx_declarations.variable_sizes(ptx),
        )
    except Interrupted:
        raise
    except GpuregressError as error:
        if not validation.is_wrong_source(error):
            return CompiledKernel()
        needs = error.needs if isinstance(error, CompileError) else "any"
        return CompiledKernel(problem=str(error).partition("\n")[0], needs=needs)


def _most_threads(ptx: str, mangled: str) -> int:
    """Return the most threads of a kernel's block: those of its `__launch_bounds__`."""
    head = ptx.partition(f".entry {mangled}(")[2].partition("\n{")[0]
    bounds = re.search(r"\.maxntid\s+([\d, ]+)", head)
    return math.prod(map(int, bounds[1].split(","))) if bounds else SM_90.max_threads


def _has_dynamic_memory(ptx: str, mangled: str) -> bool:
    """Tell whether a kernel's own text names an `extern __shared__` array."""
    body = ptx.partition(f".entry {mangled}(")[2].partition("\n}")[0]
    names = re.findall(r"^\.extern \.shared .*?([\w$]+)\[", ptx, re.MULTILINE)
    return any(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", body) for name in names)
