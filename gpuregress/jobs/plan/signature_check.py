"""Check of a case's arguments against the signatures of its compiled kernels."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import dtypes
from gpuregress.foundation.document import reader, units
from gpuregress.foundation.document.reader import Document, Key
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import JobError, JobErrors
from gpuregress.foundation.records import (
    TENSOR_MAP_BYTES,
    Argument,
    Case,
    Entry,
    Launch,
    Parameter,
    Program,
    Source,
    TypeLayout,
)
from gpuregress.gpu.records import Record
from gpuregress.jobs.plan import compiled_launches, record_layouts
from gpuregress.store.project import default_memory
from gpuregress.toolchain import (
    cxx_aliases,
    cxx_declarations,
    cxx_types,
    include_scanner,
    layouts,
    programs,
    ptx_declarations,
)
from gpuregress.toolchain.cxx_declarations import CxxParameter, Declaration

_ANY_BITS = "uint32"
"""The dtype of a buffer with the bits of a variable of any type, as captured variables have it."""


def check_programs(case: Case, programs: Sequence[Program]) -> tuple[JobError, ...]:
    """Compare a case's arguments with its kernels' signatures.

    Args:
        case: with its launches.
        programs: its compiled sources.

    Returns:
        An error for each argument that is wrong, with the job's line and the kernel as its source declares it.
    """
    errors: dict[Key, str] = {}
    case = compiled_launches.completed(case, programs)
    for at, (source, program) in enumerate(zip(case.sources, programs, strict=True)):
        launches = [launch for launch in case.launches if launch.source == at]
        errors |= _contradictions(case, launches, program, source, ("launches",))
        errors |= _variable_problems(case, at, source, program)
    if case.function is not None:
        errors |= record_layouts.contradictions(case, programs[0])
    return _errors(case, errors | _memory(case, programs))


def unset_constants(case: Case, programs: Sequence[Program]) -> tuple[str, ...]:
    """Warn of `__constant__` variables that the case's kernels read and no buffer fills.

    Args:
        case: with its launches.
        programs: its compiled sources.
    """
    return tuple(text for at, program in enumerate(programs) for text in _unset_constants_of(case, at, program))


def _unset_constants_of(case: Case, source: int, program: Program) -> tuple[str, ...]:
    unset = _unset_constants(program.ptx) if program.ptx else {}
    symbols = [one.symbol for one in case.buffers.values() if one.symbol and one.symbol_source == source]
    filled = {program.symbols.get(symbol, symbol) for symbol in symbols}
    names = {mangled: name for name, mangled in program.symbols.items()}
    kernels = dict.fromkeys(launch.kernel for launch in case.launches if launch.source == source)
    return tuple(
        f"{case.job}: no buffer fills the __constant__ variable {names.get(one, one)}, which {kernel} reads: it is zero"
        for kernel in kernels
        if kernel in program.entries
        for one in unset.get(program.entries[kernel].mangled, ())
        if one not in filled
    )


def check_reference(case: Case, buffer: str, program: Program) -> tuple[JobError, ...]:
    """Compare the arguments of a reference with its kernels' signatures.

    Args:
        case: with its references.
        buffer: whose reference it is.
        program: the reference's compiled source.
    """
    case = compiled_launches.completed(case, (), {buffer: program})
    kernel = case.reference_kernels[buffer]
    section = ("reference", buffer, "launches")
    return _errors(case, _contradictions(case, kernel.launches, program, kernel.source, section))


def unknown_names(case: Case, messages: Mapping[str, str], source: str = "") -> tuple[JobError, ...]:
    """Locate the kernels and variables that a source does not have.

    Args:
        case: one of whose sources, or of its references', does not have them.
        messages: name → what is wrong with it.
        source: the path of the source; "": any.
    """
    errors: dict[Key, str] = {}
    paths = [one.path for one in case.sources]
    own = [launch for launch in case.launches if source in ("", paths[launch.source])]
    sections: list[tuple[tuple[str, ...], Sequence[Launch]]] = [(("launches",), own)]
    sections += [
        (("reference", name, "launches"), kernel.launches)
        for name, kernel in case.reference_kernels.items()
        if source in ("", kernel.source.path)
    ]
    for section, launches in sections:
        of_function = case.function is not None and section == ("launches",)
        errors |= {
            ("function",) if of_function else (*section, launch.origin, "kernel"): messages[launch.kernel]
            for launch in launches
            if launch.kernel in messages
        }
    errors |= {
        ("buffers", name, "symbol"): messages[buffer.symbol]
        for name, buffer in case.buffers.items()
        if buffer.symbol is not None
        and buffer.symbol in messages
        and (source in ("", paths[buffer.symbol_source]) or source not in paths)
    }
    return _errors(case, errors)


def _contradictions(
    case: Case, launches: Sequence[Launch], program: Program, source: Source, section: tuple[str, ...]
) -> dict[Key, str]:
    errors: dict[Key, str] = {}
    for origin, launch in {launch.origin: launch for launch in reversed(launches)}.items():
        entry = program.entries.get(launch.kernel)
        if entry is None:
            there = ", ".join(program.entries) or "none"
            errors[*section, origin, "kernel"] = f"the program has no kernel {launch.kernel!r}; it has {there}"
            continue
        sizes_only = bool(program.cubin) and not program.ptx
        problems = _launch_problems(launch, entry, sizes_only=sizes_only)
        problems = problems or _texture_problems(case, launch, entry) or _type_problems(case, launch, program, source)
        for position, message in problems:
            key = (*section, origin, "args", *(() if position is None else (position,)))
            errors[key] = f"{message}; the kernel is {shown(source, launch.kernel, entry)}"
    return errors


def _memory(case: Case, programs: Sequence[Program]) -> dict[Key, str]:
    """Compare the memory of variables and buffers with the case's limit."""
    variables = sum(_variable_bytes(program.ptx) for program in programs if program.ptx)
    buffers = sum(buffer.size for buffer in case.buffers.values() if buffer.symbol is None)
    limit = case.limits.memory or default_memory()
    if not variables or variables + buffers <= limit:
        return {}
    taken = f"its variables take {units.size_text(variables)}, the buffers {units.size_text(buffers)}"
    return {("source",): f"{taken}: more than the limit of {units.size_text(limit)} (limits: {{memory: …}})"}


