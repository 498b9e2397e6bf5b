"""Options of `nightly` that install it in a scheduler: `--install`, `--write`, `--at`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpuregress.cli import console, context, values

if TYPE_CHECKING:
    from gpuregress.report.messages.installation.night_command import NightCommand

SCHEDULERS = ("cron", "systemd", "github", "gitlab", "slurm")
_OWN = ("install", "write", "at")


class _Time(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Convert `02:30`."""
        match = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", str(value))
        if match is None:
            self.fail(f"{value!r} is no time; expected HH:MM, as 02:00", param, ctx)
        return int(match[1]), int(match[2])


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options `--install SCHEDULER`, `--write`, `--at HH:MM`."""
    for option in (
        click.option(
            "--at", type=_Time(), default="02:00", metavar="HH:MM", help="When, for --install  [default: 02:00]"
        ),
        click.option("--write", is_flag=True, help="With --install: install the lines, and say what is left to do."),
        click.option(
            "--install",
            type=click.Choice(SCHEDULERS),
            help="Print the lines that let a scheduler run this command every night; run nothing.",
        ),
    ):
        function = option(function)
    return function


def install(ctx: click.Context, given: Mapping[str, Any]) -> int:
    """Print the lines of `--install` on stdout, and what is left to do on stderr.

    Raises:
        UsageError: `--write` without `--install`, `--resume` with it, or a path that the scheduler's file cannot hold.
        StorageError: the lines cannot be installed.
    """
    from gpuregress.foundation.errors import UsageError
    from gpuregress.report.messages import installation
    from gpuregress.report.messages.installation import hosts, night_command

    scheduler = given["install"]
    if scheduler is None:
        raise UsageError(f"--write belongs to --install: name a scheduler, {', '.join(SCHEDULERS)}")
    if given.get("resume"):
        raise UsageError("--resume continues one night, and ends with 5 after others: install the command without it")
    night = _night(ctx)
    plan = installation.plan(scheduler, night)
    console.say_document(plan.text)
    hints = plan.after if given["write"] else plan.todo
    if given["write"] and scheduler == "cron":
        console.say(f"gpuregress: {hosts.install_crontab(night)}", err=True)
    elif given["write"]:
        night_command.write_files(plan.files)
        for file in plan.files:
            console.say(f"gpuregress: wrote {file.path}", err=True)
    if night.secrets and scheduler not in ("github", "gitlab"):
        names = " ".join(f"{name}=…" for name in night.secrets)
        hints = (*hints, f"put the secrets into {night.secrets_file} (chmod 600), a line each: {names}")
    for hint in hints:
        console.say(f"gpuregress: {hint}", err=True)
    return 0


def crontab_line(ctx: click.Context) -> str:
    """The line of `--install cron`, for the command's help; without a project, that of the current folder."""
    from gpuregress.foundation.errors import GpuregressError
    from gpuregress.report.messages.installation import hosts, night_command
    from gpuregress.store.project import Project

    try:
        project = context.find_project(ctx)
    except GpuregressError:
        root = Path(ctx.obj or ".").absolute()
        project = Project(root, root / "configs", root / "baselines", root / "runs")
    try:
        return hosts.crontab_line(night_command.of_project(project, (), (2, 0)))
    except GpuregressError as error:
        return str(error)


def _night(ctx: click.Context) -> NightCommand:
    from gpuregress.report.messages.installation import night_command

    project = context.find_project(ctx)
    return night_command.of_project(project, _arguments(ctx, project.root), ctx.params["at"])


def _arguments(ctx: click.Context, root: Path) -> tuple[str, ...]:
    """The other options of the command line, as words for a process whose current folder is the project's."""
    words: list[str] = []
    for param in ctx.command.params:
        name = param.name or ""
        if name in _OWN or ctx.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            continue
        value, option = ctx.params[name], max(param.opts, key=len)
        if isinstance(param, click.Option) and param.is_flag:
            words += [option] if value else [param.secondary_opts[0]]
            continue
        for one in value if isinstance(value, tuple) else (value,):
            words += [option, _word(name, one, root)]
    return tuple(words)


def _word(name: str, value: Any, root: Path) -> str:
    if name == "reports":
        return f"{value[0]}={_file(value[1], root)}"
    if name in values.OWN_OPTIONS:
        return _file(str(value), root)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _file(target: str, root: Path) -> str:
    """A report's file, relative to the project where it is below it."""
    if target == "-":
        return target
    path = Path(os.path.abspath(target))  # noqa: PTH100 - a symbolic link stays one
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
