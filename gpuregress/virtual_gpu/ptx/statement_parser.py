"""Parser of function bodies: statements, scopes and local declarations.

PTX ISA manual, chapters 4, 6 and 9.
"""

from __future__ import annotations

import re

from gpuregress.gpu.records import replace
from gpuregress.virtual_gpu.ptx import declarations
from gpuregress.virtual_gpu.ptx.lexer import Cursor, PtxError, Token
from gpuregress.virtual_gpu.ptx.modifiers import BITS
from gpuregress.virtual_gpu.ptx.opcode_table import Control, info
from gpuregress.virtual_gpu.ptx.operands import OperandParser, Scopes
from gpuregress.virtual_gpu.ptx.source_locations import Locations
from gpuregress.virtual_gpu.ptx.tree import (
    UNDEFINED,
    Call,
    Guard,
    Instruction,
    Integer,
    Label,
    Operand,
    Prototype,
    Register,
    RegisterDeclaration,
    SourceLine,
    Statement,
    Symbol,
    Variable,
    Vector,
    elements,
)

_USED_BYTES = re.compile(r'"used_bytes_mask (0[xX][0-9a-fA-F]+|[0-9]+)U?"')
"""PTX ISA manual, "Pragma Strings": a mask for the load that follows, 1 bit for each byte."""


