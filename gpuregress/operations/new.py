"""Drafts of jobs for the kernels and device functions of a source, derived from their declarations."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress import storage
from gpuregress.errors import GpuregressError, Interrupted, UsageError
from gpuregress.frozen import dataclass
from gpuregress.operations import new_function, new_python
from gpuregress.project import Project
from gpuregress.records import Entry, Source
from gpuregress.session.compilation import sources
from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.cxx_declarations import CxxParameter, Declaration
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.functions import declarations
from gpuregress.toolchain.functions.declarations import CxxFunction

if TYPE_CHECKING:
    from gpuregress.devices.cpu.buffer_accesses import Accesses

_VECTOR = re.compile(r"(u?char|u?short|u?int|u?longlong|float|double)[1-4]")
_EXTENT = re.compile(
    r"n|m|k|n[A-Z_]\w*|num\w*|size\w*|len\w*|count\w*|total\w*|width|height|rows?|col(umn)?s?|w|h|dim\w*|elements",
    re.IGNORECASE,
)
_QUALIFIERS = re.compile(r"\b(const|volatile|__restrict__|restrict|struct)\b|[*&]")


@dataclass(frozen=True, slots=True)
class Draft:
    """A job: its file, the kernel or function that it tests, and the source's other ones.

    `is_kept` tells that the file was already there and was left as it is.
    """

    path: Path
    kernel: str
    others: tuple[str, ...]
    functions: tuple[str, ...] = ()
    is_kept: bool = False


def draft(project: Project, source: Path, *, kernel: str | None = None, target: Path | None = None) -> Draft:
    """Write a job for a kernel, or for the first device function of a source without kernels.

    Args:
        project: whose folder of jobs gets it.
        source: the `.cu` file.
        kernel: the name of one of its kernels; None: the first.
        target: the job's file, in place of configs/NAME.yaml.

    Raises:
        UsageError: no such source or kernel, or the job's file is already there.
        StorageError: no space, no permission.
    """
    text = _text(source)
    if source.suffix == ".py":
        return _draft_python(project, source, text, kernel, target)
    declared, functions = cxx_declarations.declarations(text), declarations.device_functions([text])
    if not declared and not functions:
        raise UsageError(f"{source} has no __global__ function and no __device__ function: there is nothing to test")
    path = target if target is not None else project.configs / f"{source.stem}.yaml"
    if not declared and kernel is None:
        return _draft_function(source, text, functions, functions[0], path)
    chosen = _choose(declared, kernel, source)
    _refuse_existing(path)
    others = tuple(str(one) for one in declared if one is not chosen)
    written = "\n".join(_Writer(chosen, source, path).lines(others)) + "\n"
    storage.write_atomic(path, written.encode())
    return Draft(path, str(chosen), others, tuple(map(str, functions)))


def draft_functions(project: Project, source: Path, pattern: str, *, target: Path | None = None) -> tuple[Draft, ...]:
    """Write a job for each device function that a pattern names.

    Args:
        project: whose folder of jobs gets them.
        source: the `.cu` or `.cuh` file.
        pattern: a name, with or without namespace, or a shell pattern: `*` is every function.
        target: the job's file, in place of configs/FUNCTION.yaml; for one function only.

    Raises:
        UsageError: no such source or function, or the files of all its jobs are already there.
        StorageError: no space, no permission.
    """
    text = _text(source)
    functions = declarations.device_functions([text])
    chosen = [one for one in functions if _is_named(one, pattern)]
    if not chosen:
        there = f"it has: {', '.join(map(str, functions))}" if functions else "it has none"
        raise UsageError(f"{source} has no device function {pattern!r}; {there}")
    if target is not None and len(chosen) > 1:
        raise UsageError(
            f"{pattern!r} names {len(chosen)} functions, and -o is one file: {', '.join(map(str, chosen))}"
        )
    paths = [target or project.configs / f"{_function_job(one, functions)}.yaml" for one in chosen]
    if all(path.exists() for path in paths):
        if len(paths) == 1:
            _refuse_existing(paths[0])
        raise UsageError(f"the jobs of all {len(paths)} functions are already there and are left as they are")
    return tuple(
        Draft(path, str(one), (), is_kept=True)
        if path.exists()
        else _draft_function(source, text, functions, one, path)
        for one, path in zip(chosen, paths, strict=True)
    )


def _draft_function(
    source: Path, text: str, functions: Sequence[CxxFunction], chosen: CxxFunction, path: Path
) -> Draft:
    _refuse_existing(path)
    others = [one for one in functions if one is not chosen]
    written = "\n".join(new_function.lines(chosen, text, source, path, others)) + "\n"
    storage.write_atomic(path, written.encode())
    return Draft(path, str(chosen), (), tuple(map(str, others)))


def _draft_python(project: Project, source: Path, text: str, kernel: str | None, target: Path | None) -> Draft:
    try:
        found = new_python.kernels(text)
    except SyntaxError as error:
        raise UsageError(f"{source} is not Python: {error}") from error
    names = [one.name for one in found]
    if not found:
        raise UsageError(f"{source} has no function below @triton.jit or @cuda.jit: there is nothing to test")
    if kernel is not None and kernel not in names:
        raise UsageError(f"{source} has no kernel {kernel!r}; it has: {', '.join(names)}")
    chosen = found[names.index(kernel) if kernel is not None else 0]
    path = target if target is not None else project.configs / f"{source.stem}.yaml"
    _refuse_existing(path)
    others = tuple(name for name in names if name != chosen.name)
    relative = os.path.relpath(source.absolute(), path.absolute().parent)
    written = "\n".join(new_python.lines(chosen, relative, others)) + "\n"
    storage.write_atomic(path, written.encode())
    return Draft(path, chosen.name, others)


def _is_named(function: CxxFunction, pattern: str) -> bool:
    names = (function.name, function.name.rpartition("::")[2], str(function))
    return any(fnmatch.fnmatchcase(name, pattern) or name == pattern for name in names)


def _function_job(function: CxxFunction, functions: Sequence[CxxFunction]) -> str:
    return new_function.job_name(function, [one for one in functions if one is not function])


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise UsageError(f"{path} is already there and is left as it is; name another file with -o")


def _text(source: Path) -> str:
    if not source.is_file():
        raise UsageError(f"there is no file {source}")
    return storage.read_bytes(source).decode("utf-8", "replace")


def _choose(declared: Sequence[Declaration], kernel: str | None, source: Path) -> Declaration:
    if kernel is None:
        return declared[0]
    for one in declared:
        if kernel in (one.name, str(one), one.name.rpartition("::")[2]):
            return one
    there = ", ".join(map(str, declared)) or "none, but device functions (--function NAME)"
    raise UsageError(f"{source} has no kernel {kernel!r}; it has: {there}")


class _Writer:
    """One job's text."""

    def __init__(self, declaration: Declaration, source: Path, target: Path) -> None:
        self._declaration = declaration
        self._types, self._kernel = _instantiate(declaration)
        self._source = os.path.relpath(source.absolute(), target.absolute().parent)
        self._entry, self._accesses = _compiled(source, self._kernel)
        self._named = [(one.name or f"arg{number}", one) for number, one in enumerate(declaration.parameters)]
        self._extents = [name for name, one in self._named if not one.pointer and self._is_extent(name, one)] or ["n"]
        self._is_flat = len(self._extents) != 2

    def lines(self, others: Sequence[str]) -> Iterator[str]:
        """The job, line by line."""
        yield f"# A first job for {self._declaration}: hold every line against what the kernel expects."
        yield f"source: {self._source}"
        yield "parameters:                         # every combination is a case"
        for extent in self._extents:
            yield f"  {extent}: {'[1000, 4096]' if self._is_flat else '[100, 256]'}"
        if self._is_flat:
            yield "  block: [128, 256]"
        yield "buffers:"
        yield from self._buffers()
        yield "launches:"
        yield f"  - kernel: {self._kernel}"
        yield from self._geometry()
        yield f"    args: [{', '.join(self._argument(number) for number in range(len(self._named)))}]"
        yield "    # shared: 4 * block              # bytes of dynamic shared memory, for an extern __shared__ array"
        yield from self._dump()
        yield "# compare:                          # nothing said: every bit of every output must be as accepted"
        yield "#   NAME: {rtol: 1.0e-6, atol: 0}"
        yield "limits: {timeout: 30}"
        if others:
            yield f"# The source's other kernels: {', '.join(others)}"

    def _is_extent(self, name: str, one: CxxParameter) -> bool:
        dtype = self._dtype(one) or ""
        return "int" in dtype and not _VECTOR.fullmatch(dtype) and _EXTENT.fullmatch(name) is not None

    def _dtype(self, one: CxxParameter) -> str | None:
        plain = " ".join(_QUALIFIERS.sub(" ", one.type).split())
        plain = self._types.get(plain, plain)
        return dtype_of_type(plain)

    def _buffers(self) -> Iterator[str]:
        shape = ", ".join(self._extents[:2]) if not self._is_flat else self._extents[0]
        for name, one in self._named:
            if not one.pointer:
                continue
            dtype = self._dtype(one)
            unknown = "" if dtype else f"        # {one.type} is not known here: name its dtype or fields"
            dtype = dtype or "uint8"
            role, comment = self._role(name)
            made = {"zeros": "zeros", "fill": _fill(dtype)}.get(role)
            fill = f", fill: {made}" if made else ""
            yield f"  {name}: {{dtype: {dtype}, shape: [{shape}]{fill}}}{unknown or comment}"

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
        if dtype is not None:
            value = "1.0" if "float" in dtype else "true" if dtype == "bool" else "1"
            lanes = _VECTOR.fullmatch(dtype)
            return f"{{{dtype}: [{', '.join([value] * int(dtype[-1]))}]}}" if lanes else f"{{{dtype}: {value}}}"
        sizes = [parameter.size for parameter in self._entry.parameters] if self._entry else []
        size = sizes[number] if number < len(sizes) else 4
        members = ["{int32: 0}"] * (size // 4) + ["{int8: 0}"] * (size % 4)
        return f"{{struct: [{', '.join(members)}]}}"


def _instantiate(declaration: Declaration) -> tuple[dict[str, str], str]:
    """Template parameter → the type or value chosen for it, and the kernel's name with them."""
    chosen: dict[str, str] = {}
    for text in declaration.template:
        kind, _, default = (part.strip() for part in text.partition("="))
        name = kind.rpartition(" ")[2]
        is_type = kind.startswith(("typename", "class"))
        chosen[name] = default or ("float" if is_type else "true" if kind.startswith("bool") else "128")
    arguments = f"<{', '.join(chosen.values())}>" if chosen else ""
    return chosen, declaration.name + arguments


def _fill(dtype: str) -> str:
    if dtype == "bool":
        return "{choice: [0, 1]}"
    return "{integers: {low: 0, high: 100}}" if "int" in dtype or "char" in dtype else "{normal: {std: 1.0}}"


def _compiled(source: Path, kernel: str) -> tuple[Entry | None, Accesses | None]:
    """The parameters of the compiled kernel, and its buffer accesses; None where it does not compile."""
    from gpuregress.devices.cpu import buffer_accesses  # noqa: PLC0415 - loads LLVM's bindings

    try:
        program = sources.compile_source(Source(str(source.absolute()), kernels=(kernel,)))
        entry = program.entries.get(kernel)
        ptx = storage.read_bytes(Path(program.ptx)).decode(errors="replace")
        return entry, buffer_accesses.of_kernel(ptx, entry.mangled) if entry else None
    except Interrupted:
        raise
    except GpuregressError:
        return None, None
