"""Declarations of a C++ text at namespace scope, by its syntax tree."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain.host_code import grammar
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText, Macro, Macros, has_annotation, without_strings

if TYPE_CHECKING:
    from tree_sitter import Node
from collections.abc import Mapping

from gpuregress.toolchain.host_code.preprocessing import words_of

Kind = Literal[
    "function", "prototype", "variable", "class", "enum", "alias", "namespace", "assertion", "instantiation", "macro"
]

_CLASSES = ("class_specifier", "struct_specifier", "union_specifier")
_CONTAINERS = ("translation_unit", "declaration_list", "ERROR")
_KINDS: dict[str, Kind] = {
    "alias_declaration": "alias",
    "type_definition": "alias",
    "namespace_alias_definition": "alias",
    "concept_definition": "alias",
    "static_assert_declaration": "assertion",
    "template_instantiation": "instantiation",
    "friend_declaration": "prototype",
    "expression_statement": "macro",
    "call_expression": "macro",
}
_ARGUMENTS = re.compile(r"<(?<!<<)[^<>;{}\n]*>(?=>>(?!>))")
"""Template arguments before `>>`, which the grammar would take for the end of a launch with it."""
_CALL_WITH_TYPES = re.compile(
    r"^(?P<call>[ \t]*(?P<name>[A-Za-z_]\w*)[ \t]*\()"
    r"(?P<arguments>[^()]*\b(?:bool|char|double|float|int|long|short|signed|unsigned|void)\b[^()]*)"
    r"(?P<rest>\)[ \t]*(?P<semicolon>;?))(?=[ \t]*$)",
    re.MULTILINE,
)
"""A line that is a call with a type among its arguments, as `INSTANTIATE(float, 3)`; of a macro, if of anything."""
_CLASS_NAME = "gpuregress_class"
_CONCATENATION = re.compile(r"\s*##\s*|#(?=\s*\w)")
_CALL = re.compile(r"[A-Za-z_]\w*\s*\(")
_BEFORE_CLASS = re.compile(r"\b(?:template\s*<|typedef\b).*$", re.DOTALL)
_CLASS_KEY = re.compile(r"\b(?:class|struct|union)\b")
_NAMES = ("identifier", "type_identifier", "field_identifier", "namespace_identifier", "operator_name")


class Declared(Record):
    """A declaration.

    Attributes:
        kind: `namespace` is a using-directive; `macro` a macro's call that stands alone.
        names: those that it declares, without namespaces; what a macro's call or a using-directive begins with.
        start: offset of its first character: its template header, `extern "C"` or specifiers.
        specifiers: offset behind the template header.
        head_end: offset of the body, with the initializers of a constructor; `end` without one.
        end: offset behind its last character.
        is_device: annotated `__global__`, `__device__`, `__constant__`, …
        head: its text up to the body, without comments.
        members: of a class.
        is_body: whether a function has a body in braces, not `= default`.
    """

    kind: Kind
    names: tuple[str, ...]
    start: int
    specifiers: int
    head_end: int
    end: int
    is_device: bool
    head: str
    members: tuple[Declared, ...] = ()
    is_body: bool = False


class View(Record):
    """One view of a text with its syntax tree.

    Attributes:
        code: what this view shows.
        bare: the same without the contents of strings.
        parsed: the same without annotations, attributes and the contents of strings.
        tree: of `parsed`.
        declarations: at namespace scope.
        namespaces: the names of namespaces that it opens.
        device: spans of device code.
    """

    code: str
    bare: str
    parsed: str
    tree: Node
    declarations: tuple[Declared, ...]
    namespaces: frozenset[str]
    device: tuple[tuple[int, int], ...]


def views(text: CxxText, macros: Macros) -> tuple[View, ...]:
    """Parse each view of a text."""
    return tuple(_view(code, macros) for code in text.views())


def _without_types_in_calls(parsed: str, bare: str, macros: Macros) -> str:
    """Put a name in place of the arguments of each macro's call that is a declaration of its own.

    The grammar misreads types there. Device code stays as it is, since its mutants are made by the tree.
    """
    if _CALL_WITH_TYPES.search(parsed) is None:
        return parsed
    device = device_spans(bare, macros)

    def without_types(match: re.Match[str]) -> str:
        bodies = [macro.body.rstrip() for macro in macros.named.get(match["name"], ())]
        is_whole = bool(match["semicolon"]) or any(body.endswith((";", "}")) for body in bodies)
        if not bodies or not is_whole or any(start <= match.start("name") < end for start, end in device):
            return match[0]
        blank = re.sub(r"[^\n]", " ", match["arguments"])
        return f"{match['call']}T{blank[1:]}{match['rest']}"

    return _CALL_WITH_TYPES.sub(without_types, parsed)


def _view(code: str, macros: Macros) -> View:
    bare = without_strings(code)
    plain = macros.without_specifiers(bare)
    parsed = _ARGUMENTS.sub(lambda match: " " * len(match[0]), macros.without_brackets(plain))
    parsed = _without_types_in_calls(parsed, bare, macros)
    tree = grammar.root(parsed)
    reader = _Reader(bare, plain, macros.annotations)
    device = device_spans(bare, macros)
    found = _with_misread_classes(list(reader.below(tree)), bare, device, macros)
    return View(code, bare, parsed, tree, tuple(found), frozenset(reader.namespaces), device)


def _with_misread_classes(
    found: list[Declared], bare: str, device: Sequence[tuple[int, int]], macros: Macros
) -> list[Declared]:
    """Put each class whose end the grammar misses in place of what it took for declarations inside it.

    Its members are not known: it stays whole or goes whole, because a lost data member would change the layout.
    """
    misread: list[Declared] = []
    starts = [one.start for one in found]
    for first, body, end in class_spans(bare, macros):
        number = bisect_right(starts, first) - 1
        around = found[number] if number >= 0 and found[number].end > first else None
        if around is None:
            if any(start <= first < last for start, last in device):
                continue
        elif around.end >= end and (around.head_end != body or ";" not in bare[end : around.end].rstrip("; \n")):
            continue
        misread.append(_whole_class(bare, first, body, end, macros))
    if not misread:
        return found
    spans = [(one.start, one.end) for one in misread]
    kept = [one for one in found if not any(start <= one.start < end for start, end in spans)]
    return sorted([*kept, *misread], key=lambda one: one.start)


def _whole_class(bare: str, first: int, body: int, end: int, macros: Macros) -> Declared:
    before = bare[max(bare.rfind(sign, 0, first) for sign in ";{}") + 1 : first]
    opened = _BEFORE_CLASS.search(before)
    start = first - len(before) + opened.start() if opened is not None else first
    semicolon = re.compile(r"[^;{}]*;").match(bare, end)
    last = semicolon.end() if semicolon is not None else end
    head = bare[start : max(body, first)]
    called = bare[first : bare.find(")", first) + 1] if bare[body : body + 1] != "{" else ""
    words = WORD.findall(_CLASS_KEY.split(f"{head} {called}")[-1]) + WORD.findall(bare[end:last])
    is_device = has_annotation(bare[start:last], macros.annotations)
    return Declared("class", tuple(dict.fromkeys(words)), start, start, body, last, is_device, head)


class _Reader:
    """One pass over the declarations of a tree."""

    def __init__(self, code: str, plain: str, annotations: frozenset[str]) -> None:
        self._code, self._plain, self._annotations = code, plain, annotations
        self.namespaces: set[str] = set()

    def below(self, node: Node) -> Iterator[Declared]:
        """List the declarations in a container."""
        for child in node.named_children:
            if child.type in _CONTAINERS:
                yield from self.below(child)
            elif child.type == "namespace_definition":
                name = child.child_by_field_name("name")
                self.namespaces |= {grammar.text(one) for one in grammar.everywhere(name, *_NAMES)} if name else set()
                body = child.child_by_field_name("body")
                yield from self.below(body) if body is not None else ()
            elif child.type == "linkage_specification" and _is_list(child):
                yield from self.below(_body(child))
            else:
                declared = self.declared(child)
                if declared is not None:
                    yield declared

    def declared(self, node: Node, start: int | None = None) -> Declared | None:
        """Read one declaration; `start` is that of the template header around it."""
        inner = node
        if node.type in ("template_declaration", "linkage_specification"):
            wrapped = [one for one in node.named_children if not one.type.startswith(("template_param", "requires"))]
            inner = wrapped[-1] if wrapped else node
            if inner is not node and inner.type not in ("string_literal", "comment"):
                return self.declared(inner, self._first(node) if start is None else start)
            return None
        specifiers = self._first(inner)
        start = specifiers if start is None else start
        end = self._last(inner)
        kind = self._kind(inner)
        if kind is None:
            return None
        body = _body_of(inner) if kind in ("function", "class") else None
        head_end = end if body is None else body.start_byte
        head = self._code[start:head_end]
        members = tuple(self._members(inner)) if kind == "class" else ()
        # The annotation of a macro's argument, or of a class's member, is not the declaration's own.
        is_device = has_annotation(head, self._annotations)
        has_body = kind == "function" and inner.child_by_field_name("body") is not None
        names = tuple(dict.fromkeys(filter(None, _names(inner, kind))))
        return Declared(kind, names, start, specifiers, head_end, end, is_device, head, members, has_body)

    def _kind(self, node: Node) -> Kind | None:
        if node.type == "using_declaration":
            return "namespace" if any(child.type == "namespace" for child in node.children) else "alias"
        if node.type == "function_definition":
            return "function"
        if node.type == "enum_specifier":
            return "enum"
        if node.type in _CLASSES:
            return "class"
        if node.type in ("declaration", "field_declaration", "type_definition"):
            given = node.child_by_field_name("type")
            if given is not None and given.type in _CLASSES and given.child_by_field_name("body") is not None:
                return "class"
            if given is not None and given.type == "enum_specifier":
                return "enum"
            if node.type != "type_definition":
                return "prototype" if _is_prototype(node) else "variable"
        return _KINDS.get(node.type) if node.named_children else None  # else a semicolon alone

    def _members(self, node: Node) -> Iterator[Declared]:
        body, names = _body_of(node), set(_names(node, "class"))
        for child in body.named_children if body is not None else ():
            for one in child.named_children if child.type == "ERROR" else (child,):
                member = self.declared(one)
                if member is not None:
                    yield replace(member, kind="macro") if _is_call(one, member, names) else member

    def _first(self, node: Node) -> int:
        """The offset of a declaration with the specifiers before it, which the grammar does not see."""
        at = before = node.start_byte
        width = 64
        while before and not (chunk := self._plain[max(before - width, 0) : before].rstrip()):
            before, width = max(before - width, 0), 2 * width
        before = max(before - width, 0) + len(chunk) if before else 0
        gap = self._code[before:at]
        return before + len(gap) - len(gap.lstrip())

    def _last(self, node: Node) -> int:
        """The offset behind a declaration with its semicolon."""
        end = node.end_byte
        rest = self._plain[end : end + 200]
        return end + len(rest) - len(rest.lstrip()) + 1 if rest.lstrip().startswith(";") else end


def _is_list(node: Node) -> bool:
    body = node.child_by_field_name("body")
    return body is not None and body.type == "declaration_list"


def _body(node: Node) -> Node:
    body = node.child_by_field_name("body")
    assert body is not None
    return body


def _body_of(node: Node) -> Node | None:
    """The body of a function, from a constructor's initializers on, or of a class."""
    if node.type == "function_definition":
        first = [one for one in node.named_children if one.type in ("field_initializer_list", "try_statement")]
        return first[0] if first else node.child_by_field_name("body")
    given = node if node.type in _CLASSES else node.child_by_field_name("type")
    return None if given is None else given.child_by_field_name("body")


