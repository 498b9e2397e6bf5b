"""Parameters of a function in a Python file, read from its syntax tree."""

from __future__ import annotations

import ast
from functools import lru_cache

from gpuregress.gpu.records import Record


class FunctionParameter(Record):
    """A parameter of a function.

    Attributes:
        name: its name.
        is_constant: annotated as `tl.constexpr`.
        has_default: it may be left out; `@triton.heuristics` may compute it.
    """

    name: str
    is_constant: bool
    has_default: bool


@lru_cache(maxsize=256)
def of_function(content: bytes, name: str) -> tuple[FunctionParameter, ...] | None:
    """Return the parameters of a function; None where the file does not define it by `def`, or takes any number.

    Args:
        content: of the file.
        name: of the function, at the top level of the file.
    """
    found = _function(content, name)
    if found is None or found.args.vararg or found.args.kwarg:
        return None
    given = found.args
    plain = [*given.posonlyargs, *given.args]
    without = len(plain) - len(given.defaults)
    computed = _computed(found)
    parameters = [_parameter(one, computed, has_default=at >= without) for at, one in enumerate(plain)]
    keywords = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return (*parameters, *(_parameter(one, computed, has_default=default is not None) for one, default in keywords))


@lru_cache(maxsize=256)
def decorators(content: bytes, name: str) -> tuple[str, ...]:
    """Return the names of a function's decorators without their modules: `autotune`, `heuristics`, `jit`.

    Args:
        content: of the file.
        name: of the function, at the top level of the file.
    """
    function = _function(content, name)
    return () if function is None else tuple(map(_decorator, function.decorator_list))


def _function(content: bytes, name: str) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return None
    found = None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            found = node
    return found


def _decorator(node: ast.expr) -> str:
    named = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(named).rpartition(".")[2]


def _computed(function: ast.FunctionDef) -> frozenset[str] | None:
    """The parameters that `@triton.heuristics` computes; None where its text does not tell them."""
    names: set[str] = set()
    for decorator in function.decorator_list:
        if _decorator(decorator) != "heuristics" or not isinstance(decorator, ast.Call):
            continue
        for values in (*decorator.args, *(keyword.value for keyword in decorator.keywords)):
            if not isinstance(values, ast.Dict):
                return None
            for key in values.keys:
                if not isinstance(key, ast.Constant):
                    return None
                names.add(str(key.value))
    return frozenset(names)


def _parameter(given: ast.arg, computed: frozenset[str] | None, *, has_default: bool) -> FunctionParameter:
    annotation = given.annotation
    text = ast.unparse(annotation) if annotation is not None else ""
    is_constant = text.strip("'\"").rpartition(".")[2] == "constexpr"
    is_computed = is_constant if computed is None else given.arg in computed
    return FunctionParameter(given.arg, is_constant, has_default or is_computed)
