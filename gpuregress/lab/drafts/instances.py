"""Template arguments of a kernel in its draft, from a launch in host code."""

from __future__ import annotations

import re

from gpuregress.lab.drafts.kernel import guessed_argument
from gpuregress.lab.host_programs.objects import SeenLaunch
from gpuregress.toolchain.cxx_declarations import Declaration
from gpuregress.toolchain.cxx_types import dtype_of_type
from gpuregress.toolchain.host_code.preprocessing import WORD


def instance_of(declaration: Declaration, launch: SeenLaunch) -> tuple[dict[str, str], str, list[str]]:
    """Return template parameter → argument, the kernel's name with them, and the parameters that are a guess.

    What the launch does not give is deduced from its arguments' types, or is the default.

    Args:
        declaration: the kernel.
        launch: of it.
    """
    chosen: dict[str, str] = {}
    guessed: list[str] = []
    given = list(launch.template)
    for number, text in enumerate(declaration.template):
        kind, _, default = (part.strip() for part in text.partition("="))
        words = WORD.findall(kind)
        name = words[-1] if words else f"T{number}"
        is_type = kind.startswith(("typename", "class"))
        value = given[number] if number < len(given) else ""
        if is_type and (not value or (dtype_of_type(value) is None and re.fullmatch(r"\w{1,2}|scalar_t", value))):
            value = _deduced(declaration, launch, name) or default
        if not is_type and not re.fullmatch(r"-?\d+|true|false|[\w:]*[A-Za-z][\w:]*", value):
            value = default
        if not value:
            guessed.append(name)
            value = guessed_argument(kind)
        if kind.startswith("bool"):
            value = {"0": "false", "1": "true"}.get(value, value)
        chosen[name] = value
    arguments = f"<{', '.join(chosen.values())}>" if chosen else ""
    return chosen, declaration.name + arguments, guessed


def _deduced(declaration: Declaration, launch: SeenLaunch, name: str) -> str:
    for parameter, type_ in zip(declaration.parameters, launch.types, strict=False):
        plain = " ".join(re.sub(r"\bconst\b|[*&]", " ", parameter.type).split())
        found = type_.rstrip("*& ")
        if plain == name and dtype_of_type(found) is not None:
            return found
    return ""