def _is_prototype(node: Node) -> bool:
    declarators = node.children_by_field_name("declarator")
    return bool(declarators) and all(_is_function(one) for one in declarators)


def _is_call(node: Node, member: Declared, class_names: Collection[str]) -> bool:
    """Tell whether a class's member without a type is no constructor but the call of a macro, as `FIELD(int, x)`."""
    if member.kind != "prototype" or node.type != "declaration" or node.child_by_field_name("type") is not None:
        return False
    return _CALL.match(member.head) is not None and set(member.names).isdisjoint(class_names)


def expands_to_functions(name: str, macros: Macros, within: tuple[str, ...] = ()) -> bool:
    """Tell whether all that a macro's call among a class's members declares is functions; no data changes the layout.

    Args:
        name: of the macro.
        macros: all that are known.
        within: macros that it is part of.
    """
    known = macros.named.get(name, ())
    return bool(known) and all(_has_functions_alone(one, name, macros, within) for one in known)


def _has_functions_alone(macro: Macro, name: str, macros: Macros, within: tuple[str, ...]) -> bool:
    body = _CONCATENATION.sub("", macro.body.replace("\\\n", "\n"))
    text = without_strings(f"struct {_CLASS_NAME} {{ {body} ; }};")
    tree = grammar.root(text)
    if tree.has_error:
        return False
    reader = _Reader(text, text, frozenset())
    members = [member for one in reader.below(tree) for member in one.members]
    inner = [word for one in members if one.kind == "macro" for word in one.names if word not in macro.parameters]
    return all(one.kind in ("function", "prototype", "alias", "macro") for one in members) and not any(
        word == name or word in within or not expands_to_functions(word, macros, (*within, name)) for word in inner
    )


