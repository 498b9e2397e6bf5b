"""Command that runs whole programs on the virtual GPU: `exec`."""

from __future__ import annotations

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
    "missing": "missing function",
    "lost": "lost server",
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
    help="Dynamic checks, as of run: all, or races, uninitialized, barriers, leaks.",
)
@click.option(
    "--schedule", type=values.SCHEDULE, metavar="NAME", help="The order of blocks, warps and lanes, as of run."
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
    """Run a whole CUDA program on the virtual GPU, through a driver library that stands for NVIDIA's.

    Works for programs that use the driver API: pycuda, numba-cuda, cuda-python, C. Ends with the program's own exit
    code; with 3 if a kernel failed or a check found something; with 4 if the program called a function that is not
    supported, also where it ignored the error.
    """
    wanted = checks_named(checks, "--check")
    with storage.scratch() as folder:
        done = run.run(command, folder, log, wanted, schedule or "")
        if report is not None:
            storage.write_atomic(report, msgspec.json.format(msgspec.json.encode(done)) + b"\n")
        if done.exit_code != done.program_code:
            _say(done)
    return done.exit_code


def _say(done: ProgramReport) -> None:
    """Say why the exit code is not the program's own."""
    counts: dict[str, int] = {}
    for incident in done.incidents:
        if incident.kind in _WORDS:
            counts[incident.kind] = counts.get(incident.kind, 0) + 1
    found = ", ".join(plural(count, _WORDS[kind]) for kind, count in counts.items())
    console.say(f"gpuregress: {found}; the program itself exited with {done.program_code}", err=True)
