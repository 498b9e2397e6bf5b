"""Lines on the variants of a case: changed buffers, and source lines that differ."""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.foundation.records import Comparison, InstructionChange, UlpFigures, VariantVerdict, Verdict

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
