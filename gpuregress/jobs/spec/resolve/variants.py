"""Combinations of the compiler settings under `variants:`, as sources to compile."""

from __future__ import annotations

import itertools
import re

from gpuregress.foundation import records
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.load import JobFile
from gpuregress.jobs.spec.models.variants import AXES
from gpuregress.jobs.spec.resolve.compilation import check_card
from gpuregress.jobs.spec.resolve.scope import Scope

MAX_COMBINATIONS = 64
_OPTIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("fmad", "off"): ("--fmad=false",),
    ("fast_math", "on"): ("--use_fast_math",),
}
_OWNED = {"fmad": re.compile(r"-{1,2}fmad\b"), "fast_math": re.compile(r"-{1,2}use_fast_math\b")}


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
    axes = {name: values for name in AXES if (values := getattr(spec, name))}
    _check(file, scope, sources, list(axes))
    choices = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    if len(choices) > MAX_COMBINATIONS:
        scope.error(("variants",), f"has {len(choices)} combinations: at most {MAX_COMBINATIONS} are built")
    first, *others = choices
    varied = {
        _name({axis: value for axis, value in choice.items() if value != first[axis]}): _varied(sources, choice)
        for choice in others
    }
    return _varied(sources, first), records.Variants(_name(first), varied, must_agree=spec.differences == "fail")


def _name(choice: dict[str, str]) -> str:
    return ",".join(f"{axis}={value}" for axis, value in choice.items())


def _varied(sources: Sources, choice: dict[str, str]) -> Sources:
    options = [option for axis, value in choice.items() for option in _OPTIONS.get((axis, value), ())]
    return tuple(
        source
        if _is_taken(source)
        else replace(source, options=(*source.options, *options), arch=choice.get("arch", source.arch))
        for source in sources
    )


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
    for position, arch in enumerate((file.job.variants and file.job.variants.arch) or ()):
        check_card(scope, arch, ("variants", "arch", position), file.job.card)
    for position, option in enumerate(given.options):
        axis = next((name for name in axes if name in _OWNED and _OWNED[name].match(option)), None)
        if axis:
            scope.error(("compile", "options", position), f"{option!r} is set by variants.{axis}: leave it out here")
