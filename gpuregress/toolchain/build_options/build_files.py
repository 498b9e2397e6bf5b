"""Include folders and definitions that build files spell out.

`CMakeLists.txt`, `setup.py`, `pyproject.toml`, Makefiles and `*.vcxproj` are read as far as they have literals: a
definition below a condition is left out, and so is a folder that does not exist. Nothing in them is run. A condition of
CMake on options has their defaults.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from gpuregress.foundation.user_home import home
from gpuregress.gpu.records import Record
from gpuregress.toolchain.build_options import setup_scripts
from gpuregress.toolchain.build_options.options import NO_OPTIONS, BuildOptions, from_words
from gpuregress.toolchain.headers import header_search

_MOST_PARENTS = 8
_MOST_BYTES = 1_000_000
_MOST_WORDS = 2000
_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
CONDITION = "it depends on a condition"
_COPY_OF_CUDA = "CUDA's own headers are taken in place of a copy"
_OF_CUDA = ("thrust/version.h", "cub/version.cuh", "cuda/std/version")
"""Headers of CCCL; a clone may hold another version of it than NVRTC comes with."""
_OTHER_TARGET = "it is that of another target"

_CMAKE_COMMENT = re.compile(r"#\[\[.*?\]\]|#[^\n]*", re.DOTALL)
_CMAKE_COMMAND = re.compile(r'(?P<name>\w+)\s*\((?P<arguments>(?:[^()"]|"(?:[^"\\]|\\.)*"|\([^()]*\))*)\)', re.DOTALL)
_CMAKE_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*)"|((?:\$<[^>\n]*>|[^\s"]|"(?:[^"\\]|\\.)*")+)', re.DOTALL)
_CMAKE_FOLDERS = re.compile(r"\$\{(?:CMAKE_(?:CURRENT_)?(?:SOURCE|LIST)_DIR|\w*_SOURCE_DIR)\}")
_CMAKE_KEYWORDS = frozenset(("PUBLIC", "PRIVATE", "INTERFACE", "SYSTEM", "BEFORE", "AFTER"))
_CMAKE_TARGETS = ("add_library", "add_executable", "cuda_add_library", "cuda_add_executable", "target_sources")
_CMAKE_FLAGS = frozenset(("CUDA_NVCC_FLAGS", "CMAKE_CUDA_FLAGS", "CMAKE_CXX_FLAGS"))
_CMAKE_MACRO = re.compile(r"-D\w+(=[^$]*)?")
_CMAKE_TRUE = frozenset(("ON", "TRUE", "YES", "1"))
_CMAKE_FALSE = frozenset(("OFF", "FALSE", "NO", "0"))
_CMAKE_PLATFORM: Mapping[str, bool] = {
    **dict.fromkeys(("UNIX", "LINUX", "CUDA_FOUND", "CUDAToolkit_FOUND", "CMAKE_CUDA_COMPILER"), True),
    **dict.fromkeys(("WIN32", "MSVC", "APPLE", "MINGW", "CYGWIN", "ANDROID"), False),
}
"""What is true where device code is compiled on Linux."""
_CMAKE_CUDA = re.compile(r"(?:[A-Za-z]\w*_)?(?:BUILD|ENABLE|HAS|HAVE|USE|WITH)_CUDA")
_STANDARD = re.compile(r"\b(?:CMAKE_)?CUDA_STANDARD\s+(\d\d)\b")
_OF_WINDOWS = re.compile(r"_?(?:WIN32|WIN64|WINDOWS|CONSOLE|LIB|USRDLL|UNICODE|MBCS|DEBUG|NDEBUG)|_?CRT_\w+|_\w*_DLL")


@dataclass(slots=True)
class _Collected:
    """Words as of a command line, of one build file."""

    words: list[str] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def leave_out(self, reason: str, word: str) -> None:
        """Note a word that is not taken."""
        self.left_out.setdefault(reason, []).append(word)


def options_for(source: Path) -> tuple[BuildOptions, ...]:
    """Read the build files of a source's folder and of those above it, the nearest first.

    Args:
        source: absolute.

    Returns:
        For each file that has something for the source: its options.
    """
    options: list[BuildOptions] = []
    for folder in _folders(source.parent):
        for file, read in _build_files(folder):
            text = text_of(file)
            if not text:
                continue
            collected = read(text, file, source)
            of_file = from_words(collected.words, folder, _shown(file))
            include: list[Path] = []
            for path in of_file.include:
                if any((path / header).is_file() for header in _OF_CUDA):
                    collected.leave_out(_COPY_OF_CUDA, f"-I {_shown(path)}")
                elif path.is_dir():
                    include.append(path)
            left_out = {reason: tuple(dict.fromkeys(words)) for reason, words in collected.left_out.items()}
            of_file = BuildOptions(tuple(include), of_file.defines, of_file.options, left_out, of_file.origin)
            if not of_file.is_empty or left_out:
                options.append(of_file)
    return tuple(options)


def combined(parts: Sequence[BuildOptions]) -> BuildOptions:
    """Combine options, of which the first ones win.

    Args:
        parts: of several files.
    """
    if not parts:
        return NO_OPTIONS
    include: dict[Path, None] = {}
    defines: dict[str, str] = {}
    options: dict[str, str] = {}
    left_out: dict[str, tuple[str, ...]] = {}
    for part in parts:
        include.update(dict.fromkeys(part.include))
        defines = {**part.defines, **defines}
        for option in part.options:
            options.setdefault(option.partition("=")[0].lstrip("-"), option)
        for reason, words in part.left_out.items():
            left_out[reason] = (*left_out.get(reason, ()), *words)
    origins = ", ".join(part.origin for part in parts if not part.is_empty)
    return BuildOptions(tuple(include), defines, tuple(options.values()), left_out, origins)


def _folders(start: Path) -> Iterator[Path]:
    """The folders up to the root of the clone; outside of one, a few."""
    root = header_search.work_tree(start)
    for folder in (start, *start.parents)[:_MOST_PARENTS]:
        if folder in (home(), Path(folder.anchor), Path("/usr"), Path("/tmp")):  # noqa: S108 - no project's root
            return
        yield folder
        if folder == root:
            return


_Reader = Callable[[str, Path, Path], _Collected]


def _build_files(folder: Path) -> Iterator[tuple[Path, _Reader]]:
    yield folder / "CMakeLists.txt", _read_cmake
    yield folder / "setup.py", _read_setup
    yield folder / "pyproject.toml", _read_pyproject
    for name in _MAKEFILES:
        yield folder / name, _read_makefile
    for path in sorted(folder.glob("*.vcxproj")):
        yield path, _read_vcxproj


def text_of(path: Path) -> str:
    """Return the text of a file; "" of one that is none, cannot be read or is too large for a build file."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def definition_in(text: str, macro: str) -> str | None:
    """Return what a file gives a compiler for a macro, by `-DNAME=VALUE`; None where it gives none.

    A value that is a variable of the file is the number that the file assigns to it.

    Args:
        text: of a build file, a script or a page of instructions.
        macro: its name.
    """
    for match in re.finditer(rf"-D ?{macro}(?:=(?P<value>[^\s\"',\])]+))?(?![\w=])", text):
        value = match["value"] or ""
        variable = re.fullmatch(r"\$?[{(](\w+)[})]", value)
        if variable is not None:
            assigned = re.search(rf"^\s*{variable[1]}\s*[:?]?=\s*(-?\d+)\s*(?:#.*)?$", text, re.MULTILINE)
            if assigned is None:
                continue
            value = assigned[1]
        if re.fullmatch(r"[\w.:+-]*", value):
            return value
    return None


