"""Overload resolution for a function under test: the declaration that a name and some buffers mean.

Template arguments that are not given are deduced from the dtypes of the buffers, as the compiler deduces them from the
arguments of a call. Only an exact match counts: nothing is converted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.records import Record
from gpuregress.toolchain import cxx_declarations
from gpuregress.toolchain.cxx_declarations import template_name
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.functions.declarations import CxxFunction

_C_NAMES = {
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
}
RESULT = "result"
"""The buffer that holds what a function returns."""


class NoFunction(Exception):
    """No declaration fits, or several do.

    Args:
        message: what is wrong.
        key: where in the job, if not at the function's name.
    """

    def __init__(self, message: str, key: Key = ()) -> None:
        super().__init__(message)
        self.key = key


class FunctionName(Record):
    """A function as a job names it: `geometry::clampz<float>(float, float)`.

    Attributes:
        name: `geometry::clampz`.
        arguments: template arguments, `("float",)`; () without any.
        types: of the parameters; None where the job does not give them.
    """

    name: str
    arguments: tuple[str, ...] = ()
    types: tuple[str, ...] | None = None


class FunctionInstance(Record):
    """A function with its template arguments.

    Attributes:
        function: its declaration.
        arguments: the template arguments, given and deduced; () for a plain function.
        overloaded: whether the source declares others of the same name.
    """

    function: CxxFunction
    arguments: tuple[str, ...] = ()
    overloaded: bool = False

    @property
    def name(self) -> str:
        """`geometry::clampz<float>`."""
        return self.function.name + (f"<{', '.join(self.arguments)}>" if self.arguments else "")

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """The names and types of its parameters, with the template arguments put in; `arg0` for one without a name."""
        return tuple(
            (one.name or f"arg{number}", substitute(one.type, self._names))
            for number, one in enumerate(self.function.parameters)
        )

    @property
    def result(self) -> str:
        """The type of its result; `auto` where that could not be read."""
        return substitute(self.function.result, self._names)

    @property
    def _names(self) -> dict[str, str]:
        return dict(zip(map(template_name, self.function.template), self.arguments, strict=False))

    def __str__(self) -> str:
        """`clampz<float>(float, float)`."""
        return f"{self.name}({', '.join(type_ for _, type_ in self.parameters)})"


def parse(text: str) -> FunctionName:
    """Read the name of a function.

    Raises:
        NoFunction: it is none.
    """
    match = re.fullmatch(r"\s*(?:::)?\s*([A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*)\s*(.*)", text, re.DOTALL)
    if match is None:
        raise NoFunction(f"invalid name {text!r}; expected a function such as clampz, clampz<float> or clampz(float)")
    rest = match[2].strip()
    arguments, rest = _bracketed(text, rest, "<", ">")
    types, rest = _bracketed(text, rest, "(", ")")
    if rest:
        raise NoFunction(f"invalid name {text!r}: {rest!r} is left over after it")
    name = re.sub(r"\s", "", match[1])
    return FunctionName(name, arguments or (), None if types is None else tuple(one for one in types if one != "void"))


def _bracketed(text: str, rest: str, opening: str, closing: str) -> tuple[tuple[str, ...] | None, str]:
    """Take a list in brackets from the begin of `rest`; None where there is none."""
    if not rest.startswith(opening):
        return None, rest
    words = [(match[0], match.end()) for match in cxx_declarations.WORD.finditer(rest)]
    depth = 0
    for at, (word, end) in enumerate(words):
        depth += (word in ("(", "[", "{", opening)) - (word in (")", "]", "}", closing))
        if depth == 0:
            inner = [word for word, _ in words[1:at]]
            return tuple(cxx_declarations.spelled(part) for part in cxx_declarations.split(inner)), rest[end:].strip()
    raise NoFunction(f"invalid name {text!r}: a {closing!r} is missing")


def choose(
    name: FunctionName, functions: Sequence[CxxFunction], where: str, given: Mapping[str, str], numbers: Collection[str]
) -> FunctionInstance:
    """Find the one function that is meant.

    Args:
        name: as the job has it.
        functions: those of the source.
        where: the source, for messages.
        given: buffer → dtype.
        numbers: parameters of the job and of shared memory, which fit any type.

    Raises:
        NoFunction: no such function, or none or several of the overloads fit.
    """
    named = _named(name, functions, where)
    overloaded = len(named) > 1
    if name.arguments:
        named = [one for one in named if one.template] or named
    fitting: list[FunctionInstance] = []
    problems: list[NoFunction] = []
    for function in named:
        try:
            arguments = _template_arguments(name, function, given)
            instance = FunctionInstance(function, arguments, overloaded)
            _check_types(name, instance)
            _check_arguments(instance, given, numbers)
        except NoFunction as problem:
            problems.append(problem)
        else:
            fitting.append(instance)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        shown = "; ".join(map(str, fitting))
        example = str(fitting[0]).replace("const ", "")
        raise NoFunction(f"{name.name!r} is ambiguous: {shown}; name one with its types, such as {example!r}")
    if len(problems) == 1:
        raise problems[0]
    reasons = "; ".join(f"{function}: {problem}" for function, problem in zip(named, problems, strict=True))
    raise NoFunction(f"no overload of {name.name!r} fits the buffers: {reasons}")


def _named(name: FunctionName, functions: Sequence[CxxFunction], where: str) -> list[CxxFunction]:
    exact = [one for one in functions if one.name == name.name]
    named = exact or [one for one in functions if one.name.endswith(f"::{name.name}")]
    if not named:
        names = list(dict.fromkeys(one.name for one in functions))
        there = f"it has {', '.join(map(str, functions))}" if names else "it has no __device__ function"
        near = suggestion(name.name, names) if names else ""
        hint = near if "did you mean" in near else ""
        raise NoFunction(f"{where} has no device function {name.name!r}; {there}{hint}")
    if len({one.name for one in named}) > 1:
        shown = ", ".join(dict.fromkeys(one.name for one in named))
        raise NoFunction(f"{name.name!r} is ambiguous: {shown}; write the namespace, too")
    return named


def _template_arguments(name: FunctionName, function: CxxFunction, given: Mapping[str, str]) -> tuple[str, ...]:
    """Return the template arguments: the given ones, then those that the buffers tell; defaults are the compiler's."""
    if name.arguments and not function.template:
        raise NoFunction(f"{function} is not a template")
    names = [template_name(text) for text in function.template]
    is_pack = any("..." in text for text in function.template)
    if len(name.arguments) > len(names) and not is_pack:
        raise NoFunction(f"{function} takes {len(names)} template arguments, not {len(name.arguments)}")
    arguments = list(name.arguments)
    for parameter, text in list(zip(names, function.template, strict=True))[len(arguments) :]:
        deduced = _deduced(function, parameter, given) or _deduced_from_types(name, function, parameter)
        if deduced is None and ("=" in text or is_pack):
            break
        if deduced is None:
            example = ", ".join([*arguments, "float" if text.startswith(("typename", "class")) else "4"])
            message = f"the template argument {parameter} of {function} follows from no buffer"
            raise NoFunction(f"{message}: name it, as in {function.name}<{example}>")
        arguments.append(deduced)
    return tuple(arguments)


