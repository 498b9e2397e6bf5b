from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuregress.report.messages import notices
from gpuregress.report.messages.notices import Notice
from gpuregress.report.messages.web_request import Patience
from tests.report.messages.servers import Server

NOTICE = Notice(Path("/srv/kernels"), 1, "20261120T020000Z-3f2a", ("1 new failure", "differ <b> & c"))
QUICK = Patience(attempts=1, timeout_s=5, total_s=10)


def test_a_notice_is_posted_as_json(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_URL", f"{server.url}/services/T0/B0/word")
    assert notices.post_webhook("${CHAT_URL}", NOTICE, QUICK) == ""
    (request,) = server.requests
    sent = json.loads(request.body)
    assert (request.path, request.content_type) == ("/services/T0/B0/word", "application/json")
    assert "1 new failure\ndiffer &lt;b&gt; &amp; c\n" in sent["text"]
    assert (sent["exit_code"], sent["run"], sent["lines"][1]) == (1, "20261120T020000Z-3f2a", "differ <b> & c")


def test_a_long_text_is_cut() -> None:
    text = str(notices.document(Notice(Path("/p"), 1, "r", ["x" * 9_000]))["text"])
    assert len(text) == 3000
    assert text.endswith("…")


def test_what_is_wrong_is_said_without_the_secret(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_URL", f"{server.url}/services/word")
    server.answers = [403]
    assert (
        notices.post_webhook("${CHAT_URL}", NOTICE, QUICK)
        == f"notify.webhook: {server.url}: the server answered 403 Forbidden"
    )
    monkeypatch.setenv("CHAT_URL", "nonsense-word")
    assert "word" not in notices.post_webhook("${CHAT_URL}", NOTICE, QUICK)
    monkeypatch.delenv("CHAT_URL")
    assert "CHAT_URL is not set" in notices.post_webhook("${CHAT_URL}", NOTICE, QUICK)
