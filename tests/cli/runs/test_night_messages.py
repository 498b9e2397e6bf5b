"""Messages of a night: who is told what, when, and that no secret is written anywhere."""

from __future__ import annotations

import email
import email.policy
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.foundation import storage
from gpuregress.foundation.errors import StorageError
from gpuregress.report.messages import web_request
from gpuregress.report.messages.web_request import Patience
from tests.report.messages import servers
from tests.report.messages.servers import Server
from tests.waiting import wait_until
from tests.workshop import Workshop, accepted, change

ROOT = Path(__file__).parents[3]
SECRET = "f00d-cafe-secret"
NIGHT = ("nightly", "--device", "cpu", "--jobs", "1")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(web_request, "DEFAULT_PATIENCE", Patience(1, 5, 0, 10))
    with servers.serving() as server:
        monkeypatch.setenv("HOOK", f"{server.url}/hook/{SECRET}")
        monkeypatch.setenv("KEY", SECRET)
        yield server


@pytest.fixture
def mailed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return servers.sendmail(folder)


def settings(shop: Workshop, server: Server) -> None:
    lines = (f"ping: {server.url}/ping/${{KEY}}", "notify: {mail: team@example.org, webhook: '${HOOK}'}")
    shop.write("gpuregress.yaml", "\n".join(lines))


def test_a_good_night_pings_and_tells_nobody(fake_shop: Workshop, server: Server, mailed: Path) -> None:
    accepted(fake_shop)
    settings(fake_shop, server)
    printed = fake_shop.call(*NIGHT)
    assert (printed.exit_code, printed.output) == (0, "")
    assert server.paths == [f"/ping/{SECRET}/start", f"/ping/{SECRET}/0"]
    assert not mailed.exists()


def test_a_bad_night_tells_everybody_what_it_prints(fake_shop: Workshop, server: Server, mailed: Path) -> None:
    accepted(fake_shop)
    settings(fake_shop, server)
    change(fake_shop)
    printed = fake_shop.call(*NIGHT)
    assert printed.exit_code == 1
    assert server.paths == [f"/ping/{SECRET}/start", f"/ping/{SECRET}/1", f"/hook/{SECRET}"]
    assert server.requests[1].body == printed.stdout.removesuffix("\n")
    assert json.loads(server.requests[2].body)["lines"] == printed.stdout.splitlines()
    assert "scale/n=100" in mailed.read_text()


