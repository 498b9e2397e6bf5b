"""A source → a program on disk: compiled once, found by its content ever after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from gpuregress.errors import CompileError
from gpuregress.records import Program, Source, from_json, to_json
from gpuregress.toolchain import cache, entries, includes, messages, signature
from gpuregress.toolchain.mangling import demangle
from gpuregress.toolchain.pin import pin

PINNED = "13.5"
"""The minor version of NVRTC and nvJitLink that pyproject.toml asks for: part of every key.

Compiled results change with it, and a host without a compiler must find what was built elsewhere.
"""


def compiler_version() -> str:
    """`nvrtc 13.5.37`, or `nvrtc 13.5 (not installed)`; loads nothing."""
    installed = _installed()
    return f"nvrtc {installed}" if installed else f"nvrtc {PINNED} (not installed)"


def compile(source: Source) -> Program:  # noqa: A001 - the word of the trade; callers write toolchain.compile
    """A source as a program on disk; from the cache where the same was compiled before.

    Args:
        source: `.cu` (or any C++ suffix) is compiled; `.ptx` is taken as it is, but for the pin; `.cubin` as it is.

    Raises:
        CompileError: it does not compile, cannot be read, or a kernel or variable asked for is not there.
        HarnessError: it is not in the cache and NVRTC is not installed.
        StorageError: the cache cannot be written.
    """
    path = Path(source.path)
    if path.suffix == ".cubin":
        return _take_cubin(source, _bytes(path))
    if path.suffix == ".ptx":
        return _take_ptx(source, _bytes(path))
    return _compile_cxx(source)


def _compile_cxx(source: Source) -> Program:
    from gpuregress.toolchain import nvrtc  # noqa: PLC0415 - loads the compiler's bindings only when called, but is not free

    options = nvrtc.options_for(source)
    folders = nvrtc.search_folders(source)
    files = includes.dependencies(Path(source.path), folders)
    content = _content(source, options, files)
    # The pinned compiler's result first, wherever it was made; only then what this host's compiler would give.
    for version in dict.fromkeys((PINNED, _minor(_installed() or PINNED))):
        record = cache.load(cache.digest(("c++", version, *content)))
        if record is not None:
            return _program(record)
    key = cache.digest(("c++", _minor(_installed() or PINNED), *content))
    text = _text(Path(source.path))
    compiled = nvrtc.compile_source(source, text)
    ptx = pin(compiled.ptx) if source.contract == "pinned" else compiled.ptx
    module = entries.parse(ptx)
    declared = [declaration for file in files for declaration in signature.declarations(_text(file))]
    named = {**_other_names(module, set(compiled.kernels.values())), **compiled.kernels}
    program = Program(
        key,
        "",
        "",
        {name: signature.name_parameters(module.entries[mangled], name, declared) for name, mangled in named.items()},
        {**{name: name for name in module.variables}, **compiled.symbols},
        compiled.compiler,
        options,
        source.arch,
    )
    return _stored(program, ptx, compiled.warnings)


def _take_ptx(source: Source, data: bytes) -> Program:
    text = data.decode(errors="replace")
    key = cache.digest(("ptx", source.contract, source.arch, *source.kernels, "", *source.symbols, data))
    record = cache.load(key)
    if record is not None:
        return _program(record)
    ptx = pin(text) if source.contract == "pinned" else text
    module = entries.parse(ptx)
    if not module.entries:
        raise CompileError(f"{messages.shown(Path(source.path))} holds no .entry: no kernel can be launched from it")
    named = _other_names(module, set())
    kernels = {name: _find_kernel(name, named, source) for name in source.kernels}
    symbols = {name: _find_symbol(name, module.variables, source) for name in source.symbols}
    found = {**named, **kernels}
    program = Program(
        key,
        "",
        "",
        {name: module.entries[mangled] for name, mangled in found.items()},
        {**{name: name for name in module.variables}, **symbols},
        "ptx as given",
        (),
        source.arch,
    )
    return _stored(program, ptx, "")


def _take_cubin(source: Source, data: bytes) -> Program:
    raise CompileError(f"{messages.shown(Path(source.path))}: a .cubin cannot be read yet")


def _other_names(module: entries.PtxModule, named: set[str]) -> dict[str, str]:
    """C++ (or mangled, where that says no more) name → mangled name, for entries that nobody asked for by name."""
    found: dict[str, str] = {}
    for mangled in module.entries:
        if mangled not in named:
            readable = demangle(mangled) or mangled
            found[mangled if readable in found else readable] = mangled
    return found


def _find_kernel(name: str, named: Mapping[str, str], source: Source) -> str:
    squeezed = "".join(name.split())
    for readable, mangled in named.items():
        if squeezed in (mangled, "".join(readable.split())):
            return mangled
    plain = [mangled for readable, mangled in named.items() if signature.strip_template_arguments(readable) == name]
    if len(plain) == 1:
        return plain[0]
    raise CompileError(
        f"{messages.shown(Path(source.path))} has no kernel {name!r}; it has {', '.join(named)}",
    )


def _find_symbol(name: str, variables: tuple[str, ...], source: Source) -> str:
    for variable in variables:
        if name in (variable, demangle(variable)):
            return variable
    there = ", ".join(variables) or "no variable"
    raise CompileError(f"{messages.shown(Path(source.path))} has no variable {name!r}; it has {there}")


def _content(source: Source, options: tuple[str, ...], files: tuple[Path, ...]) -> list[str | bytes]:
    """All that decides a program's bits besides the compiler; no path of this machine."""
    parts: list[str | bytes] = [source.contract, source.arch, *options, "", *source.kernels, "", *source.symbols, ""]
    for file in files:
        parts += [file.name, _bytes(file)]
    return parts


def _stored(program: Program, ptx: str, warnings: str) -> Program:
    record = {"program": to_json(program), "warnings": warnings}
    cache.store(program.key, record, {".ptx": ptx.encode()})
    return _with_paths(program)


def _program(record: dict[str, Any]) -> Program:
    return _with_paths(from_json(Program, record["program"]))


def _with_paths(program: Program) -> Program:
    cubin = cache.file_path(program.key, ".cubin")
    return replace(
        program,
        ptx=str(cache.file_path(program.key, ".ptx")),
        cubin=str(cubin) if cubin.is_file() else "",
    )


@lru_cache(maxsize=1)
def _installed() -> str:
    """NVRTC's version by its wheel, "" where there is none."""
    try:
        return metadata.version("nvidia-cuda-nvrtc")
    except metadata.PackageNotFoundError:
        return ""


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CompileError(f"cannot read {messages.shown(path)}: {error.strerror}") from error


def _text(path: Path) -> str:
    return _bytes(path).decode(errors="replace")
