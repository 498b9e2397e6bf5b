"""Overrides of the command line: settings that every case gets besides its job's own."""

from __future__ import annotations

from collections.abc import Sequence

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import Case, checks_named
from gpuregress.gpu.records import replace
from gpuregress.gpu.schedules import FORWARD
from gpuregress.session.device_slots import DeviceSelection
from gpuregress.session.run_request import RunRequest

_COUNTED_SLOWER = 4
"""Times as long that a case may take whose costs are counted."""
_NO_SCHEDULE = "--schedule and --schedules are for the cpu device: on a GPU the hardware decides the order"
_NO_COVERAGE = "--coverage is for the cpu device, which counts what a kernel executes: say --device cpu"


def check(request: RunRequest, devices: DeviceSelection) -> tuple[str, ...]:
    """Check the overrides of a request before the run begins.

    Returns:
        Remarks on overrides that have no effect.

    Raises:
        UsageError: no such tool, or no such dynamic check.
        DeviceError: compute-sanitizer is asked for and missing.
    """
    is_gpu = devices.kind == "cuda"
    remarks = ((_NO_COVERAGE, request.coverage), (_NO_SCHEDULE, bool(request.schedules)))
    return (
        *(text for text, asked in remarks if asked and is_gpu),
        *_check_dynamic(request, devices),
        *_check_sanitizer(request, devices),
    )


def _check_dynamic(request: RunRequest, devices: DeviceSelection) -> tuple[str, ...]:
    wanted = checks_named(request.checks, "--check")
    if wanted and devices.kind == "cuda":
        return (f"--check {','.join(wanted)} is for the cpu device: a GPU has --sanitize",)
    return ()


def _check_sanitizer(request: RunRequest, devices: DeviceSelection) -> tuple[str, ...]:
    if request.sanitize is None:
        return ()
    from gpuregress.execution.cuda import sanitizer  # noqa: PLC0415 - seldom asked for

    if request.sanitize not in sanitizer.TOOLS:
        raise UsageError(f"no tool is called {request.sanitize!r}: say {', '.join(sanitizer.TOOLS)}")
    if devices.kind != "cuda":
        return (f"--sanitize {request.sanitize} is for GPUs: the cpu device checks every access itself",)
    if not devices.is_remote:
        sanitizer.find()
    return ()


def dropped(cases: Sequence[Case], request: RunRequest, devices: DeviceSelection) -> tuple[str, ...]:
    """Tell which settings of jobs a run leaves out: dynamic checks on a GPU, and the time of code that is watched.

    Args:
        cases: as they were planned.
        request: the run's.
        devices: those that it runs on.
    """
    checked = dict.fromkeys(case.job for case in cases if case.settings.instruments.checks)
    timed = sum(case.settings.timing is not None for case in cases)
    remarks = []
    if checked and devices.kind == "cuda":
        remarks.append(f"checks: {{device: …}} of {', '.join(checked)}: for the cpu device only; a GPU has --sanitize")
    schedule = next(iter(request.schedules), FORWARD) if devices.kind == "cpu" else FORWARD
    if timed and not request.costs and not _is_timed(request, schedule):
        asked = {"--check": request.checks, "--coverage": request.coverage}
        names = [name for name, value in asked.items() if value] or ["--schedule"]
        remarks.append(f"{timed} case{'s' if timed > 1 else ''} not timed: {' and '.join(names)} runs other code")
    return tuple(remarks)


def _is_timed(request: RunRequest, schedule: str) -> bool:
    """Whether the code that a run executes is the usual one, where a schedule makes the dumps."""
    return schedule == FORWARD and not (request.coverage or request.costs or request.checks)


def apply(cases: Sequence[Case], request: RunRequest, devices: DeviceSelection) -> tuple[Case, ...]:
    """Apply the overrides, and compile for the GPU's own architecture where the job names none."""
    sanitize = request.sanitize if devices.kind == "cuda" else None
    if devices.kind == "cuda":
        request = replace(request, schedules=())
    return tuple(
        _applied(_with_other_twins(case, devices.kind), request, sanitize, devices.kind, devices.arch) for case in cases
    )


def _with_other_twins(case: Case, kind: str) -> Case:
    """Return a case whose twins are devices other than the run's own."""
    if case.settings.twins is None:
        return case
    twins = tuple(twin for twin in case.settings.twins if twin != kind)
    return replace(case, settings=replace(case.settings, twins=twins))


def _applied(case: Case, request: RunRequest, sanitize: str | None, kind: str, arch: str) -> Case:
    wanted = (*case.settings.instruments.checks, *request.checks)
    checks = checks_named(wanted, "--check") if kind == "cpu" else ()
    asked = replace(case.settings, schedules=request.schedules or case.settings.schedules)
    main = asked.main_schedule
    settings = replace(
        asked,
        poison=request.poison,
        sanitize=sanitize,
        dump_every_launch=True if request.dump_every_launch else None,
        timing=case.settings.timing if _is_timed(request, main) else None,
        instruments=replace(
            case.settings.instruments,
            checks=checks,
            coverage=request.coverage,
            costs=(request.costs or bool(case.settings.cost)) and main == FORWARD,
        ),
    )
    case = replace(case, settings=settings)
    if settings.instruments.costs and kind == "cpu":
        limits = replace(case.limits, timeout=_COUNTED_SLOWER * case.limits.timeout)
        case = replace(case, limits=limits)
    if not arch or case.settings.arch is not None:
        return case
    first, *others = (replace(source, arch=arch) for source in case.sources)
    kernels = {
        name: replace(kernel, source=replace(kernel.source, arch=arch))
        for name, kernel in case.reference_kernels.items()
    }
    variants = case.variants
    if variants is not None:
        sources = {
            name: tuple(replace(source, arch=arch) for source in combination)
            for name, combination in variants.sources.items()
        }
        variants = replace(variants, sources=sources)
    return replace(case, source=first, other_sources=tuple(others), reference_kernels=kernels, variants=variants)
