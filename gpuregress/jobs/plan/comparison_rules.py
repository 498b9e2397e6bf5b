"""Comparison rules of a case's buffers, and the functions that may decide in their place."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from inspect import Parameter
from pathlib import Path

from gpuregress.foundation import dtypes, records
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.models.job import JobSpec
from gpuregress.jobs.spec.models.rules import RuleSpec
from gpuregress.jobs.spec.resolve import rules
from gpuregress.jobs.spec.resolve.scope import Scope
from gpuregress.store.project import Project

_TOLERANCES = frozenset(["rtol", "atol", "ulp"])
"""The keys of a rule that a `verify` function gets."""


def case_rules(
    job: JobSpec,
    scope: Scope,
    project: Project,
    buffers: Mapping[str, records.Buffer],
    dump: Sequence[str],
    verify: Mapping[str, str],
) -> dict[str, records.Rule]:
    """Choose the rule of each dumped buffer: the job's, the project's default, or exact; and the user's function.

    Args:
        job: its `compare`.
        scope: the case's numbers; errors are reported there.
        project: its default tolerances.
        buffers: the case's.
        dump: those that are dumped.
        verify: buffer → `/abs/module.py:function`.
    """
    resolved, defaults = {}, default_rules(project)
    for name in dump:
        if name not in buffers:
            continue
        if name in job.compare:
            resolved[name] = sound_rule(scope, job.compare[name], buffers[name], ("compare", name), verify.get(name))
        else:
            default = defaults.get(dtypes.parse(buffers[name].dtype).name, records.Rule())
            resolved[name] = replace(default, verify=verify.get(name))
    return resolved


def default_rules(project: Project) -> dict[str, records.Rule]:
    """Return the project's rules of buffers without one: dtype → its rule."""
    rules = {}
    for dtype, given in project.settings.tolerances.items():
        rules[dtype] = records.Rule(rtol=given.rtol or 0.0, atol=given.atol or 0.0)
    return rules


def sound_rule(
    scope: Scope, item: RuleSpec, buffer: records.Buffer, key: Key, verify: str | None = None
) -> records.Rule:
    """Resolve one rule, and report unsound bounds.

    Args:
        scope: the case's numbers; errors are reported there.
        item: as the job has it.
        buffer: that it belongs to.
        key: its key.
        verify: the job's own function for this buffer, which decides in place of the rule.
    """
    element = dtypes.parse(buffer.dtype)
    before = scope.problems.reported
    rule = rules.rule(scope, item, element, key)
    if scope.problems.reported == before:
        unsound = rules.validate_rule(rule, element) + rules.validate_sample(rule, math.prod(buffer.shape))
        for below, message in unsound:
            scope.error((*key, *below), message)
    if rule.verify is not None:
        check_function(scope, (*key, "verify"), rule.verify)
    if verify is None:
        return rule
    for name in sorted(item.written - _TOLERANCES):
        scope.error((*key, name), f"has no effect: the job's verify compares {buffer.name}, with rtol, atol and ulp")
    return replace(rule, verify=verify)


# --- check of a job's Python functions against the arguments that they get, without importing them --------------------


REFERENCE = ("inputs", "case")
"""The arguments of a reference."""
CHECK = ("array", "case")
"""Those of a check. A fill gets its arguments by name."""


def check_function(scope: Scope, key: Key, function: str, names: Sequence[str] = ()) -> None:
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
    problem = problem_by_position(name, parameters, names) if names else signature_problem(name, parameters)
    if problem:
        scope.problems.add(key, f"{path}:{defined.lineno}: {problem}")


@lru_cache(maxsize=64)
def _definition(path: Path, name: str, _changed_ns: int) -> ast.FunctionDef | None:
    """The last top-level statement that defines a name, if it is a function; cached until the file changes."""
    definition = None
    for node in ast.parse(path.read_bytes(), filename=str(path)).body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.FunctionDef) and node.name == name:
            definition = node
        elif isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            definition = None
    return definition


def _parameters(written: ast.arguments) -> tuple[Parameter, ...]:
    """The parameters of a definition, in order; defaults and annotations are not kept."""
    parameters: list[Parameter] = []
    positional = [*written.posonlyargs, *written.args]
    required = len(positional) - len(written.defaults)
    for at, argument in enumerate(positional):
        kind = Parameter.POSITIONAL_ONLY if at < len(written.posonlyargs) else Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(Parameter(argument.arg, kind, default=Parameter.empty if at < required else None))
    if written.vararg is not None:
        parameters.append(Parameter(written.vararg.arg, Parameter.VAR_POSITIONAL))
    for argument, default in zip(written.kwonlyargs, written.kw_defaults, strict=True):
        shown_default = Parameter.empty if default is None else None
        parameters.append(Parameter(argument.arg, Parameter.KEYWORD_ONLY, default=shown_default))
    if written.kwarg is not None:
        parameters.append(Parameter(written.kwarg.arg, Parameter.VAR_KEYWORD))
    return tuple(parameters)


