"""Parser of PTX modules and functions.

PTX ISA manual, chapters 5 and 11.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.ptx import declarations
from gpuregress.virtual_gpu.ptx.abridged import Abridged, abridge
from gpuregress.virtual_gpu.ptx.cursor import Cursor
from gpuregress.virtual_gpu.ptx.errors import NOT_UNDERSTOOD
from gpuregress.virtual_gpu.ptx.lexer import PtxError, tokens
from gpuregress.virtual_gpu.ptx.register_parameters import with_parameters_in_memory
from gpuregress.virtual_gpu.ptx.source_locations import Locations
from gpuregress.virtual_gpu.ptx.statement_parser import BodyParser
from gpuregress.virtual_gpu.ptx.tree import Function, Module, Variable


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
        return Module(self._version, self._target, self._address_size, tuple(self._variables), functions)

    def _alias(self, name: str, target: str) -> Function:
        function = next((item for item in self._functions if item.name == target and item.body is not None), None)
        if function is None:
            raise PtxError(f".alias {name}: there is no function {target}", self._cursor.here.line)
        return replace(function, name=name)

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
        self._variables += declarations.variable(cursor, linkage)
        cursor.expect(";")

    def _function(self, linkage: str) -> Function:
        cursor = self._cursor
        start = cursor.take()
        attributes = self._function_attributes()
        results = self._parameter_list() if start.text == ".func" and cursor.here.text == "(" else ()
        name = cursor.word("a function's name")
        parameters = self._parameter_list() if cursor.here.text == "(" else ()
        directives = attributes | self._performance_directives()
        if cursor.accept(";") or _starts_item(cursor):  # ptxas does not ask for the semicolon
            return Function(
                name, start.text == ".entry", results, parameters,
                directives=directives, linkage=linkage, ptx_line=start.line,
            )  # fmt: skip
        body = BodyParser(cursor, self._locations, name)
        body.read(results + parameters)
        self._variables += body.module_variables
        return Function(
            name=name,
            is_entry=start.text == ".entry",
            results=results,
            parameters=parameters,
            registers=tuple(body.registers),
            variables=tuple(body.variables),
            prototypes=tuple(body.prototypes),
            branch_targets=body.branch_targets,
            call_targets=body.call_targets,
            body=tuple(body.statements),
            directives=directives,
            linkage=linkage,
            ptx_line=start.line,
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

    def _parameter_list(self) -> tuple[Variable, ...]:
        cursor = self._cursor
        cursor.expect("(")
        parameters: list[Variable] = []
        while not cursor.accept(")"):
            parameters += declarations.parameter(cursor)
            cursor.accept(",")
        return tuple(parameters)

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
