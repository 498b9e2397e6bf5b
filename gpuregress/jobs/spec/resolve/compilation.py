"""Resolution of a compilation and of the combinations of its settings."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Literal

from gpuregress.foundation import records
from gpuregress.foundation.document.reader import Key
from gpuregress.foundation.wording import suggestion
from gpuregress.gpu import architectures
from gpuregress.gpu.records import Record, replace
from gpuregress.jobs.spec import templates
from gpuregress.jobs.spec.expressions import Value
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.compilation import AXES, CompileSpec, MacroGroupSpec
from gpuregress.jobs.spec.models.values import PlainTextSpec
from gpuregress.jobs.spec.resolve.scope import Scope
from gpuregress.toolchain.headers import virtual_headers

_WORD = re.compile(r"[A-Za-z_]\w*")
_OWNED = {
    "-arch": "compile.arch",
    "--gpu-architecture": "compile.arch",
    "-I": "compile.include",
    "--include-path": "compile.include",
    "-D": "compile.defines",
    "--define-macro": "compile.defines",
}


class CompileSettings(Record):
    """A compilation with its parameters filled in.

    Attributes:
        options: handed to NVRTC.
        include: folders, as the job names them.
        defines: macro → its text.
        contract: `pinned` or `native`.
        arch: `sm_90`.
        card: the architecture whose tensor cores the CPU device emulates, `sm_80`; "": its own.
        host_code: `blank` or `keep`.
    """

    options: tuple[str, ...]
    include: tuple[str, ...]
    defines: Mapping[str, str]
    contract: Literal["pinned", "native"]
    arch: str
    card: str = ""
    host_code: Literal["blank", "keep"] = "blank"


def compile_settings(scope: Scope, given: CompileSpec, key: Key, card: str | None = None) -> CompileSettings | None:
    """Fill the parameters of a case into a compilation; None if it is invalid, which is reported.

    Args:
        scope: the case's values.
        given: as the job has it.
        key: its key.
        card: the job's, for which is compiled where no architecture is given.
    """
    before = scope.problems.reported
    options = [_option(scope, text, (*key, "options", at)) for at, text in enumerate(given.options)]
    folders = [scope.text(text, (*key, "include", at)) for at, text in enumerate(given.include)]
    defines: dict[str, str] = {}
    for position, group in enumerate(given.defines.groups):
        macros = _macros(scope, group, (*key, "defines"), position)
        _check_names(scope, macros, group, (*key, "defines"))
        defines |= macros
    arch = card if card and "arch" not in given.written else _architecture(scope, given.arch, (*key, "arch"))
    if arch is not None:
        check_card(scope, arch, (*key, "arch"), card)
    if scope.problems.reported > before or arch is None:
        return None
    return CompileSettings(
        options=tuple(option for option in options if option),
        include=tuple(folder for folder in folders if folder is not None),
        defines=defines,
        contract=given.contract,
        arch=arch,
        card=card or "",
        host_code=given.host_code,
    )


def _option(scope: Scope, text: str, key: Key) -> str:
    """Fill an option in; "" where a parameter leaves none."""
    option = scope.text(text, key)
    if option is None or (not option.strip() and option != text):
        return ""
    if not option.startswith("-"):
        scope.error(key, f"invalid option {option!r}: it must begin with -", text)
        return option
    for flag, owner in _OWNED.items():
        if option == flag or option.startswith(f"{flag}=") or (len(flag) == 2 and option.startswith(flag)):
            scope.error(key, f"{option!r} is set by gpuregress: use {owner}", text)
            break
    return option


def _macros(scope: Scope, group: MacroGroupSpec, key: Key, position: int) -> dict[str, str]:
    macros: dict[str, str] = {}
    if not group.parameter:
        for name, value in group.given.items():
            text = _macro(scope, value, (*key, name))
            if text is not None:
                macros[name] = text
        return macros
    if group.parameter == "all":
        if not scope.parameters:
            scope.error(key, "all: the job has no parameters")
        return {name: macro_text(value) for name, value in scope.parameters.items()}
    if group.parameter not in scope.parameters:
        unknown = f"unknown parameter {group.parameter!r}{suggestion(group.parameter, scope.parameters)}"
        scope.error((*key, position), f"{unknown}; others are written {{NAME: value}}")
        return {}
    return {group.parameter: macro_text(scope.parameters[group.parameter])}


def _macro(scope: Scope, value: float | str | PlainTextSpec, key: Key) -> str | None:
    if isinstance(value, PlainTextSpec):
        return scope.text(value.text, key)
    if isinstance(value, str) and _WORD.fullmatch(value) and value not in (*scope.parameters, "true", "false", "seed"):
        hint = suggestion(value, scope.parameters)
        wanted = f"a macro that stands for this word is written {{text: {value}}}"
        scope.error(key, f"cannot evaluate {value!r}: unknown parameter {value!r}{hint}; {wanted}", value)
        return None
    number = scope.value(value, key)
    return None if number is None else macro_text(number)


def macro_text(value: Value) -> str:
    """Write a value as a macro has it: a boolean is 1 or 0, so that `#if` takes it; text is as it is."""
    if isinstance(value, bool):
        return str(int(value))
    return value if isinstance(value, str) else repr(value)


def _check_names(scope: Scope, macros: Mapping[str, str], group: MacroGroupSpec, key: Key) -> None:
    """Refuse macros with names that CUDA's own headers use."""
    for name, value in macros.items():
        if not virtual_headers.breaks_headers(name, value):
            continue
        advice = "give the macro another name"
        if group.parameter:
            advice = f"rename the parameter {name}"
        if group.parameter == "all":
            advice += ", or list the parameters that are macros"
        text = f"a macro called {name} breaks the compiler's own headers, which use that name: {advice}"
        scope.error(key if group.parameter else (*key, name), text)


