"""`gpuregress review`: a key a case, on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios

import pytest

from gpuregress.cli import context
from tests.waiting import wait_until
from tests.workshop import RUN, Workshop, idle, revisions, two_differ


def keys(monkeypatch: pytest.MonkeyPatch, *pressed: str) -> None:
    """Somebody at a terminal who presses these."""
    left = list(pressed)

    def getchar() -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    monkeypatch.setattr(context, "is_interactive", lambda: True)
    monkeypatch.setattr("click.getchar", getchar)


def test_review_takes_a_key_a_case(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    two_differ(fake_shop)
    keys(monkeypatch, "x", "d", "a", "r")
    done = fake_shop.call("review", "-m", "looked at")
    assert done.exit_code == 0, done.output
    assert "1 of 2  differ scale/n=100  revision 1.5, was 1.4" in done.stdout
    assert "worst [99]" in done.stdout
    assert revisions(fake_shop) == {"scale/n=100": "1.5", "scale/n=200": "1.4"}
    assert "looked at" in fake_shop.call("blame", "scale/n=100").stdout
    assert "nothing to decide" in fake_shop.fails(5, "review")


@pytest.mark.parametrize(("pressed", "left"), [("sq", 2), ("q", 2), ("", 2), ("sa", 1), ("\x03", 2)])
def test_review_leaves_what_is_not_decided(
    pressed: str, left: int, fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_differ(fake_shop)
    keys(monkeypatch, *pressed)
    assert fake_shop.call("review").exit_code == 1
    monkeypatch.undo()
    assert len(json.loads(fake_shop.call("review", "--json").stdout)["cases"]) == left


def test_review_without_a_terminal_lists_commands_that_work(fake_shop: Workshop) -> None:
    two_differ(fake_shop)
    listed = fake_shop.call("review")
    assert listed.exit_code == 1
    accept, reject = re.findall(r"^  gpuregress (accept .*=100|reject .*=200)$", listed.stdout, re.MULTILINE)
    assert fake_shop.call(*accept.split()).exit_code == 0
    assert fake_shop.call(*reject.split()).exit_code == 0
    fake_shop.fails(5, "review")


def test_review_on_a_real_terminal(fake_shop: Workshop) -> None:
    two_differ(fake_shop)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tests.fake_main", "-C", str(fake_shop.root), "review"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    try:
        shown = b""
        for key in (b"a", b"r"):
            while b"q quit]" not in shown:
                assert select.select([ours], [], [], 60)[0]
                shown += os.read(ours, 4096)
            shown = b""
            wait_until(lambda: is_raw(ours))
            os.write(ours, key)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
    assert revisions(fake_shop) == {"scale/n=100": "1.5", "scale/n=200": "1.4"}


def is_raw(terminal: int) -> bool:
    """Whether the program waits for a single key: what is typed before is thrown away when it begins to."""
    return not termios.tcgetattr(terminal)[3] & termios.ICANON


def test_review_refuses_what_was_never_written(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    idle(fake_shop)
    fake_shop.call(*RUN)
    monkeypatch.setattr(context, "is_interactive", lambda: True)
    monkeypatch.setattr("click.getchar", lambda: "a")
    done = fake_shop.call("review")
    assert done.exit_code == 1
    assert "nothing of out was written" in done.stdout
    assert fake_shop.call("review", "--unwritten-ok", "it only prints").exit_code == 0
    assert "it only prints" in fake_shop.call("blame", "scale").stdout
