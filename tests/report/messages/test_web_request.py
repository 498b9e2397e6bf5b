from __future__ import annotations

import socket
import threading
import time

import pytest

from gpuregress.report.messages import web_request
from gpuregress.report.messages.web_request import Patience, WebRequest
from tests.report.messages import servers
from tests.report.messages.servers import Server

QUICK = Patience(attempts=3, timeout_s=5, pause_s=0.01, total_s=10)
SECRET = "f00d-cafe-secret"


def send(server: Server, **more: object) -> str:
    url = f"{server.url}/{SECRET}"
    return web_request.send(WebRequest(url, url, **more), QUICK)  # type: ignore[arg-type]  # a body


def test_a_request_is_sent(server: Server) -> None:
    assert send(server) == ""
    assert send(server, body=b"text") == ""
    assert [(one.method, one.path, one.body) for one in server.requests] == [
        ("GET", f"/{SECRET}", ""),
        ("POST", f"/{SECRET}", "text"),
    ]


def test_a_server_in_trouble_is_asked_again(server: Server) -> None:
    server.answers = [503, 429, 200]
    assert send(server) == ""
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("code", "requests", "text"), [(503, 3, "503 Service Unavailable"), (404, 1, "404 Not Found"), (400, 1, "400")]
)
def test_a_refusal_is_said_without_the_path(server: Server, code: int, requests: int, text: str) -> None:
    server.answers = [code]
    failure = send(server)
    assert failure.startswith(f"{server.url}: the server answered {text}")
    assert SECRET not in failure
    assert len(server.requests) == requests


def test_a_redirect_is_not_followed(server: Server) -> None:
    with servers.serving() as other:
        server.answers, server.location = [302], f"{other.url}/{SECRET}"
        failure = send(server)
        assert "302 Found; redirects are not followed" in failure
        assert SECRET not in failure
        assert other.requests == []


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/{SECRET}"
        failure = web_request.send(WebRequest(url, url), QUICK)
    assert "Connection refused" in failure
    assert SECRET not in failure


def test_a_server_that_never_answers_is_not_waited_for() -> None:
    release = threading.Event()
    with servers.serving(delay=release) as slow:
        began = time.monotonic()
        failure = web_request.send(WebRequest(slow.url, slow.url), Patience(1, 60, 0, 0.3))
        assert time.monotonic() - began < 5
        assert failure == f"{slow.url}: no answer within 0.3 s"
        release.set()


@pytest.mark.parametrize(
    ("url", "printed"),
    [
        ("ftp://example.org/x", "https:// or http://"),
        ("example.org", "https:// or http://"),
        ("http://", "https:// or http://"),
        ("http://[::1", "no valid URL"),
        ("http://h:99999/", "no valid URL"),
        ("http://h/a b", "no spaces"),
        ("http://h/a\nb", "no"),
        ("http://me:word@h/", "password"),
    ],
)
def test_a_wrong_url_is_told_without_quoting_it(url: str, printed: str) -> None:
    problem = web_request.problem(url)
    assert printed in problem
    assert "example.org" not in problem
    assert web_request.problem("https://hc.example.org:8000/uuid?create=1") == ""


def test_of_a_url_only_the_host_is_shown() -> None:
    assert web_request.shown("https://me:word@hc.example.org:8000/secret?x=1#y") == "https://hc.example.org:8000"
