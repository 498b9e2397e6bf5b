"""Check of a case's arguments against the signatures of its compiled kernels."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import dtypes
from gpuregress.foundation.document import reader, units
from gpuregress.foundation.document.reader import Document, Key
from gpuregress.foundation.dtypes import ElementType
from gpuregress.foundation.errors import JobError, JobErrors
from gpuregress.foundation.records import (
    TENSOR_MAP_BYTES,
    Argument,
    Buffer,
    Case,
    Entry,
    Launch,
    Parameter,
    Program,
    Source,
    TypeLayout,
)
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import Record
from gpuregress.jobs.plan import compiled_launches, named_members, record_layouts, warp_arguments
from gpuregress.jobs.spec.resolve.launches import first_of_entries
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


_MOST_KNOWN = 32
_known_texts: dict[str, tuple[str, ...]] = {}
"""Digest of a planned source → its texts and those of its headers."""


def check_programs(case: Case, programs: Sequence[Program]) -> tuple[JobError, ...]:
    """Compare a case's arguments with its kernels' signatures.

    Args:
        case: with its launches.
        programs: its compiled sources.

    Returns:
        An error for each argument that is wrong, with the job's line and the kernel as its source declares it.
    """
    errors: dict[Key, str] = {}
    errors |= warp_arguments.contradictions(case.launches, programs, case.buffers, ("launches",))
    if errors:
        return _errors(case, errors)
    case = compiled_launches.completed(case, programs)
    for index, (source, program) in enumerate(zip(case.sources, programs, strict=True)):
        launches = [launch for launch in case.launches if launch.source == index]
        errors |= _contradictions(case, launches, program, source, ("launches",))
        errors |= _variable_problems(case, index, program)
    if case.function is not None:
        errors |= record_layouts.contradictions(case, programs[0])
    errors |= _memory_problem(case, programs)
    return _errors(case, errors)


def unset_constants(case: Case, programs: Sequence[Program]) -> tuple[str, ...]:
    """Warn of `__constant__` variables that the case's kernels read and no buffer fills.

    Args:
        case: with its launches.
        programs: its compiled sources.
    """
    warnings: list[str] = []
    for index, program in enumerate(programs):
        if program.ptx:
            warnings += _unset_constants_of(case, index, program)
    return tuple(warnings)


def _unset_constants_of(case: Case, source: int, program: Program) -> Iterator[str]:
    """Write a line for each pair of a kernel and a variable that it reads unset."""
    filled = {program.symbols.get(name, name) for name in _filled_symbols(case, source).values()}
    names = {mangled: name for name, mangled in program.symbols.items()}
    unset = _unset_constants(program.ptx)
    for kernel in dict.fromkeys(launch.kernel for launch in case.launches if launch.source == source):
        if kernel not in program.entries:
            continue
        for variable in unset.get(program.entries[kernel].mangled, ()):
            if variable not in filled:
                name = names.get(variable, variable)
                yield f"{case.job}: no buffer fills the __constant__ variable {name}, which {kernel} reads: it is zero"


def _filled_symbols(case: Case, source: int) -> dict[str, str]:
    """Return the buffers that fill variables of a source: buffer → variable."""
    symbols: dict[str, str] = {}
    for buffer in case.buffers.values():
        if buffer.symbol and buffer.symbol_source == source:
            symbols[buffer.name] = buffer.symbol
    return symbols


def check_reference(case: Case, buffer: str, program: Program) -> tuple[JobError, ...]:
    """Compare the arguments of a reference with its kernels' signatures.

    Args:
        case: with its references.
        buffer: whose reference it is.
        program: the reference's compiled source.
    """
    section = ("reference", buffer, "launches")
    errors = warp_arguments.contradictions(case.reference_kernels[buffer].launches, [program], case.buffers, section)
    if errors:
        return _errors(case, errors)
    case = compiled_launches.completed(case, (), {buffer: program})
    kernel = case.reference_kernels[buffer]
    return _errors(case, _contradictions(case, kernel.launches, program, kernel.source, section))


def unknown_names(case: Case, messages: Mapping[str, str], source: str = "") -> tuple[JobError, ...]:
    """Locate the kernels and variables that a source does not have.

    Args:
        case: one of whose sources, or of its references', does not have them.
        messages: name → what is wrong with it.
        source: the path of the source; "": any.
    """
    errors: dict[Key, str] = {}
    paths = [case_source.path for case_source in case.sources]
    for launch in case.launches:
        if launch.kernel in messages and source in ("", paths[launch.source]):
            key: Key = ("launches", launch.origin, "kernel")
            if case.function is not None:
                key = ("function",)
            errors[key] = messages[launch.kernel]
    for name, reference in case.reference_kernels.items():
        if source not in ("", reference.source.path):
            continue
        for launch in reference.launches:
            if launch.kernel in messages:
                errors["reference", name, "launches", launch.origin, "kernel"] = messages[launch.kernel]
    for name, buffer in case.buffers.items():
        if buffer.symbol is None or buffer.symbol not in messages:
            continue
        if source in ("", paths[buffer.symbol_source]) or source not in paths:
            errors["buffers", name, "symbol"] = messages[buffer.symbol]
    return _errors(case, errors)


def _contradictions(
    case: Case, launches: Sequence[Launch], program: Program, source: Source, section: tuple[str, ...]
) -> dict[Key, str]:
    errors: dict[Key, str] = {}
    for origin, launch in first_of_entries(launches).items():
        entry = program.entries.get(launch.kernel)
        if entry is None:
            kernels = ", ".join(program.entries) or "none"
            errors[*section, origin, "kernel"] = f"the program has no kernel {launch.kernel!r}; it has {kernels}"
            continue
        problems = _launch_problems(case, launch, program, source)
        for position, message in problems.items():
            key: Key = (*section, origin, "args")
            if position is not None:
                key = (*key, position)
            errors[key] = f"{message}; the kernel is {shown(source, launch.kernel, entry)}"
    return errors


def _memory_problem(case: Case, programs: Sequence[Program]) -> dict[Key, str]:
    """Compare the memory of variables and buffers with the case's limit."""
    variables = sum(_variable_bytes(program.ptx) for program in programs if program.ptx)
    buffers = sum(buffer.size for buffer in case.buffers.values() if buffer.symbol is None)
    limit = case.limits.memory or default_memory()
    if not variables or variables + buffers <= limit:
        return {}
    sizes = f"its variables take {units.size_text(variables)}, the buffers {units.size_text(buffers)}"
    return {("source",): f"{sizes}: more than the limit of {units.size_text(limit)} (limits: {{memory: …}})"}


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


