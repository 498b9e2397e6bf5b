"""Lines on a case that several reports write: its device, tolerance, accuracy and variants."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuregress.foundation.records import (
    Accuracy,
    AccuracyReport,
    Case,
    Comparison,
    Element,
    InstructionChange,
    UlpFigures,
    VariantVerdict,
    Verdict,
)
from gpuregress.foundation.wording import first_names

_MARK = re.compile(r" \[(cpu|cuda)\]\Z")


def mark(device: str) -> str:
    """The mark of a run's device: ` [cuda]` of `cuda:0, cuda:1`."""
    return f" [{device.partition(':')[0]}]"


def parts(name: str) -> tuple[str, str]:
    """The name of a case as its job gives it, and the kind of device of its mark; "" without one."""
    match = _MARK.search(name)
    if match is None:
        return name, ""
    return name[: match.start()], match[1]


def cause_text(cause: str) -> str:
    """The key of a cause for people: `differ: out`, or `compile error at k.cu:3` of `error: CompileError at k.cu:3`."""
    kind, _, rest = cause.partition(": ")
    if kind == "differ":
        return cause.removesuffix(" (baseline)")
    if kind == "error":
        name, at, place = rest.partition(" at ")
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
        return f"{words or kind}{at}{place}"
    return cause


def job_of(case: str) -> str:
    """The job of a case, from its name."""
    return case.partition("/")[0]


NEAR = 0.8
"""The share of a tolerance above which a case that passes is near its limit."""


def percentage(share: float) -> str:
    """Write a share as `93 %`; neither a share below 1 nor one above is rounded to 100 %."""
    percent = share * 100
    if percent > 1000:
        return "over 1000 %"
    if 100 < percent < 100.5:
        return "over 100 %"
    if 99.5 <= percent < 100:
        return "almost 100 %"
    if 0 < percent < 1:
        return "under 1 %"
    return f"{percent:.0f} %"


def of_case(verdict: Verdict, *, verbose: bool) -> str:
    """Describe the use of a case's tolerance: `93 % of its tolerance used`.

    Args:
        verdict: the case's.
        verbose: else only cases that pass and are near their limit are described.
    """
    share = verdict.tolerance_share
    if share is None:
        return ""
    is_near = verdict.status in ("pass", "new") and share > NEAR
    if not verbose and not is_near:
        return ""
    return f"{percentage(share)} of its tolerance used"


def remarks(case: Case, verdict: Verdict) -> Iterator[str]:
    """Describe the accuracy of each buffer whose reference asks for it and agrees, one line each."""
    for buffer in verdict.buffers:
        for comparison in buffer.comparisons:
            if comparison.accuracy is not None and comparison.same and buffer.name in case.improves:
                yield f"{buffer.name}: {describe(comparison.accuracy)}"


def describe(report: AccuracyReport) -> str:
    """`at most 0.61 ulp of float32 from its reference, 0.29 rms; more accurate than the accepted …`."""
    text = _figures(report.actual, f" ulp of {report.dtype} from its reference")
    if report.baseline is None:
        return text
    trend = f"{report.trend} than"
    if report.trend == "mixed":
        trend = "neither more nor less accurate than"
    elif report.trend == "as accurate":
        trend = "as accurate as"
    return f"{text}; {trend} the accepted revision {report.revision} ({_figures(report.baseline, ' ulp')})"


def _figures(measured: Accuracy, unit: str) -> str:
    text = f"at most {measured.max_ulp:.3g}{unit}, {measured.rms_ulp:.3g} rms"
    if measured.misplaced:
        text += f", {measured.misplaced} NaN or infinite on one side"
    return text


def short(value: object) -> str:
    """A number in few digits, anything else as it is; "" for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)


def element_text(element: Element, against: str = "baseline") -> str:
    """`[5].x: 1.5, was 1.25 (rel 0.2)`; the finding of a check has no second value."""
    text = f"{element.place}: {element.actual or 'missing'}"
    if element.expected:
        text += f", in the twin {element.expected}" if against == "twin" else f", was {element.expected}"
    elif against not in ("check", "seeds"):
        text += f", in the {against} nothing"
    errors = []
    for name, value in (("abs", element.absolute), ("rel", element.relative), ("ulp", element.ulp)):
        if value is not None:
            errors.append(f"{name} {short(value)}")
    if errors:
        text += f" ({', '.join(errors)})"
    return text


def worst_text(comparison: Comparison) -> str:
    """The worst element and its thread, `[5]: 1.5, was 1.25 (rel 0.2), at block 0, thread 5`; "" without one."""
    if comparison.worst is None:
        return ""
    text = element_text(comparison.worst, comparison.against)
    if comparison.figures.worst_thread:
        text += f", at {comparison.figures.worst_thread}"
    return text


_MOST_LINES = 8
_MOST_INSTRUCTIONS = 6


def lines(verdict: Verdict) -> Iterator[str]:
    """Describe the variants of a case, a line for each buffer that changes and for each source line.

    Variants that change nothing, or have the program of another one, share a line.
    """
    if not verdict.variants:
        return
    yield f"variants, compared with {verdict.variants[0].first}:"
    unchanged = []
    same_programs: dict[str, list[str]] = {}
    for variant in verdict.variants:
        yield from _variant(variant)
        if variant.same_as:
            same_programs.setdefault(variant.same_as, []).append(variant.name)
        elif not variant.message and not variant.buffers:
            unchanged.append(variant.name)
    if unchanged:
        yield f"{'; '.join(unchanged)}: no bit changes"
    for name, names in same_programs.items():
        yield f"{'; '.join(names)}: the same program as {name}"


def _variant(variant: VariantVerdict) -> Iterator[str]:
    if variant.message:
        yield f"{variant.name}: {variant.message}"
    for buffer in variant.buffers:
        yield f"{variant.name}: {buffer_text(buffer)}"
    for change in variant.instructions[:_MOST_LINES]:
        yield f"{variant.name}: {instruction_text(change)}"
    if len(variant.instructions) > _MOST_LINES:
        more = len(variant.instructions) - _MOST_LINES
        yield f"{variant.name}: … and {more} more source lines are in results.json"


def buffer_text(compared: Comparison) -> str:
    """`out: 37 of 100 changed, by 2 ulp at most, at worst [17] from 0.1 to 0.2; not equal under its rule`."""
    text = f"{compared.buffer}: {compared.changed} of {compared.of} changed"
    if isinstance(compared.figures, UlpFigures) and compared.figures.max_ulp is not None:
        text += f", by {compared.figures.max_ulp:.0f} ulp at most"
    worst = compared.worst
    if worst is not None:
        text += f", at worst [{worst.index}] from {worst.expected} to {worst.actual}"
    if not compared.same:
        text += "; not equal under its rule"
    return text


def instruction_text(change: InstructionChange) -> str:
    """`gp.cu:12: mul.rn.f32, add.rn.f32 in place of fma.rn.f32`."""
    before = first_names(change.before, _MOST_INSTRUCTIONS)
    after = first_names(change.after, _MOST_INSTRUCTIONS)
    where = f"{change.file}:{change.line}"
    if not after:
        return f"{where}: {before} is gone"
    if not before:
        return f"{where}: {after} is added"
    return f"{where}: {after} in place of {before}"
