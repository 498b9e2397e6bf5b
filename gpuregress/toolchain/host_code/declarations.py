"""Declarations of a C++ text at namespace scope, by its syntax tree."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain.host_code import grammar
from gpuregress.toolchain.host_code.preprocessing import (
    WORD,
    CxxText,
    Macro,
    Macros,
    has_annotation,
    without_strings,
    words_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

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
_CALL_AT_LINE_START = re.compile(r"^[ \t]*(?P<name>[A-Za-z_]\w*)[ \t]*\(", re.MULTILINE)
_END_OF_CALL = re.compile(r"\)[ \t]*(?P<semicolon>;?)(?=[ \t]*$)", re.MULTILINE)
_ODD_ARGUMENT = re.compile(
    r"\b(?:bool|char|class|const|double|enum|float|int|long|short|signed|struct|union|unsigned|void"
    r"|s?size_t|ptrdiff_t|u?int(?:8|16|32|64|ptr)_t)\b"
    r"|(?:^|,)[ \t]*[-+*/%&|^!<>=~]+[ \t]*(?=,|$)"
    r"|\b[A-Za-z_]\w*\s+[A-Za-z_]"
)
"""A type, as in `INSTANTIATE(float, 3)` and `DEPRECATED(int f(void), "hint");`, an operator, as in
`COMPARE(less, <);`, or names without a comma between them, as in `FOR_EACH(DEFINE, INTEGERS FLOATS);`."""
_FUNCTION_BODY = re.compile(r"\)\s*(?:(?:const|noexcept|override|final)\s*)*\{")
_PLAIN_ARGUMENTS = re.compile(r"[\w\s,:]*")
_MOST_SPACES = 1000
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
        specifiers: offset after the template header.
        head_end: offset of the body, with the initializers of a constructor; `end` without one.
        end: offset after its last character.
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
        scopes: the spans of these, the outer ones first, with their names.
        device: spans of device code.
    """

    code: str
    bare: str
    parsed: str
    tree: Node
    declarations: tuple[Declared, ...]
    namespaces: frozenset[str]
    scopes: tuple[tuple[int, int, tuple[str, ...]], ...]
    device: tuple[tuple[int, int], ...]


def views(text: CxxText, macros: Macros) -> tuple[View, ...]:
    """Parse each view of a text."""
    return tuple(_view(code, macros) for code in text.views())


def _without_odd_arguments(parsed: str, bare: str, macros: Macros) -> str:
    """Put a name in place of the arguments of each macro's call that is a declaration of its own.

    The grammar misreads types and operators there, and all that follows. It also misreads what follows a call without a
    semicolon that ends a namespace or makes a whole declaration: there a semicolon takes the place of the bracket.
    Device code stays as it is, since its mutants are made by the tree.
    """
    device: tuple[tuple[int, int], ...] | None = None
    pieces: list[str] = []
    last = 0
    for call in _CALL_AT_LINE_START.finditer(parsed):
        bodies = [macro.body.rstrip() for macro in macros.named.get(call["name"], ())]
        if not bodies or call.start() < last:
            continue
        first = call.end()
        close = _closing_bracket(parsed, first)
        rest = _END_OF_CALL.match(parsed, close)
        if rest is None:
            continue
        following = parsed[rest.end() : rest.end() + _MOST_SPACES].lstrip()
        makes_whole = all(body.endswith((";", "}")) for body in bodies) and not following.startswith(("{", ":"))
        is_bare = not rest["semicolon"] and (following.startswith("}") or makes_whole)
        if not (is_bare or _ODD_ARGUMENT.search(parsed[first:close])):
            continue
        if device is None:
            device = device_spans(bare, macros)
        is_whole = is_bare or bool(rest["semicolon"]) or any(body.endswith((";", "}")) for body in bodies)
        begin = call.start("name")
        if is_bare and _PLAIN_ARGUMENTS.fullmatch(parsed, first, close):
            begin -= 1  # nothing to mutate: it may be device code itself
        if is_whole and not any(start <= begin < end for start, end in device):
            if is_bare:
                spaces = re.sub(r"[^\n]", " ", parsed[first:close])
                call_without_arguments = f"({spaces[:-1]});" if spaces.endswith(" ") else f" {spaces};"
                pieces += [parsed[last : first - 1], call_without_arguments]
                last = close + 1
            else:
                pieces += [parsed[last:first], "T", re.sub(r"[^\n]", " ", parsed[first + 1 : close])]
                last = close
    return "".join((*pieces, parsed[last:]))


