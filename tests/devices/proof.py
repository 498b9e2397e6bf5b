"""What a GPU does when things go wrong, done on purpose, from the command line, and the next case's pass.

    python -m tests.devices.proof build CACHE [ARCH]    on a host with the compiler
    python -m tests.devices.proof run CACHE [DEVICE]    on a host with a GPU: the table; exits 1 if a row is not as said

Each row is one `gpuregress run` of a job that goes wrong and of one that is well, in this order.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuregress.foundation.records import Source
from gpuregress.store import launch_log
from gpuregress.toolchain import cubin_linker, programs

KERNELS = r"""// $Revision: 1.0 $
#include <cassert>
__global__ void well(int* out, const int* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i];
}
__global__ void far_read(int* out, const int* x) { out[threadIdx.x] = x[threadIdx.x + (1ll << 34)]; }
__global__ void far_write(int* out, const int* x) { out[threadIdx.x + (1ll << 34)] = 1; }
__global__ void near_write(int* out, const int* x) { out[threadIdx.x + 1] = x[threadIdx.x]; }
__global__ void misaligned(int* out, const int* x) { out[0] = *(const int*)((const char*)x + 1 + x[0]); }
__global__ void asserts(int* out, const int* x) { assert(x[threadIdx.x] > 1000); out[0] = 1; }
__global__ void traps(int* out, const int* x) { if (x[0] == 0) __trap(); out[0] = 1; }
__device__ __noinline__ int deep(volatile int* kept, int n)
{
    volatile int mine[256];
    for (int k = 0; k < 256; ++k) mine[k] = n + k + kept[k % 32];
    return n <= 0 ? mine[7] : deep(mine, n - 1) + mine[n % 256];
}
__global__ void overflows(int* out, const int* x)
{
    volatile int first[32];
    for (int k = 0; k < 32; ++k) first[k] = x[k];
    out[threadIdx.x] = deep(first, 1000000 + x[0]);
}
__global__ void __launch_bounds__(64) narrow(int* out, const int* x) { if (threadIdx.x < 64) out[threadIdx.x] = 1; }
__global__ void forever(int* out, const int* x) { while (*(volatile const int*)x == 0) { } out[0] = 1; }
__global__ void races(int* out, const int* x)
{
    __shared__ int part[64];
    part[threadIdx.x] = x[threadIdx.x];
    out[threadIdx.x] = part[63 - threadIdx.x];
}
__global__ void reads_unwritten(int* out, const int* x) { out[threadIdx.x] = out[threadIdx.x] + x[threadIdx.x]; }
"""
FAULTY = """\
source: ../kernels/proof.cu
buffers:
  x:   {{dtype: int32, shape: [64], fill: arange}}
  out: {{dtype: int32, shape: [64]}}
launches:
  - {{kernel: {kernel}, grid: [1], block: [{block}], args: [out, x]}}
limits: {{timeout: 3}}
"""
WELL = """\
source: ../kernels/proof.cu
buffers:
  x:   {dtype: int32, shape: [1000], fill: arange}
  out: {dtype: int32, shape: [1000]}
launches:
  - {kernel: well, grid: [8], block: [128], args: [out, x, {int32: 1000}]}
reference: {out: reference.py:twice}
"""
HUGE = """\
source: ../kernels/proof.cu
buffers:
  x:    {dtype: int32, shape: [1000], fill: arange}
  huge: {dtype: uint8, shape: [2 ** 40]}
launches:
  - {kernel: well, grid: [8], block: [128], args: [huge, x, {int32: 1000}]}
dump: [x]
limits: {memory: 4096GiB}
"""
FOREIGN = """\
source: ../kernels/foreign.cubin
buffers:
  x:   {dtype: int32, shape: [1000], fill: arange}
  out: {dtype: int32, shape: [1000]}
launches:
  - {kernel: well, grid: [8], block: [128], args: [out, x, {int32: 1000}]}
"""
REFERENCE = "def twice(inputs, case):\n    return 2 * inputs['x']\n"
NO_PYCUDA = """\
import sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] == "pycuda" else super().find_spec(name, path, target)
sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
"""
OTHER_ARCH = "sm_80"
_FOREIGN_NAME = "proof-foreign.cubin"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that goes wrong, and what must come of it.

    Attributes:
        what: for the table.
        job: the job that goes wrong.
        exit_code: of the run.
        words: that the verdict's line holds, one of them; the verdict's own word first.
        options: further ones of the command.
        also: what compute-sanitizer must have found.
    """

    what: str
    job: str
    exit_code: int
    words: tuple[str, ...]
    options: tuple[str, ...] = ()
    also: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a row: the verdict and its reason, the exit code, the log's last line, what the next case got."""

    verdict: str
    exit_code: int
    last_line: str
    following: str


