"""Command that runs whole programs on the virtual GPU: `exec`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
import msgspec

from gpuregress.cli import console, values
from gpuregress.foundation import storage
from gpuregress.foundation.wording import plural
from gpuregress.gpu.instruments import checks_named
from gpuregress.programs import run
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
@click.option(
    "--check",
    "checks",
    type=values.NonEmpty(),
    multiple=True,
    metavar="NAMES",
    help="Dynamic checks, as for run: all, or races, uninitialized, barriers, leaks.",
)
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
@click.argument(
    "command", nargs=-1, required=True, metavar="-- PROGRAM [ARGS]...", type=click.UNPROCESSED, callback=values.program
)
def exec_command(
    checks: tuple[str, ...],
    schedule: str | None,
    report: Path | None,
    log: Path | None,
    command: tuple[str, ...],
) -> int:
    """Run a whole CUDA program on the virtual GPU, through a driver library that replaces NVIDIA's.

    Works for programs that use the driver API (pycuda, numba-cuda, cuda-python, C), and for those that use the CUDA
    runtime (C++ built by nvcc with -cudart shared and PTX). Waits for all processes that the program starts. Exits with
    the program's own exit code, with 3 if a kernel failed or a check found something, and with 4 if the program needed
    a function, an image or a launch that is not supported, even if it ignored the error.
    """
    wanted = checks_named(checks, "--check")
    with storage.scratch() as folder:
        done = run.run(command, folder, log, wanted, schedule or "", _say_who_is_waited_for)
        if report is not None:
            storage.write_atomic(report, msgspec.json.format(msgspec.json.encode(done)) + b"\n")
        _say(done)
    return done.exit_code


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