def _launch_problems(case: Case, launch: Launch, program: Program, source: Source) -> dict[int | None, str]:
    """Compare one launch with its kernel.

    Sizes and kinds are compared first, then textures, then types; only what the first comparison to find something
    found is returned.

    Returns:
        Position of an argument, None for the number of them → what is wrong.
    """
    parameters = program.entries[launch.kernel].parameters
    if len(launch.args) != len(parameters):
        return {None: f"{launch.kernel} takes {plural(len(parameters), 'argument')}, not {len(launch.args)}"}
    # A cubin tells the sizes of parameters, but not their kinds.
    compare = _size_problem if program.cubin and not program.ptx else _problem
    problems: dict[int | None, str] = {}
    types = program.types.get(launch.kernel, ())
    for position, (argument, parameter) in enumerate(zip(launch.args, parameters, strict=True)):
        type_ = types[position] if len(types) == len(parameters) else None
        problem = _names_problem(argument, parameter, type_) or compare(argument, parameter)
        if problem is not None:
            problems[position] = problem
    return problems or _texture_problems(case, launch, parameters) or _type_problems(case, launch, program, source)


def _names_problem(argument: Argument, parameter: Parameter, type_: TypeLayout | None) -> str | None:
    """Describe members by name that could not be placed in the kernel's parameter."""
    if not argument.names:
        return None
    if type_ is None:
        return f"the compiler does not report the members of {_named(parameter)}: list them in order, {{struct: [...]}}"
    if type_.kind != "class":
        return f"a struct is given and {_named(parameter)} is {_parameter_text(parameter)}"
    try:
        named_members.placed(argument, type_)
    except ValueError as error:
        return str(error)
    return None


