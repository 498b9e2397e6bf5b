"""Preprocessor conditionals of a C++ text: views with one branch of each, at the text's offsets.

A grammar for C++ does not know the preprocessor's conditionals, whose branches need not be balanced. So it is given one
view after the other: the first branch of each condition, then the second, and so on. What a view leaves out is spaces.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from gpuregress.gpu.records import Record

_MOST_VIEWS = 8
_BYTE_ORDER_MARK = "\ufeff"


def words_of(names: Iterable[str]) -> str:
    r"""A pattern of one of these words, up to its end, which begins no sooner.

    The same as `\b(?:…)`, in a form whose first characters Python's `re` looks for before it tries a match.
    """
    rests: dict[str, list[str]] = {}
    for name in names:
        rests.setdefault(re.escape(name[0]), []).append(re.escape(name[1:]))
    forms = (rf"{first}(?<!\w{first})(?:{'|'.join(rest)})" for first, rest in rests.items())
    return f"(?:{'|'.join(forms)})"


_LEXICAL = re.compile(
    r"""
    [/0-9R"'](?:
        (?<=/)(?P<comment>/[^\\\n]*(?:\\\n?[^\\\n]*)*|\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/|\Z))
        | (?<=[0-9])(?<!\w[0-9])(?:['\w.]|(?<=[eEpP])[+-])*
        | (?<=R)(?:(?<!\wR)|(?<=\bu8R)|(?<=\b[uUL]R))"(?P<delimiter>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=delimiter)"
        | (?<=")(?P<string>[^"\\\n]*(?:\\.[^"\\\n]*)*)"
        | (?<=')(?P<character>[^'\\\n]*(?:\\.[^'\\\n]*)*)'
    )
    """,
    re.VERBOSE | re.DOTALL,
)
"""Comments, numbers and strings. It begins with a set of characters, which Python's `re` looks for at once."""
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?P<word>\w*)(?P<rest>(?:\\\n|[^\n])*)", re.MULTILINE)
_DEFINE = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)(?P<parameters>\([^)]*\))?(?P<body>.*)", re.DOTALL)

ANNOTATIONS = ("__global__", "__device__", "__constant__", "__shared__", "__managed__", "__host__")
_ANNOTATION = re.compile(r"_(?<!\w_)_(?:global|device|constant|shared|managed)__\b")
_SPECIFIERS = (
    *ANNOTATIONS,
    *(
        "__forceinline__",
        "__noinline__",
        "__inline__",
        "__inline",
        "__forceinline",
        "__restrict__",
        "__restrict",
        "__grid_constant__",
    ),
    *("__extension__", "__cdecl", "__stdcall", "CUDARTAPI", "CUDART_CB", "CUDAAPI", "__inline_hint__"),
    *("volatile", "inline", "static", "extern", "const", "constexpr", "register", "noexcept"),
)
_CALLED = (
    *("__launch_bounds__", "__align__", "__attribute__", "__cluster_dims__", "__block_size__", "__maxnreg__"),
    *("__declspec", "__builtin_align__", "alignas", "__pragma", "__nv_pure__", "_Pragma"),
)
_BLANKED = frozenset(_SPECIFIERS[: _SPECIFIERS.index("volatile")])
_ATTRIBUTE = rf"(?:{'|'.join(_CALLED)})\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_ATTRIBUTES = re.compile(rf"{words_of(_CALLED)}\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_ONLY_SPECIFIERS = re.compile(
    rf"(?:\s|\\|\[\[[^\]]*\]\]|{_ATTRIBUTE}|\b(?:{'|'.join(map(re.escape, _SPECIFIERS))})\b)*"
)
_ONLY_BRACKETS = re.compile(r'(?:\s|\\|\}|;|(?:inline\s+)?namespace[\w\s:#]*\{|extern\s*"C"(?:\s*\{)?)*')
WORD = re.compile(r"[A-Za-z_]\w*")


class Macro(Record):
    """A macro as a file defines it: its text, whether it takes arguments, and their names."""

    body: str
    is_function: bool
    parameters: tuple[str, ...] = ()


class Definition(Record):
    """A macro's name with the offsets of its body."""

    name: str
    start: int
    end: int


class Branch(Record):
    """The lines between two directives of a condition; `is_dead`: an `#if 0`, or not what NVRTC compiles."""

    start: int
    end: int
    is_dead: bool


class Conditional(Record):
    """An `#if` with its branches, from its line's start to the end of its `#endif`."""

    start: int
    end: int
    branches: tuple[Branch, ...]


class Directive(Record):
    """A line that begins with `#`: its word, as `include`, and what follows."""

    word: str
    rest: str
    start: int
    end: int


class CxxText:
    """A C++ text and what its comments, directives and conditionals leave of it.

    Args:
        text: as the file holds it; in `text`, a line ends with a newline alone.
    """

    def __init__(self, text: str) -> None:
        if text.startswith(_BYTE_ORDER_MARK):  # which is no character of a text that does not begin with it
            text = f" {text[1:]}"
        self.text = text.replace("\\\r\n", " \\\n").replace("\r\n", " \n")
        self._uncommented = _LEXICAL.sub(_blank_comment, self.text)

    @cached_property
    def directives(self) -> tuple[Directive, ...]:
        """The directives, in order; a raw string has none."""
        text = self._uncommented
        raw_strings: list[tuple[int, int]] = []
        if 'R"' in text:
            raw_strings = [match.span() for match in _LEXICAL.finditer(text) if match["raw"] is not None]
        return tuple(
            Directive(match["word"], match["rest"], match.start(), match.end())
            for match in _DIRECTIVE.finditer(text)
            if not any(start < match.start() < end for start, end in raw_strings)
        )

    @cached_property
    def code(self) -> str:
        """The text with spaces for comments and directives; every branch is there."""
        return _without(self._uncommented, ((one.start, one.end) for one in self.directives))

    @cached_property
    def conditionals(self) -> tuple[Conditional, ...]:
        """The conditionals; those inside others, too."""
        conditionals: list[Conditional] = []
        open_conditionals: list[list[Directive]] = []
        for directive in self.directives:
            if directive.word in ("if", "ifdef", "ifndef"):
                open_conditionals.append([directive])
            elif directive.word in ("elif", "else", "elifdef", "elifndef") and open_conditionals:
                open_conditionals[-1].append(directive)
            elif directive.word == "endif" and open_conditionals:
                conditionals.append(_conditional(open_conditionals.pop(), directive))
        return tuple(conditionals)

    def is_certain(self, offset: int) -> bool:
        """Tell whether no condition around an offset can remove it: the guard of a header is true at first."""
        around = (one for one in self.conditionals if one.start <= offset < one.end)
        return all(one == self._guard for one in around)

    def has_whole(self, start: int, end: int) -> bool:
        """Tell whether every condition that begins in a span ends there, and every other is around it or outside."""
        for one in self.conditionals:
            if start <= one.start < end < one.end or one.start < start < one.end < end:
                return False
        return True

    def without_branches(self, code: str, start: int, end: int) -> str:
        """Return a span of the code with spaces for what is under a condition that begins there."""
        inner = ((one.start, one.end) for one in self.conditionals if start <= one.start and one.end <= end)
        return _without(code[:end], inner)[start:]

    @cached_property
    def _guard(self) -> Conditional | None:
        """The condition around the whole text that defines the macro it asks for."""
        words = [one.word for one in self.directives[:2]]
        if words != ["ifndef", "define"] or not self.conditionals:
            return None
        guard = self.conditionals[-1]  # the outer ones come last
        name, defined = (WORD.search(one.rest) for one in self.directives[:2])
        if name is None or defined is None or name[0] != defined[0] or len(guard.branches) > 1:
            return None
        is_whole = not (self.code[: guard.start].strip() or self.code[guard.end :].strip())
        return guard if is_whole and guard.start <= self.directives[0].start else None

    @cached_property
    def _defines(self) -> list[tuple[Directive, re.Match[str]]]:
        """The directives that define a macro, with their parts."""
        defines: list[tuple[Directive, re.Match[str]]] = []
        for directive in self.directives:
            match = _DEFINE.match(directive.rest) if directive.word == "define" else None
            if match is not None:
                defines.append((directive, match))
        return defines

    @cached_property
    def macros(self) -> Mapping[str, tuple[Macro, ...]]:
        """The macros by name, each with all its definitions."""
        macros: dict[str, tuple[Macro, ...]] = {}
        for _, match in self._defines:
            parameters = tuple(re.findall(r"\w+|\.\.\.", match["parameters"] or ""))
            macro = Macro(match["body"].strip(), match["parameters"] is not None, parameters)
            macros[match["name"]] = (*macros.get(match["name"], ()), macro)
        return macros

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """The macros of the text, with the places of their bodies."""
        definitions: list[Definition] = []
        for directive, match in self._defines:
            start = directive.end - len(directive.rest)
            body = match["body"]
            first = start + match.start("body") + len(body) - len(body.lstrip())
            definitions.append(Definition(match["name"], first, start + len(directive.rest.rstrip())))
        return tuple(definitions)

    def views(self) -> tuple[str, ...]:
        """The code with one branch of each condition: all first ones, all second ones, and so on.

        A branch with conditions inside is in as many views as these need, so that each of their branches is in one.
        """
        needed: dict[Conditional, int] = {}
        for conditional in self.conditionals:  # the inner ones come first
            needed[conditional] = sum(self._views_of(branch, needed) for branch in self._alive(conditional))
        count = max(min(max(needed.values(), default=1), _MOST_VIEWS), 1)
        return tuple(dict.fromkeys(self._view(number, needed) for number in range(count)))

    def _alive(self, conditional: Conditional) -> list[Branch]:
        """The branches that have code and may be compiled."""
        branches = [branch for branch in conditional.branches if not branch.is_dead]
        return [branch for branch in branches if self.code[branch.start : branch.end].strip()]

    def _views_of(self, branch: Branch, needed: Mapping[Conditional, int]) -> int:
        """The number of views in which a branch is."""
        inside = (views for inner, views in needed.items() if branch.start <= inner.start < branch.end)
        return max(1, max(inside, default=1))

    def _view(self, number: int, needed: Mapping[Conditional, int]) -> str:
        removed: list[tuple[int, int]] = []
        numbers: dict[Branch, int] = {}
        for conditional in sorted(self.conditionals, key=lambda one: one.start):  # the outer ones come first
            left = number
            for branch, inner_number in numbers.items():  # the last one around it is the innermost
                if branch.start <= conditional.start < branch.end:
                    left = inner_number
            left = min(left, needed[conditional] - 1)
            taken = None
            for branch in self._alive(conditional):
                views = self._views_of(branch, needed)
                if 0 <= left < views:
                    taken = branch
                    numbers[branch] = left
                left -= views
            removed += [(branch.start, branch.end) for branch in conditional.branches if branch is not taken]
        return _without(self.code, removed)


class Macros:
    """The macros of a source and all that it includes, by what they expand to.

    Args:
        tables: those of each file.
    """

    def __init__(self, tables: Iterable[Mapping[str, tuple[Macro, ...]]]) -> None:
        self.named: dict[str, tuple[Macro, ...]] = {}
        for table in tables:
            for name, macros in table.items():
                self.named[name] = (*self.named.get(name, ()), *macros)
        self._words = {name: frozenset(self.words(name)) for name in self.named}

    def words(self, name: str) -> Iterable[str]:
        """List the words of a macro's definitions."""
        return (word for macro in self.named.get(name, ()) for word in WORD.findall(macro.body))

    def bodies(self, name: str) -> list[str]:
        """List the definitions of a macro, and of those that they name."""
        bodies: list[str] = []
        pending = [name]
        seen = {name}
        while pending:
            for macro in self.named.get(pending.pop(), ()):
                bodies.append(macro.body)
                more = (self.named.keys() & WORD.findall(macro.body)) - seen
                pending += sorted(more)
                seen |= more
        return bodies

    @cached_property
    def annotations(self) -> frozenset[str]:
        """The macros whose expansion has an annotation of device code."""
        annotations: set[str] = set()
        for name, macros in self.named.items():
            if any(_ANNOTATION.search(macro.body) for macro in macros):
                annotations.add(name)
        return frozenset(self._that_expand_to(annotations, self.named))

    @cached_property
    def constants(self) -> frozenset[str]:
        """The specifiers among the macros that may make a function `constexpr`."""
        return frozenset(self._that_expand_to({"constexpr", "consteval"}, self._made_of(_ONLY_SPECIFIERS)))

    def _that_expand_to(self, words: set[str], candidates: Iterable[str]) -> set[str]:
        """Return words and those macros among the candidates in whose expansion one of them is."""
        reached = set(words)
        while True:
            more = {name for name in candidates if name not in reached and self._words[name] & reached}
            if not more:
                return reached
            reached |= more

    @cached_property
    def braces(self) -> Mapping[str, int]:
        """The macros that open more braces than they close, or fewer: by how many."""
        surpluses: dict[str, int] = {}
        for name, macros in self.named.items():
            for macro in macros:
                body = _LEXICAL.sub(_blank_string, macro.body)
                surplus = body.count("{") - body.count("}")
                if surplus:
                    surpluses[name] = surplus
        return surpluses

    @cached_property
    def _specifier(self) -> re.Pattern[str] | None:
        return _any_of(self._made_of(_ONLY_SPECIFIERS) | _BLANKED, self.named)

    @cached_property
    def _bracket(self) -> re.Pattern[str] | None:
        named = self._made_of(_ONLY_BRACKETS) - self._made_of(_ONLY_SPECIFIERS)
        return _any_of(named, self.named)

    def _made_of(self, form: re.Pattern[str]) -> set[str]:
        """Name the macros that expand to this form, or to such macros."""
        names: set[str] = set()
        while True:
            more: set[str] = set()
            for name, macros in self.named.items():
                if name not in names and all(form.fullmatch(_less(macro.body, names)) for macro in macros):
                    more.add(name)
            if not more:
                return names
            names |= more

    def without_specifiers(self, view: str) -> str:
        """Replace annotations, attributes and macros of such by spaces: no grammar knows them all."""
        plain = _ATTRIBUTES.sub(_spaces, view)
        return plain if self._specifier is None else self._specifier.sub(_spaces, plain)

    def without_brackets(self, view: str) -> str:
        """Replace the macros that open or close a namespace by spaces."""
        return view if self._bracket is None else self._bracket.sub(_spaces, view)


def has_annotation(text: str, annotations: frozenset[str]) -> bool:
    """Tell whether a declaration is device code: an annotation or a macro with one is among its words."""
    return _ANNOTATION.search(text) is not None or any(word in annotations for word in WORD.findall(text))


def without_strings(view: str) -> str:
    """Replace the contents of strings and characters by spaces, and what is no ASCII by underscores."""
    plain = _LEXICAL.sub(_blank_string, view)
    return plain if plain.isascii() else re.sub(r"[^\x00-\x7f]", "_", plain)


def _blank_comment(match: re.Match[str]) -> str:
    return match[0] if match["comment"] is None else _spaces(match)


def _blank_string(match: re.Match[str]) -> str:
    group = match.lastgroup
    if group is None or group == "comment":
        return match[0]
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + spaces(match[group]) + match[0][end:]


def spaces(text: str) -> str:
    """Return as many spaces as a text has characters, and its newlines."""
    return "\n".join([" " * len(line) for line in text.split("\n")]) if "\n" in text else " " * len(text)


def _spaces(match: re.Match[str]) -> str:
    return spaces(match[0])


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Replace spans of a text by spaces; they may be inside one another."""
    pieces: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end > at:
            first = max(start, at)
            pieces += [text[at:first], spaces(text[first:end])]
            at = end
    return "".join((*pieces, text[at:]))


def _conditional(directives: Sequence[Directive], last: Directive) -> Conditional:
    branches: list[Branch] = []
    for number, (directive, following) in enumerate(itertools.pairwise((*directives, last))):
        is_dead = _is_dead(directive, directives[:number])
        branches.append(Branch(directive.end, following.start, is_dead))
    return Conditional(directives[0].start, last.end, tuple(branches))


def _is_dead(directive: Directive, before: Sequence[Directive]) -> bool:
    rest = directive.rest.strip()
    if directive.word in ("if", "elif"):
        return rest in ("0", "false", "!defined(__CUDACC_RTC__)", "(0)") or any(_is_always(one) for one in before)
    if directive.word == "ifndef":
        return rest == "__CUDACC_RTC__"
    return directive.word == "else" and any(_is_always(one) for one in before)


def _is_always(directive: Directive) -> bool:
    return (directive.word == "if" and directive.rest.strip() in ("1", "true")) or (
        directive.word == "ifdef" and directive.rest.strip() == "__CUDACC_RTC__"
    )


def _less(body: str, names: set[str]) -> str:
    """Remove known macros, with their arguments, from another's text."""
    return WORD.sub(lambda match: "" if match[0] in names else match[0], body) if names else body


def _any_of(names: set[str], macros: Mapping[str, tuple[Macro, ...]]) -> re.Pattern[str] | None:
    functions: list[str] = []
    objects: list[str] = []
    for name in names:
        is_function = any(macro.is_function for macro in macros.get(name, ()))
        (functions if is_function else objects).append(name)
    forms: list[str] = []
    if functions:
        arguments = r"\s*\((?:[^()]|\([^()]*\))*\)"
        forms.append(rf"{words_of(functions)}\b{arguments}")
    if objects:
        forms.append(rf"{words_of(objects)}\b")
    return re.compile("|".join(forms)) if forms else None
