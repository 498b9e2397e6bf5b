"""Scanner for the kernels that a C++ source declares: names, template parameters, parameters.

A scanner for `__global__` functions, not a C++ parser: it knows comments, strings, namespaces, templates, `extern "C"`,
attributes such as `__launch_bounds__(…)`, default arguments, and macros of the same file that make kernels. A kernel
that a macro of another file makes it does not find; the compiled code is then the only witness.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from gpuregress.foundation import dtypes
from gpuregress.foundation.records import Entry, Parameter
from gpuregress.gpu import demangle
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.host_code import macro_calls
from gpuregress.toolchain.include_scanner import without_comments

WORD = re.compile(r'"(?:[^"\\\n]|\\[\s\S])*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_]\w*|::|->|\.\.\.|\d[\w.]*|\S')
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)]*)\)((?:\\\n|[^\n])*)", re.MULTILINE)
_STRINGIFICATION = re.compile(r"(?<!#)#\s*\w")
_ATTRIBUTES = frozenset(
    {"__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__attribute__", "alignas"}
)
_AFTER_PARAMETERS = _ATTRIBUTES | {"noexcept", "requires", "throw"}


class CxxParameter(Record):
    """A kernel's parameter in the source.

    Attributes:
        name: "" where the source gives none.
        type: the C++ type's text, without `__restrict__` and a leading `const` of the value: `const float*`, `int`.
        pointer: whether it is a pointer.
        const: whether what it points to (or the value) is const.
        default: the default argument's text, "" if none.
    """

    name: str
    type: str
    pointer: bool
    const: bool
    default: str = ""


class Declaration(Record):
    """A `__global__` function.

    Attributes:
        name: with its namespaces, as `reduce::block_sum`.
        template: the template parameters' texts, as `("typename T", "int N")`; empty for a plain kernel.
        parameters: in order.
        line: of its name, counted from 1.
    """

    name: str
    template: tuple[str, ...]
    parameters: tuple[CxxParameter, ...]
    line: int

    def __str__(self) -> str:
        """`reduce::block_sum<T>`, as messages list it."""
        names = ", ".join(template_name(text) for text in self.template)
        return f"{self.name}<{names}>" if self.template else self.name

    @property
    def type_words(self) -> tuple[frozenset[tuple[str, int]], ...]:
        """The words of the parameters' types, which tell overloads apart; of a template with numbers for its names."""
        numbers = {template_name(text): f"<{number}>" for number, text in enumerate(self.template)}
        return tuple(_type_words(parameter.type, numbers) for parameter in self.parameters)

    def signature(self, arguments: Sequence[str] = ()) -> str:
        """Write its name with the types of its parameters: `scale<float>(float*, int)`.

        Args:
            arguments: of the template.
        """
        given = dict(zip(map(template_name, self.template), arguments, strict=False))
        types = [
            spelled([given.get(word, word) for word in WORD.findall(parameter.type)]) for parameter in self.parameters
        ]
        of_template = f"<{', '.join(arguments)}>" if arguments else ""
        return f"{self.name}{of_template}({', '.join(types)})"


@lru_cache(maxsize=256)
def declarations(text: str) -> tuple[Declaration, ...]:
    """Return the kernels that a C++ source declares or defines, in order, each once.

    Args:
        text: the source, not preprocessed: a kernel counts whatever `#if` it stands under.
    """
    declared: dict[tuple[object, ...], Declaration] = {}
    if "__global__" not in text:  # most headers
        return ()
    plain = _without_stringified(without_comments(text))
    for expansion in macro_calls.expansions(plain, "__global__"):
        for declaration in _Scanner(expansion).kernels():
            declared.setdefault((declaration.name, *declaration.type_words), declaration)
    return tuple(declared.values())