def _without_misread_bodies(parsed: str, tree: Node, device: Sequence[tuple[int, int]]) -> str:
    """Empty the bodies of host functions where the grammar finds no declaration, as after `if (n(a) < m()) b[c] = 1;`.

    Args:
        parsed: what the grammar reads.
        tree: of it.
        device: spans of device code, which stays as it is.
    """
    pieces: list[str] = []
    last = 0
    for error in _errors_in_scope(tree):
        at = error.start_byte
        while True:
            body = _FUNCTION_BODY.search(parsed, max(at, last), error.end_byte)
            if body is None:
                break
            at = _closing_bracket(parsed, body.end(), "{}")
            is_device = any(start < body.end() <= end for start, end in device)
            if not is_device and at < len(parsed):
                pieces += [parsed[last : body.end()], re.sub(r"[^\n]", " ", parsed[body.end() : at])]
                last = at
    return "".join((*pieces, parsed[last:]))


def _errors_in_scope(node: Node) -> Iterator[Node]:
    """List the nodes of errors in a namespace, the first ones first."""
    for child in node.named_children:
        if child.type == "ERROR":
            yield child
        elif child.type in (*_CONTAINERS, "namespace_definition", "linkage_specification") and child.has_error:
            yield from _errors_in_scope(child)


def _closing_bracket(text: str, start: int, pair: str = "()") -> int:
    """The offset of the bracket that closes the one before an offset; the text's length if none does."""
    depth = 1
    for bracket in re.compile(f"[{pair}]").finditer(text, start):
        depth += 1 if bracket[0] == pair[0] else -1
        if depth == 0:
            return bracket.start()
    return len(text)


def _view(code: str, macros: Macros) -> View:
    bare = without_strings(code)
    plain = macros.without_specifiers(bare)
    parsed = _ARGUMENTS.sub(lambda match: " " * len(match[0]), macros.without_brackets(plain))
    parsed = _without_odd_arguments(parsed, bare, macros)
    device = device_spans(bare, macros)
    tree = grammar.root(parsed)
    readable = _without_misread_bodies(parsed, tree, device)
    if readable != parsed:
        parsed = readable
        tree = grammar.root(parsed)
    reader = _Reader(bare, plain, macros.annotations)
    declared = _with_whole_bodies(list(reader.below(tree)), bare, macros)
    declared = _with_misread_classes(declared, bare, device, macros)
    return View(
        code=code,
        bare=bare,
        parsed=parsed,
        tree=tree,
        declarations=tuple(declared),
        namespaces=frozenset(reader.namespaces),
        scopes=tuple(reader.scopes),
        device=device,
    )


def _with_whole_bodies(declared: list[Declared], bare: str, macros: Macros) -> list[Declared]:
    """Give each declaration the end that its braces tell: the grammar stops inside some, as at a macro in an enum."""
    whole: list[Declared] = []
    end = 0
    for one in declared:
        if one.start < end:
            continue  # what the grammar took for a declaration inside
        open_braces = bare.count("{", one.start, one.end) - bare.count("}", one.start, one.end)
        if one.kind != "class" and open_braces > 0:
            end = _end(bare, one.start, _brackets(macros), macros.braces, is_call=False)
            names = one.names
            if one.kind == "enum":
                semicolon = re.compile(r"[^;{}]*;").match(bare, end)
                if semicolon is not None:
                    end = semicolon.end()
                names = (*names, *WORD.findall(bare[bare.find("{", one.start) : end]))
            one = replace(one, end=max(end, one.end), names=tuple(dict.fromkeys(names)))  # noqa: PLW2901
        whole.append(one)
    return whole