def check_card(scope: Scope, arch: str, key: Key, card: str | None) -> None:
    """Refuse a program that the job's card, if it names one, cannot run."""
    if card and architectures.number(arch) > architectures.number(card):
        scope.error(
            key,
            f"a program for {arch} does not run on the job's `card`, {card}: leave `arch` or `card` out",
            arch,
        )


def _architecture(scope: Scope, text: str, key: Key) -> str | None:
    arch = scope.text(text, key, strict=True)
    if arch is None or not templates.is_template(text):
        return arch
    problem = architectures.problem(arch)
    if problem:
        scope.error(key, problem, text)
        return None
    return arch


# --- combinations of the compiler settings under `variants:`, as sources to compile -----------------------------------


MAX_COMBINATIONS = 64
_OPTIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("fmad", "off"): ("--fmad=false",),
    ("fast_math", "on"): ("--use_fast_math",),
}
_SET_BY_VARIANTS = {"fmad": re.compile(r"-{1,2}fmad\b"), "fast_math": re.compile(r"-{1,2}use_fast_math\b")}


Sources = tuple[records.Source, ...]


def combinations(file: JobFile, scope: Scope, sources: Sources) -> tuple[Sources, records.Variants | None]:
    """Return the sources of the first combination, which is the case's own, and the other combinations.

    Args:
        file: the job.
        scope: errors are reported there.
        sources: as `compile` has them; those that are not compiled are the same in every combination.
    """
    spec = file.job.variants
    if spec is None:
        return sources, None
    axes = {name: getattr(spec, name) for name in AXES if getattr(spec, name)}
    _check(file, scope, sources, list(axes))
    choices = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    if len(choices) > MAX_COMBINATIONS:
        scope.error(("variants",), f"has {len(choices)} combinations: at most {MAX_COMBINATIONS} are built")
    first, *others = choices
    varied: dict[str, Sources] = {}
    for choice in others:
        name = _name({axis: value for axis, value in choice.items() if value != first[axis]})
        varied[name] = _varied(sources, choice)
    return _varied(sources, first), records.Variants(_name(first), varied, must_agree=spec.differences == "fail")


def _name(choice: dict[str, str]) -> str:
    return ",".join(f"{axis}={value}" for axis, value in choice.items())


def _varied(sources: Sources, choice: dict[str, str]) -> Sources:
    options: list[str] = []
    for setting in choice.items():
        options += _OPTIONS.get(setting, ())
    varied: list[records.Source] = []
    for source in sources:
        if _is_taken(source):
            varied.append(source)
            continue
        arch = choice.get("arch", source.arch)
        # The job's own options set none of these: what is left out is the build's.
        set_here = [_SET_BY_VARIANTS[axis] for axis in choice if axis in _SET_BY_VARIANTS]
        given = [option for option in source.options if not any(pattern.match(option) for pattern in set_here)]
        varied.append(replace(source, options=(*given, *options), arch=arch))
    return tuple(varied)


def _is_taken(source: records.Source) -> bool:
    """Tell whether a source is taken as it is, not compiled."""
    return source.path.endswith((".ptx", ".cubin"))


def _check(file: JobFile, scope: Scope, sources: Sources, axes: list[str]) -> None:
    given = file.job.compile
    if all(map(_is_taken, sources)):
        names = " and ".join(source.path.rpartition("/")[2] for source in sources)
        taken = "is taken as it is" if len(sources) == 1 else "are taken as they are"
        scope.error(("variants",), f"has no effect: {names} {taken}, not compiled")
    if "arch" in axes and "arch" in given.written:
        scope.error(("variants", "arch"), "is given, and compile.arch is, too: the first of the list is the case's own")
    if file.job.variants is not None:
        for position, arch in enumerate(file.job.variants.arch or ()):
            check_card(scope, arch, ("variants", "arch", position), file.job.card)
    for position, option in enumerate(given.options):
        for axis in axes:
            if axis in _SET_BY_VARIANTS and _SET_BY_VARIANTS[axis].match(option):
                text = f"{option!r} is set by variants.{axis}: leave it out here"
                scope.error(("compile", "options", position), text)
                break
