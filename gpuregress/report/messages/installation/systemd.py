"""systemd: a service and a timer of the user."""

from __future__ import annotations

import shlex
from pathlib import Path

from gpuregress.foundation import user_home
from gpuregress.report.messages.installation.night_command import NightCommand
from gpuregress.report.messages.installation.written_files import Installation, InstalledFile


def plan(night: NightCommand) -> Installation:
    """The two units; above each stands its file, as in the output of `systemctl cat`."""
    folder = _folder()
    files = (
        InstalledFile(folder / f"{night.name}.service", _service(night)),
        InstalledFile(folder / f"{night.name}.timer", _timer(night)),
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


def _service(night: NightCommand) -> str:
    command = night.shell(f">> {shlex.quote(night.log)} 2>&1")
    lines = (
        f"# {night.mark.replace(chr(92), '/')}",  # a comment whose line ends with a backslash would go on
        "[Unit]",
        f"Description={_plain(night.mark)}",
        "",
        "[Service]",
        "Type=oneshot",
        # A colon: dollar signs are left to the shell.
        f"ExecStart=:/bin/sh -c {_quoted(command)}",
    )
    return "\n".join(lines) + "\n"


def _timer(night: NightCommand) -> str:
    zone = f" {night.zone}" if night.zone else ""
    lines = (
        f"# {night.mark.replace(chr(92), '/')}",
        "[Unit]",
        f"Description={_plain(night.mark)}",
        "",
        "[Timer]",
        f"OnCalendar=*-*-* {night.time}:00{zone}",
        "Persistent=true",
        "",
        "[Install]",
        "WantedBy=timers.target",
    )
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.replace("%", "%%").replace("\\", "/")


def _quoted(text: str) -> str:
    r"""A word of a command line: `%` begins a specifier, a backslash an escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'