def _with_misread_classes(
    declared: list[Declared], bare: str, device: Sequence[tuple[int, int]], macros: Macros
) -> list[Declared]:
    """Put each class whose end the grammar misses in place of what it took for declarations inside it.

    Its members are not known: it stays whole or goes whole, because a lost data member would change the layout.
    """
    misread: list[Declared] = []
    starts = [declaration.start for declaration in declared]
    for first, body, end in class_spans(bare, macros):
        number = bisect_right(starts, first) - 1
        if number >= 0 and declared[number].end > first:
            around = declared[number]
            has_more = ";" in bare[end : around.end].rstrip("; \n")
            if around.end >= end and not (around.head_end == body and has_more):
                continue
        elif any(start <= first < last for start, last in device):
            continue
        misread.append(_whole_class(bare, first, body, end, macros))
    if not misread:
        return declared
    spans = [(whole.start, whole.end) for whole in misread]
    outside = [one for one in declared if not any(start <= one.start < end for start, end in spans)]
    return sorted([*outside, *misread], key=lambda declaration: declaration.start)


def _whole_class(bare: str, first: int, body: int, end: int, macros: Macros) -> Declared:
    before = bare[max(bare.rfind(sign, 0, first) for sign in ";{}") + 1 : first]
    start = first
    opened = _BEFORE_CLASS.search(before)
    if opened is not None:
        start += opened.start() - len(before)
    last = end
    semicolon = re.compile(r"[^;{}]*;").match(bare, end)
    if semicolon is not None:
        last = semicolon.end()
    head = bare[start : max(body, first)]
    called = ""
    if bare[body : body + 1] != "{":
        called = bare[first : bare.find(")", first) + 1]
    words = WORD.findall(_CLASS_KEY.split(f"{head} {called}")[-1]) + WORD.findall(bare[end:last])
    return Declared(
        kind="class",
        names=tuple(dict.fromkeys(words)),
        start=start,
        specifiers=start,
        head_end=body,
        end=last,
        is_device=has_annotation(bare[start:last], macros.annotations),
        head=head,
    )


class _Reader:
    """One pass over the declarations of a tree."""

    def __init__(self, code: str, plain: str, annotations: frozenset[str]) -> None:
        self._code, self._plain, self._annotations = code, plain, annotations
        self.namespaces: set[str] = set()
        self.scopes: list[tuple[int, int, tuple[str, ...]]] = []

    def below(self, node: Node) -> Iterator[Declared]:
        """List the declarations in a container."""
        for child in node.named_children:
            if child.type in _CONTAINERS:
                yield from self.below(child)
                continue
            body = child.child_by_field_name("body")
            if child.type == "namespace_definition":
                name = child.child_by_field_name("name")
                if name is not None:
                    words = tuple(grammar.text(word) for word in grammar.everywhere(name, *_NAMES))
                    self.namespaces.update(words)
                    self.scopes.append((child.start_byte, child.end_byte, words))
                if body is not None:
                    yield from self.below(body)
            elif child.type == "linkage_specification" and body is not None and body.type == "declaration_list":
                yield from self.below(body)
            else:
                declared = self.declared(child)
                if declared is not None:
                    yield declared

    def declared(self, node: Node, start: int | None = None) -> Declared | None:
        """Read one declaration; `start` is that of the template header around it."""
        specifiers = self._first(node)
        if start is None:
            start = specifiers
        if node.type in ("template_declaration", "linkage_specification"):
            wrapped = [one for one in node.named_children if not one.type.startswith(("template_param", "requires"))]
            if not wrapped or wrapped[-1].type in ("string_literal", "comment"):
                return None
            return self.declared(wrapped[-1], start)
        kind = self._kind(node)
        if kind is None:
            return None
        end = self._last(node)
        head_end = end
        body = _body_of(node) if kind in ("function", "class") else None
        if body is not None:
            head_end = body.start_byte
        head = self._code[start:head_end]
        return Declared(
            kind=kind,
            names=tuple(dict.fromkeys(filter(None, _names(node, kind)))),
            start=start,
            specifiers=specifiers,
            head_end=head_end,
            end=end,
            # The annotation of a macro's argument, or of a class's member, is not the declaration's own.
            is_device=has_annotation(head, self._annotations),
            head=head,
            members=tuple(self._members(node)) if kind == "class" else (),
            is_body=kind == "function" and node.child_by_field_name("body") is not None,
        )

    def _kind(self, node: Node) -> Kind | None:
        if node.type == "using_declaration":
            is_namespace = any(child.type == "namespace" for child in node.children)
            return "namespace" if is_namespace else "alias"
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
                declarators = node.children_by_field_name("declarator")
                return "prototype" if declarators and all(map(_is_function, declarators)) else "variable"
        return _KINDS.get(node.type) if node.named_children else None  # else a semicolon alone

    def _members(self, node: Node) -> Iterator[Declared]:
        body = _body_of(node)
        if body is None:
            return
        class_names = set(_names(node, "class"))
        for child in body.named_children:
            for inner in child.named_children if child.type == "ERROR" else [child]:
                member = self.declared(inner)
                if member is not None and _is_call(inner, member, class_names):
                    yield replace(member, kind="macro")
                elif member is not None:
                    yield member

    def _first(self, node: Node) -> int:
        """The offset of a declaration with the specifiers before it, which the grammar does not see."""
        end = node.start_byte  # of the blanks before it
        width = 64
        while end > 0:
            begin = max(end - width, 0)
            text = self._plain[begin:end].rstrip()
            if text:
                end = begin + len(text)
                break
            end = begin
            width *= 2
        gap = self._code[end : node.start_byte]
        return end + len(gap) - len(gap.lstrip())

    def _last(self, node: Node) -> int:
        """The offset after a declaration with its semicolon."""
        end = node.end_byte
        following = self._plain[end : end + 200]
        blanks = len(following) - len(following.lstrip())
        return end + blanks + 1 if following[blanks : blanks + 1] == ";" else end