# --- CMake ------------------------------------------------------------------------------------------------------------


class _CMakeWord(Record):
    """An argument of a command, and whether it is only given on a condition."""

    text: str
    is_conditional: bool


class _CMakeCommand(Record):
    """A command, its arguments, and the number of blocks around it that are not known to be run."""

    name: str
    arguments: tuple[str, ...]
    depth: int

    @property
    def is_of_target(self) -> bool:
        """Whether its first argument is a target."""
        return self.name.startswith("target_")


def _read_cmake(text: str, file: Path, source: Path) -> _Collected:
    """Read literal include folders, definitions and the standard of CUDA."""
    collected = _Collected()
    commands = list(_cmake_commands(text, _cmake_options(file.parent)))
    targets = _cmake_targets(commands, source)
    variables: dict[str, list[_CMakeWord]] = {}
    for command in commands:
        arguments = list(command.arguments)
        standard = _STANDARD.search(" ".join(arguments))
        if standard is not None and command.name in ("set", "set_target_properties", "set_property"):
            collected.words.append(f"-std=c++{standard[1]}")
        if command.name in ("set", "list", "string") and _CMAKE_FLAGS & set(arguments[:2]):
            for flag in " ".join(arguments).replace(";", " ").split():
                if not _CMAKE_MACRO.fullmatch(flag):
                    continue
                if command.depth > 0:
                    collected.leave_out(CONDITION, flag)
                else:
                    collected.words.append(flag)
        if command.name == "set" and arguments and arguments[-1] != "PARENT_SCOPE":
            end = arguments.index("CACHE") if "CACHE" in arguments else len(arguments)
            variables[arguments[0]] = [_CMakeWord(word, command.depth > 0) for word in arguments[1:end]]
        elif command.name == "list" and arguments[:1] == ["APPEND"] and len(arguments) > 1:
            more = [_CMakeWord(word, command.depth > 0) for word in arguments[2:]]
            variables.setdefault(arguments[1], []).extend(more)
        elif command.name in ("include_directories", "target_include_directories"):
            for word in _cmake_words(command, variables):
                collected.words += ["-I", _CMAKE_FOLDERS.sub(str(file.parent), word.text)]
        elif command.name in ("add_definitions", "add_compile_definitions", "target_compile_definitions"):
            is_other = command.is_of_target and bool(targets) and arguments[0] not in targets
            for word in _cmake_words(command, variables):
                macro = f"-D{word.text.removeprefix('-D')}"
                if macro.startswith("-D-"):
                    continue
                if is_other:
                    collected.leave_out(_OTHER_TARGET, macro)
                elif word.is_conditional:
                    collected.leave_out(CONDITION, macro)
                else:
                    collected.words.append(macro)
    for words in variables.values():  # which may be given to a target elsewhere
        for word in words:
            if word.is_conditional and _CMAKE_MACRO.fullmatch(word.text):
                collected.leave_out(CONDITION, word.text)
    return collected


