"""Two hosts of one core each beside one, on a Dask cluster of this machine: 200 cases of 0.2 s.

Each Dask worker is pinned to a core of its own. The scheduler and the client share these cores, as nothing else is
here. A first run warms all caches; the time is that between the first launch and the last.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from benchmarks.rows import Row, missing

CASES, CASE_S, REPEATS = 200, 0.2, 2
TRIAL = 10_000_000
LIMIT = 0.65
"""Of the time of one host, that two may need."""

SOURCE = """\
extern "C" __global__ void spin(float *y, long long n, int k) {
    float v = threadIdx.x;
    for (long long i = 0; i < n; ++i) v = v * 0.999f + 0.5f;
    y[threadIdx.x] = v + k;
}
"""
JOB = """\
source: spin.cu
parameters: {{k: {cases}}}
buffers: {{y: {{dtype: float32, shape: [32]}}}}
launches: [{{kernel: spin, grid: [1], block: [32], args: [y, {{int64: {loops}}}, {{int32: k}}]}}]
"""


def measure() -> list[Row]:
    cores = sorted(os.sched_getaffinity(0))[:2]
    what = f"{CASES} cases of {CASE_S:g} s on two hosts of one core"
    if len(cores) < 2:
        return [missing(what, "this machine has one core")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["GPUREGRESS_CACHE"] = str(folder / "cache")
        _write(folder, 5, TRIAL)
        loops = int(TRIAL * CASE_S * 1e3 / _launch_ms(_run(folder)))
        pairs = [(_spans(folder, cores[:1], loops), _spans(folder, cores, loops)) for _ in range(REPEATS)]
    one, two = (min(times) for times in zip(*pairs, strict=True))
    note = f"share of one host's time: {two.seconds / one.seconds:.3f}; a launch took {one.launch_s:.3f} s on one host"
    note += f" and {two.launch_s:.3f} s on two: equal, if nothing else disturbed them"
    return [
        Row(
            what, f"{two.seconds:.1f} s", f"one host: {one.seconds:.1f} s", LIMIT * one.seconds / two.seconds, 1.0, note
        )
    ]


def _write(folder: Path, cases: int, loops: int) -> None:
    (folder / "configs").mkdir(exist_ok=True)
    (folder / "configs" / "spin.cu").write_text(SOURCE)
    (folder / "configs" / "spin.yaml").write_text(JOB.format(cases=list(range(cases)), loops=loops))


@dataclass(frozen=True, order=True)
class Spans:
    """Seconds from the first launch to the end of the last, and of a launch on average."""

    seconds: float
    launch_s: float


def _spans(folder: Path, cores: list[int], loops: int) -> Spans:
    """The time of all cases on a cluster with a worker on each of these cores."""
    processes: list[subprocess.Popen[bytes]] = []
    address = folder / f"scheduler-{len(cores)}-{time.monotonic_ns()}.json"
    try:
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(address)]
        processes.append(_start(["scheduler", *options]))
        for core in cores:
            options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0"]
            options += ["--local-directory", str(folder / f"dask-{core}"), "--scheduler-file", str(address)]
            processes.append(_start(["worker", *options], core))
        while not address.exists():
            time.sleep(0.1)
        where = json.loads(address.read_text())["address"]
        _write(folder, 2 * len(cores), 1000 + loops // 100)
        while True:  # until all workers have come
            if f"{len(cores)} core" in (_run(folder, "--cluster", where) / "launch.log").read_text():
                break
        _write(folder, CASES, loops)
        return _measured(_run(folder, "--cluster", where))
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:  # Dask's worker waits for a scheduler that is gone
                process.kill()
                process.wait()


def _start(arguments: list[str], core: int | None = None) -> subprocess.Popen[bytes]:
    pinned = ["taskset", "-c", str(core)] if core is not None else []
    command = [*pinned, sys.executable, "-m", "dask", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _run(folder: Path, *options: str) -> Path:
    """Run all cases; return the run's folder."""
    command = [sys.executable, "-m", "gpuregress", "-C", str(folder), "run", "-q", "--device", "cpu", *options]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(Path.cwd())})
    return (folder / "runs" / "latest").resolve()


def _launch_ms(run: Path) -> float:
    lines = (run / "launch.log").read_text().splitlines()
    return min(float(line.split()[2]) for line in lines if line.startswith("end "))


def _measured(run: Path) -> Spans:
    moments: list[float] = []
    launches: list[float] = []
    for line in (run / "launch.log").read_text().splitlines():
        words = line.split()
        if words[0] == "begin":
            moments.append(datetime.fromisoformat(words[2]).timestamp())
        elif words[0] == "end":
            launches.append(float(words[2]) / 1e3)
            moments.append(moments[-1] + launches[-1])
    assert len(launches) == CASES
    return Spans(max(moments) - min(moments), sum(launches) / CASES)


if __name__ == "__main__":
    print(measure())