@functools.lru_cache(maxsize=256)
def _variable_bytes(ptx: str) -> int:
    return ptx_declarations.variable_bytes(_text(ptx))


@functools.lru_cache(maxsize=256)
def _unset_constants(ptx: str) -> Mapping[str, tuple[str, ...]]:
    return ptx_declarations.unset_constants(_text(ptx))


def _text(ptx: str) -> str:
    try:
        return Path(ptx).read_text(encoding="utf-8")
    except OSError:  # the device says so when it loads it
        return ""


def _errors(case: Case, messages: Mapping[Key, str]) -> tuple[JobError, ...]:
    if not messages:
        return ()
    document = _document(Path(case.path))
    return tuple(document.error(key, message) for key, message in sorted(messages.items(), key=str))


def _document(path: Path) -> Document:
    try:
        return reader.read(path)
    except JobErrors:  # it was readable when it was planned: without lines, then
        return Document(path, {}, {})


def _launch_problems(launch: Launch, entry: Entry, *, sizes_only: bool) -> list[tuple[int | None, str]]:
    """Compare one launch with its kernel; a cubin tells the sizes of parameters, but not their kinds."""
    if len(launch.args) != len(entry.parameters):
        return [(None, f"{launch.kernel} takes {_count(len(entry.parameters), 'argument')}, not {len(launch.args)}")]
    pairs = zip(launch.args, entry.parameters, strict=True)
    judge = _size_problem if sizes_only else _problem
    judged = ((position, judge(argument, parameter)) for position, (argument, parameter) in enumerate(pairs))
    return [(position, message) for position, message in judged if message]


