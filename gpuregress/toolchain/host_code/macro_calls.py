"""Expansion of macros that declare kernels, or functions with launches, at namespace scope.

A source's declarations are read from its words, not from a preprocessor. Only the calls that make one of them are
expanded, each within its lines, so that the lines of all others stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from gpuregress.gpu.records import Record
from gpuregress.toolchain.host_code.preprocessing import WORD, CxxText, Macro, words_of

_LITERAL = r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
_TOKEN = re.compile(
    rf"(?P<kept>{_LITERAL}|\.?\d(?:[eEpP][+-]|'\w|[\w.])*)"
    r"|(?P<concatenation>\s*##\s*)|(?P<sign>#\s*)?(?P<name>[A-Za-z_]\w*)"
)
"""What decides how a macro is expanded: literals and numbers stay, `##` joins, `#` makes a string of an argument."""
_LITERAL_OR_SPACES = re.compile(rf"(?P<literal>{_LITERAL})|\s+")
_PART = re.compile(r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|[^"]""")
"""A string, a character, or any other sign of a call's arguments."""
_MOST_ROUNDS = 8
"""Of expansions within expansions."""
_MOST_CHOICES = 8
_SCOPES = r"""
    (?P<skipped>^[ \t]*\#(?:\\\n|[^\n])*
        | R"(?P<raw>[^()\\\s]{0,16})\([\s\S]*?\)(?P=raw)"
        | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*')
    | (?P<open>\bnamespace\b[^{};=()<>]*\{ | \bextern\s*"[^"\n]*"\s*\{)
    | (?P<bracket>[{}])
"""


class _Call(Record):
    """A macro's name in a text, with its arguments."""

    macro: Macro
    start: int
    end: int
    arguments: tuple[str, ...]


def expansions(text: str, mark: str) -> list[str]:
    """Expand the macros of a text that make something, once for each choice among definitions under conditions.

    Args:
        text: without comments, with its directives.
        mark: as for `expanded`.
    """
    macros: dict[str, tuple[Macro, ...]] = {}
    for name, definitions in CxxText(text).macros.items():
        macros[name] = tuple(dict.fromkeys(definitions))
    making = _making(macros, mark)
    count = max((len(definitions) for name, definitions in macros.items() if name in making), default=1)
    choices = (expanded(text, macros, mark, choice) for choice in range(min(count, _MOST_CHOICES)))
    return list(dict.fromkeys(choices))


def expanded(
    text: str, macros: Mapping[str, tuple[Macro, ...]], mark: str, choice: int = 0, *, anywhere: bool = False
) -> str:
    """Put the texts of macros in the place of their calls at namespace scope, where they make something.

    Args:
        text: without comments.
        macros: by name, each with its definitions.
        mark: what tells the macros that make something: `__global__` or `<<<`.
        choice: the number of the definition that is taken, of those that may hold at a call.
        anywhere: whether calls within functions are expanded, too.
    """
    making = _making(macros, mark)
    for _ in range(_MOST_ROUNDS):
        pieces: list[str] = []
        last = 0
        for call in _calls(text, macros, making, choice, anywhere=anywhere):
            lines = "\n" * text.count("\n", call.start, call.end)
            pieces += [text[last : call.start], _expansion(call.macro, call.arguments), lines]
            last = call.end
        if not pieces:
            break
        text = "".join((*pieces, text[last:]))
    return text


class Expansion(Record):
    """A macro's call in a text, and what stands there instead, in as many lines."""

    start: int
    end: int
    text: str


def expansions_in_lines(
    text: CxxText, macros: Mapping[str, tuple[Macro, ...]], lines: Collection[int]
) -> list[Expansion]:
    """Expand the macros in some lines that make a body in braces; one with several definitions stays.

    Args:
        text: with its comments and directives.
        macros: by name, each with its definitions, also those of other files.
        lines: counted from 1.
    """
    making = _making(macros, "{")
    if not making:
        return []
    made: list[Expansion] = []
    for match in re.finditer(rf"{words_of(sorted(making))}\b", text.code):
        if (made and match.start() < made[-1].end) or text.code.count("\n", 0, match.start()) + 1 not in lines:
            continue
        definitions = set(_defined_before(text, match[0], match.start()) or macros[match[0]])
        call = _call(text.code, match, definitions.pop()) if len(definitions) == 1 else None
        if call is not None:
            newlines = "\n" * text.code.count("\n", call.start, call.end)
            made.append(Expansion(call.start, call.end, _expansion(call.macro, call.arguments) + newlines))
    return made


