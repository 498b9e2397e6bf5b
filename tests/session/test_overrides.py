from __future__ import annotations

import pytest

from gpuregress.execution.cuda import sanitizer
from gpuregress.foundation.errors import DeviceError, UsageError
from gpuregress.foundation.records import CaseSettings, Instruments, ReferenceKernel, Source, TimingLoop
from gpuregress.session import planning
from gpuregress.session.run_request import RunRequest
from tests import fakes
from tests.session.selections import CPU, GPU


def test_a_gpu_is_compiled_for_unless_the_job_names_an_architecture() -> None:
    kernel = ReferenceKernel(Source("/r.cu"), ())
    silent = fakes.case("double", reference_kernels={"out": kernel})
    (actual,) = planning.apply_overrides([silent], RunRequest(), GPU)
    assert (actual.source.arch, actual.reference_kernels["out"].source.arch) == ("sm_86", "sm_86")
    (kept,) = planning.apply_overrides([fakes.case("double", settings=CaseSettings(arch="sm_90"))], RunRequest(), GPU)
    assert kept.source.arch == "sm_90"
    assert planning.apply_overrides([silent], RunRequest(), CPU) == (silent,)


def test_what_is_asked_goes_with_each_case() -> None:
    request = RunRequest(poison="twice", sanitize="memcheck")
    assert planning.apply_overrides([fakes.case("double")], request, GPU)[0].settings == CaseSettings(
        poison="twice", sanitize="memcheck"
    )
    assert planning.apply_overrides([fakes.case("double")], request, CPU)[0].settings == CaseSettings(poison="twice")


def test_a_missing_tool_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DeviceError, match="compute-sanitizer is not on the PATH"):
        planning.check_overrides(RunRequest(sanitize="memcheck"), GPU)
    assert planning.check_overrides(RunRequest(), GPU) == ()
    (note,) = planning.check_overrides(RunRequest(sanitize="memcheck"), CPU)
    assert "the cpu device checks every access itself" in note
    with pytest.raises(UsageError, match="memcheck, racecheck"):
        planning.check_overrides(RunRequest(sanitize="leaks"), GPU)


def test_every_tool_has_a_way_to_be_asked_for() -> None:
    assert set(sanitizer.TOOLS) == {"memcheck", "racecheck", "initcheck", "synccheck"}


def test_a_device_is_no_twin_of_itself() -> None:
    case = fakes.case("double", settings=CaseSettings(twins=("host", "cpu", "cuda")))
    assert planning.apply_overrides([case], RunRequest(), CPU)[0].settings.twins == ("host", "cuda")
    assert planning.apply_overrides([case], RunRequest(), GPU)[0].settings.twins == ("host", "cpu")


def test_a_case_whose_costs_are_counted_may_take_longer() -> None:
    usual, counted = (
        planning.apply_overrides([fakes.case("double", settings=CaseSettings(cost=cost))], RunRequest(), CPU)[
            0
        ].limits.timeout
        for cost in ({}, {"sectors": 1.0})
    )
    assert counted == 4 * usual
    (on_gpu,) = planning.apply_overrides(
        [fakes.case("double", settings=CaseSettings(cost={"sectors": 1.0}))], RunRequest(), GPU
    )
    assert on_gpu.limits.timeout == usual


def test_what_is_left_out_is_told() -> None:
    checked = fakes.case("double", settings=CaseSettings(instruments=Instruments(checks=("races",))))
    timed = fakes.case("double", settings=CaseSettings(timing=TimingLoop(1, 5)))
    assert planning.dropped_settings([checked, timed], RunRequest(), CPU) == ()
    (note,) = planning.dropped_settings([checked, timed], RunRequest(), GPU)
    assert note == f"checks: {{device: …}} of {checked.job}: for the cpu device only; a GPU has --sanitize"
    (note,) = planning.dropped_settings([checked, timed], RunRequest(checks=("all",)), CPU)
    assert note == "1 case not timed: --check runs other code"
    assert planning.apply_overrides([timed], RunRequest(checks=("all",)), CPU)[0].settings.timing is None
    other = RunRequest(schedules=("reverse",))
    assert planning.dropped_settings([timed], other, CPU) == ("1 case not timed: --schedule runs other code",)
    assert planning.apply_overrides([timed], other, CPU)[0].settings.timing is None
    assert planning.dropped_settings([timed], other, GPU) == ()
    assert planning.apply_overrides([timed], other, GPU)[0].settings.timing == TimingLoop(1, 5)
