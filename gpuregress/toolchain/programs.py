"""Compiled programs of sources, found in the cache or made."""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuregress.foundation import storage
from gpuregress.foundation.errors import CompileError, GpuregressError, UnknownNames
from gpuregress.foundation.records import (
    CompiledLaunch,
    Entry,
    Program,
    PythonKernel,
    Source,
    TypeLayout,
    from_json,
    to_json,
)
from gpuregress.foundation.wording import first_names
from gpuregress.gpu import architectures
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain import (
    cache,
    compiler_messages,
    cubin,
    cubin_linker,
    cxx_declarations,
    debug_types,
    include_scanner,
    nvrtc_options,
    ptx_declarations,
    source_keys,
)
from gpuregress.toolchain.cubin_linker import PINNED
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.functions import harness
from gpuregress.toolchain.headers.library_files import library_files
from gpuregress.toolchain.headers.virtual_headers import cuda_folders
from gpuregress.toolchain.include_scanner import SourceInputs
from gpuregress.toolchain.nvrtc_options import NvrtcResult
from gpuregress.toolchain.python_kernels import compiler as python_compiler
from gpuregress.toolchain.python_kernels import source_inputs
from gpuregress.toolchain.rounding_pin import pin

if TYPE_CHECKING:
    from gpuregress.toolchain import cubin

_TAKEN = (".ptx", ".cubin")
"""Suffixes of what is not compiled."""

_SHOWS_FOLDER = "shows the folder"
"""In the cache, in place of a program that depends on the folder of its files, which is part of that one's key."""

_FAILURE = "failure"
"""In the cache, in place of a program: why there is none."""

_SHARED = "program"
"""In the cache, of a source whichever its kernel: the key of a program that has all kernels."""

_SPLICE = re.compile(r"\\\r?\n")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ATTEMPTS = 3
_MOST_NAMED = 5
_PATH_MARK = "\x1a{}\x1a"

_kept: ContextVar[dict[str, Program | CompileError] | None] = ContextVar("kept_programs", default=None)
"""Key → what came of a source whose dependencies are not known; None: it is compiled for each run."""


class _Compiled(Record):
    """What a compiler returned: the program without its files, its PTX, and the compiler's warnings."""

    program: Program
    ptx: str
    warnings: str = ""


def compiler_version() -> str:
    """Return `nvrtc 13.5.37`, or `nvrtc 13.5 (not installed)`; loads nothing."""
    installed = source_keys.installed_nvrtc()
    return f"nvrtc {installed}" if installed else f"nvrtc {PINNED} (not installed)"


def inputs(source: Source) -> SourceInputs:
    """Return the files that decide the result of compiling a source.

    Raises:
        OSError: the source cannot be read.
    """
    path = Path(source.path)
    if source.files:
        files = tuple(map(Path, source.files))
        return SourceInputs(files, tuple(file.read_bytes() for file in files), "", "")
    if path.suffix in _TAKEN:
        return SourceInputs((path,), (path.read_bytes(),), "", "")
    if source.python is not None and source.python.language == "triton":
        return source_inputs.kernel_inputs(path, source.python.function)
    if path.suffix == ".py":
        return source_inputs.inputs(path)

    return nvrtc_options.inputs(source)


def unwritten_names(source: Source) -> dict[str, str]:
    """Explain the kernels and variables of a C++ source whose names its text does not hold: it need not be compiled.

    Names in namespaces, mangled names and names that a macro may put together are left to the compiler: a library's
    header, which is not among the inputs, may have them.
    """
    path = Path(source.path)
    if source.files or path.suffix in _TAKEN or source.python is not None or path.suffix == ".py":
        return {}
    try:
        files = inputs(source)
    except OSError:  # which the compiler reports
        return {}
    texts = [_SPLICE.sub("", content.decode(errors="replace")) for content in files.contents]
    if files.unknown or source.harness or any("##" in text for text in texts):
        return {}
    words = set(_WORD.findall(" ".join((*source.options, *source.defines.values()))))
    for text in texts:
        words.update(_WORD.findall(text))
    unknown = []
    for name in (*source.kernels, *source.symbols):
        word = cxx_declarations.strip_template_arguments(name)
        if _WORD.fullmatch(word) and not word.startswith("_Z") and word not in words:
            unknown.append(name)
    if not unknown:
        return {}
    from gpuregress.toolchain import unknown_names  # noqa: PLC0415 - the grammar of CUDA C++, 10 ms

    return unknown_names.explain(unknown, source, files.contents[0].decode(errors="replace"))


