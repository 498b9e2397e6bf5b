"""Explanation of kernels and variables that a source does not have.

A name may be misspelled, or that of a template without its arguments. It may stand under a condition that does not
hold. Or it is no kernel. A name that stands nowhere in the texts that the compiler reads is known to be wrong before
anything is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from gpuregress.foundation.records import Source
from gpuregress.foundation.wording import plural
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
    explained: dict[str, str] = {}
    for name in unknown:
        if name in source.symbols:
            there = _there(name, cxx_declarations.variable_names(text), "no __constant__ or __device__ variable")
            explained[name] = f"{where} has no variable {name!r}; {there}"
            continue
        plain = strip_template_arguments(name)
        same = [kernel for kernel in kernels if plain in (kernel.name, _last(kernel.name))]
        explained[name] = _same_name(name, same, where, text) if same else _other_name(name, kernels, where, text)
    return explained


def _same_name(name: str, same: list[Declaration], where: str, text: str) -> str:
    """Explain why none of the kernels of a name is what was asked for."""
    given = cxx_declarations.template_arguments(name)
    candidates = [kernel for kernel in same if bool(kernel.template) == bool(given)] or same
    spelled = cxx_declarations.readable(name)
    overloads = cxx_declarations.overloads(candidates, spelled)
    kernel = (overloads or candidates)[0]
    signatures = list(dict.fromkeys(candidate.signature() for candidate in candidates))
    advice = f"name it with the types of its parameters, as `kernel: {signatures[0]}`"
    if cxx_declarations.split_signature(spelled)[1] is None:
        if len(signatures) > 1:
            problem = f"{name!r} is overloaded, and not one alone fits"
            return f"{where}: {problem}; it has {', '.join(signatures)}: {advice}"
    elif not overloads:
        return f"{where} has no kernel {name!r}; it has {', '.join(signatures)}: {advice}"
    if kernel.template and not given:
        return f"{where}: {kernel} is a template; name one of its instances, as `{kernel.name}<float>`"
    hidden = _condition(text, kernel.line)
    if hidden:
        return f"{where}: {kernel} is not compiled: {hidden}"
    if not kernel.template and given:
        return f"{where}: {kernel} is not a template: name it without <…>"
    most = len(kernel.template)
    least = sum("=" not in parameter and "..." not in parameter for parameter in kernel.template)
    is_open = any("..." in parameter for parameter in kernel.template)
    if len(given) < least or (len(given) > most and not is_open):
        wanted = plural(least, "template argument")
        if most != least or is_open:
            wanted = f"{least} or more template arguments"
        return f"{where}: {kernel} takes {wanted}, not {len(given)}, in {name!r}"
    if kernel.template:
        parameters = ", ".join(kernel.template)
        return f"{where}: {name!r} names no instance of {kernel}; its template arguments are <{parameters}>"
    return f"{where}: {name!r} is declared in line {kernel.line}, but the compiler finds no kernel of this name"


def _other_name(name: str, kernels: Sequence[Declaration], where: str, text: str) -> str:
    """Explain a name that no kernel has."""
    wanted = _last(strip_template_arguments(name))
    source = CxxText(text)
    there = _there(name, cxx_declarations.listed(kernels), "no __global__ function")
    for view in declarations.views(source, Macros([source.macros])):
        for declared in view.declarations:
            if wanted not in declared.names:
                continue
            line = text.count("\n", 0, declared.start) + 1
            if declared.kind in ("function", "prototype") and not declared.is_device:
                return f"{where}: {wanted} is not a kernel but a host function (line {line}); {there}"
            if declared.kind in ("function", "prototype"):
                what = f"a __device__ function (line {line}): test it by `function:`"
                return f"{where}: {wanted} is not a kernel but {what}; {there}"
            if declared.kind in ("variable", "class"):
                return f"{where}: {wanted} is not a kernel but a {declared.kind} (line {line}); {there}"
    return f"{where} has no kernel {name!r}; {there}"


def _condition(text: str, line: int) -> str:
    """The conditional that a line stands in, which is not an include guard; "" where there is none."""
    source = CxxText(text)
    offset = sum(map(len, source.text.split("\n")[: line - 1])) + line - 1
    for conditional in source.conditionals:  # the inner ones come first
        for branch in conditional.branches:
            if not branch.start <= offset < branch.end:
                continue
            first = source.text[conditional.start : source.text.find("\n", conditional.start)].strip()
            first_line = source.text.count("\n", 0, conditional.start) + 1
            if branch.is_dead:
                return f"it is between `{first}` (line {first_line}) and its #endif"
            word = first.split()[-1]
            if not first.startswith("#ifndef") or word not in source.macros:
                return f"it depends on `{first}` (line {first_line}); compile.defines gives macros"
    return ""


def _last(name: str) -> str:
    return name.rpartition("::")[2]


def _there(name: str, names: list[str], none: str) -> str:
    if not names:
        return f"it has {none}"
    near = get_close_matches(strip_template_arguments(name), [strip_template_arguments(other) for other in names], 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"it has {', '.join(names)}{hint}"
