"""Accepted times of a case, by the model of the device: another model's say nothing of this one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpuregress.foundation.records import AcceptedTiming, Case, Costs, DeviceInfo, LineCost, MadeOf, Outcome
from gpuregress.gpu.instruments import MEASURES, by_line, total

CPU = "cpu"
_LONGEST_TEXT = 120
_DIGITS = 6
"""Significant digits that are kept of a time: an event of a GPU has a resolution of 0.5 µs."""


def key_of(device: DeviceInfo) -> str:
    """The model of a device; the CPU device is the same everywhere, for its instructions are counted."""
    return CPU if device.name == CPU else device.model


def updated(
    accepted: Mapping[str, AcceptedTiming], case: Case, outcome: Outcome, facts: MadeOf
) -> dict[str, AcceptedTiming]:
    """The accepted times after an accept: this run's for its device, and those of the others as they were.

    Args:
        accepted: those before.
        case: what was run.
        outcome: its result on the worker.
        facts: its provenance.
    """
    if outcome.device is None:
        return dict(accepted)
    own = key_of(outcome.device)
    kept = {model: timing for model, timing in accepted.items() if model != own}
    measured = _measured(case, outcome, facts, is_timed=own != CPU)
    return kept if measured is None else dict(sorted({**kept, own: measured}.items()))


def _measured(case: Case, outcome: Outcome, facts: MadeOf, *, is_timed: bool) -> AcceptedTiming | None:
    seen = outcome.observations.instruments
    timing = outcome.observations.timing
    samples = timing.samples_ms if timing is not None and is_timed else ()
    if not samples and not seen.instructions:
        return None
    return AcceptedTiming(
        case.revision,
        tuple(float(f"{sample:.{_DIGITS}g}") for sample in samples),
        code=facts.code,
        card=facts.card if samples else "",
        driver=facts.driver if samples else "",
        sm_clock=timing.sm_clock if timing is not None else "",
        instructions=dict(seen.instructions),
        uncounted=seen.uncounted,
        costs=line_costs(seen.costs) if seen.costs is not None and not seen.costs.uncounted else (),
    )


def line_costs(costs: Costs) -> tuple[LineCost, ...]:
    """The costs of each line, with its text as it is now; those of code without a line come last, in no file."""
    found: list[LineCost] = []
    texts: dict[str, list[str]] = {}
    for (path, line), counts in by_line(costs).items():
        lines = texts.setdefault(path, _lines(path))
        text = lines[line - 1].strip() if line <= len(lines) else ""
        kept = {name: counts[name] for name in MEASURES if counts.get(name)}
        found.append(LineCost(Path(path).name, line, text[:_LONGEST_TEXT], kept))
    rest = total(item for item in costs.instructions if not item.path)
    if any(rest.values()):
        found.append(LineCost("", 0, "", {name: rest[name] for name in MEASURES if rest.get(name)}))
    return tuple(found)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
