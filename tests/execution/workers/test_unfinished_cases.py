from __future__ import annotations

import contextlib
import signal
import sys
import threading
from pathlib import Path

import pytest

from gpuregress.execution.workers.pool import CaseStarted, WorkerPool
from gpuregress.execution.workers.worker_process import DeviceSlot
from gpuregress.foundation.records import Case, CaseSettings, Outcome, ReferenceKernel
from gpuregress.gpu.records import replace
from gpuregress.store import launch_log
from tests import fakes
from tests.execution.workers.fake_pools import outcomes, pool, tasks
from tests.waiting import wait_until


def with_reference(kernel: str) -> Case:
    """A case that is well, and its trusted kernel."""
    trusted = ReferenceKernel(fakes.case(kernel).source, fakes.case(kernel).launches)
    return fakes.case("double", name=f"fake/{kernel}", timeout=0.2, reference_kernels={"out": trusted})


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        ("sleep", "the reference's own kernel was killed at its limit of 0.2 s in sleep<<<"),
        ("crash", "the reference's own kernel failed: "),
    ],
)
def test_a_trusted_kernel_that_hangs_or_crashes_is_not_the_cases_own(tmp_path: Path, kernel: str, told: str) -> None:
    (task,) = tasks(tmp_path, [with_reference(kernel)])
    with pool(tmp_path) as made:
        given = [replace(task, references={"out": fakes.program()})]
        (outcome,) = [event for event in made.run(given) if isinstance(event, Outcome)]
    assert (outcome.state, outcome.fault) == ("error", None)
    assert outcome.message.startswith(told)
    assert f"in {kernel}<<<" in outcome.message


def test_a_crash_is_that_cases_fault_with_signal_launch_and_last_words(tmp_path: Path) -> None:
    actual = outcomes(tmp_path, fakes.case("double", "crash"), fakes.case("double"))
    fault = actual["fake/double+crash"].fault
    assert fault is not None
    assert fault.kind == "crash"
    assert "SIGSEGV" in fault.message
    assert "in crash<<<" in fault.message
    assert fault.launch == 101
    assert fault.position == 1
    assert "last words" in fault.details
    assert actual["fake/double"].state == "done"
    assert [event.number for event in launch_log.read(tmp_path / "launch.log").unfinished] == [101]


def test_a_crash_is_blamed_on_the_last_open_launch_of_its_own_case(tmp_path: Path) -> None:
    """Other cases run at the same time, and an earlier worker may have left a launch of this one open."""
    with contextlib.closing(launch_log.LaunchLog(tmp_path / "launch.log")) as log:
        for number, case in ((7, "fake/other"), (8, "fake/crash"), (9, "fake/other")):
            log.begin(number, "cpu", case, f"call{number}", 0)
    fault = outcomes(tmp_path, fakes.case("crash"))["fake/crash"].fault
    assert fault is not None
    assert fault.launch == 100
    assert "in crash<<<" in fault.message


def test_the_last_words_of_a_crash_are_not_those_of_the_case_before(tmp_path: Path) -> None:
    module = tmp_path / "talks.py"
    module.write_text("def talks(inputs, case):\n    print('the case before')\n    return 2 * inputs['x']\n")
    before = fakes.case("double", reference={"out": f"{module}:talks"})
    fault = outcomes(tmp_path, before, fakes.case("crash"))["fake/crash"].fault
    assert fault is not None
    assert "last words" in fault.details
    assert "the case before" not in fault.details


def test_a_library_that_aborts_for_want_of_memory_is_no_fault_of_the_kernel(tmp_path: Path) -> None:
    actual = outcomes(tmp_path, fakes.case("no_memory"))["fake/no_memory"]
    assert (actual.state, actual.fault) == ("error", None)
    assert "died of SIGABRT in launch 100, no_memory<<<" in actual.message
    assert "memory ran out, or is limited (see `ulimit -v`), which is not the kernel's fault" in actual.message


def test_a_worker_that_leaves_is_a_crash_with_its_exit_code(tmp_path: Path) -> None:
    fault = outcomes(tmp_path, fakes.case("exit"))["fake/exit"].fault
    assert fault is not None
    assert "exit code 7" in fault.message


