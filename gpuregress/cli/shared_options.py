"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from gpuregress.cli import values
from gpuregress.foundation.applications import LaunchChoice
from gpuregress.foundation.document import units
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.escapes import one_line, visible

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def checked_message(text: str) -> str:
    """Check a message that will be stored.

    Raises:
        BadParameter: it holds a control character.
    """
    if visible(text) != text:
        raise click.BadParameter(f"'{one_line(text)}' holds a control character; say it in plain text")
    return text


def _check_message(_ctx: click.Context, _option: click.Parameter, text: str) -> str:
    return checked_message(text)


def _join_globs(_ctx: click.Context, _option: click.Parameter, globs: tuple[str, ...]) -> str | None:
    return "|".join(globs) or None


def _refuse_second(_ctx: click.Context, option: click.Parameter, files: tuple[str, ...]) -> str | None:
    """The file of a report; a second one would be written and the first one not."""
    if len(files) > 1:
        name = option.name
        raise click.BadParameter(f"it is given {len(files)} times; a further file is --report {name}={files[-1]}")
    return files[0] if files else None


def combined(*options: Decorator) -> Decorator:
    """One decorator for several options, which the help lists in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def message_option(text: str) -> Decorator:
    """Option `-m WHY`: kept with the decision, and printed with it."""
    return click.option("-m", "--message", default="", metavar="WHY", callback=_check_message, help=text)


def seed_option(what: str) -> Decorator:
    """Option `--seed N`."""
    return click.option(
        "--seed", type=values.SEED, default=0, show_default=True, metavar="N", help=f"The seed of the {what}."
    )


def file_option(name: str, variable: str, text: str) -> Decorator:
    """Option `--NAME F`: a file for results, or `-`."""
    return click.option(f"--{name}", variable, metavar="F", type=values.REPORT, help=f"{text} to F (- is stdout).")


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
unwritten_option = click.option(
    "--unwritten-ok",
    default="",
    metavar="REASON",
    callback=_check_message,
    help="Accept outputs of which nothing was written, for this REASON; kept with the baseline.",
)
checks_option = click.option(
    "--check",
    "checks",
    type=values.NonEmpty(),
    multiple=True,
    metavar="NAMES",
    help="Dynamic checks, as for run: all, or races, uninitialized, barriers, leaks.",
)
name_option = click.option(
    "-k",
    "name_glob",
    multiple=True,
    callback=_join_globs,
    metavar="GLOB",
    help="Only cases whose name matches GLOB; can be repeated.",
)
tag_option = click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="Only jobs with this tag; can be repeated."
)
set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="NAME=VALUE",
    help="Give a parameter of the jobs another value, or several: block=256, n=[1000,4096]; can be repeated.",
)
timeout_option = click.option(
    "--timeout", type=values.SECONDS, metavar="S", help="Time limit of each case: seconds, or a time such as 2min."
)
device_option = click.option(
    "--device", default="auto", show_default=True, metavar="auto|cpu|cuda[:N]", help="Where to run."
)
report_files_option = click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FORMAT=FILE",
    type=values.REPORT_FILE,
    help=f"Write a report for another program (- is stdout): {', '.join(values.FORMATS)}; can be repeated.",
)
coverage_option = click.option(
    "--coverage",
    is_flag=True,
    help="On the CPU device: print the source lines, branches and bounds that no case executed.",
)
cluster_option = click.option(
    "--cluster",
    type=values.CLUSTER,
    metavar="ADDRESS",
    help="Run on the hosts of a Dask cluster: tcp://HOST:PORT; none: on this machine, whatever the settings say.",
)
report_options = combined(
    report_files_option,
    *(
        click.option(
            f"--{name}",
            multiple=True,
            callback=_refuse_second,
            metavar="F",
            type=values.REPORT,
            help=f"Write the results as {text} to F (- is stdout).",
        )
        for name, text in values.OWN_OPTIONS.items()
    ),
)
commit_options = combined(
    device_option,
    timeout_option,
    click.option("--this-job", is_flag=True, help="Run every commit with the job of the work tree, not with its own."),
)
device_options = combined(
    click.option(
        "--device",
        default="auto",
        show_default=True,
        metavar="auto|cpu|cuda[:N]",
        help="Where to run; cuda takes every GPU of this host, auto a GPU if there is one.",
    ),
    name_option,
    tag_option,
    click.option(
        "-j",
        "--jobs",
        "workers",
        type=click.IntRange(1, 1024),
        help="Workers  [default: one per core, or one per GPU]",
    ),
    click.option(
        "--repeat",
        type=click.IntRange(1, values.MOST_REPEATS),
        metavar="N",
        help="Run each case N times and compare the runs.",
    ),
    timeout_option,
    click.option(
        "--poison",
        type=click.Choice(["twice"]),
        help="twice: run each case with two fill patterns (poisons) in its outputs, which shows the elements that "
        "were never written.",
    ),
    click.option(
        "--check",
        "checks",
        multiple=True,
        metavar="NAMES",
        help="On the CPU device: watch for races, uninitialized, barriers, leaks, or all (comma-separated).",
    ),
    click.option(
        "--sanitize",
        metavar="TOOL",
        type=click.Choice(["memcheck", "racecheck", "initcheck", "synccheck"]),
        help="On a GPU: run each case once more under compute-sanitizer (memcheck, racecheck, initcheck, synccheck).",
    ),
)
schedule_options = combined(
    click.option(
        "--schedule",
        type=values.SCHEDULE,
        metavar="NAME",
        help="On the CPU device: the order of blocks, warps and lanes: forward, reverse, lockstep, adversarial, "
        "shuffled:SEED, or switches such as blocks:1,0.",
    ),
    click.option(
        "--schedules",
        type=click.IntRange(1, values.MOST_SCHEDULES),
        metavar="N",
        help="On the CPU device: run each case under N orders of blocks, warps and lanes, and compare the results.",
    ),
)
capture_options = combined(
    click.option("--kernel", metavar="GLOB", default="*", help="Only kernels of this name or pattern."),
    click.option("--nth", metavar="N", type=values.LAUNCHES, help="Keep the Nth launch of each kernel."),
    click.option("--every", metavar="N", type=values.LAUNCHES, help="Keep every Nth launch, from the first on."),
    click.option(
        "--max",
        "most",
        metavar="M",
        type=click.IntRange(0, values.LAUNCHES.max),
        help="Keep the first M launches  [default: 1]",
    ),
    click.option(
        "--max-bytes",
        metavar="B",
        default="1GiB",
        help="Bytes of memory that are kept for each kernel  [default: 1GiB]",
    ),
    click.option(
        "--source", metavar="F", type=click.Path(path_type=Path), help="The kernels' source, in place of captured PTX."
    ),
    click.option(
        "--replay",
        metavar="SECONDS",
        type=values.LIMIT_S,
        default=60,
        help="Limit of each kernel's replay on the CPU device; 0: none  [default: 60]",
    ),
)


def choice_of(options: Mapping[str, Any]) -> LaunchChoice:
    """The launches that `capture_options` choose.

    Raises:
        UsageError: two of them contradict each other, or the size is none.
    """
    counts = [name for name in ("nth", "every", "most") if options[name] is not None]
    if len(counts) > 1:
        first, second = (f"--{name.replace('most', 'max')}" for name in counts[:2])
        raise UsageError(f"{first} and {second} are both given: leave one out")
    try:
        limit = units.size(options["max_bytes"])
    except ValueError as error:
        raise UsageError(f"--max-bytes: {error}") from None
    return LaunchChoice(
        kernels=options["kernel"],
        nth=options["nth"] or 0,
        every=options["every"] or 0,
        most=1 if options["most"] is None else options["most"],
        max_bytes=limit,
    )
