"""Compilation of CUDA C++ to PTX by NVRTC; needs no GPU, driver or CUDA toolkit."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpuregress.errors import CompileError, HarnessError, InfeasibleSource, UnknownNames
from gpuregress.frozen import dataclass
from gpuregress.records import HARNESS_KERNEL, Source
from gpuregress.toolchain import compiler_messages, cxx_declarations, include_scanner, kernel_text, virtual_headers
from gpuregress.toolchain.include_scanner import SourceInputs


@dataclass(frozen=True, slots=True)
class NvrtcResult:
    """The result of compiling a source with NVRTC.

    Attributes:
        ptx: not yet pinned; its `.file` lines name files as the project does, not as this machine does.
        kernels: C++ name → mangled name, for each name asked for.
        symbols: the same for variables.
        compiler: `nvrtc 13.5.37`, the release that the PTX itself names.
        warnings: the compiler's own words, "" if it had none.
    """

    ptx: str
    kernels: Mapping[str, str]
    symbols: Mapping[str, str]
    compiler: str
    warnings: str


_GIVEN = frozenset(["-lineinfo", "--generate-line-info", "-device-int128", "--device-int128"])
"""Options of every program; given twice, they are an error or a warning."""


def options_for(source: Source) -> tuple[str, ...]:
    """Return NVRTC's options without folders, which differ between machines: part of the cache's key.

    Raises:
        CompileError: an option chooses the architecture, which the device does.
    """
    for option in source.options:
        if re.match(r"-{1,2}(gpu-architecture|arch)\b", option):
            raise CompileError(
                f"compile option {option}: the device chooses the architecture ({source.arch}); leave it out"
            )
    rest, *_ = _split_folders(source.options)
    standard = () if any(re.match(r"-{1,2}std\b", option) for option in source.options) else ("--std=c++17",)
    return (
        f"--gpu-architecture=compute_{source.arch.removeprefix('sm_')}",
        *standard,
        "--generate-line-info",
        "--device-int128",  # nvcc's default
        *(
            f"--define-macro={name}={value}" if value else f"--define-macro={name}"
            for name, value in source.defines.items()
        ),
        *(option for option in rest if option not in _GIVEN),
    )


def search_folders(source: Source) -> tuple[Path, ...]:
    """Return the project's folders that NVRTC searches, in order: the source's own, the job's, those in its options."""
    folder = Path(source.path).parent
    named = _split_folders(source.options)[1]
    folders = [folder, *(Path(name) for name in source.include), *(folder / name for name in named)]
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in folders))


def inputs(source: Source) -> SourceInputs:
    """Return the files that decide the result of compiling a source.

    Raises:
        OSError: the source cannot be read.
    """
    _, _, included = _split_folders(source.options)
    files = include_scanner.scan(Path(source.path), search_folders(source), included)
    odd = [option for option in source.options if _reads_files(option)]
    odd += [f"-D{name}={text}" for name, text in source.defines.items() if include_scanner.is_telling(text)]
    return replace(files, unknown=f"option {odd[0]}") if odd and not files.unknown else files


def _reads_files(option: str) -> bool:
    """Tell whether an option reads files in a way that is not known here, such as a precompiled header."""
    is_understood = re.fullmatch(r"(?:-include|--pre-include|--include-path)(?:=.*)?", option) is not None
    return not is_understood and ("pch" in option or "include" in option or include_scanner.is_telling(option))


