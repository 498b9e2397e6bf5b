"""Draft of a job for a kernel, derived from its declaration and the compiled code."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress import dtypes, storage
from gpuregress.errors import GpuregressError, Interrupted
from gpuregress.operations.drafts import types
from gpuregress.operations.drafts.types import NOTHING, KnownTypes
from gpuregress.records import Entry, Source
from gpuregress.session.compilation import sources
from gpuregress.toolchain.cxx_declarations import CxxParameter, Declaration

if TYPE_CHECKING:
    from gpuregress.devices.cpu.buffer_accesses import Accesses

_VECTOR = re.compile(r"(u?char|u?short|u?int|u?longlong|float|double)[1-4]")
_EXTENT = re.compile(
    r"n|m|k|n[A-Z_]\w*|num\w*|size\w*|len\w*|count\w*|total\w*|width|height|rows?|col(umn)?s?|w|h|dim\w*|elements",
    re.IGNORECASE,
)


class KernelDraft:
    """A job's text."""

    def __init__(
        self,
        declaration: Declaration,
        source: Path,
        target: Path,
        *,
        instance: tuple[dict[str, str], str] | None = None,
        include: Sequence[Path] = (),
        known: KnownTypes = NOTHING,
    ) -> None:
        self._declaration, self._known = declaration, known
        self._types, self._kernel = instance or instantiate(declaration)
        folder = target.absolute().parent
        self._source = os.path.relpath(source.absolute(), folder)
        self._include = [os.path.relpath(one, folder) for one in include]
        self._entry, self._accesses, self._has_dynamic_memory = compiled(source, self._kernel, include)
        self._named = [(one.name or f"arg{number}", one) for number, one in enumerate(declaration.parameters)]
        self._extents = [name for name, one in self._named if not one.pointer and self._is_extent(name, one)] or ["n"]
        self._is_flat = len(self._extents) != 2

    def lines(self, others: Sequence[str]) -> Iterator[str]:
        """The job, line by line."""
        yield f"# A first job for {self._declaration}: hold every line against what the kernel expects."
        yield from self._compiled()
        yield "parameters:                         # every combination is a case"
        for extent in self._extents:
            yield f"  {extent}: {'[1000, 4096]' if self._is_flat else '[100, 256]'}"
        if self._is_flat:
            yield "  block: [128, 256]"
        yield "buffers:"
        yield from self._buffers()
        yield "launches:"
        guess = "   # its template arguments are a guess" if "<" in self._kernel else ""
        yield f"  - kernel: {quoted(self._kernel)}{guess}"
        yield from self._geometry()
        yield f"    args: [{', '.join(self._argument(number) for number in range(len(self._named)))}]"
        size = f"4 * {'block' if self._is_flat else 256}"
        if self._has_dynamic_memory:
            yield f"    shared: {size}   # bytes of its extern __shared__ array; the size is a guess"
        else:
            yield f"    # shared: {size}              # bytes of dynamic shared memory, for an extern __shared__ array"
        yield from self._dump()
        yield "# compare:                          # nothing said: every bit of every output must be as accepted"
        yield "#   NAME: {rtol: 1.0e-6, atol: 0}"
        yield "limits: {timeout: 30}"
        if others:
            yield f"# The source's other kernels: {', '.join(others)}"

    def _compiled(self) -> Iterator[str]:
        """Write what is compiled: the source, and the folders of its headers."""
        yield f"source: {quoted(self._source)}"
        if self._include:
            yield f"compile: {{include: [{', '.join(map(quoted, self._include))}]}}"

    def _is_extent(self, name: str, one: CxxParameter) -> bool:
        dtype = self._dtype(one) or ""
        return "int" in dtype and not _VECTOR.fullmatch(dtype) and _EXTENT.fullmatch(name) is not None

    def _dtype(self, one: CxxParameter) -> str | None:
        plain = types.plain(one.type)
        return self._known.dtype(self._types.get(plain, plain))

    def _buffers(self) -> Iterator[str]:
        shape = ", ".join(self._extents[:2]) if not self._is_flat else self._extents[0]
        for name, one in self._named:
            if not one.pointer:
                continue
            dtype = self._dtype(one)
            unknown = "" if dtype else f"        # {one.type} is not known here: name its dtype or fields"
            dtype = dtype or "uint8"
            role, comment = self._role(name)
            made = {"zeros": "zeros", "fill": default_fill(dtype)}.get(role)
            fill = f", fill: {made}" if made else ""
            yield f"  {name}: {{dtype: {shown(dtype)}, shape: [{shape}]{fill}}}{unknown or comment}"

    def _role(self, name: str) -> tuple[str, str]:
        """The role of a buffer, `fill`, `zeros` or "" for an output, and a comment with the reason."""
        number = next(at for at, (known, _) in enumerate(self._named) if known == name)
        is_const, accesses = self._named[number][1].const, self._accesses
        if accesses is None:
            comment = "       # an output; give it a fill if the kernel also reads it"
            return ("fill", "") if is_const else ("", comment)
        read, read_first, written, updated = (
            accesses.of_parameter(number, 8, addresses)
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

    def _dump(self) -> Iterator[str]:
        """Filled buffers are dumped only where the job says so."""
        roles = {name: self._role(name)[0] for name, one in self._named if one.pointer and not one.const}
        written = [name for name in roles if self._is_written(name)]
        if any(roles[name] for name in written):
            yield f"dump: [{', '.join(written)}]"

    def _is_written(self, name: str) -> bool:
        """Whether the compiled kernel may write to a buffer."""
        number = next(at for at, (known, _) in enumerate(self._named) if known == name)
        accesses = self._accesses
        return accesses is None or accesses.writes_anywhere or accesses.of_parameter(number, 8, accesses.written)

    def _geometry(self) -> Iterator[str]:
        if self._is_flat:
            yield f"    grid: [ceil({self._extents[0]} / block)]"
            yield "    block: [block]"
        else:
            first, second = self._extents
            yield f"    grid: [ceil({second} / 16), ceil({first} / 16)]"
            yield "    block: [16, 16]"

    def _argument(self, number: int) -> str:
        name, one = self._named[number]
        if one.pointer:
            return name
        dtype = self._dtype(one)
        if dtype is not None and name in self._extents:
            return f"{{{dtype}: {name}}}"
        if dtype is not None and not dtype.startswith("{"):
            return _scalar(dtype)
        if dtype is not None:
            parts = (part.partition(":")[2] for part in dtype[1:-1].split(","))
            return f"{{struct: [{', '.join(map(_scalar, parts))}]}}"
        sizes = [parameter.size for parameter in self._entry.parameters] if self._entry else []
        size = sizes[number] if number < len(sizes) else 4
        members = ["{int32: 0}"] * (size // 4) + ["{int8: 0}"] * (size % 4)
        return f"{{struct: [{', '.join(members)}]}}"


def instantiate(declaration: Declaration) -> tuple[dict[str, str], str]:
    """Return template parameter → the type or value chosen for it, and the kernel's name with them."""
    chosen: dict[str, str] = {}
    for text in declaration.template:
        kind, _, default = (part.strip() for part in text.partition("="))
        name = kind.rpartition(" ")[2]
        chosen[name] = default or guessed_argument(kind)
    arguments = f"<{', '.join(chosen.values())}>" if chosen else ""
    return chosen, declaration.name + arguments


def guessed_argument(kind: str) -> str:
    """Guess the argument of a template parameter.

    Args:
        kind: as it is declared, `typename T` or `int N`.
    """
    if kind.startswith(("typename", "class")):
        return "float"
    return "true" if kind.startswith("bool") else "128"


def quoted(text: str) -> str:
    """Write a name or a path as a scalar of YAML.

    Args:
        text: what is written.
    """
    is_plain = re.fullmatch(r"[\w./][\w./<>():+ -]*", text) and not re.search(r": |:$|^\s|\s$|^[\d.]+$", text)
    return text if is_plain else json.dumps(text)


def shown(dtype: str) -> str:
    """Write a dtype as YAML: a record is a mapping."""
    return dtype.replace(":", ": ").replace(",", ", ")


def _scalar(dtype: str) -> str:
    value = "1.0" if "float" in dtype else "true" if dtype == "bool" else "1"
    lanes = _VECTOR.fullmatch(dtype)
    return f"{{{dtype}: [{', '.join([value] * int(dtype[-1]))}]}}" if lanes else f"{{{dtype}: {value}}}"


def default_fill(dtype: str) -> str:
    """Choose the contents of an input of which only the dtype is known."""
    if dtype.startswith("{"):
        kinds = {part.scalar.kind for part in dtypes.parse(dtype).parts}
        if kinds & {"int", "uint", "bool"}:
            return "{choice: [0, 1]}" if "bool" in kinds else "{integers: {low: 0, high: 100}}"
        return "{normal: {std: 1.0}}"
    if dtype == "bool":
        return "{choice: [0, 1]}"
    return "{integers: {low: 0, high: 100}}" if "int" in dtype or "char" in dtype else "{normal: {std: 1.0}}"


def compiled(source: Path, kernel: str, include: Sequence[Path] = ()) -> tuple[Entry | None, Accesses | None, bool]:
    """Return the parameters of the compiled kernel, its buffer accesses, and whether it has dynamic shared memory.

    None, None and False where it does not compile.
    """
    from gpuregress.devices.cpu import buffer_accesses  # noqa: PLC0415 - loads LLVM's bindings

    try:
        program = sources.compile_source(
            Source(str(source.absolute()), include=tuple(map(str, include)), kernels=(kernel,))
        )
        entry = program.entries.get(kernel)
        ptx = storage.read_bytes(Path(program.ptx)).decode(errors="replace")
        if entry is None:
            return None, None, False
        return entry, buffer_accesses.of_kernel(ptx, entry.mangled), _has_dynamic_memory(ptx, entry.mangled)
    except Interrupted:
        raise
    except GpuregressError:
        return None, None, False


def _has_dynamic_memory(ptx: str, mangled: str) -> bool:
    """Tell whether a kernel's own text names an `extern __shared__` array."""
    body = ptx.partition(f".entry {mangled}(")[2].partition("\n}")[0]
    names = re.findall(r"^\.extern \.shared .*?([\w$]+)\[", ptx, re.MULTILINE)
    return any(re.search(rf"(?<![\w$]){re.escape(one)}(?![\w$])", body) for one in names)
