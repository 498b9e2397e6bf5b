"""What the command line asks of every case besides the job's own settings, and what each case then has to say of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuregress.errors import UsageError
from gpuregress.judging import write_coverage
from gpuregress.records import Case, Outcome
from gpuregress.session.device_slots import DeviceSelection
from gpuregress.session.request import Request

_MOST_FINDINGS = 5


def check(request: Request, choice: DeviceSelection) -> tuple[str, ...]:
    """What a run must be told before it begins.

    Raises:
        UsageError: no such tool, or no such way to poison.
        DeviceError: compute-sanitizer is asked for and is not there.
    """
    if request.sanitize is None:
        return ()
    from gpuregress.devices.cuda import sanitizer  # noqa: PLC0415 - seldom asked for

    if request.sanitize not in sanitizer.TOOLS:
        raise UsageError(f"no tool is called {request.sanitize!r}: say {', '.join(sanitizer.TOOLS)}")
    if choice.kind != "cuda":
        return (f"--sanitize {request.sanitize} is for GPUs: the cpu device checks every access itself",)
    sanitizer.find()
    return ()


def adapted(cases: Sequence[Case], request: Request, choice: DeviceSelection) -> tuple[Case, ...]:
    """The cases with what is asked of them, compiled for the GPU's own architecture where their job names none."""
    sanitize = request.sanitize if choice.kind == "cuda" else None
    return tuple(_adapted(case, request.poison, sanitize, choice.arch) for case in cases)


def _adapted(case: Case, poison: str | None, sanitize: str | None, arch: str) -> Case:
    settings = dataclasses.replace(case.settings, poison=poison, sanitize=sanitize)
    case = dataclasses.replace(case, settings=settings)
    if not arch or case.settings.arch is not None:
        return case
    kernels = {
        name: dataclasses.replace(kernel, source=dataclasses.replace(kernel.source, arch=arch))
        for name, kernel in case.reference_kernels.items()
    }
    return dataclasses.replace(case, source=dataclasses.replace(case.source, arch=arch), reference_kernels=kernels)


def remarks(case: Case, outcome: Outcome) -> tuple[str, ...]:
    """What a case has to say of its poison, its timing, its resources and the tool it ran under, a line each."""
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
