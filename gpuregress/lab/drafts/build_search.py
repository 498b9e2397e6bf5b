"""Search for the options with which a source is compiled, for its drafts.

They come from the compilation database that is given, or else from what build files spell out. Then the source is
compiled: a header that is missing and that one folder of the clone has brings this folder, and a later standard of C++
is taken where it helps. What changes nothing is left out again, so that a draft has what it needs.
"""

from __future__ import annotations

import contextlib
import filecmp
import functools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gpuregress.foundation import storage
from gpuregress.foundation.errors import CompileError, GpuregressError, Interrupted, UnknownNames, UsageError
from gpuregress.foundation.records import Source
from gpuregress.foundation.wording import first_names
from gpuregress.gpu.records import Record, replace
from gpuregress.lab.drafts import first_programs, kernel
from gpuregress.lab.drafts.launch_facts import include_folders
from gpuregress.lab.host_programs import program
from gpuregress.session import compilation
from gpuregress.store.project import Project
from gpuregress.toolchain import compiler_messages, include_scanner, programs
from gpuregress.toolchain.build_options import build_files
from gpuregress.toolchain.build_options.database import CompileCommands
from gpuregress.toolchain.build_options.options import NO_OPTIONS, BuildOptions
from gpuregress.toolchain.functions import harness
from gpuregress.toolchain.headers import header_search, host_headers, made_headers, virtual_headers
from gpuregress.toolchain.host_code import reachability
from gpuregress.toolchain.host_code.preprocessing import CxxText
from gpuregress.toolchain.include_scanner import SUFFIXES

_MOST_HEADERS = 40
"""Missing headers that are looked for, one after the other."""
_OF_AMD = re.compile(r"(?:hip|hipcub|hipblas|rocprim|rocrand|rocthrust|rocblas)/")
_MOST_NAMED = 6
_MOST_INCLUDING = 3
"""Files that include a source which does not compile by itself, and that are tried in its place."""
_OF_LIBRARIES = re.compile(r"__CUDA|CUB_|THRUST_|CCCL_|_CCCL|_?LIBCUDACXX|NDEBUG")
"""Macros that CUDA's own headers read."""
_CONDITIONS = re.compile(r"^[ \t]*#[ \t]*(?:el)?if(?:def|ndef)?\b(.*)", re.MULTILINE)
_EXPORT = re.compile(
    r"\b(?:class|struct|union)[ \t]+(?P<of_class>[A-Z]\w*_(?:API|DEPRECATED|(?:NO_)?EXPORTS?|PUBLIC))[ \t]+[A-Za-z_]"
    r"|^[ \t]*(?:extern[ \t]+)?(?P<of_function>[A-Z]\w*_(?:API|DEPRECATED|(?:NO_)?EXPORTS?|PUBLIC))[ \t]+[A-Za-z_]",
    re.MULTILINE,
)
"""A macro before a class or function, as a header has them that a build generates for its libraries."""
_BUILD_FILES = ("*.py", "*.cmake", "CMakeLists.txt", "*akefile*", "*.mk", "*.sh", "*.bzl", "BUILD*", "*.md", "*.ya*ml")
_MOST_BUILD_FILES = 500
_OF_GPU = re.compile(r"CUDA|GPU|NVCC", re.IGNORECASE)
"""A macro that may choose the code for GPUs; others choose among processors."""
_OF_COMPILER = re.compile(r"_|CUDA(?:RT)?_VERSION|NVCC|NDEBUG")
_UNDEFINED = re.compile(r'error: (?:identifier|name) "(\w+)" is undefined')
_CUDA_OPTION = re.compile(r"(?:[A-Z]\w*_)?(?:BUILD|ENABLE|HAS|HAVE|USE|WITH)_CUDA")
"""A macro that a build defines where it compiles sources in CUDA."""


class FoundBuild(Record):
    """The options of a source, and notes on them.

    Attributes:
        options: to compile with.
        notes: lines.
        missing_header: the name of a header that nothing gives, "" where all are there.
        is_compiled: whether the source compiles with them.
        whole: the file to compile instead, which includes the source and compiles; None: the source itself.
    """

    options: BuildOptions = NO_OPTIONS
    notes: tuple[str, ...] = ()
    missing_header: str = ""
    is_compiled: bool = True
    whole: Path | None = None


