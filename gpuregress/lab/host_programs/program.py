"""HostFiles of a source for its interpretation: the source, its headers, and its callers beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tree_sitter import Node

from gpuregress.foundation.user_home import home
from gpuregress.gpu.records import Record
from gpuregress.lab.host_programs import conditions, structures
from gpuregress.lab.host_programs.structures import StructureDefinition
from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.host_code import declarations, grammar
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText, Macro, Macros, has_annotation, without_strings

_SUFFIXES = (".cu", ".cpp", ".cc", ".cxx", ".c")
_MOST_FILES = 40
_MOST_BESIDE = 200
_MOST_CHARACTERS = 1_000_000
_FOLDERS = ("", "include", "inc", "Common", "common", "src", "utils", "util")
_MOST_PARENTS = 6
_INCLUDE = re.compile(r'\s*"([^"\n]+)"')
_INSTANTIATION = re.compile(r"\btemplate\s+[\w:*& ]+?\b(\w+)\s*<([^<>;{}()]+)>\s*\(")
_VARIABLE = re.compile(r"\b__(?:constant|device|managed)__\b")


class ParameterOfHost(Record):
    """A parameter of a host function; `type` without `const` and `&`."""

    name: str
    type: str
    is_reference: bool
    default: Node | None


class HostFunction(Record):
    """A function that runs on the host, with the file that defines it."""

    name: str
    template: tuple[str, ...]
    parameters: tuple[ParameterOfHost, ...]
    body: Node
    path: Path
    words: frozenset[str]

    @property
    def has_launch(self) -> bool:
        """Whether its own text has a launch."""
        return next(grammar.everywhere(self.body, "kernel_call_syntax"), None) is not None or bool(
            self.words & {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelEx"}
        )


class ConstantVariable(Record):
    """A `__constant__` or `__device__` variable: its type, and the nodes of its sizes."""

    name: str
    type: str
    sizes: tuple[Node, ...]
    where: str


@dataclass(slots=True)
class HostFiles:
    """What the files of a program define.

    Attributes:
        functions: of the host, by name.
        variables: nodes of declarations at namespace scope, each with its file.
        enumerators: nodes of enumerations.
        macros: by name.
        aliases: of types.
        structures: that are no templates, by name.
        instances: function template → the arguments of its first explicit instantiation.
        symbols: `__constant__` and `__device__` variables by name.
        kernels: those of the source itself, then those of files that it includes.
        own_kernels: the number of those of the source.
        device_words: words of device code, and of what it is made of.
        launching: the host functions that launch a kernel, or call one that does.
        files: that were read; the source is the first.
        texts: of the files.
    """

    functions: dict[str, list[HostFunction]] = field(default_factory=dict)
    variables: list[tuple[Node, Path]] = field(default_factory=list)
    enumerators: list[Node] = field(default_factory=list)
    macros: dict[str, Macro] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    structures: dict[str, StructureDefinition] = field(default_factory=dict)
    instances: dict[str, tuple[str, ...]] = field(default_factory=dict)
    symbols: dict[str, ConstantVariable] = field(default_factory=dict)
    kernels: tuple[Declaration, ...] = ()
    own_kernels: int = 0
    device_words: frozenset[str] = frozenset()
    launching: frozenset[str] = frozenset()
    files: tuple[Path, ...] = ()
    texts: tuple[str, ...] = ()

    def kernel(self, name: str) -> Declaration | None:
        """Find a kernel by its name, with or without namespaces."""
        last = name.rpartition("::")[2]
        return next((one for one in self.kernels if one.name.rpartition("::")[2] == last), None)


def read(source: Path) -> HostFiles:
    """Read a source and what belongs to it; a file that cannot be read is left out."""
    included = dict(_included(source, {}))
    texts = dict(included)
    first = _Reader(texts)
    first.read()
    program = first.program
    launching = {one for one in _launching(program) if one != "main"}
    if "main" not in program.functions and launching:
        for path in _callers(source, launching, texts):
            texts |= dict(_included(path, texts))
        again = _Reader(texts)
        again.read()
        program = again.program
    program.launching = frozenset(_launching(program))
    program.files, program.texts = tuple(texts), tuple(texts.values())
    _find_kernels(program, source, included)
    return program


def _find_kernels(program: HostFiles, source: Path, texts: Mapping[Path, str]) -> None:
    own = cxx_declarations.declarations(texts.get(source, ""))
    found = {(one.name, one.type_words): one for one in own}
    for path, text in texts.items():
        if path != source and "__global__" in text:
            for one in cxx_declarations.declarations(text):
                found.setdefault((one.name, one.type_words), one)
    program.kernels, program.own_kernels = tuple(found.values()), len(own)


def _included(path: Path, known: Mapping[Path, str]) -> Iterator[tuple[Path, str]]:
    """List a file and those that it includes in quotes, each once."""
    seen, pending = set(known), [path]
    while pending and len(seen) < _MOST_FILES:
        one = pending.pop(0)
        if one in seen:
            continue
        seen.add(one)
        try:
            text = one.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if len(text) > _MOST_CHARACTERS:
            continue
        yield one, text.replace("\r\n", "\n")
        for directive in CxxText(text).directives:
            match = _INCLUDE.match(directive.rest) if directive.word == "include" else None
            folder = header_folder(one.parent, match[1]) if match is not None else None
            if match is not None and folder is not None:
                pending.append(_normal(folder / match[1]))


def includers(source: Path) -> tuple[Path, ...]:
    """List the files of a source's folder and of the one above that include it in quotes.

    Args:
        source: the file.
    """
    found: list[Path] = []
    for folder in (source.parent, source.parent / ".."):
        try:
            beside = sorted(folder.iterdir())
        except OSError:
            continue
        found += [
            path
            for path in beside[:_MOST_BESIDE]
            if path.suffix in _SUFFIXES and path.is_file() and _includes(path, source)
        ]
    return tuple(found)


def _includes(path: Path, header: Path) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST_CHARACTERS)
    except OSError:
        return False
    matches = re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', text, re.MULTILINE)
    return any(Path(one).name == header.name and (path.parent / one).resolve() == header.resolve() for one in matches)


def header_folder(start: Path, header: str) -> Path | None:
    """Find the folder that holds a header: that of the file, or one for headers in the folders above it.

    Args:
        start: the folder of the file that includes it.
        header: as it is included.
    """
    if (start / header).is_file():
        return start
    for parent in [start, *start.parents][:_MOST_PARENTS]:
        if parent == Path(parent.anchor) or parent in (home(), Path("/usr"), Path("/tmp")):  # noqa: S108
            return None
        for name in _FOLDERS:
            if (parent / name / header).is_file():
                return parent / name
    return None


def _normal(path: Path) -> Path:
    return path.resolve() if ".." in path.parts else path


def _callers(source: Path, launching: set[str], texts: Mapping[Path, str]) -> Iterator[Path]:
    """List the files of the folder that name one of the functions and include the source's own header, if any."""
    header = next((path.name for path in texts if path != source and path.stem == source.stem), "")
    try:
        beside = sorted(source.parent.iterdir())
    except OSError:
        return
    for path in beside[:_MOST_BESIDE]:
        if path.suffix in _SUFFIXES and path not in texts and path.is_file():
            try:
                with path.open(encoding="utf-8", errors="replace") as file:
                    text = file.read(_MOST_CHARACTERS)
            except OSError:
                continue
            if launching & set(WORD.findall(text)) and (not header or re.search(rf"\b{re.escape(header)}\b", text)):
                yield path


