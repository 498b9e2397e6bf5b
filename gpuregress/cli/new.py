"""Command `gpuregress new`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context

if TYPE_CHECKING:
    from gpuregress.project import Project


@click.command(
    "new",
    short_help="write a job to start from, out of a kernel's or a device function's signature",
    epilog="Example: gpuregress new kernels/mine.cu",
)
@click.argument("source", metavar="KERNEL.cu", type=click.Path(path_type=Path))
@click.option("--kernel", metavar="NAME", help="Which kernel of the source  [default: the first]")
@click.option("--function", metavar="NAME", help="Device functions to test instead: a name or a pattern, as '*'")
@click.option(
    "-o", "--output", metavar="F", type=click.Path(path_type=Path), help="The job's file  [default: configs/NAME.yaml]"
)
@click.pass_context
def command(ctx: click.Context, /, source: Path, kernel: str | None, function: str | None, output: Path | None) -> None:
    """Write a job for a kernel of KERNEL.cu, with buffers, launch and arguments from its signature.

    A Python file gets a job for its first kernel in Triton or Numba. A C++ source without kernels gets one for its
    first device function; --function chooses others, each in a file of its own. The number of elements and the grid are
    guesses, marked as such. Never overwrites a file.
    """
    from gpuregress.errors import UsageError
    from gpuregress.operations import new

    project = _project(ctx)
    if function is not None and kernel is not None:
        raise UsageError("--kernel and --function are both given: leave one out")
    if function is None:
        drafts: tuple[new.Draft, ...] = (new.draft(project, source, kernel=kernel, target=output),)
    else:
        drafts = new.draft_functions(project, source, function, target=output)
    for made in drafts:
        shown = made.path.relative_to(Path.cwd()) if made.path.is_relative_to(Path.cwd()) else made.path
        if made.is_kept:
            console.say(f"{shown}: already there, and left as it is")
            continue
        console.say(f"{shown}: a job for {made.kernel}; edit it, then: gpuregress check {shown}")
    if drafts[0].others:
        console.say(f"the source's other kernels: {', '.join(drafts[0].others)} (--kernel NAME)")
    if drafts[0].functions and function is None:
        other = "" if drafts[0].others or kernel else "other "
        console.say(f"the source's {other}device functions: {', '.join(drafts[0].functions)} (--function NAME, or '*')")


def _project(ctx: click.Context) -> Project:
    """The current project, or a new one in the current folder."""
    from gpuregress.errors import UsageError
    from gpuregress.project import Project

    try:
        return context.find_project(ctx)
    except UsageError:
        root = Path(ctx.obj or ".").absolute()
        return Project(root, root / "configs", root / "baselines", root / "runs")