def compile(source: Source) -> Program:  # noqa: A001 - the word of the trade; callers write programs.compile
    """Compile a source to a program on disk, or find it in the cache.

    Args:
        source: `.cu` (or any C++ suffix) and `.py` are compiled; `.ptx` is taken as it is, but for the pin; `.cubin` as
            it is.

    Raises:
        CompileError: it does not compile, cannot be read, or a kernel or variable asked for is not there.
        HarnessError: it is not in the cache and NVRTC is not installed.
        StorageError: the cache cannot be written.
    """
    with include_scanner.reading_once():
        program = find(source)
        if program is not None:
            return program
        files = _inputs(source)
    if files.unknown:
        return make(source)
    if source.python:
        key = source_keys.newest(source, files)
    elif _is_sharing(source):
        key = source_keys.shared(source, files)  # who waits finds a program with its own kernels
    else:
        key = source_keys.own(source, files)
    with cache.making(key):
        return find(source) or make(source)


@contextlib.contextmanager
def keeping_unknown() -> Iterator[None]:
    """Compile a source whose dependencies are not known once in this block, while its known files stay as they are."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def keep(source: Source, result: Program | GpuregressError) -> None:
    """Note what came of a source, where `keeping_unknown` is in effect and the cache does not hold it.

    A header that is missing may be there the next time.
    """
    kept = _kept.get()
    if kept is None or not isinstance(result, Program | CompileError):
        return
    if isinstance(result, CompileError) and result.missing_headers:
        return
    with contextlib.suppress(OSError):
        files = inputs(source)
        if files.unknown:
            kept[source_keys.own(source, files)] = result
            if isinstance(result, Program):
                is_shared = _has_all_kernels(source, result)
            else:
                is_shared = _is_in_source(source, result)
            if is_shared:
                kept[source_keys.shared(source, files)] = result
            if isinstance(result, Program) and _is_for_types(source):
                kept.update((source_keys.types(source, files, name), result) for name in result.types)


def find(source: Source) -> Program | None:
    """Find the program of a source in the cache; None if it must be compiled.

    Raises:
        CompileError: it cannot be read, was changed since it was planned, or was refused before; or a kernel asked for
            is not there.
    """
    program = _find(source)
    return None if program is None else replace(program, card=source.card)


def _find(source: Source) -> Program | None:
    files = _inputs(source)
    if source.files:  # a whole program, which is run and not compiled
        key = cache.digest(("program", files.digest))
        return Program(key=key, ptx="", cubin="", entries={}, symbols={}, compiler="", options=(), arch=source.arch)
    suffix = Path(source.path).suffix
    if suffix == ".cubin":
        return _take_cubin(source, files)
    if suffix == ".ptx":
        return _take_ptx(source, files)
    if files.unknown:
        return _find_kept(source, files)
    if source.python is not None:
        return _find_python(source, source.python, files)
    for key in source_keys.candidates(source, files):
        program = _cached(key, files) or _types_of_others(source, files, _noted)
        if program is not None:
            return program
        _check_failure(key, source, files)
    _check_failure(source_keys.shared(source, files), source, files)
    return None


def make(source: Source) -> Program:
    """Compile a source, whether or not it is in the cache; its PTX may be that of another kernel's program.

    Raises:
        CompileError: it does not compile, cannot be read, or is changed meanwhile; or a name asked for is not there.
        HarnessError: NVRTC is not installed.
        StorageError: the cache cannot be written.
    """
    start = time.perf_counter()
    for _ in range(_ATTEMPTS):
        files = _inputs(source)
        try:
            compiled = _compile_cxx(source, files) if source.python is None else _compile_python(source, files)
        except CompileError as refused:
            if refused.log and not files.unknown and _inputs(source) == files:
                _store_failure(source, files, refused)
            raise
        if files.unknown or _inputs(source) == files:
            key = compiled.program.key
            if source.python is not None and not files.unknown:
                _note_version(source, source.python, files, key)
            if _is_for_types(source) and not files.unknown:
                for name in compiled.program.types:
                    cache.store(source_keys.types(source, files, name), {_SHARED: key}, {})
            cache.note_stages(key, {"front end": time.perf_counter() - start})
            return replace(_stored(compiled), card=source.card)
    raise CompileError(f"{_changed(source)} while it was compiled; run it again")


def _inputs(source: Source) -> SourceInputs:
    try:
        files = inputs(source)
    except OSError as error:
        raise CompileError(f"cannot read {compiler_messages.shown(Path(source.path))}: {error.strerror}") from error
    if source.digest and source.digest != files.digest:
        raise CompileError(f"{_changed(source)} since it was planned; run it again")
    return files


def _changed(source: Source) -> str:
    return f"{compiler_messages.shown(Path(source.path))}, or a file that it includes, was changed"


def warnings(program: Program) -> str:
    """Return the compiler's warnings of a program, with the project's paths; "" if there are none."""
    record = cache.load(program.key) or {}
    return str(record.get("warnings", ""))


def build(sources: Iterable[Source], arch: str = "") -> tuple[Program, ...]:
    """Compile and assemble sources into the cache, for a host that may have neither compiler nor assembler.

    Args:
        sources: what to build; the same one twice is built once.
        arch: `sm_90`; "" leaves each source's own.

    Raises:
        CompileError: one of them does not compile.
        HarnessError: the compiler or the assembler is not installed.
        StorageError: the cache cannot be written.
    """
    wanted = [replace(one, arch=architectures.named(one.arch, arch)) if arch else one for one in sources]
    distinct = {repr(source): source for source in wanted}
    return tuple(cubin_linker.build_cubin(compile(source)) for source in distinct.values())


def _compile_cxx(source: Source, files: SourceInputs) -> _Compiled:
    from gpuregress.toolchain import nvrtc  # noqa: PLC0415 - the grammar of CUDA C++, 10 ms; most programs are cached

    compiled = _shared_result(source, files)
    if compiled is not None:
        return _with_entries(source, files, compiled)
    compiled = nvrtc.compile_source(source, files.contents[0].decode(errors="replace"))
    made = _with_entries(source, files, compiled)
    if not (files.unknown or compiled.shows_folder) and _has_all_kernels(source, made.program, made.ptx):
        cache.store(source_keys.shared(source, files), {_SHARED: made.program.key}, {})
    return made


def _with_entries(source: Source, files: SourceInputs, compiled: NvrtcResult) -> _Compiled:
    """Describe the kernels and variables of what the compiler returned."""
    texts = [content.decode(errors="replace") for content in files.contents]
    ptx = _pinned(source, compiled.ptx)
    module = ptx_declarations.parse(ptx)
    declared: list[Declaration] = []
    for text in texts:
        declared += cxx_declarations.declarations(text)
    entries: dict[str, Entry] = {}
    named = {**_other_names(module, set(compiled.kernels.values())), **compiled.kernels}
    for name, mangled in named.items():
        entries[name] = cxx_declarations.name_parameters(module.entries[mangled], name, declared)
    key = source_keys.own(source, files)
    if files.unknown:
        key = cache.digest((key, ptx))
    elif compiled.shows_folder:
        cache.store(key, {_SHOWS_FOLDER: True}, {})
        key = source_keys.in_folder(key, files)
    program = Program(
        key=key,
        ptx="",
        cubin="",
        entries=entries,
        symbols={**{name: name for name in module.variables}, **compiled.symbols},
        compiler=compiled.compiler,
        options=nvrtc_options.options_for(source),
        arch=source.arch,
        unknown=files.unknown,
        types=_types(source, ptx, {**compiled.kernels, **compiled.symbols}),
        local_arrays=compiled.local_arrays,
    )
    return _Compiled(program, ptx, compiled.warnings)


def _is_sharing(source: Source) -> bool:
    """Tell whether the compiler makes the same PTX of a source for each kernel that is asked for.

    Kernels that are no templates are always compiled, also unasked. Whether a name is that of a template is known for
    sure only of what was compiled.
    """
    if source.python is not None or source.harness or source.symbols or not source.kernels:
        return False
    return not any("<" in name or name.startswith("_Z") for name in source.kernels)


def _has_all_kernels(source: Source, program: Program, ptx: str | None = None) -> bool:
    """Tell whether a program has all kernels of its source that are no templates.

    Args:
        source: it was made for some of them.
        program: its program.
        ptx: of the program; None: that of the cache.
    """
    if not _is_sharing(source):
        return False
    text = storage.read_bytes(Path(program.ptx)).decode() if ptx is None else ptx
    return all(_is_always_compiled(program.entries[name].mangled, text) for name in source.kernels)


def _is_always_compiled(mangled: str, ptx: str) -> bool:
    """Tell whether a kernel is no template and not inline: others may be left out if nobody asks for them."""
    is_weak = re.search(rf"\.weak \.entry {re.escape(mangled)}\(", ptx) is not None
    return not is_weak and "<" not in (demangle(mangled) or mangled)


def _is_named(mangled: str, name: str) -> bool:
    """Tell whether a compiled kernel, which is no template, is the one of a name, with or without its parameters."""
    readable = cxx_declarations.readable(mangled)
    if "(" in name:
        return cxx_declarations.is_same_signature(name, readable)
    return readable.partition("(")[0] == name.removeprefix("::")


def _is_ambiguous(name: str, files: SourceInputs) -> bool:
    """Tell whether a name without types may mean several kernels that files declare."""
    declared: set[tuple[str, tuple[str, ...]]] = set()
    for content in files.contents if "(" not in name else ():
        for declaration in cxx_declarations.declarations(content.decode(errors="replace")):
            if declaration.name.rpartition("::")[2] == name.rpartition("::")[2]:
                declared.add((declaration.name, tuple(declaration.template)))
    return len(declared) > 1


def _shared_result(source: Source, files: SourceInputs) -> NvrtcResult | None:
    """Find the result of compiling a source that was compiled for other kernels; None if it must be compiled.

    A variable that is there unasked has the same PTX when it is asked for.
    """
    if not _is_sharing(replace(source, symbols=())):
        return None
    key = source_keys.shared(source, files)
    program = (_kept.get() or {}).get(key) if files.unknown else _noted(key)
    if not isinstance(program, Program):
        return None
    ptx = storage.read_bytes(Path(program.ptx)).decode()
    module = ptx_declarations.parse(ptx)
    if not set(source.symbols).issubset(module.variables):
        return None
    entries = [mangled for mangled in module.entries if _is_always_compiled(mangled, ptx)]
    kernels: dict[str, str] = {}
    for name in source.kernels:
        candidates = [mangled for mangled in entries if _is_named(mangled, name)]
        if len(candidates) != 1 or _is_ambiguous(name, files):
            return None
        kernels[name] = candidates[0]
    return NvrtcResult(
        ptx=ptx,
        kernels=kernels,
        symbols={name: name for name in source.symbols},
        compiler=program.compiler,
        warnings=warnings(program),
        local_arrays=program.local_arrays,
    )


def _is_for_types(source: Source) -> bool:
    """Tell whether the program of a source is made for the types in it and never runs."""
    return not source.harness and debug_types.are_asked(source.options)


def _find_kept(source: Source, files: SourceInputs) -> Program | None:
    """Find what came of a source whose dependencies are not known; None where it was not kept."""
    kept = _kept.get() or {}
    key = source_keys.own(source, files)
    result = kept.get(key) or kept.get(source_keys.shared(source, files))
    if isinstance(result, CompileError):
        raise result
    if key in kept:
        return result
    compiled = _shared_result(source, files)
    if compiled is not None:
        return _stored(_with_entries(source, files, compiled))
    return _types_of_others(source, files, kept.get)


def _noted(key: str) -> Program | None:
    note = cache.load(key) or {}
    return _cached(str(note[_SHARED])) if _SHARED in note else None


def _types_of_others(
    source: Source, files: SourceInputs, look: Callable[[str], Program | CompileError | None]
) -> Program | None:
    """Find the types of kernels and variables in programs that were made for them or others; None if one is missing.

    Args:
        source: whose types are asked for.
        files: of it.
        look: the key of the note of a kernel or variable → the program with its types.
    """
    names = (*source.kernels, *source.symbols)
    if not names or not _is_for_types(source):
        return None
    types: dict[str, tuple[TypeLayout, ...]] = {}
    last: Program | None = None
    for name in names:
        program = look(source_keys.types(source, files, name))
        if not isinstance(program, Program):
            return None
        types[name] = program.types[name]
        last = program
    return replace(last, types=types) if last is not None else None


def _pinned(source: Source, ptx: str) -> str:
    return pin(ptx) if source.contract == "pinned" else ptx


def with_debug_types(source: Source) -> Source:
    """Return a source whose program has debug information, and so the types of its kernels' parameters."""
    options = source.options if _is_debug(source) else (*source.options, *debug_types.OPTIONS)
    defines = {**source.defines, harness.WITH_TYPES: ""} if source.harness else source.defines
    return replace(source, options=options, defines=defines)