# --- parameters of a user's functions ---------------------------------------------------------------------------------


NAMES = ("case", "tolerance", "buffer", "dtype")
"""The names that `verify` passes."""
_NEVER_SIDES = ("case", "tolerance")
"""Those that nobody calls one of the two sides."""
_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def chosen_parameters(parameters: Iterable[Parameter]) -> dict[str, str]:
    """Choose the arguments that are passed by name: parameter → one of `NAMES`.

    A parameter `_case` takes `case`: its author does not use it.

    Args:
        parameters: of the function, in order.
    """
    chosen: dict[str, str] = {}
    takes_all = False
    for parameter in _named(parameters):
        takes_all = takes_all or parameter.kind is Parameter.VAR_KEYWORD
        if _meaning(parameter.name) in NAMES:
            chosen[parameter.name] = _meaning(parameter.name)
    if takes_all:
        chosen.update((name, name) for name in NAMES if name not in set(chosen.values()))
    return chosen


def signature_problem(function: str, parameters: Iterable[Parameter]) -> str | None:
    """Explain why `verify` cannot call a function; None if it can.

    Args:
        function: its name.
        parameters: of the function, in order.
    """
    parameters = tuple(parameters)
    kinds = [parameter.kind for parameter in parameters]
    signature = f"{function}({', '.join(map(str, parameters))})"
    if Parameter.VAR_POSITIONAL not in kinds and sum(kind in _BY_POSITION for kind in kinds) < 2:
        return f"{signature} does not take (expected, actual), which verify passes first"
    misplaced = _misplaced(parameters)
    if misplaced is not None:
        return (
            f"{signature} has {misplaced!r} in the wrong place; verify passes (expected, actual) first, in this order"
        )
    for parameter in _named(parameters):
        if _meaning(parameter.name) in NAMES and parameter.kind is not Parameter.POSITIONAL_ONLY:
            continue
        if parameter.default is Parameter.empty and parameter.kind is not Parameter.VAR_KEYWORD:
            near = suggestion(parameter.name, NAMES).removeprefix("; ")
            hint = f" ({near})" if near.endswith("?") else ""
            return (
                f"{signature} has the unknown parameter {parameter.name!r}{hint}; after (expected, actual) verify "
                f"passes by name: {', '.join(NAMES)}; rename it, or give it a default"
            )
    return None


def problem_by_position(function: str, parameters: Iterable[Parameter], names: Sequence[str]) -> str | None:
    """Explain why a function cannot be called with these arguments by position; None if it can.

    Args:
        function: its name.
        parameters: of the function, in order.
        names: what the arguments are called; a parameter with the name of another one has been exchanged with it.
    """
    parameters = tuple(parameters)
    signature = f"{function}({', '.join(map(str, parameters))})"
    wanted = f"({', '.join(names)})"
    positional = [parameter for parameter in parameters if parameter.kind in _BY_POSITION]
    for parameter, name in zip(positional, names, strict=False):
        meaning = _meaning(parameter.name)
        if meaning in names and meaning != name:
            return f"{signature} has {parameter.name!r} in the wrong place; it is called with {wanted}, in this order"
    takes_more = any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters)
    misfits = len(positional) < len(names) and not takes_more
    for parameter in parameters:
        if parameter.default is Parameter.empty:
            misfits |= parameter.kind is Parameter.KEYWORD_ONLY or parameter in positional[len(names) :]
    return f"{signature} does not take {wanted}, which it is called with" if misfits else None


def _misplaced(parameters: Iterable[Parameter]) -> str | None:
    """Return the first of the two parameters for the sides whose name is that of another argument."""
    sides = [parameter.name for parameter in parameters if parameter.kind in _BY_POSITION][:2]
    for name, other_side in zip(sides, ("actual", "expected"), strict=False):
        if _meaning(name) in (other_side, *_NEVER_SIDES):
            return name
    return None


def _named(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """The parameters after the two sides; those of `*sides` take the sides."""
    ordered = tuple(parameter for parameter in parameters if parameter.kind is not Parameter.VAR_POSITIONAL)
    positional = tuple(parameter for parameter in ordered if parameter.kind in _BY_POSITION)
    return (*positional[2:], *(parameter for parameter in ordered if parameter.kind not in _BY_POSITION))


def _meaning(name: str) -> str:
    return name.lstrip("_")


def parameters_of(function: object) -> tuple[Parameter, ...]:
    """Return the parameters of a callable; those of a builtin without a signature are the two sides.

    Args:
        function: what the user's module holds under the name.
    """
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type] # anything callable
    except (TypeError, ValueError):
        return (Parameter("expected", Parameter.POSITIONAL_ONLY), Parameter("actual", Parameter.POSITIONAL_ONLY))
    return tuple(signature.parameters.values())
