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
_LISTS = ("argument_list", "initializer_list", "parameter_list")
_POINTERS = re.compile(r"\*[\s*]*\w+\s*\[")
_FUNCTION_POINTERS = re.compile(r"^\(\s*\*\s*\w+\s*\[")


class HostDeclarations(HostCalls):
    """Execution of declarations."""

    def _enumerate(self, node: Node) -> None:
        following: HostScalar = constant(0)
        for enumerator in grammar.everywhere(node, "enumerator"):
            name = enumerator.child_by_field_name("name")
            value: Object | None = following
            if enumerator.child_by_field_name("value") is not None:
                value = self._part(enumerator, "value")
            if name is None:
                continue
            spelled = self._text(name)
            number = value if isinstance(value, HostScalar) else self.unknown(spelled, "int", enumerator)
            if number.is_known:
                number = constant(number.number)
            self._globals[spelled] = HostCell(spelled, "int", number)
            following = scalars.binary("+", number, constant(1))

    def _declare(self, node: Node) -> None:
        given = node.child_by_field_name("type")
        if given is None:
            return
        spelled = self.resolved(self._text(given))
        if given.type == "enum_specifier":
            self._enumerate(given)
        for declarator in node.children_by_field_name("declarator"):
            name = declarations.declared_name(declarator)
            if not name:
                continue
            before_name, found_name, _ = self._text(declarator).partition("=")[0].partition(name)
            stars = before_name.count("*") if found_name else 0
            cell = HostCell(name, spelled + "*" * stars, doubts=self._doubts)
            value = self._initial(cell, declarator)
            if isinstance(value, Structure):
                value = value.copy(cell.doubts)
            cell.value = value
            frame = self._frames[-1]
            if frame is not self._globals or name not in frame or frame[name].value is None:
                frame[name] = cell

    def _initial(self, cell: HostCell, declarator: Node) -> Object | None:
        value_node: Node | None = None
        inner: Node | None = declarator
        if declarator.type == "init_declarator":
            value_node = declarator.child_by_field_name("value")
            inner = declarator.child_by_field_name("declarator")
        elif declarator.type == "function_declarator":
            if _FUNCTION_POINTERS.search(self._text(declarator)):
                return Structure({}, "[]")
            # To the grammar, `dim3 grid(a, b);` declares a function.
            value_node = declarator.child_by_field_name("parameters")
            inner = None
        vector = _VECTOR.search(cell.type)
        if vector is not None and not cell.type.endswith("*"):
            return self._vector(cell, vector[1] or vector[2], value_node)
        if inner is not None and inner.type == "array_declarator":
            return self._array(cell, inner, value_node)
        if cell.type == "dim3":
            return self._dim3(value_node)
        if value_node is None and inner is not None and _POINTERS.match(self._text(inner)):
            return Structure({}, cell.type + "[]" * self._text(inner).count("["))
        if value_node is None:
            if "*" in cell.type or dtype_of_type(cell.type):
                return None
            return Structure({}, cell.type)
        if value_node.type in _LISTS:
            return self._listed(cell, value_node)
        value = self.evaluate(value_node)
        if isinstance(value, ArrayPointer) and not value.memory.name:
            value.memory.name = cell.name
        if isinstance(value, Structure):
            return value
        return self._converted(cell, value, value_node)

    def _listed(self, cell: HostCell, node: Node) -> Object | None:
        """Return the initial value that a list in braces or brackets gives."""
        items = self._items(node)
        if len(items) == 1 and (dtype_of_type(cell.type) or "*" in cell.type or "auto" in cell.type):
            return self._converted(cell, items[0], node)
        types = self._member_types(cell.type)
        if node.type == "initializer_list" and min(len(types), 2) <= len(items) <= len(types) and items:
            cells = [HostCell(name, types[name], item) for name, item in zip(types, items, strict=False)]
            return Structure({member.name: member for member in cells}, cell.type)
        is_zero = len(items) == 1 and isinstance(items[0], HostScalar) and items[0].is_known and not items[0].number
        if not items or is_zero or node.type == "parameter_list":
            return Structure({}, cell.type)
        return Listed(tuple(items))

    def _items(self, node: Node) -> list[Object | None]:
        return [self.evaluate(_expression(child)) for child in node.named_children]

    def _converted(self, cell: HostCell, value: Object | None, node: Node) -> Object | None:
        """Convert an initial value to the type of its variable."""
        if value is None and not cell.type.endswith("*"):
            if dtype_of_type(cell.type) or "auto" in cell.type:
                return self.unknown(cell.name, cell.type, node)
            return None
        if isinstance(value, ArrayPointer):
            element = value.type
            if cell.type.endswith("*") and not cell.type.startswith(("void", "auto")):
                element = cell.type[:-1]
            value.memory.element = value.memory.element or element
            return ArrayPointer(value.memory, element, value.offset)
        return self._named(cell.name, cell.type, value, node)

    def _vector(self, cell: HostCell, element: str, node: Node | None) -> Object:
        pointer = ArrayPointer(HostArray(cell.name, None, self.place(node), element), element)
        size = self.size(self.resolved(element), node)
        if node is None:
            return pointer
        items = self._items(node)
        memory = pointer.memory
        if node.type in ("argument_list", "parameter_list") and items:
            first = items[0]
            if isinstance(first, HostScalar):
                memory.bytes = scalars.binary("*", first, size)
                memory.contents = memory.contents.constructed()
                if len(items) > 1 and isinstance(items[1], HostScalar):
                    memory.contents = memory.contents.with_all(items[1])
            elif isinstance(first, ArrayPointer):
                self._copy(memory, first.memory)
        elif node.type == "initializer_list":
            memory.bytes = scalars.binary("*", constant(len(items)), size)
            memory.contents = memory.contents.changed()
        else:
            value = self.evaluate(node)
            if isinstance(value, ArrayPointer):
                self._copy(memory, value.memory)
        return pointer

    @staticmethod
    def _copy(memory: HostArray, source: HostArray) -> None:
        memory.bytes = memory.bytes or source.bytes
        memory.contents = memory.contents.with_copy(source.contents, is_whole=True)

    def _array(self, cell: HostCell, node: Node, value: Node | None) -> Object | None:
        if value is None and cell.type == "dim3":
            return Structure({}, cell.type + "[]" * self._text(node).count("["))
        items: list[Object | None] = []
        if value is not None:
            items = [self.evaluate(child) for child in value.named_children]
        if cell.type.startswith(("void", "char")) or any(isinstance(item, (Reference, ArrayPointer)) for item in items):
            return Listed(tuple(items))
        total = self.size(cell.type, node)
        declarator: Node | None = node
        while declarator is not None and declarator.type == "array_declarator":
            extent: Object | None = constant(max(len(items), 1))
            if declarator.child_by_field_name("size") is not None:
                extent = self._part(declarator, "size")
            if not isinstance(extent, HostScalar):
                extent = named(f"{cell.name}_size", 1, self.place(node), is_known=False)
            total = scalars.binary("*", total, extent)
            declarator = declarator.child_by_field_name("declarator")
        memory = HostArray(cell.name, total, self.place(node), cell.type)
        if all(isinstance(item, HostScalar) and item.is_known and not item.number for item in items):
            if value is not None:
                memory.contents = memory.contents.zeroed(is_whole=True)
        else:
            memory.contents = memory.contents.changed()
        return ArrayPointer(memory, cell.type)

    def _dim3(self, node: Node | None) -> Object | None:
        if node is None:
            return dim3(())
        if node.type in _LISTS:
            return dim3(extents(self._items(node), self.place(node)))
        sizes = axes(self.evaluate(node))
        if sizes is None:
            return None
        return dim3(sizes)


def _expression(node: Node) -> Node:
    """Return what `dim3 grid(a, b)` gives where the grammar takes it for parameters."""
    if node.type == "parameter_declaration":
        return node.child_by_field_name("type") or node
    return node