def _is_debug(source: Source) -> bool:
    return any(one in (debug_types.OPTION, "-G") for one in source.options)


def _types(source: Source, ptx: str, asked: Mapping[str, str]) -> dict[str, tuple[TypeLayout, ...]]:
    """Return the types of the kernels and variables that were asked for, where the program has debug information.

    Of a function they are those of its result and of its parameters.
    """
    known = debug_types.types(ptx) if _is_debug(source) else {}
    if not source.harness:
        return {name: known[mangled] for name, mangled in asked.items() if mangled in known}
    types: list[TypeLayout] = []
    for number in itertools.count():
        variable = harness.TYPE.format(number)
        if variable not in known:
            break
        types += [layout.pointee or layout for layout in known[variable]]
    return dict.fromkeys(source.kernels, tuple(types))


def _find_python(source: Source, kernel: PythonKernel, files: SourceInputs) -> Program | None:
    """Find the program of a Python source.

    That of the compiler here comes first. A cache from elsewhere may hold the program of a newer one. It is taken where
    this host has an older compiler or none, or lacks a package that the source imports, so that both hosts run the same
    program.
    """
    program = _cached(source_keys.own(source, files))
    if program is not None:
        return program
    note = cache.load(source_keys.newest(source, files))
    if note is None or not _is_taken(note, kernel, files):
        return None
    return _cached(str(note["built"]))


