"""What happens to a run's process from outside: ^C, SIGKILL, a reader that leaves, two runs at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gpuregress.store import launch_log
from tests import preloaded
from tests.waiting import wait_until
from tests.workshop import JOB, KERNEL, Workshop

ROOT = Path(__file__).parents[2]


def start(shop: Workshop, *arguments: str) -> subprocess.Popen[str]:
    return preloaded.Program(
        [sys.executable, "-m", "tests.fake_main", "-C", str(shop.root), *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def hanging(shop: Workshop) -> None:
    """A job that is well, and after it one that hangs."""
    shop.write("kernels/slow.cu", KERNEL.replace("void scale", "void slow"))
    shop.write("configs/slow.yaml", JOB.replace("scale", "slow"))


def logs(shop: Workshop) -> list[Path]:
    return sorted((shop.root / "runs").glob("2*/launch.log"))


def is_hanging(shop: Workshop) -> bool:
    return any("slow<<<" in path.read_text() for path in logs(shop))


def test_interrupted_in_the_middle(shop: Workshop) -> None:
    hanging(shop)
    with start(shop, "run", "--device", "cpu", "--jobs", "1") as run:
        wait_until(lambda: is_hanging(shop))
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "Traceback" not in err
    assert "new      scale/n=100" in out
    assert "interrupted" in out
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    assert [case["case"] for case in document["cases"]] == ["scale/n=100"]


def test_killed_the_log_names_the_launch(shop: Workshop) -> None:
    hanging(shop)
    with start(shop, "run", "--device", "cpu", "--jobs", "1") as run:
        wait_until(lambda: is_hanging(shop))
        run.kill()
        run.communicate(timeout=60)
    (path,) = logs(shop)
    (begin,) = launch_log.read(path).unfinished
    assert begin.case == "slow/n=100"
    name, where = path.parent.name, f"launch {begin.number} on cpu, slow/n=100: slow<<<"
    assert f"{name} was cut short" in shop.call("log", "--blame").stdout
    for arguments in (("log", "--blame"), ("report", "-o", str(shop.root / "r.html")), ("history",)):
        assert where in shop.call(*arguments).output
    assert "Cut short" in (shop.root / "r.html").read_text()
    document = json.loads(shop.call("report", "--json").stdout)
    assert (document["state"], document["exit_code"], document["unfinished"]) == ("cut short", 4, ["slow/n=100"])
    assert [case["verdict"] for case in document["cases"]] == ["new"]


def cut(shop: Workshop) -> str:
    """A run of `scale`, which ended, and `slow`, which was killed in its launch; its name."""
    hanging(shop)
    with start(shop, "run", "--device", "cpu", "--jobs", "1") as run:
        wait_until(lambda: is_hanging(shop))
        run.kill()
        run.communicate(timeout=60)
    shop.write("configs/slow.yaml", JOB)  # launches `scale` from now on
    return logs(shop)[-1].parent.name


def test_a_run_that_was_cut_short_is_told_once_by_the_next_and_always_on_demand(fake_shop: Workshop) -> None:
    name = cut(fake_shop)
    printed = (
        f"run {name} was cut short (killed, or its disk, machine or cluster failed) in launch 2 on cpu, slow/n=100"
    )
    assert printed in fake_shop.call("run", "--device", "cpu", "scale").stdout
    assert printed not in fake_shop.call("run", "--device", "cpu", "scale").stdout
    assert printed in fake_shop.call("log", name).stdout
    assert printed in fake_shop.call("history").stdout
    assert printed in fake_shop.call("report", name, "-o", str(fake_shop.root / "r.html")).stderr


def test_nothing_is_accepted_from_a_run_that_was_cut_short_unless_it_is_named(fake_shop: Workshop) -> None:
    fake_shop.call("run", "--device", "cpu")
    name = cut(fake_shop)
    for command in (("accept",), ("review",), ("reject", "scale"), ("accept", "--run", "latest")):
        printed = fake_shop.fails(4, *command)
        assert f"the newest run {name} was cut short" in printed
        assert f"--run {name}" in printed
    assert fake_shop.call("accept", "--run", name, "-m", "why").stdout.startswith("accepted scale/n=100 ")


def test_what_never_got_its_turn_is_run_again_however_often_one_is_stopped(fake_shop: Workshop) -> None:
    cut(fake_shop)
    fake_shop.call("accept", "--run", logs(fake_shop)[-1].parent.name, "-m", "why")
    again = fake_shop.call("run", "--device", "cpu", "--rerun-failed", "scale")
    assert "new      slow" not in again.stdout
    again = fake_shop.call("run", "--device", "cpu", "--rerun-failed")
    assert ("new      slow/n=100" in again.stdout, again.exit_code) == (True, 1)


SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
WRITING = """
import os, sys
from gpuregress.foundation.storage import atomic_writes
from gpuregress.__main__ import run
atomic, NUMBER = atomic_writes.atomic, int(sys.argv.pop())
def stopped(path, **more):
    held = atomic(path, **more)
    enter = held.__enter__
    if "baselines" in str(path):
        class Stopped:
            def __enter__(self):
                file = enter()
                os.kill(os.getpid(), NUMBER)
                return file
            def __exit__(self, *error):
                return held.__exit__(*error)
        return Stopped()
    return held
