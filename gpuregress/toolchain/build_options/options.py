"""Words of a compiler's command line, as options of NVRTC.

nvcc's spelling, GCC's and clang's are known, and `/I` and `/D` where the compiler is cl. What has no meaning for device
code on the virtual GPU is left out, with the reason.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import field

from gpuregress.foundation.records import Source
from gpuregress.gpu.records import Record, replace

MACRO_NAME = re.compile(r"[A-Za-z_]\w*")
_MOST_NESTED = 10
_EARLIEST_STANDARD = 17
_LATEST_STANDARD = 23
_OLD_NAMES = {"0x": 11, "1y": 14, "1z": 17, "2a": 20, "2b": 23, "2c": 26}

_ARCHITECTURE = "the device chooses the architecture"
_HOST = "for the host's compiler, the assembler or the linker"
_LAMBDAS = "annotated lambdas and constexpr functions of the host need no option here"

_FOLDERS = {"-I": "", "--include-path": "", "-iquote": "", "-isystem": "s", "--system-include": "s", "-idirafter": "s"}
"""Options with a folder; those of the second kind are searched after the others."""
_OF_SYSTEM = Path("/usr/include")
"""A folder that GCC searches by itself. It ignores options that name it, and its headers are the host's."""
_MACROS = {"-D": True, "--define-macro": True, "-U": False, "--undefine-macro": False}
_HEADERS = ("-include", "--pre-include")
_RESPONSES = ("--options-file", "-optf")
_STANDARDS = ("-std", "--std")
_NUMERIC = ("use_fast_math", "ftz", "prec-div", "prec-sqrt", "fmad")
"""Options that decide results; NVRTC has them under the same names."""
_WITH_VALUE = {
    **dict.fromkeys(
        ("-gencode", "--generate-code", "-arch", "--gpu-architecture", "-code", "--gpu-code"), _ARCHITECTURE
    ),
    **dict.fromkeys(("-Xcompiler", "--compiler-options", "-Xptxas", "--ptxas-options", "-Xlinker", "-Xnvlink"), _HOST),
    **dict.fromkeys(("-ccbin", "--compiler-bindir", "-maxrregcount", "--maxrregcount", "-O", "--optimize"), _HOST),
    **dict.fromkeys(("-L", "--library-path", "-l", "--library", "-Xcudafe", "-Xfatbin", "-Xarchive", "-mllvm"), _HOST),
    **dict.fromkeys(("-o", "--output-file", "-x", "-MF", "-MT", "-MQ", "-odir", "--output-directory", "-t"), ""),
    **dict.fromkeys(("--threads", "-diag-suppress", "--diag-suppress", "-Werror", "-target", "--sysroot"), ""),
    **dict.fromkeys(("-isysroot", "-arch-list", "--keep-dir", "-keep-dir", "--launcher", "-cudart", "--cudart"), ""),
}
"""Options whose value may be the next word, and why they are left out; "": nobody misses them."""
_LAMBDA_OPTIONS = re.compile(r"-{1,2}(?:expt-)?(?:extended-lambda|relaxed-constexpr)")
_QUIET = re.compile(
    r"-(?:c|dc|dw|MM?D?|MP|cuda|g|lineinfo|-generate-line-info|v|w|E|-)|-W.*|-{1,2}(?:forward|keep).*|-std=.*"
)