def _is_taken(note: Mapping[str, Any], kernel: PythonKernel, files: SourceInputs) -> bool:
    """Tell whether a program from elsewhere is taken, because this host could not make it, or not as well."""
    if source_inputs.lacks(files, note.get("packages", {})):
        return True
    installed = python_compiler.version(kernel.language)
    if kernel.language not in python_compiler.LANGUAGES:
        return False
    return not installed or _numbers(str(note.get("version", ""))) > _numbers(installed)


def _note_version(source: Source, kernel: PythonKernel, files: SourceInputs, key: str) -> None:
    """Note the program of the newest compiler, for a host with an older one or none."""
    installed = python_compiler.version(kernel.language)
    note = source_keys.newest(source, files)
    known = cache.load(note) or {}
    if _numbers(str(known.get("version", ""))) <= _numbers(installed):
        packages = source_inputs.packages(files)
        cache.store(note, {"built": key, "version": installed, "packages": packages}, {})


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparison: `3.9.0` is (3, 9, 0), "" is ()."""
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))


def foreign_compiler(source: Source, program: Program) -> str:
    """Describe the compiler of a Python source's program, where it is not the one installed here; else "".

    Args:
        source: in Python.
        program: of it.
    """
    if source.python is None:
        return ""
    installed = python_compiler.version(source.python.language)
    if not installed or program.compiler.endswith(f" {installed}"):
        return ""
    shown = compiler_messages.shown(Path(source.path))
    origin = f"the program is that of {program.compiler} from the cache"
    return f"{shown}: {origin}; the compiler here is older ({installed})"


def missing_modules(source: Source, program: Program) -> tuple[str, ...]:
    """Describe the modules that are not installed and that the files of a Triton kernel import.

    Args:
        source: of the kernel.
        program: of it.

    Returns:
        A text for those that the kernel does not use, and one for those that its code looked for and went on without.
    """
    if source.python is None or source.python.language != "triton":
        return ()
    shown = compiler_messages.shown(Path(source.path))
    texts: list[str] = []
    unused = source_inputs.unused_missing(Path(source.path), source.python.function)
    if unused:
        names = first_names(unused, most=_MOST_NAMED)
        verb, pronoun = ("is", "it") if len(unused) == 1 else ("are", "them")
        texts.append(f"{shown}: {names} {verb} not installed; {source.python.function} does not use {pronoun}")
    fallbacks = warnings(program)
    if fallbacks:
        texts.append(f"{shown}: {fallbacks}")
    return tuple(texts)


def _fallbacks(missed: Mapping[str, str]) -> str:
    """Describe what the code did without the packages that it looked for in vain."""
    if not missed:
        return ""
    names = first_names([f"{package} at {line}" for package, line in missed.items()], most=_MOST_NAMED)
    return f"the code looks for {names}, which this host lacks, so the kernel is what the code defines without it"


def _compile_python(source: Source, files: SourceInputs) -> _Compiled:
    kernel = source.python
    assert kernel is not None
    compiled = python_compiler.compile_source(source)
    ptx = _pinned(source, compiled.ptx)
    module = ptx_declarations.parse(ptx)
    if not module.entries:
        raise CompileError(f"{source.name} made PTX without an .entry: no kernel can be launched from it")
    named = _other_names(module, set())
    if kernel.language != "python":  # the compiler decides the name in the PTX
        mangled, *_ = module.entries
        if compiled.launch is not None and compiled.launch.entry:
            mangled = compiled.launch.entry
        named = {kernel.function: mangled}
    key = source_keys.own(source, files)
    if files.unknown:
        key = cache.digest((key, ptx))
    program = _given(source, module, named, key, compiled.compiler)
    entries: dict[str, Entry] = {}
    for name, entry in program.entries.items():
        entries[name] = replace(_with_parameter_names(entry, kernel, compiled.launch), launch=compiled.launch)
    arch = source.arch
    if module.target.rstrip("af") == source.arch.rstrip("af"):
        arch = module.target
    program = replace(program, entries=entries, arch=arch, options=kernel.words, unknown=files.unknown)
    return _Compiled(program, ptx, _fallbacks(compiled.missed))


def _with_parameter_names(entry: Entry, kernel: PythonKernel, launch: CompiledLaunch | None) -> Entry:
    """Name the parameters as the function does, where each is one of the kernel's or a field of a descriptor."""
    if launch is not None and launch.warp is not None:
        parameters = ["dim", *(parameter.name for parameter in launch.warp.parameters)]
        pairs = zip(entry.parameters, parameters, strict=True)
        return replace(entry, parameters=tuple(replace(parameter, name=name) for parameter, name in pairs))
    if kernel.language != "triton" or launch is None:
        return entry
    descriptors = {descriptor.argument: descriptor for descriptor in launch.descriptors}
    names: list[str] = []
    for position, name in enumerate(kernel.signature):
        names.append(name)
        descriptor = descriptors.get(position)
        if descriptor is None:
            continue
        fields = [f"{name}.shape"] * descriptor.axes + [f"{name}.strides"] * descriptor.axes
        names += fields
        if not descriptor.box:
            names += [f"{name}.padding", f"{name}.rounding", *fields]
    names += [""] * len(entry.parameters)
    pairs = zip(entry.parameters, names, strict=False)
    return replace(entry, parameters=tuple(replace(parameter, name=name) for parameter, name in pairs))