def _is_function(node: Node) -> bool:
    """Tell whether a declarator is a function's: `*f(int)`, but not the pointer `(*f)(int)`."""
    if node.type == "function_declarator":
        inner = node.child_by_field_name("declarator")
        return inner is not None and inner.type != "parenthesized_declarator"
    if node.type in ("pointer_declarator", "reference_declarator"):
        inner = node.child_by_field_name("declarator") or (node.named_children[-1] if node.named_children else None)
        return inner is not None and _is_function(inner)
    return False


def _names(node: Node, kind: Kind) -> Iterator[str]:
    if kind == "enum":
        given = node if node.type == "enum_specifier" else node.child_by_field_name("type")
        for one in grammar.everywhere(given, "enumerator") if given is not None else ():
            yield _last_name(one.child_by_field_name("name"))
    if kind in ("class", "enum"):
        given = node.child_by_field_name("name") if node.type.endswith("_specifier") else None
        inner = node.child_by_field_name("type") if given is None else None
        yield _last_name(given or (inner.child_by_field_name("name") if inner is not None else None))
    if kind in ("alias", "namespace") and node.type != "type_definition":
        named = node.child_by_field_name("name") or (node.named_children[-1] if node.named_children else None)
        yield _last_name(named)
    if kind in ("macro", "assertion"):
        yield next((grammar.text(one) for one in grammar.everywhere(node, "identifier")), "")
        return
    for declarator in node.children_by_field_name("declarator"):
        yield declared_name(declarator)


