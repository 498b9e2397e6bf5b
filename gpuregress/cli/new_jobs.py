"""Drafts of `gpuregress new`, their reports and first runs; and the command `gpuregress capture`."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from gpuregress.cli import console, context, progress, shared_options, values
from gpuregress.foundation.errors import (
    GpuregressError,
    HarnessError,
    Interrupted,
    KernelFault,
    NothingToDo,
    UsageError,
)
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import replace
from gpuregress.lab.capture import capture
from gpuregress.lab.capture.capture import Capture
from gpuregress.lab.drafts import build_search, new, trial
from gpuregress.lab.drafts.build_search import FoundBuild
from gpuregress.lab.drafts.launch_facts import HostProgram
from gpuregress.lab.drafts.new import Draft
from gpuregress.lab.drafts.trial import TriedJob
from gpuregress.session import session
from gpuregress.session.events import Event, Judged
from gpuregress.store.project import Project
from gpuregress.toolchain.include_scanner import SUFFIXES

_SHOWN = 10
"""Launches that never came back."""


def draft(
    project: Project,
    source: Path,
    kernel: str | None,
    function: str | None,
    output: Path | None,
    commands: Path | None,
) -> Sequence[Draft]:
    """Write the jobs of a source, as `gpuregress new` has the arguments."""
    read_host = functools.cache(HostProgram)

    def read_ahead() -> None:
        """Read the host code while the compiler is busy; what goes wrong is told where it is needed."""
        if function is None:
            with contextlib.suppress(Exception):
                read_host(source)

    found = _build(project, source, commands, read_ahead)
    if function is not None:
        return new.draft_functions(project, source, function, target=output, build=found.options, whole=found.whole)
    return new.draft_kernels(
        project,
        source,
        kernel=kernel,
        target=output,
        build=found.options,
        whole=found.whole,
        read_host=read_host,
    )


def say_drafts(drafts: Sequence[Draft], *, has_kernel: bool, has_function: bool) -> None:
    """Report drafts, and what else the source has.

    Args:
        drafts: of one source.
        has_kernel: whether one of its kernels was chosen.
        has_function: whether device functions were chosen.
    """
    for draft in drafts:
        _say_written(draft)
    for line in new.refusal_lines(drafts):
        console.say(line)
    if drafts[0].others:
        console.say(f"the source's other kernels: {', '.join(drafts[0].others)} (--kernel NAME)")
    if drafts[0].functions and not has_function:
        other = "" if drafts[0].others or has_kernel else "other "
        names = ", ".join(drafts[0].functions)
        console.say(f"the source's {other}device functions: {names} (--function NAME, or '*')")


def try_drafts(project: Project, drafts: Sequence[Draft], device: str, drafting_s: float) -> None:
    """Run the drafts that were written, and report; what goes wrong in a draft is no error of the command.

    Args:
        project: whose jobs they are.
        drafts: of one source.
        device: where they are run.
        drafting_s: what it took to write them, seconds.
    """
    written = [draft for draft in drafts if not draft.is_kept and not draft.refusal]
    if not written:
        return
    try:
        with session.keeping_workers():
            _try(project, written, device, drafting_s)
    except Interrupted:
        raise
    except GpuregressError as error:
        console.say(f"the drafts do not run yet: {error}")


def _build(project: Project, source: Path, commands: Path | None, meanwhile: Callable[[], object]) -> FoundBuild:
    """Find what the source is compiled with, and report where it comes from."""
    if source.suffix not in SUFFIXES or not source.is_file():
        if commands is not None and source.suffix == ".py":
            raise UsageError("--compile-commands is for CUDA C++, and the source is Python: leave it out")
        return FoundBuild()
    found = build_search.find(project, source, commands, meanwhile)
    for note in found.notes:
        console.say(note)
    return found


def _say_written(draft: Draft) -> None:
    path = context.relative(draft.path)
    if draft.is_kept:
        console.say(f"{path}: already exists and was not changed")
        return
    if draft.refusal:
        return
    origin = ", from its launch in the host code" if draft.is_launched else ""
    if draft.is_chain:
        origin = ", one after the other as in the host code"
    console.say(f"{path}: a job for {draft.kernel}{origin}; edit it, then: gpuregress check {path}")
    for guess in draft.needed:
        console.say(f"  needed: {guess}")
    for remark in draft.remarks:
        console.say(f"  {remark}")


def _try(project: Project, drafts: Sequence[Draft], device: str, drafting_s: float) -> None:
    console.say("")
    tried = []
    for draft in drafts:
        if draft.buffer_bytes <= trial.MOST_BYTES:
            tried.append(draft)
            continue
        console.say(
            f"{draft.path.stem} is not run: its buffers have {draft.buffer_bytes / 2**30:.1f} GiB; give its parameters "
            f"smaller values, then: gpuregress run {draft.path.stem}"
        )
    if not tried:
        return
    events: list[Event] = []
    limits = trial.run_limits(drafting_s)
    request = trial.first_run_request(device, limits)
    with progress.transient() as bar:

        def keep(event: Event) -> None:
            """Keep what is shown if no draft is changed."""
            events.append(event)
            bar(event)

        summary = session.run(project, [str(draft.path) for draft in tried], request, listen=keep)
    guessed_sizes = {draft.path: draft.guessed_sizes for draft in tried}
    jobs = [] if summary.interrupted else trial.find_sizes(project, guessed_sizes, device, limits, summary)
    for job in jobs:
        _say_changed(job)
    late = trial.late(summary, limits.case_s)
    with progress.listener(0) as listen:
        if jobs:
            # What did not end and is as it was would not end in the same time again.
            unended = late.keys() - {job.path.stem for job in jobs}
            for event in events:
                if isinstance(event, Judged) and event.verdict.job in unended:
                    listen(event)
            again = [str(draft.path) for draft in tried if draft.path.stem not in unended]
            request = trial.first_run_request(device, limits)
            summary = session.run(project, again, request, listen=listen)
            late = {job: late[job] for job in unended} | trial.late(summary, limits.case_s)
        else:
            for event in events:
                listen(event)
    progress.show_closing(summary, project.root, 0, to_stderr=False)
    if summary.interrupted:
        raise Interrupted("interrupted")
    for line in late.values():
        console.say(line)
    guessed = [draft.path.stem for draft in tried if draft.needed]
    if guessed:
        console.say(f"before you accept these, fill in what is marked NEEDED: {', '.join(guessed)}")


def _say_changed(job: TriedJob) -> None:
    for size in job.sizes.values():
        console.say(
            f"{job.path.stem}: {size.buffer} has {size.elements} elements now, because the kernel accessed "
            f"{size.buffer}[{size.index}] of {size.guess}: if that is a mistake of the kernel, give {size.buffer} "
            "its size again"
        )
    if job.changes:
        console.say(f"{job.path.stem}: changed by trial, because it faulted: {', '.join(job.changes)}")


@click.command(
    "capture",
    epilog="Example: gpuregress capture --kernel 'saxpy*' -- ./app --size 1000",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@shared_options.capture_options
@click.option(
    "--launch-timeout",
    "wait",
    metavar="SECONDS",
    type=values.LIMIT_S,
    default=60,
    help="Longest wait for a launch that is kept; 0: none  [default: 60]",
)
@click.option(
    "--sync", is_flag=True, help="Wait for each launch, and flush its log line to disk: slow; names the failing launch."
)
@click.argument(
    "command", nargs=-1, required=True, metavar="-- APP [ARGS]...", type=click.UNPROCESSED, callback=values.program
)
@click.pass_context
def capture_command(
    ctx: click.Context,
    /,
    wait: int,
    sync: bool,
    command: tuple[str, ...],
    **options: Any,
) -> int:
    """Run APP on this machine's GPU, and write a job for each kernel that it launches.

    A job replays one launch without APP: with its arguments, the contents of its memory and its result on the GPU.
    Every launch is written to captured/launch.log before it starts, so after a crash the log names the kernel.
    """
    choice = replace(shared_options.choice_of(options), sync=sync, wait=wait)
    project = context.find_or_begin_project(ctx)
    done = capture.capture(project, command, choice, source=options["source"], seconds=options["replay"])
    _say_captured(done)
    if done.failures:
        return KernelFault.exit_code
    if done.problems or done.cut or done.end.code or done.lack:
        return HarnessError.exit_code
    if not done.launches:
        console.say("no launch was seen: the application launched no kernel, or does not use CUDA")
        return NothingToDo.exit_code
    if not done.jobs and not done.refused and choice.most != 0:
        console.say("no launch was kept: none matches --kernel, --nth or --every; the log lists all launches")
        return NothingToDo.exit_code
    return 0


def _say_captured(done: Capture) -> None:
    for problem in done.problems:
        console.say(problem, err=True)
    for line in capture.describe_jobs(done.jobs, done.refused, context.relative):
        console.say(line)
    launches, processes = plural(done.launches, "launch"), plural(done.processes, "process")
    console.say(f"{context.relative(done.log)}: {launches} of {processes}")
    for failure in done.failures:
        console.say(f"failed: launch {failure.number}: {failure.call}: {failure.text}")
    if not done.failures:
        for text in done.unfinished[:_SHOWN]:
            console.say(f"never returned: {text}")
        if len(done.unfinished) > _SHOWN:
            console.say(f"never returned: {len(done.unfinished) - _SHOWN} more")
        for process in done.cut:
            console.say(f"process {process} ended while launches were under way, and not by exit(0)")
    if done.end.text:
        console.say(done.end.text)
    if done.jobs:
        console.say(f"to replay: gpuregress run {context.relative(done.jobs[0].path)}")
    if done.lack:
        console.say(f"no launch was seen: {done.lack}")