def _take_ptx(source: Source, files: SourceInputs) -> Program:
    key = source_keys.own(source, files)
    program = _cached(key)
    if program is not None:
        return program
    ptx = _pinned(source, files.contents[0].decode(errors="replace"))
    module = ptx_declarations.parse(ptx)
    if not module.entries:
        shown = compiler_messages.shown(Path(source.path))
        raise CompileError(f"{shown} holds no .entry: no kernel can be launched from it")
    program = _given(source, module, _other_names(module, set()), key, "ptx as given")
    return _stored(_Compiled(replace(program, arch=_ptx_architecture(source, module.target)), ptx))


def _ptx_architecture(source: Source, target: str) -> str:
    """Return the architecture that given PTX is built for: its own, where it runs on that one alone."""
    if not architectures.is_specific(target) or target == source.arch:
        return source.arch
    if architectures.number(target) == architectures.number(source.arch):
        return target
    shown = compiler_messages.shown(Path(source.path))
    raise CompileError(
        f"{shown} is PTX for {target} alone (its .target); it cannot be built for {source.arch}: "
        f"name {target} as --arch or compile.arch, or compile the kernel for {source.arch}"
    )


def _take_cubin(source: Source, files: SourceInputs) -> Program:
    try:
        module = cubin.parse(files.contents[0])
    except ValueError as error:
        raise CompileError(f"{compiler_messages.shown(Path(source.path))} cannot be used: {error}") from error
    named = {demangle(mangled) or mangled: mangled for mangled in module.entries}
    program = _given(source, module, named, source_keys.own(source, files), "cubin as given")
    arch = source.arch
    if source.arch.rstrip("af") != module.arch and module.arch:
        arch = module.arch
    return replace(program, cubin=str(Path(source.path).absolute()), arch=arch)


