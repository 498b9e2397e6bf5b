"""Notices of a night that has something to say: to a webhook, and as pings of a watchdog."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from gpuregress.foundation.escapes import entry, one_line, visible
from gpuregress.gpu.records import Record
from gpuregress.report.messages import web_request
from gpuregress.report.messages.web_request import Patience, WebRequest


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
        """`[kernels on build7] 3 new failures: blur, reduce — 4 commits since 4f1c2d9, 2 authors`."""
        host = socket.gethostname().partition(".")[0]
        return one_line(f"[{self.project.name} on {host}] {self.lines[0]}")

    @property
    def text(self) -> str:
        """What the night printed, and where."""
        where = f"exit code {self.exit_code}; {self.project} on {socket.gethostname()}"
        return "".join(f"{entry(line)}\n" for line in (*self.lines, "", where))


WEBHOOK_KEY = "notify.webhook"
_MOST_POSTED = 3000
"""Of `text`: the limit of one block of text in Slack."""


def post_webhook(setting: str, notice: Notice, patience: Patience = web_request.DEFAULT_PATIENCE) -> str:
    """Post a notice.

    Args:
        setting: the URL as the settings have it.
        notice: the text.
        patience: the limits of the request.

    Returns:
        Why it failed, "" where it did not.
    """
    body = json.dumps(document(notice)).encode()
    return web_request.deliver(
        WEBHOOK_KEY, setting, lambda url: WebRequest(setting, url, body, "application/json"), patience
    )


def document(notice: Notice) -> dict[str, object]:
    """The JSON of a notice; in `text`, `&`, `<` and `>` are escaped as Slack asks for."""
    whole = f"gpuregress: {notice.project.name}\n{notice.text}"
    cut = whole if len(whole) <= _MOST_POSTED else whole[: _MOST_POSTED - 1] + "…"
    text = cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {
        "text": text,
        "project": str(notice.project),
        "host": socket.gethostname(),
        "run": notice.run,
        "exit_code": notice.exit_code,
        "lines": list(notice.lines),
    }


PING_KEY = "ping"
MOST_PINGED_BYTES = 10_000
"""Of a body: what the smallest of such services keeps."""


def ping_start(setting: str, patience: Patience = web_request.DEFAULT_PATIENCE) -> str:
    """Ping that the night begins.

    Args:
        setting: the URL as the settings have it.
        patience: the limits of the request.

    Returns:
        Why it failed, "" where it did not.
    """
    return _ping(setting, "start", None, patience)


def ping_end(
    setting: str, exit_code: int, lines: Sequence[str], patience: Patience = web_request.DEFAULT_PATIENCE
) -> str:
    """Ping that the night has ended; the result is as for `start`.

    Args:
        setting: the URL as the settings have it.
        exit_code: of the process.
        lines: of what the night printed; nothing where all is well.
        patience: the limits of the request.
    """
    return _ping(setting, str(exit_code), "\n".join(map(visible, lines)).encode()[:MOST_PINGED_BYTES], patience)


def _ping(setting: str, what: str, body: bytes | None, patience: Patience) -> str:
    def request(url: str) -> WebRequest:
        parts = urlsplit(url)
        path = f"{parts.path.rstrip('/')}/{what}"
        return WebRequest(setting, parts._replace(path=path).geturl(), body)

    return web_request.deliver(PING_KEY, setting, request, patience)
