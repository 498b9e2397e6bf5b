"""Parameters of a user's functions.

`verify` gets the two sides by position, all else by name. The others get their arguments by position alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from inspect import Parameter

from gpuregress.foundation.document.problems import suggestion

NAMES = ("case", "tolerance", "buffer", "dtype")
"""The names that `verify` passes."""
_NEVER_SIDES = ("case", "tolerance")
"""Those that nobody calls one of the two sides."""
_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def chosen(parameters: Iterable[Parameter]) -> dict[str, str]:
    """Choose the arguments that are passed by name: parameter → one of `NAMES`.

    A parameter `_case` takes `case`: its author does not use it.

    Args:
        parameters: of the function, in order.
    """
    named = _named(parameters)
    everything = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in named)
    taken = {parameter.name: _meaning(parameter.name) for parameter in named if _meaning(parameter.name) in NAMES}
    return {**taken, **{name: name for name in NAMES if everything and name not in taken.values()}}


def problem(function: str, parameters: Iterable[Parameter]) -> str | None:
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
    wrong = _misplaced(parameters)
    if wrong:
        return f"{signature} has {wrong!r} in the wrong place; verify passes (expected, actual) first, in this order"
    for parameter in _named(parameters):
        is_optional = parameter.default is not Parameter.empty or parameter.kind is Parameter.VAR_KEYWORD
        if _meaning(parameter.name) in NAMES and parameter.kind is not Parameter.POSITIONAL_ONLY:
            continue
        if not is_optional:
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
    signature, wanted = f"{function}({', '.join(map(str, parameters))})", f"({', '.join(names)})"
    positional = [parameter for parameter in parameters if parameter.kind in _BY_POSITION]
    for parameter, name in zip(positional, names, strict=False):
        meaning = _meaning(parameter.name)
        if meaning in names and meaning != name:
            return f"{signature} has {parameter.name!r} in the wrong place; it is called with {wanted}, in this order"
    takes_more = any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters)
    required = [parameter for parameter in parameters if parameter.default is Parameter.empty]
    too_many = [one for one in required if one.kind is Parameter.KEYWORD_ONLY or one in positional[len(names) :]]
    if too_many or (len(positional) < len(names) and not takes_more):
        return f"{signature} does not take {wanted}, which it is called with"
    return None


def _misplaced(parameters: Iterable[Parameter]) -> str | None:
    """Return the first of the two parameters for the sides whose name is that of another argument."""
    sides = [parameter.name for parameter in parameters if parameter.kind in _BY_POSITION][:2]
    others = (("actual", *_NEVER_SIDES), ("expected", *_NEVER_SIDES))
    return next((name for name, taken in zip(sides, others, strict=False) if _meaning(name) in taken), None)


def _named(parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """The parameters after the two sides; those of `*sides` take the sides."""
    ordered = tuple(parameter for parameter in parameters if parameter.kind is not Parameter.VAR_POSITIONAL)
    positional = tuple(parameter for parameter in ordered if parameter.kind in _BY_POSITION)
    return (*positional[2:], *(parameter for parameter in ordered if parameter.kind not in _BY_POSITION))


def _meaning(name: str) -> str:
    return name.lstrip("_")


def of_function(function: object) -> tuple[Parameter, ...]:
    """Return the parameters of a callable; those of a builtin without a signature are the two sides.

    Args:
        function: what the user's module holds under the name.
    """
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type] # anything callable
    except (TypeError, ValueError):
        return (Parameter("expected", Parameter.POSITIONAL_ONLY), Parameter("actual", Parameter.POSITIONAL_ONLY))
    return tuple(signature.parameters.values())
