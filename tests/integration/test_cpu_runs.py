"""From a job file to a verdict on the CPU device: real kernels, a real compiler, real workers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.waiting import wait_until
from tests.workshop import JOB, KERNEL, Workshop

RUN = ("run", "--device", "cpu", "--jobs", "1")
LOOP = KERNEL.replace("if (i < n)", "while (n > 0) ((volatile float *)out)[0] = i;\n    if (i < n)")


def case(shop: Workshop, number: int = 0) -> dict[str, object]:
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    actual: dict[str, object] = document["cases"][number]
    return actual


def test_run_accept_run_change_run(shop: Workshop) -> None:
    assert shop.call(*RUN).exit_code == 1
    assert shop.call("accept").exit_code == 0
    assert shop.call(*RUN).exit_code == 0
    shop.write("kernels/scale.cu", KERNEL.replace("if (i < n)", "if (i + 1 < n)").replace("1.4", "1.5"))
    result = shop.call(*RUN)
    assert result.exit_code == 1
    assert "out: 1 of 100 differ" in result.stdout
    assert "never written" in result.stdout
    assert "out.1.5" in result.stdout
    assert "source changed" in result.stdout


def test_an_access_out_of_bounds_is_named_and_the_next_case_passes(shop: Workshop) -> None:
    shop.call(*RUN)
    shop.call("accept")
    shop.write("kernels/over.cu", KERNEL.replace("if (i < n) ", "").replace("void scale", "void over"))
    shop.write("configs/over.yaml", JOB.replace("scale", "over"))
    assert shop.call(*RUN).exit_code == 3
    assert (case(shop, 0)["verdict"], case(shop, 1)["verdict"]) == ("fault", "pass")
    assert re.search(r"x\[100\].*x has 100.*thread \(4,0,0\) of block \(3,0,0\).*over\.cu:5", str(case(shop)["reason"]))


def test_an_endless_kernel_is_killed_at_its_limit_and_the_next_case_passes(shop: Workshop) -> None:
    shop.call(*RUN)
    shop.call("accept")
    shop.write("kernels/loop.cu", LOOP.replace("void scale", "void loop"))
    shop.write("configs/loop.yaml", JOB.replace("scale", "loop") + "limits: {timeout: 0.3}\n")
    assert shop.call(*RUN).exit_code == 3
    assert (case(shop, 0)["verdict"], case(shop, 1)["verdict"]) == ("timeout", "pass")
    reason = str(case(shop, 0)["reason"])
    assert re.search(r"killed at its limit of 0\.3 s in loop<<<.*; it was here: thread \(", reason)
    assert "loop<<<" in shop.call("log", "--blame").stdout


def test_the_worker_killed_in_the_middle_of_a_launch(shop: Workshop) -> None:
    shop.write("kernels/scale.cu", LOOP)
    shop.write("configs/scale.yaml", f"{JOB}expect: {{fault: crash}}\nknown_failing: {{until: 2999-01-01, why: w}}\n")
    command = [sys.executable, "-m", "gpuregress", "-C", str(shop.root), *RUN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        logs = shop.root / "runs"
        wait_until(lambda: run.poll() or any("begin 1 " in log.read_text() for log in logs.glob("2*/launch.log")))
        (worker,) = children(run.pid)
        os.kill(worker, signal.SIGKILL)
        out, _ = run.communicate(timeout=60)
    assert run.returncode == 4
    assert "SIGKILL" in out
    assert case(shop)["verdict"] == "error"


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