FAULTS = {
    "far_read": Row("illegal read", "far_read", 3, ("fault illegal-access",)),
    "far_write": Row("illegal write", "far_write", 3, ("fault illegal-access",)),
    "near_write": Row("write one past the end", "near_write", 3, ("fault red-zone",)),
    "misaligned": Row("misaligned access", "misaligned", 3, ("fault misaligned",)),
    "asserts": Row("assert", "asserts", 3, ("fault assert: proof.cu:12",)),
    "traps": Row("trap", "traps", 3, ("fault trap: unspecified launch failure in traps",)),
    "overflows": Row("stack overflow", "overflows", 3, ("fault stack-overflow", "fault illegal-access")),
    "forever": Row("endless loop", "forever", 3, ("timeout timeout: killed at its limit of 3 s",)),
    "narrow": Row("block over the kernel's limit", "narrow", 4, ("error narrow cannot be launched on ",)),
    "huge": Row("GPU memory exhausted", "huge", 4, ("error buffer huge needs 1024.0 GiB",)),
    "foreign": Row("cubin for sm_80", "foreign", 4, ("error the program was built for sm_80",)),
    "memcheck": Row(
        "memcheck", "near_write", 3, ("fault red-zone",), ("--sanitize", "memcheck"), "Invalid __global__ write"
    ),
    "racecheck": Row(
        "racecheck", "races", 3, ("fault race: racecheck:",), ("--sanitize", "racecheck"), "Race reported"
    ),
    "initcheck": Row(
        "initcheck",
        "reads_unwritten",
        3,
        ("fault uninitialized: initcheck:",),
        ("--sanitize", "initcheck"),
        "Uninitialized __global__",
    ),
}
SPECIAL = ("worker killed", "gpuregress killed", "no GPU", "no pycuda")


class Workbench:
    """A project in a folder, with a job for each thing that goes wrong.

    Args:
        root: an empty folder.
        cache: where the programs are.
        device: where the cases run.
    """

    def __init__(self, root: Path, cache: Path, device: str) -> None:
        self.root, self.cache, self.device = root, cache, device
        for folder in ("configs", "kernels", "without"):
            (root / folder).mkdir()
        (root / "kernels/proof.cu").write_text(KERNELS)
        (root / "configs/reference.py").write_text(REFERENCE)
        (root / "without/sitecustomize.py").write_text(NO_PYCUDA)
        kernels = sorted({row.job for row in FAULTS.values()} - {"narrow", "huge", "foreign"})
        jobs = {kernel: FAULTY.format(kernel=kernel, block=64) for kernel in kernels}
        jobs |= {"narrow": FAULTY.format(kernel="narrow", block=128), "well": WELL, "huge": HUGE}
        if (cache / _FOREIGN_NAME).is_file():
            shutil.copyfile(cache / _FOREIGN_NAME, root / "kernels/foreign.cubin")
            jobs["foreign"] = FOREIGN
        for name, text in jobs.items():
            (root / f"configs/{name}.yaml").write_text(text)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """gpuregress, begun."""
        command = [sys.executable, "-m", "gpuregress", "-C", str(self.root), *arguments]
        here = {**os.environ, "GPUREGRESS_CACHE": str(self.cache), "PYTHONPATH": _python_path(), **environment}
        return subprocess.Popen(command, env=here, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *jobs: str, **environment: str) -> tuple[int, str]:
        """`gpuregress run` of these jobs and options: its exit code and what it says."""
        with self.start("run", "--device", self.device, *jobs, **environment) as process:
            message, _ = process.communicate(timeout=300)
            return process.returncode, message

    def seen(self, exit_code: int, job: str) -> Seen:
        """What the last run left behind."""
        folder = max((self.root / "runs").glob("2*Z-*"))
        entries: dict[str, Any] = {}
        if (folder / "results.json").is_file():
            cases = json.loads((folder / "results.json").read_text())["cases"]
            entries = {case["job"]: case for case in cases}
        entry, following = entries.get(job), entries.get("well", {})
        verdict = f"{entry['verdict']} {entry['reason']}" if entry else "none"
        told = entry.get("sanitizer") if entry else None
        if told:
            actual = [finding["text"] for finding in told["findings"]] or [told["problem"] or "nothing found"]
            verdict += f"; {told['tool']}: {actual[0]}"
        return Seen(verdict, exit_code, _last_line(folder / "launch.log", job), following.get("verdict", "none"))

    def wait_for_launch(self, job: str) -> None:
        """Until the log says that this job's launch has begun."""
        for _ in range(600):
            logs = list((self.root / "runs").glob("2*/launch.log")) if (self.root / "runs").is_dir() else []
            if any(event.case == job for log in logs for event in launch_log.read(log).unfinished):
                time.sleep(0.5)
                return
            time.sleep(0.1)
        raise TimeoutError(job)


def fault(bench: Workbench, row: Row) -> Seen:
    """A job that goes wrong and one that is well, in one run."""
    code, _ = bench.run("--jobs", "1", *row.options, row.job, "well")
    return bench.seen(code, row.job)


def worker_killed(bench: Workbench) -> Seen:
    """SIGKILL to the worker in the middle of a launch."""
    with bench.start("run", "--device", bench.device, "--jobs", "1", "--timeout", "60", "forever", "well") as process:
        bench.wait_for_launch("forever")
        for pid in workers_of(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=120)
        return bench.seen(process.returncode, "forever")


