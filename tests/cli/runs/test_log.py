"""`gpuregress log`: the launches of a run."""

from __future__ import annotations

import json
import re

from tests.workshop import KERNEL, RUN, Workshop


def test_log_shows_the_launches(fake_shop: Workshop) -> None:
    fake_shop.call(*RUN)
    shown = fake_shop.call("log").stdout
    assert re.search(
        r"^begin 1 \S+Z cpu scale/n=100 scale<<<\(4,1,1\),\(32,1,1\),0>>>\(.*n=100\) seed=\d+$", shown, re.MULTILINE
    )
    assert re.search(r"^end 1 0\.500 ms$", shown, re.MULTILINE)
    assert json.loads(fake_shop.call("log", "--json").stdout)["unfinished"] == []


def test_a_launch_that_ended_with_a_fault_is_blamed(fake_shop: Workshop) -> None:
    fake_shop.call(*RUN)
    assert fake_shop.call("log", "--blame").stdout == "every launch returned\n"
    fake_shop.write("kernels/scale.cu", KERNEL.replace("void scale", "void fault"))
    fake_shop.job(("kernel: scale", "kernel: fault"))
    done = fake_shop.call(*RUN)
    assert done.exit_code == 3, done.stdout + done.stderr
    shown = fake_shop.call("log", "--blame").stdout
    assert shown.startswith("ended with a fault: launch 1 on cpu, scale/n=100: ")
    assert "every launch returned" not in shown


def test_a_hanging_kernel_is_named_by_the_log(fake_shop: Workshop) -> None:
    fake_shop.write("kernels/scale.cu", KERNEL.replace("void scale", "void slow"))
    fake_shop.job(("kernel: scale", "kernel: slow"))
    assert fake_shop.call(*RUN, "--timeout", "0.2").exit_code == 3
    shown = fake_shop.call("log", "--blame").stdout
    assert "never returned: launch 1 on cpu, scale/n=100: slow<<<" in shown