class BuildOptions(Record):
    """The options of a source in a build.

    Attributes:
        include: folders, absolute, in the order of the search.
        defines: macro → its text.
        options: for NVRTC.
        left_out: reason → the words that have no effect here.
        origin: where they come from, in words; "" where there are none.
    """

    include: tuple[Path, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    origin: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether they change nothing."""
        return not (self.include or self.defines or self.options)

    def applied_to(self, source: Source) -> Source:
        """Return a source with these options below its own: its folders come first, its macros and options win."""
        if self.is_empty:
            return source
        include = (*source.include, *(str(folder) for folder in self.include))
        given = {flag(option) for option in source.options}
        options = tuple(option for option in self.options if flag(option) not in given)
        return replace(
            source,
            include=tuple(dict.fromkeys(include)),
            defines={**self.defines, **source.defines},
            options=(*options, *source.options),
        )

    @property
    def summary(self) -> str:
        """What is taken, as a command line has it, with folders from the working folder."""
        here = Path.cwd()
        words = [f"-I {folder.relative_to(here) if folder.is_relative_to(here) else folder}" for folder in self.include]
        words += [f"-D{name}={text}" if text else f"-D{name}" for name, text in self.defines.items()]
        return " ".join((*words, *self.options))


NO_OPTIONS = BuildOptions()


def flag(option: str) -> str:
    """Return the name of an option, equal for all of its spellings: `-std=c++20` and `--std=c++17` have one."""
    return option.partition("=")[0].lstrip("-")


def from_words(words: Sequence[str], folder: Path, origin: str, compiler: str = "") -> BuildOptions:
    """Translate the words of a command line.

    Args:
        words: without the compiler.
        folder: in which the command runs; relative paths begin there.
        origin: where they come from.
        compiler: its path.
    """
    return _Translation(folder, compiler).translated(words, origin)


class _Words:
    """The words of a command line, of which an option may take the next one."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._position = 0

    def __iter__(self) -> Iterator[str]:
        """The iterator is the words themselves."""
        return self

    def __next__(self) -> str:
        """Take a word."""
        if self._position >= len(self._words):
            raise StopIteration
        self._position += 1
        return self._words[self._position - 1]

    @property
    def next_word(self) -> str:
        """The next word, which stays; "" at the end."""
        return self._words[self._position] if self._position < len(self._words) else ""


class _Translation:
    """One command line."""

    def __init__(self, folder: Path, compiler: str) -> None:
        name = Path(compiler.replace("\\", "/")).stem.lower()
        self._folder = folder
        self._is_nvcc = "nvcc" in name
        self._is_microsoft = name in ("cl", "clang-cl")
        self._include: dict[Path, None] = {}
        self._system: dict[Path, None] = {}
        self._defines: dict[str, str] = {}
        self._options: dict[str, str] = {}
        self._headers: list[str] = []
        self._left_out: dict[str, dict[str, None]] = {}

    def translated(self, words: Sequence[str], origin: str) -> BuildOptions:
        self._read(words, 0)
        for folder in self._system:
            self._include.setdefault(folder)
        headers = [f"-include={header}" for header in dict.fromkeys(self._headers)]
        return BuildOptions(
            include=tuple(self._include),
            defines=self._defines,
            options=(*self._options.values(), *headers),
            left_out={reason: tuple(words) for reason, words in self._left_out.items()},
            origin=origin,
        )

    def _read(self, words: Sequence[str], depth: int) -> None:
        rest = _Words(words)
        for word in rest:
            if word.startswith("@") and len(word) > 1:
                self._read_response(word[1:], depth)
            elif self._is_microsoft and re.match(r"[/-](?:external:)?[ID]", word):
                name = re.sub(r"^[/-](?:external:)?", "-", word)
                self._take(name[:2], name[2:] or next(rest, ""))
            elif word.startswith("-"):
                self._read_option(word, rest, depth)

    @staticmethod
    def _next(name: str, rest: _Words) -> str:
        """Take the next word as the value of an option; another option is the value of few."""
        may_be_option = name.startswith(("-X", "--compiler-options", "--ptxas-options", "-M"))
        if not may_be_option and (rest.next_word or "-").startswith("-"):
            return ""
        return next(rest, "")

    def _read_option(self, word: str, rest: _Words, depth: int) -> None:
        name, has_value, value = word.partition("=")
        known = (*_FOLDERS, *_MACROS, *_HEADERS, *_RESPONSES, *_STANDARDS, *_WITH_VALUE)
        if name not in known and flag(name) not in _NUMERIC:
            for prefix in ("-isystem", "-iquote", "-idirafter", "-I", "-D", "-U", "-L", "-l", "-O", "-o", "-x"):
                if word.startswith(prefix):
                    name, has_value, value = prefix, "=", word[len(prefix) :]
                    break
        elif name in ("-D", "-U", "-I") and has_value:  # nvcc: `-D=NAME`
            value = word[len(name) + 1 :]
        takes_next = name in known or (flag(name) in _NUMERIC and flag(name) != "use_fast_math")
        if takes_next and not has_value:
            value = self._next(name, rest)
        if name in _RESPONSES:
            for path in value.split(","):
                self._read_response(path, depth)
        elif name in _WITH_VALUE:
            self._leave_out(_WITH_VALUE[name], word if has_value else f"{word} {value}")
        elif name in known or flag(name) in _NUMERIC:
            self._take(name, value)
        elif _LAMBDA_OPTIONS.fullmatch(word):
            self._leave_out(_LAMBDAS, word)
        elif not _QUIET.fullmatch(word):
            self._leave_out(_HOST, word)

    def _take(self, name: str, value: str) -> None:
        if name in _FOLDERS:
            for folder in self._listed(value):
                path = Path(os.path.normpath(self._folder / folder))
                if path != _OF_SYSTEM:
                    target = self._system if _FOLDERS[name] else self._include
                    target[path] = None
        elif name in _MACROS:
            for macro in self._listed(value):
                self._define(macro, is_defined=_MACROS[name])
        elif name in _HEADERS:
            beside = self._folder / value
            self._headers.append(str(beside) if beside.is_file() else value)
        elif name in _STANDARDS:
            self._take_standard(value)
        elif flag(name) == "use_fast_math":
            if value.lower() not in ("false", "0"):
                self._options["use_fast_math"] = "--use_fast_math"
        else:
            self._options[flag(name)] = f"--{flag(name)}={value}"

    def _listed(self, value: str) -> list[str]:
        """Split the value of an option of nvcc, whose folders and macros may have commas between them."""
        parts = value.split(",")
        is_list = self._is_nvcc and all(re.match(r"[A-Za-z_./]", part) for part in parts)
        return parts if is_list else [value]

    def _define(self, macro: str, *, is_defined: bool) -> None:
        name, has_text, text = macro.partition("=")
        if not MACRO_NAME.fullmatch(name):
            self._leave_out("a macro with parameters cannot be a key of compile.defines", f"-D{macro}")
        elif is_defined:
            self._defines[name] = (text or " ") if has_text else ""  # in a job, "" stands for -DNAME, which is 1
        else:
            self._defines.pop(name, None)

    def _take_standard(self, value: str) -> None:
        match = re.fullmatch(r"(?:c|gnu)\+\+(\w+)", value)
        if match is None:
            self._leave_out("no standard of C++", f"-std={value}")
            return
        number = _OLD_NAMES.get(match[1]) or (int(match[1]) if match[1].isdigit() else 0)
        self._options.pop("std", None)
        if not _EARLIEST_STANDARD <= number <= _LATEST_STANDARD:
            reason = f"NVRTC and CUDA's headers take C++{_EARLIEST_STANDARD} to C++{_LATEST_STANDARD}"
            self._leave_out(reason, f"-std={value}")
        elif number != _EARLIEST_STANDARD:  # the default
            self._options["std"] = f"-std=c++{number}"

    def _read_response(self, path: str, depth: int) -> None:
        """Read a file of further words; paths in it begin in the folder of the command."""
        try:
            text = (self._folder / path).read_text(encoding="utf-8", errors="replace")
            words = shlex.split(text, comments=False)
        except OSError as error:
            self._leave_out(f"the file cannot be read: {error.strerror or error}", f"@{path}")
        except ValueError as error:
            self._leave_out(f"the file cannot be read: {error}", f"@{path}")
        else:
            if depth < _MOST_NESTED:
                self._read(words, depth + 1)

    def _leave_out(self, reason: str, word: str) -> None:
        if reason:
            self._left_out.setdefault(reason, {})[word] = None
