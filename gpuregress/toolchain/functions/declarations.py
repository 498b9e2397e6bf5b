"""Scanner for the functions that a C++ source declares for the device: names, parameters, results.

A scanner, not a C++ parser, like that of kernels (`toolchain/cxx_declarations.py`). It knows namespaces, static members
of classes, templates, attributes, default arguments, trailing result types, and macros that stand for specifiers
(`#define HD __host__ __device__`). It skips the bodies of functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.cxx_declarations import CxxParameter
from gpuregress.toolchain.include_scanner import blank_comments

_NAME = re.compile(r"[A-Za-z_]\w*")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)(?![\w(])((?:\\\n|[^\n])*)", re.MULTILINE)
_SPACES = frozenset({"__global__", "__device__", "__host__"})
_SPECIFIERS = _SPACES | {
    *("static", "inline", "extern", "constexpr", "consteval", "friend", "virtual", "explicit", "typename"),
    *("__forceinline__", "__noinline__", "__inline__", "__inline", "_Noreturn", "noreturn"),
}
_WITH_ARGUMENTS = frozenset(
    {"__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__attribute__", "alignas", "noexcept"}
    | {"decltype", "__declspec", "throw", "requires", "explicit"}
)
_BEHIND = frozenset({"const", "volatile", "override", "final", "&", "noexcept", "throw", "__attribute__"})
_MOST_LINKS = 8
"""Macros that stand for macros."""


class CxxFunction(Record):
    """A function of a C++ source.

    Attributes:
        name: with its namespaces and class, as `geometry::clampz`.
        namespace: the namespaces alone, as `geometry`.
        template: the template parameters' texts, as `("typename T", "int N")`; empty for a plain function.
        parameters: in order.
        result: the type of its result, `auto` if that could not be read.
        line: of its name, counted from 1.
        spaces: those of `__global__`, `__device__`, `__host__` that it is declared with.
        span: offsets of its text, from its first word to behind its body.
        member: whether it is a member of a class, and needs an object of it.
    """

    name: str
    namespace: str
    template: tuple[str, ...]
    parameters: tuple[CxxParameter, ...]
    result: str
    line: int
    spaces: frozenset[str]
    span: tuple[int, int] = (0, 0)
    member: bool = False

    @property
    def is_twofold(self) -> bool:
        """Tell whether it is compiled for the host and for the device."""
        return {"__host__", "__device__"} <= self.spaces

    def __str__(self) -> str:
        """`clampz<T>(T, T, T)`, as messages list it."""
        names = ", ".join(template_name(text) for text in self.template)
        return f"{self.name}{f'<{names}>' if self.template else ''}({', '.join(one.type for one in self.parameters)})"


def device_functions(
    texts: Sequence[str], macros: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[CxxFunction, ...]:
    """Return the functions that can be called on the device, in order, each once.

    Args:
        texts: the source and files that it includes, not preprocessed.
        macros: from `specifier_macros`; None: those of the texts.
    """
    found: dict[tuple[object, ...], CxxFunction] = {}
    macros = specifier_macros(texts) if macros is None else macros
    for text in texts:
        for function in scan(text, macros):
            if "__device__" not in function.spaces or "__global__" in function.spaces or function.member:
                continue
            key = (function.name, function.template, tuple(one.type for one in function.parameters))
            known = found.setdefault(key, function)
            if sum(not one.name for one in known.parameters) > sum(not one.name for one in function.parameters):
                found[key] = function  # a definition names the parameters that a declaration left out
    return tuple(found.values())


def specifier_macros(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Find the macros that stand for specifiers of functions: name → the specifiers among their words.

    Args:
        texts: C++ texts, not preprocessed. Of several definitions the one with the most execution spaces counts.
    """
    words: dict[str, set[str]] = {}
    for text in texts:
        for match in _MACRO.finditer(text):
            words.setdefault(match[1], set()).update(_NAME.findall(match[2]))
    for _ in range(_MOST_LINKS):
        for body in words.values():
            body.update(*(words.get(word, ()) for word in [*body]))
    return {name: tuple(sorted(body & _SPECIFIERS)) for name, body in words.items() if body & _SPACES}


def scan(text: str, macros: Mapping[str, tuple[str, ...]] | None = None) -> Iterator[CxxFunction]:
    """Yield every function that a text declares or defines, kernels and host functions with an execution space too.

    Args:
        text: not preprocessed: a function counts whatever `#if` it stands behind.
        macros: from `specifier_macros`; None: those of the text.
    """
    return _Scanner(text, specifier_macros([text]) if macros is None else macros).functions()