def _without_stringified(text: str) -> str:
    """Blank the arguments of macros that make a string of them: a kernel there is text for a compiler at run time."""
    macros = {match[1]: match[3] for match in _DEFINE.finditer(text)}
    stringifying = {name for name, body in macros.items() if _STRINGIFICATION.search(body)}
    if not stringifying or "__global__" not in text:
        return text
    stringifying |= {name for name, body in macros.items() if stringifying & set(WORD.findall(body))}
    calls = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(stringifying)))})\s*\(")
    directives = [match.span() for match in _DIRECTIVE.finditer(text)]
    pieces: list[str] = []
    start = 0
    for call in calls.finditer(text):
        if call.start() < start or any(first <= call.start() < last for first, last in directives):
            continue
        end = _closing_bracket(text, call.end())
        pieces += [text[start : call.end()], re.sub(r"[^\n]", " ", text[call.end() : end])]
        start = end
    return "".join((*pieces, text[start:]))


def _closing_bracket(text: str, start: int) -> int:
    """Return the position of the `)` that ends what begins at a position; the end of the text if there is none."""
    depth = 1
    for word in WORD.finditer(text, start):
        if word[0] == "(":
            depth += 1
        elif word[0] == ")":
            depth -= 1
        if depth == 0:
            return word.start()
    return len(text)


def listed(declared: Sequence[Declaration]) -> list[str]:
    """Write kernels for a message: one that shares its name with another one has the types of its parameters."""
    names = Counter(one.name for one in declared)
    return [one.signature() if names[one.name] > 1 else str(one) for one in declared]


def name_parameters(entry: Entry, kernel: str, declared: Iterable[Declaration]) -> Entry:
    """Complete an entry with the names and kinds of parameters from the source.

    Args:
        entry: from the PTX.
        kernel: its C++ name, with or without template arguments.
        declared: the source's kernels.
    """
    own = find(declared, kernel, len(entry.parameters))
    if own is None:
        return entry
    pairs = zip(entry.parameters, own.parameters, strict=True)
    return replace(entry, parameters=tuple(_merged(compiled, written) for compiled, written in pairs))


def find(declared: Iterable[Declaration], kernel: str, count: int) -> Declaration | None:
    """Find the declaration of a kernel by its name and its number of parameters; None unless it is the only one.

    Args:
        declared: kernels of one or several files; the same declaration may be in several of them.
        kernel: its C++ name, with or without namespaces and template arguments.
        count: of its parameters.
    """
    matches: dict[object, Declaration] = {}
    for candidate in overloads(declared, kernel):
        if len(candidate.parameters) == count:
            matches[candidate.name, candidate.template, candidate.parameters] = candidate
    if len(matches) != 1:
        return None
    (match,) = matches.values()
    return match


def overloads(declared: Iterable[Declaration], kernel: str) -> tuple[Declaration, ...]:
    """List the declarations that a kernel's name may mean; one where the name has the types of the parameters.

    Args:
        declared: kernels of one or several files.
        kernel: its C++ name, with or without namespaces, template arguments and parameters, or mangled.
    """
    name, types = split_signature(readable(kernel))
    plain = strip_template_arguments(name)
    same = [candidate for candidate in declared if plain in (candidate.name, candidate.name.rpartition("::")[2])]
    if types is None:
        return tuple(same)
    given = template_arguments(name)
    wanted = _words_of_types(types)
    return tuple(
        candidate
        for candidate in same
        if _words_of_types(split_signature(candidate.signature(given))[1] or []) == wanted
    )


def _words_of_types(types: Sequence[Sequence[str]]) -> list[frozenset[tuple[str, int]]]:
    return [_type_words(parameter([*words]).type) for words in types]


def readable(kernel: str) -> str:
    """Return a kernel's name in C++: of a mangled one with its parameters, as far as they are known.

    Args:
        kernel: `k`, `k<float>(float*)` or `_Z1kIfEvPT_`.
    """
    if not kernel.startswith("_Z"):
        return kernel
    name, parameters = demangle.split_parameters(demangle.full_name(kernel))
    return f"{name}({parameters})".replace("(anonymous namespace)::", "") if name else demangle.demangle(kernel)


def split_signature(kernel: str) -> tuple[str, list[list[str]] | None]:
    """Split `a::k<float>(float*, int)` into `a::k<float>` and the words of the parameters; None where it has none."""
    text = kernel.strip()
    if not text.endswith(")"):
        return text, None
    name, parameters = demangle.split_parameters(f" {text}")
    return name.strip(), [words for words in split(WORD.findall(parameters)) if words != ["void"]]


def is_same_signature(kernel: str, other: str) -> bool:
    """Tell whether two names with the types of their parameters are those of one kernel."""
    name, types = split_signature(kernel)
    other_name, other_types = split_signature(other)
    if types is None or other_types is None or "".join(name.split()) != "".join(other_name.split()):
        return False
    return _words_of_types(types) == _words_of_types(other_types)


def strip_template_arguments(kernel: str) -> str:
    """`a::block_sum<float, 3>` → `a::block_sum`; without parameters, too."""
    return split_signature(readable(kernel))[0].partition("<")[0].strip()


def template_arguments(kernel: str) -> list[str]:
    """`a::block_sum<float, 3>` → `["float", "3"]`."""
    name, _ = split_signature(readable(kernel))
    words = WORD.findall(name.partition("<")[2].rpartition(">")[0])
    return [spelled(argument) for argument in split(words)]


def variable_names(text: str) -> list[str]:
    """List the `__constant__` and `__device__` variables of a source, without their namespaces."""
    return list(variable_types(text))


def variable_types(text: str) -> dict[str, str]:
    """Return the `__constant__` and `__device__` variables of a source, and the C++ type of each one's elements.

    Args:
        text: the source.

    Returns:
        name without its namespaces → the type's words as written; "" where several variables have the name.
    """
    matches = re.findall(
        r"\b(?:__(?:constant|device|managed)__\s+)+([^;{}()=]*?)\b([A-Za-z_]\w*)\s*(?:\[[^;{}=]*\]\s*)*(?=[;={])",
        without_comments(text),
    )
    types: dict[str, str] = {}
    for words, name in matches:
        type_ = words.strip()
        if types.setdefault(name, type_) != type_:
            types[name] = ""
    return types


def _merged(compiled: Parameter, written: CxxParameter) -> Parameter:
    kind = compiled.kind
    known = dtype_of_type(written.type)
    element = dtypes.parse(known) if known is not None else None
    if written.pointer and compiled.size == 8:
        kind = "pointer"
    elif element is not None and len(element.parts) == 1 and not element.parts[0].name:
        if element.is_float and kind != "pointer":
            kind = "float"
        elif not element.is_float and kind in ("word", "struct") and compiled.size <= 8:
            kind = "integer"
        elif not element.is_float and kind == "pointer" and compiled.size == 8:
            kind = "word"  # a number that the kernel takes for an address: a job may give either
    return replace(compiled, kind=kind, name=written.name, const=written.pointer and written.const)


def _type_words(type_: str, numbers: Mapping[str, str] | None = None) -> frozenset[tuple[str, int]]:
    """The words of a type, whose order may differ: `const float*` is `float const*`."""
    numbers = numbers or {}
    return frozenset(Counter(numbers.get(word, word) for word in WORD.findall(type_)).items())


def template_name(text: str) -> str:
    """Return the name of a template parameter: `typename T = float` → `T`."""
    words = re.findall(r"[A-Za-z_]\w*", text.partition("=")[0])
    return words[-1] if words else text


_QUALIFIERS = ("const", "volatile")


_NOT_OF_TYPE = ("__restrict__", "__restrict", "restrict", "__grid_constant__", "struct", "register")


class WordScanner:
    """A position in the words of a C++ source.

    Args:
        text: without comments; its preprocessor directives are blanked, so that offsets stay.
    """

    def __init__(self, text: str) -> None:
        self._text = _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
        self._words = list(WORD.finditer(self._text))
        self._at = 0

    def _peek(self, ahead: int = 0) -> str:
        position = self._at + ahead
        return self._words[position][0] if position < len(self._words) else ""

    def _take(self) -> str:
        self._at += 1
        return self._words[self._at - 1][0]

    def _line(self, word: int) -> int:
        """The line of a word, counted from 1."""
        return self._text.count("\n", 0, self._words[word].start()) + 1


class _Scanner(WordScanner):
    """Walks a source's words once, keeping the namespaces it is in."""

    def kernels(self) -> Iterator[Declaration]:
        scopes: list[str] = []
        template: tuple[str, ...] = ()
        while self._at < len(self._words):
            word = self._take()
            if word == "namespace":
                name = self._namespace()
                if name is not None:
                    scopes.append(name)
            elif word == "{":
                scopes.append("")
            elif word == "}":
                if scopes:
                    scopes.pop()
                template = ()
            elif word == ";":
                template = ()
            elif word == "template" and self._peek() == "<":
                template = tuple(spelled(part) for part in split(self._brackets("<", ">"))) or template
            elif word == "__global__":
                declaration = self._kernel("::".join(scope for scope in scopes if scope), template)
                template = ()
                if declaration is not None:
                    yield declaration

    def _namespace(self) -> str | None:
        """The name up to its `{`, taking that; None for an alias (`namespace a = b;`) or a using directive."""
        name = ""
        while self._at < len(self._words) and self._peek() not in ("{", ";", "="):
            word = self._take()
            if word != "inline":
                name += word
        if self._peek() != "{":
            return None
        self._take()
        return name

    def _kernel(self, scope: str, template: tuple[str, ...]) -> Declaration | None:
        """From after `__global__` to the end of the parameter list."""
        name = ""
        name_at = 0
        while self._at < len(self._words) and self._peek() != "(":
            if self._peek() in (";", "{", "}"):
                return None
            word = self._take()
            if self._peek() == "(" and (word in _ATTRIBUTES or self._is_attribute()):
                self._brackets("(", ")")
            else:
                name = word
                name_at = self._at - 1
        if not re.fullmatch(r"[A-Za-z_]\w*", name) or self._peek() != "(":
            return None
        parameters = tuple(parameter(words) for words in split(self._brackets("(", ")")) if words != ["void"])
        return Declaration(f"{scope}::{name}" if scope else name, template, parameters, self._line(name_at))

    def _is_attribute(self) -> bool:
        """Tell whether the bracket here is that of a macro before the name, as in `void BOUNDS(256) f(int n)`."""
        first = self._at
        arguments = split(self._brackets("(", ")"))
        names: set[str] = set()
        while re.fullmatch(r"[A-Za-z_]\w*", self._peek()):
            names.add(self._take())
        is_attribute = bool(names) and names.isdisjoint(_AFTER_PARAMETERS) and self._peek() == "("
        for words in arguments:
            is_attribute = is_attribute and len(words) == 1 and dtype_of_type(words[0]) is None
        self._at = first
        return is_attribute

    def _brackets(self, opening: str, closing: str) -> list[str]:
        """The words inside a bracket that begins here, which is taken whole."""
        words: list[str] = []
        depth = 0
        while self._at < len(self._words):
            word = self._take()
            depth += (word == opening) - (word == closing)
            if depth == 0:
                break
            words.append(word)
        return words[1:]


def split(words: list[str]) -> list[list[str]]:
    """Split words at the commas outside all brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in "([{<") - (word in ")]}>")
        if word == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def parameter(words: list[str]) -> CxxParameter:
    """Read the declaration of one parameter."""
    default = ""
    if "=" in words:
        equals = words.index("=")
        default = spelled(words[equals + 1 :])
        words = words[:equals]
    words = [word for word in words if word not in _NOT_OF_TYPE]
    is_array = "[" in words
    if is_array:
        words = words[: words.index("[")]
    name = ""
    if len(words) > 1 and re.fullmatch(r"[A-Za-z_]\w*", words[-1]) and not _is_type_word(words):
        name = words[-1]
        words = words[:-1]
    if not is_array and "*" not in _outside_arguments(words):
        type_ = spelled([word for word in words if word not in _QUALIFIERS])
        return CxxParameter(name, type_, pointer=False, const="const" in words, default=default)
    outside = _outside_arguments(words)
    const = "const" in _pointee([*outside, "*"] if is_array else outside)
    while words and words[-1] in _QUALIFIERS:
        words = words[:-1]
    if is_array:
        words = [*words, "*"]
    return CxxParameter(name, spelled(words), pointer=True, const=const, default=default)


def _outside_arguments(words: list[str]) -> list[str]:
    """List the words outside of template arguments: `Array<T*, 8> a` is no pointer."""
    outside: list[str] = []
    depth = 0
    for word in words:
        depth += (word == "<") - (word == ">")
        if depth == 0 and word != ">":
            outside.append(word)
    return outside


def _pointee(words: list[str]) -> list[str]:
    """Return the qualifiers of the type that the outermost `*` points to: none for `const float **p`."""
    outermost = len(words) - 1 - words[::-1].index("*")
    inner = words[:outermost]
    return inner[len(inner) - inner[::-1].index("*") :] if "*" in inner else inner


def _is_type_word(words: list[str]) -> bool:
    """Tell whether the last word belongs to the type: `unsigned int`, `a::b`, `const float`."""
    builtin = {"char", "short", "int", "long", "float", "double", "bool", "unsigned", "signed", "const"}
    return words[-1] in builtin or words[-2] == "::" or all(word == "const" for word in words[:-1])


def spelled(words: list[str]) -> str:
    """Join words to text: a space only between two names or numbers, and after commas."""
    text = ""
    for word in words:
        if text and re.match(r"\w", word) and re.search(r"[\w>*&]$", text) and not text.endswith("::"):
            text += " "
        text += ", " if word == "," else word
    return text
