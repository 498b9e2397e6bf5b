"""Parts shared by the commands: the project, common options, JSON output and report files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuregress.cli import console, values

if TYPE_CHECKING:
    from gpuregress.session.run_request import RunRequest
    from gpuregress.store.project import Project


def find_project(ctx: click.Context, jobs: Sequence[str] = ()) -> Project:
    """Find the project of the current folder, or of `-C DIR`; outside of any, that of the first path among `jobs`.

    Raises:
        UsageError: there is none.
    """
    from gpuregress.foundation.errors import UsageError
    from gpuregress.store import project

    try:
        return project.find(Path(ctx.obj or ".").absolute())
    except FileNotFoundError:
        raise UsageError("the current folder was deleted: change to another one, or name one with -C DIR") from None
    except UsageError:
        paths = [Path(job) for job in jobs if Path(job).exists()]
        if ctx.obj or not paths:
            raise
        return project.find(paths[0].absolute())


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Option `--json`: the result as one JSON document on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def unwritten_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Option `--unwritten-ok REASON`."""
    return click.option(
        "--unwritten-ok",
        default="",
        metavar="REASON",
        callback=lambda _ctx, _option, value: message(value),
        help="Accept outputs of which nothing was written, for this REASON; kept with the baseline.",
    )(function)


def is_interactive() -> bool:
    """Whether the user can be asked: stdin and stdout are terminals."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def print_json(value: Any) -> None:
    """Print plain JSON values."""
    from gpuregress.foundation.escapes import json_text

    console.say_document(json_text(value, indent=2) + "\n", is_inert=True)


def message_option(text: str) -> Callable[..., Any]:
    """Option `-m WHY`: kept with the decision, and printed with it."""
    return click.option(
        "-m", "--message", default="", metavar="WHY", callback=lambda _ctx, _option, value: message(value), help=text
    )


def message(text: str) -> str:
    """Check a message that will be stored.

    Raises:
        BadParameter: it holds a control character.
    """
    from gpuregress.foundation.escapes import one_line, visible

    if visible(text) != text:
        raise click.BadParameter(f"'{one_line(text)}' holds a control character; say it in plain text")
    return text


def write_report(target: str, text: str) -> None:
    """Write a report to a file, a pipe or a device, or to stdout for `-`.

    Raises:
        StorageError: it cannot be written.
    """
    if target == "-":
        console.say_document(text, is_inert=True)
        return
    from gpuregress.foundation import storage

    path = Path(target).resolve()  # a symbolic link stays one
    if path.exists() and not path.is_file() and not path.is_dir():
        with storage.disk_errors(path):  # /dev/null must not become a file
            path.write_text(text, encoding="utf-8")
        return
    storage.write_atomic(path, text.encode())


def report_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options `--report FORMAT=FILE`, `--json F`, `--junit F`, `--html F`."""
    for name, text in reversed(values.OWN_OPTIONS.items()):
        function = click.option(
            f"--{name}",
            multiple=True,
            callback=_only_one,
            metavar="F",
            type=values.REPORT,
            help=f"Write the results as {text} to F (- is stdout).",
        )(function)
    return report_files_option(function)


