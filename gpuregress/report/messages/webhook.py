"""Notice to a webhook: JSON whose `text` is what Slack, Mattermost and the like show."""

from __future__ import annotations

import json
import socket

from gpuregress.report.messages import web_request
from gpuregress.report.messages.notice import Notice
from gpuregress.report.messages.web_request import Patience, WebRequest

KEY = "notify.webhook"
_MOST_CHARACTERS = 3000
"""Of `text`: the limit of one block of text in Slack."""


def send(setting: str, notice: Notice, patience: Patience = web_request.DEFAULT_PATIENCE) -> str:
    """Post a notice.

    Args:
        setting: the URL as the settings have it.
        notice: the text.
        patience: the limits of the request.

    Returns:
        Why it failed, "" where it did not.
    """
    body = json.dumps(document(notice)).encode()
    return web_request.deliver(KEY, setting, lambda url: WebRequest(setting, url, body, "application/json"), patience)


def document(notice: Notice) -> dict[str, object]:
    """The JSON of a notice; in `text`, `&`, `<` and `>` are escaped as Slack asks for."""
    whole = f"gpuregress: {notice.project.name}\n{notice.text}"
    cut = whole if len(whole) <= _MOST_CHARACTERS else whole[: _MOST_CHARACTERS - 1] + "…"
    text = cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {
        "text": text,
        "project": str(notice.project),
        "host": socket.gethostname(),
        "run": notice.run,
        "exit_code": notice.exit_code,
        "lines": list(notice.lines),
    }
