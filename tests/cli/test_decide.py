"""accept, reject, review, blame: who decides what, and what is remembered of it, on the fake device."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable

import pytest

from gpuregress.cli import context
from tests.cli.test_run import RUN, accepted, change
from tests.cli.workshop import Workshop


def keys(monkeypatch: pytest.MonkeyPatch, *pressed: str) -> None:
    """Somebody at a terminal who presses these."""
    left = list(pressed)

    def getchar() -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    monkeypatch.setattr(context, "is_interactive", lambda: True)
    monkeypatch.setattr("click.getchar", getchar)


def two_differ(shop: Workshop) -> Workshop:
    shop.job(("n: [100]", "n: [100, 200]"))
    accepted(shop)
    change(shop)
    shop.job(("n: [100]", "n: [100, 200]"), ("{float32: 2.0}", "{float32: 3.0}"))
    assert shop.call(*RUN).exit_code == 1
    return shop


def revisions(shop: Workshop) -> dict[str, str]:
    return {entry["case"]: entry["baseline_revision"] for entry in json.loads(shop.call("list", "--json").stdout)}


def test_blame_names_every_accept_the_newest_first(fake_shop: Workshop) -> None:
    fake_shop.fails(5, "blame", "scale")
    accepted(fake_shop)
    change(fake_shop)
    fake_shop.call(*RUN)
    run = (fake_shop.root / "runs/latest").readlink().name
    fake_shop.call("accept", "-m", "three is right")
    lines = fake_shop.call("blame", "scale/n=100").stdout.splitlines()
    assert lines[0] == "scale/n=100"
    assert re.fullmatch(rf"  \S+Z  \S+  1\.5  from {run}  three is right", lines[1])
    assert re.fullmatch(r"  \S+Z  \S+  1\.4  from \S+", lines[2])
    (entry,) = json.loads(fake_shop.call("blame", "scale", "--json").stdout)
    assert [accept["why"] for accept in entry["accepts"]] == ["", "three is right"]


def test_what_is_rejected_is_not_accepted_and_is_known_when_it_comes_again(fake_shop: Workshop) -> None:
    two_differ(fake_shop)
    said = fake_shop.call("reject", "scale/n=100", "-m", "three is wrong")
    assert said.stdout == "rejected: scale/n=100: out of revision 1.5\n"
    done = fake_shop.call("accept", "--all")
    assert done.exit_code == 0
    assert "left out: scale/n=100: it was rejected by" in done.stderr
    assert revisions(fake_shop) == {"scale/n=100": "1.4", "scale/n=200": "1.5"}
    assert "three is wrong" in fake_shop.fails(4, "accept", "scale/n=100")
    again = fake_shop.call(*RUN)
    assert again.exit_code == 1
    assert "note: out: known to be bad: rejected by" in again.stdout
    assert "three is wrong" in fake_shop.fails(5, "accept")
    assert fake_shop.call("reject", "--undo", "scale").stdout.startswith("no longer rejected: scale/n=100: out")
    assert fake_shop.call("accept", "--all").exit_code == 0
    assert revisions(fake_shop)["scale/n=100"] == "1.5"


def test_other_bytes_are_not_rejected_with_them(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop)
    fake_shop.call(*RUN)
    fake_shop.call("reject", "scale")
    change(fake_shop, factor="4.0", revision="1.6")
    assert "known to be bad" not in fake_shop.call(*RUN).stdout
    assert fake_shop.call("accept", "--all").exit_code == 0


def test_only_what_differs_or_is_new_can_be_rejected(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.call(*RUN)
    assert "scale/n=100: pass" in fake_shop.fails(4, "reject", "scale")
    fake_shop.fails(2, "reject", "nothing")
    fake_shop.fails(2, "reject", "--undo", "scale")
    fake_shop.fails(2, "reject")


def test_a_file_of_rejections_that_was_cut_short(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.write("runs/rejected.json", '{"rejected": [')
    runs = sorted((fake_shop.root / "runs").glob("2*"))
    assert "rejected.json: edited or cut short" in fake_shop.fails(4, *RUN)
    assert sorted((fake_shop.root / "runs").glob("2*")) == runs, "nothing was run"


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
    command = [sys.executable, "-m", "tests.cli.fake_main", "-C", str(fake_shop.root), "review"]
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


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.02)
    pytest.fail("the terminal never got there")


def test_a_device_may_have_a_baseline_of_its_own_which_comes_first(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop)
    fake_shop.call(*RUN)
    assert "it says nothing of cuda" in fake_shop.fails(4, "accept", "--for", "cuda", "scale")
    assert "for cpu at revision 1.5" in fake_shop.call("accept", "--for", "cpu", "--all").stdout
    passed = fake_shop.call(*RUN, "-v")
    assert passed.exit_code == 0
    assert "compared with the baseline for cpu" in passed.stdout
    entry = json.loads(fake_shop.call("list", "--json").stdout)[0]
    assert (entry["baseline_revision"], entry["own_baselines"]) == ("1.4", {"cpu": "1.5"})
    assert "1.4, cpu: 1.5" in fake_shop.call("list").stdout
    assert "scale/n=100 for cpu" in fake_shop.call("blame", "scale").stdout
    # From now on an accept changes the nearest one, unless the common one is named.
    change(fake_shop, factor="4.0", revision="1.6")
    fake_shop.call(*RUN)
    assert "for cpu at revision 1.6" in fake_shop.call("accept", "--all").stdout
    fake_shop.call(*RUN)
    assert "for cpu" not in fake_shop.call("accept", "--for", "common", "scale").stdout
    assert revisions(fake_shop) == {"scale/n=100": "1.6"}


def test_an_architecture_may_have_a_baseline_of_its_own(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop)
    fake_shop.call(*RUN)
    assert "for sm_90 at revision 1.5" in fake_shop.call("accept", "--for", "sm_90", "--all").stdout
    assert "compared with the baseline for sm_90" in fake_shop.call(*RUN, "-v").stdout


def test_small_accepts_do_not_creep_past_the_limit(fake_shop: Workshop) -> None:
    """Each step is within the tolerance of the one before, the third is not within that of the first."""
    rule = ("    args:", "    args:")
    fake_shop.job(rule)
    text = (fake_shop.root / "configs/scale.yaml").read_text() + "compare: {out: {rtol: 1.0e-3}}\n"
    fake_shop.write("configs/scale.yaml", text)
    accepted(fake_shop)
    for factor in ("2.0008", "2.0016"):
        fake_shop.write("configs/scale.yaml", text.replace("2.0}", f"{factor}}}"))
        assert fake_shop.call(*RUN).exit_code == 0
        assert fake_shop.call("accept", "scale").exit_code == 0
    fake_shop.write("configs/scale.yaml", text.replace("2.0}", "2.0024}"))
    crept = fake_shop.call(*RUN)
    assert crept.exit_code == 1
    assert "out: drift: 99 of 100 differ from the first one accepted, revision 1.4" in crept.stdout
    # Whoever accepts that has seen it: the next drift begins here.
    assert fake_shop.call("accept", "--all").exit_code == 0
    assert fake_shop.call(*RUN).exit_code == 0


def test_list_names_baselines_without_a_case(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    accepted(fake_shop)
    fake_shop.job()
    assert "the baseline scale/n=200 has no case any more" in fake_shop.call("list").stderr
    assert "no case any more" not in fake_shop.call("list", "scale").stderr
