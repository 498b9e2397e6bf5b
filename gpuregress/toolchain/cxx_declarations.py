"""Scanner for the kernels that a C++ source declares: names, template parameters, parameters.

A scanner for `__global__` functions, not a C++ parser: it knows comments, strings, namespaces, templates, `extern "C"`,
attributes such as `__launch_bounds__(…)`, and default arguments. What only a preprocessor could see (a kernel made by a
macro) it does not find; the compiled code is then the only witness.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpuregress.foundation import dtypes
from gpuregress.foundation.dtypes import Scalar
from gpuregress.foundation.records import Entry, Parameter
from gpuregress.gpu import demangle
from gpuregress.gpu.records import Record, replace
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.include_scanner import without_comments

WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_]\w*|::|->|\.\.\.|\d[\w.]*|\S')
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_ATTRIBUTES = frozenset(
    {"__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__attribute__", "alignas"}
)


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
        names = ", ".join(_template_name(text) for text in self.template)
        return f"{self.name}<{names}>" if self.template else self.name

    @property
    def type_words(self) -> tuple[frozenset[tuple[str, int]], ...]:
        """The words of the parameters' types, which tell overloads apart; of a template with numbers for its names."""
        numbers = {_template_name(text): f"<{number}>" for number, text in enumerate(self.template)}
        return tuple(_type_words(one.type, numbers) for one in self.parameters)

    def signature(self, arguments: Sequence[str] = ()) -> str:
        """Write its name with the types of its parameters: `scale<float>(float*, int)`.

        Args:
            arguments: of the template.
        """
        given = dict(zip(map(_template_name, self.template), arguments, strict=False))
        types = []
        for one in self.parameters:
            words = [match[0] for match in WORD.finditer(one.type)]
            types.append(spelled([given.get(word, word) for word in words]))
        listed = f"<{', '.join(arguments)}>" if arguments else ""
        return f"{self.name}{listed}({', '.join(types)})"


def declarations(text: str) -> tuple[Declaration, ...]:
    """Return the kernels that a C++ source declares or defines, in order, each once.

    Args:
        text: the source, not preprocessed: a kernel counts whatever `#if` it stands behind.
    """
    declared: dict[tuple[object, ...], Declaration] = {}
    for declaration in _Scanner(text).kernels():
        declared.setdefault((declaration.name, *declaration.type_words), declaration)
    return tuple(declared.values())


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
    matches = {
        (one.name, one.template, one.parameters): one
        for one in overloads(declared, kernel)
        if len(one.parameters) == count
    }
    return next(iter(matches.values())) if len(matches) == 1 else None


def overloads(declared: Iterable[Declaration], kernel: str) -> tuple[Declaration, ...]:
    """List the declarations that a kernel's name may mean; one where the name has the types of the parameters.

    Args:
        declared: kernels of one or several files.
        kernel: its C++ name, with or without namespaces, template arguments and parameters, or mangled.
    """
    name, types = split_signature(readable(kernel))
    plain = strip_template_arguments(name)
    same = [one for one in declared if plain in (one.name, one.name.rpartition("::")[2])]
    if types is None:
        return tuple(same)
    given = template_arguments(name)
    wanted = tuple(_type_words(parameter([*words]).type) for words in types)
    found = []
    for one in same:
        known = split_signature(one.signature(given))[1] or []
        if tuple(_type_words(parameter([*words]).type) for words in known) == wanted:
            found.append(one)
    return tuple(found)


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
    parts = split([match[0] for match in WORD.finditer(parameters)])
    return name.strip(), [part for part in parts if part != ["void"]]


def is_same_signature(kernel: str, other: str) -> bool:
    """Tell whether two names with the types of their parameters are those of one kernel."""
    (name, types), (other_name, other_types) = split_signature(kernel), split_signature(other)
    if types is None or other_types is None or "".join(name.split()) != "".join(other_name.split()):
        return False
    first, second = ([_type_words(parameter([*words]).type) for words in one] for one in (types, other_types))
    return first == second


def strip_template_arguments(kernel: str) -> str:
    """`a::block_sum<float, 3>` → `a::block_sum`; without parameters, too."""
    return split_signature(readable(kernel))[0].partition("<")[0].strip()


def template_arguments(kernel: str) -> list[str]:
    """`a::block_sum<float, 3>` → `["float", "3"]`."""
    name, _ = split_signature(readable(kernel))
    words = [match[0] for match in WORD.finditer(name.partition("<")[2].rpartition(">")[0])]
    return [spelled(part) for part in split(words)]


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
    found: dict[str, str] = {}
    for words, name in matches:
        found[name] = words.strip() if found.get(name, words.strip()) == words.strip() else ""
    return found