def _given(
    source: Source,
    module: ptx_declarations.PtxModule | cubin.CubinModule,
    named: Mapping[str, str],
    key: str,
    compiler: str,
) -> Program:
    """Describe a module that is not compiled here; its kernels and variables are found by name."""
    kernels = {name: _find_kernel(name, named, source) for name in source.kernels}
    symbols = {name: _find_symbol(name, module.variables, source) for name in source.symbols}
    return Program(
        key=key,
        ptx="",
        cubin="",
        entries={name: module.entries[mangled] for name, mangled in {**named, **kernels}.items()},
        symbols={**{name: name for name in module.variables}, **symbols},
        compiler=compiler,
        options=(),
        arch=source.arch,
    )


def _other_names(module: ptx_declarations.PtxModule, named: set[str]) -> dict[str, str]:
    """Map C++ (or mangled) names to mangled names, for entries that nobody requested by name."""
    others: dict[str, str] = {}
    for mangled in module.entries:
        if mangled not in named:
            readable = demangle(mangled) or mangled
            others[mangled if readable in others else readable] = mangled
    return others


def _find_kernel(name: str, named: Mapping[str, str], source: Source) -> str:
    without_spaces = "".join(name.split())
    for readable, mangled in named.items():
        if without_spaces in (mangled, "".join(readable.split())):
            return mangled
    candidates: list[str] = []
    for readable, mangled in named.items():
        names = (cxx_declarations.strip_template_arguments(readable), demangle(mangled))
        if name in names or cxx_declarations.is_same_signature(name, cxx_declarations.readable(mangled)):
            candidates.append(mangled)
    if len(candidates) == 1:
        return candidates[0]
    shown = compiler_messages.shown(Path(source.path))
    raise UnknownNames({name: f"{shown} has no kernel {name!r}; it has {', '.join(named)}"})


