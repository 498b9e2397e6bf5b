"""Expressions of host code: their values, and the variables that they name."""

from __future__ import annotations

import re

from tree_sitter import Node

from gpuregress.lab.host_programs import library, scalars
from gpuregress.lab.host_programs.objects import (
    ArrayPointer,
    ElementCell,
    HostArray,
    HostCell,
    Listed,
    NamedFunction,
    Object,
    Reference,
    Structure,
)
from gpuregress.lab.host_programs.scalars import HostScalar, constant, named
from gpuregress.lab.host_programs.scope import FunctionReturn, HostScope, LoopLeft
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.host_code import grammar

_MOST_CALLS = 24
_WORD = re.compile(r"[A-Za-z_]\w*")
_FLOAT = re.compile(r"\b(float|double|half)\b")
_PARTS = ("field_expression", "subscript_expression", "pointer_expression", "update_expression")
"""Expressions that name a part of their argument."""


def _element_of(array: Structure, index: str, node: Node | None) -> HostCell:
    """Find an element of an array of pointers, functions or `dim3`."""
    if index not in array.members:
        type_ = array.type.removesuffix("[]")
        name = grammar.text(node).partition("[")[0] if node is not None else ""
        array.members[index] = HostCell(name, type_, Structure({}, type_) if type_.endswith("[]") else None)
    return array.members[index]


