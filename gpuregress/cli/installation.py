"""Commands on the installation: `build`, `doctor`, `schema`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import click

from gpuregress.cli import console, context, progress, shared_options
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.escapes import json_text
from gpuregress.foundation.records import to_json
from gpuregress.jobs.spec import key_reference
from gpuregress.report.layout import table
from gpuregress.session import compilation, doctor


@click.command(
    "build",
    epilog="Example: gpuregress build --arch sm_90 --cache ./built   (there: GPUREGRESS_CACHE=./built gpuregress run)",
)
@click.argument("jobs", nargs=-1, metavar="[JOB]...")
@click.option("--arch", metavar="sm_NN", help="The GPU's architecture  [default: the jobs' own]")
@click.option("--cache", metavar="DIR", type=click.Path(file_okay=False), help="The folder for the results.")
@click.option(
    "--ptx-only", is_flag=True, help="Stop at the PTX: a GPU host then needs nvJitLink, the CPU device nothing."
)
@shared_options.json_option
@click.pass_context
def build_command(
    ctx: click.Context, /, jobs: tuple[str, ...], arch: str | None, cache: str | None, ptx_only: bool, as_json: bool
) -> int:
    """Compile every case of the JOBs, all of configs/ if none; needs no GPU and no driver.

    The results are those of the pinned compiler. A host that finds them in its cache (GPUREGRESS_CACHE) needs no
    compiler itself.
    """
    project = context.find_project(ctx)
    if cache is not None:
        os.environ["GPUREGRESS_CACHE"] = str(Path(cache).absolute())
    with progress.transient() as listen:
        built = compilation.build(project, jobs, arch=arch, cubins=not ptx_only, listen=listen)
    if as_json:
        document: dict[str, Any] = {
            "folder": str(built.folder),
            "programs": built.programs,
            "errors": list(built.errors),
        }
        if built.infeasible:
            document["infeasible"] = built.infeasible
        context.print_json(document)
        return built.exit_code
    skipped = f" ({built.infeasible} more are infeasible)" if built.infeasible else ""
    console.say(f"{built.programs} programs in {built.folder}{skipped}")
    for error in built.errors:
        console.say(f"gpuregress: {error}", err=True)
    return built.exit_code


@click.command("doctor", epilog="Example: gpuregress doctor --json")
@shared_options.json_option
@click.pass_context
def doctor_command(ctx: click.Context, /, as_json: bool) -> int:
    """Examine what a run needs: wheels, compilers, Triton, Numba and Warp, the cache, driver, GPUs, permissions.

    Names the command that installs or repairs what is missing. Exits with 0 when cases can run on some device, else 4.
    """
    configs = None
    with contextlib.suppress(GpuregressError):  # a project that cannot be read is reported by the other commands
        configs = context.find_project(ctx).configs
    health = doctor.examine(configs)
    code = 0 if health.devices else GpuregressError.exit_code
    if as_json:
        context.print_json(to_json(health))
        return code
    rows = []
    repairs = []
    for piece in health.pieces:
        state = "ok"
        if not piece.well:
            state = "lack" if piece.needed else "hint"
            if piece.mend:
                repairs.append((f"  {piece.name}", piece.mend))
        rows.append((state, piece.device, piece.name, piece.state))
    console.say_lines(table(("", "for", "piece", "state"), rows))
    if repairs:
        console.say()
        console.say("to mend:")
        console.say_lines(table(("  piece", "command"), repairs))
    console.say()
    console.say(f"can run on: {', '.join(health.devices) or 'nothing'}")
    return code


@click.command(
    "schema",
    epilog="Example: gpuregress schema > job.schema.json   (then, in a job's first line: "
    "# yaml-language-server: $schema=../job.schema.json)",
)
@click.option("--markdown", is_flag=True, help="Print the reference of every key instead (docs/reference/job-keys.md).")
def schema_command(markdown: bool) -> None:
    """Print the JSON Schema of a job file, so that an editor can complete keys and mark mistakes."""
    if markdown:
        console.say_document(key_reference.markdown().rstrip("\n") + "\n")
        return
    console.say_document(json_text(key_reference.job_schema(), indent=2) + "\n")
