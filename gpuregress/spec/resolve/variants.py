"""Combinations of the compiler settings under `variants:`, as sources to compile."""

from __future__ import annotations

import dataclasses
import itertools
import re

from gpuregress import records
from gpuregress.spec.load import JobFile
from gpuregress.spec.models.variants import AXES
from gpuregress.spec.resolve.scope import Scope

MAX_COMBINATIONS = 64
_OPTIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("fmad", "off"): ("--fmad=false",),
    ("fast_math", "on"): ("--use_fast_math",),
}
_OWNED = {"fmad": re.compile(r"-{1,2}fmad\b"), "fast_math": re.compile(r"-{1,2}use_fast_math\b")}


def combinations(file: JobFile, scope: Scope, source: records.Source) -> tuple[records.Source, records.Variants | None]:
    """Return the source of the first combination, which is the case's own, and the other combinations.

    Args:
        file: the job.
        scope: errors are reported there.
        source: as `compile` has it.
    """
    spec = file.job.variants
    if spec is None:
        return source, None
    axes = {name: values for name in AXES if (values := getattr(spec, name))}
    _check(file, scope, source, list(axes))
    choices = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    if len(choices) > MAX_COMBINATIONS:
        scope.error(("variants",), f"has {len(choices)} combinations: at most {MAX_COMBINATIONS} are built")
    first, *others = choices
    varied = {
        _name({axis: value for axis, value in choice.items() if value != first[axis]}): _varied(source, choice)
        for choice in others
    }
    return _varied(source, first), records.Variants(_name(first), varied, must_agree=spec.differences == "fail")


def _name(choice: dict[str, str]) -> str:
    return ",".join(f"{axis}={value}" for axis, value in choice.items())


def _varied(source: records.Source, choice: dict[str, str]) -> records.Source:
    options = [option for axis, value in choice.items() for option in _OPTIONS.get((axis, value), ())]
    return dataclasses.replace(source, options=(*source.options, *options), arch=choice.get("arch", source.arch))


def _check(file: JobFile, scope: Scope, source: records.Source, axes: list[str]) -> None:
    given = file.job.compile
    if source.path.endswith((".ptx", ".cubin")):
        scope.error(("variants",), f"has no effect: {source.path.rpartition('/')[2]} is taken as it is, not compiled")
    if "arch" in axes and "arch" in given.model_fields_set:
        scope.error(("variants", "arch"), "is given, and compile.arch is, too: the first of the list is the case's own")
    for position, option in enumerate(given.options):
        axis = next((name for name in axes if name in _OWNED and _OWNED[name].match(option)), None)
        if axis:
            scope.error(("compile", "options", position), f"{option!r} is set by variants.{axis}: leave it out here")
