"""Streams that nothing orders: their races are reported, and schedules run them in another order."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpuregress.programs import libraries
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchBegin

SOURCE = Path(__file__).parent / "streams.c"
OF_DEVICE = (
    "launches", "copy", "fill", "legacy", "legacy_wait", "early_event", "unrecorded_event", "synchronized", "threads",
    "graph_launches",
)  # fmt: skip
OF_HOST = ("host_fill", "host_reads", "host_writes", "host_function", "legacy_host_function")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with all pairs."""
    path = tmp_path_factory.mktemp("streams") / "streams"
    subprocess.run(["cc", "-w", str(SOURCE), "-o", str(path), str(libraries.driver()), "-lpthread"], check=True)
    return path


def _run(program: Path, *options: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpuregress", "exec", *options, "--", str(program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def _values(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in done.stdout.splitlines())}


@pytest.mark.parametrize("schedule", ["forward", "shuffled:1"])
def test_each_unordered_pair_is_reported_and_no_ordered_one(program: Path, tmp_path: Path, schedule: str) -> None:
    report = tmp_path / "report.json"
    freed = ("freed",) if schedule == "forward" else ()  # Another order makes a fault of it.
    done = _run(program, "--check", "races", "--schedule", schedule, "--report", str(report), arguments=freed)
    assert done.returncode == 3, done.stdout + done.stderr
    incidents = json.loads(report.read_text(encoding="utf-8"))["incidents"]
    assert {incident["what"] for incident in incidents} == {"stream-race"}
    messages = {incident["kernel"]: incident["message"] for incident in incidents}
    assert messages.keys() == {*OF_DEVICE, *freed}
    if schedule != "forward":
        return
    assert "read by cuMemcpyDtoH in stream 1" in messages["legacy"]
    assert "write by cuMemsetD8Async in stream 3 and read by fill (launch" in messages["fill"]
    assert "free by cuMemFreeAsync in stream 4" in messages["freed"]


def test_schedules_change_what_unordered_streams_compute(program: Path) -> None:
    usual = _run(program)
    assert (usual.returncode, usual.stderr) == (0, "")
    assert set(_values(usual).values()) == {1}
    changed = set()
    for schedule in ("reverse", "shuffled:1", "shuffled:2"):
        done = _run(program, "--schedule", schedule)
        assert (done.returncode, done.stderr) == (0, "")
        values = _values(done)
        different = {name for name, value in values.items() if value != _values(usual)[name]}
        assert not {name for name in different if name.startswith("ordered_")}
        if schedule == "reverse":
            assert different == {*OF_DEVICE, *OF_HOST}
        changed.add(frozenset(different))
    assert len(changed) == 3


def test_a_seed_means_one_order_and_the_log_has_it(program: Path, tmp_path: Path) -> None:
    orders: list[list[str]] = []
    for schedule in ("shuffled:1", "shuffled:1", "forward", "reverse"):
        path = tmp_path / f"{len(orders)}"
        _run(program, "--schedule", schedule, "--log", str(path))
        calls = [event.call for event in launch_log.read(path).events if isinstance(event, LaunchBegin)]
        orders.append([call for call in calls if call.startswith("launches")])
    first, again, usual, reverse = orders
    assert first == again
    assert reverse == usual[::-1]


def test_memory_that_is_freed_too_early_is_a_fault_under_a_schedule(program: Path) -> None:
    done = _run(program, "--schedule", "reverse", arguments=("freed",))
    assert done.returncode == 3
    assert "freed: out-of-bounds: out-of-bounds write of 4 bytes" in done.stderr


def test_refusals_freed_memory_and_a_wait_without_a_call_under_a_schedule(program: Path) -> None:
    done = _run(program, "--schedule", "reverse", arguments=("look",))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "block 2048" in done.stderr


@pytest.mark.parametrize("call", ["cuStreamSynchronize", "cuEventSynchronize", "cuMemcpyDtoH"])
def test_the_call_that_waits_for_a_faulty_launch_returns_its_error(program: Path, call: str) -> None:
    done = _run(program, "--schedule", "reverse", arguments=(call,))
    assert done.returncode == 3
    assert done.stderr.endswith("1 fault; the program itself exited with 0\n"), done.stderr
