from __future__ import annotations

import email
import socket
from email import policy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation import storage
from gpuregress.report.messages import mail
from gpuregress.report.messages.mail import MailRoom
from gpuregress.report.messages.notices import Notice
from tests.report.messages import servers

NOTICE = Notice(Path("/srv/kernels"), 1, "r", ("1 new failure: sum ≠ 3", "differ b"))


def sent(room: MailRoom, *addresses: str) -> str:
    """Sends the notice; why it failed."""
    return room.send(room.keep(addresses, NOTICE))


def test_a_mail_goes_through_sendmail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mailed = servers.sendmail(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("TEAM", "team@example.org")
    assert sent(MailRoom("", tmp_path / "unsent"), "${TEAM}", "root") == ""
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
    unsent = tmp_path / "unsent"
    room = MailRoom("", unsent)
    failure = sent(room, "${TEAM}")
    assert list(room.send_kept()) == []  # the night that kept it does not try again
    (kept,) = (tmp_path / "unsent").iterdir()
    why = f"notify.mail: {tmp_path}/sendmail ended with 75: the queue is full"
    assert failure == f"{why}; the mail is kept as {kept}, and the next night sends it"
    assert "team@example.org" not in kept.read_text()  # what the environment holds is written nowhere
    assert list(MailRoom("", unsent).send_kept()) == [f"{why}; {kept} is not sent yet"]
    (tmp_path / "mailed").unlink()
    mailed = servers.sendmail(tmp_path)
    assert list(MailRoom("", unsent).send_kept()) == []
    assert not kept.exists()
    message = email.message_from_bytes(mailed.read_bytes().partition(b"\n")[2], policy=policy.default)
    assert (message["To"], message.get_content().splitlines()[0]) == ("team@example.org", "1 new failure: sum ≠ 3")


def test_a_refused_recipient_is_tried_again_once_and_holds_no_other_mail(tmp_path: Path) -> None:
    unsent = tmp_path / "unsent"
    with servers.smtp(refuses="gone@example.org") as server:
        room = MailRoom(server.url, unsent)
        failure = sent(room, "ada@example.org", "gone@example.org")
        assert failure.startswith(
            "notify.smtp: smtp://127.0.0.1 refused gone@example.org: 550 nobody of that name; the mail is kept as "
        )
        (kept,) = unsent.iterdir()
        assert email.message_from_bytes(kept.read_bytes())["To"] == "gone@example.org"
        raw = kept.read_text()
        (unsent / "0.eml").write_bytes(b"")
        (unsent / "1.eml").write_text(raw.replace("gone@", "gone@example.org, late@"))
        (unsent / "9.eml").write_text(raw.replace("gone@", "bob@"))
        server.later = "late@example.org"
        notes = list(MailRoom(server.url, unsent).send_kept())
        assert [note.rpartition("; ")[2] for note in notes] == [
            "it is set aside as 0.damaged",
            f"{unsent}/1.eml is not sent yet, and gone@example.org will not get it",
            f"{kept} is removed: it was refused a second time",
        ]
        assert sorted(path.name for path in unsent.iterdir()) == ["0.damaged", "1.eml"]
        assert email.message_from_bytes((unsent / "1.eml").read_bytes())["To"] == "late@example.org"
    assert server.recipients == [["ada@example.org"], ["bob@example.org"]]
    message = email.message_from_string(server.texts[0], policy=policy.default)
    assert message["From"].startswith("gpuregress <gpuregress@")
    assert message["Subject"].endswith("] 1 new failure: sum ≠ 3")


def test_a_silent_server_is_tried_once_a_night(tmp_path: Path) -> None:
    unsent = tmp_path / "unsent"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"smtp://127.0.0.1:{silent.getsockname()[1]}"
        (tmp_path / "unsent").mkdir()
        for name in ("0.eml", "1.eml"):
            (unsent / name).write_text("To: a@b\nSubject: s\n\n")
        room = MailRoom(url, unsent, 0.2)
        failures = [sent(room, address) for address in ("a@b", "c@d")]
        failures += room.send_kept()
        silent.settimeout(5)
        silent.accept()[0].close()
        silent.settimeout(0.05)
        with pytest.raises(TimeoutError):
            silent.accept()
    assert all(failure.startswith("notify.") for failure in failures)
    assert failures[2].endswith(f"2 mails of earlier nights are still kept in {unsent}")
    assert len(list(unsent.glob("*.eml"))) == 4


def test_two_nights_send_a_kept_mail_once(tmp_path: Path) -> None:
    unsent = tmp_path / "unsent"
    unsent.mkdir()
    (unsent / "0.eml").write_text("To: a@b\nSubject: s\n\n")
    with servers.smtp() as server:
        with storage.lock(tmp_path / ".unsent.lock"):
            assert list(MailRoom(server.url, unsent).send_kept()) == []
            assert server.texts == []
        assert list(MailRoom(server.url, unsent).send_kept()) == []
    assert len(server.texts) == 1


def test_the_oldest_of_too_many_mails_are_removed_and_named(tmp_path: Path) -> None:
    unsent = tmp_path / "unsent"
    unsent.mkdir()
    for number in range(22):
        (unsent / f"{number:02}.eml").write_text("To: a@b\nSubject: s\n\n")
    failure = sent(MailRoom("smtp://${UNSET_HOST}", unsent), "a@b")
    assert "UNSET_HOST is not set" in failure
    assert failure.endswith("the oldest are removed unsent: 00.eml, 01.eml")
    assert len(list(unsent.iterdir())) == 21  # with tonight's


def test_no_mail_of_tonight_is_removed(tmp_path: Path) -> None:
    """There may be more owners than mails are kept, and a clock that goes back makes tonight's the oldest."""
    unsent = tmp_path / "unsent"
    unsent.mkdir()
    for number in range(20):
        (unsent / f"99991231T000000Z-r-{number}.eml").write_text("To: a@b\nSubject: s\n\n")
    room = MailRoom("smtp://${UNSET_HOST}", unsent)
    failures = [sent(room, f"{number}@b") for number in range(25)]
    assert not any("removed unsent" in failure for failure in failures)
    assert len(list(unsent.iterdir())) == 45


@pytest.mark.parametrize(
    ("setting", "user", "password"),
    [
        ("smtp://ada:${WORD}@h:25", "ada", "/#?%41@:"),
        ("smtp://ada%40b:%41@h:25", "ada@b", "A"),
        ("smtp://${BOTH}@${PLACE}", "ada", "a/b"),
        ("${WHOLE}", "ada", "/A"),
        ("smtp://h:25", "", ""),
    ],
)
def test_a_password_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, setting: str, user: str, password: str) -> None:
    values = {"WORD": "/#?%41@:", "BOTH": "ada:a/b", "PLACE": "h:25", "WHOLE": "smtp://ada:%2F%41@h:25"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    server = mail._server(setting)
    assert (server.host, server.port, server.user, server.password) == ("h", 25, user, password)


@pytest.mark.parametrize("whole", ["smtp://u:a/w@h", "smtp://u:12/w@h", "smtp://u:a#w@h", "smtp://u:a?w@h", "http://h"])
def test_a_url_whose_password_ends_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: str) -> None:
    monkeypatch.setenv("WHOLE", whole)
    assert "are written %2F" in sent(MailRoom("${WHOLE}", tmp_path / "unsent"), "a@b")


