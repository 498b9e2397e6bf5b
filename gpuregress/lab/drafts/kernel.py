"""Draft of a job for a kernel, derived from its declaration and the compiled code."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import dtypes, storage
from gpuregress.foundation.document import yaml_writer
from gpuregress.foundation.records import MemberLayout, TypeLayout
from gpuregress.foundation.wording import free_name
from gpuregress.gpu.records import replace
from gpuregress.jobs.plan import named_members
from gpuregress.jobs.spec import expressions
from gpuregress.lab.drafts import types
from gpuregress.lab.drafts.compiled import Slot, compiled
from gpuregress.lab.drafts.types import NOTHING, KnownTypes
from gpuregress.lab.host_programs.program import HostFiles
from gpuregress.lab.host_programs.structures import StructureDefinition
from gpuregress.toolchain import cxx_declarations, layouts
from gpuregress.toolchain.build_options.options import NO_OPTIONS, BuildOptions
from gpuregress.toolchain.cxx_declarations import CxxParameter, Declaration
from gpuregress.toolchain.cxx_types import dtype_of_type

VECTOR = re.compile(r"(u?char|u?short|u?int|u?longlong|float|double)[1-4]")
_TEXTURES = {"cudaTextureObject_t": "texture", "cudaSurfaceObject_t": "surface"}
_LONGEST_NAME = 50
"""Characters of a buffer's or parameter's name, before what tells it from others; a job's names have at most 64."""
ODD_SIZE = 1000
"""A guess that is no multiple of a block."""
_MOST_MENTIONED = 2
_MOST_FUNCTORS = 3
"""Classes that are tried in turn for a template parameter."""
_BLOCKS = (128, 256)
"""Threads."""
_MOST_VARIED = 2
"""Sizes that have two values each: more of them are too many cases for a first job."""
NO_LAUNCH = "sizes, contents, scalars, grid and block, which are guesses: no launch of it was found"
SHARED_GUESS = "extern __shared__ array; the size is a guess"
_EXTENT = re.compile(
    r"(?!\w*(?:iter|step)|n(?:um)?_?dims?\Z|(?:n(?:orm|once|ull|eg|ew|ext|earest)|n(?:an|ear|ode|ot)(?![a-z])))"
    r"(?:n|m|k|n[A-Z_]\w*|num\w*|size\w*|len\w*|count\w*|total\w*|width|height|rows?|col(umn)?s?|w|h|dim\w*|elements)",
    re.IGNORECASE,
)


_INDEX_TYPE = re.compile(r"index|indices|indptr|idx|offset|int|size|count|(?:^|_)ids?(?:_|$)", re.IGNORECASE)
"""Names of template parameters that stand for types of whole numbers, as `index_t`."""


