"""Command `gpuregress build`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gpuregress.cli import console, context


@click.command(
    "build",
    short_help="compile all cases into a cache, for a machine without a compiler",
    epilog="Example: gpuregress build --arch sm_90 --cache ./built   (there: GPUREGRESS_CACHE=./built gpuregress run)",
)
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@click.option("--arch", metavar="sm_NN", help="The GPU's architecture  [default: the jobs' own]")
@click.option("--cache", metavar="DIR", type=click.Path(file_okay=False), help="Where to put the results.")
@click.option(
    "--ptx-only", is_flag=True, help="Stop at the PTX; a GPU host then needs nvJitLink, the CPU device nothing."
)
@context.json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    jobs: tuple[str, ...],
    arch: str | None,
    cache: str | None,
    ptx_only: bool,
    as_json: bool,
) -> int:
    """Compile every case of the JOBs, all of configs/ if none; needs no GPU and no driver.

    The results are those of the pinned compiler. A host that finds them in its cache (GPUREGRESS_CACHE) needs no
    compiler itself.
    """
    from gpuregress.cli import progress
    from gpuregress.session import compilation

    project = context.find_project(ctx)
    if cache is not None:
        os.environ["GPUREGRESS_CACHE"] = str(Path(cache).absolute())
    with progress.transient() as listen:
        built = compilation.build(project, jobs, arch=arch, cubins=not ptx_only, listen=listen)
    if as_json:
        document = {"folder": str(built.folder), "programs": built.programs, "errors": list(built.errors)}
        context.print_json(document | ({"infeasible": built.infeasible} if built.infeasible else {}))
    else:
        skipped = f" ({built.infeasible} more are infeasible)" if built.infeasible else ""
        console.say(f"{built.programs} programs in {built.folder}{skipped}")
        for error in built.errors:
            console.say(f"gpuregress: {error}", err=True)
    return built.exit_code