def _texture_problems(case: Case, launch: Launch, entry: Entry) -> list[tuple[int | None, str]]:
    """Textures and surfaces where the kernel takes a pointer."""
    problems: list[tuple[int | None, str]] = []
    for position, (argument, parameter) in enumerate(zip(launch.args, entry.parameters, strict=True)):
        buffer = case.buffers.get(argument.buffer) if argument.kind == "buffer" else None
        if buffer is not None and buffer.texture is not None and parameter.kind == "pointer":
            what = "surface" if buffer.texture.surface else "texture"
            name = f"parameter {parameter.name!r}" if parameter.name else "the parameter"
            problems.append((position, f"the buffer {buffer.name} is a {what} object and {name} is a pointer"))
    return problems


def type_sources(case: Case) -> dict[int, Source]:
    """Return the sources whose types only the compiler knows, to be compiled with debug information.

    Args:
        case: with its launches.

    Returns:
        The position among the case's sources, then those of its references → the source.
    """
    launches = list({id(launch): launch for launch in case.launches}.values())
    given: list[tuple[Source, list[Launch], int | None]]
    given = [(source, [one for one in launches if one.source == at], at) for at, source in enumerate(case.sources)]
    given += [(one.source, [*one.launches], None) for one in case.reference_kernels.values()]
    return {
        number: programs.with_debug_types(source)
        for number, (source, own, at) in enumerate(given)
        if (_texts(source) and _needs_types(case, source, own, at)) or (source.harness and _is_of_structures(case))
    }


def _is_of_structures(case: Case) -> bool:
    """Tell whether the function under test may take or return a structure."""
    call = case.function
    if call is None:
        return False
    types = [one.type for one in call.arguments if one.given == "buffer"] + [call.returns if call.result else ""]
    return any(type_ and cxx_types.dtype_of_type(type_.rstrip("*& ")) is None for type_ in types)


def _needs_types(case: Case, source: Source, launches: Sequence[Launch], at: int | None) -> bool:
    """Tell whether an argument or a variable is of a type that the source's words do not tell."""
    if any(_is_structure(argument) for launch in launches for argument in launch.args):
        return True
    for launch in {(launch.kernel, launch.args): launch for launch in launches}.values():
        known = _written(source, launch.kernel, len(launch.args))
        for number, argument in enumerate(launch.args):
            if not _is_compared(case, argument) or (known and known[number].pointee is not None):
                continue
            if not known or known[number].is_structure:
                return True
    filled = [one for one in case.buffers.values() if one.symbol and one.symbol_source == at]
    aliases = cxx_aliases.aliases(_texts(source), source.defines) if filled else {}
    types = cxx_declarations.variable_types("\n".join(_texts(source))) if filled else {}
    return any(
        one.dtype != _ANY_BITS and cxx_aliases.dtype_of(types.get(_last_name(one.symbol), ""), aliases) is None
        for one in filled
    )


def _is_structure(argument: Argument) -> bool:
    return argument.kind == "struct" or (argument.kind == "scalar" and record_layouts.is_record(argument.dtype))


def _is_compared(case: Case, argument: Argument) -> bool:
    """Tell whether an argument is a buffer whose elements the kernel must take for what they are."""
    buffer = case.buffers.get(argument.buffer) if argument.kind == "buffer" else None
    return buffer is not None and not argument.untyped and not argument.as_map and buffer.texture is None


def _type_problems(case: Case, launch: Launch, program: Program, source: Source) -> list[tuple[int | None, str]]:
    """Arguments that are not what the kernel takes, as the source declares it or as it is compiled."""
    types = program.types.get(launch.kernel, ())
    written = _written(source, launch.kernel, len(launch.args))
    found: list[tuple[int | None, str]] = []
    for position, argument in enumerate(launch.args):
        problem = None
        if written and _is_compared(case, argument):
            problem = _pointee_problem(case, argument, written[position])
        if problem is None and len(types) == len(launch.args):
            name = program.entries[launch.kernel].parameters[position].name
            parameter = f"parameter {name!r}" if name else f"parameter {position + 1}"
            problem = _compiled_problem(case, argument, types[position], parameter)
        if problem is not None:
            found.append((position, problem))
    return found


