"""Mails of a night: by the local sendmail, or by an SMTP server; one that cannot be sent is kept for the next night."""

from __future__ import annotations

import email
import email.policy
import os
import shutil
import smtplib
import socket
import ssl
import subprocess
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.escapes import one_line
from gpuregress.gpu.records import Record
from gpuregress.report.messages import web_request
from gpuregress.report.messages.notices import Notice

MAIL_KEY = "notify.mail"
SMTP_KEY = "notify.smtp"
FOLDERS = ("/usr/sbin", "/usr/lib", "/usr/local/sbin")
"""Where sendmail is, beside PATH: cron's has none of them."""
_SECONDS = 60
_MOST_OF_SUBJECT = 200
_MOST_BYTES = 900
"""Of a line of a mail; RFC 5322 allows 998."""
_MOST_KEPT = 20
_SUBMISSION_PORT = 587  # RFC 6409


class _Undelivered(Record):
    """A mail that did not reach everybody.

    Attributes:
        why: in words.
        addresses: of those who do not have it, as the settings have them.
    """

    why: str
    addresses: Sequence[str]


class MailRoom(Record):
    """The way by which a project sends mails.

    Attributes:
        server: `notify.smtp` as the settings have it; "": the local sendmail.
        unsent: the folder of the mails that could not be sent.
    """

    server: str
    unsent: Path

    def send(self, addresses: Sequence[str], notice: Notice) -> str:
        """Mail a notice; one that cannot be sent is kept.

        Args:
            addresses: as the settings have them.
            notice: the text.

        Returns:
            Why it failed and what became of the mail, "" where it was sent.
        """
        failure = _sent(_message(addresses, notice), self.server)
        if failure is None:
            return ""
        digest = storage.digest_text(" ".join(addresses).encode())[:8]
        path = self.unsent / f"{notice.run or 'no-run'}-{digest}.eml"
        try:
            with storage.disk_errors(self.unsent):
                self.unsent.mkdir(parents=True, exist_ok=True)
                for old in self._kept()[: 1 - _MOST_KEPT]:
                    old.unlink(missing_ok=True)
            storage.write_atomic(path, _message(failure.addresses, notice).as_bytes())
        except StorageError as error:
            return f"{failure.why}; the mail is lost: {error}"
        return f"{failure.why}; the mail is kept as {path}, and the next night sends it"

    def send_kept(self) -> str:
        """Send the mails of earlier nights; return why the first one failed that did, for the others wait, too."""
        for path in self._kept():
            try:
                message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
                failure = _sent(message, self.server)
                if failure is None:
                    path.unlink()
                    continue
                message.replace_header("To", ", ".join(failure.addresses))
                storage.write_atomic(path, message.as_bytes())
            except OSError as error:
                return f"{path}: {error.strerror or error}"
            return f"{failure.why}; {path} is not sent yet"
        return ""

    def _kept(self) -> list[Path]:
        """The kept mails, the oldest first: a run's name begins with its time."""
        return sorted(self.unsent.glob("*.eml"))


def address_problem(address: str) -> str:
    """Why a text is no address for a mail, "" if it is one; the text does not quote it."""
    if not address or address.startswith("-") or any(sign.isspace() or not sign.isprintable() for sign in address):
        return "expected an address such as team@example.org"
    if "://" in address:
        return "expected an address, not a URL: that is notify.webhook"
    return "expected one address; several are a list" if "," in address or "<" in address else ""


def _message(addresses: Sequence[str], notice: Notice) -> EmailMessage:
    """The mail of a notice, whose recipients are written as in the settings."""
    message = EmailMessage()
    subject = notice.subject
    if len(subject) > _MOST_OF_SUBJECT:
        subject = f"{subject[: _MOST_OF_SUBJECT - 1]}…"
    message["Subject"] = subject
    message["To"] = ", ".join(addresses)
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no answers of absent people
    encoding = "quoted-printable"
    if all(len(line.encode()) < _MOST_BYTES for line in notice.text.splitlines()):
        encoding = "8bit"
    message.set_content(notice.text, cte=encoding)
    return message


