from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.execution.workers import worker_spawn
from gpuregress.execution.workers.worker_process import DeviceSlot, Worker
from gpuregress.execution.workers.worker_spawn import gpu_environment, likely_slot
from gpuregress.virtual_gpu.parallel import cores


def test_a_worker_sees_one_gpu_of_those_that_the_user_left_visible() -> None:
    assert gpu_environment(1, {})["CUDA_VISIBLE_DEVICES"] == "1"
    chosen = gpu_environment(1, {"CUDA_VISIBLE_DEVICES": "4, 6", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"})
    assert chosen == {"CUDA_VISIBLE_DEVICES": "6", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}


def without_pycuda(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [folder for folder in sys.path if not Path(folder, "pycuda").is_dir()]
    monkeypatch.setattr(sys, "path", folders)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    without_pycuda(monkeypatch)
    monkeypatch.delenv(cores.VARIABLE, raising=False)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pycuda").mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    exists = Path.exists

    def has_two_cards(path: Path) -> bool:
        return str(path) in ("/dev/nvidia0", "/dev/nvidia1") if str(path).startswith("/dev/nvidia") else exists(path)

    monkeypatch.setattr(Path, "exists", has_two_cards)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(("device", "jobs"), [("auto", None), ("cpu", None), ("cpu", 1), ("auto", 2)])
def test_the_options_tell_the_worker_of_a_cpu(device: str, jobs: int | None) -> None:
    assert likely_slot(device, jobs) == ("cpu", cores.share(jobs or cores.available()))


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cpu:1", ""])
def test_a_device_that_is_not_there_starts_nothing(device: str) -> None:
    assert likely_slot(device, None) is None


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("device", "card"), [("auto", "0"), ("cuda", "0"), ("cuda:0", "0"), ("cuda:1", "1")])
def test_the_options_tell_the_worker_of_a_gpu(device: str, card: str) -> None:
    expected = {"CUDA_VISIBLE_DEVICES": card, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert likely_slot(device, None) == ("cuda:0", expected)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("device", ["cuda:2", "cuda:x", "auto:0", "gpu"])
def test_a_gpu_that_is_not_there_starts_nothing(device: str) -> None:
    assert likely_slot(device, None) is None


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A worker that waits for its run: a process which prints a line, and ends with its channel."""
    (tmp_path / "child.py").write_text(
        "import socket, sys\nprint('begun', flush=True)\n"
        "socket.socket(fileno=int(sys.argv[sys.argv.index('--channel') + 1])).recv(1)\n"
    )
    monkeypatch.setattr(worker_spawn, "COMMAND", (sys.executable, "-S", str(tmp_path / "child.py")))
    without_pycuda(monkeypatch)
    worker_spawn.begin("cpu", 1)
    yield
    worker_spawn.drop()


@pytest.mark.usefixtures("waiting")
def test_a_worker_takes_the_process_that_was_started(tmp_path: Path) -> None:
    ((started, _),) = worker_spawn.WAITING
    worker = Worker(DeviceSlot("cpu", "cpu", cores.share(1)), None, tmp_path / "worker.txt")
    assert worker.process is started.process
    assert not (tmp_path / "worker.txt").exists()
    while not worker.output():
        time.sleep(0.01)
    assert worker.output() == ("begun",)
    assert worker.end()


@pytest.mark.usefixtures("waiting")
def test_a_process_for_another_device_is_ended(tmp_path: Path) -> None:
    ((started, _),) = worker_spawn.WAITING
    worker = Worker(DeviceSlot("cpu", "cpu", {"X": "1"}), None, tmp_path / "worker.txt")
    assert worker.process is not started.process
    assert started.process.returncode is not None
    assert worker.end()


@pytest.mark.usefixtures("waiting")
def test_a_worker_with_a_command_of_its_own_takes_none(tmp_path: Path) -> None:
    command = (sys.executable, "-S", "-c", "pass")
    worker = Worker(DeviceSlot("cpu", "cpu", cores.share(1)), command, tmp_path / "worker.txt")
    assert worker_spawn.WAITING
    assert worker.end()


def test_a_command_that_runs_nothing_leaves_no_process(tmp_path: Path) -> None:
    environment = {**os.environ, "MARK_OF_THE_TEST": str(tmp_path)}
    command = [sys.executable, "-P", "-m", "gpuregress", "run", "--device", "cpu", "--bogus"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "No such option" in done.stderr) == (2, True)
    mark = f"MARK_OF_THE_TEST={tmp_path}".encode()
    left = [path for path in Path("/proc").glob("[0-9]*") if mark in _environment(path)]
    assert left == []


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
