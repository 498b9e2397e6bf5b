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
    short_help="write a job to start from, out of a kernel's signature",
    epilog="Example: gpuregress new kernels/mine.cu",
)
@click.argument("source", metavar="KERNEL.cu", type=click.Path(path_type=Path))
@click.option("--kernel", metavar="NAME", help="Which kernel of the source  [default: the first]")
@click.option(
    "-o", "--output", metavar="F", type=click.Path(path_type=Path), help="The job's file  [default: configs/NAME.yaml]"
)
@click.pass_context
def command(ctx: click.Context, /, source: Path, kernel: str | None, output: Path | None) -> None:
    """Write a job for a kernel of KERNEL.cu, with buffers, launch and arguments from its signature.

    The number of elements and the grid are guesses, marked as such. Never overwrites a file.
    """
    from gpuregress.operations import new

    project = _project(ctx)
    made = new.draft(project, source, kernel=kernel, target=output)
    shown = made.path.relative_to(Path.cwd()) if made.path.is_relative_to(Path.cwd()) else made.path
    console.say(f"{shown}: a job for {made.kernel}; edit it, then: gpuregress check {shown}")
    if made.others:
        console.say(f"the source's other kernels: {', '.join(made.others)} (--kernel NAME)")


def _project(ctx: click.Context) -> Project:
    """The current project, or a new one in the current folder."""
    from gpuregress.errors import UsageError
    from gpuregress.project import Project

    try:
        return context.find_project(ctx)
    except UsageError:
        root = Path(ctx.obj or ".").absolute()
        return Project(root, root / "configs", root / "baselines", root / "runs")