def _compiled_problem(case: Case, argument: Argument, type_: TypeLayout, parameter: str) -> str | None:
    """Describe an argument that is not of the type that the compiler gave the parameter."""
    if argument.kind == "buffer" and type_.pointee is not None:
        return _element_problem(case, argument, type_.pointee, f"{parameter} points to")
    if argument.kind not in ("struct", "scalar"):
        return None
    problem = record_layouts.argument_problem(argument, type_)
    if problem is not None:
        return f"{parameter} is {record_layouts.shown(type_)}: {problem}"
    members = record_layouts.pointers(argument, type_)
    judged = (
        _element_problem(case, inner, pointee, f"{path} of {parameter} points to") for inner, path, pointee in members
    )
    return next((problem for problem in judged if problem is not None), None)


def _element_problem(case: Case, argument: Argument, type_: TypeLayout, who: str) -> str | None:
    """Describe a buffer whose elements are not of the type that a pointer points to."""
    if not _is_compared(case, argument):
        return None
    name, own = argument.buffer, case.buffers[argument.buffer].dtype
    pass_on = f"write {{pointer: {name}}} to pass its memory as it is"
    dtype = cxx_types.dtype_of_type(type_.name) or layouts.scalar_dtype(type_.kind, type_.size)
    if dtype is not None and not record_layouts.is_record(own):
        if _fits(dtypes.parse(own), dtypes.parse(dtype)):
            return None
        return f"the buffer {name} holds {own} and {who} {dtype}: give the buffer `dtype: {dtype}`, or {pass_on}"
    problem = record_layouts.buffer_problem(own, type_)
    if problem is None:
        return None
    return (
        f"the buffer {name} holds {own} and {who} {record_layouts.shown(type_)}: {problem}; {_remedy(type_)}{pass_on}"
    )


def _remedy(type_: TypeLayout) -> str:
    dtype = record_layouts.remedy(type_)
    return f"give the buffer `dtype: {_yaml(dtype)}`, or " if dtype is not None else ""


def _yaml(dtype: str) -> str:
    return dtype.replace(":", ": ").replace(",", ", ")


def _variable_problems(case: Case, at: int, source: Source, program: Program) -> dict[Key, str]:
    """Buffers whose elements are not those of the variables that they fill, as declared or as compiled."""
    filled = [one for one in case.buffers.values() if one.symbol and one.symbol_source == at]
    texts = _texts(source) if filled else ()
    written = cxx_declarations.variable_types("\n".join(texts))
    aliases = cxx_aliases.aliases(texts, source.defines)
    problems: dict[Key, str] = {}
    for buffer in filled:
        if buffer.dtype == _ANY_BITS:
            continue
        type_ = written.get(_last_name(buffer.symbol), "")
        dtype = cxx_aliases.dtype_of(type_, aliases) if type_ else None
        start = f"the buffer {buffer.name} holds {buffer.dtype} and the variable {buffer.symbol} is"
        key = ("buffers", buffer.name, "dtype")
        if dtype is not None:
            if not _fits(dtypes.parse(buffer.dtype), dtypes.parse(dtype)):
                problems[key] = f"{start} {type_}: give the buffer `dtype: {dtype}`, or `uint32` to fill its bits"
            continue
        for compiled in program.types.get(buffer.symbol or "", ()):
            problem = record_layouts.buffer_problem(buffer.dtype, compiled)
            if problem is not None:
                shown_type = record_layouts.shown(compiled)
                problems[key] = f"{start} {shown_type}: {problem}; {_remedy(compiled)}`dtype: uint32` to fill its bits"
    return problems


