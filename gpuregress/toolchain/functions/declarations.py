"""Scanner for the functions that a C++ source declares for the device: names, parameters, results.

A scanner, not a C++ parser, like that of kernels (`toolchain/cxx_declarations.py`). It knows namespaces, static members
of classes, templates, attributes, default arguments, trailing result types, and macros that stand for specifiers
(`#define HD __host__ __device__`). It skips the bodies of functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpuregress.gpu.graphs import reachable_from
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.cxx_declarations import CxxParameter, WordScanner, spelled, split, template_name
from gpuregress.toolchain.include_scanner import blank_comments

_NAME = re.compile(r"[A-Za-z_]\w*")
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
        span: offsets of its text, from its first word to after its body.
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

    @property
    def is_operator(self) -> bool:
        """Tell whether it is an operator, which no job calls by its name."""
        return re.search(r"\boperator\b", self.name) is not None

    def __str__(self) -> str:
        """`clampz<T>(T, T, T)`, as messages list it."""
        names = ", ".join(template_name(text) for text in self.template)
        types = ", ".join(parameter.type for parameter in self.parameters)
        return f"{self.name}<{names}>({types})" if self.template else f"{self.name}({types})"


def device_functions(
    texts: Sequence[str], macros: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[CxxFunction, ...]:
    """Return the functions that can be called on the device, in order, each once.

    Args:
        texts: the source and files that it includes, not preprocessed.
        macros: from `specifier_macros`; None: those of the texts.
    """
    if macros is None:
        macros = specifier_macros(texts)
    functions: dict[tuple[object, ...], CxxFunction] = {}
    for text in texts:
        for function in scan(text, macros):
            if "__device__" not in function.spaces or "__global__" in function.spaces or function.member:
                continue
            if function.is_operator:
                continue
            key = (function.name, function.template, tuple(parameter.type for parameter in function.parameters))
            known = functions.setdefault(key, function)
            if _unnamed(known) > _unnamed(function):
                functions[key] = function  # a definition names the parameters that a declaration left out
    return tuple(functions.values())


def _unnamed(function: CxxFunction) -> int:
    return [parameter.name for parameter in function.parameters].count("")


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
        text: not preprocessed: a function counts whatever `#if` it stands under.
        macros: from `specifier_macros`; None: those of the text.
    """
    return _Scanner(text, specifier_macros([text]) if macros is None else macros).functions()


class _Scope(Record):
    kind: str  # namespace, class, transparent
    name: str = ""