class HostExpressions(HostScope):
    """Evaluation of expressions."""

    def evaluate(self, node: Node) -> Object | None:
        """Compute the value of an expression; None where nothing is known of it."""
        self._step()
        reader = getattr(self, f"_on_{node.type}", None)
        if reader is not None:
            result: Object | None = reader(node)
            return result
        value = None
        for child in node.named_children:
            if child.type.endswith("statement") or child.type == "declaration":
                self.execute(child)
            else:
                value = self.evaluate(child)
        return value if len(node.named_children) == 1 else None

    def _on_number_literal(self, node: Node) -> Object | None:
        return library.number(grammar.text(node))

    def _on_string_literal(self, _: Node) -> None:
        return None

    def _on_type_descriptor(self, node: Node) -> Object | None:
        return self._on_identifier(node) if _WORD.fullmatch(grammar.text(node)) else None

    def _on_true(self, _: Node) -> Object:
        return constant(1)

    def _on_false(self, _: Node) -> Object:
        return constant(0)

    def _on_null(self, _: Node) -> Object:
        return constant(0)

    def _on_initializer_list(self, node: Node) -> Object:
        return Listed(tuple(self.evaluate(one) for one in node.named_children))

    def _on_identifier(self, node: Node) -> Object | None:
        name = grammar.text(node)
        cell = self._cell(name)
        if cell is not None:
            return cell.value
        macro = self.program.macros.get(name)
        if macro is not None and not macro.is_function:
            value = self._expanded(name, macro.body)
            is_free = name not in self.program.device_words
            if (
                is_free
                and isinstance(value, HostScalar)
                and value.op == "number"
                and value.is_integer
                and value.number > 1
            ):
                return named(name, value.number, "")
            return value
        known = library.CONSTANTS.get(name)
        if known is not None:
            return constant(known)
        if self.program.kernel(name) is not None or name in self.program.functions:
            return NamedFunction(name)
        return None

    _on_type_identifier = _on_identifier

    def _on_qualified_identifier(self, node: Node) -> Object | None:
        name = grammar.text(node).rpartition("::")[2]
        cell = self._cell(name)
        return (
            cell.value if cell is not None else NamedFunction(grammar.text(node)) if self.program.kernel(name) else None
        )

    def _expanded(self, name: str, body: str) -> Object | None:
        """Evaluate the text of a macro."""
        if self._expanding.count(f"#{name}") or len(self._expanding) > _MOST_CALLS:
            return None
        self._expanding.append(f"#{name}")
        try:
            node = self._parsed(f"auto macro = {body.rstrip('; ')};")
            if node is not None:
                value = next(grammar.everywhere(node, "init_declarator"), None)
                inner = value.child_by_field_name("value") if value is not None else None
                return self.evaluate(inner) if inner is not None else None
            block = self._parsed(f"{{ {body} ; }}")
            if block is not None:
                self.execute(block)
            return constant(0)
        finally:
            self._expanding.pop()

    def _parsed(self, text: str) -> Node | None:
        """Parse the text of a macro; None where it is no declaration or statement."""
        if text not in self._texts:
            plain = re.sub(r"\\\n", " \n", text)
            ascii_text = plain.encode("ascii", "replace").decode()
            root = grammar.root(f"void macro() {{ {ascii_text} }}")
            body = next(grammar.everywhere(root, "compound_statement"), None)
            self._texts[text] = None if root.has_error else body
        return self._texts[text]

    def _on_parenthesized_expression(self, node: Node) -> Object | None:
        return self.evaluate(node.named_children[0]) if node.named_children else None

    def _on_condition_clause(self, node: Node) -> Object | None:
        value = node.child_by_field_name("value")
        return self.evaluate(value) if value is not None else None

    def _on_cast_expression(self, node: Node) -> Object | None:
        given, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if given is None or value is None:
            return None
        return self._cast(grammar.text(given), self.evaluate(value))

    def _cast(self, spelled: str, value: Object | None) -> Object | None:
        type_ = self.resolved(spelled)
        if isinstance(value, HostScalar) and "*" not in type_:
            if _FLOAT.search(type_):
                return scalars.to_float(value)
            return scalars.to_integer(value) if dtype_of_type(type_) is not None else value
        if isinstance(value, ArrayPointer) and type_.endswith("*") and not type_.startswith("void"):
            return ArrayPointer(value.memory, type_[:-1].replace("const", "").strip(), value.offset)
        return value

    def _on_sizeof_expression(self, node: Node) -> Object | None:
        given, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        named_node = given if given is not None else value
        text = grammar.text(named_node).strip("() ") if named_node is not None else ""
        cell = self._cell(text)
        if cell is not None:
            if (
                isinstance(cell.value, ArrayPointer)
                and not cell.type.endswith("*")
                and cell.value.memory.bytes is not None
            ):
                return cell.value.memory.bytes
            return self.size(self.resolved(cell.type), node)
        if text.startswith("*") and (pointer := self._cell(text.strip("* "))) is not None:
            return self.size(self.resolved(pointer.type.removesuffix("*")), node)
        return self.size(self.resolved(text), node)

    def _on_unary_expression(self, node: Node) -> Object | None:
        argument, operator = node.child_by_field_name("argument"), node.child_by_field_name("operator")
        value = self.evaluate(argument) if argument is not None else None
        if operator is None or not isinstance(value, HostScalar):
            is_not = operator is not None and grammar.text(operator) == "!"
            return constant(0) if is_not and isinstance(value, (ArrayPointer, Reference)) else None
        return scalars.unary(grammar.text(operator), value)

    def _on_binary_expression(self, node: Node) -> Object | None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return None
        sign = grammar.text(operator)
        first = self.evaluate(left)
        if sign in ("&&", "||") and isinstance(first, HostScalar) and bool(first.number) == (sign == "||"):
            return first
        second = self.evaluate(right)
        if isinstance(first, HostScalar) and isinstance(second, HostScalar):
            return scalars.binary(sign, first, second)
        if isinstance(first, ArrayPointer) and isinstance(second, HostScalar) and sign in "+-":
            return ArrayPointer(first.memory, first.type, scalars.binary(sign, first.offset, second))
        if isinstance(first, (ArrayPointer, Reference)) and sign in ("==", "!="):
            return constant(int(sign == "!="))
        if sign == ">>" and first is None:  # a stream is read
            cell = self.lvalue(right)
            if cell is not None and (dtype_of_type(cell.type) or isinstance(cell, ElementCell)):
                self.assign(cell, self.unknown(cell.name, cell.type or "int", node), node)
        return None

    def _on_conditional_expression(self, node: Node) -> Object | None:
        condition, first = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        second = node.child_by_field_name("alternative")
        if condition is None or first is None or second is None:
            return None
        value = self.evaluate(condition)
        if not isinstance(value, HostScalar):
            taken, other = self.evaluate(second), self.evaluate(first)
            if value is not None:
                return other
            return self._either_of(taken, other, node)
        rounded = library.rounded_up(value, self.evaluate(first), self.evaluate(second))
        if rounded is not None:
            return rounded
        self._fix(value)
        self._choose(value)
        if value.is_known:
            return self.evaluate(first if value.number else second)
        taken, other = (self.evaluate(one) for one in ((first, second) if value.number else (second, first)))
        if taken is None:
            return other
        return taken if scalars.is_told(value) else self._either_of(taken, other, node)

    def _either_of(self, taken: Object | None, other: Object | None, node: Node) -> Object | None:
        """Choose one of two values; a number is a guess unless they are the same."""
        if not isinstance(taken, HostScalar) or not taken.is_known:
            return taken
        is_same = isinstance(other, HostScalar) and other.number == taken.number
        return taken if is_same else named("unknown", taken.number, self.place(node), is_known=False)

    def _on_assignment_expression(self, node: Node) -> Object | None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None:
            return None
        value = self.evaluate(right)
        cell = self.lvalue(left)
        if cell is None or left.type == "field_expression":
            self._change(left)
        if cell is None:
            return value
        sign = grammar.text(operator) if operator is not None else "="
        if sign != "=":
            old = cell.value
            both = isinstance(old, HostScalar) and isinstance(value, HostScalar)
            if isinstance(old, ArrayPointer) and isinstance(value, HostScalar):
                value = ArrayPointer(old.memory, old.type, scalars.binary(sign[0], old.offset, value))
            else:
                assert not both or (isinstance(old, HostScalar) and isinstance(value, HostScalar))
                value = scalars.binary(sign[:-1], old, value) if both else None  # type: ignore[arg-type]
        elif isinstance(value, ArrayPointer) and not value.memory.name:
            value.memory.name = cell.name
        self.assign(cell, value, node)
        return value

    def _on_update_expression(self, node: Node) -> Object | None:
        argument = node.child_by_field_name("argument")
        cell = self.lvalue(argument) if argument is not None else None
        if argument is not None and (cell is None or isinstance(cell, ElementCell)):
            self._change(argument)
        if cell is None or not isinstance(cell.value, HostScalar):
            return None
        old = cell.value
        self._note(cell)
        moved = scalars.binary("+" if "++" in grammar.text(node) else "-", constant(old.number), constant(1))
        is_loop = old.is_known or old.op == "loop"
        cell.value = moved if is_loop else named(cell.name, moved.number, self.place(node), is_known=False)
        return old

    def _on_comma_expression(self, node: Node) -> Object | None:
        values = [self.evaluate(one) for one in node.named_children]
        return values[-1] if values else None

    def _on_pointer_expression(self, node: Node) -> Object | None:
        argument = node.child_by_field_name("argument")
        if argument is None:
            return None
        if grammar.text(node).startswith("&"):
            if argument.type == "subscript_expression" and (element := self._element(argument)) is not None:
                return element
            if (cell := self.lvalue(argument)) is not None:
                return Reference(cell)
            value = self.evaluate(argument)
            return value if isinstance(value, (NamedFunction, ArrayPointer)) else None
        value = self.evaluate(argument)
        if isinstance(value, Reference):
            return value.cell.value
        return value.memory.element_value(self.place(node)) if isinstance(value, ArrayPointer) else None

    def _element(self, node: Node) -> Object | None:
        argument, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        base = self.evaluate(argument) if argument is not None else None
        index = self.evaluate(indices.named_children[0]) if indices is not None and indices.named_children else None
        if isinstance(base, ArrayPointer) and isinstance(index, HostScalar):
            return ArrayPointer(base.memory, base.type, scalars.binary("+", base.offset, index))
        return base if isinstance(base, ArrayPointer) else None

    def _on_subscript_expression(self, node: Node) -> Object | None:
        cell = self.lvalue(node)
        return cell.value if cell is not None else None

    def _on_field_expression(self, node: Node) -> Object | None:
        cell = self.lvalue(node)
        if cell is None:
            return None
        if cell.value is None:
            cell.value = library.device_property(cell.name)
        return cell.value

    def lvalue(self, node: Node) -> HostCell | None:
        """Find the variable, member or element that an expression names."""
        if node.type in ("identifier", "type_identifier"):
            return self._cell(grammar.text(node))
        if node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
            return self.lvalue(node.named_children[-1])
        if node.type == "qualified_identifier":
            return self._cell(grammar.text(node).rpartition("::")[2])
        if node.type == "field_expression":
            return self._member(node)
        if node.type == "pointer_expression" and grammar.text(node).startswith("*"):
            argument = node.child_by_field_name("argument")
            value = self.evaluate(argument) if argument is not None else None
            if isinstance(value, Reference):
                return value.cell
            return self._element_cell(value, constant(0), node) if isinstance(value, ArrayPointer) else None
        if node.type == "subscript_expression":
            return self._subscripted(node)
        return None

    def _element_cell(self, base: ArrayPointer, index: HostScalar | None, node: Node) -> ElementCell:
        at = None if index is None else scalars.binary("+", base.offset, index)
        return ElementCell(base.memory, at, self.place(node))

    def _change(self, node: Node) -> None:
        """Let the contents of the array be uncertain that an expression changes a part of."""
        while node.type in _PARTS and (inner := node.child_by_field_name("argument")) is not None:
            value = self.evaluate(inner)
            if isinstance(value, ArrayPointer):
                value.memory.contents = value.memory.contents.changed()
                return
            node = inner

    def _subscripted(self, node: Node) -> HostCell | None:
        argument, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        base = self.evaluate(argument) if argument is not None else None
        index = self.evaluate(indices.named_children[0]) if indices is not None and indices.named_children else None
        if isinstance(base, ArrayPointer):
            return self._element_cell(base, index if isinstance(index, HostScalar) else None, node)
        if base is None and argument is not None and argument.type == "field_expression":
            member = self._member(argument)
            if member is not None:
                base = member.value = Structure({}, "[]")
        if isinstance(base, Structure) and base.type.endswith("[]"):
            return _element_of(base, str(int(index.number)) if isinstance(index, HostScalar) else "0", argument)
        if isinstance(base, Listed) and isinstance(index, HostScalar):
            at = int(index.number)
            return HostCell("", "", base.items[at] if 0 <= at < len(base.items) else None)
        return None

    def _member(self, node: Node) -> HostCell | None:
        argument, field = node.child_by_field_name("argument"), node.child_by_field_name("field")
        if argument is None or field is None:
            return None
        name = grammar.text(field)
        base = self.evaluate(argument)
        if isinstance(base, Reference):
            base = base.cell.value
        if base is None and argument.type == "field_expression" and (around := self._member(argument)) is not None:
            base = around.value = Structure({}, around.type)
        if isinstance(base, Structure):
            if name not in base.members:
                base.members[name] = HostCell(name, self._member_types(base.type).get(name, ""))
            return base.members[name]
        return self._cell(name) if grammar.text(argument) == "this" else None

    def _on_new_expression(self, node: Node) -> Object | None:
        given, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        length = declarator.child_by_field_name("length") if declarator is not None else None
        count = self.evaluate(length) if length is not None else constant(1)
        element = self.resolved(grammar.text(given)) if given is not None else ""
        size = self.size(element, node)
        total = scalars.binary("*", count, size) if isinstance(count, HostScalar) else None
        memory = HostArray("", total, self.place(node), element)
        memory.contents = memory.contents.constructed()
        return ArrayPointer(memory, element)

    def _on_lambda_expression(self, node: Node) -> Object | None:
        body = node.child_by_field_name("body")
        if body is not None:
            try:
                self.execute(body)
            except (FunctionReturn, LoopLeft):
                return None
        return None