def _defined_before(text: CxxText, name: str, offset: int) -> list[Macro]:
    """List the definitions of a macro that may hold at an offset, as far as the text itself has them."""
    holding: dict[str, tuple[Macro, ...]] = {}
    for directive in text.directives:
        if directive.start < offset and directive.word in ("define", "undef") and name in directive.rest:
            _read_directive(text.text[directive.start : directive.end], holding)
    return list(holding.get(name, ()))


def _making(macros: Mapping[str, tuple[Macro, ...]], mark: str) -> set[str]:
    """Name the macros with a mark in their texts, and those that name such a macro."""
    bodies = {name: " ".join(macro.body for macro in definitions) for name, definitions in macros.items()}
    making = {name for name, body in bodies.items() if mark in body}
    count = 0
    while len(making) > count:
        count = len(making)
        making |= {name for name, body in bodies.items() if not making.isdisjoint(WORD.findall(body))}
    return making


def _calls(
    text: str, macros: Mapping[str, tuple[Macro, ...]], making: Collection[str], choice: int, *, anywhere: bool
) -> Iterator[_Call]:
    """List the macros at namespace scope that make something, by themselves or by a macro that they are given."""
    if not making:
        return
    names = "|".join(re.escape(name) for name in sorted(macros, key=len, reverse=True))
    pattern = re.compile(rf"{_SCOPES} | \b(?P<name>{names})\b", re.VERBOSE | re.MULTILINE)
    scopes: list[bool] = []  # whether each is a namespace
    holding: dict[str, tuple[Macro, ...]] = {}
    at = 0
    while True:
        match = pattern.search(text, at)
        if match is None:
            return
        at = match.end()
        if match["skipped"]:
            _read_directive(match["skipped"], holding)
        elif match["open"]:
            scopes.append(True)
        elif match["bracket"] == "{":
            scopes.append(False)
        elif match["bracket"] == "}":
            if scopes:
                scopes.pop()
        elif match["name"] and (anywhere or all(scopes)):
            definitions = holding.get(match["name"], macros[match["name"]])
            call = _call(text, match, definitions[min(choice, len(definitions) - 1)]) if definitions else None
            if call is None:
                continue
            at = call.end
            words = WORD.findall(" ".join((match["name"], *call.arguments)))
            if not set(words).isdisjoint(making):
                yield call


def _read_directive(line: str, holding: dict[str, tuple[Macro, ...]]) -> None:
    """Note the definitions that hold after a directive: all since the last `#undef`, under whatever conditions."""
    text = CxxText(line)
    for name, definitions in text.macros.items():
        holding[name] = tuple(dict.fromkeys((*holding.get(name, ()), *definitions)))
    for directive in text.directives:
        name_undefined = WORD.search(directive.rest)
        if directive.word == "undef" and name_undefined is not None:
            holding[name_undefined[0]] = ()


def _call(text: str, match: re.Match[str], macro: Macro) -> _Call | None:
    """Read the arguments of a macro; None where its name stands without those that it takes."""
    if not macro.is_function:
        return _Call(macro, match.start(), match.end(), ())
    opening = re.compile(r"\s*\(").match(text, match.end())
    if opening is None:
        return None
    arguments = [""]
    depth = 0
    for part in _PART.finditer(text, opening.end()):
        if part[0] in ("(", "[", "{"):
            depth += 1
        elif part[0] in (")", "]", "}"):
            depth -= 1
        if depth < 0:
            return _Call(macro, match.start(), part.end(), tuple(one.strip() for one in arguments))
        if part[0] == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += part[0]
    return None


def _expansion(macro: Macro, arguments: tuple[str, ...]) -> str:
    parameters = macro.parameters
    texts = dict(zip(parameters, arguments, strict=False))
    if parameters[-1:] == ("...",):
        texts["__VA_ARGS__"] = ", ".join(arguments[len(parameters) - 1 :])

    def replaced(token: re.Match[str]) -> str:
        if token["kept"] or token["concatenation"]:
            return token["kept"] or ""
        if token["name"] not in texts:
            return token[0]
        return _string_of(texts[token["name"]]) if token["sign"] else texts[token["name"]]

    return " ".join(_TOKEN.sub(replaced, macro.body.replace("\\\n", " ")).split("\n"))


def _string_of(argument: str) -> str:
    """Make a string of a macro's argument, as `#` does."""

    def spelled(match: re.Match[str]) -> str:
        return re.sub(r'["\\]', r"\\\g<0>", match["literal"]) if match["literal"] else " "

    return f'"{_LITERAL_OR_SPACES.sub(spelled, argument.strip())}"'