def _split_folders(options: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
    """Separate the options that name folders and headers from the others."""
    rest: list[str] = []
    folders: list[str] = []
    included: list[str] = []
    words = iter(options)
    for word in words:
        match = re.fullmatch(r"(?:(-I|--include-path(?:=|$))|(?:-include|--pre-include)(?:=|$))(.*)", word)
        if match is None:
            rest.append(word)
        else:
            (folders if match[1] else included).append(match[2].strip() or next(words, ""))
    return rest, folders, included


_GAVE_UP = "Compilation aborted."
"""What NVRTC says where it gives no reason."""


def compile_source(source: Source, text: str) -> NvrtcResult:
    """Compile a source.

    Args:
        source: what to compile, with the names that must be there.
        text: the source's content.

    Kernels that nobody asked for are not instantiated: they would take most of the time of a library's source.

    Raises:
        CompileError: it does not compile, or a name is not there.
        HarnessError: NVRTC is not installed, or too old for the architecture.
    """
    fewer = kernel_text.without_instantiations(text) if source.kernels else text
    if fewer != text:
        with contextlib.suppress(CompileError, UnknownNames):  # what is wrong is told of the whole text
            return _compile_text(source, fewer)
    return _compile_text(source, text)


def _compile_text(source: Source, text: str) -> NvrtcResult:
    nvrtc = _bindings()
    folders = search_folders(source)
    path = folders[0] / Path(source.path).name
    virtual = virtual_headers.virtual_headers(folders)
    program = _checked(
        nvrtc.nvrtcCreateProgram(
            # The path lets `#include "…"` begin beside the source; the line keeps it out of messages, __FILE__ and PTX.
            f'#line 1 "{path.name}"\n{text}{source.harness}'.encode(),
            str(path).encode(),
            len(virtual),
            [content.encode() for content in virtual.values()],
            [name.encode() for name in virtual],
        ),
    )
    try:
        return _compile(nvrtc, program, source, text, folders)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _compile(nvrtc: Any, program: Any, source: Source, text: str, folders: tuple[Path, ...]) -> NvrtcResult:
    named = () if source.harness else source.kernels
    expressions = {**{name: name for name in named}, **{name: f"&{name}" for name in source.symbols}}
    for expression in expressions.values():
        _checked(nvrtc.nvrtcAddNameExpression(program, expression.encode()))
    options = [
        *options_for(source),
        f"--pre-include={virtual_headers.PRELUDE}",
        *(f"--pre-include={include_scanner.find(name, folders)}" for name in _split_folders(source.options)[2]),
        *(f"--include-path={folder}" for folder in (*folders, *virtual_headers.cuda_folders())),
    ]
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    log = _text(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
    if log.strip() == _GAVE_UP and expressions:
        # The names asked for end NVRTC where the source ends in the middle of a declaration: without them it tells.
        compile_source(replace(source, kernels=(), symbols=()), text)
    if int(result) != 0:
        unknown = compiler_messages.unknown_names(log, (*named, *source.symbols))
        if unknown:
            raise UnknownNames(cxx_declarations.unknown_names(unknown, source, text))
        uncallable = compiler_messages.harness_error(log) if source.harness else ""
        if uncallable:
            raise UnknownNames({name: f"{name} cannot be called: {uncallable}" for name in source.kernels})
        refused = InfeasibleSource if compiler_messages.is_infeasible(log) else CompileError
        raise refused(compiler_messages.explain(log or f"nvrtc: error: {result.name}", source, folders))
    ptx = _text(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
    lowered = {
        name: _checked(nvrtc.nvrtcGetLoweredName(program, expression.encode())).decode()
        for name, expression in expressions.items()
    }
    return NvrtcResult(
        compiler_messages.portable_paths(ptx, (*folders, *virtual_headers.cuda_folders())),
        {name: lowered.get(name, HARNESS_KERNEL) for name in source.kernels},
        {name: lowered[name] for name in source.symbols},
        f"nvrtc {_release(ptx)}",
        compiler_messages.locations(log, source).strip(),
    )


def _release(ptx: str) -> str:
    match = re.search(r"release [\d.]+, V([\d.]+)", ptx)
    return match[1] if match else "unknown"


def _text(program: Any, size_of: Any, read: Any) -> str:
    size: int = _checked(size_of(program))
    # The bindings write into a bytes object. Never one of length 1: Python shares those, and all others would change.
    buffer = bytes(size + 1)
    _checked(read(program, buffer))
    return buffer.rstrip(b"\0").decode(errors="replace")


def _checked(answer: tuple[Any, ...]) -> Any:
    if int(answer[0]) != 0:
        raise HarnessError(f"NVRTC failed: {answer[0].name}")
    return answer[1] if len(answer) > 1 else None


def _bindings() -> Any:
    try:
        from cuda.bindings import nvrtc  # noqa: PLC0415 - heavy, and not there on a host that only runs cached cubins

        (status, _, _) = nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        raise HarnessError(
            f"NVRTC cannot be loaded ({_first_line(error)}): `pip install cuda-bindings nvidia-cuda-nvrtc` brings it; "
            "or compile elsewhere with `gpuregress build` and name its folder with GPUREGRESS_CACHE",
        ) from error
    if int(status) != 0:
        raise HarnessError(f"NVRTC does not answer: {status.name}")
    return nvrtc


def _first_line(error: BaseException) -> str:
    lines: Iterable[str] = str(error).splitlines()
    return next(iter(lines), type(error).__name__)
