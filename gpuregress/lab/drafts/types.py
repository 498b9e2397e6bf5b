"""Types of kernels' parameters and of host code that only the compiler knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import field

from gpuregress.foundation import storage
from gpuregress.foundation.errors import CompileError, GpuregressError, Interrupted
from gpuregress.foundation.records import Source, TypeLayout
from gpuregress.gpu.records import Record, replace
from gpuregress.lab.host_programs import structures
from gpuregress.lab.host_programs.program import HostFiles
from gpuregress.session import compilation
from gpuregress.toolchain import cxx_declarations, layouts, programs
from gpuregress.toolchain.build_options.options import BuildOptions
from gpuregress.toolchain.cxx_declarations import WORD
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.layouts import DataMember

_QUALIFIERS = re.compile(r"\b(const|volatile|__restrict__|restrict|struct|enum|typename)\b|(?<=\*)\s*[A-Za-z_]\w*|[*&]")
"""A word after `*` is a macro for a qualifier."""
_ASKED_TYPE = re.compile(r"gpuregress_layout::plain<(.+?)>::type")
"""A type in an error of the question."""
_UNDEFINED = re.compile(r'^gpuregress_call.*: error: identifier "(\w+)" is undefined', re.MULTILINE)
_FUNCTOR = re.compile(
    r"(?:\btemplate\s*<(?P<template>[^<>{};]*)>\s*)?\b(?:struct|class)\s+(?P<name>\w+)\s*(?::[^{};]*)?\{"
    r"(?P<before>(?:(?!\}\s*;).)*?)\boperator\s*\(\s*\)\s*\((?P<parameters>[^()]*)\)",
    re.DOTALL,
)
_OF_DEVICE = re.compile(r"\b(?:__device__|constexpr|[A-Z][A-Z0-9_]{2,})\b[^;{}]*\Z")
"""Words before a function's name, of which one in capitals may be a macro for `__device__`."""
_NAME = re.compile(r"[A-Za-z_][\w:]*(<[\w:, <>]+>(::\w+)*)?")