def _last_name(symbol: str | None) -> str:
    return (symbol or "").rpartition("::")[2]


def _has_texts(source: Source) -> bool:
    return Path(source.path).suffix in include_scanner.SUFFIXES and not source.harness


def _texts(source: Source) -> tuple[str, ...]:
    """The texts of a C++ source that the user wrote, and of its headers; none where they cannot be read."""
    if not _has_texts(source):
        return ()
    try:
        return tuple(content.decode(errors="replace") for content in programs.inputs(source).contents)
    except OSError:
        return ()


@functools.lru_cache(maxsize=32)
def _declared(texts: tuple[str, ...]) -> tuple[Declaration, ...]:
    return tuple(one for text in texts for one in cxx_declarations.declarations(text))


class _WrittenParameter(Record):
    """A parameter as the source's words tell it: the dtype that it points to, None where they do not tell."""

    parameter: CxxParameter
    pointee: str | None

    @property
    def is_structure(self) -> bool:
        """Whether it may point to a structure."""
        type_ = self.parameter.type.replace(" ", "")
        return self.parameter.pointer and not type_.endswith("**") and "void" not in re.findall(r"\w+", type_)


def _written(source: Source, kernel: str, count: int) -> tuple[_WrittenParameter, ...]:
    """The parameters of a kernel as the source declares them; none where no declaration, or several, may be its."""
    texts = _texts(source)
    defines = tuple(source.defines.items())
    return _parameters_in(texts, defines, kernel, count) if texts else ()


@functools.lru_cache(maxsize=256)
def _parameters_in(
    texts: tuple[str, ...], defines: tuple[tuple[str, str], ...], kernel: str, count: int
) -> tuple[_WrittenParameter, ...]:
    only = cxx_declarations.find(_declared(texts), kernel, count)
    if only is None:
        return ()
    pointees = cxx_aliases.pointees(kernel, only, cxx_aliases.aliases(texts, dict(defines)))
    return tuple(map(_WrittenParameter, only.parameters, pointees))


def _pointee_problem(case: Case, argument: Argument, written: _WrittenParameter) -> str | None:
    buffer, pointee, parameter = case.buffers[argument.buffer], written.pointee, written.parameter
    if pointee is None or _fits(dtypes.parse(buffer.dtype), dtypes.parse(pointee)):
        return None
    alias = "" if cxx_types.dtype_of_type(parameter.type.rstrip("* ")) == pointee else f" ({parameter.type})"
    return (
        f"the buffer {buffer.name} holds {buffer.dtype} and parameter {parameter.name!r} points to {pointee}{alias}: "
        f"give the buffer `dtype: {pointee}`, or write {{pointer: {buffer.name}}} to pass its memory as it is"
    )


def _fits(own: ElementType, pointee: ElementType) -> bool:
    """Tell whether a kernel may take elements for those of a buffer: numbers of one kind and size, or bytes."""
    scalars = [{part.scalar for part in element.parts} for element in (own, pointee)]
    if any(len(one) != 1 for one in scalars):
        return True  # a record, which the compiled types are compared with
    (one,), (other,) = scalars
    if one.holds(other) or one.size == 1 or (other.size == 1 and other.name != "bool"):
        return True
    return one.size == other.size == 2 and one.is_float != other.is_float  # bits of a half are often kept as uint16


def _size_problem(argument: Argument, parameter: Parameter) -> str | None:
    size, _ = record_layouts.size_and_alignment(argument)
    what = {"buffer": f"the buffer {argument.buffer}", "scalar": argument.dtype}.get(argument.kind, argument.kind)
    return (
        None if size == parameter.size else f"{what} has {_bytes(size)} and the parameter has {_bytes(parameter.size)}"
    )


