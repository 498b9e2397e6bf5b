"""Commands that measure kernels and rules: `profile`, `accuracy`, `calibrate`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from gpuregress.cli import console, context, progress, shared_options, values
from gpuregress.foundation import dtypes
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import BufferAccuracy, to_json
from gpuregress.jobs.spec.overrides import of_texts
from gpuregress.lab import accuracy, calibrate, profile
from gpuregress.lab.accuracy import CaseAccuracy
from gpuregress.report import cost_report, html

_MOST_LINES = 8


@click.command("profile", epilog="Example: gpuregress profile transpose/rows=64,columns=96")
@click.argument("cases", nargs=-1, required=True, metavar="CASE...")
@shared_options.set_option
@shared_options.file_option("json", "json_file", "Write all counts as JSON")
@shared_options.file_option("html", "html_file", "Write the page of the run")
@click.pass_context
def profile_command(
    ctx: click.Context,
    /,
    cases: tuple[str, ...],
    overrides: tuple[str, ...],
    json_file: str | None,
    html_file: str | None,
) -> int:
    """Run each CASE (or every case of a job) on the CPU device, and count what each source line costs.

    Counts the instructions that warps issue, memory sectors for each request, bank conflicts and divergent branches.
    The counts are the same on every run and machine. Exits with the code of the run, which is 1 also if a case is new.
    """
    project = context.find_project(ctx, cases)
    with progress.transient() as listen:
        done = profile.profile(project, cases, listen, of_texts(overrides))
    if json_file:
        context.write_json(json_file, done.document(), indent=1)
    if html_file:
        context.write_report(html_file, html.render(done.summary))
    if "-" not in (json_file, html_file):
        for number, (name, costs) in enumerate(done.costs.items()):
            if number:
                console.say("")
            console.say_lines(cost_report.profile(name, costs, project.root))
    for verdict in done.summary.verdicts:
        if verdict.status != "pass":
            reason = verdict.headline if verdict.case in done.costs else f"not counted: {verdict.headline}"
            console.say(f"{verdict.case}: {reason}", err=True)
    if overrides:
        console.say_notes(done.summary.remarks)
    if done.summary.interrupted:
        console.say("interrupted", err=True)
    return done.summary.exit_code


@click.command("accuracy", epilog="Example: gpuregress accuracy 'reduce/n=65536,*'")
@click.argument("case", nargs=-1, required=True)
@shared_options.set_option
@shared_options.file_option("json", "target", "Write the results as JSON")
@click.pass_context
def accuracy_command(
    ctx: click.Context, /, case: tuple[str, ...], overrides: tuple[str, ...], target: str | None
) -> int:
    """Run a CASE beside itself in higher precision, and report the error of its results and the lines where it arises.

    float16, bfloat16 and float32 are computed as double, double as double-double, instruction by instruction. Runs on
    the CPU device and changes no file of the project. docs/how-to/accuracy.md says what is exact and what is not.

    Exits with 0, and with 2 if a case does not run or has no floating-point result.
    """
    done = accuracy.accuracy(context.find_project(ctx, list(case)), case, of_texts(overrides))
    if target is not None:
        context.write_json(target, to_json(done))
    for result in done.cases:
        console.say_lines(_case_lines(result), err=target == "-")
    console.say_notes(done.notes)
    for name, why in done.left.items():
        console.say(f"{name} {why}", err=True)
    return UsageError.exit_code if done.left else 0


def _case_lines(result: CaseAccuracy) -> Iterator[str]:
    """The errors of each buffer, then the source lines."""
    measured = result.accuracy
    yield result.case
    for buffer in measured.buffers:
        yield from buffer_lines(buffer, is_followed=not measured.restarts)
    if measured.lines:
        yield "  the error arises at"
        for line in measured.lines[:_MOST_LINES]:
            yield f"    {line.share:5.0%}  {_source_line(line.path, line.line)}  (up to {_number(line.ulp)} ulp)"
        more = len(measured.lines) - _MOST_LINES
        if more > 0:
            yield f"    and {more} more lines"
    for place in measured.cancellations:
        yield (
            f"  looks like catastrophic cancellation at {_source_line(place.path, place.line)}: "
            f"up to {place.bits} bits lost, {place.count} times"
        )
    for restart in measured.restarts[:_MOST_LINES]:
        yield (
            f"  not followed: {restart.instruction} at {_source_line(restart.path, restart.line)} "
            f"({restart.count} times); its results count as exact, or are left out"
        )
    if len(measured.restarts) > _MOST_LINES:
        yield f"  and {len(measured.restarts) - _MOST_LINES} more instructions that are not followed"
    if measured.lost:
        yield f"  {measured.lost} elements in memory were not followed, because there was no room; they count as exact"


def buffer_lines(buffer: BufferAccuracy, *, is_followed: bool) -> Iterator[str]:
    """The errors of a buffer; without an error none is reported as exact where shadows were lost."""
    word = "elements" if len(dtypes.parse(buffer.dtype).parts) == 1 else "parts of elements"
    untracked = buffer.elements - buffer.tracked
    left_out = f"; {untracked} without a value in higher precision are left out" if untracked else ""
    yield f"  {buffer.buffer}: {buffer.dtype} against {buffer.precision}, {buffer.tracked} {word}{left_out}"
    if not buffer.tracked:
        return
    if not (is_followed or buffer.largest or buffer.not_finite or buffer.never_finite):
        yield f"    not followed: {buffer.tracked} {word} without a known error; see the instructions below"
        return
    if buffer.compared:
        yield (
            f"    error in ulp: median {_number(buffer.median)}, 90% {_number(buffer.p90)}, "
            f"99% {_number(buffer.p99)}, largest {_number(buffer.largest)}"
        )
    if buffer.never_finite:
        yield f"    {buffer.never_finite} {word} are NaN or infinite on both sides, and left out"
    if buffer.not_finite:
        yield f"    {buffer.not_finite} {word} are finite on one side only"
    if buffer.compared:
        exact = "exact" if is_followed else "exact or not followed"
        bars = [f"{f'≤ {_number(bound)}' if bound else exact}: {count}" for bound, count in buffer.histogram]
        yield f"    {word} by error: {', '.join(bars)}"
    for worst in buffer.worst:
        element = f"[{', '.join(map(str, worst.index))}]"
        if worst.part:
            element += f".{worst.part}"
        yield f"    worst {element}: {worst.value}, exact {worst.exact}, {_number(worst.ulp)} ulp"


def _number(value: float) -> str:
    return f"{value:.3g}"


def _source_line(path: str, line: int) -> str:
    """`kernels/reduce.cu:31  acc += x[i];`."""
    if not path:
        return "an unknown line"
    shown = os.path.relpath(path)
    if shown.startswith("../../"):
        shown = path
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()[line - 1].strip()
    except (OSError, IndexError):
        text = ""
    return f"{shown}:{line}  {text}".rstrip()


@click.command("calibrate", epilog="Example: gpuregress calibrate dot --repeat 20")
@click.argument("case")
@click.option(
    "--repeat",
    type=click.IntRange(2, values.MOST_REPEATS),
    default=20,
    show_default=True,
    metavar="N",
    help="Runs on each device.",
)
@click.option(
    "--device", "devices", multiple=True, metavar="cpu|cuda[:N]", help="Where; can be repeated.  [default: all]"
)
@shared_options.json_option
@click.pass_context
def calibrate_command(ctx: click.Context, /, case: str, repeat: int, devices: tuple[str, ...], as_json: bool) -> int:
    """Run a CASE (or every case of a job) many times on every device of this machine, and print rules as YAML.

    The rule of each buffer is the tightest that holds: every bit equal, else `order: any` if values only change places,
    else a bound in ULPs, else a tolerance. The results are compared with one another and with the accepted baseline; a
    bound is twice the largest error seen. Exits with 1 if no rule holds for some buffer.
    """
    project = context.find_project(ctx)
    with progress.transient() as listen:
        done = calibrate.calibrate(project, case, repeat=repeat, devices=devices, listen=listen)
    if as_json:
        context.print_json(to_json(done))
    else:
        console.say_lines(done.yaml())
    return 0 if all(proposal.holds for proposal in done.proposals) else 1
