"""The lines of a run while it goes on."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import preloaded
from tests.slow_cases import some_slow
from tests.workshop import KERNEL, RUN, Workshop, accepted, change, make


def test_quiet_says_nothing_when_all_is_well(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    assert fake_shop.call(*RUN, "-q").output == ""
    change(fake_shop)
    assert "differ" in fake_shop.call(*RUN, "-q").stdout


def test_quiet_names_what_went_wrong_and_why(fake_shop: Workshop) -> None:
    """An error has no table and no details of its own: its reason stands in the case's line, or nowhere."""
    fake_shop.write("kernels/scale.cu", KERNEL.replace("int i", "integer i"))
    printed = fake_shop.call(*RUN, "-q").stdout
    assert re.search(r"^error +scale/n=100 .*integer", printed, re.MULTILINE)


# --- commands that are no run -----------------------------------------------------------------------------------------

COMMANDS = {
    "accept": ("accept", "--all"),
    "check": ("check",),
    "build": ("build", "--ptx-only"),
    "diff": ("diff", "baseline", "worktree", "--device", "cpu"),
    "calibrate": ("calibrate", "scale", "--repeat", "2", "--device", "cpu"),
}


def on_a_terminal(shop: Workshop, *arguments: str, **environment: str) -> tuple[str, str]:
    """Runs a command whose stderr is a terminal; what it wrote to stdout and to the terminal."""
    leader, follower = pty.openpty()
    kept = {name: text for name, text in os.environ.items() if name not in ("CI", "NO_COLOR", "TERM")}
    command = [sys.executable, "-m", "gpuregress", "-C", str(shop.root), *arguments]
    process = preloaded.Program(
        command,
        stdout=subprocess.PIPE,
        stderr=follower,
        stdin=subprocess.DEVNULL,
        env={**kept, "TERM": "xterm-256color", "GPUREGRESS_CACHE": str(shop.root / "cache"), **environment},
        cwd=Path(__file__).parents[2],
        text=True,
    )
    os.close(follower)
    seen, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([leader], [], [], 0.1)[0]:
            try:
                seen += os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
    os.close(leader)
    printed, _ = process.communicate(timeout=60)
    return printed, seen.decode()


@pytest.fixture(scope="module")
def terminal_shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A project with an accepted run, which all of these commands leave as it is."""
    shop = make(tmp_path_factory.mktemp("terminal"))
    return accepted(shop)


@pytest.mark.parametrize("name", some_slow(COMMANDS, ["calibrate"]))
def test_a_long_command_shows_a_bar_on_a_terminal_alone(terminal_shop: Workshop, name: str) -> None:
    if name == "accept":
        change(terminal_shop)
        assert terminal_shop.call(*RUN).exit_code == 1
    printed, seen = on_a_terminal(terminal_shop, *COMMANDS[name])
    assert "━" in seen
    assert "━" not in printed
    assert printed
    piped = terminal_shop.call(*COMMANDS[name])
    assert "━" not in piped.output


@pytest.mark.parametrize(("variable", "value"), [("CI", "true"), ("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_wants_no_bar_gets_none(terminal_shop: Workshop, variable: str, value: str) -> None:
    printed, seen = on_a_terminal(terminal_shop, "check", **{variable: value})
    assert (printed, seen) == ("1 job, 1 case: no errors\n", "")


# --- compilations -----------------------------------------------------------------------------------------------------


def test_the_stages_of_a_compilation_are_told_once_and_only_where_more_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))
    shop = make(tmp_path)
    printed = shop.call(*RUN, "-v").stdout
    stages = r"front end \d+\.\d s, PTX \d+\.\d s, lowering \d+\.\d s, LLVM \d+\.\d s"
    assert len(re.findall(rf"^compiled scale\.cu: {stages}$", printed, re.MULTILINE)) == 1
    assert "compiled scale.cu" not in shop.call(*RUN, "-v").stdout
    assert "compiled scale.cu" not in shop.call(*RUN).stdout