def _only_one(_ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> str | None:
    """The file of a report; a second one would be written and the first one not."""
    if len(given) > 1:
        name = param.name
        raise click.BadParameter(f"it is given {len(given)} times; a further file is --report {name}={given[-1]}")
    return given[0] if given else None


def name_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Option `-k GLOB`, for cases that match one of several globs."""
    return click.option(
        "-k",
        "name_glob",
        multiple=True,
        callback=lambda _ctx, _param, globs: "|".join(globs) or None,
        metavar="GLOB",
        help="Only cases whose name matches GLOB; can be repeated.",
    )(function)


def report_files_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Option `--report FORMAT=FILE`."""
    return click.option(
        "--report",
        "reports",
        multiple=True,
        metavar="FORMAT=FILE",
        type=values.REPORT_FILE,
        help=f"Write a report for another program (- is stdout): {', '.join(values.FORMATS)}; can be repeated.",
    )(function)


def commit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of the commands that run git commits: `--device`, `--timeout`, `--this-job`."""
    options = (
        click.option("--device", default="auto", show_default=True, metavar="auto|cpu|cuda[:N]", help="Where to run."),
        click.option("--timeout", type=values.SECONDS, metavar="S", help="For each case: seconds, or a time, as 2min."),
        click.option(
            "--this-job", is_flag=True, help="Run every commit with the job of the work tree, not with its own."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def device_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command that runs cases."""
    options = (
        click.option(
            "--device",
            default="auto",
            show_default=True,
            metavar="auto|cpu|cuda[:N]",
            help="Where to run; cuda takes every GPU of this host, auto a GPU if there is one.",
        ),
        name_option,
        click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only jobs with this tag; can be repeated."),
        click.option(
            "-j", "--jobs", "workers", type=click.IntRange(1, 1024), help="Workers  [default: one a core, or one a GPU]"
        ),
        click.option(
            "--repeat",
            type=click.IntRange(1, values.MOST_REPEATS),
            metavar="N",
            help="Run each case N times and compare the runs.",
        ),
        click.option("--timeout", type=values.SECONDS, metavar="S", help="For each case: seconds, or a time, as 2min."),
        click.option(
            "--poison",
            type=click.Choice(["twice"]),
            help="twice: run each case under two poisons, which proves the elements that nobody wrote.",
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
            help="On a GPU: each case once more under compute-sanitizer (memcheck, racecheck, initcheck, synccheck).",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def coverage_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Option `--coverage`."""
    return click.option(
        "--coverage",
        is_flag=True,
        help="On the CPU device: print the source lines, branches and bounds that no case executed.",
    )(function)


def wants_coverage(options: Mapping[str, Any]) -> bool:
    """Whether `--coverage` or a report of it is asked for: without counts the report would be empty."""
    return options["coverage"] or any(name == "lcov" for name, _ in report_targets(options))


def schedule_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options `--schedule NAME` and `--schedules N`."""
    function = click.option(
        "--schedules",
        type=click.IntRange(1, values.MOST_SCHEDULES),
        metavar="N",
        help="On the CPU device: run each case under N orders of blocks, warps and lanes, and compare the results.",
    )(function)
    return click.option(
        "--schedule",
        type=values.SCHEDULE,
        metavar="NAME",
        help="On the CPU device: the order of blocks, warps and lanes: forward, reverse, lockstep, adversarial, "
        "shuffled:SEED, or switches as blocks:1,0.",
    )(function)


def schedules_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The schedules that `schedule_options` name.

    Raises:
        UsageError: both are given.
    """
    name, count = options["schedule"], options["schedules"]
    if name is not None and count is not None:
        from gpuregress.foundation.errors import UsageError

        raise UsageError("--schedule runs under one schedule, --schedules compares several: give one of the two")
    if count is None and name is None:
        return ()
    from gpuregress.gpu import schedules

    return schedules.first(count) if count is not None else schedules.alone(name)


def cluster_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Option `--cluster ADDRESS` of the commands that can run cases on the hosts of a cluster."""
    return click.option(
        "--cluster",
        type=values.CLUSTER,
        metavar="ADDRESS",
        help="Run on the hosts of a Dask cluster: tcp://HOST:PORT; none: on this machine, whatever the settings say.",
    )(function)


def request_of(options: Mapping[str, Any], **more: Any) -> RunRequest:
    """The request that a command's options make: those that are named as a field of the request are its values.

    Args:
        options: from click.
        more: fields that are not an option's value as it is.
    """
    from gpuregress.session import run_request

    fields = run_request.RunRequest.__annotations__
    named = {name: value for name, value in options.items() if name in fields}
    return run_request.RunRequest(**{**named, "jobs": options["workers"], **more})


def report_targets(options: Mapping[str, Any]) -> tuple[values.Target, ...]:
    """The reports that `report_options` ask for."""
    own = [(name, options[name]) for name in values.OWN_OPTIONS if options.get(name)]
    return (*own, *options.get("reports", ()))


def writes_to_stdout(options: Mapping[str, Any]) -> bool:
    """Whether one of `report_options` is `-`, so that everything else must go to stderr.

    Raises:
        UsageError: two of them have one destination.
    """
    destinations: dict[str, str] = {}
    for format_, target in report_targets(options):
        name = f"--{format_}" if options.get(format_) == target else f"--report {format_}"
        destination = target if target == "-" else str(Path(target).resolve())
        other = destinations.get(destination)
        if other is not None and not Path(destination).is_char_device():
            from gpuregress.foundation.errors import UsageError

            where = "stdout" if target == "-" else target
            raise UsageError(f"{other} and {name} cannot both go to {where}: name a file for all but one")
        destinations[destination] = name
    return "-" in destinations
