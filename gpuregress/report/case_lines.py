"""Lines on a case that several reports write: its device, tolerance, accuracy and variants."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuregress.foundation.records import (
    Accuracy,
    AccuracyReport,
    Case,
    Comparison,
    InstructionChange,
    UlpFigures,
    VariantVerdict,
    Verdict,
)

_MARK = re.compile(r" \[(cpu|cuda)\]")


def mark(device: str) -> str:
    """The mark of a run's device: ` [cuda]` of `cuda:0, cuda:1`."""
    return f" [{device.partition(':')[0]}]"


def parts(name: str) -> tuple[str, str]:
    """The name of a case as its job gives it, and the kind of device of its mark; "" without one."""
    found = _MARK.fullmatch(name[name.rfind(" [") :]) if " [" in name else None
    return (name[: name.rfind(" [")], found[1]) if found else (name, "")


NEAR = 0.8
"""The share of a tolerance above which a case that passes is near its limit."""


def percentage(share: float) -> str:
    """Write a share as `93 %`; neither a share below 1 nor one above is rounded to 100 %."""
    percent = share * 100
    if percent > 1000:
        return "over 1000 %"
    if percent < 99.5 or percent >= 100.5 or percent == 100:
        return f"{percent:.0f} %" if percent >= 1 or not percent else "under 1 %"
    return "over 100 %" if percent > 100 else "almost 100 %"


def of_case(verdict: Verdict, *, verbose: bool) -> str:
    """Describe the use of a case's tolerance: `93 % of its tolerance used`.

    Args:
        verdict: the case's.
        verbose: else only cases that pass and are near their limit are described.
    """
    share = verdict.tolerance_share
    if share is None or not (verbose or (verdict.status in ("pass", "new") and share > NEAR)):
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
    named = "neither more nor less accurate" if report.trend == "mixed" else report.trend
    than = "as" if report.trend == "as accurate" else "than"
    return f"{text}; {named} {than} the accepted revision {report.revision} ({_figures(report.baseline, ' ulp')})"


def _figures(measured: Accuracy, unit: str) -> str:
    odd = f", {measured.misplaced} NaN or infinite on one side" if measured.misplaced else ""
    return f"at most {measured.max_ulp:.3g}{unit}, {measured.rms_ulp:.3g} rms{odd}"


_MOST_LINES = 8
_MOST_INSTRUCTIONS = 6


def lines(verdict: Verdict) -> Iterator[str]:
    """Describe the variants of a case, a line for each buffer that changes and for each source line.

    Variants that change nothing, or have the program of another one, share a line.
    """
    if not verdict.variants:
        return
    yield f"variants, compared with {verdict.variants[0].first}:"
    same = [one.name for one in verdict.variants if not (one.message or one.buffers or one.same_as)]
    for variant in verdict.variants:
        yield from _variant(variant)
    if same:
        yield f"{'; '.join(same)}: no bit changes"
    alike: dict[str, list[str]] = {}
    for variant in verdict.variants:
        if variant.same_as:
            alike.setdefault(variant.same_as, []).append(variant.name)
    yield from (f"{'; '.join(names)}: the same program as {name}" for name, names in alike.items())


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
    figures, worst = compared.figures, compared.worst
    ulp = figures.max_ulp if isinstance(figures, UlpFigures) else None
    by = f", by {ulp:.0f} ulp at most" if ulp is not None else ""
    where = f", at worst [{worst.index}] from {worst.expected} to {worst.actual}" if worst is not None else ""
    ruled = "" if compared.same else "; not equal under its rule"
    return f"{compared.buffer}: {compared.changed} of {compared.of} changed{by}{where}{ruled}"


def instruction_text(change: InstructionChange) -> str:
    """`gp.cu:12: mul.rn.f32, add.rn.f32 in place of fma.rn.f32`."""
    before, after = _few(change.before), _few(change.after)
    where = f"{change.file}:{change.line}"
    if not before or not after:
        return f"{where}: {after} is added" if after else f"{where}: {before} is gone"
    return f"{where}: {after} in place of {before}"


def _few(instructions: tuple[str, ...]) -> str:
    more = f" and {len(instructions) - _MOST_INSTRUCTIONS} more" if len(instructions) > _MOST_INSTRUCTIONS else ""
    return ", ".join(instructions[:_MOST_INSTRUCTIONS]) + more
