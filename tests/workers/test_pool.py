from __future__ import annotations

import contextlib
import dataclasses
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gpuregress import launch_log
from gpuregress.devices import slow_programs
from gpuregress.errors import Interrupted
from gpuregress.interrupts import StopSignal
from gpuregress.records import Case, CaseSettings, Outcome, ReferenceKernel, Task
from gpuregress.workers import watchdog
from gpuregress.workers.channel import Channel
from gpuregress.workers.pool import CaseStarted, WorkerPool
from gpuregress.workers.worker_process import DeviceSlot, Worker
from tests import fakes
from tests.waiting import is_running, wait_until

FAKE = (sys.executable, "-m", "tests.fake_worker")


def tasks(folder: Path, cases: Sequence[Case]) -> list[Task]:
    program = fakes.program()
    return [
        Task(case, program, str(folder / "launch.log"), 100 * number, str(folder / "dumps"))
        for number, case in enumerate(cases, 1)
    ]


@contextlib.contextmanager
def pool(
    folder: Path,
    slots: int = 1,
    device: str = "cpu",
    stop: StopSignal | None = None,
    *,
    tries_slow_code: bool = True,
    keeps_faulted: bool = False,
) -> Iterator[WorkerPool]:
    places = [DeviceSlot(device, f"fake:{number}") for number in range(slots)]
    made = WorkerPool(
        places, folder, command=FAKE, stop=stop, tries_slow_code=tries_slow_code, keeps_faulted=keeps_faulted
    )
    with made:
        yield made


def outcomes(folder: Path, *cases: Case, slots: int = 1, device: str = "cpu") -> dict[str, Outcome]:
    with pool(folder, slots, device) as made:
        ended = [event for event in made.run(tasks(folder, cases)) if isinstance(event, Outcome)]
    assert sorted(outcome.case for outcome in ended) == sorted(case.name for case in cases)
    return {outcome.case: outcome for outcome in ended}


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
        given = [dataclasses.replace(task, references={"out": fakes.program()})]
        (outcome,) = [event for event in made.run(given) if isinstance(event, Outcome)]
    assert (outcome.state, outcome.fault) == ("error", None)
    assert outcome.message.startswith(told)
    assert f"in {kernel}<<<" in outcome.message


def test_a_limit_of_the_launches_is_none_of_the_references(tmp_path: Path) -> None:
    trusted = ReferenceKernel(fakes.case("nap").source, fakes.case("nap").launches)
    cases = [fakes.case("double", reference_kernels={"out": trusted}), fakes.case("sleep")]
    given = [dataclasses.replace(task, launch_limit_s=0.1) for task in tasks(tmp_path, cases)]
    given[0] = dataclasses.replace(given[0], references={"out": fakes.program()})
    with pool(tmp_path) as made:
        ended = {event.case: event for event in made.run(given) if isinstance(event, Outcome)}
    assert ended["fake/double"].state == "done"
    late = ended["fake/sleep"]
    assert late.fault is not None
    assert late.fault.message.startswith("killed at its limit of 0.1 s")


def test_cases_run_and_dump(tmp_path: Path) -> None:
    outcome = outcomes(tmp_path, fakes.case("double"))["fake/double"]
    assert outcome.state == "done"
    dump = Path(outcome.dumps[0].path)
    assert dump == tmp_path / "dumps" / "fake" / "double" / "out.1.4"
    assert dump.read_text().split("\n")[1:8] == ["0.0", "2.0", "4.0", "6.0", "8.0", "10.0", "12.0"]
    assert outcome.launches[0].number == 100


def test_one_warm_worker_takes_case_after_case(tmp_path: Path) -> None:
    actual = outcomes(tmp_path, *[fakes.case("count", name=f"fake/{number}") for number in range(3)])
    values = [Path(outcome.dumps[0].path).read_text().split()[-1] for outcome in actual.values()]
    assert values == ["1.0", "2.0", "3.0"]


def test_a_fault_is_an_outcome_and_the_next_case_has_a_fresh_worker(tmp_path: Path) -> None:
    actual = outcomes(tmp_path, fakes.case("count"), fakes.case("fault"), fakes.case("count", name="fake/after"))
    fault = actual["fake/fault"].fault
    assert fault is not None
    assert (fault.kind, fault.launch, fault.details) == ("out-of-bounds", 200, ("more",))
    assert Path(actual["fake/after"].dumps[0].path).read_text().split()[-1] == "1.0"


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
    assert "memory ran out, or is limited (see `ulimit -v`): no fault of the kernel" in actual.message


