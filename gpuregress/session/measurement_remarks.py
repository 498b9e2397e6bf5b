"""Remarks on a case's measurements: its poison, timing, resources and the findings of compute-sanitizer."""

from __future__ import annotations

from collections.abc import Iterator

from gpuregress.judging import write_coverage
from gpuregress.records import Case, Outcome

_MOST_FINDINGS = 5


def remarks(case: Case, outcome: Outcome) -> tuple[str, ...]:
    """The remarks on a case, one line each."""
    return (*_poison(outcome), *_timing(outcome), *_resources(case, outcome), *_sanitizer(case, outcome))


def _poison(outcome: Outcome) -> Iterator[str]:
    for name, told in outcome.extra.get("poison_twice", {}).items():
        unwritten, shows = told["unwritten"], told["shows"]
        if unwritten:
            count = f"{unwritten['elements']} of {unwritten['of']}"
            yield f"{name}: {count} elements were never written: {write_coverage.places(unwritten)}"
        if shows:
            yield (
                f"{name}: {shows['elements']} of {shows['of']} elements changed with what was there before, "
                f"the first at [{shows['first']}]: they are read before they are written, or written in part, or not "
                "deterministic (--repeat 2 tells)"
            )
        if not unwritten and not shows:
            yield f"{name}: every element was written"


def _timing(outcome: Outcome) -> Iterator[str]:
    timing = outcome.extra.get("timing")
    if timing is not None:
        samples = timing["samples_ms"]
        spread = f"{min(samples):.4g} to {max(samples):.4g} ms"
        clock = f", SM clock {timing['sm_clock']}" if "sm_clock" in timing else ""
        yield f"{timing['median_ms']:.4g} ms: the median of {len(samples)} samples, {spread}, {timing['clock']}{clock}"


def _resources(case: Case, outcome: Outcome) -> Iterator[str]:
    counted = any(used.get("registers") for used in outcome.resources.values())
    if case.settings.resources and outcome.state == "done" and not counted:
        yield "resources: not judged, for this device counts no registers"


def _sanitizer(case: Case, outcome: Outcome) -> Iterator[str]:
    tool = case.settings.sanitize
    if tool is None:
        return
    told = outcome.extra.get("sanitizer")
    if told is None:
        yield f"{tool}: not run, for the case did not come to its end"
        return
    if told["problem"]:
        yield f"{tool}: {told['problem']}"
    elif not told["findings"]:
        yield f"{tool}: nothing found"
    yield from (f"{tool}: {finding['text']}" for finding in told["findings"][:_MOST_FINDINGS])
    if len(told["findings"]) > _MOST_FINDINGS:
        yield f"{tool}: {len(told['findings']) - _MOST_FINDINGS} more findings are in results.json"
