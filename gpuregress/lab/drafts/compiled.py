"""Facts of a kernel's compiled code for its draft: the buffers and variables that it reads and writes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import field

from gpuregress.foundation import storage
from gpuregress.foundation.errors import GpuregressError, Interrupted
from gpuregress.foundation.records import Entry, Source
from gpuregress.gpu import demangle
from gpuregress.gpu.records import Record
from gpuregress.session import compilation
from gpuregress.toolchain import ptx_declarations

if TYPE_CHECKING:
    from gpuregress.virtual_gpu.buffer_accesses import Accesses

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
        variables: its source's variables in global and constant memory, mangled → bytes.
        problem: why it does not compile, in a line.
    """

    entry: Entry | None = None
    accesses: Accesses | None = None
    has_dynamic_memory: bool = False
    variables: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""

    def role(self, slot: Slot) -> tuple[str, str]:
        """Return the role of a buffer, `fill`, `zeros` or "" for an output, and a comment with the reason.

        Args:
            slot: that the buffer is given to.
        """
        is_const, accesses = slot.const, self.accesses
        if accesses is None:
            comment = "       # an output; give it a fill if the kernel also reads it"
            return ("fill", "") if is_const else ("", comment)
        read, read_first, written, updated = (
            accesses.of_parameter(slot.number, _POINTER, addresses, slot.offset)
            for addresses in (accesses.read, accesses.read_first, accesses.written, accesses.updated)
        )
        if updated and not is_const:
            return "zeros", "       # updated by atomic operations: what it starts from is a guess"
        if written and read_first:
            return "fill", "       # the kernel reads it before it writes it"
        if accesses.reads_anywhere and not is_const:
            return "fill", "       # the kernel may read it first: without a fill if it is an output"
        if written:
            return "", ""
        if accesses.writes_anywhere and not is_const:
            return "fill", "       # the kernel may write it: without a fill if it is an output"
        return ("fill", "") if read or is_const else ("", "       # not used by the compiled kernel")

    def reading(self, slots: Sequence[Slot]) -> str:
        """Say in a word or two how the compiled kernel reads a buffer.

        Args:
            slots: that the buffer is given to.
        """
        accesses = self.accesses
        if accesses is None:
            return "takes"
        found = [
            [accesses.of_parameter(one.number, _POINTER, bases, one.offset) for one in slots]
            for bases in (accesses.updated, accesses.read, accesses.written)
        ]
        updated, read, written = map(any, found)
        if updated:
            return "updates"
        return "reads" if read and not written else "may read"

    def writes(self, slot: Slot) -> bool:
        """Tell whether the compiled kernel may write to a buffer.

        Args:
            slot: that the buffer is given to.
        """
        accesses = self.accesses
        if accesses is None or accesses.writes_anywhere:
            return True
        return accesses.of_parameter(slot.number, _POINTER, accesses.written, slot.offset)

    def reads_variable(self, name: str) -> bool:
        """Tell whether the compiled kernel may read a variable of its source.

        Args:
            name: in C++, with or without namespaces.
        """
        accesses = self.accesses
        if accesses is None or accesses.reads_anywhere:
            return True
        names = (demangle.demangle(one) or one for one in accesses.read if isinstance(one, str))
        return any(one.rpartition("::")[2] == name.rpartition("::")[2] for one in names)

    @property
    def written_variables(self) -> dict[str, int]:
        """The variables that it writes: C++ name → bytes."""
        written = self.accesses.written if self.accesses is not None else ()
        return {demangle.demangle(one) or one: size for one, size in self.variables.items() if one in written}


def compiled(source: Path, kernel: str, include: Sequence[Path] = ()) -> CompiledKernel:
    """Compile a kernel and see what it does.

    Args:
        source: its file.
        kernel: its name, with template arguments.
        include: folders for the compiler.
    """
    from gpuregress.virtual_gpu import buffer_accesses  # noqa: PLC0415 - loads LLVM's bindings

    try:
        program = compilation.compile_source(
            Source(str(source.absolute()), include=tuple(map(str, include)), kernels=(kernel,))
        )
        entry = program.entries.get(kernel)
        ptx = storage.read_bytes(Path(program.ptx)).decode(errors="replace")
        if entry is None:
            return CompiledKernel()
        accesses = buffer_accesses.of_kernel(ptx, entry.mangled)
        has_dynamic_memory = _has_dynamic_memory(ptx, entry.mangled)
        return CompiledKernel(entry, accesses, has_dynamic_memory, ptx_declarations.variable_sizes(ptx))
    except Interrupted:
        raise
    except GpuregressError as error:
        return CompiledKernel(problem=str(error).partition("\n")[0])


def _has_dynamic_memory(ptx: str, mangled: str) -> bool:
    """Tell whether a kernel's own text names an `extern __shared__` array."""
    body = ptx.partition(f".entry {mangled}(")[2].partition("\n}")[0]
    names = re.findall(r"^\.extern \.shared .*?([\w$]+)\[", ptx, re.MULTILINE)
    return any(re.search(rf"(?<![\w$]){re.escape(one)}(?![\w$])", body) for one in names)
