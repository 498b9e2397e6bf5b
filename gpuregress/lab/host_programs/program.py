"""Files of a host program for its interpretation: the source, its headers, and its callers beside it."""

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
from gpuregress.toolchain.host_code import declarations, grammar, macro_calls
from gpuregress.toolchain.host_code.preprocessing import (
    WORD,
    CxxText,
    Directive,
    Macro,
    Macros,
    has_annotation,
    without_strings,
    words_of,
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
        if grammar.first(self.body, "kernel_call_syntax") is not None:
            return True
        return bool(self.words & {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelEx"})


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
        class_names: those of all classes, templates among them.
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
    class_names: set[str] = field(default_factory=set)
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
        for kernel in self.kernels:
            if kernel.name.rpartition("::")[2] == last:
                return kernel
        return None


def read(source: Path) -> HostFiles:
    """Read a source and what belongs to it; a file that cannot be read is left out."""
    included = dict(_included(source, {}))
    texts = dict(included)
    first = _Reader(texts)
    first.read()
    program = first.program
    launching = _launching(program) - {"main"}
    if "main" not in program.functions and launching:
        for path in _callers(source, launching, texts):
            texts |= dict(_included(path, texts))
        again = _Reader(texts)
        again.read()
        program = again.program
    program.files = tuple(texts)
    program.texts = tuple(texts.values())
    _find_kernels(program, source, included)
    program.launching = frozenset(_of_kernels(program, _launching(program)))
    return program


def _find_kernels(program: HostFiles, source: Path, texts: Mapping[Path, str]) -> None:
    own = cxx_declarations.declarations(texts.get(source, ""))
    kernels = {(kernel.name, kernel.type_words): kernel for kernel in own}
    for path, text in texts.items():
        if path != source and "__global__" in text:
            for kernel in cxx_declarations.declarations(text):
                kernels.setdefault((kernel.name, kernel.type_words), kernel)
    program.kernels = tuple(kernels.values())
    program.own_kernels = len(own)


def _included(path: Path, known: Mapping[Path, str]) -> Iterator[tuple[Path, str]]:
    """List a file and those that it includes in quotes, each once."""
    seen = set(known)
    pending = [path]
    while pending and len(seen) < _MOST_FILES:
        path = pending.pop(0)
        if path in seen:
            continue
        seen.add(path)
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if len(text) > _MOST_CHARACTERS:
            continue
        yield path, text.replace("\r\n", "\n")
        for directive in CxxText(text).directives:
            match = _INCLUDE.match(directive.rest)
            if directive.word != "include" or match is None:
                continue
            folder = header_folder(path.parent, match[1])
            if folder is not None:
                pending.append(_normal(folder / match[1]))


def includers(source: Path) -> tuple[Path, ...]:
    """List the files of a source's folder and of the one above that include it in quotes.

    Args:
        source: the file.
    """
    sources = [*_sources_in(source.parent), *_sources_in(source.parent / "..")]
    return tuple(path for path in sources if _includes(path, source))


def _sources_in(folder: Path) -> list[Path]:
    """List the sources in a folder; those of a large folder are not all looked at."""
    try:
        beside = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES)
    except OSError:
        return []
    return [path for path in beside[:_MOST_BESIDE] if path.is_file()]


def _begin_of(path: Path) -> str:
    """Read the begin of a file; "" if it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_CHARACTERS)
    except OSError:
        return ""


def _includes(path: Path, header: Path) -> bool:
    for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', _begin_of(path), re.MULTILINE):
        if Path(name).name == header.name and (path.parent / name).resolve() == header.resolve():
            return True
    return False


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
    if ".." in path.parts:
        return path.resolve()
    return path


def _callers(source: Path, launching: set[str], texts: Mapping[Path, str]) -> Iterator[Path]:
    """List the files of the folder that name one of the functions and include the source's own header, if any."""
    headers = [path.name for path in texts if path != source and path.stem == source.stem]
    for path in _sources_in(source.parent):
        if path in texts:
            continue
        text = _begin_of(path)
        is_including = not headers or re.search(rf"\b{re.escape(headers[0])}\b", text) is not None
        if is_including and launching & set(WORD.findall(text)):
            yield path


def _launching(program: HostFiles) -> set[str]:
    """Find the host functions that launch a kernel, or call one that does."""
    launching: set[str] = set()
    callees: dict[str, set[str]] = {}
    for name, functions in program.functions.items():
        callees[name] = set().union(*[function.words for function in functions])
        if any(function.has_launch for function in functions):
            launching.add(name)
    while True:
        callers = {name for name, words in callees.items() if name not in launching and words & launching}
        if not callers:
            return launching
        launching |= callers


def _of_kernels(program: HostFiles, launching: set[str]) -> set[str]:
    """Choose the launching functions that lead to a kernel of the source or of its headers; all where none does.

    The files that call it may launch a hundred kernels of others.
    """
    kernels = {kernel.name.rpartition("::")[2] for kernel in program.kernels}
    words: dict[str, set[str]] = {}
    for name in launching:
        words[name] = set().union(*[function.words for function in program.functions.get(name, ())])
    naming = {name for name in launching if words[name] & kernels}
    if not naming:
        return launching
    chosen = set(naming)
    pending = list(naming)
    while pending:  # what they call, as a function that launches what it is given
        called = (words[pending.pop()] & launching) - chosen
        chosen |= called
        pending += called
    while True:
        callers = {name for name in launching - chosen if words[name] & naming}
        if not callers:
            return chosen
        chosen |= callers
        naming |= callers


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
            code = _with_launches(selected(text, defined), defined)
            parsed = macros.without_brackets(macros.without_specifiers(without_strings(code)))
            tree = grammar.root(parsed)
            self._read_tree(tree, code, path, macros, device)
            for name, given in _INSTANTIATION.findall(code):
                self.program.instances.setdefault(name, tuple(argument.strip() for argument in given.split(",")))
            self.program.class_names |= structures.class_names(tree)
            for structure in structures.definitions(tree):
                self.program.structures.setdefault(structure.name.rpartition("::")[2], structure)
            for name, definitions in text.macros.items():
                self.program.macros[name] = definitions[-1]
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
        name = node.child_by_field_name("name" if node.type == "alias_declaration" else "declarator")
        given = node.child_by_field_name("type")
        if name is not None and given is not None and given.child_by_field_name("body") is None:
            self.program.aliases.setdefault(grammar.text(name), " ".join(grammar.text(given).split()))

    def _read_symbol(self, node: Node, path: Path) -> None:
        given = node.child_by_field_name("type")
        for declarator in node.children_by_field_name("declarator"):
            sizes: list[Node] = []
            inner: Node | None = declarator
            while inner is not None and inner.type in ("array_declarator", "init_declarator"):
                size = inner.child_by_field_name("size")
                if size is not None:
                    sizes.insert(0, size)
                inner = inner.child_by_field_name("declarator")
            name = declarations.declared_name(declarator)
            is_function = grammar.first(declarator, "function_declarator") is not None
            if name and given is not None and not is_function:
                where = f"{path.name}:{node.start_point[0] + 1}"
                self.program.symbols[name] = ConstantVariable(name, grammar.text(given), tuple(sizes), where)

    def _read_function(self, node: Node, body: Node, path: Path) -> None:
        declarator = node.child_by_field_name("declarator")
        if declarator is None:
            return
        name = declarations.declared_name(declarator)
        parameters: list[ParameterOfHost] = []
        listed = grammar.first(declarator, "parameter_list")
        if listed is not None:
            parameters = [_parameter(child) for child in listed.named_children]
        if len(parameters) == 1 and parameters[0].type == "void" and not parameters[0].name:
            parameters = []
        function = HostFunction(
            name=name,
            template=_template(node),
            parameters=tuple(parameters),
            body=body,
            path=path,
            words=frozenset(WORD.findall(grammar.text(body))),
        )
        self.program.functions.setdefault(name, []).append(function)

    def _closed(self, words: set[str]) -> set[str]:
        """Add the words of the macros, variables, structures and aliases that words name."""
        bodies = {name: set(WORD.findall(macro.body)) for name, macro in self.program.macros.items()}
        for node, _ in self.program.variables:
            for declarator in node.children_by_field_name("declarator"):
                name = declarations.declared_name(declarator)
                bodies.setdefault(name, set(WORD.findall(grammar.text(node))))
        for name, structure in self.program.structures.items():
            parts = (*structure.bases, *(member.type for member in structure.members or ()))
            bodies.setdefault(name, set(WORD.findall(" ".join(parts))))
        for name, text in self.program.aliases.items():
            bodies.setdefault(name, set(WORD.findall(text)))
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
    if listed is None:
        return ()
    names = []
    for child in listed.named_children:
        words = WORD.findall(grammar.text(child).partition("=")[0])
        names.append(words[-1] if words else "")
    return tuple(names)


def _parameter(node: Node) -> ParameterOfHost:
    name = spelled = type_ = ""
    given = node.child_by_field_name("type")
    if given is not None:
        type_ = grammar.text(given)
    declarator = node.child_by_field_name("declarator")
    if declarator is not None:
        name = declarations.declared_name(declarator)
        spelled = grammar.text(declarator)
    type_ += "*" * spelled.count("*")
    if "[" in spelled:
        type_ += "*"
    is_reference = "&" in spelled and "*" not in spelled
    return ParameterOfHost(name, type_, is_reference, node.child_by_field_name("default_value"))


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
    pieces = []
    start = 0
    stack: list[tuple[bool, bool]] = []  # (whether this branch is compiled, whether one was)
    for directive in text.directives:
        is_live = all(live for live, _ in stack)
        piece = text.code[start : directive.start]
        if not is_live:
            piece = re.sub(r"[^\n]", " ", piece)
        pieces.append(piece)
        start = directive.start
        condition = directive.rest.strip()
        if directive.word in ("if", "ifdef", "ifndef"):
            live = is_live and _holds(directive.word, condition, defined)
            stack.append((live, live))
        elif directive.word in ("elif", "else", "elifdef", "elifndef") and stack:
            _, was_taken = stack.pop()
            live = not was_taken and all(live for live, _ in stack)
            if live and directive.word != "else":
                live = _holds(directive.word.removeprefix("el"), condition, defined)
            stack.append((live, was_taken or live))
        elif directive.word == "endif" and stack:
            stack.pop()
        elif is_live:
            _define(text, directive, defined)
    return "".join((*pieces, text.code[start:]))


def _with_launches(code: str, defined: Mapping[str, Macro]) -> str:
    """Put the bodies of macros that launch kernels in the place of their names, and of calls that make functions.

    What makes kernels is expanded, too: the grammar would misread what stands after a call without a semicolon. So is
    a launch in a branch of a condition whose beginning stands before the call.
    """
    bodies: dict[str, str] = {}
    for name, macro in defined.items():
        if "<<<" in macro.body and not macro.is_function:
            bodies[name] = macro.body.replace("\\\n", " ")
    if bodies:
        code = re.sub(rf"{words_of(tuple(bodies))}\b", lambda match: bodies[match[0]], code)
    functions = {name: (macro,) for name, macro in defined.items() if macro.is_function}
    with_kernels = macro_calls.expanded(code, functions, "__global__")
    with_functions = macro_calls.expanded(with_kernels, functions, "<<<")
    branches = {name: macros for name, macros in functions.items() if _is_branch(macros[0])}
    if not branches:
        return with_functions
    return macro_calls.expanded(with_functions, branches, "<<<", anywhere=True)


def _is_branch(macro: Macro) -> bool:
    return "<<<" in macro.body and re.match(r"[\\\s]*(?:else|case|default)\b", macro.body) is not None


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
        declarator = grammar.first(root, "init_declarator")
        node = declarator.child_by_field_name("value") if declarator is not None else None
        if node is None:
            return None
        return self._of(node)

    def _of(self, node: Node) -> HostScalar | None:
        if node.type == "number_literal":
            return library.number(grammar.text(node))
        if node.type in ("true", "false"):
            return constant(int(node.type == "true"))
        if node.type in ("identifier", "type_identifier"):
            return self._macro(grammar.text(node), ())
        if node.type == "call_expression":
            called = node.child_by_field_name("function")
            arguments = node.child_by_field_name("arguments")
            if called is None or arguments is None:
                return None
            return self._macro(grammar.text(called), tuple(grammar.text(child) for child in arguments.named_children))
        if not node.type.endswith("_expression"):
            return None
        sign = node.child_by_field_name("operator")
        operands = [self._of(child) for child in node.named_children]
        known = [operand for operand in operands if operand is not None]
        if node.type == "binary_expression" and sign is not None:
            return _binary(grammar.text(sign), known)
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
            if arguments:
                return None
            return constant(_HERE.get(name, 0))
        if name in self._expanding or len(self._expanding) > _MOST_EXPANSIONS:
            return None
        if macro.is_function != bool(arguments) or len(arguments) != len(macro.parameters):
            return None
        if not macro.body:
            return None
        given = {name: f"({text})" for name, text in zip(macro.parameters, arguments, strict=True)}
        self._expanding.append(name)
        try:
            return self.value(WORD.sub(lambda match: given.get(match[0], match[0]), macro.body))
        finally:
            self._expanding.pop()


def _binary(sign: str, operands: Sequence[HostScalar]) -> HostScalar | None:
    """Apply a binary operator to the operands that are understood; one decides `&&` and `||` alone."""
    if sign == "&&" and any(not operand.number for operand in operands):
        return constant(0)
    if sign == "||" and any(operand.number for operand in operands):
        return constant(1)
    if len(operands) != 2:
        return None
    value = scalars.binary(sign, *operands)
    return value if value.is_known else None
