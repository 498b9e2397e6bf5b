from __future__ import annotations

from typing import Any

import pytest

from gpuregress.foundation.records import Case, LackingDevice, NightChanges, NightFailure
from gpuregress.gpu.records import replace
from gpuregress.session import night_devices
from tests import fakes
from tests.judge.nights.nights import case, night


def named(name: str, *devices: str) -> Case:
    """A case whose job names its devices."""
    made = fakes.case("double", name=name)
    made = replace(made, devices=devices or made.devices)
    return replace(made, settings=replace(made.settings, on=devices))


CASES = (named("any"), named("both", "cpu", "cuda"), named("gpu", "cuda"), named("cpu", "cpu"))


def shares(devices: night_devices.NightDevices) -> dict[str, set[str]]:
    return {share.device: set(share.cases or ()) for share in devices.shares}


def test_each_case_runs_on_every_device_that_its_job_names() -> None:
    divided = night_devices.divide(CASES, {"cpu", "cuda"})
    assert shares(divided) == {"cuda": {"any", "both", "gpu"}, "cpu": {"both", "cpu"}}
    assert divided.lacking == ()


def test_a_device_that_this_host_lacks_is_skipped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuregress.execution.cuda.prerequisites.lack", lambda: "no driver")
    divided = night_devices.divide(CASES, {"cpu"})
    assert shares(divided) == {"cpu": {"any", "both", "cpu", "gpu"}}
    assert divided.lacking == (LackingDevice("cuda", 2, "no driver", is_new=True),)
    assert not night_devices.divide(CASES, {"cpu"}, known={"cuda"}).lacking[0].is_new
    assert night_devices.divide((named("any"),), {"cpu"}).lacking == ()


def test_a_host_with_a_gpu_and_without_the_cpu_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuregress.execution.device_registry.cpu_lack", lambda: "no llvmlite")
    divided = night_devices.divide(CASES, {"cuda"})
    assert shares(divided) == {"cuda": {"any", "both", "gpu", "cpu"}}
    assert divided.lacking == (LackingDevice("cpu", 2, "no llvmlite", is_new=True),)


def test_where_no_device_is_here_the_run_on_the_cpu_device_says_what_it_lacks() -> None:
    assert shares(night_devices.divide(CASES, ())) == {"cpu": {"any", "both", "cpu", "gpu"}}


def test_a_job_of_machine_code_that_names_no_device_needs_a_gpu() -> None:
    divided = night_devices.divide((fakes.case("double", devices=("cuda",)),), {"cpu"})
    assert [(one.device, one.cases) for one in divided.lacking] == [("cuda", 1)]
    assert shares(divided) == {"cpu": {"fake/double"}}


def test_the_runs_of_several_devices_are_one_summary() -> None:
    def of(device: str, code: int, **more: Any) -> Any:
        failure = NightFailure("a/n=1", "differ", "b differs")
        changes = NightChanges("n", new=(failure,) if code else (), unknown="none" if code else "")
        return replace(
            night(case("a/n=1", "differ" if code else "pass")), device=device, exit_code=code, changes=changes, **more
        )

    first, second = of("cuda:0, cuda:1", 0), of("cpu", 1, run="20261122T020100Z-0001")
    both = night_devices.combined([first, second])
    assert [(one.case, one.job) for one in both.verdicts] == [("a/n=1 [cuda]", "a [cuda]"), ("a/n=1 [cpu]", "a [cpu]")]
    assert (both.exit_code, both.device) == (1, "cuda:0, cuda:1, cpu")
    assert both.changes is not None
    assert [one.case for one in both.changes.new] == ["a/n=1 [cpu]"]
    assert both.changes.unknown == "none"
    assert "the results on cpu are those of run 20261122T020100Z-0001" in both.notes
    assert night_devices.combined([first]) is first


def test_a_device_on_which_nothing_ran_does_not_hide_the_other() -> None:
    nothing, passed = (replace(night(case("a")), exit_code=code) for code in (5, 0))
    assert night_devices.combined([nothing, passed]).exit_code == 0
    assert night_devices.combined([replace(nothing, exit_code=130, state="interrupted"), passed]).exit_code == 130


def test_the_cpu_device_is_always_here() -> None:
    assert "cpu" in night_devices.of_this_host()
