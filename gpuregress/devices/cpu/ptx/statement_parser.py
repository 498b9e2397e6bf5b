"""Parser of function bodies: statements, scopes and local declarations.

PTX ISA manual, chapters 4, 6 and 9.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gpuregress.devices.cpu.ptx import declarations
from gpuregress.devices.cpu.ptx.cursor import Cursor
from gpuregress.devices.cpu.ptx.lexer import PtxError, Token
from gpuregress.devices.cpu.ptx.opcode_table import Control, info
from gpuregress.devices.cpu.ptx.operands import OperandParser
from gpuregress.devices.cpu.ptx.scopes import Scopes
from gpuregress.devices.cpu.ptx.source_locations import Locations
from gpuregress.devices.cpu.ptx.tree import (
    Call,
    Guard,
    Instruction,
    Label,
    Operand,
    Prototype,
    Register,
    RegisterDeclaration,
    Statement,
    Symbol,
    Variable,
)

_USED_BYTES = re.compile(r'"used_bytes_mask (0[xX][0-9a-fA-F]+|[0-9]+)U?"')
"""PTX ISA manual, "Pragma Strings": a mask for the load that follows, 1 bit for each byte."""


class BodyParser:
    """Parser of `{ … }`; the attributes hold the parsed parts.

    Args:
        cursor: at the opening brace.
        locations: follows the `.loc` directives.
    """

    def __init__(self, cursor: Cursor, locations: Locations) -> None:
        self._cursor = cursor
        self._locations = locations
        self._scopes = Scopes()
        self._operands = OperandParser(cursor, self._scopes)
        self._used_bytes: int | None = None
        self.registers: list[RegisterDeclaration] = []
        self.variables: list[Variable] = []
        self.prototypes: list[Prototype] = []
        self.branch_targets: dict[str, tuple[str, ...]] = {}
        self.statements: list[Statement] = []

    def read(self, parameters: tuple[Variable, ...]) -> None:
        """Parse the whole body.

        Args:
            parameters: results and parameters: names that the body may use; those in registers are registers.
        """
        for item in parameters:
            self._scopes.declare(item.name, is_register=item.space == "reg")
            if item.space == "reg":
                self.registers.append(RegisterDeclaration(item.name, item.type))
        self._scope()

    def _scope(self) -> None:
        cursor = self._cursor
        cursor.expect("{")
        self._scopes.enter(_labels_ahead(cursor))
        while not cursor.accept("}"):
            self._statement()
        self._scopes.leave()

    def _statement(self) -> None:
        cursor = self._cursor
        token = cursor.here
        if token.text == "{":
            self._scope()
        elif token.text == ".loc":
            self._locations.read(cursor)
        elif token.kind == "directive":
            self._directive(token)
        elif token.kind == "word" and cursor.ahead().text == ":":
            self._label()
        elif not cursor.accept(";"):
            self._instruction()

    def _directive(self, token: Token) -> None:
        cursor = self._cursor
        if token.text == ".reg":
            for item in declarations.registers(cursor):
                name = self._scopes.declare(item.name, is_register=True)
                self.registers.append(RegisterDeclaration(name, item.type, item.lanes))
        elif token.text == ".pragma":
            cursor.take()
            used = _USED_BYTES.fullmatch(cursor.take().text)
            self._used_bytes = int(used[1], 0) if used is not None else self._used_bytes
        elif token.text in declarations.LINKAGE or declarations.is_space(token.text):
            linkage = cursor.take().text[1:] if token.text in declarations.LINKAGE else ""
            for variable in declarations.variable(cursor, linkage):
                name = self._scopes.declare(variable.name, is_register=False)
                self.variables.append(replace(variable, name=name))
        else:
            raise PtxError(f"{token.text!r} starts no statement", token.line)
        cursor.expect(";")

    def _label(self) -> None:
        cursor = self._cursor
        token = cursor.take()
        cursor.expect(":")
        if cursor.here.text == ".branchtargets":
            cursor.take()
            self.branch_targets[token.text] = self._target_list()
        elif cursor.here.text == ".callprototype":
            self.prototypes.append(self._prototype(token.text))
        elif cursor.here.text == ".calltargets":
            cursor.take()
            self._target_list()
        else:
            self.statements.append(Label(self._scopes.label(token.text), token.line))

    def _target_list(self) -> tuple[str, ...]:
        names = [self._scopes.label(self._cursor.word("a label"))]
        while self._cursor.accept(","):
            names.append(self._scopes.label(self._cursor.word("a label")))
        self._cursor.expect(";")
        return tuple(names)

    def _prototype(self, name: str) -> Prototype:
        cursor = self._cursor
        cursor.take()
        results = self._prototype_list() if cursor.here.text == "(" else ()
        cursor.word("_")
        parameters = self._prototype_list() if cursor.here.text == "(" else ()
        while not cursor.accept(";"):
            cursor.take()
        return Prototype(name, results, parameters)

    def _prototype_list(self) -> tuple[Variable, ...]:
        cursor = self._cursor
        cursor.expect("(")
        variables: list[Variable] = []
        while not cursor.accept(")"):
            variables += declarations.variable(cursor)
            cursor.accept(",")
        return tuple(variables)

    def _instruction(self) -> None:
        cursor = self._cursor
        guard = self._guard()
        token = cursor.here
        opcode, *modifiers = cursor.word("an instruction").split(".")
        if opcode == "call":
            self.statements.append(self._call(token, guard, uniform="uni" in modifiers))
            return
        operands: list[Operand] = []
        if cursor.here.text != ";":
            operands.append(self._operands.read())
            while cursor.accept(","):
                operands.append(self._operands.read())
        cursor.expect(";")
        used, self._used_bytes = self._used_bytes if opcode == "ld" else None, None
        item = Instruction(opcode, tuple(modifiers), tuple(operands), guard, token.line, self._locations.current, used)
        if info(item).control in {Control.BRANCH, Control.BRANCH_TABLE}:
            item = replace(item, operands=tuple(map(self._as_label, operands)))
        self.statements.append(item)

    def _as_label(self, operand: Operand) -> Operand:
        return Symbol(self._scopes.label(operand.name)) if isinstance(operand, Symbol) else operand

    def _guard(self) -> Guard | None:
        if not self._cursor.accept("@"):
            return None
        negated = self._cursor.accept("!")
        return Guard(self._scopes.resolve(self._cursor.word("a predicate")), negated)

    def _call(self, token: Token, guard: Guard | None, *, uniform: bool) -> Call:
        cursor = self._cursor
        results: tuple[Operand, ...] = ()
        if cursor.here.text == "(":
            results = self._operand_list()
            cursor.expect(",")
        callee = self._operands.read()
        arguments: tuple[Operand, ...] = ()
        prototype: str | None = None
        if cursor.accept(","):
            if cursor.here.text == "(":
                arguments = self._operand_list()
                prototype = cursor.word("a prototype") if cursor.accept(",") else None
            else:
                prototype = cursor.word("a prototype")
        cursor.expect(";")
        if not isinstance(callee, Symbol | Register):
            raise PtxError("a call needs a function's name or a register", token.line)
        return Call(callee, results, arguments, prototype, uniform, guard, token.line, self._locations.current)

    def _operand_list(self) -> tuple[Operand, ...]:
        cursor = self._cursor
        cursor.expect("(")
        operands: list[Operand] = []
        while not cursor.accept(")"):
            operands.append(self._operands.read())
            cursor.accept(",")
        return tuple(operands)


def _labels_ahead(cursor: Cursor) -> set[str]:
    """The labels of the scope that starts here; branches may use them before their definition."""
    labels: set[str] = set()
    depth, step = 1, 0
    while depth:
        token = cursor.ahead(step)
        if token.kind == "end":
            break
        depth += (token.text == "{") - (token.text == "}")
        if depth == 1 and token.kind == "word" and cursor.ahead(step + 1).text == ":":
            labels.add(token.text)
        step += 1
    return labels
