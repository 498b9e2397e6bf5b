"""Command `gpuregress new`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from gpuregress.execution.workers import worker_spawn
from gpuregress.foundation.errors import UsageError


@click.command("new", epilog="Example: gpuregress new kernels/saxpy.cu")
@click.argument("source", metavar="KERNEL.cu", type=click.Path(path_type=Path))
@click.option("--kernel", metavar="NAME", help="Only this kernel of the source.")
@click.option("--function", metavar="NAME", help="Device functions to test instead: a name or a pattern, such as '*'")
@click.option(
    "-o", "--output", metavar="F", type=click.Path(path_type=Path), help="The job's file  [default: in configs/]"
)
@click.option(
    "--compile-commands",
    "commands",
    metavar="F",
    type=click.Path(path_type=Path),
    help="The build's compile_commands.json, for include folders, macros and standard.",
)
@click.option("--device", default="auto", metavar="DEVICE", help="Where the drafts are run: auto, cpu, cuda or cuda:N")
@click.option("--no-run", "draft_only", is_flag=True, help="Write the drafts and do not run them.")
@click.pass_context
def new_command(
    ctx: click.Context,
    /,
    source: Path,
    kernel: str | None,
    function: str | None,
    output: Path | None,
    commands: Path | None,
    device: str,
    draft_only: bool,
) -> None:
    """Write a job for each kernel of KERNEL.cu to configs/, and run the drafts.

    Buffers, launch and arguments come from the launches, allocations and constants of the host code, or from the
    kernel's signature if it is not launched. Guesses are marked with NEEDED. A Python file gets a job for its first
    kernel in Triton or Numba, from the code that launches it. A C++ source without kernels gets one for its first
    device function; --function chooses others, each in a file of its own. Never overwrites a file. Exits with 0 once
    the drafts are written.
    """
    start = time.monotonic()
    if function is not None and kernel is not None:
        raise UsageError("--kernel and --function are both given: leave one out")
    # What is imported here loads in 0.3 s, while the first worker and the compiler start.
    if not draft_only:
        worker_spawn.begin(device, None)
        ctx.call_on_close(worker_spawn.drop)
    from gpuregress.session import compilation  # noqa: PLC0415
    from gpuregress.toolchain import include_scanner, programs  # noqa: PLC0415

    with programs.keeping_unknown(), include_scanner.reading_once():
        with compilation.keeping_compilers(begins=source.is_file() and source.suffix != ".py"):
            from gpuregress.cli import context, new_jobs  # noqa: PLC0415

            project = context.find_or_begin_project(ctx)
            drafts = new_jobs.draft(project, source, kernel, function, output, commands)
        new_jobs.say_drafts(drafts, has_kernel=kernel is not None, has_function=function is not None)
        if not draft_only:
            new_jobs.try_drafts(project, drafts, device, time.monotonic() - start)
