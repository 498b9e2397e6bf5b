from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpuregress.foundation import clock
from gpuregress.foundation.errors import NothingToDo
from gpuregress.foundation.records import (
    Case,
    CaseSettings,
    Fault,
    KnownFailing,
    Limits,
    Outcome,
    Source,
    Status,
    Task,
    Verdict,
)
from gpuregress.gpu.records import replace
from gpuregress.judge import agreement, atomic_updates
from gpuregress.report import morning
from gpuregress.session import accepting, execution
from gpuregress.session.execution import AgreementGroups, RepeatedTimeouts
from tests import fakes
from tests.session.bench import Bench, words
from tests.session.selections import GPU


def test_a_source_that_does_not_compile_stops_only_its_own_cases(bench: Bench) -> None:
    broken = replace(fakes.case("double", name="fake/broken"), source=Source("/nowhere/broken.cu"))
    summary = bench.run(broken, fakes.case("double"))
    assert words(summary) == {"fake/broken": "error", "fake/double": "new"}
    assert summary.verdicts[0].reason == "broken.cu(3): error: expected a ';'"
    assert summary.exit_code == 3


@pytest.mark.parametrize(
    ("kernel", "status", "code"),
    [("fault", "fault", 3), ("crash", "fault", 3), ("sleep", "timeout", 3), ("bug", "error", 4)],
)
def test_what_goes_wrong_is_a_verdict(bench: Bench, kernel: str, status: str, code: int) -> None:
    summary = bench.run(fakes.case(kernel, timeout=0.2), fakes.case("double"))
    assert words(summary) == {f"fake/{kernel}": status, "fake/double": "new"}
    assert summary.exit_code == code


def test_a_bug_in_the_comparison_of_a_group_and_in_a_remark_ends_no_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(agreement, "verdicts", fail)
    monkeypatch.setattr(atomic_updates, "remarks", fail)
    agreeing = CaseSettings(agree=("block",))
    summary = bench.run(*(fakes.case(kernel, settings=agreeing) for kernel in ("double", "twice")), fakes.case("count"))
    assert words(summary) == {"fake/double": "error", "fake/twice": "error", "fake/count": "new"}
    assert "an error inside gpuregress while comparing: IndexError" in summary.verdicts[0].reason
    text = "fake: atomic operations were not looked at: IndexError inside gpuregress: list index out of range"
    assert (text in summary.remarks, summary.exit_code) == (True, 4)


def test_the_last_words_of_a_worker_that_ran_out_of_memory_are_told(bench: Bench) -> None:
    summary = bench.run(fakes.case("no_memory"))
    (verdict,) = summary.verdicts
    assert (verdict.status, summary.exit_code) == ("error", 4)
    assert "LLVM ERROR: out of memory" in verdict.notes


def test_a_status_that_is_not_zero_is_a_fault_with_its_code(bench: Bench) -> None:
    summary = bench.run(fakes.case("status", status="out"))
    assert summary.verdicts[0].status == "fault"
    assert "status: out[2] = " in summary.verdicts[0].reason


def test_an_expected_fault_passes(bench: Bench) -> None:
    assert words(bench.run(fakes.case("fault", expect_fault="out-of-bounds"))) == {"fake/fault": "pass"}


def test_a_case_for_another_device_is_skipped_aloud(bench: Bench) -> None:
    summary = bench.run(fakes.case("double", devices=("cuda",)))
    assert summary.verdicts[0].status == "skip"
    assert "cuda" in summary.verdicts[0].reason
    assert summary.exit_code == 5


@pytest.mark.parametrize("kernel", ["sleep", "crash"])
def test_a_kernel_that_did_not_come_back_names_its_launch_once(bench: Bench, kernel: str) -> None:
    (verdict,) = bench.run(fakes.case(kernel, timeout=0.2)).verdicts
    assert f" in {kernel}<<<" in verdict.reason
    assert verdict.reason.count("launch 1") == 1


def test_a_refused_case_is_skipped_unless_it_has_a_baseline(bench: Bench) -> None:
    case = fakes.case("double", settings=CaseSettings(infeasible="skip"))
    bench.run(case)
    accepting.accept(bench.project)
    refused = replace(case, settings=CaseSettings(infeasible="skip", refused="2048 threads"))
    other = replace(refused, name="fake/other")
    summary = bench.run(refused, other)
    assert words(summary) == {"fake/double": "error", "fake/other": "skip"}
    assert [verdict.infeasible for verdict in summary.verdicts] == [False, True]
    assert summary.verdicts[0].reason == "infeasible: 2048 threads"
    assert "it ran when 1.4 was accepted" in summary.verdicts[0].notes[0]
    assert summary.exit_code == 4