@pytest.mark.parametrize(
    ("names", "told", "left_out"),
    [
        ("lockstep reverse", "timeout: killed at its limit of 0.2 s in unlucky<<<", "reverse"),
        ("shuffled:1", "crash: the worker process died of SIGSEGV in unlucky<<<", ""),
    ],
)
def test_the_results_before_a_schedule_that_never_ends_are_kept(
    tmp_path: Path, names: str, told: str, left_out: str
) -> None:
    settings = CaseSettings(schedules=("forward", *names.split()))
    outcome = outcomes(tmp_path, fakes.case("unlucky", timeout=0.2, settings=settings), device="varied")["fake/unlucky"]
    assert (outcome.state, len(outcome.dumps), outcome.fault) == ("done", 1, None)
    first, *others = outcome.observations.along("schedule")
    assert first.fault.startswith(told)
    assert f"under the schedule {first.name}" in first.fault
    assert [run.name for run in others if run.left_out] == left_out.split()


def test_a_difference_whose_explanation_never_ends_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuregress.execution.workers.pool.WATCHED_SLOWDOWN", 1)
    case = fakes.case("unlucky", timeout=0.2, settings=CaseSettings(schedules=("forward", "reverse")))
    (run,) = outcomes(tmp_path, case, device="varied")["fake/unlucky"].observations.along("schedule")
    assert (run.name, list(run.dumps), run.fault) == ("reverse", ["out"], "")


def test_a_worker_command_that_fails_is_given_up_after_two_tries(tmp_path: Path) -> None:
    with WorkerPool(
        [DeviceSlot("cpu", "cpu")], tmp_path, command=(sys.executable, "-c", "raise SystemExit(3)")
    ) as made:
        cases = [fakes.case("double", name=f"fake/{number}") for number in range(4)]
        ended = [event for event in made.run(tasks(tmp_path, cases)) if isinstance(event, Outcome)]
    assert len(ended) == 4
    assert all("did not start" in outcome.message and "exit code 3" in outcome.message for outcome in ended)


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    """Also to the tasks that were never handed to it."""
    command = (sys.executable, "-c", "import nothing_of_this_name")
    with WorkerPool([DeviceSlot("cpu", "cpu")], tmp_path, command=command) as made:
        cases = [fakes.case("double", name=f"fake/{number}") for number in range(3)]
        ended = [event for event in made.run(tasks(tmp_path, cases)) if isinstance(event, Outcome)]
    assert len(ended) == 3
    assert all("ModuleNotFoundError: No module named 'nothing_of_this_name'" in outcome.message for outcome in ended)


def test_a_worker_that_is_told_to_end_says_where_it_was(tmp_path: Path) -> None:
    with pool(tmp_path) as made:
        running = made.run(tasks(tmp_path, [fakes.case("sleep")]))
        next(running)
        worker = made._slots[0].worker
        assert worker is not None
        log = tmp_path / "launch.log"
        wait_until(lambda: log.exists() and "begin 100 " in log.read_text())
        worker.signal(signal.SIGTERM)
        outcome = next(running)
    assert isinstance(outcome, Outcome)
    assert "SIGTERM" in outcome.message
    assert any(line.endswith(" in run_case") for line in outcome.observations.details)


def test_a_crash_of_a_repeat_is_of_none_of_the_cases_own_launches(tmp_path: Path) -> None:
    fault = outcomes(tmp_path, fakes.case("second_crashes", repeat=2))["fake/second_crashes"].fault
    assert fault is not None
    assert (fault.kind, fault.launch, fault.position) == ("crash", 101, None)


def test_a_worker_killed_in_a_launch_is_no_crash_of_the_kernel(tmp_path: Path) -> None:
    with pool(tmp_path) as made:
        running = made.run(tasks(tmp_path, [fakes.case("sleep")]))
        assert isinstance(next(running), CaseStarted)
        worker = made._slots[0].worker
        assert worker is not None
        log = tmp_path / "launch.log"

        def kill_in_the_launch() -> None:
            wait_until(lambda: log.exists() and "begin 100 " in log.read_text())
            worker.signal(signal.SIGKILL)

        killer = threading.Thread(target=kill_in_the_launch)
        killer.start()
        outcome = next(running)
        killer.join()
    assert isinstance(outcome, Outcome)
    assert (outcome.state, outcome.fault, outcome.observations.error) == ("error", None, "HarnessError")
    assert "died of SIGKILL in launch 100, sleep<<<" in outcome.message
    assert "it was killed from outside, or memory ran out" in outcome.message
