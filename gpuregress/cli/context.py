"""Parts shared by the commands: the project, the request of a run, and where results are written to."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from gpuregress.cli import console, values
from gpuregress.foundation import storage
from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.escapes import json_text
from gpuregress.gpu import schedules
from gpuregress.gpu.records import Record
from gpuregress.jobs.spec.job_files import is_of_another_program
from gpuregress.jobs.spec.overrides import of_texts
from gpuregress.session.run_request import RunRequest
from gpuregress.store import project
from gpuregress.store.project import Project

R = TypeVar("R", bound=Record)
_JOBS_BESIDE = "gpuregress-jobs"


def find_project(ctx: click.Context, jobs: Sequence[str] = ()) -> Project:
    """Find the project of the current folder, or of `-C DIR`; outside of any, that of the first path among `jobs`.

    Raises:
        UsageError: there is none.
    """
    try:
        return project.find(Path(ctx.obj or ".").absolute())
    except FileNotFoundError:
        raise UsageError("the current folder was deleted: change to another one, or name one with -C DIR") from None
    except UsageError:
        paths = [Path(job) for job in jobs if Path(job).exists()]
        if ctx.obj or not paths:
            raise
        return project.find(paths[0].absolute())


def find_or_begin_project(ctx: click.Context) -> Project:
    """Find the current project; where there is none, begin one in the current folder.

    A folder configs/ in which another program keeps its own YAML files does not get jobs: settings name another one.
    """
    try:
        found = find_project(ctx)
    except UsageError:
        return new_project(ctx)
    settings_file = found.root / project.SETTINGS_FILE
    if found.settings.written or settings_file.exists() or not is_of_another_program(found.configs):
        return found
    storage.write_atomic(settings_file, f"folders: {{configs: {_JOBS_BESIDE}}}\n".encode())
    console.say(
        f"configs/ has YAML files of another program: the jobs are written to {_JOBS_BESIDE}/, as "
        f"{project.SETTINGS_FILE} says now",
        err=True,
    )
    return project.find(found.root)


def new_project(ctx: click.Context) -> Project:
    """A project with the usual folders in the current folder, or in `-C DIR`."""
    root = Path(ctx.obj or ".").absolute()
    return Project(root, root / "configs", root / "baselines", root / "runs")


def is_interactive() -> bool:
    """Whether the user can be asked: stdin and stdout are terminals."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def relative(path: Path) -> Path:
    """A path relative to the current folder, where it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def print_json(value: Any) -> None:
    """Print plain JSON values."""
    write_json("-", value)


def write_json(target: str, value: Any, indent: int = 2) -> None:
    """Write plain JSON values to a file, or to stdout for `-`."""
    write_report(target, json_text(value, indent=indent) + "\n")


def write_report(target: str, text: str) -> None:
    """Write a report to a file, a pipe or a device, or to stdout for `-`.

    Raises:
        StorageError: it cannot be written.
    """
    if target == "-":
        console.say_document(text, is_inert=True)
        return
    path = Path(target).resolve()  # a symbolic link stays one
    if path.exists() and not path.is_file() and not path.is_dir():
        with storage.disk_errors(path):  # /dev/null must not become a file
            path.write_text(text, encoding="utf-8")
        return
    storage.write_atomic(path, text.encode())


def wants_coverage(options: Mapping[str, Any]) -> bool:
    """Whether `--coverage` or a report of it is asked for: without counts the report would be empty."""
    return options["coverage"] or any(name == "lcov" for name, _ in report_targets(options))


def schedules_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The schedules that `schedule_options` name.

    Raises:
        UsageError: both are given.
    """
    name, count = options["schedule"], options["schedules"]
    if name is not None and count is not None:
        raise UsageError("--schedule runs under one schedule, --schedules compares several: give one of the two")
    if count is not None:
        return schedules.first(count)
    return () if name is None else schedules.alone(name)


def request_of(options: Mapping[str, Any], **more: Any) -> RunRequest:
    """The request that a command's options make: those that are named as a field of the request are its values.

    Args:
        options: from click.
        more: fields that are not an option's value as it is.
    """
    parameters = of_texts(options.get("overrides", ()))
    return record_of(RunRequest, options, **{"jobs": options["workers"], "parameters": parameters, **more})


def record_of(kind: type[R], options: Mapping[str, Any], **more: Any) -> R:
    """Make a record of a command's options: those that are named as a field of it are its values.

    Args:
        kind: of the record.
        options: from click.
        more: fields that are not an option's value as it is.
    """
    fields = {name: value for name, value in options.items() if name in kind.__struct_fields__}
    return kind(**{**fields, **more})


def report_targets(options: Mapping[str, Any]) -> tuple[values.Target, ...]:
    """The reports that `report_options` ask for."""
    targets = [(name, options[name]) for name in values.OWN_OPTIONS if options.get(name)]
    return (*targets, *options.get("reports", ()))


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
            where = "stdout" if target == "-" else target
            raise UsageError(f"{other} and {name} cannot both go to {where}: name a file for all but one")
        destinations[destination] = name
    return "-" in destinations