def _sent(message: EmailMessage, server: str) -> _Undelivered | None:
    """Send a mail to its recipients; None where all have it."""
    addresses = str(message["To"]).split(", ")
    try:
        to = [web_request.expand(address, MAIL_KEY) for address in addresses]
        url = web_request.expand(server, SMTP_KEY)
    except web_request.UnsetVariable as error:
        return _Undelivered(str(error), addresses)
    for address in to:
        problem = address_problem(address)
        if problem:
            return _Undelivered(f"{MAIL_KEY}: {problem}", addresses)
    message.replace_header("To", ", ".join(to))
    if not server:
        why = _by_sendmail(message.as_bytes())
        return _Undelivered(why, addresses) if why else None
    refusals = _by_smtp(message, url, server)
    if not refusals:
        return None
    refused = [written for written, address in zip(addresses, to, strict=True) if address in refusals]
    why = one_line(", ".join(dict.fromkeys(refusals.values())))
    return _Undelivered(f"{SMTP_KEY}: {why}", refused)


def _by_sendmail(message: bytes) -> str:
    """Hand a mail to sendmail; return why it failed, "" where it did not."""
    folders = (*os.environ.get("PATH", os.defpath).split(os.pathsep), *FOLDERS)
    program = shutil.which("sendmail", path=os.pathsep.join(folders))
    if program is None:
        return (
            f"{MAIL_KEY}: there is no sendmail in PATH or {FOLDERS[0]}; install a mail transfer agent, as msmtp-mta, "
            f"or name a server: {SMTP_KEY}"
        )
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


# --- SMTP -------------------------------------------------------------------------------------------------------------


def _by_smtp(message: EmailMessage, url: str, setting: str) -> dict[str, str]:
    """Hand a mail to a server; TLS is used where the server has it, and is needed for a password.

    Args:
        message: whose recipients are addresses.
        url: of the server.
        setting: that it was expanded from, whose values are not shown.

    Returns:
        Each address that was refused → why.
    """
    to = str(message["To"]).split(", ")
    server = _server(url)
    if server is None:
        return dict.fromkeys(to, "expected a server such as smtp://mail.example.org:587 or smtps://mail.example.org")
    user = unquote(server.username or "")
    sender = user if "@" in user else f"gpuregress@{socket.getfqdn()}"
    for name, text in (("From", f"gpuregress <{sender}>"), ("Date", formatdate()), ("Message-ID", make_msgid())):
        del message[name]
        message[name] = text
    shown = f"{server.scheme}://{server.hostname}"
    try:
        with _connected(server) as connection:
            if server.password:
                if not isinstance(connection.sock, ssl.SSLSocket):
                    return dict.fromkeys(to, f"{shown} offers no TLS, and a password is not sent without it")
                connection.login(user, unquote(server.password))
            refused = connection.send_message(message, sender)
    except smtplib.SMTPRecipientsRefused as error:
        refused = error.recipients
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return dict.fromkeys(to, f"{shown}: {web_request.hide(_smtp_reason(error), url, setting)}")
    return {address: f"{shown} refused {address}: {_reply(*reply)}" for address, reply in refused.items()}


def _server(url: str) -> SplitResult | None:
    """The parts of a server's URL; None where it is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        return None
    return parts


def _connected(server: SplitResult) -> smtplib.SMTP:
    """A connection, by TLS where the server has it."""
    host, context = server.hostname or "", ssl.create_default_context()
    if server.scheme == "smtps":
        return smtplib.SMTP_SSL(host, server.port or smtplib.SMTP_SSL_PORT, timeout=_SECONDS, context=context)
    connection = smtplib.SMTP(host, server.port or _SUBMISSION_PORT, timeout=_SECONDS)
    connection.ehlo_or_helo_if_needed()
    if connection.has_extn("starttls"):
        connection.starttls(context=context)
    return connection


def _smtp_reason(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return _reply(error.smtp_code, error.smtp_error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _reply(code: int, text: bytes | str) -> str:
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return f"{code} {text}"
