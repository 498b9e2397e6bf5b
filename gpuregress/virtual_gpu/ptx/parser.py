"""Parser of PTX text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from gpuregress.gpu.graphs import reachable_from
from gpuregress.gpu.records import Record, replace
from gpuregress.virtual_gpu.ptx import declarations
from gpuregress.virtual_gpu.ptx.lexer import Cursor, PtxError, tokens
from gpuregress.virtual_gpu.ptx.modifiers import NOT_UNDERSTOOD
from gpuregress.virtual_gpu.ptx.register_parameters import with_parameters_in_memory
from gpuregress.virtual_gpu.ptx.source_locations import Locations
from gpuregress.virtual_gpu.ptx.statement_parser import BodyParser
from gpuregress.virtual_gpu.ptx.tree import Function, Module, Variable

# --- functions that are left out --------------------------------------------------------------------------------------


_STRUCTURE = re.compile(r'[{};]|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_HEADER = re.compile(r"\.(?:entry|func)\b(?:\s*\.\w+(?:\s*\([^)]*\))?)*\s*(?:\([^)]*\))?\s*([A-Za-z_$%][\w$]*)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_$%][\w$]*")
_SHARED = re.compile(r"^[ \t]*\.shared\b[^;]*;", re.MULTILINE)


class Abridged(Record):
    """A PTX text without the bodies that are not needed; the others keep their lines.

    Attributes:
        text: of each body that is left out, the declarations of shared variables remain, whose sizes are checked.
        skipped: the names of the functions whose bodies are left out.
    """

    text: str
    skipped: frozenset[str] = frozenset()


class _Body(Record):
    name: str
    start: int
    end: int


def abridge(text: str, kernels: Collection[str]) -> Abridged:
    """Leave out the bodies of functions that kernels cannot reach.

    A function is reachable if a reachable one names it, or the initial value of a variable does.

    Args:
        text: a PTX module.
        kernels: the mangled names of the kernels that are launched.
    """
    if text.count(".entry") <= len(kernels) or ".alias" in text:
        return Abridged(text)
    items = [*_items(text)]
    bodies = {item.name: item for item in items if isinstance(item, _Body)}
    roots = set(kernels)
    for item in items:
        if isinstance(item, str):
            roots.update(_NAME.findall(item.partition("=")[2]))
    needed = _reachable(text, bodies, roots & bodies.keys())
    unneeded = [body for body in bodies.values() if body.name not in needed]
    parts, end = [], 0
    for body in sorted(unneeded, key=lambda body: body.start):
        parts += [text[end : body.start], _stub(text, body)]
        end = body.end
    return Abridged("".join((*parts, text[end:])), frozenset(body.name for body in unneeded))


def _items(text: str) -> Iterator[_Body | str]:
    """Yield the bodies of functions, and the declarations of the module as text."""
    start, opened, depth = 0, 0, 0
    for match in _STRUCTURE.finditer(text):
        mark = match[0]
        if mark == "{":
            if depth == 0:
                opened = match.start()
            depth += 1
        elif mark == "}":
            depth -= 1
            if depth:
                continue
            header = _HEADER.search(_COMMENT.sub("", text[start:opened]))
            if header is not None:
                yield _Body(header[1], opened, match.end())
                start = match.end()
        elif mark == ";" and depth == 0:
            yield text[start : match.start()]
            start = match.end()


def _reachable(text: str, bodies: dict[str, _Body], roots: set[str]) -> set[str]:
    def named(name: str) -> set[str]:
        body = bodies[name]
        return set(_NAME.findall(text, body.start, body.end)) & bodies.keys()

    return set(reachable_from(roots, named))


def _stub(text: str, body: _Body) -> str:
    """A body of as many lines that only declares shared variables."""
    parts, end = ["{"], body.start
    for match in _SHARED.finditer(text, body.start, body.end):
        parts += ["\n" * text.count("\n", end, match.start()), match[0]]
        end = match.end()
    return "".join((*parts, "\n" * text.count("\n", end, body.end), "}"))


# --- modules ----------------------------------------------------------------------------------------------------------
# Parser of PTX modules and functions.
#
# PTX ISA manual, chapters 5 and 11.


def parse(text: str, kernels: Collection[str] = (), library_files: Collection[str] = ()) -> Module:
    """Parse a PTX text.

    Args:
        text: the whole text.
        kernels: the mangled names of the kernels whose code is needed; none: all. Functions that they cannot reach are
            `is_skipped` and have no statements.
        library_files: the files of `.file` directives that belong to libraries: faults name the line that called them.

    Raises:
        PtxError: the text does not follow the grammar; the message names the line.
    """
    abridged = abridge(text, kernels) if kernels else Abridged(text)
    parser = _ModuleParser(abridged.text, abridged.skipped, library_files)
    try:
        return parser.read()
    except NOT_UNDERSTOOD as error:
        raise PtxError(f"not understood ({type(error).__name__}: {error})", parser.line) from error


class _ModuleParser:
    def __init__(self, text: str, skipped: frozenset[str], library_files: Collection[str]) -> None:
        self._skipped = skipped
        self._cursor = Cursor(tokens(text))
        self._locations = Locations(text, library_files)
        self._version, self._target, self._address_size = "", "", 64
        self._variables: list[Variable] = []
        self._declared_at: dict[str, int] = {}
        self._functions: list[Function] = []
        self._aliases: list[tuple[str, str]] = []

    @property
    def line(self) -> int:
        """The line that has been reached."""
        return self._cursor.here.line

    def read(self) -> Module:
        while self._cursor.here.kind != "end":
            self._item()
        functions = tuple(self._functions) + tuple(self._alias(*pair) for pair in self._aliases)
        functions = with_parameters_in_memory(functions)
        return Module(self._version, self._target, self._address_size, self._resolved_variables(), functions)

    def _resolved_variables(self) -> tuple[Variable, ...]:
        """List the variables without external declarations, each of which another declaration must define.

        Raises:
            PtxError: nothing defines one, which the assembler calls an unresolved variable.
        """
        defined = {item.name for item in self._variables if item.linkage != "extern"}
        resolved = []
        for variable in self._variables:
            is_of_memory = variable.space in ("global", "const") and variable.count is not None
            if variable.linkage != "extern" or not is_of_memory:
                resolved.append(variable)
            elif variable.name not in defined:
                message = f"unresolved extern variable {variable.name!r}: no module that is linked defines it"
                raise PtxError(message, self._declared_at[variable.name])
        return tuple(resolved)

    def _alias(self, name: str, target: str) -> Function:
        for function in self._functions:
            if function.name == target and function.body is not None:
                return replace(function, name=name)
        raise PtxError(f".alias {name}: there is no function {target}", self._cursor.here.line)

    def _item(self) -> None:
        cursor = self._cursor
        token = cursor.here
        directives = {
            ".version": self._read_version,
            ".target": self._read_target,
            ".address_size": self._read_address_size,
            ".file": self._skip_line,
            "@": self._skip_line,  # `@@DWARF`, of old compilers
            ".section": self._skip_section,
            ".pragma": self._skip_statement,
            ".alias": self._read_alias,
        }
        if token.text in directives:
            directives[token.text]()
        elif token.text == ".loc":
            self._locations.read(cursor)
        elif not cursor.accept(";"):
            self._declaration()

    def _read_version(self) -> None:
        self._cursor.take()
        self._version = self._cursor.take().text

    def _read_target(self) -> None:
        self._cursor.take()
        line = self._cursor.here.line
        self._target = self._cursor.word("a target")
        if not re.fullmatch(r"sm_\d+[a-z]?", self._target):
            raise PtxError(f"{self._target!r} is not a target", line)
        while self._cursor.accept(","):
            self._cursor.take()

    def _read_address_size(self) -> None:
        self._cursor.take()
        self._address_size = self._cursor.integer("an address size")

    def _skip_line(self) -> None:
        line = self._cursor.take().line
        while self._cursor.here.line == line and self._cursor.here.kind != "end":
            self._cursor.take()

    def _skip_section(self) -> None:
        while self._cursor.here.text != "{":
            self._cursor.take()
        self._cursor.skip_braces()

    def _skip_statement(self) -> None:
        while self._cursor.take().text != ";":
            pass

    def _read_alias(self) -> None:
        self._cursor.take()
        name = self._cursor.word("a function's name")
        self._cursor.expect(",")
        self._aliases.append((name, self._cursor.word("a function's name")))
        self._cursor.expect(";")

    def _declaration(self) -> None:
        cursor = self._cursor
        linkage = ""
        while cursor.here.text in declarations.LINKAGE:
            linkage = cursor.take().text[1:]
        if cursor.here.text in (".entry", ".func"):
            self._functions.append(self._function(linkage))
            return
        if not declarations.is_space(cursor.here.text):
            raise PtxError(f"{cursor.here.text!r} starts no declaration", cursor.here.line)
        line = cursor.here.line
        variables = declarations.variable(cursor, linkage)
        self._variables += variables
        self._declared_at.update({variable.name: line for variable in variables})
        cursor.expect(";")

    def _function(self, linkage: str) -> Function:
        cursor = self._cursor
        start = cursor.take()
        attributes = self._function_attributes()
        results = declarations.parameter_list(cursor) if start.text == ".func" and cursor.here.text == "(" else ()
        name = cursor.word("a function's name")
        parameters = declarations.parameter_list(cursor) if cursor.here.text == "(" else ()
        directives = attributes | self._performance_directives()
        function = Function(
            name=name,
            is_entry=start.text == ".entry",
            results=results,
            parameters=parameters,
            directives=directives,
            linkage=linkage,
            ptx_line=start.line,
        )
        if cursor.accept(";") or _starts_item(cursor):  # ptxas does not ask for the semicolon
            return function
        body = BodyParser(cursor, self._locations, name)
        body.read(results + parameters)
        self._variables += body.module_variables
        return replace(
            function,
            registers=tuple(body.registers),
            variables=tuple(body.variables),
            prototypes=tuple(body.prototypes),
            branch_targets=body.branch_targets,
            call_targets=body.call_targets,
            body=tuple(body.statements),
            is_skipped=name in self._skipped,
        )

    def _function_attributes(self) -> dict[str, tuple[int, ...]]:
        attributes: dict[str, tuple[int, ...]] = {}
        while self._cursor.here.kind == "directive":
            attributes[self._cursor.take().text[1:]] = ()
            if self._cursor.accept("("):
                while not self._cursor.accept(")"):
                    self._cursor.take()
        return attributes

    def _performance_directives(self) -> dict[str, tuple[int, ...]]:
        cursor = self._cursor
        directives: dict[str, tuple[int, ...]] = {}
        while cursor.here.kind == "directive" and not _starts_item(cursor):
            name = cursor.take().text[1:]
            if name == "pragma":
                cursor.take()
                cursor.expect(";")
                continue
            numbers: list[int] = []
            while cursor.here.kind == "number":
                numbers.append(cursor.integer("a number"))
                cursor.accept(",")
            directives[name] = tuple(numbers)
        return directives


def _starts_item(cursor: Cursor) -> bool:
    """Whether a declaration or directive of the module starts here, or the text ends."""
    text = cursor.here.text
    is_item = text in (*declarations.LINKAGE, ".entry", ".func", ".file", ".section", ".alias", ".version", ".target")
    return is_item or cursor.here.kind == "end" or declarations.is_space(text)
