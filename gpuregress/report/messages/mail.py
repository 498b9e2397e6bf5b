"""Mails of a night: by sendmail or an SMTP server, kept until they are sent."""

from __future__ import annotations

import contextlib
import copy
import email
import email.policy
import os
import secrets
import shutil
import smtplib
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gpuregress.foundation import storage
from gpuregress.foundation.errors import RunLocked, StorageError
from gpuregress.foundation.escapes import one_line
from gpuregress.foundation.wording import plural
from gpuregress.gpu.records import Record
from gpuregress.report.messages import web_request
from gpuregress.report.messages.notices import Notice
from gpuregress.store.settings import ADDRESS

MAIL_KEY = "notify.mail"
SMTP_KEY = "notify.smtp"
FOLDERS = ("/usr/sbin", "/usr/lib", "/usr/local/sbin")
"""Where sendmail is, beside PATH: cron's has none of them."""
_ALL_SECONDS = 120.0
"""For all mails of a night: a silent server must not hold it for each recipient."""
_SECONDS = 30.0
"""Of each wait for the server."""
_MOST_OF_SUBJECT = 200
_MOST_BYTES = 900
"""Of a line of a mail; RFC 5322 allows 998."""
_MOST_KEPT = 20
_SUBMISSION_PORT = 587  # RFC 6409
_PERMANENT = 500
"""A reply from here on is final (RFC 5321, 4.2.1)."""
_SHORTEST_SECRET = 4
"""Shorter texts are no secrets, and hiding them would spoil the message."""


class _Undelivered(Record):
    """A mail that did not reach everybody.

    Attributes:
        why: in words.
        addresses: of those who do not have it and may get it later, as the settings have them.
        refused: of those whom the server refuses for good (5xx).
    """

    why: str
    addresses: Sequence[str]
    refused: Sequence[str] = ()


class _Unreachable(Exception):
    """No mail can be sent now, to whomever."""


