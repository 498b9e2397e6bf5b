"""Messages of a night: its lines on the terminal, pings of a dead man's switch, mails and webhooks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpuregress.cli import console, report_files
from gpuregress.foundation.errors import Interrupted
from gpuregress.foundation.escapes import entry

if TYPE_CHECKING:
    from gpuregress.foundation.records import RunSummary
    from gpuregress.report.messages.web_request import Patience
    from gpuregress.store.project import Project


class Night:
    """What a night has said so far; nothing is sent before `begin`."""

    def __init__(self) -> None:
        self._project: Project | None = None
        self._lines: list[str] = []
        self._failures: list[str] = []
        self._to_stderr = False
        self.summary: RunSummary | None = None

    def begin(self, project: Project, *, to_stderr: bool) -> None:
        """Ping that the night begins.

        Args:
            project: whose settings say where to.
            to_stderr: stdout is taken by a report.
        """
        self._project, self._to_stderr = project, to_stderr
        if project.settings.ping:
            from gpuregress.report.messages import notices

            self._failures.append(notices.ping_start(project.settings.ping))  # said last: the first line is the night's

    def say(self, line: str) -> None:
        """Print a line, which is part of what is sent."""
        self._lines.append(line)
        console.say(line, err=self._to_stderr)

    def end(self, exit_code: int, message: str = "") -> None:
        """Ping that the night has ended, and notify where it has something to say.

        Args:
            exit_code: of the process.
            message: of the error that ended it, which is printed elsewhere; "" without one.
        """
        project = self._project
        if project is None:
            return
        settings, lines = project.settings, (*entry(message).splitlines(), *self._lines)
        from gpuregress.report.messages import web_request

        patience = web_request.HASTE if exit_code == Interrupted.exit_code else web_request.DEFAULT_PATIENCE
        if settings.ping:
            from gpuregress.report.messages import notices

            self._failures.append(notices.ping_end(settings.ping, exit_code, lines, patience))
        if lines:
            self._notify(project, exit_code, lines, patience)
        for failure in dict.fromkeys(filter(None, self._failures)):  # it changes no exit code
            console.say(f"note: {failure}", err=self._to_stderr)

    def _notify(self, project: Project, exit_code: int, lines: Sequence[str], patience: Patience) -> None:
        from gpuregress.report.messages import notices
        from gpuregress.report.messages.notices import Notice

        settings, run = project.settings, self.summary.run if self.summary is not None else ""
        notice = Notice(project.root, exit_code, run, lines)
        if settings.mail:
            self._failures.append(notices.send_mail(settings.mail, notice))
        if settings.webhook:
            self._failures.append(notices.post_webhook(settings.webhook, notice, patience))


@contextlib.contextmanager
def told() -> Iterator[Night]:
    """Send the messages of the block's end, with the exit code that the process will have."""
    night = Night()
    try:
        yield night
    except BaseException as error:
        night.end(report_files.exit_code_of(error), report_files.message_of(error))
        raise
    night.end(night.summary.exit_code if night.summary is not None else 0)