def _merged(compiled: Parameter, written: CxxParameter) -> Parameter:
    kind = compiled.kind
    if written.pointer and compiled.size == 8:
        kind = "pointer"
    elif (scalar := _scalar(written.type)) is not None and scalar.is_float and kind != "pointer":
        kind = "float"
    elif kind in ("word", "struct") and compiled.size <= 8 and scalar is not None and not scalar.is_float:
        kind = "integer"
    return replace(compiled, kind=kind, name=written.name, const=written.pointer and written.const)


def _scalar(written: str) -> Scalar | None:
    """Return the scalar type of a parameter; None for vectors, pointers and types that are not known."""
    known = dtype_of_type(written)
    parts = dtypes.parse(known).parts if known is not None else ()
    return parts[0].scalar if len(parts) == 1 and not parts[0].name else None


def _type_words(type_: str, numbers: Mapping[str, str] | None = None) -> frozenset[tuple[str, int]]:
    """The words of a type, whose order may differ: `const float*` is `float const*`."""
    words = [match[0] for match in WORD.finditer(type_)]
    return frozenset(Counter((numbers or {}).get(word, word) for word in words).items())


def _template_name(text: str) -> str:
    words = re.findall(r"[A-Za-z_]\w*", text.partition("=")[0])
    return words[-1] if words else text


_QUALIFIERS = ("const", "volatile")


class _Scanner:
    """Walks a source's words once, keeping the namespaces it is in."""

    def __init__(self, text: str) -> None:
        plain = _DIRECTIVE.sub(lambda match: "\n" * match[0].count("\n"), without_comments(text))
        self._words = [(match[0], match.start()) for match in WORD.finditer(plain)]
        self._text = plain
        self._at = 0

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
                template = tuple(spelled(part) for part in split(self._angles())) or template
            elif word == "__global__":
                declaration = self._kernel("::".join(scope for scope in scopes if scope), template)
                template = ()
                if declaration is not None:
                    yield declaration

    def _namespace(self) -> str | None:
        """The name up to its `{`, taking that; None for an alias (`namespace a = b;`) or a using directive."""
        words = []
        while self._at < len(self._words) and self._peek() not in ("{", ";", "="):
            words.append(self._take())
        if self._peek() != "{":
            return None
        self._take()
        return "".join(word for word in words if word != "inline")

    def _kernel(self, scope: str, template: tuple[str, ...]) -> Declaration | None:
        """From behind `__global__` to the end of the parameter list."""
        previous, offset = "", 0
        while self._at < len(self._words):
            word, position = self._words[self._at]
            if word in (";", "{", "}"):
                return None
            self._at += 1
            if word in _ATTRIBUTES and self._peek() == "(":
                self._brackets("(", ")")
            elif word == "(":
                self._at -= 1
                break
            else:
                previous, offset = word, position
        if not re.fullmatch(r"[A-Za-z_]\w*", previous) or self._peek() != "(":
            return None
        parameters = tuple(parameter(part) for part in split(self._brackets("(", ")")) if part not in ([], ["void"]))
        name = f"{scope}::{previous}" if scope else previous
        return Declaration(name, template, parameters, self._text.count("\n", 0, offset) + 1)

    def _peek(self) -> str:
        return self._words[self._at][0] if self._at < len(self._words) else ""

    def _take(self) -> str:
        self._at += 1
        return self._words[self._at - 1][0]

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

    def _angles(self) -> list[str]:
        return self._brackets("<", ">")


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
        at = words.index("=")
        words, default = words[:at], spelled(words[at + 1 :])
    words = [
        word
        for word in words
        if word not in ("__restrict__", "__restrict", "restrict", "__grid_constant__", "struct", "register")
    ]
    array = "[" in words
    if array:
        words = words[: words.index("[")]
    name = ""
    if len(words) > 1 and re.fullmatch(r"[A-Za-z_]\w*", words[-1]) and not _is_type_word(words):
        name, words = words[-1], words[:-1]
    pointer = array or "*" in words
    const = "const" in (_pointee([*words, "*"] if array else words) if pointer else words)
    kept = words if pointer else [word for word in words if word not in _QUALIFIERS]
    while pointer and kept[-1] in _QUALIFIERS:
        kept = kept[:-1]
    return CxxParameter(name, spelled([*kept, "*"] if array else kept), pointer, const, default)


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
    """Join words to text: a space only between two names or numbers, and behind commas."""
    text = ""
    for word in words:
        if text and re.match(r"\w", word) and re.search(r"[\w>*&]$", text) and not text.endswith("::"):
            text += " "
        text += ", " if word == "," else word
    return text
