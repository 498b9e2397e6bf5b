"""Functions of the mathematical library that a function calls, by way of others too."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuregress.toolchain.functions import declarations
from gpuregress.toolchain.functions.declarations import CxxFunction

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
    macros = declarations.specifier_macros(texts)
    bodies: dict[str, set[str]] = {}
    for text in texts:
        for one in declarations.scan(text, macros):
            called = set(_CALL.findall(text[slice(*one.span)]))
            bodies.setdefault(one.name.rpartition("::")[2], set()).update(called)
    reached: set[str] = set()
    waiting = [function.name.rpartition("::")[2]]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += bodies.get(name, ())
    return tuple(sorted(name for name in reached if _is_library(name) and name not in bodies))


def _is_library(name: str) -> bool:
    return name in _LIBRARY or (name.endswith("f") and name[:-1] in _LIBRARY)