def test_a_worker_that_leaves_is_a_crash_with_its_exit_code(tmp_path: Path) -> None:
    fault = outcomes(tmp_path, fakes.case("exit"))["fake/exit"].fault
    assert fault is not None
    assert "exit code 7" in fault.message


@pytest.mark.parametrize("kernel", ["sleep", "stubborn"])
def test_a_case_over_its_limit_is_killed_and_the_next_one_runs(tmp_path: Path, kernel: str) -> None:
    actual = outcomes(tmp_path, fakes.case(kernel, timeout=0.2), fakes.case("double"))
    late = actual[f"fake/{kernel}"]
    assert late.state == "timeout"
    assert late.fault is not None
    assert late.fault.message.startswith(f"killed at its limit of 0.2 s in {kernel}<<<")
    assert late.fault.position == 0
    assert actual["fake/double"].state == "done"


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
    first, *others = outcome.observations.schedules or ()
    assert first.fault.startswith(told)
    assert f"under the schedule {first.name}" in first.fault
    assert [run.name for run in others if run.left_out] == left_out.split()


def test_a_difference_whose_explanation_never_ends_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuregress.workers.pool.WATCHED_SLOWDOWN", 1)
    case = fakes.case("unlucky", timeout=0.2, settings=CaseSettings(schedules=("forward", "reverse")))
    (run,) = outcomes(tmp_path, case, device="varied")["fake/unlucky"].observations.schedules or ()
    assert (run.name, list(run.dumps), run.fault) == ("reverse", ["out"], "")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compilation cache in which nothing is known of the fake's program."""
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("cache")
def test_a_slow_launch_of_code_that_is_not_optimised_is_run_again_under_the_cases_own_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "TRYING_S", 0.1)
    with pool(tmp_path, device="unoptimised") as made:
        events = list(made.run(tasks(tmp_path, [fakes.case("nap"), fakes.case("double")])))
    ended = {event.case: event.state for event in events if isinstance(event, Outcome)}
    assert ended == {"fake/nap": "done", "fake/double": "done"}
    begun = [event.case for event in events if isinstance(event, CaseStarted)]
    assert begun == ["fake/nap", "fake/nap", "fake/double"]
    log = launch_log.read(tmp_path / "launch.log")
    assert not log.unfinished
    retried = [event.number for event in log.events if isinstance(event, launch_log.LaunchRetry)]
    assert retried == [event.number for event in log.events if isinstance(event, launch_log.LaunchBegin)][:1]
    assert slow_programs.known(fakes.program())


@pytest.mark.parametrize(("kernel", "count"), [("status", 1), ("fault", 2), ("crash", 2)])
def test_a_worker_outlives_a_fault_that_its_device_checked(tmp_path: Path, kernel: str, count: int) -> None:
    with pool(tmp_path, keeps_faulted=True) as made:
        cases = [fakes.case(kernel, status="out" if kernel == "status" else None), fakes.case("double")]
        events = list(made.run(tasks(tmp_path, cases)))
    assert [event.state for event in events if isinstance(event, Outcome)] == ["fault", "done"]
    assert len(list(tmp_path.glob("worker-*.txt"))) == count


@pytest.mark.usefixtures("cache")
def test_slow_code_is_not_tried_again_where_its_own_limit_holds_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "TRYING_S", 0.0)
    with pool(tmp_path, device="unoptimised", tries_slow_code=False) as made:
        events = list(made.run(tasks(tmp_path, [fakes.case("nap"), fakes.case("sleep", timeout=0.3)])))
    ended = {event.case: event.state for event in events if isinstance(event, Outcome)}
    assert ended == {"fake/nap": "done", "fake/sleep": "timeout"}
    assert len([event for event in events if isinstance(event, CaseStarted)]) == 2


@pytest.mark.usefixtures("cache")
def test_a_launch_that_hangs_is_a_timeout_only_of_optimised_code(tmp_path: Path) -> None:
    case = fakes.case("sleep", timeout=0.3)
    with pool(tmp_path, device="unoptimised") as made:
        events = list(made.run(tasks(tmp_path, [case])))
    (outcome,) = [event for event in events if isinstance(event, Outcome)]
    assert outcome.state == "timeout"
    assert outcome.fault is not None
    assert outcome.fault.message.startswith("killed at its limit of 0.3 s in sleep<<<")
    assert sum(isinstance(event, CaseStarted) for event in events) == 2