class _Scanner(WordScanner):
    """Walks a source's words once; `_head` holds those of the declaration that has begun."""

    def __init__(self, text: str, macros: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(blank_comments(text))
        self._macros = macros
        self._head: list[int] = []
        self._template: tuple[str, ...] = ()
        self._operator: list[str] = []
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
                self._template += tuple(spelled(words) for words in split(self._group()))
            elif word == ":" and self._head and self._text_of(self._head[-1]) in ("public", "private", "protected"):
                self._at += 1
                self._forget()
            elif word == "[" and self._peek(1) == "[":
                self._group()
            elif word == "operator":
                self._take_operator()
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
            if "=" not in head:  # after an initializer list the declaration goes on
                self._forget()

    def _enter(self, scope: _Scope) -> None:
        self._scopes.append(scope)
        self._at += 1
        self._forget()

    def _forget(self) -> None:
        self._head = []
        self._operator = []
        self._template = ()

    # --- functions ----------------------------------------------------------------------------------------------------

    def _take_operator(self) -> None:
        """Take the name of an operator; the head holds its first word alone."""
        self._head.append(self._at)
        self._at += 1
        if (self._peek(), self._peek(1)) in (("(", ")"), ("[", "]")):
            self._operator = [self._take(), self._take()]
        while self._at < len(self._words) and self._peek() not in ("(", ";", "{"):
            self._operator.append(self._take())

    def _declarator(self) -> CxxFunction | None:
        """Read the brackets after a name; None where they are no parameter list."""
        head = [self._text_of(at) for at in self._head]
        inner = self._group()
        if not head or not _NAME.fullmatch(head[-1]) or head[-1] in _WITH_ARGUMENTS or "=" in head or "::" in head[-2:]:
            return None
        name_at = self._head[-1]
        end_of_declarator = self._end_of_declarator()
        if end_of_declarator is None:
            return None
        trailing, end = end_of_declarator
        spaces: set[str] = set()
        for word in head:
            spaces.update(self._macros.get(word, (word,)))
        spaces &= _SPACES
        parameters = [words for words in split(inner) if words != ["void"]]
        start = self._words[self._head[0]].start()
        template, sign = self._template, spelled(self._operator)
        self._forget()
        result = trailing or self._result(head[:-1])
        if sign and _NAME.match(sign):
            result = result or sign  # a conversion
            sign = f" {sign}"
        if not spaces or not result or any(words[0][0].isdigit() for words in parameters):
            return None  # an initialization in brackets, a constructor, a table of pointers to functions
        namespaces = [scope.name for scope in self._scopes if scope.kind == "namespace" and scope.name]
        scopes = [scope.name for scope in self._scopes if scope.name]
        in_class = any(scope.kind == "class" for scope in self._scopes)
        return CxxFunction(
            name="::".join([*scopes, f"{head[-1]}{sign}"]),
            namespace="::".join(namespaces),
            template=template,
            parameters=tuple(_parameter(words) for words in parameters),
            result=result,
            line=self._line(name_at),
            spaces=frozenset(spaces),
            span=(start, end),
            member=in_class and not {"static", "friend"} & set(head),
        )

    def _end_of_declarator(self) -> tuple[str, int] | None:
        """Read from after the parameters to the end of the function: the trailing result type and the last offset.

        None where another word shows that it is no function.
        """
        trailing: list[str] = []
        while self._at < len(self._words):
            word = self._peek()
            if word in ("{", ";"):
                self._skipped()  # of a semicolon, itself alone
                return spelled(trailing), self._words[self._at - 1].end()
            if word == "(" and self._at and self._text_of(self._at - 1) in _WITH_ARGUMENTS:
                self._group()
            elif word == "->" or trailing:
                if word != "->":
                    trailing.append(word)
                self._at += 1
                while self._at < len(self._words) and self._peek() not in ("{", ";"):
                    trailing.append(self._take())
            elif word in _BEHIND or word in self._macros:
                self._at += 1
            else:
                return None
        return None

    def _result(self, head: list[str]) -> str:
        """Return the type before the name, without the specifiers."""
        if head[:1] == ["template"]:
            head = head[1:]
        specifiers = _SPECIFIERS | self._macros.keys()
        words = [word for word in head if word not in specifiers and not word.startswith('"')]
        if "decltype" in words:
            return "auto"
        return spelled([word for word in words if word not in _WITH_ARGUMENTS])

    # --- words --------------------------------------------------------------------------------------------------------

    def _text_of(self, at: int) -> str:
        return self._words[at][0]

    def _group(self) -> list[str]:
        """Take a bracket with all that is in it; return the words inside. Angles count between angles only."""
        return [self._text_of(at) for at in self._skipped()[1:-1]]

    def _skipped(self) -> range:
        """Take a bracket with all that is in it, or another word alone; return the positions of its words."""
        begin = self._at
        pairs = {"(": ")", "[": "]", "{": "}"}
        if self._peek() == "<":
            pairs["<"] = ">"
        waiting: list[str] = []
        while self._at < len(self._words):
            word = self._take()
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
    for word in head[at + 1 :]:
        if word == ":":
            break
        if _NAME.fullmatch(word) and word not in ("final", "alignas", "__align__"):
            return word
    return ""


def _parameter(words: list[str]) -> CxxParameter:
    """Read a parameter; the type of a reference keeps its `const`, and an array's its extent: `float (&)[3]`."""
    if words.count("(") == 1 and words[words.index("(") + 1] == "&" and "[" in words:
        at = words.index("(")
        type_ = f"{spelled(words[:at])} (&){spelled(words[words.index('[') :])}"
        return CxxParameter(words[at + 2], type_, pointer=False, const="const" in words)
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
    calls: dict[str, set[str]] = {}
    for text in texts:
        for caller in scan(text, macros):
            called = set(_CALL.findall(text[slice(*caller.span)]))
            calls.setdefault(caller.name.rpartition("::")[2], set()).update(called)
    reached = set(reachable_from([function.name.rpartition("::")[2]], lambda name: calls.get(name, ())))
    return tuple(sorted(name for name in reached - calls.keys() if _is_library(name)))


def _is_library(name: str) -> bool:
    return name in _LIBRARY or (name.endswith("f") and name[:-1] in _LIBRARY)