def _cmake_commands(text: str, options: Mapping[str, bool]) -> Iterator[_CMakeCommand]:
    conditions: list[bool | None] = []  # of the blocks around; None: not known
    earlier: list[bool | None] = []  # whether a branch before this one is taken
    for match in _CMAKE_COMMAND.finditer(_CMAKE_COMMENT.sub("", text)):
        name = match["name"].lower()
        arguments = tuple(one[0] or one[1] for one in _CMAKE_ARGUMENT.findall(match["arguments"]))
        if name == "if":
            conditions.append(_cmake_condition(arguments, options))
            earlier.append(False)
        elif name in ("foreach", "while", "function", "macro"):
            conditions.append(None)
            earlier.append(None)
        elif name in ("else", "elseif") and conditions:
            if conditions[-1] is not False:
                earlier[-1] = earlier[-1] or conditions[-1]
            value = _cmake_condition(arguments, options) if name == "elseif" else True
            conditions[-1] = value if earlier[-1] is False or value is False else None
            if earlier[-1] is True:
                conditions[-1] = False
        elif name in ("endif", "endforeach", "endwhile", "endfunction", "endmacro") and conditions:
            conditions.pop()
            earlier.pop()
        yield _CMakeCommand(name, arguments, sum(condition is not True for condition in conditions))


def _cmake_condition(arguments: Sequence[str], options: Mapping[str, bool]) -> bool | None:
    """Evaluate names with NOT, AND and OR; None where something else decides, as a comparison or a bracket."""
    alternatives: list[bool | None] = []
    for words in _split(arguments, "OR"):
        terms = [_cmake_term(term, options) for term in _split(words, "AND")]
        unknown = None if None in terms else True
        alternatives.append(False if False in terms else unknown)
    if True in alternatives:
        return True
    return None if None in alternatives else False


def _cmake_term(words: Sequence[str], options: Mapping[str, bool]) -> bool | None:
    if not words or any(word != "NOT" for word in words[:-1]):
        return None
    name = words[-1]
    value = options.get(name, _CMAKE_PLATFORM.get(name))
    if _CMAKE_CUDA.fullmatch(name):
        value = True
    if value is None:
        return None
    return value == (len(words) % 2 == 1)


