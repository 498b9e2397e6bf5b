"""Check of a job's Python functions against the arguments that they get, without importing them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from inspect import Parameter
from pathlib import Path

from gpuregress.foundation.document.reader import Key
from gpuregress.jobs.plan import verify_parameters
from gpuregress.jobs.spec.resolve.scope import Scope

REFERENCE = ("inputs", "case")
"""The arguments of a reference."""
CHECK = ("array", "case")
"""Those of a check. A fill gets its arguments by name."""


def check(scope: Scope, key: Key, function: str, names: Sequence[str] = ()) -> None:
    """Report a function that cannot be called, with its file and line.

    Only functions that the file itself defines, without decorators, are checked. The others are when they are called.

    Args:
        scope: errors are reported there.
        key: of the function.
        function: `/abs/module.py:name`; the file was parsed before.
        names: its arguments by position; (): those of `verify`.
    """
    path, _, name = function.rpartition(":")
    defined = _definition(Path(path), name, Path(path).stat().st_mtime_ns)
    if defined is None or defined.decorator_list:
        return
    parameters = _parameters(defined.args)
    if names:
        problem = verify_parameters.problem_by_position(name, parameters, names)
    else:
        problem = verify_parameters.problem(name, parameters)
    if problem:
        scope.problems.add(key, f"{path}:{defined.lineno}: {problem}")


@lru_cache(maxsize=64)
def _definition(path: Path, name: str, _changed_ns: int) -> ast.FunctionDef | None:
    """The last top-level statement that defines a name, if it is a function; cached until the file changes."""
    defined = None
    for node in ast.parse(path.read_bytes(), filename=str(path)).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            defined = node
        elif any(isinstance(inner, ast.Name) and inner.id == name for inner in _targets(node)):
            defined = None
    return defined


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _parameters(written: ast.arguments) -> tuple[Parameter, ...]:
    """The parameters of a definition, in order; defaults and annotations are not kept."""
    positional = [*written.posonlyargs, *written.args]
    required = len(positional) - len(written.defaults)
    kinds = [Parameter.POSITIONAL_ONLY] * len(written.posonlyargs) + [Parameter.POSITIONAL_OR_KEYWORD] * len(
        written.args
    )
    parameters = [
        Parameter(argument.arg, kind, default=Parameter.empty if at < required else None)
        for at, (argument, kind) in enumerate(zip(positional, kinds, strict=True))
    ]
    parameters += [Parameter(written.vararg.arg, Parameter.VAR_POSITIONAL)] if written.vararg else []
    parameters += [
        Parameter(argument.arg, Parameter.KEYWORD_ONLY, default=Parameter.empty if default is None else None)
        for argument, default in zip(written.kwonlyargs, written.kw_defaults, strict=True)
    ]
    parameters += [Parameter(written.kwarg.arg, Parameter.VAR_KEYWORD)] if written.kwarg else []
    return tuple(parameters)
