"""Launches that are stopped from outside, as at a time limit: where their threads stand."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from gpuregress.foundation.errors import CodeLine, LaunchStopped
from tests.virtual_gpu.running import Running

SOURCE = """
extern "C" __global__ void computes(int* y) {
  int x = threadIdx.x + 3;
  while (x != y[5] - 1)
    x = x & 1 ? 3 * x + 1 : x / 2;
  y[0] = x;
}
extern "C" __global__ void never(int* y) {
  for (;;) {}
}
extern "C" __global__ void spins(int* y) {
  while (atomicAdd(y, 1) != -1) {}
}
extern "C" __global__ void meets(int* y) {
  do { y[threadIdx.x] += 1;
    __syncthreads();
  } while (y[0] != -1);
}
extern "C" __global__ void races(int* y) {
  y[3] = threadIdx.x;
  while (atomicAdd(y, 1) != -1) {}
}
extern "C" __global__ void both(int* y) {
  y[1 + blockIdx.x] = 1;
  while (atomicAdd(y, 1) != -1) {}
}
"""


def _stopped(running: Running, kernel: str, *, counts: tuple[int, ...] = ()) -> LaunchStopped:
    """Launch a kernel, and stop it from another thread as soon as it runs, or has written some elements."""

    y = running.put("y", np.zeros(64, np.int32))

    def stop() -> None:
        while not all(y.data.view(np.int32)[index] for index in counts):
            time.sleep(0)
        while running.device.stop() is None:
            time.sleep(0)

    threading.Thread(target=stop).start()
    with pytest.raises(LaunchStopped) as caught:
        running.launch(kernel, 2, 32, y)
    assert running.device.stop() is None, "nothing runs"
    return caught.value


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Running:
    return Running(tmp_path_factory.mktemp("stopped"), SOURCE, is_small=True)


@pytest.mark.parametrize(
    ("kernel", "place"),
    [
        ("computes", r"thread \(\d+,0,0\) of block \(0,0,0\) in a loop whose condition is at k\.cu:4"),
        ("never", r"thread \(\d+,0,0\) of block \(0,0,0\) in an endless loop, k\.cu:9"),
        # Blocks that spin take turns.
        ("spins", r"block \([01],0,0\): threads 0-31 spin on y, k\.cu:12"),
        # At the barrier, or on the way to it.
        (
            "meets",
            (
                r"block \(0,0,0\): threads 0-31 wait at bar\.sync, k\.cu:16"
                r"|block \(0,0,0\): threads 0-31 are running, k\.cu:15"
                r"|thread \(\d+,0,0\) of block \(0,0,0\) in a loop whose condition is at k\.cu:17"
            ),
        ),
    ],
)
def test_where_the_threads_stand(program: Running, kernel: str, place: str) -> None:
    lines = _stopped(program, kernel).lines
    # It may be stopped before its first block begins.
    assert re.fullmatch(rf"(?:{place})(, … and \d+ more places?)?|block \(0,0,0\): begins", lines[0])


def test_what_the_checks_have_found_until_then(tmp_path: Path) -> None:
    running = Running(tmp_path, SOURCE, is_small=True, only="races", checks=("races",))
    stopped = _stopped(running, "races", counts=(0,))
    lines = stopped.lines
    assert stopped.source_line == CodeLine("k.cu", 21)
    assert lines[0].startswith("block (0,0,0): threads 0-31 spin on y, k.cu:21")
    assert any(line.startswith("until then: race: data race on `y[3]`: write by thread (0,0,0)") for line in lines)


def test_the_first_line_has_one_place_and_the_details_the_others(program: Running) -> None:
    first, other = _stopped(program, "both", counts=(1, 2)).lines
    assert re.fullmatch(r"block \([01],0,0\): threads 0-31 spin on y, k\.cu:25, … and 1 more place", first)
    assert re.fullmatch(r"block \([01],0,0\): threads 0-31 spin on y, k\.cu:25", other)