def template_name(text: str) -> str:
    """Return the name of a template parameter: `typename T = float` → `T`."""
    words = _NAME.findall(text.partition("=")[0])
    return words[-1] if words else text


class _Scope(Record):
    kind: str  # namespace, class, transparent
    name: str = ""


class _Scanner:
    """Walks a source's words once; `_head` holds those of the declaration that has begun."""

    def __init__(self, text: str, macros: Mapping[str, tuple[str, ...]]) -> None:
        blanked = _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), blank_comments(text))
        self._words = [(match[0], match.start(), match.end()) for match in cxx_declarations.WORD.finditer(blanked)]
        self._text = blanked
        self._macros = macros
        self._at = 0
        self._head: list[int] = []
        self._template: tuple[str, ...] = ()
        self._scopes: list[_Scope] = []

    def functions(self) -> Iterator[CxxFunction]:
        while self._at < len(self._words):
            word = self._peek()
            if word == "{":
                self._open()
            elif word in ("}", ";"):
                if word == "}" and self._scopes:
                    self._scopes.pop()
                self._at += 1
                self._forget()
            elif word == "template" and self._peek(1) == "<" and not self._head:
                self._head.append(self._at)
                self._at += 1
                self._template += tuple(
                    cxx_declarations.spelled(part) for part in cxx_declarations.split(self._group())
                )
            elif word == ":" and self._head and self._text_of(self._head[-1]) in ("public", "private", "protected"):
                self._at += 1
                self._forget()
            elif word == "[" and self._peek(1) == "[":
                self._group()
            elif word == "<" and self._head:
                self._head += self._skipped()
            elif word == "(":
                function = self._declarator()
                if function is not None:
                    yield function
            else:
                self._head.append(self._at)
                self._at += 1

    # --- scopes -------------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """Enter a namespace or a class at its `{`; skip any other braces."""
        head = [self._text_of(at) for at in self._head]
        if "namespace" in head:
            name = "".join(word for word in head if word not in ("namespace", "inline", "[", "]"))
            self._enter(_Scope("namespace", name))
        elif head[:1] == ["extern"] and len(head) == 2:
            self._enter(_Scope("transparent"))
        elif {"class", "struct", "union"} & set(head) and "=" not in head:
            self._enter(_Scope("class", _class_name(head)))
        else:
            self._group()
            if "=" not in head:  # behind an initializer list the declaration goes on
                self._forget()

    def _enter(self, scope: _Scope) -> None:
        self._scopes.append(scope)
        self._at += 1
        self._forget()

    def _forget(self) -> None:
        self._head = []
        self._template = ()

    # --- functions ----------------------------------------------------------------------------------------------------

    def _declarator(self) -> CxxFunction | None:
        """Read the brackets behind a name; None where they are no parameter list."""
        head = [self._text_of(at) for at in self._head]
        name_at = self._head[-1] if self._head else -1
        inner = self._group()
        if not head or not _NAME.fullmatch(head[-1]) or head[-1] in _WITH_ARGUMENTS or "=" in head or "::" in head[-2:]:
            return None
        ends = self._end_of_declarator()
        if ends is None:
            return None
        trailing, end = ends
        spaces = frozenset(word for given in head for word in self._meaning(given)) & _SPACES
        parts = [part for part in cxx_declarations.split(inner) if part != ["void"]]
        start, template = self._words[self._head[0]][1], self._template
        self._forget()
        result = trailing or self._result(head[:-1])
        if not spaces or not result or any(part[0][0].isdigit() for part in parts):
            return None  # an initialization in brackets, a constructor, a table of pointers to functions
        namespace = "::".join(scope.name for scope in self._scopes if scope.kind == "namespace" and scope.name)
        scopes = "::".join(scope.name for scope in self._scopes if scope.name)
        return CxxFunction(
            f"{scopes}::{head[-1]}" if scopes else head[-1],
            namespace,
            template,
            tuple(_parameter(part) for part in parts),
            result,
            self._text.count("\n", 0, self._words[name_at][1]) + 1,
            spaces,
            (start, end),
            member=any(scope.kind == "class" for scope in self._scopes) and not {"static", "friend"} & set(head),
        )

    def _end_of_declarator(self) -> tuple[str, int] | None:
        """Read from behind the parameters to the end of the function: the trailing result type and the last offset.

        None where another word shows that it is no function.
        """
        trailing: list[str] = []
        while self._at < len(self._words):
            word = self._peek()
            if word == "{":
                self._group()
                return cxx_declarations.spelled(trailing), self._words[self._at - 1][2]
            if word == ";":
                self._at += 1
                return cxx_declarations.spelled(trailing), self._words[self._at - 1][2]
            if word == "(" and self._at and self._text_of(self._at - 1) in _WITH_ARGUMENTS:
                self._group()
            elif word == "->" or trailing:
                trailing.append(word) if word != "->" else None
                self._at += 1
                while self._at < len(self._words) and self._peek() not in ("{", ";"):
                    trailing.append(self._peek())
                    self._at += 1
            elif word in _BEHIND or word in self._macros:
                self._at += 1
            else:
                return None
        return None

    def _result(self, head: list[str]) -> str:
        """Return the type before the name, without the specifiers."""
        at, kept = 0, []
        if head[:1] == ["template"]:
            at = 1
        while at < len(head):
            word = head[at]
            if word not in _SPECIFIERS and word not in self._macros and not word.startswith('"'):
                kept.append(word)
            at += 1
        return (
            "auto"
            if "decltype" in kept
            else cxx_declarations.spelled([word for word in kept if word not in _WITH_ARGUMENTS])
        )

    def _meaning(self, word: str) -> tuple[str, ...]:
        return self._macros.get(word, (word,))

    # --- words --------------------------------------------------------------------------------------------------------

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._words[at][0] if at < len(self._words) else ""

    def _text_of(self, at: int) -> str:
        return self._words[at][0]

    def _group(self) -> list[str]:
        """Take a bracket with all that is in it; return the words inside. Angles count between angles only."""
        return [self._text_of(at) for at in self._skipped()[1:-1]]

    def _skipped(self) -> range:
        begin = self._at
        pairs = {"(": ")", "[": "]", "{": "}"} | ({"<": ">"} if self._peek() == "<" else {})
        waiting: list[str] = []
        while self._at < len(self._words):
            word = self._peek()
            self._at += 1
            if word in pairs and (word != "<" or waiting in ([], [">"] * len(waiting))):
                waiting.append(pairs[word])
            elif waiting and word == waiting[-1]:
                waiting.pop()
            if not waiting:
                break
        return range(begin, self._at)