# --- limits of a run --------------------------------------------------------------------------------------------------


def test_after_timeouts_of_a_kernel_its_other_cases_are_skipped_aloud(bench: Bench) -> None:
    limits = Limits(timeout=0.2, timeouts=2)
    cases = [fakes.case("sleep", name=f"fake/{n}", limits=limits) for n in range(5)]
    summary = bench.run(*cases, fakes.case("double"), kind="nightly")
    assert list(words(summary).values()) == ["timeout", "timeout", "skip", "skip", "skip", "new"]
    assert summary.verdicts[2].reason == "not run: sleep timed out 2 times, in fake/0, fake/1 (limits: {timeouts: 2})"
    assert summary.exit_code == 3
    assert "3 skipped after timeouts" in morning.headline(summary)


def test_cases_held_back_after_known_timeouts_are_no_pass(bench: Bench) -> None:
    known = CaseSettings(known_failing=KnownFailing("2999-01-01", "it hangs", "timeout"))
    limits = Limits(timeout=0.2, timeouts=1)
    cases = [fakes.case("sleep", name=f"fake/{n}", limits=limits) for n in range(2)]
    summary = bench.run(replace(cases[0], settings=known), cases[1], kind="nightly")
    assert list(words(summary).values()) == ["skip", "skip"]
    assert summary.exit_code == 1
    assert morning.headline(summary).startswith("1 known failing, 1 skipped after timeouts")


def test_the_deadline_names_the_cases_without_a_turn_and_is_no_pass(bench: Bench) -> None:
    cases = [fakes.case("nap", name=f"fake/{n}") for n in range(3)] + [fakes.case("sleep", name="fake/3")]
    bench.run(*cases[:3])
    accepting.accept(bench.project)
    began = time.monotonic()
    summary = bench.run(*cases, kind="nightly", until=began + 1.2, deadline="1.2 s")
    assert time.monotonic() - began < 20
    assert next(iter(words(summary).values())) == "pass"
    late = [verdict for verdict in summary.verdicts if verdict.status == "skip"]
    assert late[-1].case == "fake/3"
    assert {verdict.reason for verdict in late} == {"not started: the deadline of 1.2 s came first"}
    assert (summary.exit_code, summary.state) == (1, "finished")
    assert summary.changes is not None
    assert summary.changes.no_turn == tuple(verdict.case for verdict in late)
    assert bench.run(*cases[:3], rerun_failed=True).exit_code == 0


def test_a_deadline_that_is_over_before_anything_ran_names_every_case(bench: Bench) -> None:
    summary = bench.run(fakes.case("double"), kind="nightly", until=time.monotonic() - 1, deadline="1 s")
    assert (words(summary), summary.exit_code) == ({"fake/double": "skip"}, 1)


# --- trouble with the device ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("retries", "status"), [(1, "new"), (None, "error")])
def test_a_case_is_run_again_after_trouble_with_its_device(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retries: int | None, status: str
) -> None:
    monkeypatch.setenv("FAKE_MARK", str(tmp_path / "mark"))
    case = fakes.case("lost_once", settings=CaseSettings(retries=retries))
    summary = bench.run(case, fakes.case("double"))
    assert words(summary) == {"fake/lost_once": status, "fake/double": "new"}
    again = [note for note in summary.notes if "was run again" in note]
    assert bool(again) == (retries is not None)
    if retries:
        assert again == ["fake/lost_once was run again: the device fell off the bus"]
        document = json.loads((Path(summary.folder) / "results.json").read_text())
        assert document["cases"][0]["retried"] == ["the device fell off the bus"]
        assert "retry 1 the device fell off the bus" in (Path(summary.folder) / "launch.log").read_text()


@pytest.mark.parametrize("kernel", ["fault", "sleep", "twice_and_a_bit"])
def test_what_the_kernel_did_is_never_tried_again(bench: Bench, kernel: str) -> None:
    settings = CaseSettings(retries=3)
    good = fakes.case("twice", name="fake/a", settings=settings)
    bench.run(good)
    accepting.accept(bench.project)
    summary = bench.run(fakes.case(kernel, name="fake/a", timeout=0.2, settings=settings))
    assert summary.verdicts[0].status in ("fault", "timeout", "differ")
    assert summary.verdicts[0].retried == ()


