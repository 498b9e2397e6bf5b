"""Queries to git that run no program which a repository names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_SECONDS = 20
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "credential.helper": "",
    "diff.external": "",
    "gpg.program": "false",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
}
"""Settings in which a repository may name a program; on the command line they override its own."""


def answer(folder: Path, command: str, *arguments: str) -> str | None:
    """Run a git command and return its output; None without git, without a repository, or after an error.

    Args:
        folder: where it works.
        command: plumbing, or `log` without a difference: what reads the index would run filters.
        arguments: its own. Paths come after `--`.
    """
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    settings = [word for name, text in _SETTINGS.items() for word in ("-c", f"{name}={text}")]
    start = ["git", "--no-pager", "--literal-pathspecs", *settings, "-C", str(folder), command]
    try:
        done = subprocess.run(
            [*start, *arguments],
            capture_output=True,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None