def _find_symbol(name: str, variables: tuple[str, ...], source: Source) -> str:
    for variable in variables:
        if name in (variable, demangle(variable)):
            return variable
    there = ", ".join(variables) or "no variable"
    raise UnknownNames({name: f"{compiler_messages.shown(Path(source.path))} has no variable {name!r}; it has {there}"})


def _stored(compiled: _Compiled) -> Program:
    program = replace(compiled.program, library_files=library_files(compiled.ptx))
    record = {"program": to_json(program), "warnings": compiled.warnings}
    cache.store(program.key, record, {".ptx": compiled.ptx.encode()})
    return _with_paths(program)


def _store_failure(source: Source, files: SourceInputs, error: CompileError) -> None:
    """Store the compiler's log of a source that it refuses.

    The key has all that it read, and which headers were not found (`SourceInputs.structure`). The message is made anew
    each time: it names files from the working folder, and a missing header may be elsewhere in the clone by then.
    """
    log = _without_paths(error.log, files.files)
    headers = source_keys.header_versions()
    record = {"log": log, "standard": error.standard, "needs": error.needs, "headers": headers}
    cache.store(source_keys.own(source, files), {_FAILURE: record}, {})
    if _is_in_source(source, error):
        cache.store(source_keys.shared(source, files), {_FAILURE: record}, {})