class BodyParser:
    """Parser of `{ … }`; the attributes hold the parsed parts.

    Args:
        cursor: at the opening brace.
        locations: follows the `.loc` directives.
        name: the function's.

    Attributes:
        module_variables: variables of global and constant memory, which belong to the module.
    """

    def __init__(self, cursor: Cursor, locations: Locations, name: str) -> None:
        self._name = name
        self._cursor = cursor
        self._locations = locations
        self._scopes = Scopes()
        self._operands = OperandParser(cursor, self._scopes, self._sum)
        self._types: dict[str, str] = {}
        self._before: list[Instruction] = []
        self._used_bytes: int | None = None
        self.registers: list[RegisterDeclaration] = []
        self.variables: list[Variable] = []
        self.module_variables: list[Variable] = []
        self.prototypes: list[Prototype] = []
        self.branch_targets: dict[str, tuple[str, ...]] = {}
        self.call_targets: dict[str, tuple[str, ...]] = {}
        self.statements: list[Statement] = []

    def read(self, parameters: tuple[Variable, ...]) -> None:
        """Parse the whole body.

        Args:
            parameters: results and parameters: names that the body may use; those in registers are registers.
        """
        for item in parameters:
            if item.space == "reg":
                self._declare_register(RegisterDeclaration(item.name, item.type, item.count or 1))
            else:
                self._scopes.declare(item.name, is_register=False)
        self._scope()

    def _declare_register(self, item: RegisterDeclaration) -> None:
        for name in self._scopes.declare_register(item.name, item.lanes):
            self.registers.append(RegisterDeclaration(name, item.type))
            self._types[name] = item.type

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
                self._declare_register(item)
        elif token.text == ".pragma":
            cursor.take()
            self._take_pragma(cursor.take().text)
            while cursor.accept(","):
                self._take_pragma(cursor.take().text)
        elif token.text in declarations.LINKAGE or declarations.is_space(token.text):
            linkage = cursor.take().text[1:] if token.text in declarations.LINKAGE else ""
            for variable in declarations.variable(cursor, linkage):
                if variable.space in ("global", "const"):
                    name = self._scopes.declare(variable.name, is_register=False, suffix=f"@{self._name}")
                    self.module_variables.append(replace(variable, name=name))
                else:
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
            self.call_targets[token.text] = self._target_list()
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
        results = declarations.parameter_list(cursor) if cursor.here.text == "(" else ()
        cursor.word("_")
        parameters = declarations.parameter_list(cursor) if cursor.here.text == "(" else ()
        while not cursor.accept(";"):
            cursor.take()
        return Prototype(name, results, parameters)

    def _instruction(self) -> None:
        cursor = self._cursor
        guard = self._guard()
        token = cursor.here
        opcode, *modifiers = cursor.word("an instruction").split(".")
        self._before.clear()
        if opcode == "call":
            call = self._call(token, guard, uniform="uni" in modifiers)
            self.statements += (*self._before, call)
            return
        operands: list[Operand] = []
        if cursor.here.text != ";":
            operands.append(self._operands.read())
            while cursor.accept(","):
                operands.append(self._operands.read())
        cursor.expect(";")
        used = self._used_bytes if opcode == "ld" else None
        self._used_bytes = None
        if opcode == "trap" and self._locations.is_undefined(token.line):
            modifiers.append(UNDEFINED)
        item = Instruction(
            opcode,
            tuple(modifiers),
            tuple(operands),
            guard=guard,
            ptx_line=token.line,
            source=self._locations.current,
            used_bytes=used,
        )
        if opcode == "trap" and self._locations.is_made_up:
            item = replace(item, source=self._line_of_branch() or item.source)
        if info(item).control in {Control.BRANCH, Control.BRANCH_TABLE}:
            item = replace(item, operands=tuple(map(self._as_label, operands)))
        if self._before:
            self.statements += self._before
        if opcode == "mov" and _is_vector(modifiers):
            self.statements += self._moves(item)
        else:
            self.statements.append(item)

    def _take_pragma(self, text: str) -> None:
        """Take a string of a `.pragma`; those that mean nothing here are left out."""
        used = _USED_BYTES.fullmatch(text)
        if used is not None:
            self._used_bytes = int(used[1], 0)

    def _line_of_branch(self) -> SourceLine | None:
        """The line of a branch to the label that stands before the statement at hand."""
        label = self.statements[-1] if self.statements else None
        if not isinstance(label, Label):
            return None
        target = (Symbol(label.name),)
        for statement in self.statements:
            if isinstance(statement, Instruction) and statement.operands == target:
                return statement.source
        return None

    def _sum(self, register: Register, number: Integer, line: int) -> Register:
        """Add a constant to a register, before the instruction that has the sum as its operand: `x + 1`."""
        type_name = self._types.get(register.name, "u32")  # a special register has 32 bits
        if type_name[0] not in "bsu" or type_name[1:] not in ("16", "32", "64"):
            raise PtxError(f"a constant is added to {register.name}, a register of type .{type_name}", line)
        total = self._temporary(type_name)
        operands = (total, register, number)
        # Without a guard: the sum alone does nothing.
        self._before.append(
            Instruction("add", (f"u{type_name[1:]}",), operands, ptx_line=line, source=self._locations.current)
        )
        return total

    def _temporary(self, type_name: str) -> Register:
        name = self._scopes.declare("%temporary", is_register=True)
        self.registers.append(RegisterDeclaration(name, type_name))
        self._types[name] = type_name
        return Register(name)

    def _moves(self, item: Instruction) -> list[Instruction]:
        """Copy a vector of registers, `mov.v2.u32 v, {b, a};`, element by element, as if all at once."""
        vectors = [elements(operand) for operand in item.operands if isinstance(operand, Vector)]
        type_name = item.modifiers[-1]
        if len(item.operands) != 2 or [len(one) for one in vectors] != [int(item.modifiers[0][1:])] * 2:
            raise PtxError(f"{item.mnemonic} takes two vectors of {item.modifiers[0][1:]} elements", item.ptx_line)
        if type_name not in BITS:
            raise PtxError(f"{'.' + type_name!r} is not a type", item.ptx_line)
        held = [self._temporary(type_name) for _ in vectors[0]]
        pairs = [*zip(held, vectors[1], strict=True), *zip(vectors[0], held, strict=True)]
        return [replace(item, modifiers=(type_name,), operands=pair) for pair in pairs]

    def _as_label(self, operand: Operand) -> Operand:
        if isinstance(operand, Symbol) or (isinstance(operand, Register) and self._scopes.has_label(operand.name)):
            return Symbol(self._scopes.label(operand.name))
        return operand

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
        return Call(
            callee=callee,
            results=results,
            arguments=arguments,
            prototype=prototype,
            uniform=uniform,
            guard=guard,
            ptx_line=token.line,
            source=self._locations.current,
        )

    def _operand_list(self) -> tuple[Operand, ...]:
        cursor = self._cursor
        cursor.expect("(")
        operands: list[Operand] = []
        while not cursor.accept(")"):
            operands.append(self._operands.read())
            cursor.accept(",")
        return tuple(operands)


def _is_vector(modifiers: list[str]) -> bool:
    return bool(modifiers) and modifiers[0] in ("v2", "v4")


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
