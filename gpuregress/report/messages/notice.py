"""Notice of a night that has something to say."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from gpuregress.foundation.escapes import entry, one_line
from gpuregress.gpu.records import Record


class Notice(Record):
    """The text that is sent.

    Attributes:
        project: the project's folder.
        exit_code: of the process.
        run: the run's name, "" where none began.
        lines: of what the night printed; at least one.
    """

    project: Path
    exit_code: int
    run: str
    lines: Sequence[str]

    @property
    def subject(self) -> str:
        """`kernels on build7: 1 new failure, 2 still failing`."""
        return one_line(f"{self.project.name} on {socket.gethostname()}: {self.lines[0]}")

    @property
    def text(self) -> str:
        """What the night printed, and where."""
        where = f"exit code {self.exit_code}; {self.project} on {socket.gethostname()}"
        return "".join(f"{entry(line)}\n" for line in (*self.lines, "", where))