def declared_name(declarator: Node) -> str:
    """Return the name that a declarator declares, without namespaces; "" where it has none."""
    node: Node | None = declarator
    while node is not None and node.type not in (*_NAMES, "qualified_identifier", "template_function", "template_type"):
        inner = node.child_by_field_name("declarator")
        node = inner if inner is not None else _inner_declarator(node.named_children)
    return _last_name(node)


def _inner_declarator(children: Sequence[Node]) -> Node | None:
    named = [one for one in children if one.type in _NAMES or one.type.endswith(("_declarator", "_identifier"))]
    return named[0] if named else None


def _last_name(node: Node | None) -> str:
    """`f` of `a::f<int>`."""
    while node is not None and node.type not in _NAMES:
        name = node.child_by_field_name("name")
        node = name if name is not None else (node.named_children[-1] if node.named_children else None)
    return "" if node is None else grammar.text(node)


# --- spans of device code and of classes by their brackets, also where the grammar misreads them ----------------------


_DEVICE = tuple(f"__{one}__" for one in ("global", "device", "constant", "shared", "managed"))
_BRACKETS = r"[(){}\[\];]"
_CLASS = rf"{words_of(('class', 'struct', 'union'))}\b(?<!enum class)(?<!enum struct)[^;{{}}()=]*(?=\{{)"
_CLASS_WORD = re.compile(r"\b(?:class|struct|union)\b")
_GOES_ON = re.compile(r"\s*[,{]")
_BODY = re.compile(r"\s*\{")


