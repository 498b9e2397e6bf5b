"""Accepted times of a case, by the model of the device: another model's say nothing of this one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpuregress.foundation.records import AcceptedTiming, Case, Costs, DeviceInfo, LineCost, MadeOf, Outcome
from gpuregress.gpu.instruments import MEASURES, by_line, total
from gpuregress.gpu.records import replace

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
    model = key_of(outcome.device)
    timings = dict(accepted)
    timings.pop(model, None)
    measured = _measured(case, outcome, facts, is_timed=model != CPU)
    if measured is None:
        return timings
    timings[model] = measured
    return dict(sorted(timings.items()))


def _measured(case: Case, outcome: Outcome, facts: MadeOf, *, is_timed: bool) -> AcceptedTiming | None:
    seen, timing = outcome.observations.instruments, outcome.observations.timing
    samples: tuple[float, ...] = ()
    costs: tuple[LineCost, ...] = ()
    if timing is not None and is_timed:
        samples = tuple(float(f"{sample:.{_DIGITS}g}") for sample in timing.samples_ms)
    if not samples and not seen.instructions:
        return None
    if seen.costs is not None and not seen.costs.uncounted:
        costs = line_costs(seen.costs)
    measured = AcceptedTiming(
        case.revision,
        samples,
        code=facts.code,
        sm_clock=timing.sm_clock if timing is not None else "",
        instructions=dict(seen.instructions),
        uncounted=seen.uncounted,
        costs=costs,
    )
    if not samples:
        return measured
    return replace(measured, card=facts.card, driver=facts.driver)


def line_costs(costs: Costs) -> tuple[LineCost, ...]:
    """The costs of each line, with its text as it is now; those of code without a line come last, in no file."""
    lines: list[LineCost] = []
    sources: dict[str, list[str]] = {}
    for (path, number), counts in by_line(costs).items():
        if path not in sources:
            sources[path] = _lines(path)
        text = sources[path][number - 1].strip() if number <= len(sources[path]) else ""
        lines.append(LineCost(Path(path).name, number, text[:_LONGEST_TEXT], _measures(counts)))
    elsewhere = total(instruction for instruction in costs.instructions if not instruction.path)
    if any(elsewhere.values()):
        lines.append(LineCost("", 0, "", _measures(elsewhere)))
    return tuple(lines)


def _measures(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in MEASURES if counts.get(name)}


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
