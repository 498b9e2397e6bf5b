"""Draft of a job for a kernel, derived from its declaration and the compiled code."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.records import MemberLayout, TypeLayout
from gpuregress.lab.drafts import types
from gpuregress.lab.drafts.compiled import Slot, compiled
from gpuregress.lab.drafts.types import NOTHING, KnownTypes
from gpuregress.toolchain import cxx_declarations, layouts
from gpuregress.toolchain.cxx_declarations import CxxParameter, Declaration

_VECTOR = re.compile(r"(u?char|u?short|u?int|u?longlong|float|double)[1-4]")
_TEXTURES = {"cudaTextureObject_t": "texture", "cudaSurfaceObject_t": "surface"}
NO_LAUNCH = "sizes, contents, scalars, grid and block, which are guesses: no launch of it was found"
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
        texts: Sequence[str] = (),
    ) -> None:
        self._declaration, self._known = declaration, known
        self._types, self._kernel = instance or instantiate(declaration)
        folder = target.absolute().parent
        self._source = os.path.relpath(source.absolute(), folder)
        self._include = [os.path.relpath(one, folder) for one in include]
        self._texts = [storage.read_bytes(source).decode(errors="replace"), *texts]
        same = [
            one for text in self._texts for one in cxx_declarations.declarations(text) if one.name == declaration.name
        ]
        if len({one.type_words for one in same}) > 1:
            self._kernel = declaration.signature(list(self._types.values()))
        self._compiled_kernel = compiled(source, self._kernel, include)
        self._known = self._with_compiled_types(source, include)
        self._named = [(one.name or f"arg{number}", one) for number, one in enumerate(declaration.parameters)]
        self._slots = tuple(self._pointers())
        self._extents = [name for name, one in self._named if not one.pointer and self._is_extent(name, one)] or ["n"]
        self._is_flat = len(self._extents) != 2

    def _with_compiled_types(self, source: Path, include: Sequence[Path]) -> KnownTypes:
        """Add the types of parameters whose members the source's words do not tell, as those of a template."""
        known, given = self._known, self._declaration.parameters
        plain = [self._types.get(types.plain(one.type), types.plain(one.type)) for one in given]
        unknown = {
            name
            for name in plain
            if name not in (*_TEXTURES, "void")
            and not (name in known.layouts and known.layouts[name].fields)
            and known.dtype(name) is None
        }
        if not unknown or self._compiled_kernel.entry is None:
            return known
        found = zip(plain, types.of_kernel(source, include, self._kernel), strict=False)
        more = {name: one for name, one in found if name in unknown and one.kind == "class"}
        return KnownTypes(known.aliases, {**known.layouts, **more})

    @property
    def needed(self) -> tuple[str, ...]:
        """What is not known and must be told, in words."""
        if not self._types:
            return (NO_LAUNCH,)
        chosen = ", ".join(f"{name} = {value}" for name, value in self._types.items())
        return (NO_LAUNCH, f"the template arguments of {self._kernel}: {chosen} is a guess, for nothing launches it")

    @property
    def guessed_sizes(self) -> tuple[str, ...]:
        """The buffers whose size is a guess and no formula."""
        return ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the job does otherwise than the program, in words."""
        return ()

    @property
    def buffer_bytes(self) -> int:
        """The bytes of the arrays whose size the host code tells."""
        return 0

    def lines(self, others: Sequence[str]) -> Iterator[str]:
        """The job, line by line."""
        yield f"# A first job for {self._declaration}: hold every line against what the kernel expects."
        yield f"# NEEDED: {NO_LAUNCH}."
        yield from self._compiled()
        yield "parameters:                         # every combination is a case"
        for extent in self._extents:
            yield f"  {extent}: {'[1000, 4096]' if self._is_flat else '[100, 256]'}"
        if self._is_flat:
            yield "  block: [128, 256]"
        yield "buffers:"
        yield from self._buffers()
        yield from self._variables()
        yield "launches:"
        guess = "   # its template arguments are a guess" if self._types else ""
        yield f"  - kernel: {quoted(self._kernel)}{guess}"
        yield from self._geometry()
        yield f"    args: [{', '.join(self._argument(number) for number in range(len(self._named)))}]"
        size = f"4 * {'block' if self._is_flat else 256}"
        if self._compiled_kernel.has_dynamic_memory:
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
        for slot in self._slots:
            dtype = self._pointee(slot)
            unknown = "" if dtype else f"        # NEEDED: {self._without_dtype(slot)[0]}"
            if slot.texture:
                yield self._guessed_texture(slot)
                continue
            dtype = dtype or "uint8"
            role, comment = self._compiled_kernel.role(slot)
            made = {"zeros": "zeros", "fill": default_fill(dtype)}.get(role)
            fill = f", fill: {made}" if made else ""
            yield f"  {slot.name}: {{dtype: {shown(dtype)}, shape: [{shape}]{fill}}}{unknown or comment}"

    def _pointers(self) -> Iterator[Slot]:
        """List the pointers among the parameters and among the members of structures that are parameters."""
        for number, (name, one) in enumerate(self._named):
            texture = _TEXTURES.get(types.plain(one.type), "")
            if texture:
                yield Slot(name, one.type, texture == "texture", number, texture=texture)
            elif one.pointer:
                yield Slot(name, one.type, one.const, number)
            elif (layout := self._layout(one)) is not None and layouts.is_listed(layout):
                for field in layout.fields:
                    if field.kind == "pointer" and field.count == 1:
                        inner = f"{name}_{field.path.replace('.', '_')}"
                        yield Slot(inner, field.type, "const" in field.type, number, field.offset, field.path)

    def _guessed_texture(self, slot: Slot) -> str:
        """Write the buffer of a texture of which nothing is known but how the source fetches from it."""
        text = "\n".join(self._texts)
        shape, memory = "[64, 64]", ""
        if "tex1Dfetch" in text and "tex2D" not in text:
            shape, memory = "[1024]", "memory: linear"
        elif "tex3D" in text or "surf3D" in text:
            shape = "[16, 16, 16]"
        elif ("tex1D" in text and "tex2D" not in text) or ("surf1D" in text and "surf2D" not in text):
            shape = "[1024]"
        key = "surface: true" if slot.texture == "surface" else f"texture: {{{memory or 'filter: point'}}}"
        what = "its dtype and shape" + ("" if slot.texture == "surface" else ", filter, address and read modes")
        contents = f"dtype: float32, shape: {shape}, fill: {{normal: {{std: 1.0}}}}, {key}"
        return f"  {slot.name}: {{{contents}}}   # NEEDED: {what}"

    def _layout(self, one: CxxParameter) -> TypeLayout | None:
        return self._known.layouts.get(types.plain(one.type))

    def _pointee(self, slot: Slot) -> str | None:
        if slot.type.count("*") > 1:
            return None
        plain = types.plain(slot.type)
        return self._known.dtype(self._types.get(plain, plain))

    def _without_dtype(self, slot: Slot) -> tuple[str, str]:
        """Explain why a buffer has bytes for elements: a comment, and what is needed in words."""
        name = types.plain(slot.type)
        layout = self._known.layouts.get(name)
        pointer = f"{name}.{layout.pointers[0]}" if layout is not None and layout.pointers else ""
        if slot.type.count("*") > 1 or pointer:
            subject = f"{pointer} is a pointer" if pointer else f"{slot.type} points to pointers"
            note = f"its contents: {subject}, and a job's buffer holds none; gpuregress capture can record it"
            return note, note
        if layout is None:
            return f"its dtype or fields; {slot.type} is not known here", f"its dtype, for {slot.type}"
        note = f"its contents, in bytes: each {name} has {layout.size}, and no dtype has its members"
        return note, note

    def _dump(self) -> Iterator[str]:
        """Filled buffers are dumped only where the job says so."""
        written = {one.name: self._compiled_kernel.role(one)[0] for one in self._slots if self._is_result(one)}
        if any(written.values()):
            yield f"dump: [{', '.join((*written, *self._variable_names()))}]"

    def _is_result(self, slot: Slot) -> bool:
        return not slot.const and self._compiled_kernel.writes(slot)

    def _variables(self) -> Iterator[str]:
        """Write the variables of the source that the kernel writes, as buffers."""
        declared = cxx_declarations.variable_types("\n".join(self._texts))
        for (name, size), buffer in zip(
            self._compiled_kernel.written_variables.items(), self._variable_names(), strict=True
        ):
            type_ = types.plain(declared.get(name.rpartition("::")[2], ""))
            dtype = self._known.dtype(type_)
            comment = "a variable of the source, which starts with its initial value"
            if dtype is None or size % dtypes.parse(dtype).size:
                dtype, comment = "uint8", f"NEEDED: its dtype; {comment}"
            count = size // dtypes.parse(dtype).size
            fill, reason = self._variable_fill(name, buffer, dtype)
            filled, comment = (f", fill: {fill}", reason or "a variable of the source") if fill else ("", comment)
            settings = f"dtype: {shown(dtype)}, shape: [{count}]{filled}, symbol: {quoted(name)}"
            yield f"  {buffer}: {{{settings}}}   # {comment}"

    def _variable_fill(self, name: str, buffer: str, dtype: str) -> tuple[str, str]:  # noqa: ARG002 - see LaunchDraft
        """Return the fill of a variable that the host code sets, "" where it does not, and a comment."""
        return "", ""

    def _variable_names(self) -> list[str]:
        taken = {one.name for one in self._slots}
        names = (name.replace("::", "_") for name in self._compiled_kernel.written_variables)
        return [f"{name}_variable" if name in taken else name for name in names]

    @property
    def refusal(self) -> str:
        """Why there can be no job: there is nothing to compare; "" where there is."""
        if self._slots or self._compiled_kernel.written_variables:
            return ""
        if self._compiled_kernel.accesses is None:
            return f"it has no pointer parameter, and what {self._kernel} writes is not known{self._broken()}"
        return (
            "it writes no buffer and no __device__ variable, so a job has nothing to compare (the text of printf is "
            "not compared): let it store its results through a pointer parameter or in a __device__ variable"
        )

    def _broken(self) -> str:
        problem = self._compiled_kernel.problem
        return f", because it does not compile: {problem}" if problem else ""

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
        if one.pointer or types.plain(one.type) in _TEXTURES:
            return name
        dtype = self._dtype(one)
        if dtype is not None and name in self._extents:
            return f"{{{dtype}: {name}}}"
        if dtype is not None and not dtype.startswith("{"):
            return scalar(dtype)
        layout = self._layout(one)
        if layout is not None and layouts.is_listed(layout):
            return f"{{struct: [{', '.join(self._member(number, field) for field in layout.fields)}]}}"
        if layout is not None and layout.fields and layout.name:
            parts = layouts.members(layout, pads=True).values()
            return f"{{struct: [{', '.join(scalar(part) if part else 'null' for part in parts)}]}}"
        entry = self._compiled_kernel.entry
        sizes = [parameter.size for parameter in entry.parameters] if entry else []
        size = sizes[number] if number < len(sizes) else 4
        members = ["{int32: 0}"] * (size // 4) + ["{int8: 0}"] * (size % 4)
        return f"{{struct: [{', '.join(members)}]}}"

    def _member(self, number: int, field: MemberLayout) -> str:
        """Write a member of a structure that is passed by value."""
        at = (number, field.path)
        slot = next((one for one in self._slots if (one.number, one.path) == at), None)
        if slot is not None:
            return slot.name
        dtype = layouts.member_dtype(field)
        return ", ".join([scalar(dtype) if dtype is not None else "null"] * field.count)


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


def scalar(dtype: str) -> str:
    """Write a guess of a scalar argument."""
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
