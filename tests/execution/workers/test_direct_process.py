"""The process of single launches, which crashes, hangs and goes on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpuregress.execution.workers import direct_process, watchdog
from gpuregress.execution.workers.direct_process import LaunchProcess
from gpuregress.execution.workers.worker_process import DeviceSlot
from gpuregress.foundation.errors import DeviceError, GpuregressError, HarnessError, KernelFault, KernelTimeout
from gpuregress.gpu.records import replace
from gpuregress.toolchain import cache
from tests import preloaded
from tests.execution.workers.test_direct_child import CALL

COMMAND = (sys.executable, "-P", "-m", "tests.execution.workers.fake_direct_child")


@pytest.fixture(autouse=True)
def _fast_start(monkeypatch: pytest.MonkeyPatch) -> None:
    preloaded.use(monkeypatch)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[4]))


@pytest.fixture
def fake() -> Iterator[LaunchProcess]:
    made = LaunchProcess(DeviceSlot("cpu", "cpu"), COMMAND)
    yield made
    made.close()


def call(fake: LaunchProcess, kernel: str = "twice", timeout_s: float = 30.0, memory: int = 96) -> list[float]:
    x, out = np.arange(8, dtype=np.float32).view(np.uint8), np.zeros(32, np.uint8)

    def fill(shared: direct_process.Bytes) -> None:
        shared[64:96] = x

    def take(shared: direct_process.Bytes) -> None:
        out[:] = shared[:32]

    fake.call(replace(CALL, kernel=kernel, memory=memory), fill, take, timeout_s)
    return [float(number) for number in out.view(np.float32)]


RESULT = [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]


def pid(fake: LaunchProcess) -> int:
    assert fake._child is not None
    return fake._child.worker.process.pid


def test_one_process_runs_many_launches_also_larger_ones(fake: LaunchProcess) -> None:
    assert call(fake) == RESULT
    first = pid(fake)
    assert call(fake, memory=1 << 20) == RESULT
    assert call(fake, memory=direct_process.KEPT_BYTES + 1) == RESULT
    assert call(fake) == RESULT
    assert pid(fake) == first


@pytest.mark.parametrize(
    ("kernel", "error", "words"),
    [
        ("fault", KernelFault, "out-of-bounds read"),  # a sticky one
        ("crash", KernelFault, "died of SIGSEGV in crash"),
        ("exit", KernelFault, "ended with exit code 7 in exit"),
        ("no_memory", HarnessError, "memory ran out"),
    ],
)
def test_a_launch_that_ends_the_process_costs_only_itself(
    fake: LaunchProcess, kernel: str, error: type[GpuregressError], words: str
) -> None:
    call(fake)
    first = pid(fake)
    with pytest.raises(error, match=words):
        call(fake, kernel)
    assert call(fake) == RESULT
    assert pid(fake) != first


def test_an_error_inside_leaves_the_process_as_it_is(fake: LaunchProcess) -> None:
    call(fake)
    first = pid(fake)
    with pytest.raises(HarnessError, match="an error inside gpuregress: RuntimeError: a bug"):
        call(fake, "bug")
    assert call(fake) == RESULT
    assert pid(fake) == first


def test_a_launch_that_hangs_is_killed_at_its_limit(fake: LaunchProcess) -> None:
    with pytest.raises(KernelTimeout, match=r"sleep was killed at its limit of 0\.1 s"):
        call(fake, "sleep", 0.1)
    assert call(fake) == RESULT


def test_code_that_is_not_optimised_is_tried_and_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "TRYING_S", 0.1)
    noted: list[str] = []
    monkeypatch.setattr(cache, "note_slow", noted.append)
    fake = LaunchProcess(DeviceSlot("unoptimised", "cpu"), COMMAND)
    assert call(fake, "nap") == [*RESULT[:-1], 0.0]
    assert noted == ["key"]
    fake.close()


def test_a_process_that_was_killed_between_two_calls_is_replaced(fake: LaunchProcess) -> None:
    call(fake)
    os.kill(pid(fake), 9)
    assert fake._child is not None
    fake._child.worker.process.wait(10)
    assert call(fake) == RESULT


def test_a_device_that_cannot_be_opened_is_told() -> None:
    fake = LaunchProcess(DeviceSlot("none", "none"), COMMAND)
    with pytest.raises(DeviceError, match="no such device: none"):
        call(fake)
    fake.close()


def test_a_process_that_ends_before_it_is_ready_is_an_error() -> None:
    fake = LaunchProcess(DeviceSlot("cpu", "cpu"), ("/bin/sh", "-c", "echo no library; exit 3"))
    with pytest.raises(HarnessError, match=r"a worker for cpu did not start: .* exit code 3: no library"):
        call(fake)
    fake.close()