def _texture_problems(case: Case, launch: Launch, parameters: Sequence[Parameter]) -> dict[int | None, str]:
    """Find textures and surfaces where the kernel takes a pointer."""
    problems: dict[int | None, str] = {}
    for position, (argument, parameter) in enumerate(zip(launch.args, parameters, strict=True)):
        if argument.kind != "buffer" or parameter.kind != "pointer" or argument.buffer not in case.buffers:
            continue
        texture = case.buffers[argument.buffer].texture
        if texture is not None:
            what = "surface" if texture.surface else "texture"
            problems[position] = f"the buffer {argument.buffer} is a {what} object and {_named(parameter)} is a pointer"
    return problems


def _named(parameter: Parameter) -> str:
    return f"parameter {parameter.name!r}" if parameter.name else "the parameter"


def type_sources(case: Case) -> dict[int, Source]:
    """Return the sources whose types only the compiler knows, to be compiled with debug information.

    Args:
        case: with its launches.

    Returns:
        The position among the case's sources, then those of its references → the source.
    """
    launches = list({id(launch): launch for launch in case.launches}.values())
    needed: dict[int, Source] = {}
    for index, source in enumerate(case.sources):
        needs_types = source.harness and _is_of_structures(case)
        if not needs_types and _texts(source):
            own_launches = [launch for launch in launches if launch.source == index]
            needs_types = _launches_need_types(case, source, own_launches) or _variables_need_types(case, index)
        if needs_types:
            needed[index] = programs.with_debug_types(source)
    for index, reference in enumerate(case.reference_kernels.values(), start=len(case.sources)):
        source = reference.source
        if _texts(source) and _launches_need_types(case, source, reference.launches):
            needed[index] = programs.with_debug_types(source)
    return needed


def _is_of_structures(case: Case) -> bool:
    """Tell whether the function under test may take or return a structure."""
    call = case.function
    if call is None:
        return False
    types = [argument.type for argument in call.arguments if argument.given == "buffer"]
    if call.result:
        types.append(call.returns)
    return any(type_ and cxx_types.dtype_of_type(type_.rstrip("*& ")) is None for type_ in types)


def _launches_need_types(case: Case, source: Source, launches: Sequence[Launch]) -> bool:
    """Tell whether an argument is of a type that the source's words do not tell."""
    for launch in {(launch.kernel, launch.args): launch for launch in launches}.values():
        written = _written(source, launch.kernel, len(launch.args))
        for position, argument in enumerate(launch.args):
            if argument.kind == "struct" or (argument.kind == "scalar" and record_layouts.is_record(argument.dtype)):
                return True
            if not _is_compared(case, argument):
                continue
            if not written or (written[position].pointee is None and written[position].is_structure):
                return True
    return False


def _variables_need_types(case: Case, source: int) -> bool:
    """Tell whether a variable that a buffer fills is of a type that the source's words do not tell."""
    return any(buffer.dtype != _ANY_BITS and dtype is None for buffer, _, dtype in _filled_variables(case, source))


def _filled_variables(case: Case, source: int) -> list[tuple[Buffer, str, str | None]]:
    """List the buffers that fill variables of a source, with the C++ type of each and its dtype, as far as written."""
    symbols = _filled_symbols(case, source)
    if not symbols:
        return []
    texts = _texts(case.sources[source])
    aliases = cxx_aliases.aliases(texts, case.sources[source].defines)
    types = cxx_declarations.variable_types("\n".join(texts))
    variables: list[tuple[Buffer, str, str | None]] = []
    for buffer_name, symbol in symbols.items():
        type_ = types.get(symbol.rpartition("::")[2], "")
        variables.append((case.buffers[buffer_name], type_, cxx_aliases.dtype_of(type_, aliases)))
    return variables


def _is_compared(case: Case, argument: Argument) -> bool:
    """Tell whether an argument is a buffer whose elements the kernel must take for what they are."""
    if argument.kind != "buffer" or argument.untyped or argument.as_map:
        return False
    buffer = case.buffers.get(argument.buffer)
    return buffer is not None and buffer.texture is None


def _type_problems(case: Case, launch: Launch, program: Program, source: Source) -> dict[int | None, str]:
    """Find arguments that are not what the kernel takes, as the source declares it or as it is compiled."""
    types = program.types.get(launch.kernel, ())
    written = _written(source, launch.kernel, len(launch.args))
    problems: dict[int | None, str] = {}
    for position, argument in enumerate(launch.args):
        problem = None
        if written and _is_compared(case, argument):
            problem = _pointee_problem(case, argument, written[position])
        if problem is None and len(types) == len(launch.args):
            name = program.entries[launch.kernel].parameters[position].name
            parameter = f"parameter {name!r}" if name else f"parameter {position + 1}"
            problem = _compiled_problem(case, argument, types[position], parameter)
        if problem is not None:
            problems[position] = problem
    return problems


