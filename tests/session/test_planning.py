from __future__ import annotations

import pytest

from gpuregress.execution.workers import sanitize
from gpuregress.foundation.errors import DeviceError, NothingToDo, UsageError
from gpuregress.foundation.records import CaseSettings, Instruments, ReferenceKernel, Source, TimingLoop, WholeProgram
from gpuregress.gpu.records import replace
from gpuregress.session import accepting, planning
from gpuregress.session.run_request import RunRequest
from tests import fakes
from tests.session.bench import Bench, words
from tests.session.selections import CPU, GPU


def test_rerun_failed_takes_only_what_did_not_pass(bench: Bench) -> None:
    bench.run(fakes.case("double"), fakes.case("count"))
    accepting.accept(bench.project, ["fake/double"])
    bench.run(fakes.case("double"), fakes.case("count"))
    assert words(bench.run(fakes.case("double"), fakes.case("count"), rerun_failed=True)) == {"fake/count": "new"}


def test_rerun_failed_runs_what_fail_fast_left_out(bench: Bench) -> None:
    cases = [fakes.case("fault"), fakes.case("double"), fakes.case("twice")]
    bench.run(*cases, fail_fast=True)
    again = bench.run(*cases, rerun_failed=True)
    assert words(again) == {"fake/fault": "fault", "fake/double": "new", "fake/twice": "new"}


def test_rerun_failed_keeps_what_a_narrower_one_did_not_run(bench: Bench) -> None:
    cases = [fakes.case("fault"), fakes.case("double"), fakes.case("twice")]
    bench.run(*cases)
    accepting.accept(bench.project)
    bench.run(cases[1], rerun_failed=True, selectors=("fake/double",))
    assert set(words(bench.run(*cases, rerun_failed=True))) == {"fake/fault", "fake/twice"}
    gone = bench.run(cases[0], rerun_failed=True)
    assert set(words(gone)) == {"fake/fault"}


def test_a_case_that_failed_stays_due_where_a_rerun_leaves_it_out_for_its_device(bench: Bench) -> None:
    case = fakes.case("fault")
    bench.run(case, fakes.case("double"))
    bench.run(replace(case, devices=("cuda",)), fakes.case("double"), rerun_failed=True)
    assert "fake/fault" in words(bench.run(case, fakes.case("double"), rerun_failed=True))


def test_rerun_failed_with_nothing_failed_is_nothing_to_do(bench: Bench) -> None:
    bench.run(fakes.case("double"))
    accepting.accept(bench.project)
    bench.run(fakes.case("double"))
    with pytest.raises(NothingToDo, match="passed"):
        bench.run(fakes.case("double"), rerun_failed=True)


def test_rerun_failed_names_the_failures_that_are_not_asked_for(bench: Bench) -> None:
    bench.run(fakes.case("double"), fakes.case("count"))
    with pytest.raises(NothingToDo, match="fake/double and 1 more did not pass in the last run, but"):
        bench.run(fakes.case("fault"), rerun_failed=True)


def test_rerun_failed_takes_the_group_of_a_case_as_far_as_the_last_run_had_it(bench: Bench) -> None:
    agreeing = CaseSettings(agree=("block",))
    cases = [fakes.case(kernel, settings=agreeing) for kernel in ("double", "twice", "idle", "fault")]
    bench.run(cases[0], cases[1], fakes.case("count"))
    accepting.accept(bench.project, ["fake/double", "fake/count"])
    bench.run(cases[0], cases[1], fakes.case("count"))
    again = bench.run(*cases, fakes.case("count"), rerun_failed=True)
    assert set(words(again)) == {"fake/double", "fake/twice"}


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
    assert set(sanitize.TOOLS) == {"memcheck", "racecheck", "initcheck", "synccheck"}


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
    program = replace(fakes.case("double"), program=WholeProgram(("./suite",), "/project"))
    (note,) = planning.dropped_settings([program], RunRequest(), replace(CPU, is_remote=True))
    assert note.endswith(
        "skipped: hosts of a cluster have no files of whole programs; run them on this machine, with --cluster none"
    )
    assert planning.dropped_settings([program], RunRequest(), CPU) == ()