atomic_writes.atomic = stopped
run()
"""


@pytest.mark.parametrize("number", SIGNALS, ids=str)
def test_a_signal_while_baselines_are_written_is_130_and_leaves_nothing_behind(
    fake_shop: Workshop, number: signal.Signals
) -> None:
    fake_shop.call("run", "--device", "cpu")
    command = [sys.executable, "-c", WRITING, "-C", str(fake_shop.root), "accept", "-m", "why", str(int(number))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (130, "gpuregress: interrupted")
    assert not [path for path in (fake_shop.root / "baselines").rglob("*") if path.is_file()]


def test_accepting_removes_what_a_killed_accept_left_in_any_folder(fake_shop: Workshop) -> None:
    fake_shop.call("run", "--device", "cpu")
    left = fake_shop.write("baselines/other/n=1/.gpuregress-tmp-0123456789ab", "half")
    assert fake_shop.call("accept", "-m", "why").exit_code == 0
    assert not left.exists()


def test_two_runs_at_once_do_not_meet(shop: Workshop) -> None:
    with start(shop, "run", "--device", "cpu") as one, start(shop, "run", "--device", "cpu") as two:
        codes = [run.wait(60) for run in (one, two)]
    assert codes == [1, 1]
    assert len(logs(shop)) == 2
    assert (shop.root / "runs/latest/results.json").is_file()


def test_a_reader_that_leaves_is_no_error(shop: Workshop) -> None:
    with start(shop, "schema") as run:
        assert run.stdout is not None
        run.stdout.close()
        assert run.stderr is not None
        printed = run.stderr.read()
    assert printed == ""
    assert run.returncode == 141


def test_a_run_whose_reader_leaves_is_kept(shop: Workshop) -> None:
    """`gpuregress run | head -1`: the cases after the first line are run, dumped and can be accepted."""
    shop.job(("n: [100]", "n: [100, 200, 300]"))
    with start(shop, "run", "--device", "cpu", "--jobs", "1") as run:
        assert run.stdout is not None
        run.stdout.close()
        assert run.stderr is not None
        printed = run.stderr.read()
    assert printed == ""
    assert run.returncode == 1
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    assert [case["verdict"] for case in document["cases"]] == ["new"] * 3


def test_closed_streams_lead_nowhere(shop: Workshop) -> None:
    """Else the log of the run, opened next, would be stdout, and what is printed would stand in it."""
    command = [sys.executable, "-m", "tests.fake_main", "-C", str(shop.root), "run", "--device", "cpu"]
    run = subprocess.run(["bash", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command], cwd=ROOT, check=False)
    assert run.returncode == 1
    assert "scale" in logs(shop)[0].read_text()
    assert "new " not in logs(shop)[0].read_text()


def test_a_disk_that_is_full(shop: Workshop) -> None:
    """A limit on the size of files is the nearest that a test can come to a full disk."""
    shop.job(("n: [100]", "n: [200000]"))
    command = [
        "bash",
        "-c",
        'ulimit -f 100; trap "" XFSZ; exec "$@"',
        "sh",
        sys.executable,
        "-m",
        "tests.fake_main",
    ]
    arguments = ["-C", str(shop.root), "run", "--device", "cpu", "--jobs", "1"]
    done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert "file is larger than the system allows" in done.stdout
    assert not list((shop.root / "runs").rglob("out.*"))


def test_a_disk_that_has_no_room_for_the_journal_hides_no_verdict(shop: Workshop) -> None:
    """As above; dumps and launch log fit into 4 KiB, the verdicts of six cases do not."""
    shop.job(("n: [100]", "n: [1, 2, 3, 4, 5, 6]"))
    command = ["bash", "-c", 'ulimit -f 4; trap "" XFSZ; exec "$@"', "sh", sys.executable, "-m", "tests.fake_main"]
    arguments = ["-C", str(shop.root), "run", "--device", "cpu", "--jobs", "1"]
    done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert done.stdout.count("new      scale/n=") == 6
    assert "verdicts.jsonl: the file is larger than the system allows" in done.stdout
    assert "nothing of this run can be accepted" in done.stdout
    assert "is as its baseline" not in shop.fails(4, "accept")
    assert "cut short" in shop.call("log").stdout