@pytest.mark.usefixtures("cache")
def test_a_crash_of_code_that_is_not_optimised_is_the_kernels(tmp_path: Path) -> None:
    outcome = outcomes(tmp_path, fakes.case("crash"), device="unoptimised")["fake/crash"]
    assert outcome.state == "fault"
    assert outcome.fault is not None
    assert outcome.fault.kind == "crash"


def test_a_result_that_comes_after_the_limit_does_not_count(tmp_path: Path) -> None:
    """The kernel outlives SIGTERM and comes back before it is killed."""
    actual = outcomes(tmp_path, fakes.case("tardy", timeout=0.2), fakes.case("double"))
    assert (actual["fake/tardy"].state, actual["fake/double"].state) == ("timeout", "done")


def test_a_result_that_waited_while_another_one_was_judged_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow `verify` holds up the loop, not the other cases' clocks."""
    clock, passed = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock() + passed[0])
    cases = [fakes.case("tardy"), *[fakes.case("double", name=f"fake/{number}") for number in range(3)]]
    states: dict[str, str] = {}
    with pool(tmp_path, slots=2) as made:
        for event in made.run(tasks(tmp_path, cases)):
            if isinstance(event, Outcome):
                states[event.case] = event.state
                worker = made._slots[0].worker
                if event.case == "fake/2" and worker is not None and worker.task is not None:
                    assert select.select([worker.channel], [], [], 20.0)[0]
                    passed[0] += 10_000.0
    if not passed[0]:
        pytest.skip("the second worker started too late")
    assert states == dict.fromkeys(("fake/tardy", "fake/0", "fake/1", "fake/2"), "done")


def test_what_kernels_print_does_not_reach_the_channel(tmp_path: Path) -> None:
    outcome = outcomes(tmp_path, fakes.case("noise"))["fake/noise"]
    assert outcome.state == "done"
    assert outcome.output == "printed by the kernel\n"


def test_a_bug_in_the_worker_is_one_cases_error(tmp_path: Path) -> None:
    actual = outcomes(tmp_path, fakes.case("bug"), fakes.case("double"))
    assert actual["fake/bug"].state == "error"
    assert "RuntimeError: a bug" in actual["fake/bug"].message
    assert "Traceback" in actual["fake/bug"].observations.traceback
    assert actual["fake/double"].state == "done"


def test_a_device_that_is_not_there_makes_every_case_an_error(tmp_path: Path) -> None:
    actual = outcomes(tmp_path, fakes.case("double"), fakes.case("count"), device="none")
    assert [outcome.message for outcome in actual.values()] == ["no such device: none"] * 2


def test_a_device_that_breaks_at_the_start_says_how(tmp_path: Path) -> None:
    outcome = outcomes(tmp_path, fakes.case("double"), device="broken")["fake/double"]
    assert outcome.message == "broken cannot be opened: RuntimeError: broken driver"


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


@pytest.mark.parametrize("length", [8, 4_000_000])
def test_a_worker_that_never_says_it_is_ready_is_given_up_after_one_try(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a task that is too long for the socket of one that does not read keep the run waiting."""
    monkeypatch.setattr(watchdog, "STARTING_S", 0.3)
    command = (sys.executable, "-c", "import time; time.sleep(600)")
    with WorkerPool([DeviceSlot("cpu", "cpu")], tmp_path, command=command) as made:
        first, second = tasks(tmp_path, [fakes.case("double"), fakes.case("count")])
        first = dataclasses.replace(first, known={"x": {"0" * length: "path"}})
        ended = [event for event in made.run([first, second]) if isinstance(event, Outcome)]
        assert made._started == 1
    assert [outcome.state for outcome in ended] == ["error", "error"]
    assert all("did not start: killed, for it was not ready after 0.3 s" in outcome.message for outcome in ended)


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


def test_several_slots_work_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No case ends before all of them have begun."""
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    monkeypatch.setenv("FAKE_MEETING", f"{meeting}:3")
    cases = [fakes.case("meet", name=f"fake/{number}", timeout=60.0) for number in range(3)]
    with pool(tmp_path, slots=3) as made:
        events = list(made.run(tasks(tmp_path, cases)))
    assert [event.state for event in events if isinstance(event, Outcome)] == ["done"] * 3
    assert {event.slot for event in events if isinstance(event, CaseStarted)} == {"fake:0", "fake:1", "fake:2"}


def test_a_crash_of_a_repeat_is_of_none_of_the_cases_own_launches(tmp_path: Path) -> None:
    fault = outcomes(tmp_path, fakes.case("second_crashes", repeat=2))["fake/second_crashes"].fault
    assert fault is not None
    assert (fault.kind, fault.launch, fault.position) == ("crash", 101, None)


def test_a_worker_killed_in_a_launch_is_a_crash_that_names_what_else_may_have_killed_it(tmp_path: Path) -> None:
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
    assert outcome.state == "fault"
    assert outcome.fault is not None
    assert outcome.fault.kind == "crash"
    assert "died of SIGKILL in sleep<<<" in outcome.fault.message
    assert "memory ran out" in outcome.fault.message


def test_a_worker_that_cannot_be_killed_loses_its_seat_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "TERMINATE_GRACE_S", 0.1)
    monkeypatch.setattr(watchdog, "KILL_GRACE_S", 0.1)
    with pool(tmp_path) as made:
        with monkeypatch.context() as powerless:
            powerless.setattr(Worker, "signal", lambda _self, _number: None)
            cases = [fakes.case("sleep", timeout=0.2), fakes.case("double")]
            running = made.run(tasks(tmp_path, cases))
            next(running)
            worker = made._slots[0].worker
            ended = [event for event in running if isinstance(event, Outcome)]
        assert worker is not None
        worker.signal(signal.SIGKILL)
    assert [outcome.state for outcome in ended] == ["error", "error"]
    assert all("fake:0 is lost" in outcome.message for outcome in ended)
    worker.process.wait()


