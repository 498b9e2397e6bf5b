"""Mail through the local sendmail."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from email.message import EmailMessage

from gpuregress.foundation.escapes import one_line
from gpuregress.report.messages import secret_values
from gpuregress.report.messages.notice import Notice

KEY = "notify.mail"
FOLDERS = ("/usr/sbin", "/usr/lib", "/usr/local/sbin")
"""Where sendmail is, beside PATH: cron's has none of them."""
_SECONDS = 60
_MOST_CHARACTERS = 200
_MOST_BYTES = 900
"""Of a line of a mail; RFC 5322 allows 998."""


def send(addresses: Sequence[str], notice: Notice) -> str:
    """Mail a notice.

    Args:
        addresses: as the settings have them.
        notice: the text.

    Returns:
        Why it failed, "" where it did not.
    """
    try:
        to = [secret_values.expand(address, KEY) for address in addresses]
    except secret_values.UnsetVariable as error:
        return str(error)
    if wrong := next((text for text in map(problem, to) if text), ""):
        return f"{KEY}: {wrong}"
    folders = (*os.environ.get("PATH", os.defpath).split(os.pathsep), *FOLDERS)
    program = shutil.which("sendmail", path=os.pathsep.join(folders))
    if program is None:
        return f"{KEY}: there is no sendmail in PATH or {FOLDERS[0]}; install a mail transfer agent, as msmtp-mta"
    return _handed_over(program, _message(to, notice))


def problem(address: str) -> str:
    """Why a text is no address for a mail, "" if it is one; the text does not quote it."""
    if not address or address.startswith("-") or any(sign.isspace() or not sign.isprintable() for sign in address):
        return "expected an address such as team@example.org"
    if "://" in address:
        return "expected an address, not a URL: that is notify.webhook"
    return "expected one address; several are a list" if "," in address or "<" in address else ""


def _message(to: Sequence[str], notice: Notice) -> bytes:
    message = EmailMessage()
    message["Subject"] = f"gpuregress: {notice.subject}"[:_MOST_CHARACTERS]
    message["To"] = ", ".join(to)
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no answers of absent people
    fits = all(len(line.encode()) < _MOST_BYTES for line in notice.text.splitlines())
    message.set_content(notice.text, cte="8bit" if fits else "quoted-printable")
    return message.as_bytes()


def _handed_over(program: str, message: bytes) -> str:
    try:
        done = subprocess.run([program, "-i", "-t"], input=message, capture_output=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return f"{KEY}: {program} did not end within {_SECONDS} s"
    except OSError as error:
        return f"{KEY}: {program} cannot be started: {error.strerror or error}"
    if done.returncode == 0:
        return ""
    why = one_line(done.stderr.decode("utf-8", "replace").strip().partition("\n")[0])
    return f"{KEY}: {program} ended with {done.returncode}{f': {why}' if why else ''}"
