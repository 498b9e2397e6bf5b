"""Command `nightly`: the unattended run, its messages, and its installation in a scheduler."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from gpuregress.cli import console, context, errors, report_files, shared_options, values
from gpuregress.foundation.errors import GpuregressError, Interrupted, RunLocked, StorageError, UsageError
from gpuregress.foundation.escapes import entry
from gpuregress.foundation.records import RunSummary
from gpuregress.gpu.records import replace
from gpuregress.lab.revisions import bisect
from gpuregress.report import morning
from gpuregress.report.messages import installation, notices, web_request
from gpuregress.report.messages.installation import hosts, night_command
from gpuregress.report.messages.installation.night_command import NightCommand
from gpuregress.report.messages.mail import KeptMail, MailRoom
from gpuregress.report.messages.notices import Notice
from gpuregress.session import nightly
from gpuregress.store.project import Project

SCHEDULERS = ("cron", "systemd", "github", "gitlab", "slurm")
UNSENT_MAILS = "unsent-mails"
"""In the folder of runs."""
_OF_INSTALLATION = ("install", "write", "at", "package")
"""Options that are no part of the installed command."""


class Night:
    """What a night has said so far; nothing is sent before `begin`."""

    def __init__(self) -> None:
        self._project: Project | None = None
        self._lines: list[str] = []
        self._failures: list[str] = []
        self._to_stderr = False
        self._refused: OSError | None = None
        self._kept: list[KeptMail] = []
        self.summary: RunSummary | None = None

    def begin(self, project: Project, *, to_stderr: bool) -> None:
        """Ping that the night begins.

        Args:
            project: whose settings say where to.
            to_stderr: stdout is taken by a report.
        """
        self._project, self._to_stderr = project, to_stderr
        if project.settings.ping:
            self._failures.append(notices.ping_start(project.settings.ping))  # said last: the first line is the night's

    def say(self, line: str) -> None:
        """Print a line, which is part of what is sent, also where nobody reads stdout, or its disk is full."""
        self._lines.append(line)
        try:
            console.say(line, err=self._to_stderr)
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self._refused = error
            errors.silence_stdout()

    def keep_mails(self) -> None:
        """Keep the mails on what was said so far: bisections and reports take time, and a kill must not lose them."""
        project = self._project
        if project is not None and self.summary is not None:
            room = MailRoom(project.settings.notify.smtp, project.runs / UNSENT_MAILS)
            self._kept = list(self._mails(project, room, self.summary.exit_code, tuple(self._lines)))

    def require_printed(self) -> None:
        """Require that what was said is printed.

        Raises:
            StorageError: it is not.
        """
        if self._refused is not None:
            raise StorageError(f"what the night says cannot be printed: {self._refused.strerror}")

    def end(self, exit_code: int, message: str = "") -> bool:
        """Ping that the night has ended, and notify where it has something to say.

        Args:
            exit_code: of the process.
            message: of the error that ended it, which is printed elsewhere; "" without one.

        Returns:
            Whether a mail or webhook was sent, and nothing of it failed.
        """
        project = self._project
        if project is None:
            return False
        settings = project.settings
        # What the night found stays the subject of its mail.
        lines = (*self._lines[:1], *entry(message).splitlines(), *self._lines[1:])
        patience = web_request.HASTE if exit_code == Interrupted.exit_code else web_request.DEFAULT_PATIENCE
        mails = MailRoom(settings.notify.smtp, project.runs / UNSENT_MAILS)
        if patience is web_request.HASTE:
            mails = MailRoom(settings.notify.smtp, project.runs / UNSENT_MAILS, patience.total_s)
        tonight = list(self._mails(project, mails, exit_code, lines))
        for earlier in self._kept:
            earlier.remove()
        if settings.ping:
            self._failures.append(notices.ping_end(settings.ping, exit_code, lines, patience))
        self._failures += map(mails.send, tonight)
        if lines and settings.notify.webhook:
            notice = self._notice(project, exit_code, lines)
            self._failures.append(notices.post_webhook(settings.notify.webhook, notice, patience))
        if exit_code != RunLocked.exit_code:  # the night that runs sends them
            self._failures += mails.send_kept()
        failures = list(dict.fromkeys(filter(None, self._failures)))
        console.say_notes(failures)  # it changes no exit code, and cron mails what is on stderr
        return bool(lines and not failures and (settings.notify.mail or settings.notify.webhook))

    def _notice(self, project: Project, exit_code: int, lines: Sequence[str]) -> Notice:
        run = self.summary.run if self.summary is not None else ""
        return Notice(project.root, exit_code, run, lines)

    def _mails(self, project: Project, mails: MailRoom, exit_code: int, lines: Sequence[str]) -> Iterator[KeptMail]:
        """Keep a mail for all who get one of each night, and one for each owner of a job with news."""
        if lines and project.settings.notify.mail:
            yield mails.keep(project.settings.notify.mail, self._notice(project, exit_code, lines))
        if lines and self.summary is not None:
            yield from self._owners_mails(project, self.summary, mails)

    def _owners_mails(self, project: Project, summary: RunSummary, mails: MailRoom) -> Iterator[KeptMail]:
        """Keep a mail for each owner of jobs of which something is new."""
        changes = summary.changes
        if changes is None:
            return
        for address in dict.fromkeys(owner.address for owner in changes.owners):
            if address in project.settings.notify.mail:
                continue
            owned = morning.of_owner(summary, address)
            if morning.is_worth_telling(owned):
                lines = tuple(morning.lines(owned, root=project.root))
                yield mails.keep((address,), Notice(project.root, owned.exit_code, summary.run, lines))


@contextlib.contextmanager
def told() -> Iterator[Night]:
    """Send the messages of the block's end, with the exit code that the process will have.

    Raises:
        SystemExit: an error that the messages have reported; it is printed with what the night says, and not on stderr,
            from which cron would send a second mail.
    """
    night = Night()
    try:
        yield night
    except BaseException as error:
        code, message = report_files.exit_code_of(error), report_files.message_of(error)
        is_told = night.end(code, message)
        if is_told and isinstance(error, GpuregressError):
            night.say(f"gpuregress: {message}")
            raise SystemExit(code) from error
        raise
    night.end(night.summary.exit_code if night.summary is not None else 0)


install_options = shared_options.combined(
    click.option(
        "--install",
        type=click.Choice(SCHEDULERS),
        help="Print the lines that let a scheduler run this command every night; run nothing.",
    ),
    click.option("--write", is_flag=True, help="With --install: install the lines, and say what is left to do."),
    click.option(
        "--from",
        "package",
        metavar="PIP",
        help="What pip installs on a CI server, with extras, for --install  [default: where it was installed from]",
    ),
    click.option(
        "--at",
        type=values.TIME_OF_DAY,
        default="02:00",
        metavar="HH:MM",
        help="When, for --install  [default: 02:00]",
    ),
)


def install(ctx: click.Context, given: Mapping[str, Any]) -> int:
    """Print the lines of `--install` on stdout, and what is left to do on stderr.

    Raises:
        UsageError: `--write` without `--install`, `--resume` with it, or a path that the scheduler's file cannot hold.
        StorageError: the lines cannot be installed.
    """
    scheduler = given["install"]
    if scheduler is None:
        raise UsageError(f"--write belongs to --install: name a scheduler, {', '.join(SCHEDULERS)}")
    if given.get("resume"):
        raise UsageError("--resume is only for a night that was cut short: install the command without it")
    project = context.find_project(ctx)
    night = night_command.of_project(project, _arguments(ctx, project.root), given["at"])
    if scheduler in installation.SERVICES:
        night = replace(night, package=_package(night, given["package"]))
    elif given["package"]:
        raise UsageError(f"--from is for CI servers: {scheduler} runs the gpuregress that is installed here")
    plan = installation.plan(scheduler, night)
    console.say_document(plan.text)
    hints = [*plan.todo]
    if given["write"]:
        hints = [*plan.after]
        if scheduler == "cron":
            console.say(f"gpuregress: {hosts.install_crontab(night)}", err=True)
        else:
            night_command.write_files(plan.files)
            for file in plan.files:
                console.say(f"gpuregress: wrote {file.path}", err=True)
    if night.secrets and scheduler not in installation.SERVICES:
        names = " ".join(f"{name}=…" for name in night.secrets)
        hints.append(f"put the secrets into {night.secrets_file} (chmod 600), a line each: {names}")
    for hint in hints:
        console.say(f"gpuregress: {hint}", err=True)
    return 0


def _package(night: NightCommand, given: str | None) -> str | Path:
    """What a CI server installs; asked for on a terminal where nothing here tells it."""
    if given:
        return given
    try:
        return hosts.requirement_of_this(night.repository)
    except UsageError as error:
        if not context.is_interactive():
            raise
        console.say(f"gpuregress: {error}", err=True)
        answer: str = click.prompt("pip install", err=True)
        return answer


def crontab_line(ctx: click.Context) -> str:
    """The line of `--install cron`, for the command's help; without a project, that of the current folder."""
    try:
        project = context.find_project(ctx)
    except GpuregressError:
        project = context.new_project(ctx)
    try:
        return hosts.crontab_line(night_command.of_project(project, (), (2, 0)))
    except GpuregressError as error:
        return str(error)


