"""Commands on the installation: `build`, `doctor`, `schema`."""

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
def build_command(
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


@click.command(
    "doctor",
    short_help="what this machine can run, and how to get the rest",
    epilog="Example: gpuregress doctor --json",
)
@context.json_option
@click.pass_context
def doctor_command(ctx: click.Context, /, as_json: bool) -> int:
    """Examine what a run needs: wheels, compilers, Triton and Numba, the cache, driver, GPUs, permissions.

    Names the command that repairs each lack. Exits with 0 when cases can run on some device, else 4.
    """
    import contextlib

    from gpuregress.foundation.errors import GpuregressError
    from gpuregress.foundation.records import to_json
    from gpuregress.report.layout import table
    from gpuregress.session import doctor

    configs = None
    with contextlib.suppress(GpuregressError):  # a project that cannot be read is reported by the other commands
        configs = context.find_project(ctx).configs
    health = doctor.examine(configs)
    if as_json:
        context.print_json(to_json(health))
        return 0 if health.devices else 4
    rows = [
        ("ok" if piece.well else "lack" if piece.needed else "hint", piece.device, piece.name, piece.state)
        for piece in health.pieces
    ]
    for line in table(("", "for", "piece", "state"), rows):
        console.say(line)
    mends = [piece for piece in health.pieces if not piece.well and piece.mend]
    if mends:
        console.say()
        console.say("to mend:")
        for line in table(("  piece", "command"), [(f"  {piece.name}", piece.mend) for piece in mends]):
            console.say(line)
    console.say()
    console.say(f"can run on: {', '.join(health.devices) or 'nothing'}")
    return 0 if health.devices else 4


@click.command(
    "schema",
    short_help="print the JSON Schema of a job, for editors",
    epilog="Example: gpuregress schema > job.schema.json   (then, in a job's first line: "
    "# yaml-language-server: $schema=../job.schema.json)",
)
@click.option("--markdown", is_flag=True, help="Print the reference of every key instead (docs/job-reference.md).")
def schema_command(markdown: bool) -> None:
    """Print the JSON Schema of a job file, so that an editor can complete keys and mark mistakes."""
    if markdown:
        from gpuregress.jobs.spec import key_reference

        console.say_document(key_reference.markdown().rstrip("\n") + "\n")
        return
    from gpuregress.foundation.escapes import json_text
    from gpuregress.jobs.spec.key_reference import job_schema

    console.say_document(json_text(job_schema(), indent=2) + "\n")
