"""Queries to git that run no program which a repository names."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

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


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of a git command.

    Attributes:
        code: its exit status.
        output: what it wrote to stdout.
        message: what it wrote to stderr.
    """

    code: int
    output: bytes
    message: str

    @property
    def text(self) -> str:
        """The output as text; bytes that are no UTF-8 survive in file names."""
        return self.output.decode("utf-8", "surrogateescape")


def answer(folder: Path, command: str, *arguments: str) -> str | None:
    """Run a git command and return its output; None without git, without a repository, or after an error.

    Args:
        folder: where it works.
        command: plumbing, or `log` without a difference: what reads the index would run filters.
        arguments: its own. Paths come after `--`.
    """
    reply = ask(folder, command, *arguments)
    return reply.text if reply is not None and reply.code == 0 else None


def ask(folder: Path, command: str, *arguments: str) -> Reply | None:
    """Run a git command; None without git, or where it does not end in time. The arguments are those of `answer`."""
    try:
        done = subprocess.run(
            [*_start(folder), command, *arguments],
            capture_output=True,
            check=False,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return Reply(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())


class ObjectReader:
    """A `git cat-file --batch` that stays open: contents as they are stored, without filters.

    A context manager.

    Args:
        folder: in the repository.

    Raises:
        OSError: there is no git.
    """

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [*_start(folder), "cat-file", "--batch"],
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # ^C ends the reader after what it reads for
        )

    def __enter__(self) -> Self:
        """Return the reader."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End git."""
        self._process.kill()
        self._process.communicate()

    def read(self, name: str) -> bytes | None:
        """Return the content of an object; None where this clone lacks it.

        Args:
            name: its hash.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{name}\n".encode())
            self._process.stdin.flush()
            head = self._process.stdout.readline().split()
            if len(head) != 3:
                return None
            size = int(head[2])
            content = self._process.stdout.read(size + 1)
        except (OSError, ValueError):
            return None
        return content[:-1] if len(content) == size + 1 else None


def _start(folder: Path) -> list[str]:
    settings = [word for name, text in _SETTINGS.items() for word in ("-c", f"{name}={text}")]
    return ["git", "--no-pager", "--literal-pathspecs", *settings, "-C", str(folder)]


def _environment() -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