class KeptMail(Record):
    """A mail of tonight.

    Attributes:
        path: its file among the unsent ones.
        message: whose recipients are as the settings have them.
    """

    path: Path
    message: EmailMessage

    def remove(self) -> None:
        """Remove its file, as after it was sent."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


class MailRoom:
    """The way by which a project sends the mails of a night.

    Args:
        server: `notify.smtp` as the settings have it; "": the local sendmail.
        unsent: the folder of the mails that could not be sent.
        seconds: for all mails together, from the first one on.
    """

    def __init__(self, server: str, unsent: Path, seconds: float = _ALL_SECONDS) -> None:
        self._server = server
        self._unsent = unsent
        self._seconds = seconds
        self._deadline: float | None = None
        self._unreachable = ""
        self._new: set[Path] = set()

    def keep(self, addresses: Sequence[str], notice: Notice) -> KeptMail:
        """Keep a notice as a mail before it is sent: a kill while it is sent must not lose it.

        Args:
            addresses: as the settings have them.
            notice: the text.
        """
        # The time comes first, for `_kept`; two nights may send equal mails in one second.
        started = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        name = f"{started}-{notice.run or 'no-run'}-{secrets.token_hex(4)}.eml"
        mail = KeptMail(self._unsent / name, _message(addresses, notice))
        self._new.add(mail.path)
        with contextlib.suppress(StorageError):  # it may be sent all the same, and else `send` tries again
            self._write(mail)
        return mail

    def send(self, mail: KeptMail) -> str:
        """Send a mail; one that cannot be sent stays kept, also for those who are refused: an error may be mended.

        Returns:
            Why it failed and what became of the mail, "" where it was sent.
        """
        failure = self._deliver(mail.message)
        if failure is None:
            mail.remove()
            return ""
        mail.message.replace_header("To", ", ".join((*failure.addresses, *failure.refused)))
        try:
            self._write(mail)
        except StorageError as error:
            if not mail.path.exists():
                return f"{failure.why}; the mail is lost: {error}"
        text = f"{failure.why}; the mail is kept as {mail.path}, and the next night sends it"
        removed = self._remove_oldest()
        if removed:
            waits = f"more than {_MOST_KEPT} mails of earlier nights wait"
            text += f"; {waits}, and the oldest are removed unsent: {', '.join(removed)}"
        return text

    def _write(self, mail: KeptMail) -> None:
        with storage.disk_errors(self._unsent):
            self._unsent.mkdir(parents=True, exist_ok=True)
        storage.write_atomic(mail.path, mail.message.as_bytes())

    def _remove_oldest(self) -> list[str]:
        """Remove the oldest of too many mails of earlier nights; return their names."""
        earlier = [path for path in self._kept() if path not in self._new]
        removed = []
        with contextlib.suppress(OSError):
            for path in earlier[: max(0, len(earlier) - _MOST_KEPT)]:
                path.unlink(missing_ok=True)
                removed.append(path.name)
        return removed

    def send_kept(self) -> Iterator[str]:
        """Send the mails of earlier nights, each for itself; yield why one failed and what became of it."""
        if not self._kept():
            return
        try:
            with storage.lock(self._unsent.with_name(f".{self._unsent.name}.lock")):
                waiting = [path for path in self._kept() if path not in self._new]
                for number, path in enumerate(waiting):
                    note = self._send_again(path)
                    if self._unreachable:
                        count = plural(len(waiting) - number, "mail")
                        yield f"{self._unreachable}; {count} of earlier nights are still kept in {self._unsent}"
                        return
                    if note:
                        yield note
        except RunLocked:
            return  # another night is sending them
        except StorageError as error:
            yield f"{MAIL_KEY}: {error}"

    def _send_again(self, path: Path) -> str:
        """Send a kept mail; return why it failed and what became of it, "" where it was sent."""
        try:
            message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
            is_mail = bool(message["To"] and message["Subject"])
        except OSError as error:
            return f"{path}: {error.strerror or error}"
        except Exception:  # noqa: BLE001 - the parser of damaged headers raises many things
            is_mail = False
        try:
            if not is_mail:
                aside = path.with_suffix(".damaged")
                path.replace(aside)
                return f"{path} is not a mail; it is set aside as {aside.name}"
            failure = self._deliver(message)
            if failure is None:
                path.unlink(missing_ok=True)
                return ""
            if not failure.addresses:
                path.unlink(missing_ok=True)
                return f"{failure.why}; {path} is removed: it was refused a second time"
            message.replace_header("To", ", ".join(failure.addresses))
            storage.write_atomic(path, message.as_bytes())
        except OSError as error:
            return f"{path}: {error.strerror or error}"
        except StorageError as error:
            return str(error)
        text = f"{failure.why}; {path} is not sent yet"
        if failure.refused:
            text += f", and {', '.join(failure.refused)} will not get it"
        return text

    def _deliver(self, message: EmailMessage) -> _Undelivered | None:
        """Send a mail to its recipients; None where all have it.

        Nothing is tried any more after the server could not be reached, or the time is up.
        """
        addresses = str(message["To"]).split(", ")
        if self._deadline is None:
            self._deadline = time.monotonic() + self._seconds
        seconds = self._deadline - time.monotonic()
        if not self._unreachable and seconds <= 0:
            self._unreachable = f"{MAIL_KEY}: the time for the mails of a night is up"
        if self._unreachable:
            return _Undelivered(self._unreachable, addresses)
        ended: list[_Undelivered | None] = []

        def attempt() -> None:
            try:
                ended.append(_sent(message, self._server, min(seconds, _SECONDS)))
            except _Unreachable as error:
                self._unreachable = str(error)
            except Exception as error:  # noqa: BLE001 - one mail must not stop the others; the text may hold a secret
                ended.append(_Undelivered(f"{MAIL_KEY}: {type(error).__name__}", addresses))

        # A thread, because a resolver or a server that sends byte by byte can outlast every timeout of a socket.
        thread = threading.Thread(target=attempt, daemon=True)
        thread.start()
        thread.join(seconds)
        if ended:
            return ended[0]
        self._unreachable = self._unreachable or f"{MAIL_KEY}: no answer within {seconds:.0f} s"
        return _Undelivered(self._unreachable, addresses)

    def _kept(self) -> list[Path]:
        """The kept mails, the oldest first: their names begin with the time."""
        return sorted(self._unsent.glob("*.eml"))


def address_problem(address: str) -> str:
    """Why a text is no address for a mail, "" if it is one; the text does not quote it."""
    if "://" in address:
        return "expected an address, not a URL: that is notify.webhook"
    if "," in address or ";" in address:
        return "expected one address; several are a list"
    return "" if ADDRESS.fullmatch(address) else "expected an address such as team@example.org"


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


def _sent(message: EmailMessage, setting: str, seconds: float) -> _Undelivered | None:
    """Send a mail to its recipients; None where all have it.

    Args:
        message: whose recipients are as the settings have them. A wrong one keeps it from no other.
        setting: `notify.smtp`.
        seconds: of each wait.

    Raises:
        _Unreachable: no mail can be sent.
    """
    to: dict[str, str] = {}  # address → as the settings have it
    problems: dict[str, str] = {}  # as the settings have it → why it gets no mail
    for written in str(message["To"]).split(", "):
        try:
            address = web_request.expand(written, MAIL_KEY)
        except web_request.UnsetVariable as error:
            problems[written] = str(error)
            continue
        problem = address_problem(address)
        if problem:
            problems[written] = f"{MAIL_KEY}: {problem}"
        else:
            to[address] = written
    refused: list[str] = []
    if to:
        envelope = copy.deepcopy(message)  # copies share their headers
        envelope.replace_header("To", ", ".join(to))
        refusals = _by_smtp(envelope, setting, seconds) if setting else _by_sendmail(envelope, seconds)
        for address, refusal in refusals.items():
            problems[to[address]] = refusal.why
            if refusal.is_final:
                refused.append(to[address])
    if not problems:
        return None
    why = one_line(", ".join(dict.fromkeys(problems.values())))
    return _Undelivered(why, [written for written in problems if written not in refused], refused)


class _Refusal(Record):
    """Why a recipient does not get a mail, and whether the server will never take it."""

    why: str
    is_final: bool = False


def _by_sendmail(message: EmailMessage, seconds: float) -> dict[str, _Refusal]:
    """Hand a mail to sendmail; return each address → why it failed."""
    folders = (*os.environ.get("PATH", os.defpath).split(os.pathsep), *FOLDERS)
    program = shutil.which("sendmail", path=os.pathsep.join(folders))
    if program is None:
        raise _Unreachable(
            f"{MAIL_KEY}: there is no sendmail in PATH or {FOLDERS[0]}; install a mail transfer agent, such as "
            f"msmtp-mta, or name a server: {SMTP_KEY}"
        )
    command = [program, "-i", "-t"]
    try:
        done = subprocess.run(command, input=message.as_bytes(), capture_output=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise _Unreachable(f"{MAIL_KEY}: {program} did not end within {seconds:.0f} s") from None
    except OSError as error:
        raise _Unreachable(f"{MAIL_KEY}: {program} cannot be started: {error.strerror or error}") from error
    if done.returncode == 0:
        return {}
    why = one_line(done.stderr.decode("utf-8", "replace").strip().partition("\n")[0])
    text = f"{MAIL_KEY}: {program} ended with {done.returncode}{f': {why}' if why else ''}"
    return dict.fromkeys(str(message["To"]).split(", "), _Refusal(text))


# --- SMTP -------------------------------------------------------------------------------------------------------------


class _Server(Record):
    """A mail server, with the values of variables.

    Attributes:
        is_tls: from the first byte.
        host: its name.
        port: None: the usual one.
        user: "" for none.
        password: as it is sent.
    """

    is_tls: bool
    host: str
    port: int | None
    user: str
    password: str

    @property
    def shown(self) -> str:
        """The part that is no secret."""
        return f"{'smtps' if self.is_tls else 'smtp'}://{self.host}"


def _by_smtp(message: EmailMessage, setting: str, seconds: float) -> dict[str, _Refusal]:
    """Hand a mail to a server; TLS is used where the server has it, and is needed for a password.

    Args:
        message: whose recipients are addresses.
        setting: of the server; the values of its variables are not shown.
        seconds: of each wait.

    Returns:
        Each address that was refused → why.

    Raises:
        _Unreachable: the server takes no mail at all.
    """
    try:
        server = _server(setting)
    except web_request.UnsetVariable as error:
        raise _Unreachable(str(error)) from error
    except ValueError:
        raise _Unreachable(
            f"{SMTP_KEY}: expected a server such as smtp://mail.example.org:587 or smtps://mail.example.org; where a "
            "variable holds the whole URL, / # ? @ % of a password are written %2F %23 %3F %40 %25"
        ) from None

    def reason(error: Exception) -> str:
        text = web_request.hide(_smtp_reason(error), setting, setting)
        if len(server.password) >= _SHORTEST_SECRET:
            text = text.replace(server.password, "***")
        return one_line(f"{SMTP_KEY}: {server.shown}: {text}")

    try:
        connection = _connected(server, seconds)
        if server.password:
            if not isinstance(connection.sock, ssl.SSLSocket):
                connection.close()
                raise _Unreachable(f"{SMTP_KEY}: {server.shown} offers no TLS, and a password is not sent without it")
            connection.login(server.user, server.password)
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise _Unreachable(reason(error)) from error
    sender = server.user if "@" in server.user else f"gpuregress@{socket.getfqdn()}"
    for name, text in (("From", f"gpuregress <{sender}>"), ("Date", formatdate()), ("Message-ID", make_msgid())):
        del message[name]
        message[name] = text
    to = str(message["To"]).split(", ")
    try:
        refused = connection.send_message(message, sender, to)
    except smtplib.SMTPRecipientsRefused as error:
        refused = error.recipients
    except smtplib.SMTPDataError as error:
        return dict.fromkeys(to, _Refusal(reason(error), error.smtp_code >= _PERMANENT))
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return dict.fromkeys(to, _Refusal(reason(error)))
    finally:
        with contextlib.suppress(OSError):  # what was taken is sent, whatever the server says to QUIT
            connection.quit()
    refusals = {}
    for address, (code, reply) in refused.items():
        why = f"{SMTP_KEY}: {server.shown} refused {address}: {_reply(code, reply)}"
        refusals[address] = _Refusal(why, code >= _PERMANENT)
    return refusals


def _server(setting: str) -> _Server:
    """Read the URL of a server.

    It is split before its variables are replaced, so that a password is taken as it is. A variable that holds the whole
    URL is written as URLs are.

    Raises:
        UnsetVariable: a variable is not set.
        ValueError: it is no such URL.
    """
    is_whole = not setting.startswith(("smtp://", "smtps://"))
    parts = urlsplit(web_request.expand(setting, SMTP_KEY) if is_whole else setting)
    credentials, _, place = parts.netloc.rpartition("@")
    words = [unquote(word) for word in credentials.partition(":")[::2]]
    if not is_whole:
        place, *words = (web_request.expand(word, SMTP_KEY) for word in (place, *words))
    user, password = words
    if not password:
        user, _, password = user.partition(":")  # of a variable that holds both
    address = urlsplit(f"//{place}")
    if parts.scheme not in ("smtp", "smtps") or not address.hostname or address.netloc != place or "@" in place:
        raise ValueError
    if "@" in parts.path + parts.query + parts.fragment:  # the end of a password
        raise ValueError
    return _Server(
        is_tls=parts.scheme == "smtps", host=address.hostname, port=address.port, user=user, password=password
    )


def _connected(server: _Server, seconds: float) -> smtplib.SMTP:
    """A connection, by TLS where the server has it."""
    context = ssl.create_default_context()
    if server.is_tls:
        port = server.port or smtplib.SMTP_SSL_PORT
        return smtplib.SMTP_SSL(server.host, port, timeout=seconds, context=context)
    connection = smtplib.SMTP(server.host, server.port or _SUBMISSION_PORT, timeout=seconds)
    connection.ehlo_or_helo_if_needed()
    if connection.has_extn("starttls"):
        connection.starttls(context=context)
    return connection


def _smtp_reason(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return _reply(error.smtp_code, error.smtp_error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{error.verify_message}; SSL_CERT_FILE names a file of the certificates to trust"
    if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        return "it does not begin with TLS; write smtp:// if it does later"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _reply(code: int, text: bytes | str) -> str:
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return f"{code} {text}"
