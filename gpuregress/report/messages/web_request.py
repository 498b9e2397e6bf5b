"""An HTTP request that ends in bounded time, follows no redirect and quotes no secret in its error."""

from __future__ import annotations

import http.client
import os
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import SplitResult, quote, urlsplit

from gpuregress import __version__
from gpuregress.foundation.errors import GpuregressError
from gpuregress.foundation.escapes import one_line
from gpuregress.gpu.records import Record

VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")
_HIDDEN = "***"
_SHORTEST = 4
"""Shorter texts are no secrets, and hiding them would spoil the message."""


class UnsetVariable(GpuregressError):
    """A setting names an environment variable that is not set."""


def variables(text: str) -> tuple[str, ...]:
    """The names of the variables in a text."""
    return tuple(dict.fromkeys(match["name"] for match in VARIABLE.finditer(text)))


def expand(text: str, key: str, environment: Mapping[str, str] = os.environ) -> str:
    """The text with the values of its variables.

    Args:
        text: of a setting.
        key: of the setting, for the message.
        environment: of the process.

    Raises:
        UnsetVariable: a variable is not set, or empty.
    """
    for name in variables(text):
        if not environment.get(name):
            raise UnsetVariable(f"{key}: the environment variable {name} is not set")
    return VARIABLE.sub(lambda match: environment[match["name"]].strip(), text)


def hide(message: str, url: str, setting: str, environment: Mapping[str, str] = os.environ) -> str:
    """A message without the URL, its path and the values of its variables.

    Args:
        message: of a library, which may quote them.
        url: as it was used.
        setting: the text that it was expanded from.
        environment: of the process.
    """
    parts = urlsplit(url)
    values = [environment.get(name, "") for name in variables(setting)]
    texts = (url, f"{parts.path}?{parts.query}", parts.path, parts.query, *values, parts.password or "")
    for text in sorted(_spellings(texts), key=len, reverse=True):
        message = message.replace(text, _HIDDEN)
    return message


def _spellings(texts: Iterable[str]) -> set[str]:
    found = {spelling for text in texts for spelling in (text, text.strip(), quote(text), quote(text, safe=""))}
    return {text for text in found if len(text) >= _SHORTEST}


class Patience(Record):
    """The limits of a request.

    Attributes:
        attempts: at most; a refusal (4xx) is not tried again.
        timeout_s: of one attempt's every wait for the network.
        pause_s: before the second attempt, doubled before each further one.
        total_s: of all attempts together.
    """

    attempts: int = 3
    timeout_s: float = 10.0
    pause_s: float = 1.0
    total_s: float = 30.0


DEFAULT_PATIENCE = Patience()
HASTE = Patience(attempts=1, timeout_s=2.0, total_s=3.0)
"""For a run that was asked to stop."""


class WebRequest(Record):
    """A request to a URL of the settings.

    Attributes:
        setting: the URL as the settings have it.
        url: with the values of its variables.
        body: sent by POST; None: GET.
        content_type: of the body.
    """

    setting: str
    url: str
    body: bytes | None = None
    content_type: str = "text/plain; charset=utf-8"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: object) -> None:
        """Refuse: another host must not be given a secret path."""


def deliver(key: str, setting: str, make: Callable[[str], WebRequest], patience: Patience) -> str:
    """Send a request to the URL of a setting.

    Args:
        key: of the setting, for messages.
        setting: the URL as the settings have it.
        make: the URL with the values of its variables → the request.
        patience: the limits of the request.

    Returns:
        Why it failed, "" where it did not.
    """
    try:
        url = expand(setting, key)
    except UnsetVariable as error:
        return str(error)
    failure = problem(url) or send(make(url), patience)
    return f"{key}: {failure}" if failure else ""


def send(request: WebRequest, patience: Patience = DEFAULT_PATIENCE) -> str:
    """Send a request.

    Returns:
        Why it failed, in words that hold no secret; "" where it did not.
    """
    found: list[str] = []
    # A thread, because a resolver or a server that sends byte by byte can outlast every timeout of a socket.
    thread = threading.Thread(target=lambda: found.append(_send(request, patience)), daemon=True)
    thread.start()
    thread.join(patience.total_s)
    failure = found[0] if found else f"no answer within {patience.total_s:g} s"
    return f"{shown(request.url)}: {failure}" if failure else ""


def shown(url: str) -> str:
    """The part of a URL that is no secret: `https://hc.example.org`."""
    parts = _split(url)
    port = f":{parts.port}" if parts.port else ""
    return one_line(f"{parts.scheme}://{parts.hostname or ''}{port}")


def problem(url: str) -> str:
    """Why a URL cannot be used, "" if it can; the text does not quote it."""
    try:
        parts = _split(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return "expected a URL that begins with https:// or http://"
        _ = parts.port
    except ValueError:
        return "this is no valid URL"
    if any(sign.isspace() or not sign.isprintable() for sign in url):
        return "a URL holds no spaces or control characters"
    if parts.password is not None:
        return "a URL with a password is not supported; use one whose path is the secret"
    return ""


def _split(url: str) -> SplitResult:
    return urlsplit(url)


def _send(request: WebRequest, patience: Patience) -> str:
    failure, pause_s = "", patience.pause_s
    for attempt in range(patience.attempts):
        if attempt:
            time.sleep(pause_s)
            pause_s *= 2
        failure, is_final = _attempt(request, patience.timeout_s)
        if is_final:
            break
    return failure


def _attempt(request: WebRequest, timeout_s: float) -> tuple[str, bool]:
    """One attempt: why it failed, and whether another one is of no use."""
    headers = {"User-Agent": f"gpuregress/{__version__}"}
    if request.body is not None:
        headers["Content-Type"] = request.content_type
    try:
        message = urllib.request.Request(request.url, request.body, headers)  # noqa: S310 - `problem` judged the scheme
        opener = urllib.request.build_opener(_NoRedirect)
        with opener.open(message, timeout=timeout_s):
            return "", True
    except urllib.error.HTTPError as error:
        with error:
            code = error.code
        text = f"the server answered {code} {http.client.responses.get(code, '')}".rstrip()
        if 300 <= code < 400:
            text += "; redirects are not followed"
        return text, code < 500 and code != 429
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        words = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
        hidden = hide(words or type(reason).__name__, request.url, request.setting)
        return one_line(hidden), not isinstance(error, OSError)
