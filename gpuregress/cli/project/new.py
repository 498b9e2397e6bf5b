"""Command `gpuregress new`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuregress.cli import console, context

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuregress.lab.drafts.new import Draft
    from gpuregress.store.project import Project


@click.command(
    "new",
    short_help="write jobs to start from, out of host code and signatures, and run them",
    epilog="Example: gpuregress new kernels/mine.cu",
)
@click.argument("source", metavar="KERNEL.cu", type=click.Path(path_type=Path))
@click.option("--kernel", metavar="NAME", help="Only this kernel of the source.")
@click.option("--function", metavar="NAME", help="Device functions to test instead: a name or a pattern, as '*'")
@click.option(
    "-o", "--output", metavar="F", type=click.Path(path_type=Path), help="The job's file  [default: in configs/]"
)
@click.option("--device", default="auto", metavar="DEVICE", help="Where the drafts are run: auto, cpu, cuda or cuda:N")
@click.option("--no-run", "draft_only", is_flag=True, help="Write the drafts and do not run them.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    source: Path,
    kernel: str | None,
    function: str | None,
    output: Path | None,
    device: str,
    draft_only: bool,
) -> None:
    """Write a job for each kernel of KERNEL.cu to configs/, and run the drafts.

    Buffers, launch and arguments come from the launches, allocations and constants of the host code; where it has none,
    from the kernel's signature. What is a guess is marked with what is needed. A Python file gets a job for its first
    kernel in Triton or Numba. A C++ source without kernels gets one for its first device function; --function chooses
    others, each in a file of its own. Never overwrites a file. Exits with 0 once the drafts are written.
    """
    from gpuregress.foundation.errors import UsageError
    from gpuregress.lab.drafts import new

    project = _project(ctx)
    if function is not None and kernel is not None:
        raise UsageError("--kernel and --function are both given: leave one out")
    if function is None:
        drafts = new.draft_kernels(project, source, kernel=kernel, target=output)
    else:
        drafts = new.draft_functions(project, source, function, target=output)
    for made in drafts:
        _say_written(made)
    if drafts[0].others:
        console.say(f"the source's other kernels: {', '.join(drafts[0].others)} (--kernel NAME)")
    if drafts[0].functions and function is None:
        other = "" if drafts[0].others or kernel else "other "
        console.say(f"the source's {other}device functions: {', '.join(drafts[0].functions)} (--function NAME, or '*')")
    written = [made for made in drafts if not made.is_kept and not made.refusal]
    if written and not draft_only:
        _try(project, written, device)


def _say_written(made: Draft) -> None:
    shown = made.path.relative_to(Path.cwd()) if made.path.is_relative_to(Path.cwd()) else made.path
    if made.is_kept:
        console.say(f"{shown}: already there, and left as it is")
        return
    if made.refusal:
        console.say(f"{made.kernel}: no job is written: {made.refusal}")
        return
    origin = ", from its launch in the host code" if made.is_launched else ""
    console.say(f"{shown}: a job for {made.kernel}{origin}; edit it, then: gpuregress check {shown}")
    for one in made.needed:
        console.say(f"  needed: {one}")
    for one in made.remarks:
        console.say(f"  {one}")


def _try(project: Project, drafts: Sequence[Draft], device: str) -> None:
    """Run the drafts and report; what goes wrong in a draft is no error of the command."""
    from gpuregress.cli import progress
    from gpuregress.foundation.errors import GpuregressError, Interrupted
    from gpuregress.lab.drafts import trial
    from gpuregress.session import session
    from gpuregress.session.run_request import RunRequest

    console.say("")
    large = [made for made in drafts if made.buffer_bytes > trial.MOST_BYTES]
    for made in large:
        console.say(
            f"{made.path.stem} is not run: its buffers have {made.buffer_bytes / 2**30:.1f} GiB; give its parameters "
            f"smaller values, then: gpuregress run {made.path.stem}"
        )
    drafts = [made for made in drafts if made not in large]
    if not drafts:
        return
    found = trial.find_sizes(project, {made.path: made.guessed_sizes for made in drafts}, device)
    for path, sizes in found.items():
        shown = ", ".join(f"{one.buffer} with {one.elements}" for one in sizes)
        console.say(f"{path.stem}: elements of buffers were found by trial: {shown}")
    request = RunRequest(selectors=tuple(str(made.path) for made in drafts), device=device, timeout=trial.LIMIT_S)
    try:
        with session.opened(request) as opened:
            with progress.listener(0) as listen:
                summary = opened.run(project, listen)
            progress.show_closing(summary, project.root, 0, to_stderr=False)
        for line in trial.late(summary):
            console.say(line)
        guessed = [made.path.stem for made in drafts if made.needed]
        if guessed:
            console.say(f"accept none of these before you gave what is NEEDED in them: {', '.join(guessed)}")
    except Interrupted:
        raise
    except GpuregressError as error:
        console.say(f"the drafts do not run yet: {error}")


def _project(ctx: click.Context) -> Project:
    """The current project, or a new one in the current folder."""
    from gpuregress.foundation.errors import UsageError
    from gpuregress.store.project import Project

    try:
        return context.find_project(ctx)
    except UsageError:
        root = Path(ctx.obj or ".").absolute()
        return Project(root, root / "configs", root / "baselines", root / "runs")