def test_messages_that_fail_are_said_and_change_no_verdict(
    fake_shop: Workshop, server: Server, mailed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted(fake_shop)
    settings(fake_shop, server)
    server.answers = [404]
    good = fake_shop.call(*NIGHT)
    assert good.exit_code == 0
    assert good.stdout == ""
    assert good.stderr.splitlines() == [f"note: ping: {server.url}: the server answered 404 Not Found"]
    monkeypatch.delenv("KEY")
    change(fake_shop)
    bad = fake_shop.call(*NIGHT)
    assert bad.exit_code == 1
    assert "note: ping: the environment variable KEY is not set" in bad.stderr


def test_a_night_that_cannot_run_is_told_once(fake_shop: Workshop, server: Server, mailed: Path) -> None:
    """Cron mails what is on stderr: nothing, unless nobody could be told."""
    settings(fake_shop, server)
    (fake_shop.root / "runs").mkdir()
    with storage.lock(fake_shop.root / "runs" / ".nightly.lock"):
        printed = fake_shop.call(*NIGHT)
        assert (printed.exit_code, printed.stderr) == (75, "")
        assert "is locked by" in printed.stdout
    assert server.paths == [f"/ping/{SECRET}/start", f"/ping/{SECRET}/75", f"/hook/{SECRET}"]
    assert "is locked by" in server.requests[1].body
    assert "is locked by" in mailed.read_text()
    servers.sendmail(mailed.parent, 75, "the queue is full")
    with storage.lock(fake_shop.root / "runs" / ".nightly.lock"):
        printed = fake_shop.call(*NIGHT)
    assert "is locked by" in printed.stderr
    assert "the queue is full; the mail is kept as" in printed.stderr
    servers.sendmail(mailed.parent)
    unsent = fake_shop.root / "runs" / "unsent-mails"
    with storage.lock(fake_shop.root / "runs" / ".nightly.lock"):
        fake_shop.call(*NIGHT)
    assert len(list(unsent.iterdir())) == 1  # the night that holds the lock sends it
    mailed.unlink()
    accepted(fake_shop)
    (unsent / "0.eml").touch()
    printed = fake_shop.call(*NIGHT)
    assert (printed.exit_code, printed.stdout) == (0, "")
    assert printed.stderr == f"note: {unsent}/0.eml is not a mail; it is set aside as 0.damaged\n"
    assert "is locked by" in mailed.read_text()


def test_a_night_that_is_killed_while_it_sends_its_mail_loses_none(fake_shop: Workshop, mailed: Path) -> None:
    fake_shop.job(("source:", "owners: [ada@example.org]\nsource:"))
    fake_shop.write("gpuregress.yaml", "notify: {mail: team@example.org}")
    (mailed.parent / "sendmail").write_text("#!/bin/sh\nkill -9 $PPID\n")
    command = [sys.executable, "-m", "tests.fake_main", "-C", str(fake_shop.root), *NIGHT]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    servers.sendmail(mailed.parent)
    assert fake_shop.call(*NIGHT).exit_code == 1
    lines = mailed.read_text().splitlines()
    recipients = [line for line in lines if line.startswith("To: ")]
    assert sorted(recipients) == ["To: ada@example.org"] * 2 + ["To: team@example.org"] * 2
    assert sum("1 without a baseline: scale" in line for line in lines if line.startswith("Subject: ")) == 4
    assert list((fake_shop.root / "runs/unsent-mails").iterdir()) == []


def test_a_night_that_is_killed_while_it_writes_its_reports_loses_no_mail(fake_shop: Workshop, mailed: Path) -> None:
    fake_shop.write("gpuregress.yaml", "notify: {mail: team@example.org}")
    page = fake_shop.root / "page.html"
    os.mkfifo(page)  # nobody reads it
    command = [sys.executable, "-m", "tests.fake_main", "-C", str(fake_shop.root), *NIGHT, "--html", str(page)]
    unsent = fake_shop.root / "runs/unsent-mails"
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as night:
        try:
            wait_until(lambda: any(unsent.glob("*.eml")))
        finally:
            night.kill()
    assert not mailed.exists()
    accepted(fake_shop)
    assert fake_shop.call(*NIGHT).exit_code == 0
    assert "1 without a baseline: scale" in mailed.read_text()
    assert list(unsent.iterdir()) == []


def test_a_full_disk_of_the_log_shortens_no_mail(fake_shop: Workshop, mailed: Path) -> None:
    fake_shop.write("gpuregress.yaml", "notify: {mail: team@example.org}")
    command = [sys.executable, "-m", "tests.fake_main", "-C", str(fake_shop.root), *NIGHT]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, cwd=ROOT, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (4, "")
    text = mailed.read_text()
    assert "] 1 without a baseline: scale" in text
    assert "what the night says cannot be printed: No space left on device" in text
    assert "new      scale/n=100" in text


def test_a_report_that_is_not_written_is_part_of_the_exit_code_that_is_pinged(
    fake_shop: Workshop, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted(fake_shop)
    fake_shop.write("gpuregress.yaml", f"ping: {server.url}")

    def refuse(*_arguments: object) -> None:
        raise StorageError("no space")

    monkeypatch.setattr("gpuregress.cli.context.write_report", refuse)
    assert fake_shop.call(*NIGHT, "--junit", str(fake_shop.root / "j.xml")).exit_code == 4
    assert server.paths == ["/start", "/4"]


def test_no_secret_is_written_anywhere(
    fake_shop: Workshop, server: Server, mailed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(fake_shop, server)
    server.answers, server.location = [302], f"{server.url}/elsewhere/{SECRET}"
    reports = [
        f"--report={name}={fake_shop.root / name}.out" for name in ("junit", "sarif", "json", "html", "markdown")
    ]
    outputs = [fake_shop.call(*NIGHT, *reports).output]
    monkeypatch.setenv("HOOK", f"http://{SECRET}:99999/")
    outputs.append(fake_shop.call(*NIGHT).output)
    outputs += [fake_shop.call(*words).output for words in (("history",), ("log",), ("report",), ("doctor",))]
    assert "302 Found" in outputs[0]
    assert "no valid URL" in outputs[1]
    assert [text for text in outputs if SECRET in text] == []
    files = [path for path in fake_shop.root.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("ping: 3", "gpuregress.yaml:1: ping: expected a URL such as https://hc.example.org/${PING_KEY}"),
        ("ping: ftp://x/word", "gpuregress.yaml:1: ping: expected a URL"),
        ("ping: https://me:word@x/y", "gpuregress.yaml:1: ping: holds a password"),
        ("notify: {mail: [a@b, 3]}", "gpuregress.yaml:1: notify.mail: expected an address"),
        ("notify: {mail: a@b;c@d}", "gpuregress.yaml:1: notify.mail: expected an address"),
        ("notify: {mial: a@b}", "unknown key; did you mean 'mail'"),
        ("notify: {smtp: mail.example.org}", "gpuregress.yaml:1: notify.smtp: expected a mail server"),
        ("notify: {smtp: 'smtp://me:word@x'}", "gpuregress.yaml:1: notify.smtp: holds a password"),
        ("notify: {webhook: [x]}", "gpuregress.yaml:1: notify.webhook: expected a URL"),
    ],
)
def test_wrong_settings_are_told_with_their_line(fake_shop: Workshop, text: str, printed: str) -> None:
    fake_shop.write("gpuregress.yaml", text)
    message = fake_shop.fails(2, *NIGHT)
    assert printed in message
    assert "word@" not in message


def test_one_address_or_url_needs_no_mapping(fake_shop: Workshop, server: Server, mailed: Path) -> None:
    fake_shop.write("gpuregress.yaml", f"notify: {server.url}/x")
    fake_shop.call(*NIGHT)
    assert server.paths == ["/x"]
    fake_shop.write("gpuregress.yaml", "notify: team@example.org")
    fake_shop.call(*NIGHT)
    assert "To: team@example.org" in mailed.read_text()


def test_the_owners_of_a_job_get_its_news_alone(fake_shop: Workshop, server: Server, mailed: Path) -> None:
    """Without mail of the project; who gets that one gets no second one."""
    fake_shop.job(("parameters:", "owners: [ada@example.org, bob@example.org]\nparameters:"), name="own")
    fake_shop.job(("parameters:", "owners: bob@example.org\nparameters:"), name="shared")
    accepted(fake_shop)
    fake_shop.write("gpuregress.yaml", f"ping: {server.url}/ping/${{KEY}}\n")
    assert fake_shop.call(*NIGHT).output == ""
    assert not mailed.exists()
    fake_shop.job(name="scale")
    for name, owners in (("own", "[ada@example.org, bob@example.org]"), ("shared", "bob@example.org")):
        fake_shop.job(
            ("parameters:", f"owners: {owners}\nparameters:"), ("{float32: 2.0}", "{float32: 3.0}"), name=name
        )
    assert fake_shop.call(*NIGHT).exit_code == 1
    mails = mailed.read_text().split("arguments: ")[1:]
    parsed = [email.message_from_string(mail.partition("\n")[2], policy=email.policy.default) for mail in mails]
    assert [(mail["To"], mail["Subject"].partition("] ")[2]) for mail in parsed] == [
        ("ada@example.org", "1 new failure: own"),
        ("bob@example.org", "2 new failures: own, shared"),
    ]
    mailed.unlink()
    fake_shop.write("gpuregress.yaml", "notify: {mail: bob@example.org}\n")
    assert fake_shop.call(*NIGHT).exit_code == 1
    assert re.findall("To: (.*)", mailed.read_text()) == ["bob@example.org", "ada@example.org"]


def test_an_owner_that_is_no_address_is_an_error_of_the_job(fake_shop: Workshop) -> None:
    fake_shop.job(("parameters:", "owners: [a b]\nparameters:"))
    message = fake_shop.fails(2, "check")
    assert "scale.yaml:2: owners: expected an address such as team@example.org, or a list, got 'a b'" in message
