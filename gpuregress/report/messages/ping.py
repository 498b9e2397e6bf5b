"""Dead man's switch: pings at start and end, by the protocol of healthchecks.io.

The start is `URL/start`, the end `URL/EXITCODE` with the first lines of what the night printed. A night that dies sends
no second ping, and the service raises the alarm.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from gpuregress.foundation.escapes import visible
from gpuregress.report.messages import web_request
from gpuregress.report.messages.web_request import Patience, WebRequest

KEY = "ping"
MOST_BYTES = 10_000
"""Of a body: what the smallest of such services keeps."""


def start(setting: str, patience: Patience = web_request.DEFAULT_PATIENCE) -> str:
    """Ping that the night begins.

    Args:
        setting: the URL as the settings have it.
        patience: the limits of the request.

    Returns:
        Why it failed, "" where it did not.
    """
    return _ping(setting, "start", None, patience)


def end(setting: str, exit_code: int, lines: Sequence[str], patience: Patience = web_request.DEFAULT_PATIENCE) -> str:
    """Ping that the night has ended; the result is as for `start`.

    Args:
        setting: the URL as the settings have it.
        exit_code: of the process.
        lines: of what the night printed; nothing where all is well.
        patience: the limits of the request.
    """
    return _ping(setting, str(exit_code), "\n".join(map(visible, lines)).encode()[:MOST_BYTES], patience)


def _ping(setting: str, what: str, body: bytes | None, patience: Patience) -> str:
    def request(url: str) -> WebRequest:
        parts = urlsplit(url)
        path = f"{parts.path.rstrip('/')}/{what}"
        return WebRequest(setting, parts._replace(path=path).geturl(), body)

    return web_request.deliver(KEY, setting, request, patience)