# --- known failures ---------------------------------------------------------------------------------------------------

KNOWN = CaseSettings(known_failing=KnownFailing("2026-12-24", "the new driver"))


def test_a_known_failure_does_not_fail_the_run_until_its_day(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run(fakes.case("twice", name="fake/a"))
    accepting.accept(bench.project)
    failing = fakes.case("twice_and_a_bit", name="fake/a", settings=KNOWN)
    monkeypatch.setenv(clock.VARIABLE, "2026-12-23T23:30:00+00:00")
    monkeypatch.setenv("TZ", "Asia/Tokyo")  # where it is the 24th
    time.tzset()
    try:
        summary = bench.run(failing, kind="nightly")
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()
    (known,) = summary.verdicts
    assert (known.status, summary.exit_code) == ("skip", 0)
    assert known.reason.startswith("known failing until 2026-12-24 (the new driver): differ: out: ")
    assert summary.changes is not None
    assert [one.case for one in summary.changes.known] == ["fake/a"]
    with pytest.raises(NothingToDo):
        accepting.accept(bench.project)
    monkeypatch.setenv(clock.VARIABLE, "2026-12-24T12:00:00+00:00")
    over = bench.run(failing, kind="nightly")
    assert (words(over), over.exit_code) == ({"fake/a": "differ"}, 1)
    assert over.verdicts[0].reason.endswith("(known_failing ended on 2026-12-24 (the new driver))")
    assert over.changes is not None
    assert [one.case for one in over.changes.new] == ["fake/a"]


def test_a_known_failure_that_passes_fails(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run(fakes.case("twice", name="fake/a"))
    accepting.accept(bench.project)
    monkeypatch.setenv(clock.VARIABLE, "2026-11-22T12:00:00+00:00")
    summary = bench.run(fakes.case("twice", name="fake/a", settings=KNOWN), kind="nightly")
    assert (words(summary), summary.exit_code) == ({"fake/a": "differ"}, 1)
    assert summary.verdicts[0].reason == (
        "passes, but is known_failing until 2026-12-24 (the new driver): remove the key from the job"
    )


PLANNED: list[int] = []


def case(name: str, group: int = 1) -> Case:
    made = fakes.case("double", name=name)
    return replace(made, parameters={"n": group, "block": name}, settings=CaseSettings(agree=("block",)))


def task(one: Case) -> Task:
    return Task(one, fakes.program(), "/log", 1, "/dumps")


def reached(one: Case, status: Status = "new") -> Verdict:
    outcome = Outcome(one.name, "done")
    return replace(Verdict(one.job, one.name, "new", outcome=outcome), status=status)


def judge(_tasks: Sequence[Task], verdicts: Sequence[Verdict], planned: int) -> list[Verdict]:
    PLANNED.append(planned)
    return [replace(one, reason="judged") for one in verdicts]


def names(settled: Sequence[tuple[Verdict, Task | None]]) -> list[tuple[str, str]]:
    return [(verdict.case, verdict.reason) for verdict, _ in settled]


def test_a_verdict_waits_for_its_group() -> None:
    cases = [case("a"), case("b"), case("c", 2), case("d")]
    groups = AgreementGroups(cases, judge)
    assert groups.settle(reached(cases[0]), task(cases[0])) == []
    assert names(groups.settle(reached(cases[2]), task(cases[2]))) == [("c", "judged")]
    assert names(groups.settle(reached(cases[3], "fault"), task(cases[3]))) == [("d", "")]
    assert names(groups.settle(reached(cases[1]), task(cases[1]))) == [("a", "judged"), ("b", "judged")]
    assert PLANNED[-2:] == [1, 3]
    assert groups.close(judged=True) == []


def test_a_group_is_judged_in_the_order_of_the_plan() -> None:
    cases = [case("a"), case("b"), case("c")]
    groups = AgreementGroups(cases, judge)
    for one in (cases[2], cases[0]):
        assert groups.settle(reached(one), task(one)) == []
    assert [name for name, _ in names(groups.settle(reached(cases[1]), task(cases[1])))] == ["a", "b", "c"]


def test_a_case_without_a_group_does_not_wait() -> None:
    alone = fakes.case("double", name="alone")
    groups = AgreementGroups([alone], judge)
    assert names(groups.settle(reached(alone), task(alone))) == [("alone", "")]


def test_a_skip_completes_a_group() -> None:
    cases = [case("a"), case("b")]
    groups = AgreementGroups(cases, judge)
    assert groups.settle(reached(cases[0], "pass"), task(cases[0])) == []
    assert names(groups.settle(reached(cases[1], "skip"), None)) == [("b", ""), ("a", "judged")]


def test_what_is_held_at_the_end_is_released_once() -> None:
    cases = [case("a"), case("b")]
    groups = AgreementGroups(cases, judge)
    groups.settle(reached(cases[0]), task(cases[0]))
    assert names(groups.close(judged=False)) == [("a", "")]
    assert groups.close(judged=True) == []


def limited(name: str, *kernels: str, timeouts: int = 0) -> Case:
    return fakes.case(*kernels, name=name, limits=Limits(timeouts=timeouts))


def timeout(position: int | None = 0) -> Outcome:
    return Outcome("a", "timeout", Fault("timeout", "killed at its limit", (), 1, position))


def test_after_three_timeouts_of_a_kernel_its_other_cases_are_held_back_at_night() -> None:
    seen = RepeatedTimeouts("nightly")
    for name in ("a/1", "a/2"):
        seen.note(limited(name, "sleep"), timeout())
    assert seen.reason(limited("a/4", "sleep")) == ""
    seen.note(limited("a/3", "sleep"), timeout())
    reason = seen.reason(limited("a/4", "sleep"))
    assert reason == "not run: sleep timed out 3 times, in a/1, a/2, a/3 (limits: {timeouts: 3})"
    assert seen.reason(limited("b", "double")) == ""
    elsewhere = replace(limited("c", "sleep"), source=Source("/elsewhere/fake.cu"))
    assert seen.reason(elsewhere) == ""


def test_another_run_has_no_limit_but_the_jobs() -> None:
    seen = RepeatedTimeouts("run")
    for name in ("a/1", "a/2", "a/3", "a/4", "a/5"):
        seen.note(limited(name, "sleep"), timeout())
    assert seen.reason(limited("b", "sleep")) == ""
    assert "5 times, in a/1, a/2, a/3 and 2 more" in seen.reason(limited("b", "sleep", timeouts=2))


def test_a_request_may_hold_back_cases_after_one_timeout() -> None:
    seen = RepeatedTimeouts("run", 1)
    seen.note(limited("a/1", "sleep"), timeout())
    assert "sleep timed out 1 time, in a/1" in seen.reason(limited("a/2", "sleep"))


def test_the_kernel_is_that_of_the_launch_that_timed_out() -> None:
    seen = RepeatedTimeouts("run")
    seen.note(limited("a", "double", "sleep", timeouts=1), timeout(1))
    assert seen.reason(limited("b", "double", timeouts=1)) == ""
    assert seen.reason(limited("b", "sleep", timeouts=1)) != ""
    unknown = RepeatedTimeouts("run")
    unknown.note(limited("a", "double", "sleep"), timeout(None))
    assert unknown.reason(limited("b", "sleep", timeouts=1)) == ""
    unknown.note(limited("a", "sleep"), None)
    assert unknown.reason(limited("b", "sleep", timeouts=1)) != ""


def test_the_command_for_the_debugger_runs_the_case(tmp_path: Path) -> None:
    task = Task(fakes.case("double", name="fake/n=1,m=2"), fakes.program(), "/l", 1, "/d", device_label="cuda:1")
    message = execution.debugger_command(task, tmp_path, GPU.slots[0].environment)
    words = shlex.split(message.partition(": ")[2])
    assert words[:4] == ["env", "CUDA_VISIBLE_DEVICES=1", "cuda-gdb", "--args"]
    assert words[-1] == str(tmp_path / "alone/fake/n=1,m=2.json")
    done = subprocess.run([*words[4:-1], "--device", "cpu", words[-1]], capture_output=True, text=True, check=False)
    assert done.returncode == 4  # the cpu device opens the case, and finds that a fake has no PTX
    assert "fake/n=1,m=2: error: the cpu device runs PTX" in done.stdout
