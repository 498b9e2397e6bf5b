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
_MOST_NESTED = 6
_WORD = re.compile(r"[A-Za-z_]\w*")
_FLOAT = re.compile(r"\b(float|double|half)\b")
_LAMBDA = re.compile(r"\[[&=]\]")
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
        reader = self._reader(node.type)
        if reader is not None:
            return reader(node)
        value = None
        for child in node.named_children:
            if child.type.endswith("statement") or child.type == "declaration":
                self.execute(child)
            else:
                value = self.evaluate(child)
        if len(node.named_children) != 1:
            return None
        return value

    def _part(self, node: Node, name: str) -> Object | None:
        """Compute the value of a part of an expression or statement; None where it has no such part."""
        child = node.child_by_field_name(name)
        if child is None:
            return None
        return self.evaluate(child)

    def _on_number_literal(self, node: Node) -> Object | None:
        return library.number(self._text(node))

    def _on_string_literal(self, _: Node) -> None:
        return None

    def _on_type_descriptor(self, node: Node) -> Object | None:
        if not _WORD.fullmatch(self._text(node)):
            return None
        return self._on_identifier(node)

    def _on_true(self, _: Node) -> Object:
        return constant(1)

    def _on_false(self, _: Node) -> Object:
        return constant(0)

    def _on_null(self, _: Node) -> Object:
        return constant(0)

    def _on_initializer_list(self, node: Node) -> Object:
        return Listed(tuple(self.evaluate(child) for child in node.named_children))

    def _on_identifier(self, node: Node) -> Object | None:
        name = self._text(node)
        cell = self._cell(name)
        if cell is not None:
            return cell.value
        macro = self.program.macros.get(name)
        if macro is not None and not macro.is_function:
            value = self._expanded(name, macro.body)
            is_count = isinstance(value, HostScalar) and value.op == "number" and value.is_integer and value.number > 1
            if isinstance(value, HostScalar) and is_count and name not in self.program.device_words:
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
        name = self._text(node).rpartition("::")[2]
        cell = self._cell(name)
        if cell is not None:
            return cell.value
        if self.program.kernel(name) is not None:
            return NamedFunction(self._text(node))
        return self._class_constant(node)

    def _class_constant(self, node: Node) -> Object | None:
        """Return a static member of a class, as `Traits<128, 4>::kThreads`, which the compiler knows."""
        scope = self.resolved(self._text(node).rpartition("::")[0])
        head = scope.partition("<")[0]
        is_open = self.program.class_names.isdisjoint([head.rpartition("::")[2]]) or self.has_variables(scope)
        if is_open:
            return None
        spelled = f"{scope}::{self._text(node).rpartition('::')[2]}"
        name = spelled.rpartition("::")[2]
        if spelled not in self._constants:
            self.unevaluated.add(spelled)
            return self.unknown(name, "int", node)
        self.fixed.add(name)  # it is part of the compiled kernel
        return named(name, self._constants[spelled], self.place(node))

    def has_variables(self, type_: str) -> bool:
        """Tell whether a resolved type has template parameters or variables of the host without a known value."""
        words = set(_WORD.findall(type_))
        if self._function is not None and words & (set(self._function.template) - self._types.keys()):
            return True
        return any(word in frame for frame in self._frames[1:] for word in words)

    def _expanded(self, name: str, body: str) -> Object | None:
        """Evaluate the text of a macro."""
        # The argument of a macro may call it again, as in switches within switches.
        if self._expanding.count(f"#{name}") > _MOST_NESTED or len(self._expanding) > _MOST_CALLS:
            return None
        self._expanding.append(f"#{name}")
        try:
            # A lambda of many statements is run up to what the grammar does not take.
            is_lambda = _LAMBDA.search(body) is not None
            node = self._parsed(f"auto macro = {body.rstrip('; ')};", is_lenient=is_lambda and body.lstrip()[:1] == "[")
            if node is not None:
                declarator = grammar.first(node, "init_declarator")
                if declarator is None:
                    return None
                return self._part(declarator, "value")
            block = self._parsed(f"{{ {body} ; }}", is_lenient=is_lambda)
            if block is not None:
                self.execute(block)
            return constant(0)
        finally:
            self._expanding.pop()

    def _parsed(self, text: str, *, is_lenient: bool) -> Node | None:
        """Parse the text of a macro; None where it is no declaration or statement, unless errors are taken."""
        if text not in self._parsed_texts:
            plain = re.sub(r"\\\n", " \n", text)
            ascii_text = plain.encode("ascii", "replace").decode()
            root = grammar.root(f"void macro() {{ {ascii_text} }}")
            body = grammar.first(root, "compound_statement")
            self._parsed_texts[text] = None if root.has_error and not is_lenient else body
        return self._parsed_texts[text]

    def _on_parenthesized_expression(self, node: Node) -> Object | None:
        if not node.named_children:
            return None
        return self.evaluate(node.named_children[0])

    def _on_condition_clause(self, node: Node) -> Object | None:
        return self._part(node, "value")

    def _on_cast_expression(self, node: Node) -> Object | None:
        given, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if given is None or value is None:
            return None
        return self._cast(self._text(given), self.evaluate(value))

    def _cast(self, spelled: str, value: Object | None) -> Object | None:
        type_ = self.resolved(spelled)
        if isinstance(value, HostScalar) and "*" not in type_:
            if _FLOAT.search(type_):
                return scalars.to_float(value)
            if dtype_of_type(type_) is not None:
                return scalars.to_integer(value)
            return value
        if isinstance(value, ArrayPointer) and type_.endswith("*") and not type_.startswith("void"):
            return ArrayPointer(value.memory, type_[:-1].replace("const", "").strip(), value.offset)
        return value

    def _on_sizeof_expression(self, node: Node) -> Object | None:
        operand = node.child_by_field_name("type") or node.child_by_field_name("value")
        text = self._text(operand).strip("() ") if operand is not None else ""
        cell = self._cell(text)
        if cell is not None:
            if isinstance(cell.value, ArrayPointer) and not cell.type.endswith("*"):
                size = cell.value.memory.bytes
                if size is not None:
                    return size
            return self.size(self.resolved(cell.type), node)
        pointer = self._cell(text.strip("* "))
        if text.startswith("*") and pointer is not None:
            return self.size(self.resolved(pointer.type.removesuffix("*")), node)
        return self.size(self.resolved(text), node)

    def _on_unary_expression(self, node: Node) -> Object | None:
        operator = node.child_by_field_name("operator")
        value = self._part(node, "argument")
        if operator is None:
            return None
        if isinstance(value, HostScalar):
            return scalars.unary(self._text(operator), value)
        if isinstance(value, (ArrayPointer, Reference)) and self._text(operator) == "!":
            return constant(0)
        return None

    def _on_binary_expression(self, node: Node) -> Object | None:
        left = node.child_by_field_name("left")
        right = node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return None
        sign = self._text(operator)
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
        condition = node.child_by_field_name("condition")
        first = node.child_by_field_name("consequence")
        second = node.child_by_field_name("alternative")
        if condition is None or first is None or second is None:
            return None
        value = self.evaluate(condition)
        if not isinstance(value, HostScalar):
            if_false = self.evaluate(second)
            if_true = self.evaluate(first)
            if value is not None:
                return if_true
            return self._either_of(if_false, if_true, node)
        rounded = library.rounded_up(value, self.evaluate(first), self.evaluate(second))
        if rounded is not None:
            return rounded
        self._fix(value)
        self._choose(value)
        if not value.number:
            first, second = second, first
        taken = self.evaluate(first)
        if value.is_known:
            return taken
        other = self.evaluate(second)
        if taken is None:
            return other
        if scalars.is_told(value):
            return taken
        return self._either_of(taken, other, node)

    def _either_of(self, taken: Object | None, other: Object | None, node: Node) -> Object | None:
        """Choose one of two values; a number is a guess unless they are the same."""
        if not isinstance(taken, HostScalar) or not taken.is_known:
            return taken
        if isinstance(other, HostScalar) and other.number == taken.number:
            return taken
        return named("unknown", taken.number, self.place(node), is_known=False)

    def _on_assignment_expression(self, node: Node) -> Object | None:
        left = node.child_by_field_name("left")
        right = node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None:
            return None
        value = self.evaluate(right)
        cell = self.lvalue(left)
        if cell is None or left.type == "field_expression":
            self._change(left)
        if cell is None:
            return value
        sign = self._text(operator) if operator is not None else "="
        if sign != "=":
            old = cell.value
            if not isinstance(value, HostScalar):
                value = None
            elif isinstance(old, ArrayPointer):
                value = ArrayPointer(old.memory, old.type, scalars.binary(sign[0], old.offset, value))
            elif isinstance(old, HostScalar):
                value = scalars.binary(sign[:-1], old, value)
            else:
                value = None
        elif isinstance(value, ArrayPointer) and not value.memory.name:
            value.memory.name = cell.name
        self.assign(cell, value, node)
        return value

    def _on_update_expression(self, node: Node) -> Object | None:
        argument = node.child_by_field_name("argument")
        if argument is None:
            return None
        cell = self.lvalue(argument)
        if cell is None or isinstance(cell, ElementCell):
            self._change(argument)
        if cell is None or not isinstance(cell.value, HostScalar):
            return None
        old = cell.value
        self._note(cell)
        sign = "+" if "++" in self._text(node) else "-"
        moved = scalars.binary(sign, constant(old.number), constant(1))
        if not old.is_known and old.op != "loop":
            moved = named(cell.name, moved.number, self.place(node), is_known=False)
        cell.value = moved
        return old

    def _on_comma_expression(self, node: Node) -> Object | None:
        value = None
        for child in node.named_children:
            value = self.evaluate(child)
        return value

    def _on_pointer_expression(self, node: Node) -> Object | None:
        argument = node.child_by_field_name("argument")
        if argument is None:
            return None
        if self._text(node).startswith("&"):
            return self._address_of(argument)
        value = self.evaluate(argument)
        if isinstance(value, Reference):
            return value.cell.value
        if isinstance(value, ArrayPointer):
            return value.memory.element_value(self.place(node))
        return None

    def _address_of(self, node: Node) -> Object | None:
        if node.type == "subscript_expression":
            base = self._part(node, "argument")
            index = self._index(node)
            if isinstance(base, ArrayPointer) and isinstance(index, HostScalar):
                return ArrayPointer(base.memory, base.type, scalars.binary("+", base.offset, index))
            if isinstance(base, ArrayPointer):
                return base
        cell = self.lvalue(node)
        if cell is not None:
            return Reference(cell)
        value = self.evaluate(node)
        if isinstance(value, (NamedFunction, ArrayPointer)):
            return value
        return None

    def _index(self, node: Node) -> Object | None:
        """Compute the index of a subscript expression."""
        indices = node.child_by_field_name("indices")
        if indices is None or not indices.named_children:
            return None
        return self.evaluate(indices.named_children[0])

    def _on_subscript_expression(self, node: Node) -> Object | None:
        cell = self.lvalue(node)
        if cell is None:
            return None
        return cell.value

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
            return self._cell(self._text(node))
        if node.type in ("parenthesized_expression", "cast_expression") and node.named_children:
            return self.lvalue(node.named_children[-1])
        if node.type == "qualified_identifier":
            return self._cell(self._text(node).rpartition("::")[2])
        if node.type == "field_expression":
            return self._member(node)
        if node.type == "pointer_expression" and self._text(node).startswith("*"):
            value = self._part(node, "argument")
            if isinstance(value, Reference):
                return value.cell
            if isinstance(value, ArrayPointer):
                return self._element_cell(value, constant(0), node)
            return None
        if node.type == "subscript_expression":
            return self._subscripted(node)
        return None

    def _element_cell(self, base: ArrayPointer, index: Object | None, node: Node) -> ElementCell:
        if not isinstance(index, HostScalar):
            return ElementCell(base.memory, None, self.place(node))
        return ElementCell(base.memory, scalars.binary("+", base.offset, index), self.place(node))

    def _change(self, node: Node) -> None:
        """Let the contents of the array be uncertain that an expression changes a part of."""
        inner: Node | None = node
        while inner is not None and inner.type in _PARTS:
            inner = inner.child_by_field_name("argument")
            value = self.evaluate(inner) if inner is not None else None
            if isinstance(value, ArrayPointer):
                value.memory.contents = value.memory.contents.changed()
                return

    def _subscripted(self, node: Node) -> HostCell | None:
        argument = node.child_by_field_name("argument")
        base = self._part(node, "argument")
        index = self._index(node)
        if isinstance(base, ArrayPointer):
            return self._element_cell(base, index, node)
        if base is None and argument is not None and argument.type == "field_expression":
            member = self._member(argument)
            if member is not None:
                base = member.value = Structure({}, "[]")
        if isinstance(base, Structure) and base.type.endswith("[]"):
            number = int(index.number) if isinstance(index, HostScalar) else 0
            return _element_of(base, str(number), argument)
        if isinstance(base, Listed) and isinstance(index, HostScalar):
            if 0 <= int(index.number) < len(base.items):
                return HostCell("", "", base.items[int(index.number)])
            return HostCell("")
        return None

    def _member(self, node: Node) -> HostCell | None:
        argument = node.child_by_field_name("argument")
        field = node.child_by_field_name("field")
        if argument is None or field is None:
            return None
        name = self._text(field)
        base = self.evaluate(argument)
        if isinstance(base, Reference):
            base = base.cell.value
        if base is None and argument.type == "field_expression":
            around = self._member(argument)
            if around is not None:
                base = around.value = Structure({}, around.type)
        if isinstance(base, Structure):
            if name not in base.members:
                type_ = self._member_types(base.type).get(name, "")
                base.members[name] = HostCell(name, type_)
                if base.is_given and type_:
                    base.members[name].value = self.unknown_of(name, type_, is_called=False)
            return base.members[name]
        if self._text(argument) == "this":
            return self._cell(name)
        return None

    def _on_new_expression(self, node: Node) -> Object | None:
        given = node.child_by_field_name("type")
        declarator = node.child_by_field_name("declarator")
        count: Object | None = constant(1)
        if declarator is not None and declarator.child_by_field_name("length") is not None:
            count = self._part(declarator, "length")
        element = self.resolved(self._text(given)) if given is not None else ""
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
