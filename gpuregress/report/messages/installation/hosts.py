"""Installation of the nightly run on a host: cron, a timer of systemd, a batch script of Slurm.

Also what a CI server installs: gpuregress from where it was installed here. pip records that in `direct_url.json`
(PEP 610). Without that file it came from an index, by its version.
"""

from __future__ import annotations

import importlib.metadata
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from gpuregress import __version__
from gpuregress.foundation import user_home
from gpuregress.foundation.errors import StorageError, UsageError
from gpuregress.report.messages.installation.night_command import Installation, InstalledFile, NightCommand, render

MOST_CRONTAB_BYTES = 998
"""Of a command: Debian's cron refuses a longer one."""
_NO_CRONTAB = "no crontab for"


def cron_plan(night: NightCommand) -> Installation:
    """The line, whose output is logged, and mailed by cron where the settings name nobody to tell.

    Where they do, cron mails stderr alone: what could not be sent.
    """
    mails = "cron mails what the night prints; with `notify: {mail: …}` the subject names what failed"
    if night.tells:
        mails = "`notify` reports the night, and cron mails only messages that could not be sent"
    zone = f" ({night.zone})" if night.zone else ""
    about = (
        f"cron starts it at {night.time} of this host's time zone{zone}; {mails}; the log is {night.runs}/nightly.log"
    )
    return Installation(
        crontab_line(night) + "\n", todo=("install the line with `crontab -e`, or with --write", about), after=(about,)
    )


def crontab_line(night: NightCommand) -> str:
    r"""The line of a crontab; cron takes a bare `%` for a newline and `\%` for a `%`.

    Raises:
        UsageError: it is longer than cron takes.
    """
    log = shlex.quote(night.log)
    output = f"2>&1 | tee -a {log}"
    if night.tells:
        output = f"2>&1 >> {log} | tee -a {log}"  # stdout into the log, stderr also to cron
    command = _escaped(night.shell(output))
    if len(command.encode()) > MOST_CRONTAB_BYTES:
        raise UsageError(
            f"the command has {len(command.encode())} bytes, and cron takes {MOST_CRONTAB_BYTES}: use systemd, or "
            "unset variables that the night does not need, as LD_LIBRARY_PATH"
        )
    return f"{night.minute} {night.hour} * * *  {command}"


def _escaped(command: str) -> str:
    r"""The command for a crontab. A backslash before a `%` is parted from it by quotes, for cron would eat it."""
    return command.replace(r"\%", r"\''%").replace("%", r"\%")


def install_crontab(night: NightCommand) -> str:
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
    _crontab("-", "\n".join((*kept, crontab_line(night))) + "\n")
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


def systemd_plan(night: NightCommand) -> Installation:
    """The two units; above each stands its file, as in the output of `systemctl cat`."""
    folder = _folder()
    service = render("systemd.service", night, command=night.shell(f">> {shlex.quote(night.log)} 2>&1"))
    files = (
        InstalledFile(folder / f"{night.name}.service", service),
        InstalledFile(folder / f"{night.name}.timer", render("systemd.timer", night)),
    )
    enable = f"systemctl --user daemon-reload && systemctl --user enable --now {night.name}.timer"
    linger = "loginctl enable-linger   (so that it runs while you are not logged in)"
    text = "\n".join(f"# {file.path}\n{file.text}" for file in files)
    return Installation(
        text,
        files,
        ("write each unit to the file that is named above it, or use --write", enable, linger),
        (f"enable it: {enable}", linger),
    )


def _folder() -> Path:
    return user_home.configuration() / "systemd" / "user"


SLURM_FILE = "gpuregress-nightly.sbatch"


def slurm_plan(night: NightCommand) -> Installation:
    """The script; a job of its name waits for the one before, so that no two nights overlap."""
    path = night.root / SLURM_FILE
    text = slurm_script(night)
    submit = f"submit it once: sbatch --begin={night.time} {shlex.quote(str(path))}"
    more = "add #SBATCH lines for the partition, the GPUs (--gpus=1) and the time limit of your cluster"
    return Installation(
        text,
        (InstalledFile(path, text, executable=True),),
        (f"write it to {path}, or use --write", more, submit),
        (more, submit),
    )


def slurm_script(night: NightCommand) -> str:
    """The text of the script."""
    command = shlex.join((*night.program, "nightly", *night.arguments))
    return render("slurm.sbatch", night, command=command, file=night.root / SLURM_FILE)


_ASK = "name with --from what pip installs there: gpuregress[cpu]==X.Y.Z, gpuregress[cpu] @ URL, or a file"


def requirement_of_this(repository: Path) -> str | Path:
    """Return what `pip install` takes on a CI server that has a clone of a repository.

    Returns:
        A requirement; a path for a wheel or folder in the repository.

    Raises:
        UsageError: it was installed from files that the server does not have, or nobody knows from where.
    """
    try:
        text = importlib.metadata.distribution("gpuregress").read_text("direct_url.json")
        origin: dict[str, Any] = json.loads(text) if text else {}
        url = str(origin["url"]) if origin else ""
    except (importlib.metadata.PackageNotFoundError, ValueError, KeyError, TypeError) as error:
        why = f"it is not known where gpuregress was installed from ({type(error).__name__})"
        raise UsageError(f"{why}; {_ASK}") from None
    if not url:
        return f"gpuregress[cpu]=={__version__}"
    folder = f"#subdirectory={origin['subdirectory']}" if origin.get("subdirectory") else ""
    where = urlsplit(url)
    if where.scheme == "file":
        path = Path(unquote(where.path)).resolve()
        if path.is_relative_to(repository.resolve()) and "vcs_info" not in origin:
            return path
        raise UsageError(f"gpuregress was installed here from {path}, which a CI server does not have; {_ASK}")
    if "vcs_info" in origin:
        version = origin["vcs_info"]
        return f"gpuregress[cpu] @ {version['vcs']}+{url}@{version['commit_id']}{folder}"
    return f"gpuregress[cpu] @ {url}{folder}"
