"""`gpuregress calibrate` on the fake device."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from gpuregress.foundation.records import RunSummary
from gpuregress.gpu.records import replace
from gpuregress.session import session
from tests.workshop import KERNEL, RUN, Workshop, accepted


def calibrate(shop: Workshop, *more: str) -> str:
    return shop.call("calibrate", "scale", "--repeat", "4", "--device", "cpu", *more).stdout


def test_a_deterministic_case_needs_no_rule_and_leaves_nothing_behind(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    before = sorted(path.name for path in (fake_shop.root / "runs").iterdir())
    message = calibrate(fake_shop)
    assert "# scale: 1 case, 4 runs each on cpu and in 7 other orders of the blocks, and 1 accepted" in message
    assert "# no rule is needed" in message
    assert yaml.safe_load(message) is None
    assert sorted(path.name for path in (fake_shop.root / "runs").iterdir()) == before


def test_the_yaml_that_is_proposed_makes_the_case_pass(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    text = (fake_shop.root / "configs/scale.yaml").read_text()
    fake_shop.write("configs/scale.yaml", text.replace("2.0}", "2.000001}"))
    assert fake_shop.call(*RUN).exit_code == 1
    message = calibrate(fake_shop)
    assert "2 different results" in message
    assert set(yaml.safe_load(message)["compare"]["out"]) == {"ulp"}
    fake_shop.write("configs/scale.yaml", text.replace("2.0}", "2.000001}") + message)
    assert fake_shop.call(*RUN).exit_code == 0


def test_a_rule_that_would_hide_a_change_of_the_kernel_is_called_doubtful(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    assert "careful" not in calibrate(fake_shop)
    fake_shop.write("kernels/scale.cu", KERNEL + "// another one\n")
    text = (fake_shop.root / "configs/scale.yaml").read_text()
    fake_shop.write("configs/scale.yaml", text.replace("2.0}", "3.0}"))
    assert "# careful: the runs of scale/n=100 agree with each other; only what was accepted" in calibrate(fake_shop)


def test_values_that_vary_from_run_to_run_get_no_rule(fake_shop: Workshop) -> None:
    fake_shop.write(
        "kernels/scale.cu",
        KERNEL.replace(
            "void scale(float *out, const float *x, float a, int n)", "void count(float *out, const float *x)"
        ).replace("if (i < n) out[i] = a * x[i];", "out[i] = x[i];"),
    )
    fake_shop.job(("kernel: scale", "kernel: count"), ("[out, x, {float32: 2.0}, {int32: n}]", "[out, x]"))
    done = fake_shop.call("calibrate", "scale", "--repeat", "4", "--device", "cpu", "--json")
    assert done.exit_code == 1
    (proposal,) = json.loads(done.stdout)["proposals"]
    assert (proposal["holds"], proposal["distinct"]) == (False, 4)


def test_a_case_that_faults_cannot_be_calibrated(fake_shop: Workshop) -> None:
    fake_shop.write("kernels/scale.cu", KERNEL.replace("void scale", "void slow"))
    fake_shop.job(("kernel: scale", "kernel: slow"))
    fake_shop.write(
        "configs/scale.yaml", (fake_shop.root / "configs/scale.yaml").read_text() + "limits: {timeout: 0.2}\n"
    )
    assert "it ended with timeout" in fake_shop.fails(4, "calibrate", "scale", "--device", "cpu")


def test_one_job_at_a_time(fake_shop: Workshop) -> None:
    fake_shop.job(name="other")
    assert "several jobs" in fake_shop.fails(2, "calibrate", "*", "--repeat", "2", "--device", "cpu")


def test_an_interrupted_one_proposes_nothing(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    run = session.run

    def stopped(*arguments: Any, **more: Any) -> RunSummary:
        return replace(run(*arguments, **more), state="interrupted")

    monkeypatch.setattr(session, "run", stopped)
    done = fake_shop.call("calibrate", "scale", "--repeat", "4", "--device", "cpu")
    assert (done.exit_code, done.stdout) == (130, "")
    assert not [path for path in (fake_shop.root / "runs").iterdir() if "calibrate" in path.name]
