"""Options, folders and files of a compilation by NVRTC: all that a cached program is found by.

The compiler itself is in `nvrtc`, which loads the grammar of CUDA C++.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpuregress.foundation.errors import CompileError
from gpuregress.foundation.records import LineEdit, Source
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain import include_scanner
from gpuregress.toolchain.include_scanner import SourceInputs

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
    options = [f"--gpu-architecture=compute_{source.arch.removeprefix('sm_')}"]
    if not any(re.match(r"-{1,2}std\b", option) for option in source.options):
        options.append("--std=c++17")
    options += ["--generate-line-info", "--device-int128"]  # nvcc's default
    for name, value in source.defines.items():
        options.append(f"--define-macro={name}={value}" if value else f"--define-macro={name}")
    options += [option for option in split_options(source.options).others if option not in _GIVEN]
    return tuple(options)


def search_folders(source: Source) -> tuple[Path, ...]:
    """Return the project's folders that NVRTC searches, in order: the source's own, the job's, those in its options."""
    folder = Path(source.path).parent
    folders = [folder, *map(Path, source.include)]
    folders += [folder / name for name in split_options(source.options).folders]
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in folders))


def inputs(source: Source) -> SourceInputs:
    """Return the files that decide the result of compiling a source.

    Raises:
        OSError: the source cannot be read.
    """
    headers = split_options(source.options).headers
    files = include_scanner.scan(Path(source.path), search_folders(source), headers)
    if files.unknown:
        return files
    for option in source.options:
        if _reads_files(option):
            return replace(files, unknown=f"option {option}")
    for name, text in source.defines.items():
        if include_scanner.is_telling(text):
            return replace(files, unknown=f"option -D{name}={text}")
    return files


class NvrtcResult(Record):
    """The result of compiling a source with NVRTC.

    Attributes:
        ptx: not yet pinned; its `.file` lines name files as the project does, not as this machine does.
        kernels: C++ name → mangled name, for each name asked for.
        symbols: the same for variables.
        compiler: `nvrtc 13.5.37`, the release that the PTX itself names.
        warnings: the compiler's own words, "" if it had none.
        shows_folder: whether the PTX depends on the folder of the project, as through `__FILE__` in a header.
        local_arrays: edits of the PTX that make local arrays variables of their own.
    """

    ptx: str
    kernels: Mapping[str, str]
    symbols: Mapping[str, str]
    compiler: str
    warnings: str
    shows_folder: bool = False
    local_arrays: tuple[LineEdit, ...] = ()


class CompilerOptions(Record):
    """The options of a source: folders of the search, headers to include, and others."""

    folders: tuple[str, ...]
    headers: tuple[str, ...]
    others: tuple[str, ...]


def split_options(options: Iterable[str]) -> CompilerOptions:
    """Split the options of a source by what they are about."""
    folders: list[str] = []
    headers: list[str] = []
    others: list[str] = []
    words = iter(options)
    for word in words:
        match = re.fullmatch(r"(?:(-I|--include-path(?:=|$))|(?:-include|--pre-include)(?:=|$))(.*)", word)
        if match is None:
            others.append(word)
            continue
        name = match[2].strip() or next(words, "")
        if match[1]:
            folders.append(name)
        else:
            headers.append(name)
    return CompilerOptions(tuple(folders), tuple(headers), tuple(others))


def _reads_files(option: str) -> bool:
    """Tell whether an option reads files in a way that is not known here, such as a precompiled header."""
    is_understood = re.fullmatch(r"(?:-include|--pre-include|--include-path)(?:=.*)?", option) is not None
    return not is_understood and ("pch" in option or "include" in option or include_scanner.is_telling(option))