def _arguments(ctx: click.Context, root: Path) -> tuple[str, ...]:
    """The other options of the command line, as words for a process whose current folder is the project's."""
    words: list[str] = []
    for param in ctx.command.params:
        name = param.name or ""
        if name in _OF_INSTALLATION or ctx.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[name]
        option = max(param.opts, key=len)
        if isinstance(param, click.Option) and param.is_flag:
            words.append(option if value else param.secondary_opts[0])
            continue
        for element in value if isinstance(value, tuple) else (value,):
            words += [option, _word(name, element, root)]
    return tuple(words)


def _word(name: str, value: Any, root: Path) -> str:
    if name == "reports":
        return f"{value[0]}={_file(value[1], root)}"
    if name in values.OWN_OPTIONS:
        return _file(str(value), root)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _file(target: str, root: Path) -> str:
    """A report's file, relative to the project where it is below it."""
    if target == "-":
        return target
    path = Path(os.path.abspath(target))  # noqa: PTH100 - a symbolic link stays one
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


class Nightly(click.Command):
    """The command, whose help has the line that `--install cron` prints."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the crontab line in one line, however long."""
        formatter.write(f"\nFor a crontab (--install cron prints it):\n\n{crontab_line(ctx)}\n")
        super().format_epilog(ctx, formatter)