def _launching(program: HostFiles) -> set[str]:
    found = {name for name, functions in program.functions.items() if any(one.has_launch for one in functions)}
    while True:
        more = {
            name
            for name, functions in program.functions.items()
            if name not in found and any(one.words & found for one in functions)
        }
        if not more:
            return found
        found |= more


class _Reader:
    """One pass over the files of a program."""

    def __init__(self, texts: Mapping[Path, str]) -> None:
        self._texts = {path: CxxText(text) for path, text in texts.items()}
        self.program = HostFiles()

    def read(self) -> None:
        """Read all files."""
        macros = Macros([text.macros for text in self._texts.values()])
        defined: dict[str, Macro] = {}
        device: set[str] = set()
        # A file that is included comes before the one that includes it.
        for path, text in reversed(self._texts.items()):
            code = conditions.selected(text, defined)
            parsed = macros.without_brackets(macros.without_specifiers(without_strings(code)))
            tree = grammar.root(parsed)
            self._read_tree(tree, code, path, macros, device)
            for name, given in _INSTANTIATION.findall(code):
                self.program.instances.setdefault(name, tuple(one.strip() for one in given.split(",")))
            for one in structures.definitions(tree):
                self.program.structures.setdefault(one.name.rpartition("::")[2], one)
            for name, found in text.macros.items():
                self.program.macros[name] = found[-1]
        self.program.device_words = frozenset(self._closed(device))

    def _read_tree(self, tree: Node, code: str, path: Path, macros: Macros, device: set[str]) -> None:
        kinds = ("function_definition", "declaration", "alias_declaration", "type_definition", "enum_specifier")
        for node in grammar.descendants(tree, *kinds):
            before = max(code.rfind(";", 0, node.start_byte), code.rfind("}", 0, node.start_byte)) + 1
            body = node.child_by_field_name("body")
            head = code[before : body.start_byte if body is not None else node.end_byte]
            if node.type == "enum_specifier":
                self.program.enumerators.append(node)
            elif node.type in ("alias_declaration", "type_definition"):
                self._read_alias(node)
                self.program.enumerators += grammar.everywhere(node, "enum_specifier")
            elif has_annotation(head, macros.annotations) and not _is_host(head):
                device.update(WORD.findall(code[before : node.end_byte]))
                if node.type == "declaration" and _VARIABLE.search(head):
                    self._read_symbol(node, path)
            elif node.type == "declaration":
                self.program.variables.append((node, path))
                self.program.enumerators += grammar.everywhere(node, "enum_specifier")
            elif body is not None:
                self._read_function(node, body, path)
            if "__device__" in head and "__host__" in head and body is not None:
                self._read_function(node, body, path)

    def _read_alias(self, node: Node) -> None:
        if node.type == "alias_declaration":
            name, given = node.child_by_field_name("name"), node.child_by_field_name("type")
        else:
            name, given = node.child_by_field_name("declarator"), node.child_by_field_name("type")
        if name is not None and given is not None and given.child_by_field_name("body") is None:
            self.program.aliases.setdefault(grammar.text(name), " ".join(grammar.text(given).split()))

    def _read_symbol(self, node: Node, path: Path) -> None:
        given = node.child_by_field_name("type")
        for declarator in node.children_by_field_name("declarator"):
            sizes: list[Node] = []
            one: Node | None = declarator
            while one is not None and one.type in ("array_declarator", "init_declarator"):
                size = one.child_by_field_name("size")
                sizes += [size] if size is not None else []
                one = one.child_by_field_name("declarator")
            name = declarations.declared_name(declarator)
            is_function = next(grammar.everywhere(declarator, "function_declarator"), None) is not None
            if name and given is not None and not is_function:
                where = f"{path.name}:{node.start_point[0] + 1}"
                self.program.symbols[name] = ConstantVariable(name, grammar.text(given), tuple(reversed(sizes)), where)

    def _read_function(self, node: Node, body: Node, path: Path) -> None:
        declarator = node.child_by_field_name("declarator")
        if declarator is None:
            return
        name = declarations.declared_name(declarator)
        listed = next(grammar.everywhere(declarator, "parameter_list"), None)
        parameters = tuple(map(_parameter, listed.named_children)) if listed is not None else ()
        if len(parameters) == 1 and parameters[0].type == "void" and not parameters[0].name:
            parameters = ()
        words = frozenset(WORD.findall(grammar.text(body)))
        function = HostFunction(name, _template(node), parameters, body, path, words)
        self.program.functions.setdefault(name, []).append(function)

    def _closed(self, words: set[str]) -> set[str]:
        """Add the words of the macros and variables that words name."""
        bodies = {name: set(WORD.findall(macro.body)) for name, macro in self.program.macros.items()}
        for node, _ in self.program.variables:
            for declarator in node.children_by_field_name("declarator"):
                name = declarations.declared_name(declarator)
                bodies.setdefault(name, set(WORD.findall(grammar.text(node))))
        pending = list(words)
        while pending:
            more = bodies.get(pending.pop(), set()) - words
            words |= more
            pending += more
        return words


def _is_host(head: str) -> bool:
    return "__host__" in head and "__device__" not in head and "__global__" not in head


def _template(node: Node) -> tuple[str, ...]:
    parent = node.parent
    while parent is not None and parent.type == "linkage_specification":
        parent = parent.parent
    if parent is None or parent.type != "template_declaration":
        return ()
    listed = parent.child_by_field_name("parameters")
    names = []
    for one in listed.named_children if listed is not None else ():
        words = WORD.findall(grammar.text(one).partition("=")[0])
        names.append(words[-1] if words else "")
    return tuple(names)


def _parameter(node: Node) -> ParameterOfHost:
    declarator, given = node.child_by_field_name("declarator"), node.child_by_field_name("type")
    name = declarations.declared_name(declarator) if declarator is not None else ""
    spelled = grammar.text(declarator) if declarator is not None else ""
    stars = "*" * spelled.count("*") + ("*" if "[" in spelled else "")
    is_reference = "&" in spelled and "*" not in spelled
    plain = grammar.text(given) if given is not None else ""
    return ParameterOfHost(name, plain + stars, is_reference, node.child_by_field_name("default_value"))
