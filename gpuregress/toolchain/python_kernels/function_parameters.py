"""Parameters of a function in a Python file, read from its syntax tree."""

from __future__ import annotations

import ast
from functools import lru_cache

from gpuregress.frozen import dataclass


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """A parameter of a function.

    Attributes:
        name: its name.
        is_constant: annotated as `tl.constexpr`.
        has_default: it may be left out.
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
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return None
    found = None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            found = node
    if found is None or found.args.vararg or found.args.kwarg:
        return None
    given = found.args
    plain = [*given.posonlyargs, *given.args]
    without = len(plain) - len(given.defaults)
    parameters = [_parameter(one, has_default=at >= without) for at, one in enumerate(plain)]
    keywords = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return (*parameters, *(_parameter(one, has_default=default is not None) for one, default in keywords))


def _parameter(given: ast.arg, *, has_default: bool) -> FunctionParameter:
    annotation = given.annotation
    text = ast.unparse(annotation) if annotation is not None else ""
    return FunctionParameter(given.arg, text.strip("'\"").rpartition(".")[2] == "constexpr", has_default)