def _deduced(function: CxxFunction, parameter: str, given: Mapping[str, str]) -> str | None:
    """Return the type that the dtypes of buffers give to a template parameter; None without such a buffer."""
    found: dict[str, str] = {}
    for number, one in enumerate(function.parameters):
        buffer = one.name or f"arg{number}"
        if _base(one.type) == parameter and buffer in given:
            dtype = given[buffer]
            if not dtype.startswith(("{", "complex")):
                found[buffer] = _C_NAMES.get(dtype, dtype)
    if len(set(found.values())) > 1:
        shown = ", ".join(f"{type_} for {buffer}" for buffer, type_ in found.items())
        raise NoFunction(f"{parameter} of {function} would be {shown}: give these buffers one dtype")
    return next(iter(found.values()), None)


def _deduced_from_types(name: FunctionName, function: CxxFunction, parameter: str) -> str | None:
    """Return the type that the job's own list of parameter types gives to a template parameter."""
    if name.types is None or len(name.types) != len(function.parameters):
        return None
    pairs = zip(function.parameters, name.types, strict=True)
    return next((_base(text) for one, text in pairs if _base(one.type) == parameter), None)


def _check_types(name: FunctionName, instance: FunctionInstance) -> None:
    if name.types is None:
        return
    wanted, actual = name.types, [type_ for _, type_ in instance.parameters]
    if len(wanted) != len(actual) or any(_canonical(w) != _canonical(a) for w, a in zip(wanted, actual, strict=True)):
        raise NoFunction(f"{name.name}({', '.join(wanted)}) is asked for, and the source has {instance}")


def _check_arguments(instance: FunctionInstance, given: Mapping[str, str], numbers: Collection[str]) -> None:
    defaults = {one.name for one in instance.function.parameters if one.default}
    for parameter, type_ in instance.parameters:
        if parameter in given:
            problem = dtype_problem(instance, parameter, type_, given[parameter])
            if problem:
                raise NoFunction(problem, ("buffers", parameter, "dtype"))
        elif parameter not in numbers and parameter not in defaults:
            near = suggestion(parameter, given)
            raise NoFunction(f"there is no buffer for parameter {parameter!r} ({type_}) of {instance}{near}")


def dtype_problem(instance: FunctionInstance, parameter: str, type_: str, dtype: str) -> str | None:
    """Explain why a buffer's dtype does not fit the type of a parameter; None where it fits, or the type is not known.

    Args:
        instance: the function, for the message.
        parameter: its parameter.
        type_: of the parameter.
        dtype: of the buffer.
    """
    base = _base(type_)
    known = dtype_of_type(base)
    if known is None or known == dtype:
        return None
    return f"{parameter} is {dtype}, and parameter {parameter!r} of {instance} is {type_}: its dtype is {known}"


def is_passed_each(type_: str) -> bool:
    """Tell whether each call takes its own element: by value or by reference, not by pointer."""
    return not type_.endswith("*")


def is_written(type_: str) -> bool:
    """Tell whether a parameter is a reference that the function may write."""
    words = cxx_declarations.WORD.findall(type_)
    return "&" in words and "const" not in words


def substitute(text: str, names: Mapping[str, str]) -> str:
    """Replace template parameters by their arguments in a type."""
    return re.sub(r"[A-Za-z_]\w*", lambda match: names.get(match[0], match[0]), text) if names else text


def _base(type_: str) -> str:
    """Return the type that is passed, referred to or pointed to: `const float&` → `float`."""
    return cxx_declarations.spelled([word for word in cxx_declarations.WORD.findall(type_) if word not in _QUALIFIERS])


_QUALIFIERS = ("const", "volatile", "__restrict__", "__restrict", "&", "*")


def _canonical(type_: str) -> tuple[str, str]:
    """Return a type for comparison, without `const`: `unsigned const &` → `("uint32", "&")`."""
    words = cxx_declarations.WORD.findall(type_)
    base = _base(type_)
    return dtype_of_type(base) or base, "".join(word for word in words if word in ("&", "*"))