class KernelDraft:
    """A job's text."""

    def __init__(
        self,
        declaration: Declaration,
        source: Path,
        target: Path,
        *,
        instance: tuple[dict[str, str], str] | None = None,
        build: BuildOptions = NO_OPTIONS,
        known: KnownTypes = NOTHING,
        program: HostFiles | None = None,
    ) -> None:
        self._declaration = declaration
        self._known = known
        self._types, self._kernel = instance or instantiate(declaration)
        folder = target.absolute().parent
        self._source = os.path.relpath(source.absolute(), folder)
        self._compile_lines = compile_lines(build, source.absolute(), folder)
        self._texts = [storage.read_bytes(source).decode(errors="replace")]
        self._structures: Mapping[str, StructureDefinition] = {}
        if program is not None:
            self._texts += program.texts
            self._structures = program.structures
        self._kernel = asked_name(declaration, self._types, self._kernel, self._texts)
        self._compiled_kernel = compiled(source, self._kernel, build)
        if self._compiled_kernel.problem and self._types:
            self._take_mentioned(source, build)
        needs = self._compiled_kernel.needs
        if self._compiled_kernel.problem and needs == "any":
            self._guess_integers(source, build)
        if self._compiled_kernel.problem and needs != "nothing":
            self._guess_functors(source, build)
            if self._compiled_kernel.problem:
                self._qualify_arguments(self._types, source, build)
        self._named = named_parameters(declaration, self._types)
        self._by_value: dict[int, TypeLayout] = {}  # the structures among the parameters
        self._known = self._with_compiled_types(source, build)
        self._slots = tuple(_with_names(self._pointers()))
        self._variable_buffers: dict[str, str] = {}  # variables of the source that have a buffer
        self._declared_variables: set[str] = set()
        self._cast_dtypes: dict[str, str] = {}
        if self._compiled_kernel.entry is not None:
            self._cast_dtypes = self._dtypes_of_casts(source, build)
        self._extents = [name for name, parameter in self._named if self._is_extent(name, parameter)] or ["n"]
        self._is_flat = len(self._extents) != 2

    def _take_mentioned(self, source: Path, build: BuildOptions) -> None:
        """Take template arguments with which the code names the kernel, as `launch(k<Mode::fill, 16>)` does."""
        name = self._declaration.name.rpartition("::")[2]
        form = re.compile(rf"(?<!\w){re.escape(name)}\s*<([^<>;(){{}}]+)>")
        mentioned: dict[tuple[str, ...], None] = {}
        for text in self._texts:
            for match in form.finditer(text):
                arguments = tuple(argument.strip() for argument in match[1].split(","))
                if len(arguments) == len(self._types) and self._types.keys().isdisjoint(arguments):
                    mentioned[arguments] = None
        for arguments in list(mentioned)[:_MOST_MENTIONED]:
            named = dict(zip(self._types, arguments, strict=True))
            if self._try_arguments(named, source, build) or self._qualify_arguments(named, source, build):
                return

    def _guess_integers(self, source: Path, build: BuildOptions) -> None:
        """Take whole numbers for the types that are a guess, where the kernel compiles with those alone."""
        guessed = [name for name, argument in self._guessed_arguments.items() if argument == "float"]
        if guessed:
            self._try_arguments(dict.fromkeys(guessed, "int"), source, build)

    def _guess_functors(self, source: Path, build: BuildOptions) -> None:
        """Take classes of the source for the types whose values the kernel calls, where it compiles with those."""
        choices: list[dict[str, str]] = [{} for _ in range(_MOST_FUNCTORS)]
        scope = self._declaration.name.rpartition("::")[0]
        for parameter in self._declaration.parameters:
            if parameter.type not in self._guessed_arguments or parameter.pointer:
                continue
            functors = types.functors(self._texts, parameter.name, self._types)[:_MOST_FUNCTORS]
            for choice, functor in zip(choices, functors, strict=False):
                known = self._structures.get(functor)
                if known is not None:
                    choice[parameter.type] = known.name
                else:
                    choice[parameter.type] = f"{scope}::{functor}" if scope else functor
        for choice in choices:
            if choice and self._try_arguments(choice, source, build, must_write=True):
                return

    def _qualify_arguments(self, given: Mapping[str, str], source: Path, build: BuildOptions) -> bool:
        """Look for names among template arguments in the kernel's namespace; tell whether it compiles with those."""
        scope = self._declaration.name.rpartition("::")[0]
        arguments = dict(given)
        for name, argument in given.items():
            spelled = re.fullmatch(r"(\(?)([A-Za-z_].*)", argument)
            if spelled is not None and dtype_of_type(argument) is None and argument not in ("true", "false"):
                arguments[name] = f"{spelled[1]}{scope}::{spelled[2]}"
        return bool(scope) and arguments != given and self._try_arguments(arguments, source, build)

    def _try_arguments(
        self, arguments: Mapping[str, str], source: Path, build: BuildOptions, *, must_write: bool = False
    ) -> bool:
        """Take other template arguments where the kernel compiles with them; tell whether it does.

        Args:
            arguments: of some of its parameters.
            source: its file.
            build: the options to compile with.
            must_write: those with which the kernel has no effect are not taken.
        """
        chosen = {**self._types, **arguments}
        name = with_arguments(self._declaration.name, chosen, self._declaration.template)
        kernel = asked_name(self._declaration, chosen, name, self._texts)
        compiled_kernel = compiled(source, kernel, build)
        is_taken = not compiled_kernel.problem and (compiled_kernel.has_effect or not must_write)
        if is_taken:
            self._types, self._kernel, self._compiled_kernel = chosen, kernel, compiled_kernel
        return is_taken

    def _with_compiled_types(self, source: Path, build: BuildOptions) -> KnownTypes:
        """Add the types of parameters whose members the source's words do not tell, as those of a template."""
        known = self._known
        parameters = [parameter for _, parameter in self._named]
        names = [_argument_type(parameter.type, self._types) for parameter in parameters]
        unknown = unknown_types(self._named, self._types, known)
        for number, (name, parameter) in enumerate(zip(names, parameters, strict=True)):
            if not parameter.pointer and name in known.layouts and known.layouts[name].fields:
                self._by_value[number] = known.layouts[name]
        if not unknown or self._compiled_kernel.entry is None:
            return known
        compiled_types = types.of_kernel(source, build, self._kernel)
        more = {}
        for number, (name, layout) in enumerate(zip(names, compiled_types, strict=False)):
            if name in unknown and layout.kind == "class":
                more[name] = layout
            if not parameters[number].pointer and layout.kind == "class" and layout.fields:
                self._by_value[number] = layout
        return KnownTypes(known.aliases, {**known.layouts, **more})

    @property
    def needed(self) -> tuple[str, ...]:
        """What is not known and must be given, in words."""
        if not self._types:
            return (NO_LAUNCH,)
        chosen = ", ".join(f"{name} = {value}" for name, value in self._types.items())
        return (
            NO_LAUNCH,
            f"the template arguments of {self._kernel}: {chosen} is a guess, because nothing launches it",
        )

    @property
    def guessed_sizes(self) -> tuple[str, ...]:
        """The buffers whose size is a guess and no formula of the program."""
        return tuple(slot.name for slot in self._slots if not slot.texture)

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
        yield f"# A first job for {self._declaration}: check every line against what the kernel expects."
        yield f"# NEEDED: {NO_LAUNCH}."
        yield from self._compiled()
        yield "parameters:                         # every combination is a case"
        sizes = f"[{ODD_SIZE}, 4096]" if self._is_flat else "[100, 256]"
        if len(self._extents) > _MOST_VARIED:
            sizes = f"[{ODD_SIZE}]"
        for extent in self._extents:
            yield f"  {extent}: {sizes}"
        if self._is_flat:
            most = self._compiled_kernel.most_threads
            blocks = [size for size in _BLOCKS if size <= most] or [most]
            yield f"  block: [{', '.join(map(str, blocks))}]"
        yield "buffers:"
        yield from self._buffers()
        yield from self._variables()
        yield "launches:"
        guess = "   # its template arguments are a guess" if self._types else ""
        yield f"  - kernel: {yaml_writer.block_scalar(self._kernel)}{guess}"
        yield from self._geometry()
        yield f"    args: [{', '.join(self._argument(number) for number in range(len(self._named)))}]"
        size = "4 * block" if self._is_flat else f"4 * {_BLOCKS[-1]}"
        if self._compiled_kernel.has_dynamic_memory:
            yield f"    shared: {size}   # bytes of its {SHARED_GUESS}"
        else:
            yield f"    # shared: {size}              # bytes of dynamic shared memory, for an extern __shared__ array"
        yield from self._dump()
        yield "# compare:                          # without a rule, every bit of every output must be as accepted"
        yield "#   NAME: {rtol: 1.0e-6, atol: 0}"
        yield "limits: {timeout: 30}"
        if others:
            yield f"# The source's other kernels: {', '.join(others)}"

    def _compiled(self) -> Iterator[str]:
        """Write what is compiled: the source, and its options."""
        yield f"source: {yaml_writer.block_scalar(self._source)}"
        yield from self._compile_lines

    def _is_extent(self, name: str, parameter: CxxParameter) -> bool:
        dtype = self._dtype(parameter) or ""
        is_integer = not parameter.pointer and "int" in dtype and not VECTOR.fullmatch(dtype)
        return is_integer and _EXTENT.fullmatch(name) is not None

    def _dtype(self, parameter: CxxParameter) -> str | None:
        return self._known.dtype(_argument_type(parameter.type, self._types))

    def _buffers(self) -> Iterator[str]:
        shape = self._extents[0] if self._is_flat else ", ".join(self._extents)
        for slot in self._slots:
            if slot.texture:
                yield self._guessed_texture(slot)
                continue
            dtype = self._pointee(slot)
            role, comment = self._compiled_kernel.role(slot)
            if dtype is None:
                dtype = "uint8"
                comment = f"        # NEEDED: {self._without_dtype(slot)[0]}"
            settings = f"dtype: {shown(dtype)}, shape: [{shape}]"
            if role == "zeros":
                settings += ", fill: zeros"
            elif role == "fill":
                settings += f", fill: {default_fill(dtype)}"
            yield f"  {slot.name}: {{{settings}}}{comment}"

    def _pointers(self) -> Iterator[Slot]:
        """List the pointers among the parameters and among the members of structures that are parameters."""
        for number, (name, parameter) in enumerate(self._named):
            layout = self._by_value.get(number)
            texture = _TEXTURES.get(types.plain(parameter.type), "")
            if texture:
                yield Slot(name, parameter.type, texture == "texture", number, texture=texture)
            elif parameter.pointer:
                yield Slot(name, parameter.type, parameter.const, number)
            elif layout is not None:
                for field in layout.fields:
                    if field.kind == "pointer" and field.count == 1:
                        yield Slot(
                            name=f"{name}_{field.path}",
                            type=field.type,
                            const="const" in field.type,
                            number=number,
                            offset=field.offset,
                            path=field.path,
                        )

    def _slot(self, number: int, path: str) -> Slot | None:
        """Find the pointer that is a parameter, or one of its members."""
        for slot in self._slots:
            if (slot.number, slot.path) == (number, path):
                return slot
        return None

    def _guessed_texture(self, slot: Slot) -> str:
        """Write the buffer of a texture of which nothing is known but how the source fetches from it."""
        text = "\n".join(self._texts)
        shape = "[64, 64]"
        key = "texture: {filter: point}"
        if "tex1Dfetch" in text and "tex2D" not in text:
            shape = "[1024]"
            key = "texture: {memory: linear}"
        elif "tex3D" in text or "surf3D" in text:
            shape = "[16, 16, 16]"
        elif ("tex1D" in text and "tex2D" not in text) or ("surf1D" in text and "surf2D" not in text):
            shape = "[1024]"
        what = "its dtype and shape, filter, address and read modes"
        if slot.texture == "surface":
            key = "surface: true"
            what = "its dtype and shape"
        contents = f"dtype: float32, shape: {shape}, fill: {{normal: {{std: 1.0}}}}, {key}"
        return f"  {slot.name}: {{{contents}}}   # NEEDED: {what}"

    def _layout(self, parameter: CxxParameter) -> TypeLayout | None:
        return self._known.layouts.get(types.plain(parameter.type))

    def _pointee(self, slot: Slot) -> str | None:
        if slot.type.count("*") > 1:
            return None
        plain = _argument_type(slot.type, self._types)
        return self._known.dtype(plain) or self._cast_dtypes.get(slot.name if plain == "void" else "")

    def _dtypes_of_casts(self, source: Path, build: BuildOptions) -> dict[str, str]:
        """Return the dtypes of buffers behind `void*`, by what the code casts the pointers to."""
        spelled: dict[str, str] = {}
        for slot in self._slots:
            if types.plain(slot.type) != "void" or slot.type.count("*") > 1:
                continue
            parameter = self._named[slot.number][0]
            expression = f"{parameter}.{slot.path}" if slot.path else parameter
            for type_ in types.cast_types(self._texts, expression)[:1]:
                spelled[slot.name] = types.spelled_out(type_, self._texts, self._types)
        found: dict[str, str] = {}
        asked = {type_ for type_ in spelled.values() if dtype_of_type(type_) is None}
        layouts_ = types.layouts_of(source, build, sorted(asked))
        for buffer, type_ in spelled.items():
            dtype = dtype_of_type(type_)
            if dtype is None and type_ in layouts_:
                dtype = self._known.dtype(type_) or layouts.dtype(layouts_[type_])
            if dtype is not None:
                found[buffer] = dtype
        return found

    def _without_dtype(self, slot: Slot) -> tuple[str, str]:
        """Explain why a buffer has bytes for elements: a comment, and what is needed in words."""
        name = types.plain(slot.type)
        layout = self._known.layouts.get(name)
        pointers = ""
        if layout is not None and layout.pointers:
            pointers = f"{name}.{layout.pointers[0]} is a pointer"
        elif slot.type.count("*") > 1:
            pointers = f"{slot.type} points to pointers"
        if pointers:
            note = f"its contents: {pointers}, and a job's buffer holds none; gpuregress capture can record it"
            return note, note
        if layout is None:
            return f"its dtype or fields; {slot.type} is not known here", f"its dtype, because {slot.type}"
        note = f"its contents, in bytes: each {name} has {layout.size}, and no dtype has its members"
        return note, note

    def _dump(self) -> Iterator[str]:
        """Filled buffers are dumped only where the job says so."""
        results = [slot for slot in self._slots if self._is_result(slot)]
        if any(self._compiled_kernel.role(slot)[0] for slot in results):
            names = dict.fromkeys(slot.name for slot in results)
            yield f"dump: [{', '.join((*names, *self._variable_names()))}]"

    def _is_result(self, slot: Slot) -> bool:
        return not slot.const and self._compiled_kernel.writes(slot)

    def _variables(self) -> Iterator[str]:
        """Write the variables of the source that the kernel writes, as buffers."""
        declared = cxx_declarations.variable_types("\n".join(self._texts))
        variables = self._compiled_kernel.written_variables.items()
        for (name, size), buffer in zip(variables, self._variable_names(), strict=True):
            if name in self._declared_variables:
                continue  # by an earlier launch
            self._declared_variables.add(name)
            dtype = self._known.dtype(types.plain(declared.get(name.rpartition("::")[2], "")))
            comment = "a variable of the source, which starts with its initial value"
            if dtype is None or size % dtypes.parse(dtype).size:
                dtype = "uint8"
                comment = f"NEEDED: its dtype; {comment}"
            settings = f"dtype: {shown(dtype)}, shape: [{size // dtypes.parse(dtype).size}]"
            fill, reason = self._variable_fill(name, buffer, dtype)
            if fill:
                settings += f", fill: {fill}"
                comment = reason or "a variable of the source"
            yield f"  {buffer}: {{{settings}, symbol: {yaml_writer.scalar(name)}}}   # {comment}"

    def _variable_fill(self, name: str, buffer: str, dtype: str) -> tuple[str, str]:  # noqa: ARG002 - see LaunchDraft
        """Return the fill of a variable that the host code sets, "" where it does not, and a comment."""
        return "", ""

    def _variable_names(self) -> list[str]:
        taken = self._taken_names()
        for variable in self._compiled_kernel.written_variables:
            if variable in self._variable_buffers:
                continue
            name = valid_name(variable, ())
            if name in taken:
                name = valid_name(f"{name}_variable", taken)
            taken.add(name)
            self._variable_buffers[variable] = name
        return [self._variable_buffers[variable] for variable in self._compiled_kernel.written_variables]

    def _taken_names(self) -> set[str]:
        return {slot.name for slot in self._slots}

    @property
    def refusal(self) -> str:
        """Why there can be no job: there is nothing to compare; "" where there is."""
        problem = self._compiled_kernel.problem
        if problem:
            guessed = ", ".join(f"{name} = {value}" for name, value in self._guessed_arguments.items())
            if guessed:
                return f"with the guess {guessed} for its template arguments it does not compile: {problem}"
            return f"it does not compile: {problem}"
        if self._slots or self._compiled_kernel.written_variables:
            return ""
        if self._compiled_kernel.accesses is None:
            return f"it has no pointer parameter, and what {self._kernel} writes is not known"
        return (
            "it writes no buffer and no __device__ variable, so a job has nothing to compare (the text of printf is "
            "not compared): let it store its results through a pointer parameter or in a __device__ variable"
        )

    @property
    def _guessed_arguments(self) -> Mapping[str, str]:
        """The template parameters whose arguments are a guess, with these."""
        return self._types

    def _geometry(self) -> Iterator[str]:
        if self._is_flat:
            yield f"    grid: [ceil({self._extents[0]} / block)]"
            yield "    block: [block]"
        else:
            first, second = self._extents
            rows = max(1, min(16, self._compiled_kernel.most_threads // 16))
            yield f"    grid: [ceil({second} / 16), ceil({first} / {rows})]"
            yield f"    block: [16, {rows}]"

    def _argument(self, number: int) -> str:
        name, parameter = self._named[number]
        slot = self._slot(number, "")
        if slot is not None:
            return slot.name
        dtype = self._dtype(parameter)
        if dtype is not None and name in self._extents:
            return f"{{{dtype}: {name}}}"
        if dtype is not None and not dtype.startswith("{"):
            entry = self._compiled_kernel.entry
            is_address = entry is not None and entry.parameters[number].kind == "word"
            return "null" if is_address else scalar(dtype)
        if number in self._by_value:
            members = [f"{yaml_writer.scalar(name)}: {text}" for name, text, _ in self._members(number)]
            return f"{{struct: {{{', '.join(members)}}}}}"
        size = 4
        entry = self._compiled_kernel.entry
        if entry is not None and number < len(entry.parameters):
            size = entry.parameters[number].size
        return f"{{struct: [{', '.join(['{int32: 0}'] * (size // 4) + ['{int8: 0}'] * (size % 4))}]}}"

    def _members(self, number: int) -> Iterator[tuple[str, str, str]]:
        """Write the members of a structure that is passed by value: name, argument, and a comment on a guess."""
        fields = {field.path: field for field in self._by_value[number].fields}
        for name in named_members.member_names(self._by_value[number]):
            path = name.partition("[")[0]
            field = fields.get(name) or fields.get(name.rpartition("[")[0])
            if field is None:  # a union without a name
                yield name, "{uint8: 0}", f"NEEDED: {path}"
            else:
                yield name, *self._member(number, field, name)

    def _member(self, number: int, field: MemberLayout, name: str) -> tuple[str, str]:  # noqa: ARG002 - see LaunchDraft
        """Write a member of a structure that is passed by value, and a comment where it is a guess."""
        slot = self._slot(number, field.path)
        if slot is not None:
            return slot.name, ""
        dtype = layouts.member_dtype(field) or ""
        is_whole = "int" in dtype and not VECTOR.fullmatch(dtype)
        is_extent = _EXTENT.fullmatch(field.path.rpartition(".")[2]) is not None
        if self._extents and is_whole and is_extent and field.count == 1:
            return f"{{{dtype}: {self._extents[0]}}}", ""
        return _guess_of_member(field), ""


def asked_name(declaration: Declaration, arguments: Mapping[str, str], name: str, texts: Iterable[str]) -> str:
    """Return the name of a kernel as the compiler is asked for it: with its signature where it is overloaded.

    Args:
        declaration: the kernel.
        arguments: of its template, by the names of the parameters.
        name: with these.
        texts: of the files.
    """
    overloads = set()
    for text in texts:
        for other in cxx_declarations.declarations(text):
            if other.name == declaration.name:
                overloads.add(other.type_words)
    return declaration.signature(list(arguments.values())) if len(overloads) > 1 else name


def named_parameters(declaration: Declaration, arguments: Mapping[str, str]) -> list[tuple[str, CxxParameter]]:
    """List the parameters of a kernel with names.

    Args:
        declaration: the kernel.
        arguments: of its template, by the names of the parameters.
    """
    named: list[tuple[str, CxxParameter]] = []
    for number, parameter in enumerate(declaration.parameters):
        argument = arguments.get(parameter.type, "")
        if argument.endswith("*"):  # `scale_type scale` of a template, with float* for scale_type
            parameter = replace(parameter, type=argument, pointer=True, const="const" in argument)  # noqa: PLW2901
        named.append((parameter.name or f"arg{number}", parameter))
    return named


def unknown_types(
    named: Sequence[tuple[str, CxxParameter]],
    arguments: Mapping[str, str],
    known: KnownTypes,
    structures: Collection[str] = (),
) -> set[str]:
    """Return the types of parameters whose members only the compiled kernel tells.

    Args:
        named: the parameters.
        arguments: of the kernel's template, by the names of the parameters.
        known: the types that are known.
        structures: whose layouts are being asked for.
    """
    unknown = set()
    for _, parameter in named:
        name = _argument_type(parameter.type, arguments)
        is_structure = name in structures or (name in known.layouts and known.layouts[name].fields)
        is_number = dtype_of_type(known.aliases.get(name, name)) is not None
        if name not in (*_TEXTURES, "void") and not (is_structure and parameter.pointer) and not is_number:
            unknown.add(name)
    return unknown


def _argument_type(type_: str, arguments: Mapping[str, str]) -> str:
    """Return a type without qualifiers and `*`, a template parameter replaced by its argument."""
    plain = types.plain(type_)
    return arguments.get(plain, plain)


def plain_kernels(text: str) -> list[str]:
    """List the kernels of a source that are no templates, as the compiler is asked for them."""
    declared = cxx_declarations.declarations(text)
    names = [declaration.name for declaration in declared]
    plain: list[str] = []
    for declaration in declared:
        if not declaration.template:
            is_overloaded = names.count(declaration.name) > 1
            plain.append(declaration.signature() if is_overloaded else declaration.name)
    return plain


def _with_names(slots: Iterable[Slot]) -> Iterator[Slot]:
    """Give each pointer a name that a buffer of a job may have."""
    taken: set[str] = set()
    for slot in slots:
        name = valid_name(slot.name, taken, "_buffer")
        taken.add(name)
        yield replace(slot, name=name)


def valid_name(text: str, taken: Collection[str], suffix: str = "") -> str:
    """Make a name of a job's buffer or parameter of a text.

    Args:
        text: what it is called in the program.
        taken: names that others have.
        suffix: what a name gets that expressions use otherwise.
    """
    plain = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:_LONGEST_NAME] or "value"
    if plain[0].isdigit():
        plain = f"p{plain}"
    if suffix and plain in (*expressions.RESERVED, "null"):
        plain += suffix
    return free_name(plain, {*taken, *expressions.RESERVED})


def instantiate(declaration: Declaration) -> tuple[dict[str, str], str]:
    """Return template parameter → the type or value chosen for it, and the kernel's name with them."""
    chosen: dict[str, str] = {}
    for text in declaration.template:
        kind, _, default = (part.strip() for part in text.partition("="))
        name = kind.rpartition(" ")[2]
        chosen[name] = default_argument(default, chosen) or guessed_argument(kind)
    return chosen, with_arguments(declaration.name, chosen, declaration.template)


def with_arguments(kernel: str, arguments: Mapping[str, str], template: Sequence[str]) -> str:
    """Return the name of a kernel with its template arguments, of which it may have none.

    The last ones are left out if they are defaults that depend on others: their names may be those of a namespace.

    Args:
        kernel: its name.
        arguments: by the names of the parameters.
        template: the template's parameters as they are declared.
    """
    given = list(arguments.items())
    for text in reversed(template):
        default = text.partition("=")[2].strip()
        value = default_argument(default, arguments)
        if value == default or not given or given[-1][1] != value:
            break
        given.pop()
    if not given:
        return kernel
    return f"{kernel}<{', '.join(value for _, value in given)}>"


def default_argument(text: str, chosen: Mapping[str, str]) -> str:
    """Put the arguments chosen for earlier template parameters in the place of their names in a default."""
    return re.sub(r"(?<![\w.:])[A-Za-z_]\w*", lambda match: chosen.get(match[0], match[0]), text)


def guessed_argument(kind: str) -> str:
    """Guess the argument of a template parameter.

    Args:
        kind: as it is declared, `typename T` or `int N`.
    """
    if kind.startswith(("typename", "class")):
        return "int" if _INDEX_TYPE.search(kind.rpartition(" ")[2]) else "float"
    return "true" if kind.startswith("bool") else "128"


def compile_lines(build: BuildOptions, source: Path, folder: Path) -> list[str]:
    """Write the compilation of a job, with the place that its options come from.

    Args:
        build: the options.
        source: absolute.
        folder: of the job.
    """
    parts: list[str] = []
    if build.include:
        folders = [yaml_writer.scalar(os.path.relpath(path, folder)) for path in build.include]
        parts.append(f"include: [{', '.join(folders)}]")
    if build.defines:
        macros = [f"{name}: {_macro(text)}" for name, text in build.defines.items()]
        parts.append(f"defines: {{{', '.join(macros)}}}")
    if build.options:
        options: list[str] = []
        for option in build.options:
            header = option.removeprefix("-include=")
            if header != option and os.path.isabs(header):  # noqa: PTH117 - text
                option = f"-include={os.path.relpath(header, source.parent)}"  # noqa: PLW2901
            options.append(json.dumps(option))
        parts.append(f"options: [{', '.join(options)}]")
    if not parts:
        return []
    origin = f"   # {build.origin}" if build.origin else ""
    return [f"compile: {{{', '.join(parts)}}}{origin}"]


def _macro(text: str) -> str:
    """Write the text of a macro as `compile.defines` has it."""
    if not text or re.fullmatch(r"-?\d+", text):
        return text or '""'
    return f"{{text: {json.dumps(text)}}}"


def formula(text: str) -> str:
    """Write a formula as a scalar of YAML: a number as it is, other text in quotes where it needs them.

    Args:
        text: an expression of a job.
    """
    try:
        float(text)
    except ValueError:
        return yaml_writer.scalar(text)
    return text


def job_text(lines: Iterable[str]) -> str:
    """Join the lines of a job; a comment may have words of the source that stand in several lines there."""
    printable = ("".join(letter if letter.isprintable() else " " for letter in line) for line in lines)
    return "".join(f"{line}\n" for line in printable)


def shown(dtype: str) -> str:
    """Write a dtype as YAML: a record is a mapping."""
    return dtype.replace(":", ": ").replace(",", ", ")


def scalar(dtype: str) -> str:
    """Write a guess of a scalar argument."""
    value = "1"
    if "float" in dtype:
        value = "1.0"
    elif dtype == "bool":
        value = "true"
    if VECTOR.fullmatch(dtype):
        value = f"[{', '.join([value] * int(dtype[-1]))}]"
    return f"{{{dtype}: {value}}}"


def _guess_of_member(field: MemberLayout) -> str:
    """Write a guess of a member, in bytes where it is no number."""
    if field.kind == "pointer":
        return "null"
    dtype = layouts.member_dtype(field)
    if dtype is not None:
        return scalar(dtype)
    if field.size in (1, 2, 4, 8):
        return f"{{uint{8 * field.size}: 0}}"
    return f"{{struct: [{', '.join(['{uint8: 0}'] * field.size)}]}}"


def default_fill(dtype: str) -> str:
    """Choose the contents of an input of which only the dtype is known."""
    kinds = {dtype}
    if dtype.startswith("{"):
        kinds = {str(part.scalar.kind) for part in dtypes.parse(dtype).parts}
    elif "int" in dtype or "char" in dtype:
        kinds = {"int"}
    if "bool" in kinds:
        return "{choice: [0, 1]}"
    if kinds & {"int", "uint"}:
        return "{integers: {low: 0, high: 100}}"
    return "{normal: {std: 1.0}}"
