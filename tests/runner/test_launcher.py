from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpuregress import launch_log
from gpuregress.errors import DeviceError, KernelFault
from gpuregress.launch_log import LaunchLog
from gpuregress.records import Buffer, Case
from gpuregress.runner.launcher import Launcher, thread_count
from tests import fakes


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LaunchLog]:
    with closing(LaunchLog(tmp_path / "launch.log")) as opened:
        yield opened


def launcher(case: Case, log: LaunchLog) -> Launcher:
    return Launcher(fakes.FakeDevice(), fakes.task(case, Path("/nowhere"), 5), log, lambda _phase: None)


def test_launches_are_numbered_and_logged_before_they_begin(log: LaunchLog, tmp_path: Path) -> None:
    case = fakes.case("double", "fault", "double")
    runner = launcher(case, log)
    memory = runner.prepare(fakes.FakeModule(), {"x": np.ones(8, np.float32)}, fakes.program(), case.source)
    done = []
    with pytest.raises(KernelFault):
        done += [launch.kernel for launch, _ in runner.run(case.launches, fakes.program(), fakes.FakeModule(), memory)]
    assert (runner.current, runner.position) == (6, 1)
    events = launch_log.read(tmp_path / "launch.log").events
    assert [event.number for event in events if isinstance(event, launch_log.LaunchBegin)] == [5, 6]
    assert not launch_log.read(tmp_path / "launch.log").unfinished


def test_a_swap_exchanges_memory_after_its_launch(log: LaunchLog) -> None:
    case = fakes.case("twice")
    case = replace(case, launches=(replace(case.launches[0], swap=(("out", "x"),)),))
    runner = launcher(case, log)
    memory = runner.prepare(fakes.FakeModule(), {"x": np.ones(8, np.float32)}, fakes.program(), case.source)
    before = dict(memory)
    ((_, report),) = runner.run(case.launches, fakes.program(), fakes.FakeModule(), memory)
    assert report.elapsed_ms == 0.5
    assert (memory["x"], memory["out"]) == (before["out"], before["x"])
    assert memory["x"].read().view(np.float32).tolist() == [2.0] * 8


def test_a_symbol_of_another_source_is_a_plain_buffer(log: LaunchLog) -> None:
    table = Buffer("out", "float32", (4096,), symbol="d_table")
    case = replace(fakes.case("double"), buffers={"out": table})
    with pytest.raises(DeviceError, match="its symbol d_table has"):
        launcher(case, log).prepare(fakes.FakeModule(), {}, fakes.program(), case.source)
    other = replace(case.source, path="/nowhere/gold.cu")
    memory = launcher(case, log).prepare(fakes.FakeModule(), {}, fakes.program(), other)
    assert memory["out"].size == 4 * 4096


def test_threads_are_counted() -> None:
    assert thread_count(fakes.case("double", "double").launches) == 64