def gpuregress_killed(bench: Workbench) -> Seen:
    """SIGKILL to gpuregress itself: no worker stays, and the card is free for the next run."""
    with bench.start("run", "--device", bench.device, "--jobs", "1", "--timeout", "60", "forever", "well") as process:
        bench.wait_for_launch("forever")
        workers = workers_of(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=30)
    began = time.monotonic()
    while any(map(_is_alive, workers)) and time.monotonic() < began + 30:
        time.sleep(0.05)
    left, took = [pid for pid in workers if _is_alive(pid)], time.monotonic() - began
    killed = bench.seen(process.returncode, "forever")
    code, _ = bench.run("well")
    verdict = f"none, {len(workers)} worker, {len(left)} left after {took:.1f} s"
    return Seen(verdict, killed.exit_code, killed.last_line, "pass" if code == 0 else f"exit {code}")


def without(bench: Workbench, **environment: str) -> Seen:
    """A run on a machine that lacks something; then the next one, which does not."""
    code, message = bench.run("well", **environment)
    following, _ = bench.run("well")
    return Seen(message.strip().splitlines()[-1], code, "no log: nothing was run", "pass" if following == 0 else "fail")


def special(bench: Workbench, name: str) -> tuple[Seen, bool]:
    """One of SPECIAL, and whether it is as it must be."""
    runs: dict[str, Callable[[], tuple[Seen, int, str]]] = {
        "worker killed": lambda: (worker_killed(bench), 4, "error the worker process died of SIGKILL"),
        "gpuregress killed": lambda: (gpuregress_killed(bench), -signal.SIGKILL, "none, 1 worker, 0 left"),
        "no GPU": lambda: (without(bench, CUDA_VISIBLE_DEVICES=""), 4, "no such device"),
        "no pycuda": lambda: (without(bench, PYTHONPATH=_python_path(bench.root / "without")), 4, "pycuda"),
    }
    seen, code, words = runs[name]()
    return seen, seen.exit_code == code and words in seen.verdict and seen.following == "pass"


def as_said(row: Row, seen: Seen) -> bool:
    """Whether a fault's row is as it must be."""
    told = any(seen.verdict.startswith(words) for words in row.words)
    return told and row.also in seen.verdict and seen.exit_code == row.exit_code and seen.following == "pass"


def workers_of(parent: int) -> list[int]:
    """The worker processes of a gpuregress."""
    actual = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            status, command = (entry / "stat").read_text(), (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if int(status.rpartition(")")[2].split()[1]) == parent and b"workers/start.py" in command:
            actual.append(int(entry.name))
    return actual


def _is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def build(cache: Path, arch: str = "sm_90") -> None:
    """The proof's programs into the cache, and a cubin for another architecture."""
    cache.mkdir(parents=True, exist_ok=True)
    os.environ["GPUREGRESS_CACHE"] = str(cache.absolute())
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "proof.cu"
        source.write_text(KERNELS)
        other = cubin_linker.build_cubin(programs.compile(Source(str(source), kernels=("well",), arch=OTHER_ARCH)))
        shutil.copyfile(other.cubin, cache / _FOREIGN_NAME)
    with tempfile.TemporaryDirectory() as folder:
        bench = Workbench(Path(folder), cache.absolute(), "cuda")
        with bench.start("build", "--arch", arch, "--cache", str(cache.absolute())) as process:
            sys.stdout.write(process.communicate()[0])


def _python_path(*more: Path) -> str:
    here = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join([*map(str, more), here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])


def _last_line(log: Path, job: str) -> str:
    """The last line about this job's launches; what comes after it is the next case's."""
    if not log.is_file():
        return "no log"
    last, number = "no launch began", ""
    for line in log.read_text().splitlines():
        words = line.split(" ")
        if words[0] == "begin" and words[4] == job:
            last, number = line, words[1]
        elif words[0] in ("end", "fault") and words[1] == number:
            last = line
    return last


def _run_all(cache: Path, device: str) -> bool:
    good = True
    sys.stdout.write("| done on purpose | verdict | exit | the log's last line of it | next case | as said |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for name in (*FAULTS, *SPECIAL):
        with tempfile.TemporaryDirectory() as folder:
            bench = Workbench(Path(folder), cache.absolute(), device)
            if name in FAULTS:
                seen = fault(bench, FAULTS[name])
                what, right = FAULTS[name].what, as_said(FAULTS[name], seen)
            else:
                seen, right = special(bench, name)
                what = name
        cells = (what, seen.verdict, str(seen.exit_code), seen.last_line, seen.following, "yes" if right else "NO")
        sys.stdout.write("| " + " | ".join(cell.replace("|", "\\|")[:160] for cell in cells) + " |\n")
        sys.stdout.flush()
        good = good and right
    return good


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(Path(sys.argv[2]), *sys.argv[3:])
    else:
        raise SystemExit(0 if _run_all(Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "cuda:0") else 1)