def _is_in_source(source: Source, error: CompileError) -> bool:
    """Tell whether an error is the same whatever is asked for.

    The names that are asked for decide which host types stay, and what is instantiated.
    """
    is_probe = source.harness == harness.NOTHING and not source.kernels and not source.symbols
    is_nameless = is_probe or _is_sharing(source)
    is_in_source = is_nameless and not isinstance(error, UnknownNames)
    return is_in_source or compiler_messages.is_catastrophic(error.log)


def _check_failure(key: str, source: Source, files: SourceInputs) -> None:
    """Raise the error of a source that was refused before.

    A host with other headers of CUDA's asks its own compiler, if it has one.

    Raises:
        CompileError: it was refused.
    """
    record = (cache.load(key) or {}).get(_FAILURE)
    if not isinstance(record, dict):
        return
    if source_keys.installed_nvrtc() and record["headers"] != source_keys.header_versions():
        return
    from gpuregress.toolchain import nvrtc  # noqa: PLC0415 - as in `_compile_cxx`

    text = files.contents[0].decode(errors="replace")
    error = nvrtc.failure(source, text, _with_own_paths(record["log"], files.files), record["standard"])
    error.needs = record["needs"]
    raise error


def _without_paths(log: str, files: Sequence[Path]) -> str:
    """Put marks in place of the paths of files: the same source may stand elsewhere when it is refused again."""
    marks = {f"{folder}/": f"{_PATH_MARK.format(f'cuda{number}')}/" for number, folder in enumerate(cuda_folders())}
    for number, file in enumerate(files):
        marks[str(file)] = _PATH_MARK.format(number)
    for path in sorted(marks, key=len, reverse=True):
        ending = "" if path.endswith("/") else r"(?![\w/-])"
        log = re.sub(rf"(?<![\w/.-]){re.escape(path)}{ending}", marks[path], log)
    return log


def _with_own_paths(log: str, files: Sequence[Path]) -> str:
    """Put the paths of files in place of the marks."""
    for number, folder in enumerate(cuda_folders()):
        log = log.replace(f"{_PATH_MARK.format(f'cuda{number}')}/", f"{folder}/")
    for number, file in enumerate(files):
        log = log.replace(_PATH_MARK.format(number), str(file))
    return log


def _cached(key: str, files: SourceInputs | None = None) -> Program | None:
    """Load a program from the cache; None if it is not there, or another version wrote it.

    Args:
        key: its key.
        files: of C++, whose folder may be a part of the program's key.

    """
    record = cache.load(key) or {}
    if files is not None and record.get(_SHOWS_FOLDER):
        return _cached(source_keys.in_folder(key, files))
    try:
        return _with_paths(from_json(Program, record["program"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _with_paths(program: Program) -> Program:
    key = cubin_linker.key_of(program)
    built = str(cache.file_path(key, ".cubin")) if "linker" in (cache.load(key) or {}) else ""
    return replace(program, ptx=str(cache.file_path(program.key, ".ptx")), cubin=built)
