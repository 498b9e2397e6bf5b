"""Notices of a night that has something to say: by mail, to a webhook, as pings of a watchdog."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from email.message import EmailMessage
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
        """`kernels on build7: 1 new failure, 2 still failing`."""
        return one_line(f"{self.project.name} on {socket.gethostname()}: {self.lines[0]}")

    @property
    def text(self) -> str:
        """What the night printed, and where."""
        where = f"exit code {self.exit_code}; {self.project} on {socket.gethostname()}"
        return "".join(f"{entry(line)}\n" for line in (*self.lines, "", where))


MAIL_KEY = "notify.mail"
FOLDERS = ("/usr/sbin", "/usr/lib", "/usr/local/sbin")
"""Where sendmail is, beside PATH: cron's has none of them."""
_SECONDS = 60
_MOST_OF_SUBJECT = 200
_MOST_BYTES = 900
"""Of a line of a mail; RFC 5322 allows 998."""


def send_mail(addresses: Sequence[str], notice: Notice) -> str:
    """Mail a notice.

    Args:
        addresses: as the settings have them.
        notice: the text.

    Returns:
        Why it failed, "" where it did not.
    """
    try:
        to = [web_request.expand(address, MAIL_KEY) for address in addresses]
    except web_request.UnsetVariable as error:
        return str(error)
    if wrong := next((text for text in map(mail_problem, to) if text), ""):
        return f"{MAIL_KEY}: {wrong}"
    folders = (*os.environ.get("PATH", os.defpath).split(os.pathsep), *FOLDERS)
    program = shutil.which("sendmail", path=os.pathsep.join(folders))
    if program is None:
        return f"{MAIL_KEY}: there is no sendmail in PATH or {FOLDERS[0]}; install a mail transfer agent, as msmtp-mta"
    return _handed_over(program, _message(to, notice))


def mail_problem(address: str) -> str:
    """Why a text is no address for a mail, "" if it is one; the text does not quote it."""
    if not address or address.startswith("-") or any(sign.isspace() or not sign.isprintable() for sign in address):
        return "expected an address such as team@example.org"
    if "://" in address:
        return "expected an address, not a URL: that is notify.webhook"
    return "expected one address; several are a list" if "," in address or "<" in address else ""


def _message(to: Sequence[str], notice: Notice) -> bytes:
    message = EmailMessage()
    message["Subject"] = f"gpuregress: {notice.subject}"[:_MOST_OF_SUBJECT]
    message["To"] = ", ".join(to)
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no answers of absent people
    fits = all(len(line.encode()) < _MOST_BYTES for line in notice.text.splitlines())
    message.set_content(notice.text, cte="8bit" if fits else "quoted-printable")
    return message.as_bytes()


def _handed_over(program: str, message: bytes) -> str:
    try:
        done = subprocess.run([program, "-i", "-t"], input=message, capture_output=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return f"{MAIL_KEY}: {program} did not end within {_SECONDS} s"
    except OSError as error:
        return f"{MAIL_KEY}: {program} cannot be started: {error.strerror or error}"
    if done.returncode == 0:
        return ""
    why = one_line(done.stderr.decode("utf-8", "replace").strip().partition("\n")[0])
    return f"{MAIL_KEY}: {program} ended with {done.returncode}{f': {why}' if why else ''}"


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
