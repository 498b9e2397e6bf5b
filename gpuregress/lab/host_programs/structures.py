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
        bases: the names of its base classes.
    """

    name: str
    members: tuple[DataMember, ...] | None
    bases: tuple[str, ...] = ()


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
            yield StructureDefinition("::".join([*scope, name]), _members(body), _bases(node))


def class_names(tree: Node) -> set[str]:
    """Return the names of the classes of a file, also of templates."""
    names = set()
    for node in grammar.everywhere(tree, *_CLASSES):
        name = node.child_by_field_name("name")
        if name is not None and node.child_by_field_name("body") is not None:
            names.add(grammar.text(name).partition("<")[0])
    return names


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
    if name not in known:
        return None
    own = known[name].members
    if own is None:
        return None
    members: list[DataMember] = []
    for base in known[name].bases:
        inherited = _flattened(base.rpartition("::")[2], known, prefix, (*around, base))
        if inherited is None or base in around:
            return None
        members += inherited
    for member in own:
        inner = member.type.rpartition("::")[2].removeprefix("struct ").strip()
        if inner in known and inner not in around and "[" not in member.path:
            within = _flattened(inner, known, f"{prefix}{member.path}.", (*around, inner))
            if within is None:
                return None
            members += within
        else:
            members.append(DataMember(f"{prefix}{member.path.partition('[')[0]}", member.type))
    return members


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    if name is not None:
        return grammar.text(name)
    parent = node.parent
    if parent is None or parent.type != "type_definition":
        return ""
    alias = parent.child_by_field_name("declarator")
    if alias is None or alias.type != "type_identifier":
        return ""
    return grammar.text(alias)


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


def _bases(node: Node) -> tuple[str, ...]:
    names = []
    for clause in node.named_children:
        if clause.type == "base_class_clause":
            names += [grammar.text(base) for base in clause.named_children if base.type != "access_specifier"]
    return tuple(names)


def _members(body: Node) -> tuple[DataMember, ...] | None:
    members: list[DataMember] = []
    for child in body.named_children:
        if child.type != "field_declaration":
            if child.type in ("function_definition", "access_specifier", "comment", "declaration", "alias_declaration"):
                continue
            return None
        kinds = [part.type for part in child.named_children]
        if "storage_class_specifier" in kinds:
            continue  # static
        given = child.child_by_field_name("type")
        declarators = child.children_by_field_name("declarator")
        if given is None or not declarators or "bitfield_clause" in kinds:
            return None
        is_const = any(grammar.text(part) == "const" for part in child.named_children)
        type_ = f"const {grammar.text(given)}" if is_const else grammar.text(given)
        for declarator in declarators:
            spelled = grammar.text(declarator)
            name = declarations.declared_name(declarator)
            if declarator.type == "function_declarator" and "*" not in spelled.partition("(")[2][:2]:
                continue  # a member function
            if not name or declarator.type == "function_declarator" or "&" in spelled:
                return None
            if declarator.type == "array_declarator" or "[" in spelled:
                name += "[]"
            members.append(DataMember(name, type_ + "*" * spelled.count("*")))
    return tuple(members)