def _class_name(head: list[str]) -> str:
    """Return the name of a class from the words before its `{`: `struct alignas(8) Vec : Base` → `Vec`."""
    at = max(head.index(word) for word in ("class", "struct", "union") if word in head)
    words = head[at + 1 :]
    words = words[: words.index(":")] if ":" in words else words
    names = [word for word in words if _NAME.fullmatch(word) and word not in ("final", "alignas", "__align__")]
    return names[0] if names else ""


def _parameter(words: list[str]) -> CxxParameter:
    """Read a parameter; the type of a reference keeps its `const`, and an array's its extent: `float (&)[3]`."""
    if words.count("(") == 1 and words[words.index("(") + 1] == "&" and "[" in words:
        at = words.index("(")
        element, extent = cxx_declarations.spelled(words[:at]), cxx_declarations.spelled(words[words.index("[") :])
        return CxxParameter(words[at + 2], f"{element} (&){extent}", pointer=False, const="const" in words)
    read = cxx_declarations.parameter(words)
    return replace(read, type=f"const {read.type}") if read.const and read.type.endswith("&") else read


# --- functions of the mathematical library that a function calls, by way of others too --------------------------------


_NAMES = """
acos acosh asin asinh atan atan2 atanh cbrt cos cosh cospi erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fmod
hypot j0 j1 jn lgamma log log10 log1p log2 norm3d norm4d normcdf pow rcbrt remainder rhypot rsqrt sin sincos
sincospi sinh sinpi tan tanh tgamma y0 y1 yn
"""
_LIBRARY = frozenset(_NAMES.split())
"""Those whose results may differ in the last bits; sqrt, fma, floor and the like are exact everywhere."""
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>;(){}]*>\s*)?\(")


def of_function(function: CxxFunction, texts: Sequence[str]) -> tuple[str, ...]:
    """List the library functions that a function calls, in alphabetical order.

    Args:
        function: of one of the texts.
        texts: the source and the files that it includes.
    """
    macros = specifier_macros(texts)
    bodies: dict[str, set[str]] = {}
    for text in texts:
        for one in scan(text, macros):
            called = set(_CALL.findall(text[slice(*one.span)]))
            bodies.setdefault(one.name.rpartition("::")[2], set()).update(called)
    reached: set[str] = set()
    waiting = [function.name.rpartition("::")[2]]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += bodies.get(name, ())
    return tuple(sorted(name for name in reached if _is_library(name) and name not in bodies))


def _is_library(name: str) -> bool:
    return name in _LIBRARY or (name.endswith("f") and name[:-1] in _LIBRARY)