def test_a_password_is_not_sent_without_tls_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "f00d-cafe")
    with servers.smtp() as server:
        url = server.url.replace("//", "//ada:${PASSWORD}@")
        failure = sent(MailRoom(url, tmp_path / "unsent"), "root")
    assert "smtp://127.0.0.1 offers no TLS, and a password is not sent without it" in failure
    refused = sent(MailRoom(url, tmp_path / "unsent"), "root")  # nobody listens any more
    assert "Connection refused" in refused
    assert "f00d" not in failure + refused
    assert server.texts == []


def test_a_host_without_sendmail_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(mail, "FOLDERS", (str(tmp_path),))
    assert "there is no sendmail" in sent(MailRoom("", tmp_path / "unsent"), "root")


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        ("-oQ/tmp", "expected an address"),
        ("a b@c", "expected an address"),
        ("a@b\nBcc: x", "expected an address"),
        ("a@b,c@d", "several are a list"),
        ("a@b;c@d", "several are a list"),
        ("undisclosed:;", "several are a list"),
        ("ü@example.org", "expected an address"),
        ("a@b@c", "expected an address"),
        ("<a@b>", "expected an address"),
        ("https://x/y", "notify.webhook"),
    ],
)
def test_a_wrong_address_is_refused_and_keeps_the_mail_from_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, printed: str
) -> None:
    monkeypatch.setenv("TEAM", address)
    with servers.smtp() as server:
        assert printed in sent(MailRoom(server.url, tmp_path), "${TEAM}", "ada@example.org")
    assert server.recipients == [["ada@example.org"]]
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
