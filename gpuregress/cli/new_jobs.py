"""Commands that write jobs: `new`, `capture`."""

from __future__ import annotations

import time
from collections.abc import Sequence
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
from gpuregress.lab.drafts.new import Draft
from gpuregress.lab.drafts.trial import TriedJob
from gpuregress.session import compilation, session
from gpuregress.session.events import Event, Judged
from gpuregress.store.project import Project
from gpuregress.toolchain import include_scanner, programs
from gpuregress.toolchain.include_scanner import SUFFIXES

_SHOWN = 10
"""Launches that never came back."""


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
    project = context.find_or_begin_project(ctx)
    if function is not None and kernel is not None:
        raise UsageError("--kernel and --function are both given: leave one out")
    with programs.keeping_unknown(), include_scanner.reading_once():
        with compilation.keeping_compilers():
            found = _build(project, source, commands)
            build = found.options
            if function is None:
                drafts = new.draft_kernels(
                    project, source, kernel=kernel, target=output, build=build, whole=found.whole
                )
            else:
                drafts = new.draft_functions(project, source, function, target=output, build=build)
        for draft in drafts:
            _say_written(draft)
        for line in new.refusal_lines(drafts):
            console.say(line)
        if drafts[0].others:
            console.say(f"the source's other kernels: {', '.join(drafts[0].others)} (--kernel NAME)")
        if drafts[0].functions and function is None:
            other = "" if drafts[0].others or kernel else "other "
            names = ", ".join(drafts[0].functions)
            console.say(f"the source's {other}device functions: {names} (--function NAME, or '*')")
        written = [draft for draft in drafts if not draft.is_kept and not draft.refusal]
        if written and not draft_only:
            with session.keeping_workers():
                _try(project, written, device, time.monotonic() - start)


def _build(project: Project, source: Path, commands: Path | None) -> FoundBuild:
    """Find what the source is compiled with, and report where it comes from."""
    if source.suffix not in SUFFIXES or not source.is_file():
        if commands is not None and source.suffix == ".py":
            raise UsageError("--compile-commands is for CUDA C++, and the source is Python: leave it out")
        return FoundBuild()
    found = build_search.find(project, source, commands)
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
    """Run the drafts and report; what goes wrong in a draft is no error of the command."""
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
    try:
        request = trial.first_run_request(device, limits)
        with progress.transient() as bar:

            def keep(event: Event) -> None:
                """Keep what is shown if no draft is changed."""
                events.append(event)
                bar(event)

            summary = session.run(project, [str(draft.path) for draft in tried], request, listen=keep)
        guessed_sizes = {draft.path: draft.guessed_sizes for draft in tried}
        jobs = trial.find_sizes(project, guessed_sizes, device, limits, summary)
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
        for line in late.values():
            console.say(line)
        guessed = [draft.path.stem for draft in tried if draft.needed]
        if guessed:
            console.say(f"before you accept these, fill in what is marked NEEDED: {', '.join(guessed)}")
    except Interrupted:
        raise
    except GpuregressError as error:
        console.say(f"the drafts do not run yet: {error}")


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
