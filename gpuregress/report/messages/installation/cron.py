"""cron: one line of a crontab, and its installation in the user's crontab."""

from __future__ import annotations

import shlex
import subprocess

from gpuregress.foundation.errors import StorageError, UsageError
from gpuregress.report.messages.installation.night_command import NightCommand
from gpuregress.report.messages.installation.written_files import Installation

MOST_BYTES = 998
"""Of a command: Debian's cron refuses a longer one."""
_NO_CRONTAB = "no crontab for"


def plan(night: NightCommand) -> Installation:
    """The line, whose output is logged, and mailed by cron where the settings name nobody to tell."""
    mails = "cron mails what the night prints" if not night.tells else "cron mails nothing: `notify` tells of the night"
    zone = f" ({night.zone})" if night.zone else ""
    about = (
        f"cron starts it at {night.time} of this host's time zone{zone}; {mails}; the log is {night.runs}/nightly.log"
    )
    return Installation(
        line(night) + "\n", todo=("install the line with `crontab -e`, or with --write", about), after=(about,)
    )


def line(night: NightCommand) -> str:
    r"""The line of a crontab; cron takes a bare `%` for a newline and `\%` for a `%`.

    Raises:
        UsageError: it is longer than cron takes.
    """
    log = shlex.quote(night.log)
    command = _escaped(night.shell(f">> {log} 2>&1" if night.tells else f"2>&1 | tee -a {log}"))
    if len(command.encode()) > MOST_BYTES:
        raise UsageError(
            f"the command has {len(command.encode())} bytes, and cron takes {MOST_BYTES}: use systemd, or unset "
            "variables that the night does not need, as LD_LIBRARY_PATH"
        )
    return f"{night.minute} {night.hour} * * *  {command}"


def _escaped(command: str) -> str:
    r"""The command for a crontab. A backslash before a `%` is parted from it by quotes, for cron would eat it."""
    return command.replace(r"\%", r"\''%").replace("%", r"\%")


def install(night: NightCommand) -> str:
    """Put the line into the user's crontab, in the place of an earlier one of the same project.

    Returns:
        What was done, in words.

    Raises:
        StorageError: there is no crontab command, or it refuses.
    """
    before = _crontab("-l")
    start = _escaped(f"cd {shlex.quote(str(night.root))} && ")
    kept = [one for one in before.splitlines() if not _is_night(one, start)]
    replaced = len(before.splitlines()) - len(kept)
    _crontab("-", "\n".join((*kept, line(night))) + "\n")
    return "replaced the line of this project in your crontab" if replaced else "added a line to your crontab"


def _is_night(text: str, start: str) -> bool:
    """Whether a line of a crontab runs the nights of a project."""
    return not text.lstrip().startswith("#") and start in text and " nightly" in text.partition(start)[2]


def _crontab(argument: str, text: str | None = None) -> str:
    try:
        done = subprocess.run(
            ["crontab", argument], input=text, capture_output=True, text=True, check=False, timeout=60, encoding="utf-8"
        )
    except (OSError, UnicodeDecodeError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise StorageError(f"crontab cannot be used: {reason}; install the printed line by hand") from None
    if done.returncode and not (text is None and _NO_CRONTAB in done.stderr):
        why = done.stderr.strip().partition("\n")[0] or f"exit code {done.returncode}"
        raise StorageError(f"crontab refused: {why}; your crontab is as it was")
    return done.stdout if done.returncode == 0 else ""