def _body_of(node: Node) -> Node | None:
    """The body of a function, from a constructor's initializers on, or of a class."""
    if node.type == "function_definition":
        for child in node.named_children:
            if child.type in ("field_initializer_list", "try_statement"):
                return child
        return node.child_by_field_name("body")
    class_node = node if node.type in _CLASSES else node.child_by_field_name("type")
    return None if class_node is None else class_node.child_by_field_name("body")


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


def expands_to_host_functions(name: str, macros: Macros) -> bool:
    """Tell whether all that a macro's call at namespace scope declares is functions that device code cannot call.

    Args:
        name: of the macro.
        macros: all that are known.
    """
    known = macros.named.get(name, ())
    return bool(known) and all(_declares_host_functions(one, macros) for one in known)


def makes_host_members(name: str, macros: Macros) -> bool:
    """Tell whether a macro's call at namespace scope declares a class with functions that have no annotation.

    Args:
        name: of the macro.
        macros: all that are known.
    """
    for macro in macros.named.get(name, ()):
        for declared in _declarations_of(macro, macros) or ():
            if any(member.kind == "function" for member in declared.members):
                return True
    return False


def _declares_host_functions(macro: Macro, macros: Macros) -> bool:
    words = set(WORD.findall(macro.body))
    if not words.isdisjoint(("constexpr", "consteval", *macros.constants)):
        return False
    declared = _declarations_of(macro, macros)
    return bool(declared) and all(one.kind in ("function", "prototype") for one in declared or ())


def _declarations_of(macro: Macro, macros: Macros) -> list[Declared] | None:
    """Read what a macro declares at namespace scope; None where it has an annotation or the grammar fails."""
    text = without_strings(_CONCATENATION.sub("", macro.body.replace("\\\n", "\n")))
    if has_annotation(text, macros.annotations):
        return None
    tree = grammar.root(macros.without_specifiers(text))
    if any(child.type in ("ERROR", "expression_statement") for child in tree.named_children):
        return None
    return list(_Reader(text, text, frozenset()).below(tree))


def _has_functions_alone(macro: Macro, name: str, macros: Macros, within: tuple[str, ...]) -> bool:
    body = _CONCATENATION.sub("", macro.body.replace("\\\n", "\n"))
    text = without_strings(f"struct {_CLASS_NAME} {{ {body} ; }};")
    tree = grammar.root(text)
    if tree.has_error:
        return False
    reader = _Reader(text, text, frozenset())
    for declared in reader.below(tree):
        for member in declared.members:
            if member.kind not in ("function", "prototype", "alias", "macro"):
                return False
            if member.kind != "macro":
                continue
            for word in member.names:
                if word in macro.parameters:
                    continue
                if word == name or word in within or not expands_to_functions(word, macros, (*within, name)):
                    return False
    return True


def _is_function(node: Node) -> bool:
    """Tell whether a declarator is a function's: `*f(int)`, but not the pointer `(*f)(int)`."""
    inner = node.child_by_field_name("declarator")
    if node.type == "function_declarator":
        return inner is not None and inner.type != "parenthesized_declarator"
    if node.type in ("pointer_declarator", "reference_declarator"):
        if inner is None and node.named_children:
            inner = node.named_children[-1]
        return inner is not None and _is_function(inner)
    return False


