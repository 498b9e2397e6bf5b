from __future__ import annotations

import email
from email import policy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.report.messages import mail
from gpuregress.report.messages.notice import Notice
from tests.report.messages import servers

NOTICE = Notice(Path("/srv/kernels"), 1, "r", ("1 new failure: sum ≠ 3", "differ b"))


def test_a_mail_goes_through_sendmail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mailed = servers.sendmail(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("TEAM", "team@example.org")
    assert mail.send(("${TEAM}", "root"), NOTICE) == ""
    arguments, _, raw = mailed.read_bytes().partition(b"\n")
    message = email.message_from_bytes(raw, policy=policy.default)
    assert arguments == b"arguments: -i -t"
    assert message["To"] == "team@example.org, root"
    assert message["Subject"].startswith("gpuregress: kernels on ")
    assert message["Subject"].endswith(": 1 new failure: sum ≠ 3")
    assert message.get_content().startswith("1 new failure: sum ≠ 3\ndiffer b\n")


def test_a_sendmail_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers.sendmail(tmp_path, 75, "the queue is full")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert mail.send(("root",), NOTICE) == f"notify.mail: {tmp_path}/sendmail ended with 75: the queue is full"


def test_a_host_without_sendmail_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(mail, "FOLDERS", (str(tmp_path),))
    assert "there is no sendmail" in mail.send(("root",), NOTICE)


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        ("-oQ/tmp", "expected an address"),
        ("a b@c", "expected an address"),
        ("a@b\nBcc: x", "expected an address"),
        ("a@b,c@d", "several are a list"),
        ("https://x/y", "notify.webhook"),
    ],
)
def test_a_wrong_address_is_refused(monkeypatch: pytest.MonkeyPatch, address: str, printed: str) -> None:
    monkeypatch.setenv("TEAM", address)
    failure = mail.send(("${TEAM}",), NOTICE)
    assert printed in failure
    assert mail.problem("team@example.org") == ""


@given(st.text(min_size=1), st.text())
def test_a_mail_has_no_header_of_others(first: str, second: str) -> None:
    raw = mail._message(["root"], Notice(Path("/p"), 1, "r", (first, second)))
    message = email.message_from_bytes(raw, policy=policy.default)
    assert set(message.keys()) <= {
        "Subject",
        "To",
        "Auto-Submitted",
        "Content-Type",
        "Content-Transfer-Encoding",
        "MIME-Version",
    }
    assert message["To"] == "root"
