"""Conditional inclusion (`#if`) of host code, as a compiler on Linux without options does it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tree_sitter import Node

from gpuregress.lab.host_programs import library, scalars
from gpuregress.lab.host_programs.scalars import HostScalar, constant
from gpuregress.toolchain.host_code import grammar
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText, Directive, Macro

_NOT_HERE = frozenset(
    ["_WIN32", "WIN32", "_WIN64", "_MSC_VER", "__APPLE__", "__MACOSX", "__CUDACC_RTC__", "__CUDA_ARCH__", "__QNX__"]
)
_HERE: Mapping[str, int] = {
    **dict.fromkeys(("__CUDACC__", "__NVCC__", "__linux__", "__linux", "__unix__", "__x86_64__"), 1),
    "__GNUC__": 13,
    "__cplusplus": 201703,
    "__CUDACC_VER_MAJOR__": 13,
    "CUDART_VERSION": 13000,
    "CUDA_VERSION": 13000,
}
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_MOST_EXPANSIONS = 32


def selected(text: CxxText, defined: dict[str, Macro]) -> str:
    """Return the code of a text that is compiled.

    Args:
        text: of a file.
        defined: the macros so far; gets those of the text.
    """
    pieces, at = [], 0
    stack: list[tuple[bool, bool]] = []  # (whether this branch is compiled, whether one was)
    for one in text.directives:
        is_live = all(live for live, _ in stack)
        pieces.append(text.code[at : one.start] if is_live else re.sub(r"[^\n]", " ", text.code[at : one.start]))
        at = one.start
        rest = one.rest.strip()
        if one.word in ("if", "ifdef", "ifndef"):
            live = is_live and _holds(one.word, rest, defined)
            stack.append((live, live))
        elif one.word in ("elif", "else", "elifdef", "elifndef") and stack:
            _, taken = stack.pop()
            is_chosen = not taken and all(live for live, _ in stack)
            live = is_chosen and (one.word == "else" or _holds(one.word.removeprefix("el"), rest, defined))
            stack.append((live, taken or live))
        elif one.word == "endif" and stack:
            stack.pop()
        elif is_live:
            _define(text, one, defined)
    return "".join((*pieces, text.code[at:]))


def _define(text: CxxText, directive: Directive, defined: dict[str, Macro]) -> None:
    name = WORD.match(directive.rest.strip())
    if name is None:
        return
    if directive.word == "undef":
        defined.pop(name[0], None)
    elif directive.word == "define":
        defined[name[0]] = CxxText(text.text[directive.start : directive.end]).macros[name[0]][0]


def _holds(word: str, rest: str, defined: Mapping[str, Macro]) -> bool:
    """Evaluate a condition; one that is not understood holds."""

    def is_defined(name: str) -> bool:
        return (name in defined or name in _HERE) and name not in _NOT_HERE

    if word != "if":
        name = WORD.match(rest)
        return name is not None and is_defined(name[0]) == (word == "ifdef")
    plain = _DEFINED.sub(lambda match: str(int(is_defined(match[1] or match[2]))), rest)
    value = _Expression(defined).value(plain)
    return value is None or bool(value.number)


class _Expression:
    """Evaluation of one integral constant expression; a name that is no macro is 0.

    Args:
        defined: the macros.
    """

    def __init__(self, defined: Mapping[str, Macro]) -> None:
        self._defined = defined
        self._expanding: list[str] = []

    def value(self, text: str) -> HostScalar | None:
        """Return the value of a text; None where it is not understood."""
        plain = " ".join(text.replace("\\\n", " ").split())
        root = grammar.root(f"auto condition = ({plain.encode('ascii', 'replace').decode()});")
        if root.has_error:
            return None
        declared = next(grammar.everywhere(root, "init_declarator"), None)
        node = declared.child_by_field_name("value") if declared is not None else None
        return self._of(node) if node is not None else None

    def _of(self, node: Node) -> HostScalar | None:
        operands = [self._of(one) for one in node.named_children] if node.type.endswith("_expression") else []
        sign = node.child_by_field_name("operator")
        if node.type == "number_literal":
            return library.number(grammar.text(node))
        if node.type in ("true", "false"):
            return constant(int(node.type == "true"))
        if node.type in ("identifier", "type_identifier"):
            return self._macro(grammar.text(node), ())
        if node.type == "call_expression":
            called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            given = arguments.named_children if arguments is not None else []
            return self._macro(grammar.text(called), tuple(map(grammar.text, given))) if called is not None else None
        known = [one for one in operands if one is not None]
        if node.type == "binary_expression" and sign is not None:
            return _binary(grammar.text(sign), operands)
        if len(known) != len(operands) or not known:
            return None
        if node.type == "parenthesized_expression":
            return known[0]
        if node.type == "unary_expression" and sign is not None:
            return scalars.unary(grammar.text(sign), known[0])
        if node.type == "conditional_expression" and len(known) == 3:
            return known[1] if known[0].number else known[2]
        return None

    def _macro(self, name: str, arguments: tuple[str, ...]) -> HostScalar | None:
        """Evaluate a macro, or the call of one."""
        macro = self._defined.get(name)
        if macro is None or name in _NOT_HERE:
            return constant(_HERE.get(name, 0)) if not arguments else None
        if name in self._expanding or len(self._expanding) > _MOST_EXPANSIONS:
            return None
        if macro.is_function != bool(arguments) or len(arguments) != len(macro.parameters):
            return None
        given = dict(zip(macro.parameters, arguments, strict=True))
        body = WORD.sub(lambda match: f"({given[match[0]]})" if match[0] in given else match[0], macro.body)
        self._expanding.append(name)
        try:
            return self.value(body) if body else None
        finally:
            self._expanding.pop()


def _binary(sign: str, operands: Sequence[HostScalar | None]) -> HostScalar | None:
    """Apply a binary operator; one side decides `&&` and `||` where the other is not understood."""
    known = [one for one in operands if one is not None]
    if sign in ("&&", "||"):
        decides = next((one for one in known if bool(one.number) == (sign == "||")), None)
        if decides is not None:
            return constant(int(sign == "||"))
    if len(known) != 2:
        return None
    value = scalars.binary(sign, *known)
    return value if value.is_known else None