def _compiled_problem(case: Case, argument: Argument, type_: TypeLayout, parameter: str) -> str | None:
    """Describe an argument that is not of the type that the compiler gave the parameter."""
    if argument.kind == "buffer" and type_.pointee is not None:
        return _element_problem(case, argument, type_.pointee, f"{parameter} points to")
    if argument.kind not in ("struct", "scalar"):
        return None
    problem = record_layouts.argument_problem(argument, type_)
    if problem is not None:
        return f"{parameter} is {record_layouts.shown(type_)}: {problem}"
    for member, path, pointee in record_layouts.pointers(argument, type_):
        problem = _element_problem(case, member, pointee, f"{path} of {parameter} points to")
        if problem is not None:
            return problem
    return None


def _element_problem(case: Case, argument: Argument, type_: TypeLayout, who: str) -> str | None:
    """Describe a buffer whose elements are not of the type that a pointer points to."""
    if not _is_compared(case, argument):
        return None
    name = argument.buffer
    buffer_dtype = case.buffers[name].dtype
    start = f"the buffer {name} holds {buffer_dtype} and {who}"
    pass_on = f"write {{pointer: {name}}} to pass its memory as it is"
    dtype = cxx_types.dtype_of_type(type_.name) or layouts.scalar_dtype(type_.kind, type_.size)
    if dtype is not None and not record_layouts.is_record(buffer_dtype):
        if _fits(dtypes.parse(buffer_dtype), dtypes.parse(dtype)):
            return None
        return f"{start} {dtype}: give the buffer `dtype: {dtype}`, or {pass_on}"
    problem = record_layouts.buffer_problem(buffer_dtype, type_)
    if problem is None:
        return None
    return f"{start} {record_layouts.shown(type_)}: {problem}; {_remedy(type_)}{pass_on}"


def _remedy(type_: TypeLayout) -> str:
    dtype = layouts.dtype(type_, pads=True)
    if dtype is None:
        return ""
    yaml = dtype.replace(":", ": ").replace(",", ", ")
    return f"give the buffer `dtype: {yaml}`, or "


def _variable_problems(case: Case, source: int, program: Program) -> dict[Key, str]:
    """Find buffers whose elements are not those of the variables that they fill, as declared or as compiled."""
    problems: dict[Key, str] = {}
    for buffer, type_, dtype in _filled_variables(case, source):
        if buffer.dtype == _ANY_BITS:
            continue
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


def _texts(source: Source) -> tuple[str, ...]:
    """Return the texts of a C++ source that the user wrote, and of its headers; none where they cannot be read."""
    if Path(source.path).suffix not in include_scanner.SUFFIXES or source.harness:
        return ()
    if source.digest in _known_texts:  # cases of a job have the same source
        return _known_texts[source.digest]
    try:
        texts = tuple(content.decode(errors="replace") for content in programs.inputs(source).contents)
    except OSError:
        return ()
    if source.digest:
        if len(_known_texts) == _MOST_KNOWN:
            _known_texts.clear()
        _known_texts[source.digest] = texts
    return texts


@functools.lru_cache(maxsize=32)
def _declared(texts: tuple[str, ...]) -> tuple[Declaration, ...]:
    declared: list[Declaration] = []
    for text in texts:
        declared += cxx_declarations.declarations(text)
    return tuple(declared)


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
    """Return the parameters of a kernel as declared; none where no declaration, or several, may be its."""
    texts = _texts(source)
    return _parameters_in(texts, tuple(source.defines.items()), kernel, count) if texts else ()


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
    buffer = case.buffers[argument.buffer]
    pointee = written.pointee
    if pointee is None or _fits(dtypes.parse(buffer.dtype), dtypes.parse(pointee)):
        return None
    parameter = written.parameter
    alias = ""
    if cxx_types.dtype_of_type(parameter.type.rstrip("* ")) != pointee:
        alias = f" ({parameter.type})"
    return (
        f"the buffer {buffer.name} holds {buffer.dtype} and parameter {parameter.name!r} points to {pointee}{alias}: "
        f"give the buffer `dtype: {pointee}`, or write {{pointer: {buffer.name}}} to pass its memory as it is"
    )


