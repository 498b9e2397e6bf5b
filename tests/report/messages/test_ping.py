from __future__ import annotations

import pytest

from gpuregress.report.messages import notices
from gpuregress.report.messages.web_request import Patience
from tests.report.messages.servers import Server

QUICK = Patience(attempts=1, timeout_s=5, total_s=10)


def test_start_and_end_follow_the_protocol(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PING_KEY", "uuid-1")
    setting = f"{server.url}/ping/${{PING_KEY}}/?create=1"
    assert notices.ping_start(setting, QUICK) == ""
    assert notices.ping_end(setting, 1, ("1 new failure", "differ a\x1b"), QUICK) == ""
    assert server.paths == ["/ping/uuid-1/start?create=1", "/ping/uuid-1/1?create=1"]
    assert server.requests[1].body == "1 new failure\ndiffer a\\x1b"


def test_a_good_night_has_an_empty_body(server: Server) -> None:
    assert notices.ping_end(server.url, 0, (), QUICK) == ""
    assert [(one.path, one.method, one.body) for one in server.requests] == [("/0", "POST", "")]


def test_a_long_body_is_cut(server: Server) -> None:
    notices.ping_end(server.url, 4, ["é" * 40_000], QUICK)
    assert 9_000 < len(server.requests[0].body.encode()) <= notices.MOST_PINGED_BYTES


def test_what_is_wrong_is_said(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PING_URL", "secret-word-without-scheme")
    assert notices.ping_start("${NOT_SET_AT_ALL}") == "ping: the environment variable NOT_SET_AT_ALL is not set"
    assert notices.ping_start("${PING_URL}") == "ping: expected a URL that begins with https:// or http://"
    server.answers = [404]
    assert notices.ping_start(f"{server.url}/x", QUICK) == f"ping: {server.url}: the server answered 404 Not Found"
