from __future__ import annotations

import email
import socket
from email import policy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.report.messages import mail
from gpuregress.report.messages.mail import MailRoom
from gpuregress.report.messages.notices import Notice
from tests.report.messages import servers

NOTICE = Notice(Path("/srv/kernels"), 1, "r", ("1 new failure: sum ≠ 3", "differ b"))


def test_a_mail_goes_through_sendmail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mailed = servers.sendmail(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("TEAM", "team@example.org")
    assert MailRoom("", tmp_path / "unsent").send(("${TEAM}", "root"), NOTICE) == ""
    arguments, _, raw = mailed.read_bytes().partition(b"\n")
    message = email.message_from_bytes(raw, policy=policy.default)
    assert arguments == b"arguments: -i -t"
    assert message["To"] == "team@example.org, root"
    assert message["Subject"] == f"[kernels on {socket.gethostname()}] 1 new failure: sum ≠ 3"
    assert message.get_content().startswith("1 new failure: sum ≠ 3\ndiffer b\n")


def test_a_mail_that_fails_is_kept_and_sent_by_the_next_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers.sendmail(tmp_path, 75, "the queue is full")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("TEAM", "team@example.org")
    room = MailRoom("", tmp_path / "unsent")
    failure = room.send(("${TEAM}",), NOTICE)
    (kept,) = (tmp_path / "unsent").iterdir()
    why = f"notify.mail: {tmp_path}/sendmail ended with 75: the queue is full"
    assert failure == f"{why}; the mail is kept as {kept}, and the next night sends it"
    assert "team@example.org" not in kept.read_text()  # what the environment holds is written nowhere
    assert room.send_kept() == f"{why}; {kept} is not sent yet"
    (tmp_path / "mailed").unlink()
    mailed = servers.sendmail(tmp_path)
    assert room.send_kept() == ""
    assert not kept.exists()
    message = email.message_from_bytes(mailed.read_bytes().partition(b"\n")[2], policy=policy.default)
    assert (message["To"], message.get_content().splitlines()[0]) == ("team@example.org", "1 new failure: sum ≠ 3")


def test_a_server_takes_mails_and_a_refused_recipient_is_tried_again_alone(tmp_path: Path) -> None:
    with servers.smtp(refuses="gone@example.org") as server:
        room = MailRoom(server.url, tmp_path / "unsent")
        failure = room.send(("ada@example.org", "gone@example.org"), NOTICE)
        assert failure.startswith(
            "notify.smtp: smtp://127.0.0.1 refused gone@example.org: 550 nobody of that name; the mail is kept as "
        )
        assert "is not sent yet" in room.send_kept()
    assert server.recipients == [["ada@example.org"]]
    message = email.message_from_string(server.texts[0], policy=policy.default)
    assert message["From"].startswith("gpuregress <gpuregress@")
    assert message["Subject"].endswith("] 1 new failure: sum ≠ 3")
    (kept,) = (tmp_path / "unsent").iterdir()
    assert email.message_from_bytes(kept.read_bytes())["To"] == "gone@example.org"


def test_a_password_is_not_sent_without_tls_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "f00d-cafe")
    with servers.smtp() as server:
        url = server.url.replace("//", "//ada:${PASSWORD}@")
        failure = MailRoom(url, tmp_path / "unsent").send(("root",), NOTICE)
    assert "smtp://127.0.0.1 offers no TLS, and a password is not sent without it" in failure
    refused = MailRoom(url, tmp_path / "unsent").send(("root",), NOTICE)  # nobody listens any more
    assert "Connection refused" in refused
    assert "f00d" not in failure + refused
    assert server.texts == []


def test_a_host_without_sendmail_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(mail, "FOLDERS", (str(tmp_path),))
    assert "there is no sendmail" in MailRoom("", tmp_path / "unsent").send(("root",), NOTICE)


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
def test_a_wrong_address_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, printed: str
) -> None:
    monkeypatch.setenv("TEAM", address)
    assert printed in MailRoom("", tmp_path).send(("${TEAM}",), NOTICE)
    assert mail.address_problem("team@example.org") == ""


@given(st.text(min_size=1), st.text())
def test_a_mail_has_no_header_of_others(first: str, second: str) -> None:
    raw = mail._message(["root"], Notice(Path("/p"), 1, "r", (first, second))).as_bytes()
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