def _split(words: Sequence[str], separator: str) -> list[list[str]]:
    """Split a sequence of words at a separator."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == separator:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


@lru_cache(maxsize=256)
def _cmake_options(folder: Path) -> Mapping[str, bool]:
    """Return the defaults of the options that the files of a folder and of those above it declare."""
    options: dict[str, bool] = {}
    for above in _folders(folder):
        for file in (above / "CMakeLists.txt", *sorted(above.glob("cmake/*.cmake"))):
            for command in _cmake_commands(text_of(file), {}):
                words = [word.upper() for word in command.arguments]
                value = words[2] if command.name == "option" and len(words) > 2 else "OFF"
                if command.name == "set" and len(words) > 1 and command.depth == 0:
                    value = words[1]
                elif command.name != "option" or not words:
                    continue
                if value in _CMAKE_TRUE | _CMAKE_FALSE:
                    options.setdefault(command.arguments[0], value in _CMAKE_TRUE)
    return options


def _cmake_targets(commands: Iterable[_CMakeCommand], source: Path) -> set[str]:
    """The targets that name a source among their files; empty where none does, as below a GLOB."""
    targets: set[str] = set()
    for command in commands:
        files = [Path(word).name for word in command.arguments[1:]]
        if command.name in _CMAKE_TARGETS and source.name in files:
            targets.add(command.arguments[0])
    return targets


def _cmake_words(command: _CMakeCommand, variables: Mapping[str, Sequence[_CMakeWord]]) -> Iterator[_CMakeWord]:
    """The literal words of a command: variables are replaced, generator expressions but those of the build left out."""
    given = command.arguments[1:] if command.is_of_target else command.arguments
    pending = [_CMakeWord(word, command.depth > 0) for word in given]
    for _ in range(_MOST_WORDS):
        if not pending:
            return
        word = pending.pop(0)
        of_build = re.fullmatch(r"\$<BUILD_INTERFACE:(.*)>", word.text)
        text = of_build[1] if of_build is not None else word.text
        variable = re.fullmatch(r"\$\{(\w+)\}", text)
        if text in _CMAKE_KEYWORDS or "$<" in text:
            continue
        if variable is not None and variable[1] in variables:
            inner = variables[variable[1]]
            pending[:0] = [_CMakeWord(one.text, word.is_conditional or one.is_conditional) for one in inner]
        elif "${" not in _CMAKE_FOLDERS.sub("", text):
            for part in text.split(";"):
                if part:
                    yield _CMakeWord(part, word.is_conditional)


# --- setup.py, pyproject.toml -----------------------------------------------------------------------------------------


def _read_setup(text: str, file: Path, source: Path) -> _Collected:
    return _Collected(setup_scripts.words(text, file, source))


def _read_pyproject(text: str, _file: Path, source: Path) -> _Collected:
    """Read the extension modules of setuptools."""
    collected = _Collected()
    try:
        modules = tomllib.loads(text).get("tool", {}).get("setuptools", {}).get("ext-modules", [])
    except (ValueError, AttributeError, RecursionError):
        return collected
    for module in _listed(modules):
        if not isinstance(module, dict) or source.name not in str(module.get("sources", source.name)):
            continue
        for folder in _listed(module.get("include-dirs")):
            collected.words += ["-I", str(folder)]
        for macro in _listed(module.get("define-macros")):
            name, *value = macro if isinstance(macro, list) and macro else [str(macro)]
            collected.words.append(f"-D{name}={value[0]}" if value else f"-D{name}")
    return collected


def _listed(value: object) -> list[object]:
    """The elements of a list; none of anything else, which setuptools refuses."""
    return value if isinstance(value, list) else []


# --- Makefiles --------------------------------------------------------------------------------------------------------


def _read_makefile(text: str, _file: Path, _source: Path) -> _Collected:
    """Read `-I`, `-D` and `-std` in the values of variables, and in recipes that name nvcc."""
    collected = _Collected()
    variables = {"CURDIR": ".", "PWD": "."}
    depth = 0
    for line in text.replace("\\\n", " ").splitlines():
        plain = line.split("#", 1)[0].strip()
        if re.match(r"(?:ifeq|ifneq|ifdef|ifndef)\b", plain):
            depth += 1
        elif plain.startswith("endif"):
            depth -= 1
        assignment = re.fullmatch(r"(?:override\s+|export\s+)?(\w+)\s*[+:?]*=\s*(.*)", plain)
        is_recipe = line.startswith("\t")
        if assignment is not None and not is_recipe:
            plain = assignment[2]
            variables.setdefault(assignment[1], plain)
        elif not is_recipe or "nvcc" not in plain.lower():
            continue
        for match in re.finditer(r"(?:^|\s)(-I\s*|-D\s*|-std=)(\S+)", plain):
            value = re.sub(r"\$[({](\w+)[)}]", lambda name: variables.get(name[1], name[0]), match[2])
            word = match[1].strip() + value.replace('\\"', "\x01").replace('"', "").replace("\x01", '"')
            if "$" in value:
                continue
            if depth and not word.startswith("-I"):
                collected.leave_out(CONDITION, word)
            else:
                collected.words.append(word)
    return collected


# --- Visual Studio ----------------------------------------------------------------------------------------------------


def _read_vcxproj(text: str, file: Path, _source: Path) -> _Collected:
    """Read include folders, and the definitions that all configurations have."""
    collected = _Collected()
    for value in re.findall(r"<(?:AdditionalIncludeDirectories|Include)>([^<]*)</", text):
        for part in value.split(";"):
            folder = re.sub(r"\$\((?:ProjectDir|MSBuildThisFileDirectory)\)", "./", part).replace("\\", "/").strip()
            if folder and "$(" not in folder and "%(" not in folder:
                collected.words += ["-I", os.path.normpath(file.parent / folder)]
    groups = [set(value.split(";")) for value in re.findall(r"<(?:PreprocessorDefinitions|Defines)>([^<]*)</", text)]
    if groups:
        for macro in sorted(set.intersection(*groups)):
            if macro and "(" not in macro and not _OF_WINDOWS.fullmatch(macro.partition("=")[0]):
                collected.words.append(f"-D{macro}")
    return collected