def _problem(argument: Argument, parameter: Parameter) -> str | None:
    name = f"parameter {parameter.name!r}" if parameter.name else "the parameter"
    wanted = f"{name} is {_parameter_text(parameter)}"
    if argument.as_map:
        return _map_problem(argument, parameter, name)
    if argument.kind in ("buffer", "null"):
        if parameter.size != 8 or parameter.kind not in ("pointer", "word"):
            what = f"the buffer {argument.buffer}" if argument.buffer else "null"
            return f"{what} is a pointer and {wanted}{_scalar_hint(parameter)}"
        return None
    size, _ = record_layouts.size_and_alignment(argument)
    if argument.kind == "struct":
        if parameter.kind != "struct" and not (len(argument.fields) == 1 and size == parameter.size):
            return f"a struct is given and {wanted}"
        return None if size == parameter.size else f"the struct has {size} bytes and {wanted}"
    if parameter.kind == "pointer":
        return f"{argument.dtype} is a number and {wanted}: name a buffer"
    if size != parameter.size:
        return f"{argument.dtype} has {_bytes(size)} and {wanted}"
    return _kind_problem(argument, parameter, wanted)


def _map_problem(argument: Argument, parameter: Parameter, name: str) -> str | None:
    if argument.in_memory and parameter.kind in ("pointer", "word"):
        return None
    if argument.in_memory:
        what = f"the address of the tensor map of {argument.buffer}"
        return f"{what} is a pointer and {name} is {_parameter_text(parameter)}"
    if parameter.kind == "struct" and parameter.size == TENSOR_MAP_BYTES:
        return None
    own = argument.buffer
    pointers = f"{{pointer: {own}}}, or {{pointer: {{tensormap: {own}}}}} for a const CUtensorMap*"
    hint = f": write {pointers}" if parameter.kind in ("pointer", "word") else ""
    wanted = f"{name} is {_parameter_text(parameter)}, not a const __grid_constant__ CUtensorMap"
    return f"the buffer {argument.buffer} is a tensor map and {wanted}{hint}"


def _kind_problem(argument: Argument, parameter: Parameter, wanted: str) -> str | None:
    element = dtypes.parse(argument.dtype)
    if len(element.parts) > 1:
        return None if parameter.kind in ("struct", "word") else f"{argument.dtype} is a vector and {wanted}"
    if parameter.kind == "struct":
        # __half and __nv_bfloat16 are structs of one number to the compiler.
        return None
    if parameter.kind == "float" and not element.is_float:
        return f"{argument.dtype} is an integer and {wanted}"
    if parameter.kind == "integer" and element.is_float and element.size != 2:
        return f"{argument.dtype} is a float and {wanted}"
    if parameter.kind == "word" and element.is_float:
        return f"{argument.dtype} is a float and {wanted}"
    return None


def _parameter_text(parameter: Parameter) -> str:
    article = {"pointer": "a pointer", "integer": "an integer", "float": "a float", "struct": "a struct"}
    kind = article.get(parameter.kind, "a pointer or an integer")
    return f"{kind} of {_bytes(parameter.size)}"


def _bytes(count: int) -> str:
    return _count(count, "byte")


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _scalar_hint(parameter: Parameter) -> str:
    if parameter.kind == "integer":
        return f": write {{int{8 * parameter.size}: …}}"
    if parameter.kind == "float":
        return f": write {{float{8 * parameter.size}: …}}"
    return ""


def shown(source: Source, kernel: str, entry: Entry) -> str:
    """Quote a kernel's declaration: `saxpy(int n, float a, const float* x, float* y)`."""
    path = Path(source.path)
    if path.suffix in include_scanner.SUFFIXES:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            text = ""
        declared = cxx_declarations.find(cxx_declarations.declarations(text), kernel, len(entry.parameters))
        if declared is not None:
            parameters = ", ".join(f"{item.type} {item.name}".strip() for item in declared.parameters)
            return f"{declared}({parameters})"
    parameters = ", ".join(f"{item.kind} of {_bytes(item.size)}" for item in entry.parameters)
    return f"{kernel}({parameters})"