def device_spans(bare: str, macros: Macros) -> tuple[tuple[int, int], ...]:
    """Find what each annotation begins: up to its semicolon, or to the end of its body.

    Args:
        bare: a view without the contents of strings.
        macros: those that annotate are as annotations; some open or close a body.
    """
    annotation = re.compile(rf"{words_of((*_DEVICE, *sorted(macros.annotations)))}\b")
    brackets = _brackets(macros)
    found: list[tuple[int, int]] = []
    at = 0
    while (first := annotation.search(bare, at)) is not None:
        is_call = first[0] in macros.named and bare[first.end() :].lstrip().startswith("(")
        at = _end(bare, first.start(), brackets, macros.braces, is_call=is_call)
        at = max(at, first.end())
        found.append((first.start(), at))
    return tuple(found)


def class_spans(bare: str, macros: Macros) -> tuple[tuple[int, int, int], ...]:
    """Find the outermost classes: offsets of their first word and of their body, and the one behind it.

    Args:
        bare: a view without the contents of strings.
        macros: some open or close a body.
    """
    opening = [
        name
        for name, surplus in sorted(macros.braces.items())
        if surplus > 0 and any(_CLASS_WORD.search(one) for one in macros.bodies(name))
    ]
    begin = re.compile(rf"{_CLASS}|{words_of(opening)}\b" if opening else _CLASS)
    brackets = _brackets(macros)
    found: list[tuple[int, int, int]] = []
    at = 0
    while (head := begin.search(bare, at)) is not None:
        body = head.end() if bare[head.end() : head.end() + 1] == "{" else head.start()
        at = max(_end(bare, body, brackets, macros.braces, is_call=False), head.end())
        found.append((head.start(), head.end(), at))
    return tuple(found)


def _brackets(macros: Macros) -> re.Pattern[str]:
    return re.compile(rf"{_BRACKETS}|{words_of(sorted(macros.braces))}\b" if macros.braces else _BRACKETS)


def _end(bare: str, start: int, brackets: re.Pattern[str], braces: Mapping[str, int], *, is_call: bool) -> int:
    """The offset behind the declaration that begins at an offset; a macro's call alone may be one."""
    depth = 0
    for one in brackets.finditer(bare, start):
        if one[0] == ";" and depth == 0:
            return one.end()
        depth += braces.get(one[0], 1 if one[0] in "([{" else 0 if one[0] == ";" else -1)
        if depth < 0:
            return one.start()
        if depth == 0 and one[0] == ")" and is_call:
            if not _BODY.match(bare, one.end()):
                return one.end()
            is_call = False
        if depth == 0 and (one[0] == "}" or one[0] in braces) and not _GOES_ON.match(bare, one.end()):
            return one.end()
    return len(bare)
