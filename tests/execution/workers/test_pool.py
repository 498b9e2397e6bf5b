from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuregress.execution.workers import watchdog
from gpuregress.execution.workers.channel import Channel
from gpuregress.execution.workers.pool import CaseStarted, WorkerPool, limit_s, put_off
from gpuregress.execution.workers.watchdog import Phase, Step, Watch
from gpuregress.execution.workers.worker_process import DeviceSlot, Worker
from gpuregress.foundation.errors import Interrupted
from gpuregress.foundation.interrupts import StopSignal
from gpuregress.foundation.records import Outcome, ReferenceKernel, Task
from gpuregress.gpu.records import replace
from gpuregress.gpu.schedules import WATCHED_SLOWDOWN
from gpuregress.store import launch_log
from gpuregress.toolchain import cache
from tests import fakes
from tests.execution.workers.fake_pools import FAKE, outcomes, pool, tasks
from tests.waiting import is_running, wait_until

pytestmark = pytest.mark.usefixtures("forked_workers")  # test_unfinished_cases.py starts them as a run does


def test_a_limit_of_the_launches_is_none_of_the_references(tmp_path: Path) -> None:
    trusted = ReferenceKernel(fakes.case("nap").source, fakes.case("nap").launches)
    cases = [fakes.case("double", reference_kernels={"out": trusted}), fakes.case("sleep", timeout=0.4)]
    given = [replace(task, launch_limit_s=0.1) for task in tasks(tmp_path, cases)]
    given[0] = replace(given[0], references={"out": fakes.program()})
    with pool(tmp_path) as made:
        ended = {event.case: event for event in made.run(given) if isinstance(event, Outcome)}
    assert ended["fake/double"].state == "done"
    late = ended["fake/sleep"]
    assert late.fault is not None
    assert late.fault.message.startswith("killed at its limit of 0.1 s")
    assert late.seconds >= 0.4, "it sleeps, and has no CPU time"


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


def test_code_of_one_folder_leaves_nothing_to_that_of_another(tmp_path: Path) -> None:
    text = "import numpy as np\ndef f(inputs, case): return np.full(8, 1, np.float32)\n"
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "r.py").write_text(f"{text}def g(inputs, case):\n    np.add = len\n    return f(0, case)\n")
    functions = ("a/r.py:f", "", "a/r.py:f", "b/r.py:f", "", "b/r.py:g", "b/r.py:f")
    cases = [
        fakes.case("count", name=f"fake/{number}", reference={"out": f"{tmp_path}/{function}"} if function else {})
        for number, function in enumerate(functions)
    ]
    actual = outcomes(tmp_path, *cases)
    counts = [Path(actual[case.name].dumps[0].path).read_text().split()[-1] for case in cases]
    assert counts == ["1.0", "2.0", "3.0", "1.0", "2.0", "3.0", "1.0"], "each that begins with 1 has a new process"


class NoTasks:
    """A feed without tasks, which has a descriptor."""

    is_over = True
    is_ready = False
    deadline = None

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def fileno(self) -> int:
        return self.descriptor

    def take(self, room: int) -> Iterator[Task]:
        return iter(())


def test_a_run_leaves_nothing_to_the_next_one(tmp_path: Path) -> None:
    feed = NoTasks(os.eventfd(0))
    with pool(tmp_path) as made:
        for event in made.run(tasks(tmp_path, [fakes.case("sleep")]), feed):
            assert isinstance(event, CaseStarted)
            break  # as at the end of a run's time
        made.abandon()
        ended = list(made.run(tasks(tmp_path, [fakes.case("count")]), feed))
    os.close(feed.descriptor)
    assert [event.case for event in ended if isinstance(event, Outcome)] == ["fake/count"]
    assert len(ended) == 2


def test_a_fault_is_an_outcome_and_the_next_case_has_a_fresh_worker(tmp_path: Path) -> None:
    actual = outcomes(tmp_path, fakes.case("count"), fakes.case("fault"), fakes.case("count", name="fake/after"))
    fault = actual["fake/fault"].fault
    assert fault is not None
    assert (fault.kind, fault.launch, fault.details) == ("out-of-bounds", 200, ("more",))
    assert Path(actual["fake/after"].dumps[0].path).read_text().split()[-1] == "1.0"


@pytest.mark.parametrize("kernel", ["sleep", "stubborn"])
def test_a_case_over_its_limit_is_killed_and_the_next_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    if kernel == "stubborn":
        monkeypatch.setattr(watchdog, "TERMINATE_GRACE_S", 0.1)
    actual = outcomes(tmp_path, fakes.case(kernel, timeout=0.2), fakes.case("double"))
    late = actual[f"fake/{kernel}"]
    assert late.state == "timeout"
    assert late.fault is not None
    assert late.fault.message.startswith(f"killed at its limit of 0.2 s in {kernel}<<<")
    assert late.fault.position == 0
    assert late.device == actual["fake/double"].device, "a GPU's timeout may be the deadlock that is expected"
    assert actual["fake/double"].state == "done"