def _names(node: Node, kind: Kind) -> Iterator[str]:
    type_node = node.child_by_field_name("type")
    if kind == "enum":
        given = node if node.type == "enum_specifier" else type_node
        if given is not None:
            for enumerator in grammar.everywhere(given, "enumerator"):
                yield _last_name(enumerator.child_by_field_name("name"))
    if kind in ("class", "enum"):
        name = node.child_by_field_name("name") if node.type.endswith("_specifier") else None
        if name is None and type_node is not None:
            name = type_node.child_by_field_name("name")
        yield _last_name(name)
    if kind in ("alias", "namespace") and node.type != "type_definition":
        yield _last_name(node.child_by_field_name("name") or _last_child(node))
    if kind in ("macro", "assertion"):
        yield from map(grammar.text, itertools.islice(grammar.everywhere(node, "identifier"), 1))
        return
    for declarator in node.children_by_field_name("declarator"):
        yield declared_name(declarator)


def _last_child(node: Node) -> Node | None:
    return node.named_children[-1] if node.named_children else None


def declared_name(declarator: Node) -> str:
    """Return the name that a declarator declares, without namespaces; "" where it has none."""
    node: Node | None = declarator
    while node is not None and node.type not in (*_NAMES, "qualified_identifier", "template_function", "template_type"):
        inner = node.child_by_field_name("declarator")
        if inner is None:
            for child in node.named_children:
                if child.type in _NAMES or child.type.endswith(("_declarator", "_identifier")):
                    inner = child
                    break
        node = inner
    return _last_name(node)


def _last_name(node: Node | None) -> str:
    """`f` of `a::f<int>`."""
    while node is not None and node.type not in _NAMES:
        node = node.child_by_field_name("name") or _last_child(node)
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
    spans: list[tuple[int, int]] = []
    end = 0
    while True:
        first = annotation.search(bare, end)
        if first is None:
            return tuple(spans)
        is_call = first[0] in macros.named and bare[first.end() :].lstrip().startswith("(")
        end = max(_end(bare, first.start(), brackets, macros.braces, is_call=is_call), first.end())
        spans.append((first.start(), end))


def class_spans(bare: str, macros: Macros) -> tuple[tuple[int, int, int], ...]:
    """Find the outermost classes: offsets of their first word and of their body, and the one after it.

    Args:
        bare: a view without the contents of strings.
        macros: some open or close a body.
    """
    opening: list[str] = []
    for name, surplus in sorted(macros.braces.items()):
        if surplus > 0 and any(_CLASS_WORD.search(body) for body in macros.bodies(name)):
            opening.append(name)
    begin = re.compile(rf"{_CLASS}|{words_of(opening)}\b" if opening else _CLASS)
    brackets = _brackets(macros)
    spans: list[tuple[int, int, int]] = []
    end = 0
    while True:
        head = begin.search(bare, end)
        if head is None:
            return tuple(spans)
        body = head.end() if bare[head.end() : head.end() + 1] == "{" else head.start()
        end = max(_end(bare, body, brackets, macros.braces, is_call=False), head.end())
        spans.append((head.start(), head.end(), end))


def _brackets(macros: Macros) -> re.Pattern[str]:
    return re.compile(rf"{_BRACKETS}|{words_of(sorted(macros.braces))}\b" if macros.braces else _BRACKETS)


def _end(bare: str, start: int, brackets: re.Pattern[str], braces: Mapping[str, int], *, is_call: bool) -> int:
    """The offset after the declaration that begins at an offset; a macro's call alone may be one."""
    depth = 0
    for sign in brackets.finditer(bare, start):
        if sign[0] == ";" and depth == 0:
            return sign.end()
        if sign[0] in braces:
            depth += braces[sign[0]]
        elif sign[0] in "([{":
            depth += 1
        elif sign[0] != ";":
            depth -= 1
        if depth < 0:
            return sign.start()
        if depth > 0:
            continue
        if sign[0] == ")" and is_call:
            if not _BODY.match(bare, sign.end()):
                return sign.end()
            is_call = False
        if (sign[0] == "}" or sign[0] in braces) and not _GOES_ON.match(bare, sign.end()):
            return sign.end()
    return len(bare)
