"""A web server and a mail server on loopback that keep what they were sent, and a stand-in for sendmail."""

from __future__ import annotations

import contextlib
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class Received:
    """A request."""

    method: str
    path: str
    body: str
    content_type: str


@dataclass
class Server:
    """A server, the requests that it got, and its answers, the last one for all further requests."""

    url: str
    requests: list[Received] = field(default_factory=list)
    answers: list[int] = field(default_factory=lambda: [200])
    location: str = ""

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


@contextlib.contextmanager
def serving(*, delay: threading.Event | None = None) -> Iterator[Server]:
    """A server on a free port; with `delay` it answers only when the event is set."""
    server = Server("")

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(size).decode()
            server.requests.append(Received(self.command, self.path, body, self.headers.get("Content-Type", "")))
            if delay is not None:
                delay.wait(20)
            code = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
            self.send_response(code, "a reason that quotes " + self.path)
            if server.location:
                self.send_header("Location", server.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = answer  # noqa: N815 - the standard library's names
        do_POST = answer  # noqa: N815 - as above

        def log_message(self, *_arguments: object) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        server.url = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


@dataclass
class MailServer:
    """A mail server without TLS, the recipients and texts of the mails that it took, and whom it will take later."""

    url: str
    recipients: list[list[str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    later: str = ""


@contextlib.contextmanager
def smtp(*, refuses: str = "") -> Iterator[MailServer]:
    """A mail server on a free port, which refuses one recipient."""
    server = MailServer("")

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 test")
            recipients: list[str] = []
            for line in iter(lambda: self.rfile.readline().decode(), ""):
                word = line[:4].upper()
                if word == "RCPT" and refuses and refuses in line:
                    self._say("550 nobody of that name")
                    continue
                if word == "RCPT" and server.later and server.later in line:
                    self._say("450 not now")
                    continue
                if word == "RCPT":
                    recipients.append(line.partition("<")[2].partition(">")[0])
                if word == "DATA":
                    self._say("354 go on")
                    text = iter(lambda: self.rfile.readline().decode().replace("\r\n", "\n"), ".\n")
                    server.texts.append("".join(text))
                    server.recipients.append(recipients)
                if word == "QUIT":
                    return
                self._say("250 test")

        def _say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        server.url = f"smtp://127.0.0.1:{listening.server_address[1]}"
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()


def sendmail(folder: Path, code: int = 0, message: str = "") -> Path:
    """A sendmail in a folder, which appends its arguments and the mail to a file there; that file."""
    mailed = folder / "mailed"
    script = f'#!/bin/sh\n{{ echo "arguments: $*"; cat; }} >> "{mailed}"\necho "{message}" >&2\nexit {code}\n'
    program = folder / "sendmail"
    program.write_text(script)
    program.chmod(0o755)
    return mailed
