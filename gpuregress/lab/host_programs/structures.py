"""Structures that a program's files define, with their data members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tree_sitter import Node

from gpuregress.gpu.records import Record
from gpuregress.toolchain.host_code import declarations, grammar
from gpuregress.toolchain.layouts import DataMember

_CLASSES = ("struct_specifier", "class_specifier")
_MOST_MEMBERS = 256


class StructureDefinition(Record):
    """A structure at namespace scope, or within another one.

    Attributes:
        name: with its namespaces.
        members: its own data members; None where not all of them are understood.
    """

    name: str
    members: tuple[DataMember, ...] | None


def definitions(tree: Node) -> Iterator[StructureDefinition]:
    """Find the structures of a file that are no templates.

    Args:
        tree: of the file.
    """
    for node in grammar.everywhere(tree, *_CLASSES):
        body = node.child_by_field_name("body")
        scope = _scope(node)
        name = _name(node)
        if body is not None and name and scope is not None:
            yield StructureDefinition("::".join([*scope, name]), _members(node, body))


def flattened(name: str, known: Mapping[str, StructureDefinition]) -> tuple[DataMember, ...]:
    """List the data members of a structure and, in their place, of the structures within.

    Args:
        name: without namespaces.
        known: the program's structures by that name.

    Returns:
        Nothing where not all members are understood.
    """
    return tuple(_flattened(name, known, "", (name,)) or ())[:_MOST_MEMBERS]


def _flattened(
    name: str, known: Mapping[str, StructureDefinition], prefix: str, around: tuple[str, ...]
) -> list[DataMember] | None:
    own = known[name].members if name in known else None
    if own is None:
        return None
    found: list[DataMember] = []
    for one in own:
        inner = one.type.rpartition("::")[2].removeprefix("struct ").strip()
        if inner in known and inner not in around and "[" not in one.path:
            within = _flattened(inner, known, f"{prefix}{one.path}.", (*around, inner))
            if within is None:
                return None
            found += within
        else:
            found.append(DataMember(f"{prefix}{one.path.partition('[')[0]}", one.type))
    return found


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    if name is not None:
        return grammar.text(name)
    parent = node.parent
    alias = (
        parent.child_by_field_name("declarator") if parent is not None and parent.type == "type_definition" else None
    )
    return grammar.text(alias) if alias is not None and alias.type == "type_identifier" else ""


def _scope(node: Node) -> list[str] | None:
    """List the namespaces and structures around; None within a function or a template."""
    names: list[str] = []
    parent = node.parent
    while parent is not None:
        if parent.type in ("template_declaration", "function_definition", "lambda_expression"):
            return None
        if parent.type in ("namespace_definition", *_CLASSES):
            name = parent.child_by_field_name("name")
            if name is not None:
                names.insert(0, grammar.text(name))
            elif parent.type != "namespace_definition":
                return None
        parent = parent.parent
    return names


def _members(node: Node, body: Node) -> tuple[DataMember, ...] | None:
    if any(one.type == "base_class_clause" for one in node.named_children):
        return None
    found: list[DataMember] = []
    for one in body.named_children:
        if one.type != "field_declaration":
            if one.type in ("function_definition", "access_specifier", "comment", "declaration", "alias_declaration"):
                continue
            return None
        if any(child.type == "storage_class_specifier" for child in one.named_children):
            continue  # static
        given, declarators = one.child_by_field_name("type"), one.children_by_field_name("declarator")
        if given is None or not declarators or any(child.type == "bitfield_clause" for child in one.named_children):
            return None
        for declarator in declarators:
            spelled = grammar.text(declarator)
            name = declarations.declared_name(declarator)
            if declarator.type == "function_declarator" and "*" not in spelled.partition("(")[2][:2]:
                continue  # a member function
            if not name or declarator.type == "function_declarator" or "&" in spelled:
                return None
            stars = "*" * spelled.count("*")
            extent = "[]" if declarator.type == "array_declarator" or "[" in spelled else ""
            const = "const " if any(grammar.text(child) == "const" for child in one.named_children) else ""
            found.append(DataMember(f"{name}{extent}", f"{const}{grammar.text(given)}{stars}"))
    return tuple(found)