def test_the_bell_stops_the_run_and_leaves_no_child(tmp_path: Path) -> None:
    with StopSignal() as stop, pool(tmp_path, stop=stop) as made:
        running = made.run(tasks(tmp_path, [fakes.case("sleep")]))
        next(running)
        worker = made._slots[0].worker
        assert worker is not None
        threading.Timer(0.3, stop.set).start()
        with pytest.raises(Interrupted):
            next(running)
    assert worker.process.poll() is not None


def test_an_idle_worker_on_a_gpu_leaves_without_being_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[str] = []
    end = Worker.end

    def noted(worker: Worker) -> bool:
        waited.append(threading.current_thread().name)
        return end(worker)

    monkeypatch.setattr(Worker, "end", noted)
    with pool(tmp_path, device="cuda:0") as made:
        list(made.run(tasks(tmp_path, [fakes.case("double")])))
        (worker,) = (index.worker for index in made._slots)
        assert worker is not None
        pid = worker.process.pid
    wait_until(lambda: not is_running(pid))
    wait_until(lambda: worker.process.returncode == 0)
    assert waited == [f"end of worker {pid}"]


def test_a_worker_dies_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib, time\n"
        "from tests.workers.test_pool import *\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "with pool(folder) as made:\n"
        "    running = made.run(tasks(folder, [fakes.case('sleep')]))\n"
        "    next(running)\n"
        "    print(made._slots[0].worker.process.pid, flush=True)\n"
        "    next(running)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        wait_until((tmp_path / "launch.log").exists)
        os.kill(pid, 0)
        parent.kill()
    wait_until(lambda: not is_running(pid))


def test_a_case_whose_device_does_not_open_goes_to_another_one(tmp_path: Path) -> None:
    cases = [fakes.case("double", name=f"fake/{number}") for number in range(4)]
    slots = (DeviceSlot("none", "gone:0"), DeviceSlot("cpu", "fake:1"), DeviceSlot("none", "gone:2"))
    with WorkerPool(slots, tmp_path, command=FAKE) as made:
        ended = [event for event in made.run(tasks(tmp_path, cases)) if isinstance(event, Outcome)]
    assert sorted(outcome.case for outcome in ended) == [case.name for case in cases]
    assert {outcome.state for outcome in ended} == {"done"}


def test_a_damaged_message_is_an_error_of_its_case_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, damaged = Channel._read, list[int]()

    def read(channel: Channel) -> bool:
        is_open = plain(channel)
        at = channel._pending.find(b'"state":"done"')
        if at >= 0 and not damaged:
            damaged.append(at)
            channel._pending[at + 10] ^= 1
        return is_open

    monkeypatch.setattr(Channel, "_read", read)
    found = outcomes(tmp_path, fakes.case("double"), fakes.case("twice"))
    assert (found["fake/double"].state, found["fake/twice"].state) == ("error", "done")
    assert found["fake/double"].message.startswith("a message between gpuregress and its worker was damaged")
