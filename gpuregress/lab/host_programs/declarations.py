"""Declarations of host code: variables with their initial values, and enumerations."""

from __future__ import annotations

import re

from tree_sitter import Node

from gpuregress.lab.host_programs import scalars
from gpuregress.lab.host_programs.calls import HostCalls
from gpuregress.lab.host_programs.objects import (
    ArrayPointer,
    HostArray,
    HostCell,
    Listed,
    Object,
    Reference,
    Structure,
    axes,
    dim3,
    extents,
)
from gpuregress.lab.host_programs.scalars import HostScalar, constant, named
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.host_code import declarations, grammar

_VECTOR = re.compile(
    r"\b(?:std::|thrust::)?(?:\w*_)?[vV]ector\s*<\s*([^<>]+?)\s*>$|^(?:\w+::)*(?:\w*_)?[vV]ector<(.+)>$"
)
_POINTERS = re.compile(r"\*[\s*]*\w+\s*\[")
_FUNCTION_POINTERS = re.compile(r"^\(\s*\*\s*\w+\s*\[")


class HostDeclarations(HostCalls):
    """Execution of declarations."""

    def _enumerate(self, node: Node) -> None:
        following: HostScalar = constant(0)
        for one in grammar.everywhere(node, "enumerator"):
            name, value = one.child_by_field_name("name"), one.child_by_field_name("value")
            given = self.evaluate(value) if value is not None else following
            if name is None:
                continue
            spelled = grammar.text(name)
            number = given if isinstance(given, HostScalar) else self.unknown(spelled, "int", one)
            number = constant(number.number) if number.is_known else number
            self._globals[spelled] = HostCell(spelled, "int", number)
            following = scalars.binary("+", number, constant(1))

    def _declare(self, node: Node) -> None:
        given = node.child_by_field_name("type")
        if given is None:
            return
        spelled = self.resolved(grammar.text(given))
        if given.type == "enum_specifier":
            self._enumerate(given)
        for declarator in node.children_by_field_name("declarator"):
            name = declarations.declared_name(declarator)
            if not name:
                continue
            shape = grammar.text(declarator).partition("=")[0]
            stars = "*" * (shape[: shape.find(name)].count("*") if name in shape else 0)
            cell = HostCell(name, spelled + stars, doubts=self._doubts)
            value = self._initial(cell, declarator)
            cell.value = value.copy(cell.doubts) if isinstance(value, Structure) else value
            frame = self._frames[-1]
            if frame is not self._globals or name not in frame or frame[name].value is None:
                frame[name] = cell

    def _initial(self, cell: HostCell, declarator: Node) -> Object | None:
        value_node = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
        inner = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
        if declarator.type == "function_declarator" and _FUNCTION_POINTERS.search(grammar.text(declarator)):
            return Structure({}, "[]")
        if declarator.type == "function_declarator":
            value_node, inner = declarator.child_by_field_name("parameters"), None
        vector = _VECTOR.search(cell.type)
        if vector is not None and not cell.type.endswith("*"):
            return self._vector(cell, vector[1] or vector[2], value_node)
        if inner is not None and inner.type == "array_declarator":
            return self._array(cell, inner, value_node)
        if cell.type == "dim3":
            return self._dim3(value_node)
        if value_node is None and inner is not None and _POINTERS.match(grammar.text(inner)):
            return Structure({}, cell.type + "[]" * grammar.text(inner).count("["))
        if value_node is None:
            return None if "*" in cell.type or dtype_of_type(cell.type) else Structure({}, cell.type)
        if value_node.type in ("argument_list", "initializer_list", "parameter_list"):
            items = tuple(self.evaluate(_expression(one)) for one in value_node.named_children)
            if len(items) == 1 and (dtype_of_type(cell.type) or "*" in cell.type or "auto" in cell.type):
                return self._converted(cell, items[0], value_node)
            types = self._member_types(cell.type)
            if value_node.type == "initializer_list" and min(len(types), 2) <= len(items) <= len(types) and items:
                members = zip(types.items(), items, strict=False)
                return Structure({name: HostCell(name, type_, one) for (name, type_), one in members}, cell.type)
            if len(items) == 1 and isinstance(items[0], HostScalar) and not items[0].number and items[0].is_known:
                return Structure({}, cell.type)  # `= {0}`
            return Listed(items) if items and value_node.type != "parameter_list" else Structure({}, cell.type)
        value = self.evaluate(value_node)
        if isinstance(value, ArrayPointer) and not value.memory.name:
            value.memory.name = cell.name
        return value if isinstance(value, Structure) else self._converted(cell, value, value_node)

    def _converted(self, cell: HostCell, value: Object | None, node: Node) -> Object | None:
        """Convert an initial value to the type of its variable."""
        if value is None and not cell.type.endswith("*"):
            return self.unknown(cell.name, cell.type, node) if dtype_of_type(cell.type) or "auto" in cell.type else None
        if isinstance(value, ArrayPointer):
            is_typed = cell.type.endswith("*") and not cell.type.startswith(("void", "auto"))
            element = cell.type[:-1] if is_typed else value.type
            value.memory.element = value.memory.element or element
            return ArrayPointer(value.memory, element, value.offset)
        return self._named(cell.name, cell.type, value, node)

    def _vector(self, cell: HostCell, element: str, node: Node | None) -> Object:
        pointer = ArrayPointer(HostArray(cell.name, None, self.place(node), element), element)
        size = self.size(self.resolved(element), node)
        items = [self.evaluate(_expression(one)) for one in node.named_children] if node is not None else []
        if node is not None and node.type in ("argument_list", "parameter_list") and items:
            first = items[0]
            if isinstance(first, HostScalar):
                pointer.memory.bytes = scalars.binary("*", first, size)
                pointer.memory.contents = pointer.memory.contents.constructed()
                if len(items) > 1 and isinstance(items[1], HostScalar):
                    pointer.memory.contents = pointer.memory.contents.with_all(items[1])
            elif isinstance(first, ArrayPointer):
                self._copy(pointer.memory, first.memory)
        elif node is not None and node.type == "initializer_list":
            pointer.memory.bytes = scalars.binary("*", constant(len(items)), size)
            pointer.memory.contents = pointer.memory.contents.changed()
        elif node is not None:
            value = self.evaluate(node)
            if isinstance(value, ArrayPointer):
                self._copy(pointer.memory, value.memory)
        return pointer

    @staticmethod
    def _copy(memory: HostArray, source: HostArray) -> None:
        memory.bytes = memory.bytes or source.bytes
        memory.contents = memory.contents.with_copy(source.contents, is_whole=True)

    def _array(self, cell: HostCell, node: Node, value: Node | None) -> Object | None:
        if value is None and cell.type == "dim3":
            return Structure({}, cell.type + "[]" * grammar.text(node).count("["))
        items = tuple(self.evaluate(one) for one in value.named_children) if value is not None else ()
        if cell.type.startswith(("void", "char")) or any(isinstance(one, (Reference, ArrayPointer)) for one in items):
            return Listed(items)
        total = self.size(cell.type, node)
        one: Node | None = node
        while one is not None and one.type == "array_declarator":
            size = one.child_by_field_name("size")
            count = self.evaluate(size) if size is not None else constant(max(len(items), 1))
            total = scalars.binary("*", total, self._counted(count, f"{cell.name}_size", node))
            one = one.child_by_field_name("declarator")
        memory = HostArray(cell.name, total, self.place(node), cell.type)
        if value is not None:
            is_zero = all(isinstance(one, HostScalar) and one.is_known and not one.number for one in items)
            memory.contents = memory.contents.zeroed(is_whole=True) if is_zero else memory.contents.changed()
        return ArrayPointer(memory, cell.type)

    def _counted(self, value: Object | None, name: str, node: Node) -> HostScalar:
        """Return an extent; one that is not known has a guess."""
        return value if isinstance(value, HostScalar) else named(name, 1, self.place(node), is_known=False)

    def _dim3(self, node: Node | None) -> Object | None:
        if node is None:
            return dim3(())
        if node.type in ("argument_list", "initializer_list", "parameter_list"):
            items = [self.evaluate(_expression(one)) for one in node.named_children]
            return dim3(extents(items, self.place(node)))
        value = self.evaluate(node)
        sizes = axes(value)
        return dim3(sizes) if sizes is not None else None


def _expression(node: Node) -> Node:
    """Return what `dim3 grid(a, b)` gives where the grammar takes it for parameters."""
    if node.type == "parameter_declaration":
        given = node.child_by_field_name("type")
        return given if given is not None else node
    return node
