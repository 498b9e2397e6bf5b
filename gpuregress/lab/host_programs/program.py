"""HostFiles of a source for its interpretation: the source, its headers, and its callers beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tree_sitter import Node

from gpuregress.foundation.user_home import home
from gpuregress.gpu.records import Record
from gpuregress.lab.host_programs import library, scalars, structures
from gpuregress.lab.host_programs.scalars import HostScalar, constant
from gpuregress.lab.host_programs.structures import StructureDefinition
from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.host_code import declarations, grammar
from gpuregress.toolchain.host_code.preprocessing import (
    WORD,
    CxxText,
    Directive,
    Macro,
    Macros,
    has_annotation,
    without_strings,
)

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
            code = selected(text, defined)
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


# --- conditional inclusion (`#if`) of host code, as a compiler on Linux without options does it -----------------------


_NOT_HERE = frozenset(
    ["_WIN32", "WIN32", "_WIN64", "_MSC_VER", "__APPLE__", "__MACOSX", "__CUDACC_RTC__", "__CUDA_ARCH__", "__QNX__"]
)
_HERE: Mapping[str, int] = {
    **dict.fromkeys(("__CUDACC__", "__NVCC__", "__linux__", "__linux", "__unix__", "__x86_64__"), 1),
    "__GNUC__": 13,
    "__cplusplus": 201703,
    "__CUDACC_VER_MAJOR__": 13,
    "CUDART_VERSION": 13000,
    "CUDA_VERSION": 13000,
}
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_MOST_EXPANSIONS = 32


def selected(text: CxxText, defined: dict[str, Macro]) -> str:
    """Return the code of a text that is compiled.

    Args:
        text: of a file.
        defined: the macros so far; gets those of the text.
    """
    pieces, at = [], 0
    stack: list[tuple[bool, bool]] = []  # (whether this branch is compiled, whether one was)
    for one in text.directives:
        is_live = all(live for live, _ in stack)
        pieces.append(text.code[at : one.start] if is_live else re.sub(r"[^\n]", " ", text.code[at : one.start]))
        at = one.start
        rest = one.rest.strip()
        if one.word in ("if", "ifdef", "ifndef"):
            live = is_live and _holds(one.word, rest, defined)
            stack.append((live, live))
        elif one.word in ("elif", "else", "elifdef", "elifndef") and stack:
            _, taken = stack.pop()
            is_chosen = not taken and all(live for live, _ in stack)
            live = is_chosen and (one.word == "else" or _holds(one.word.removeprefix("el"), rest, defined))
            stack.append((live, taken or live))
        elif one.word == "endif" and stack:
            stack.pop()
        elif is_live:
            _define(text, one, defined)
    return "".join((*pieces, text.code[at:]))


def _define(text: CxxText, directive: Directive, defined: dict[str, Macro]) -> None:
    name = WORD.match(directive.rest.strip())
    if name is None:
        return
    if directive.word == "undef":
        defined.pop(name[0], None)
    elif directive.word == "define":
        defined[name[0]] = CxxText(text.text[directive.start : directive.end]).macros[name[0]][0]


def _holds(word: str, rest: str, defined: Mapping[str, Macro]) -> bool:
    """Evaluate a condition; one that is not understood holds."""

    def is_defined(name: str) -> bool:
        return (name in defined or name in _HERE) and name not in _NOT_HERE

    if word != "if":
        name = WORD.match(rest)
        return name is not None and is_defined(name[0]) == (word == "ifdef")
    plain = _DEFINED.sub(lambda match: str(int(is_defined(match[1] or match[2]))), rest)
    value = _Expression(defined).value(plain)
    return value is None or bool(value.number)


class _Expression:
    """Evaluation of one integral constant expression; a name that is no macro is 0.

    Args:
        defined: the macros.
    """

    def __init__(self, defined: Mapping[str, Macro]) -> None:
        self._defined = defined
        self._expanding: list[str] = []

    def value(self, text: str) -> HostScalar | None:
        """Return the value of a text; None where it is not understood."""
        plain = " ".join(text.replace("\\\n", " ").split())
        root = grammar.root(f"auto condition = ({plain.encode('ascii', 'replace').decode()});")
        if root.has_error:
            return None
        declared = next(grammar.everywhere(root, "init_declarator"), None)
        node = declared.child_by_field_name("value") if declared is not None else None
        return self._of(node) if node is not None else None

    def _of(self, node: Node) -> HostScalar | None:
        operands = [self._of(one) for one in node.named_children] if node.type.endswith("_expression") else []
        sign = node.child_by_field_name("operator")
        if node.type == "number_literal":
            return library.number(grammar.text(node))
        if node.type in ("true", "false"):
            return constant(int(node.type == "true"))
        if node.type in ("identifier", "type_identifier"):
            return self._macro(grammar.text(node), ())
        if node.type == "call_expression":
            called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            given = arguments.named_children if arguments is not None else []
            return self._macro(grammar.text(called), tuple(map(grammar.text, given))) if called is not None else None
        known = [one for one in operands if one is not None]
        if node.type == "binary_expression" and sign is not None:
            return _binary(grammar.text(sign), operands)
        if len(known) != len(operands) or not known:
            return None
        if node.type == "parenthesized_expression":
            return known[0]
        if node.type == "unary_expression" and sign is not None:
            return scalars.unary(grammar.text(sign), known[0])
        if node.type == "conditional_expression" and len(known) == 3:
            return known[1] if known[0].number else known[2]
        return None

    def _macro(self, name: str, arguments: tuple[str, ...]) -> HostScalar | None:
        """Evaluate a macro, or the call of one."""
        macro = self._defined.get(name)
        if macro is None or name in _NOT_HERE:
            return constant(_HERE.get(name, 0)) if not arguments else None
        if name in self._expanding or len(self._expanding) > _MOST_EXPANSIONS:
            return None
        if macro.is_function != bool(arguments) or len(arguments) != len(macro.parameters):
            return None
        given = dict(zip(macro.parameters, arguments, strict=True))
        body = WORD.sub(lambda match: f"({given[match[0]]})" if match[0] in given else match[0], macro.body)
        self._expanding.append(name)
        try:
            return self.value(body) if body else None
        finally:
            self._expanding.pop()


def _binary(sign: str, operands: Sequence[HostScalar | None]) -> HostScalar | None:
    """Apply a binary operator; one side decides `&&` and `||` where the other is not understood."""
    known = [one for one in operands if one is not None]
    if sign in ("&&", "||"):
        decides = next((one for one in known if bool(one.number) == (sign == "||")), None)
        if decides is not None:
            return constant(int(sign == "||"))
    if len(known) != 2:
        return None
    value = scalars.binary(sign, *known)
    return value if value.is_known else None