def find(
    project: Project,
    source: Path,
    commands: Path | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> FoundBuild:
    """Find the options of a source.

    Args:
        project: whose settings may name a compilation database.
        source: in CUDA C++.
        commands: the database that the command line names.
        meanwhile: is called once while the compiler is busy.

    Raises:
        UsageError: a database cannot be read; or the one of the command line has no entry for the source.
        Interrupted: the user asked to stop.
    """
    found = _found(project, source.absolute(), commands, meanwhile)
    if found.is_compiled or found.missing_header:
        return found
    for including in program.includers(source.absolute())[:_MOST_INCLUDING]:
        if including.suffix not in SUFFIXES:
            continue
        whole = _found(project, including)
        if whole.is_compiled:
            name = compiler_messages.shown(including)
            note = f"{source.name} does not compile by itself: its jobs compile {name}, which includes it"
            return replace(whole, notes=(note, *whole.notes), whole=including)
    return found


def _found(
    project: Project,
    source: Path,
    commands: Path | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> FoundBuild:
    """Find the options of one file, whatever includes it."""
    options = NO_OPTIONS
    if commands is not None:
        options = CompileCommands(commands.absolute()).options_for(source)
        if not options.origin:
            raise UsageError(
                f"{commands} has no entry for {compiler_messages.shown(source)}, and no source in it includes that "
                "file: configure the build with it, or leave --compile-commands out"
            )
    elif project.compile_commands is not None:
        options = CompileCommands(project.compile_commands).options_for(source)
    is_of_database = bool(options.origin)
    if not is_of_database:
        options = build_files.combined(build_files.options_for(source))
    return _Search(project, source, options, meanwhile, is_of_database=is_of_database).found()


class _Search:
    """The search for the options of one source."""

    def __init__(
        self,
        project: Project,
        source: Path,
        options: BuildOptions,
        meanwhile: Callable[[], object] | None,
        *,
        is_of_database: bool,
    ) -> None:
        self._source = source
        self._meanwhile = meanwhile
        self._given = replace(options, defines=_taken_macros(options))
        self._folders: dict[Path, str] = {}
        self._standard: tuple[str, ...] = ()
        self._missing = ""
        self._error = ""  # of the compiler, with files in place of missing headers
        self._absent: dict[str, Path | None] = {}
        self._earlier: set[str] = set()
        self._stand_ins = project.configs / header_search.STAND_INS
        self._guessed: dict[str, str] = {}
        self._elsewhere: dict[str, Path] = {}
        self._exports: set[str] = set()  # macros among them that nothing defines
        self._classes = ""
        if not is_of_database:
            self._folders = dict.fromkeys(include_folders(self._files(self._given)), "")

    def found(self) -> FoundBuild:
        cuda_options = self._cuda_options()
        self._guessed.update(cuda_options)
        is_compiled = self._compile()
        if not is_compiled and cuda_options:
            self._guessed.clear()
            self._missing = ""
            is_compiled = self._compile()
        needed = self._needed()
        self._add_earlier_stand_ins(needed)
        notes: list[str] = []
        origins: list[str] = []
        taken = self._only_given(needed)
        if self._given.origin and not taken.is_empty:
            notes.append(f"compile options from {self._given.origin}: {taken.summary}")
            origins.append(f"from {self._given.origin}")
        for folder in needed.include:
            header = self._folders.get(folder, "")
            if header:
                place = f"{header} is in {compiler_messages.shown(folder)}"
                others = self._other_copies(header, folder)
                if others:
                    place = f"NEEDED: {place}, and another one in {first_names(others)}"
                    notes.append(f"{place}: -I is added for the nearest, which is a guess")
                else:
                    notes.append(f"{place} of this clone: -I is added")
                origins.append(place)
        for name, text in self._guessed.items():
            macro = f"-D{name}={text}" if text else f"-D{name}"
            reason = "the build defines it on a condition, and the source asks for it"
            if name in cuda_options:
                reason = "the source asks for it and compiles with it"
            elif name in self._elsewhere:
                reason = f"{compiler_messages.shown(self._elsewhere[name])} defines it, and the source asks for it"
            elif name in self._exports:
                macro = f"-D{name}="
                reason = "a header that the build makes defines it"
            notes.append(f"NEEDED: {macro} is a guess: {reason}")
            origins.append(f"NEEDED: {macro} is a guess")
        if self._standard:
            notes.append(f"it compiles as C++20 and not as C++17: {self._standard[0]} is added")
        if self._missing:
            notes.append(f"NEEDED: {self._missing}, {self._remedy(self._missing)}")
            if self._error:
                notes[-1] += f"; with a file in its place the source does not compile: {self._error}"
        if self._absent and not self._missing:
            notes += self._notes_on_stand_ins()
            origins.append(
                f"NEEDED: {first_names(list(self._absent))}, for which files in {self._stand_ins.name}/ stand in"
            )
        left_out = [f"{first_names(words)} ({reason})" for reason, words in self._left_out().items()]
        if left_out:
            notes.append(f"left out of {self._given.origin or 'the build files'}: {'; '.join(left_out)}")
        return FoundBuild(
            replace(needed, origin="; ".join(origins)), tuple(notes), self._missing, is_compiled=is_compiled
        )

    def _other_copies(self, header: str, folder: Path) -> list[str]:
        """List the other folders of the clone with a header of this name and other contents."""
        others: list[str] = []
        for other in header_search.all_folders_with(header, self._source.parent):
            with contextlib.suppress(OSError):  # the compiler could not read it either
                if not filecmp.cmp(folder / header, other / header, shallow=False):
                    others.append(compiler_messages.shown(other))
        return others

    def _add_earlier_stand_ins(self, options: BuildOptions) -> None:
        """Add the stand-ins that an earlier draft left and that the source includes, too."""
        folder = self._stand_ins.resolve()
        for path in self._files(options):
            if path.resolve().is_relative_to(folder):
                header = path.resolve().relative_to(folder).as_posix()
                if header not in self._absent:
                    self._earlier.add(header)
                    self._absent[header] = header_search.origin_of(header, self._source.parent)

    def _notes_on_stand_ins(self) -> list[str]:
        """Write a line for each header that a file stands in for; headers of one library share theirs."""
        alike: dict[tuple[str, str, bool], list[str]] = {}
        for header, made_from in self._absent.items():
            kind = "" if made_from is None else made_from.suffix
            library = "" if kind == ".proto" else header.rpartition("/")[0].partition("/")[0]
            group = (kind, library or kind or header, header in self._earlier)
            alike.setdefault(group, []).append(header)
        notes: list[str] = []
        for header, *others in alike.values():
            made_from = self._absent[header]
            contents = "is empty"
            if header in self._earlier:
                contents = "is left as it was"
            elif made_from is None and self._classes:
                contents = "declares the classes that the source's files name"
            elif made_from is not None and made_from.suffix == ".proto":
                contents = f"has the enumerations of {made_from.name}"
            elif made_from is not None:
                contents = f"has no option of {made_from.name} on but those of CUDA"
            stand_in = f"{compiler_messages.shown(self._stand_ins)}/{header}"
            note = f"NEEDED: {header}, {self._remedy(header)}; {stand_in} stands in for it and {contents}"
            if others:
                note += f"; it is the same with {first_names(others)}"
            notes.append(note)
        return notes

    def _remedy(self, header: str) -> str:
        """Say where a header comes from, and what brings it."""
        if _OF_AMD.match(header):
            return "which is AMD's: this source is for HIP; name the one for CUDA that the project may have"
        given = "and name its folder with --compile-commands or in compile.include"
        made_from = header_search.origin_of(header, self._source.parent)
        if made_from is not None:
            return f"which the build makes from {compiler_messages.shown(made_from)}: build the project, {given}"
        folders = header_search.folders_with(header, self._source.parent)
        if len(folders) > 1:
            places = first_names([compiler_messages.shown(folder) for folder in folders])
            return f"which this clone has in {places}: name the folder with --compile-commands or in compile.include"
        command = header_search.bringing_command(header, self._source.parent)
        if command:
            return f"of a submodule that this clone does not hold: `{command}` brings it"
        return f"which this clone does not hold: build the project, which may bring it, {given}"

    @property
    def _options(self) -> BuildOptions:
        return replace(
            self._given,
            include=tuple(dict.fromkeys((*self._given.include, *self._folders))),
            defines={**self._given.defines, **self._guessed},
            options=(*self._given.options, *self._standard),
        )

    def _files(self, options: BuildOptions) -> tuple[Path, ...]:
        try:
            return programs.inputs(options.applied_to(Source(str(self._source)))).files
        except OSError:
            return (self._source,)

    def _cuda_options(self) -> dict[str, str]:
        """Return the macros that turn CUDA on, as far as the source's files ask for them and nothing defines them."""
        options: dict[str, str] = {}
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in self._files(self._options)]
        for text in texts:
            for condition in _CONDITIONS.findall(text):
                options.update(dict.fromkeys(filter(_CUDA_OPTION.fullmatch, re.findall(r"\w+", condition)), ""))
        for name in list(options):
            is_defined = any(re.search(rf"#[ \t]*define[ \t]+{name}\b", text) for text in texts)
            if name in self._given.defines or is_defined:
                del options[name]
        return options

    def _compile(self) -> bool:
        """Compile the source, and add what is missing; tell whether it compiles."""
        names = self._plain_kernels()
        for _ in range(_MOST_HEADERS):
            # With what the drafts are compiled with: the compiler's process then knows the source.
            source = self._needed().applied_to(Source(str(self._source), harness=harness.NOTHING))
            if names:
                source = replace(source, harness="", kernels=(names[0],))
            ahead = first_programs.made_for_types(source, names)
            try:
                meanwhile, self._meanwhile = self._meanwhile, None
                compilation.compile_source(source, ahead=ahead, meanwhile=meanwhile)
            except Interrupted:
                raise
            except UnknownNames:
                names = names[1:]
            except CompileError as error:
                if not self._add(error):
                    self._error = str(error).partition("\n")[0] if self._absent else ""
                    break
                if error.missing_headers:
                    self._find_headers()
            except GpuregressError:
                break
            else:
                self._missing = ""
                return True
        self._remove_stand_ins()
        return False

    def _find_headers(self) -> None:
        """Add what else is missing, as far as the directives tell: errors in the code would hide it."""
        for _ in range(_MOST_HEADERS):
            source = self._needed().applied_to(Source(str(self._source), harness=harness.DIRECTIVES))
            try:
                compilation.compile_source(source)
            except Interrupted:
                raise
            except CompileError as error:
                if not self._add_all(error.missing_headers):
                    return
            except GpuregressError:
                return
            else:
                return

    def _add_all(self, headers: Sequence[str]) -> bool:
        """Add headers up to the first that may include others, or define a macro; tell whether there is such a one."""
        for header in headers:
            if header in self._absent:
                continue
            if not self._add_header(header):
                return False
            made_from = self._absent.get(header)
            if header not in self._absent or (made_from is not None and made_from.suffix != ".proto"):
                return True
        return False

    def _add(self, error: CompileError) -> bool:
        """Add what an error asks for; tell whether there was anything."""
        if error.standard and not self._standard:
            self._standard = (f"-std={error.standard}",)
            return True
        if not error.missing_headers:
            return self._add_conditional(str(error)) or self._add_exports() or self._add_elsewhere(str(error))
        header, *_ = error.missing_headers
        return self._add_header(header)

    def _add_header(self, header: str) -> bool:
        """Add the one folder that has a header, or a file in place of it; tell whether it is there then."""
        folders = header_search.folders_with(header, self._source.parent)
        if len(folders) != 1 or folders[0] in self._options.include:
            self._missing = self._missing or header
            return not folders and self._stand_in(header)
        self._folders[folders[0]] = header
        # A library in the clone has build files of its own, whose macros its headers ask for.
        for part in build_files.options_for(folders[0] / header):
            conditional = (*part.left_out.get(build_files.CONDITION, ()), *(_words(part.defines)))
            known = self._given.left_out.get(build_files.CONDITION, ())
            left_out = {**self._given.left_out, build_files.CONDITION: (*known, *conditional)}
            self._given = replace(self._given, left_out=left_out)
        return True

    def _stand_in(self, header: str) -> bool:
        """Write a file in place of a header that the clone does not hold, and of the others of its library.

        All whose contents nothing tells declare the classes that the source's files name of unknown namespaces. Where
        the kernels then do not compile, these files are removed, and the header is what is missing. A file that is
        there, as for another source, is left as it is.
        """
        library, has_folder, _ = header.partition("/")
        form = re.compile(rf'^[ \t]*#[ \t]*include[ \t]*["<]({re.escape(library)}/[^">]+)', re.MULTILINE)
        headers = {header}
        try:
            for path in self._files(self._options) if has_folder else ():
                for name in form.findall(path.read_text(encoding="utf-8", errors="replace")):
                    is_shim = bool(host_headers.shims([name])) or name in virtual_headers.HEADERS
                    if not is_shim and not header_search.folders_with(name, self._source.parent):
                        headers.add(name)
            for name in sorted(headers - self._absent.keys()):
                made_from = header_search.origin_of(name, self._source.parent)
                text = "" if made_from is None else made_headers.text_of(made_from)
                path = self._stand_ins / name
                if ".." in path.parts:
                    return False
                if path.exists():
                    self._earlier.add(name)
                else:
                    storage.write_atomic(path, text.encode())
                self._absent[name] = made_from
            include_scanner.forget_files()
            self._folders[self._stand_ins] = ""
            known = [self._stand_ins / name for name in self._earlier]
            untold = [self._stand_ins / name for name, made_from in self._absent.items() if made_from is None]
            untold = [path for path in untold if path not in known]
            files = [path for path in self._files(self._options) if path not in (*known, *untold)]
            texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
            self._classes = made_headers.opaque_classes(texts, reachability.KNOWN_NAMESPACES)
            for path in untold:
                storage.write_atomic(path, self._classes.encode())
        except OSError:
            return False
        finally:
            include_scanner.forget_files()
        return True

    def _remove_stand_ins(self) -> None:
        for name in self._absent.keys() - self._earlier:
            (self._stand_ins / name).unlink(missing_ok=True)
        for folder, _, _ in os.walk(self._stand_ins, topdown=False):
            with contextlib.suppress(OSError):  # it has other files
                Path(folder).rmdir()
        include_scanner.forget_files()
        self._absent.clear()
        self._folders.pop(self._stand_ins, None)

    def _add_exports(self) -> bool:
        """Define the macros of libraries' exports that nothing defines as nothing; tell whether there were any."""
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in self._files(self._options)]
        names: dict[str, None] = {}
        for text in texts:
            names.update(dict.fromkeys(match[1] or match[2] for match in _EXPORT.finditer(text)))
        for name in list(names):
            is_defined = any(re.search(rf"#[ \t]*define[ \t]+{name}\b", text) for text in texts)
            if is_defined or name in self._options.defines:
                del names[name]
        self._guessed.update(dict.fromkeys(names, " "))
        self._exports.update(names)
        return bool(names)

    def _add_elsewhere(self, message: str) -> bool:
        """Define a macro that an undefined name is or depends on, as another file of the clone gives it to nvcc."""
        texts = [CxxText(path.read_text(encoding="utf-8", errors="replace")) for path in self._files(self._options)]
        macros: dict[str, None] = {}
        for name in _UNDEFINED.findall(message):
            macros[name] = None
            for text in texts:
                macros.update(dict.fromkeys(filter(_OF_GPU.search, _conditions_around(name, text))))
        for macro in macros:
            if (
                _OF_COMPILER.match(macro)
                or macro in self._options.defines
                or any(macro in text.macros for text in texts)
            ):
                continue
            for path, content in self._build_files.items():
                value = build_files.definition_in(content, macro)
                if value is not None and not virtual_headers.breaks_headers(macro, value):
                    self._guessed[macro] = value
                    self._elsewhere[macro] = path
                    return True
        return False

    @functools.cached_property
    def _build_files(self) -> Mapping[Path, str]:
        """The files of the clone that may have a compiler's options, the nearest first, and their texts."""
        paths = header_search.named(_BUILD_FILES, self._source.parent)[:_MOST_BUILD_FILES]
        return {path: build_files.text_of(path) for path in paths}

    def _add_conditional(self, message: str) -> bool:
        """Add the first of the definitions below a condition whose macro an error names."""
        words = set(re.findall(r"\w+", message))
        for definition in self._given.left_out.get(build_files.CONDITION, ()):
            name, has_text, text = definition.removeprefix("-D").partition("=")
            if name not in words or name in self._options.defines or virtual_headers.breaks_headers(name, text):
                continue
            self._guessed[name] = (text or " ") if has_text else ""
            return True
        return False

    def _plain_kernels(self) -> list[str]:
        """The kernels of the source that are no templates, of which one program has all."""
        text = self._source.read_text(encoding="utf-8", errors="replace")
        return kernel.plain_kernels(text)

    def _needed(self) -> BuildOptions:
        """The options without folders and macros that change nothing."""
        options = self._options
        bare = Source(str(self._source))
        try:
            inputs = programs.inputs(options.applied_to(bare))
            for folder in reversed(options.include):
                include = tuple(other for other in options.include if other != folder)
                without = replace(options, include=include)
                reduced = programs.inputs(without.applied_to(bare))
                if (reduced.contents, reduced.structure) == (inputs.contents, inputs.structure):
                    options = without
        except OSError:
            return options
        words = {word for content in inputs.contents for word in re.findall(rb"[A-Za-z_]\w*", content)}
        unused = [name for name in options.defines if name.encode() not in words and not _OF_LIBRARIES.match(name)]
        defines = dict(options.defines)
        for name in unused:
            del defines[name]
        return replace(options, defines=defines)

    def _only_given(self, needed: BuildOptions) -> BuildOptions:
        """What comes of the database or the build files."""
        include = tuple(folder for folder in needed.include if folder in self._given.include)
        defines = {name: text for name, text in needed.defines.items() if name not in self._guessed}
        return replace(needed, include=include, defines=defines, options=self._given.options)

    def _left_out(self) -> dict[str, Sequence[str]]:
        """The words without an effect here; of macros those that the source's files name."""
        words: set[bytes] = set()
        for path in self._files(self._options):
            if path.is_file():
                words.update(re.findall(rb"\w+", path.read_bytes()))
        left_out: dict[str, Sequence[str]] = {}
        for reason, options in self._given.left_out.items():
            named: list[str] = []
            for option in options:
                macro = re.match(r"-D(\w+)", option)
                if macro is None or macro[1].encode() in words:
                    named.append(option)
            if named:
                left_out[reason] = named
        return left_out


def _conditions_around(name: str, text: CxxText) -> list[str]:
    """List the words of the conditions of a text around a name."""
    form = re.compile(rf"\b{name}\b")
    words: dict[str, None] = {}
    for conditional in text.conditionals:
        if form.search(text.code, conditional.start, conditional.end):
            for condition in _CONDITIONS.findall(text.text[conditional.start : conditional.end]):
                words.update(dict.fromkeys(re.findall(r"[A-Za-z_]\w*", condition)))
    words.pop("defined", None)
    return list(words)


def _words(defines: Mapping[str, str]) -> list[str]:
    """Write macros as words of a command line."""
    return [f"-D{name}={text}" if text else f"-D{name}" for name, text in defines.items()]


def _taken_macros(options: BuildOptions) -> dict[str, str]:
    """The macros that a job may define: others break the compiler's own headers."""
    return {name: text for name, text in options.defines.items() if not virtual_headers.breaks_headers(name, text)}
