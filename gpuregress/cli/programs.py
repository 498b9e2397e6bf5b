"""Command that runs whole programs on the virtual GPU: `exec`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from gpuregress.cli import console, shared_options, values
from gpuregress.execution import device_registry
from gpuregress.foundation import storage
from gpuregress.foundation.errors import DeviceError, UsageError
from gpuregress.foundation.wording import plural
from gpuregress.gpu.instruments import checks_named
from gpuregress.programs import run
from gpuregress.programs.environment import CaptureSettings
from gpuregress.programs.records import ProgramReport

_WORDS = {
    "fault": "fault",
    "finding": "finding",
    "unsupported": "unsupported instruction",
    "missing": "missing feature",
    "lost": "lost process",
}
_LOG = "launch.log"


@click.command(
    "exec",
    epilog="Example: gpuregress exec --check races -- python train.py",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@shared_options.checks_option
@click.option(
    "--schedule", type=values.SCHEDULE, metavar="NAME", help="The order of blocks, warps and lanes, as for run."
)
@click.option("--report", metavar="F", type=click.Path(dir_okay=False, path_type=Path), help="Write a report as JSON.")
@click.option(
    "--log",
    metavar="F",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the launch log there, and keep it.",
)
@click.option("--capture", is_flag=True, help="Write a job for each kernel, as the command capture does on a GPU.")
@shared_options.capture_options
@click.argument(
    "command", nargs=-1, required=True, metavar="-- PROGRAM [ARGS]...", type=click.UNPROCESSED, callback=values.program
)
@click.pass_context
def exec_command(
    ctx: click.Context,
    /,
    checks: tuple[str, ...],
    schedule: str | None,
    report: Path | None,
    log: Path | None,
    command: tuple[str, ...],
    **options: Any,
) -> int:
    """Run a whole CUDA program on the virtual GPU, through a driver library that replaces NVIDIA's.

    Works for programs that use the driver API (pycuda, numba-cuda, cuda-python, C), and for those that use the CUDA
    runtime (C++ built by nvcc with -cudart shared and PTX). Waits for all processes that the program starts. Exits with
    the program's own exit code, with 3 if a kernel failed or a check found something, and with 4 if the program needed
    a function, an image or a launch that is not supported, even if it ignored the error.

    With --capture, each kernel gets a job that replays one launch of it without PROGRAM. Its reference is the virtual
    GPU's own result. The options from --kernel on choose the launches.
    """
    wanted = checks_named(checks, "--check")
    lack = device_registry.cpu_lack("exec")
    if lack:
        raise DeviceError(lack)
    with storage.scratch() as folder, _capture(ctx, options) as capture:
        done = run.run(command, folder, log, wanted, schedule or "", _say_who_is_waited_for, capture)
        if report is not None:
            storage.write_atomic(report, msgspec.json.format(msgspec.json.encode(done)) + b"\n")
        _say(done)
    return done.exit_code


@contextlib.contextmanager
def _capture(ctx: click.Context, options: Mapping[str, Any]) -> Iterator[CaptureSettings | None]:
    """Have the launches kept that the options choose, and write their jobs; None without --capture.

    Raises:
        UsageError: an option needs --capture, or two contradict each other.
    """
    if not options["capture"]:
        for parameter in ctx.command.params:
            is_given = ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
            if parameter.name in options and is_given:
                raise UsageError(f"{parameter.opts[0]} says what --capture keeps: add --capture, or leave it out")
        yield None
        return
    from gpuregress.cli import context  # noqa: PLC0415 - 40 ms, with the next one, which other runs do without
    from gpuregress.lab.capture import capture, records  # noqa: PLC0415

    choice, source = shared_options.choice_of(options), options["source"]
    capture.check_source(source)
    project = context.find_or_begin_project(ctx)
    with capture.records_of_capture(project) as folder:
        yield CaptureSettings(choice, str(folder))
        jobs, refused = capture.write_jobs(project, records.read_folder(folder), source, options["replay"])
    for line in capture.describe_jobs(jobs, refused, context.relative):
        console.say(f"gpuregress: {line}", err=True)
    if jobs:
        console.say(f"gpuregress: to replay: gpuregress run {context.relative(jobs[0].path)}", err=True)
    elif not refused:
        console.say("gpuregress: no launch was kept: none matches --kernel, --nth, --every or --max", err=True)


def _say_who_is_waited_for(processes: Mapping[int, str]) -> None:
    names = ", ".join(f"{number} ({name})" for number, name in processes.items())
    console.say(f"gpuregress: the program has ended; waiting for its processes that still run: {names}", err=True)


def _say(done: ProgramReport) -> None:
    """Say what was found, if anything was, or that nothing was looked at."""
    counts: dict[str, int] = {}
    for incident in done.incidents:
        if incident.kind in _WORDS:
            counts[incident.kind] = counts.get(incident.kind, 0) + 1
        if incident.what == "process":
            console.say(f"gpuregress: {incident.message}", err=True)
    if not done.processes and not counts:
        console.say("gpuregress: no process of the program used the virtual GPU", err=True)
    if not counts:
        return
    found = ", ".join(plural(count, _WORDS[kind]) for kind, count in counts.items())
    console.say(f"gpuregress: {found}; the program itself exited with {done.program_code}", err=True)