class KnownTypes(Record):
    """What is known of the types of a program, by their plain spelling.

    Attributes:
        aliases: a type → what it stands for.
        layouts: a type → how it is compiled.
    """

    aliases: Mapping[str, str] = field(default_factory=dict)
    layouts: Mapping[str, TypeLayout] = field(default_factory=dict)

    def dtype(self, plain: str) -> str | None:
        """Return the dtype that holds a type; None where none does."""
        known = dtype_of_type(self.aliases.get(plain, plain))
        layout = self.layouts.get(plain)
        if known is not None or layout is None:
            return known
        return layouts.dtype(layout, pads=bool(layout.name))

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of types, in bytes."""
        return {name: one.size for name, one in self.layouts.items()}


NOTHING = KnownTypes()


def plain(type_: str) -> str:
    """Return a type without qualifiers and `*`."""
    return " ".join(_QUALIFIERS.sub(" ", type_).split())


def is_named(type_: str, templates: frozenset[str]) -> bool:
    """Tell whether the compiler can be asked for a type: one that depends on no template parameter.

    Args:
        type_: without qualifiers.
        templates: the names of template parameters.
    """
    return (
        _NAME.fullmatch(type_) is not None
        and type_ != "void"
        and not templates & set(re.findall(r"(?<!::)\b\w+", type_))
    )


class Question(Record):
    """Types whose layouts the compiler is asked for.

    Attributes:
        source: that has them.
        names: type → its name with namespaces.
        members: by that name, the data members.
    """

    source: Source
    names: Mapping[str, str]
    members: Mapping[str, Sequence[DataMember]]

    @property
    def program(self) -> Source | None:
        """The first source that is compiled; None where nothing is asked."""
        if not self.members:
            return None
        return replace(self.source, harness=layouts.question(self.members))


def question(source: Path, build: BuildOptions, program: HostFiles, types: Sequence[str]) -> Question:
    """Write a question for the layouts of types.

    Args:
        source: the file.
        build: the options to compile with.
        program: what the files define.
        types: without qualifiers.
    """
    known = program.structures
    names = {one: known[one].name if one in known else one for one in types}
    members = {names[one]: structures.flattened(one, known) for one in types}
    return Question(build.applied_to(Source(str(source.absolute()))), names, members)


def ask(asked: Question) -> dict[str, TypeLayout]:
    """Ask the compiler for the layouts of types; those that it does not know are left out.

    Args:
        asked: the types.

    Raises:
        Interrupted: the user asked to stop.
    """
    found = _asked(asked.source, asked.members)
    return {one: found[name] for one, name in asked.names.items() if name in found}


def layouts_of(source: Path, build: BuildOptions, types: Sequence[str]) -> dict[str, TypeLayout]:
    """Ask the compiler for sizes and kinds of types that the source spells out; none where one is not known.

    Args:
        source: the file.
        build: the options to compile with.
        types: as `Traits<128>::input_t`.

    Raises:
        Interrupted: the user asked to stop.
    """
    if not types:
        return {}
    return _asked(build.applied_to(Source(str(source.absolute()))), dict.fromkeys(types, ()))


def cast_types(texts: Sequence[str], expression: str) -> list[str]:
    """List the types that code casts a pointer to, without qualifiers and `*`.

    Args:
        texts: of the files.
        expression: the pointer, as `params.x_ptr`.
    """
    pointer = rf"\(?\s*{re.escape(expression)}(?![\w.])"
    forms = (rf"reinterpret_cast<([^;()]+?)\*[^;()*]*>\s*\(\s*{pointer}", rf"\(\s*([\w:<>, ]+?)\s*\*\s*\)\s*{pointer}")
    found: dict[str, None] = {}
    for form in forms:
        for text in texts:
            for match in re.finditer(form, text):
                found[plain(match[1])] = None
    return list(found)


def spelled_out(type_: str, texts: Sequence[str], arguments: Mapping[str, str]) -> str:
    """Replace an alias of device code by what it stands for, and template parameters by their arguments.

    Args:
        type_: as the code has it, `input_t`.
        texts: of the files.
        arguments: template parameter → argument.
    """
    form = re.compile(rf"\busing\s+{re.escape(type_)}\s*=\s*(?:typename\s+)?([\w:<>, ]+?)\s*;")
    aliases = [alias for text in texts for alias in form.findall(text)]
    for alias in aliases:
        words = set(re.findall(r"\w+", alias))
        if words & arguments.keys():  # the alias of the kernel, not that of a traits class
            type_ = alias
            break
    return re.sub(r"(?<![\w:])[A-Za-z_]\w*", lambda match: arguments.get(match[0], match[0]), type_)


def functors(texts: Sequence[str], value: str, arguments: Mapping[str, str]) -> list[str]:
    """List the classes whose values device code can call as a kernel calls a parameter, templates with arguments.

    Args:
        texts: of the files.
        value: the parameter.
        arguments: template parameter of the kernel → argument.
    """
    call = re.compile(rf"(?<![\w.>]){re.escape(value)}\s*\(")
    counts = {_argument_count(text[match.end() :]) for text in texts for match in call.finditer(text)}
    kernel_types = [*arguments.values(), "float"]  # a class often has the kernel's first type by another name
    found: dict[str, None] = {}
    for text in texts:
        for match in _FUNCTOR.finditer(text):
            template = cxx_declarations.split(WORD.findall(match["template"] or ""))
            if any(words[0] not in ("typename", "class") for words in template):
                continue
            if _OF_DEVICE.search(match["before"]) is None:
                continue
            given = ", ".join(arguments.get(words[-1], kernel_types[0]) for words in template)
            if len(cxx_declarations.split(WORD.findall(match["parameters"]))) in counts:
                found[f"{match['name']}<{given}>" if template else match["name"]] = None
    return list(found)


def _argument_count(text: str) -> int:
    """Count the arguments of a call whose bracket is open."""
    words: list[str] = []
    depth = 1
    for word in WORD.finditer(text):
        depth += (word[0] == "(") - (word[0] == ")")
        if depth == 0:
            break
        words.append(word[0])
    return len(cxx_declarations.split(words))


def of_kernel(source: Path, build: BuildOptions, kernel: str) -> tuple[TypeLayout, ...]:
    """Ask the compiler for the types of a kernel's parameters, of pointers what they point to; () where it fails.

    Args:
        source: the file.
        build: the options to compile with.
        kernel: its name, with template arguments.

    Raises:
        Interrupted: the user asked to stop.
    """
    asked = build.applied_to(Source(str(source.absolute()), kernels=(kernel,)))
    try:
        program = compilation.compile_source(programs.with_debug_types(asked))
    except Interrupted:
        raise
    except GpuregressError:
        return ()
    return tuple(one.pointee or one for one in program.types.get(kernel, ()))


def _compiles(source: Source) -> bool:
    try:
        compilation.compile_source(source)
    except Interrupted:
        raise
    except GpuregressError:
        return False
    return True


def _asked(source: Source, types: Mapping[str, Sequence[DataMember]]) -> dict[str, TypeLayout]:
    """Ask for all types at once; where that fails, without those that the errors name, or for halves of them.

    A type that is refused alone is asked for once more, without its members.
    """
    if not types:
        return {}
    try:
        program = compilation.compile_source(replace(source, harness=layouts.question(types)))
        return layouts.answer(storage.read_bytes(Path(program.ptx)).decode(errors="replace"), types)
    except Interrupted:
        raise
    except GpuregressError as error:
        log = error.log if isinstance(error, CompileError) else ""  # the message has the first errors alone
        named = (*_ASKED_TYPE.findall(f"{error}\n{log}"), *_UNDEFINED.findall(log))
        refused = {name for name in named if name in types}
    names = list(types)
    if not refused and not _compiles(source):
        return {}  # whatever is asked
    if len(names) == 1:
        return _asked(source, {names[0]: ()}) if types[names[0]] else {}
    if refused and len(refused) < len(names):
        parts = [name for name in names if name not in refused], [name for name in names if name in refused]
    else:
        parts = names[: len(names) // 2], names[len(names) // 2 :]
    known: dict[str, TypeLayout] = {}
    for part in parts:
        asked = {name: types[name] for name in part}
        if set(part) == refused:
            asked = {name: () for name in part if types[name]}
        known |= _asked(source, asked)
    return known
