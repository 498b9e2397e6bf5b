"""Explanation of kernels and variables that a source does not have.

A name may be misspelled, or that of a template without its arguments. It may stand behind a condition that does not
hold. Or it is no kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from gpuregress.foundation.records import Source
from gpuregress.toolchain import compiler_messages, cxx_declarations
from gpuregress.toolchain.cxx_declarations import Declaration, strip_template_arguments
from gpuregress.toolchain.host_code import declarations
from gpuregress.toolchain.host_code.preprocessing import CxxText, Macros


def explain(unknown: Iterable[str], source: Source, text: str) -> dict[str, str]:
    """Explain unknown kernels and variables, with a list of the existing ones.

    Args:
        unknown: the names that the compiler did not find.
        source: in which.
        text: the source's content.
    """
    where = compiler_messages.shown(Path(source.path))
    kernels = cxx_declarations.declarations(text)
    explained = {}
    for name in unknown:
        if name in source.symbols:
            there = _there(name, cxx_declarations.variable_names(text), "no __constant__ or __device__ variable")
            explained[name] = f"{where} has no variable {name!r}; {there}"
            continue
        same = [kernel for kernel in kernels if strip_template_arguments(name) in (kernel.name, _last(kernel.name))]
        explained[name] = _same_name(name, same, where, text) if same else _other_name(name, kernels, where, text)
    return explained


def _same_name(name: str, same: list[Declaration], where: str, text: str) -> str:
    """Explain why none of the kernels of a name is what was asked for."""
    given = _arguments(name)
    fitting = [one for one in same if bool(one.template) == bool(given)] or same
    spelled = cxx_declarations.readable(name)
    kernel = (cxx_declarations.overloads(fitting, spelled) or fitting)[0]
    signatures = list(dict.fromkeys(one.signature() for one in fitting))
    is_typed = cxx_declarations.split_signature(spelled)[1] is not None
    if (is_typed and not cxx_declarations.overloads(fitting, spelled)) or (not is_typed and len(signatures) > 1):
        what = f" has no kernel {name!r}" if is_typed else f": {name!r} is overloaded, and not one alone fits"
        there = f"it has {', '.join(signatures)}"
        return f"{where}{what}; {there}: name it with the types of its parameters, as `kernel: {signatures[0]}`"
    if kernel.template and not given:
        return f"{where}: {kernel} is a template; name one of its instances, as `{kernel.name}<float>`"
    hidden = _condition(text, kernel.line)
    if hidden:
        return f"{where}: {kernel} is not compiled: {hidden}"
    if not kernel.template and given:
        return f"{where}: {kernel} is no template: name it without <…>"
    most, least = len(kernel.template), sum("=" not in one and "..." not in one for one in kernel.template)
    is_open = any("..." in one for one in kernel.template)
    if len(given) < least or (len(given) > most and not is_open):
        wanted = f"{least}{'' if most == least and not is_open else ' or more'}"
        plural = "" if wanted == "1" else "s"
        return f"{where}: {kernel} takes {wanted} template argument{plural}, not {len(given)}, in {name!r}"
    if kernel.template:
        wanted = ", ".join(kernel.template)
        return f"{where}: {name!r} names no instance of {kernel}; its template arguments are <{wanted}>"
    return f"{where}: {name!r} is declared in line {kernel.line}, but the compiler finds no kernel of this name"


def _other_name(name: str, kernels: Sequence[Declaration], where: str, text: str) -> str:
    """Explain a name that no kernel has."""
    wanted = _last(strip_template_arguments(name))
    source = CxxText(text)
    views = declarations.views(source, Macros([source.macros]))
    found = [one for view in views for one in view.declarations if wanted in one.names]
    there = _there(name, cxx_declarations.listed(kernels), "no __global__ function")
    for one in found:
        line = text.count("\n", 0, one.start) + 1
        if one.kind in ("function", "prototype") and not one.is_device:
            return f"{where}: {wanted} is no kernel but a host function (line {line}); {there}"
        if one.kind in ("function", "prototype"):
            what = f"a __device__ function (line {line}): test it by `function:`"
            return f"{where}: {wanted} is no kernel but {what}; {there}"
        if one.kind in ("variable", "class"):
            return f"{where}: {wanted} is no kernel but a {one.kind} (line {line}); {there}"
    return f"{where} has no kernel {name!r}; {there}"


def _condition(text: str, line: int) -> str:
    """The conditional that a line stands in, which is not an include guard; "" where there is none."""
    source = CxxText(text)
    starts = [0, *(at + 1 for at, char in enumerate(source.text) if char == "\n")]
    offset = starts[line - 1]
    for one in source.conditionals:  # the inner ones come first
        for branch in one.branches:
            if not branch.start <= offset < branch.end:
                continue
            first = source.text[one.start : source.text.find("\n", one.start)].strip()
            at = source.text.count("\n", 0, one.start) + 1
            if branch.is_dead:
                return f"it stands between `{first}` (line {at}) and its #endif"
            word = first.split()[-1]
            if not first.startswith("#ifndef") or word not in source.macros:
                return f"it depends on `{first}` (line {at}); compile.defines gives macros"
    return ""


def _arguments(name: str) -> list[str]:
    """The template arguments of a name: `["float", "3"]` of `k<float, 3>`."""
    return ["".join(part.split()) for part in cxx_declarations.template_arguments(name)]


def _last(name: str) -> str:
    return name.rpartition("::")[2]


def _there(name: str, names: list[str], none: str) -> str:
    if not names:
        return f"it has {none}"
    near = get_close_matches(strip_template_arguments(name), [strip_template_arguments(other) for other in names], 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"it has {', '.join(names)}{hint}"