@pytest.fixture
def _unknown_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compilation cache in which nothing is known of the fake's program."""
    monkeypatch.setenv("GPUREGRESS_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("_unknown_program")
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
    assert cache.is_slow(fakes.program().key)


@pytest.mark.parametrize(("kernel", "count"), [("status", 1), ("fault", 2), ("crash", 2)])
def test_a_worker_outlives_a_fault_that_its_device_checked(tmp_path: Path, kernel: str, count: int) -> None:
    with pool(tmp_path, keeps_faulted=True) as made:
        cases = [fakes.case(kernel, status="out" if kernel == "status" else None), fakes.case("double")]
        events = list(made.run(tasks(tmp_path, cases)))
    assert [event.state for event in events if isinstance(event, Outcome)] == ["fault", "done"]
    assert len(list(tmp_path.glob("worker-*.txt"))) == count


@pytest.mark.usefixtures("_unknown_program")
def test_slow_code_is_not_tried_again_where_its_own_limit_holds_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "TRYING_S", 0.0)
    with pool(tmp_path, device="unoptimised", tries_slow_code=False) as made:
        events = list(made.run(tasks(tmp_path, [fakes.case("nap"), fakes.case("sleep", timeout=0.3)])))
    ended = {event.case: event.state for event in events if isinstance(event, Outcome)}
    assert ended == {"fake/nap": "done", "fake/sleep": "timeout"}
    assert len([event for event in events if isinstance(event, CaseStarted)]) == 2


@pytest.mark.usefixtures("_unknown_program")
def test_a_launch_that_hangs_is_a_timeout_only_of_optimised_code(tmp_path: Path) -> None:
    case = fakes.case("sleep", timeout=0.3)
    with pool(tmp_path, device="unoptimised") as made:
        events = list(made.run(tasks(tmp_path, [case])))
    (outcome,) = [event for event in events if isinstance(event, Outcome)]
    assert outcome.state == "timeout"
    assert outcome.fault is not None
    assert outcome.fault.message.startswith("killed at its limit of 0.3 s in sleep<<<")
    assert sum(isinstance(event, CaseStarted) for event in events) == 2


@pytest.mark.usefixtures("_unknown_program")
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


@pytest.mark.parametrize("length", [8, 4_000_000])
def test_a_worker_that_never_says_it_is_ready_is_given_up_after_one_try(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a task that is too long for the socket of one that does not read keep the run waiting."""
    monkeypatch.setattr(watchdog, "STARTING_S", 0.3)
    command = (sys.executable, "-c", "import time; time.sleep(600)")
    with WorkerPool([DeviceSlot("cpu", "cpu")], tmp_path, command=command) as made:
        first, second = tasks(tmp_path, [fakes.case("double"), fakes.case("count")])
        first = replace(first, known={"x": {"0" * length: "path"}})
        ended = [event for event in made.run([first, second]) if isinstance(event, Outcome)]
        assert made._started == 1
    assert [outcome.state for outcome in ended] == ["error", "error"]
    assert all("did not start: killed, because it was not ready after 0.3 s" in outcome.message for outcome in ended)


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
        "from tests import fakes\n"
        "from tests.execution.workers.fake_pools import pool, tasks\n"
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


def task_of(tmp_path: Path, limit_s: float) -> Task:
    made = Task(fakes.case("double", timeout=10.0), fakes.program(), str(tmp_path / "log"), 1, str(tmp_path))
    return replace(made, launch_limit_s=limit_s)


@pytest.fixture
def launching(tmp_path: Path) -> Callable[..., Any]:
    def made(cpu_s: float, own_limit_s: float = 2.0, phase: Phase = Phase.LAUNCHING) -> Any:
        task, watch = task_of(tmp_path, own_limit_s), Watch(Phase.IDLE)
        watch.enter(phase, 100.0, limit_s(task, phase))
        return SimpleNamespace(task=task, watch=watch, cpu_before_s=7.0, cpu_s=lambda: 7.0 + cpu_s)

    return made


def step(worker: Any, now: float) -> Step:
    put_off(worker, now)
    return worker.watch.step(now)  # type: ignore[no-any-return]


def test_which_limit_holds(tmp_path: Path) -> None:
    own, cases = task_of(tmp_path, 2.0), task_of(tmp_path, 0.0)
    assert [limit_s(one, Phase.LAUNCHING) for one in (own, cases)] == [2.0, 10.0]
    assert [limit_s(own, phase) for phase in (Phase.REFERENCE, Phase.COMPUTING)] == [10.0, 10.0]
    assert limit_s(own, Phase.WATCHING) == WATCHED_SLOWDOWN * 2.0


def test_a_launch_that_had_its_cpu_time_is_ended(launching: Callable[..., Any]) -> None:
    worker = launching(cpu_s=1.0)
    assert step(worker, 101.9) is Step.WAIT
    assert step(worker, 102.0) is Step.TERMINATE


def test_a_launch_that_had_too_little_goes_on_up_to_the_cases_limit(launching: Callable[..., Any]) -> None:
    worker = launching(cpu_s=0.25)
    assert step(worker, 100.5) is Step.WAIT
    assert worker.watch.deadline == 102.0, "it is not over"
    assert step(worker, 102.0) is Step.WAIT
    assert worker.watch.deadline == 102.75, "it may have had the rest by then"
    assert step(worker, 109.9) is Step.WAIT
    assert worker.watch.deadline == 110.0
    assert step(worker, 110.0) is Step.TERMINATE
    worker = launching(cpu_s=0.999)
    assert step(worker, 102.0) is Step.WAIT
    assert worker.watch.deadline == 102.05


@pytest.mark.parametrize(("limit_s", "phase"), [(0.0, Phase.LAUNCHING), (2.0, Phase.COMPUTING), (2.0, Phase.REFERENCE)])
def test_the_cases_own_limit_is_one_of_the_clock(launching: Callable[..., Any], limit_s: float, phase: Phase) -> None:
    assert step(launching(0.0, limit_s, phase), 110.0) is Step.TERMINATE


def test_launches_that_are_watched_have_longer(launching: Callable[..., Any]) -> None:
    worker = launching(cpu_s=1.0, phase=Phase.WATCHING)
    assert step(worker, 100.0 + WATCHED_SLOWDOWN * 2.0) is Step.WAIT
    assert step(worker, 100.0 + WATCHED_SLOWDOWN * 10.0) is Step.TERMINATE