def _fits(element: ElementType, pointee: ElementType) -> bool:
    """Tell whether a kernel may take elements for those of a buffer: numbers of one kind and size, or bytes."""
    scalar, other = element.only_scalar, pointee.only_scalar
    if scalar is None or other is None:
        return True  # a record, which the compiled types are compared with
    if scalar.holds(other) or scalar.size == 1 or (other.size == 1 and other.name != "bool"):
        return True
    # The bits of a half are often kept as uint16.
    return scalar.size == other.size == 2 and scalar.is_float != other.is_float


def _size_problem(argument: Argument, parameter: Parameter) -> str | None:
    size, _ = record_layouts.size_and_alignment(argument)
    if size == parameter.size:
        return None
    what: str = argument.kind
    if argument.kind == "buffer":
        what = f"the buffer {argument.buffer}"
    elif argument.kind == "scalar":
        what = argument.dtype
    return f"{what} has {plural(size, 'byte')} and the parameter has {plural(parameter.size, 'byte')}"


def _problem(argument: Argument, parameter: Parameter) -> str | None:
    """Describe an argument whose size or kind is not the parameter's."""
    wanted = f"{_named(parameter)} is {_parameter_text(parameter)}"
    if argument.as_map:
        return _map_problem(argument, parameter, wanted)
    if argument.kind in ("buffer", "null"):
        if parameter.size == 8 and parameter.kind in ("pointer", "word"):
            return None
        what = f"the buffer {argument.buffer}" if argument.buffer else "null"
        return f"{what} is a pointer and {wanted}{_scalar_hint(parameter)}"
    size, _ = record_layouts.size_and_alignment(argument)
    if argument.kind == "struct":
        is_single_member = len(argument.fields) == 1 and size == parameter.size
        if parameter.kind != "struct" and not is_single_member:
            return f"a struct is given and {wanted}"
        return None if size == parameter.size else f"the struct has {size} bytes and {wanted}"
    if parameter.kind == "pointer":
        return f"{argument.dtype} is a number and {wanted}: name a buffer"
    if size != parameter.size:
        return f"{argument.dtype} has {plural(size, 'byte')} and {wanted}"
    return _kind_problem(argument, parameter, wanted)


def _map_problem(argument: Argument, parameter: Parameter, wanted: str) -> str | None:
    is_address = parameter.kind in ("pointer", "word")
    buffer_name = argument.buffer
    if argument.in_memory:
        if is_address:
            return None
        return f"the address of the tensor map of {buffer_name} is a pointer and {wanted}"
    if parameter.kind == "struct" and parameter.size == TENSOR_MAP_BYTES:
        return None
    hint = ""
    if is_address:
        hint = (
            f": write {{pointer: {buffer_name}}}, or {{pointer: {{tensormap: {buffer_name}}}}} for a const CUtensorMap*"
        )
    return f"the buffer {buffer_name} is a tensor map and {wanted}, not a const __grid_constant__ CUtensorMap{hint}"


def _kind_problem(argument: Argument, parameter: Parameter, wanted: str) -> str | None:
    element = dtypes.parse(argument.dtype)
    if len(element.parts) > 1:
        return None if parameter.kind in ("struct", "word") else f"{argument.dtype} is a vector and {wanted}"
    if parameter.kind == "struct":
        # __half and __nv_bfloat16 are structs of one number to the compiler.
        return None
    if parameter.kind == "float" and not element.is_float:
        return f"{argument.dtype} is an integer and {wanted}"
    is_half = element.size == 2
    if element.is_float and (parameter.kind == "word" or (parameter.kind == "integer" and not is_half)):
        return f"{argument.dtype} is a float and {wanted}"
    return None


def _parameter_text(parameter: Parameter) -> str:
    article = {"pointer": "a pointer", "integer": "an integer", "float": "a float", "struct": "a struct"}
    kind = article.get(parameter.kind, "a pointer or an integer")
    return f"{kind} of {plural(parameter.size, 'byte')}"


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
    parameters = ", ".join(f"{item.kind} of {plural(item.size, 'byte')}" for item in entry.parameters)
    return f"{kernel}({parameters})"
