"""A night of 10,000 small cases on two cores: its time, memory while it runs, and what it leaves on disk.

The first run is new, `accept` takes it, and the second night, which is measured, finds the programs in the cache.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.rows import Row

CASES = 10_000
LIMIT_S = 300.0
"""For 10,000 cases on two cores, with a warm cache."""
PARENT_MB = 300.0
"""The most memory of the night's process, which keeps the plan and the verdict of each of 10,000 cases."""
WORKER_GROWTH = 1.1
"""The most that a worker may grow between a tenth of the night and its end, as a ratio."""
EVERY_S = 0.25

SOURCE = """\
extern "C" __global__ void scale(float *out, const float *x, int k) {
    int i = threadIdx.x;
    out[i] = k * x[i];
}
"""
JOB = """\
source: scale.cu
parameters: {{k: {values}}}
buffers:
  x: {{dtype: float32, shape: [32], fill: arange}}
  out: {{dtype: float32, shape: [32]}}
launches: [{{kernel: scale, grid: [1], block: [32], args: [out, x, {{int32: k}}]}}]
"""


@dataclass
class Memory:
    """Resident memory of a process and of its largest child, in MB, by the number of cases that were judged.

    Attributes:
        parent: (cases judged, MB) of the night's process.
        child: the same of its largest child.
    """

    parent: list[tuple[int, float]] = field(default_factory=list)
    child: list[tuple[int, float]] = field(default_factory=list)

    def watch(self, pid: int, runs: Path, before: set[Path], over: threading.Event) -> None:
        """Read both until the night is over."""
        while not over.wait(EVERY_S):
            cases = _judged(runs, before)
            self.parent.append((cases, _resident_mb(pid)))
            self.child.append((cases, max(map(_resident_mb, _children(pid)), default=0.0)))


def measure(cases: int = CASES) -> list[Row]:
    """Run, accept, and measure the night after it and one that fails.

    Args:
        cases: how many; the limit of time is in proportion.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "configs").mkdir()
        (folder / "configs" / "scale.cu").write_text(SOURCE)
        (folder / "configs" / "scale.yaml").write_text(JOB.format(values=list(range(1, cases + 1))))
        first_s, _, _ = _gpuregress(folder, "run", "--device", "cpu")
        accept_s, _, _ = _gpuregress(folder, "accept", "-m", "right")
        memory = Memory()
        night_s, cpu_s, code = _gpuregress(folder, "nightly", "--device", "cpu", memory=memory)
        run = (folder / "runs" / "latest").resolve()
        statuses = {case["verdict"] for case in json.loads((run / "results.json").read_text())["cases"]}
        limit_s = LIMIT_S * max(cases / CASES, 0.1)
        page = folder / "page.html"
        page_s, _, _ = _gpuregress(folder, "report", "-o", str(page))
        (folder / "configs" / "scale.cu").write_text(SOURCE.replace("k * x[i]", "k * x[i] + (k % 10 ? 1 : 0)"))
        failing_s, _, failing_code = _gpuregress(folder, "nightly", "--device", "cpu")
        what = f"a night of {cases:,} cases"
        used = f"{cpu_s:.0f} s of CPU time"
        well = code == 0 and statuses == {"pass"} and failing_code == 1
        return [
            Row(f"{what}, warm", f"{night_s:.0f} s", f"limit {limit_s:g} s", limit_s / night_s, 1, used),
            Row("its verdicts are right", "yes" if well else "no", "", float(well), 1),
            *_memory_rows(what, cases, memory),
            Row(f"{what} of which 9 in 10 fail", f"{failing_s:.0f} s", f"limit {limit_s:g} s", limit_s / failing_s, 1),
            Row("the first run and `accept`", f"{first_s:.0f} s, {accept_s:.0f} s", ""),
            Row("its folder", _size(run), ""),
            Row("the history of three nights", _size(folder / "runs" / "history.sqlite"), ""),
            Row("its page", f"{_size(page)}, {page_s:.1f} s", ""),
        ]


def _memory_rows(what: str, cases: int, memory: Memory) -> list[Row]:
    def at(samples: list[tuple[int, float]]) -> list[float]:
        return [max((mb for count, mb in samples if count <= cases * share), default=0.0) for share in (0.1, 0.5, 1.0)]

    parent, child = at(memory.parent), at(memory.child)
    note = f"at {cases // 10:,}, {cases // 2:,} and {cases:,} cases"
    grown = child[2] / child[0] if child[0] else 0.0
    return [
        Row(
            f"{what}: peak memory of its process",
            " / ".join(f"{mb:.0f}" for mb in parent) + " MB",
            f"limit {PARENT_MB:g} MB",
            PARENT_MB / max(parent[2], 1.0),
            1,
            note,
        ),
        Row(
            f"{what}: peak memory of its largest worker",
            " / ".join(f"{mb:.0f}" for mb in child) + " MB",
            f"growth of at most {WORKER_GROWTH:g} times",
            WORKER_GROWTH / grown if grown else None,
            1,
            note,
        ),
    ]


def _gpuregress(folder: Path, *arguments: str, memory: Memory | None = None) -> tuple[float, float, int]:
    """Run a command: its wall time and CPU time in s, with that of its children, and its exit code."""
    environment = {**os.environ, "GPUREGRESS_CACHE": str(folder / "cache"), "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, "-m", "gpuregress", "-C", str(folder), *arguments]
    runs = folder / "runs"
    known, over = set(_journals(runs)), threading.Event()
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        if memory is not None:
            watcher = threading.Thread(target=memory.watch, args=(process.pid, runs, known, over))
            watcher.start()
        code = process.wait()
        over.set()
        if memory is not None:
            watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu_s, code


def _journals(runs: Path) -> list[Path]:
    return list(runs.glob("2*/verdicts.jsonl"))


def _judged(runs: Path, before: set[Path]) -> int:
    """The verdicts in the journal of the run that has begun since."""
    for path in _journals(runs):
        if path not in before:
            return max(path.read_bytes().count(b"\n") - 1, 0)
    return 0


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def _resident_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _size(path: Path) -> str:
    files = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path] if path.exists() else []
    blocks = sum(one.stat().st_blocks for one in files) * 512
    size = sum(one.stat().st_size for one in files)
    return f"{size / 1e6:.1f} MB ({blocks / 1e6:.1f} MB on disk, {len(files):,} files)"