@click.command(
    "nightly",
    cls=Nightly,
    epilog="Example: gpuregress nightly --deadline 6h   (every night: gpuregress nightly --install cron --write)",
)
@shared_options.device_options
@click.option(
    "--deadline",
    "deadline_s",
    type=values.SECONDS,
    metavar="TIME",
    help="Stop after this time, such as 6h; cases that were not run are named, and the exit code is not 0.",
)
@click.option("--resume", is_flag=True, help="Continue the last night, which was cut short.")
@click.option(
    "--bisect",
    "bisect_minutes",
    type=click.IntRange(1, 24 * 60),
    metavar="MINUTES",
    help="Find the commit to blame for each new failure, of up to five causes, within this time.",
)
@shared_options.cluster_option
@shared_options.report_options
@install_options
@click.pass_context
def nightly_command(ctx: click.Context, /, **options: Any) -> int:
    """Run every case on every device that the jobs name; print nothing when all is well, else what is new.

    Takes the project's lock, and exits with 75 if another nightly run holds it. A wrong job is reported as an error,
    and the others run. A case that is gone fails every night (exit code 1 at least) until it is back, or `accept
    --prune` forgets it. Keeps the last 30 runs (setting `retention`), the last night and each case's last pass.
    """
    if options["install"] or options["write"]:
        return install(ctx, options)
    every_device = ctx.get_parameter_source("device") is click.core.ParameterSource.DEFAULT
    terms = nightly.NightTerms(options["deadline_s"], options["resume"], every_device)
    with told() as night, report_files.written(options) as reports:
        project = context.find_project(ctx)
        night.begin(project, to_stderr=reports.to_stderr)
        summary = nightly.run(project, context.request_of(options), terms=terms)
        night.summary = reports.summary = summary
        if morning.is_worth_telling(summary):
            for line in morning.lines(summary, root=project.root):
                night.say(line)
            night.keep_mails()
            if options["bisect_minutes"] is not None and not summary.interrupted:
                for line in bisect.culprits(project, summary, options["bisect_minutes"]):
                    night.say(line)
        night.require_printed()
    return summary.exit_code
