"""A GPU's cases against a bare pycuda script, the link, and one card against several.

    python -m benchmarks.gpu build CACHE [ARCH]    on a host with the compiler
    python -m benchmarks.gpu run CACHE             on a host with a GPU: prints a table

Prints, for each figure, what the harness needs, what the bare thing needs, and the ratio.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from gpuregress.execution import device_registry as registry
from gpuregress.execution.cuda import driver
from gpuregress.execution.cuda.memory import CudaMemory
from gpuregress.foundation.records import Source
from gpuregress.toolchain import cubin_linker, programs

KERNEL = """// $Revision: 1.0 $
extern "C" __global__ void triad(float* y, const float* x, float a, int n, int rounds)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = x[i];
        for (int k = 0; k < rounds; ++k) v = v * a + 1.0f;
        y[i] = v;
    }
}
extern "C" __global__ void spin(unsigned* out, long long rounds)
{
    unsigned v = threadIdx.x + blockIdx.x;
    for (long long k = 0; k < rounds; ++k) v = v * 1664525u + 1013904223u;
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
"""
COUNT, GRID, BLOCK, SAMPLES = 1 << 24, 1024, 256, 30
ROUNDS = {"long": 8192, "short": 64}
"""Of milliseconds, and of some 60 µs: there the host's part of the bare script's own launch shows."""
SPIN_ROUNDS, SPIN_SECONDS = 600_000_000, 2.0
TRIAD = """\
source: ../kernels/gpu.cu
buffers:
  x: {{dtype: float32, shape: [{count}], fill: arange}}
  y: {{dtype: float32, shape: [{count}]}}
launches:
  - kernel: triad
    grid: [{grid}]
    block: [{block}]
    args: [y, x, {{float32: 0.5}}, {{int32: {count}}}, {{int32: {rounds}}}]
dump: [y]
timing: {{warmup: 3, samples: {samples}}}
"""
SMALL = """\
source: ../kernels/gpu.cu
buffers:
  x: {dtype: float32, shape: [4096], fill: arange}
  y: {dtype: float32, shape: [4096]}
launches:
  - {kernel: triad, grid: [16], block: [256], args: [y, x, {float32: 0.5}, {int32: 4096}, {int32: 64}]}
dump: [y]
"""
SPIN = """\
source: ../kernels/gpu.cu
parameters: {case: [1, 2, 3, 4, 5, 6, 7, 8]}
buffers:
  out: {dtype: uint32, shape: [64]}
launches:
  - {kernel: spin, grid: [1], block: [64], args: [out, {int64: ROUNDS + case}]}
limits: {timeout: 60}
"""
# What a user would write without gpuregress: the same fill, launch and dump, by pycuda alone.
BARE = """\
import sys
import numpy as np
import pycuda.driver as cuda
cuda.init()
context = cuda.Device(0).make_context()
module = cuda.module_from_buffer(open(sys.argv[1], "rb").read())
triad = module.get_function("triad")
count, grid, samples, rounds = map(int, sys.argv[2:6])
x = np.arange(count, dtype=np.float32)
d_x, d_y = cuda.mem_alloc(x.nbytes), cuda.mem_alloc(x.nbytes)
start, end, taken = cuda.Event(), cuda.Event(), []
for sample in range(samples):
    cuda.memcpy_htod(d_x, x)
    cuda.memset_d32(d_y, 0, count)
    start.record()
    triad(d_y, d_x, np.float32(0.5), np.int32(count), np.int32(rounds), grid=(grid, 1), block=(256, 1, 1))
    end.record()
    end.synchronize()
    taken.append(start.time_till(end))
y = np.empty_like(x)
cuda.memcpy_dtoh(y, d_y)
if len(sys.argv) > 6:
    np.savetxt(sys.argv[6], y, fmt="%.9g")
print(*taken[3:])
context.pop()
"""


class Project:
    """The benchmark's jobs in a folder.

    Args:
        root: an empty folder.
        cache: where the programs are.
    """

    def __init__(self, root: Path, cache: Path) -> None:
        self.root, self.cache = root, cache
        (root / "configs").mkdir()
        (root / "kernels").mkdir()
        (root / "kernels/gpu.cu").write_text(KERNEL)
        (root / "bare.py").write_text(BARE)
        for name, rounds in ROUNDS.items():
            job = TRIAD.format(count=COUNT, grid=GRID, block=BLOCK, rounds=rounds, samples=SAMPLES)
            (root / f"configs/{name}.yaml").write_text(job)
        (root / "configs/small.yaml").write_text(SMALL)
        self.write_spin(SPIN_ROUNDS)

    def write_spin(self, rounds: int) -> None:
        """The suite of long cases, each of so many steps."""
        (self.root / "configs/spin.yaml").write_text(SPIN.replace("ROUNDS", str(rounds)))

    def gpuregress(self, *arguments: str) -> float:
        """Runs it; wall seconds."""
        return _seconds([sys.executable, "-m", "gpuregress", "-C", str(self.root), *arguments], self.cache)[0]

    def results(self) -> dict[str, Any]:
        """The last run's."""
        document: dict[str, Any] = json.loads((self.root / "runs/latest/results.json").read_text())
        return document

    def program(self) -> Path:
        """The cubin that the cases run."""
        with registry.open_device("cuda:0") as device:
            arch = device.info.arch
        os.environ["GPUREGRESS_CACHE"] = str(self.cache)
        source = Source(str(self.root / "kernels/gpu.cu"), kernels=("triad",), arch=arch)
        return Path(cubin_linker.build_cubin(programs.compile(source)).cubin)


def build(cache: Path, arch: str = "sm_90") -> None:
    """The programs into the cache."""
    with tempfile.TemporaryDirectory() as folder:
        Project(Path(folder), cache).gpuregress("build", "--arch", arch, "--cache", str(cache))


def device_time(project: Project, cubin: Path, job: str) -> str:
    """The median of a case's samples against the bare script's."""
    project.gpuregress("run", "--device", "cuda:0", job, "-q", "-q")
    ours = project.results()["cases"][0]["timing"]
    numbers = map(str, (COUNT, GRID, SAMPLES + 3, ROUNDS[job]))
    printed = _seconds([sys.executable, str(project.root / "bare.py"), str(cubin), *numbers], project.cache)[1]
    bare = statistics.median(map(float, printed.split()))
    wanted = "within 0.95 to 1.05" if job == "long" else "for information: the script's own gap is in its time"
    return _row(f"device time of a {job} case, ms", ours["median_ms"], bare, wanted, ours.get("sm_clock", ""))


def wall_time(project: Project, cubin: Path) -> str:
    """A small cached case against the bare script that fills, launches and dumps: the command, and the case alone."""
    out = str(project.root / "bare.txt")
    command = [sys.executable, str(project.root / "bare.py"), str(cubin), "4096", "16", "4", "64", out]
    ours, cases, bare = [], [], []
    for _ in range(7):
        ours.append(project.gpuregress("run", "--device", "cuda:0", "small", "-q", "-q"))
        cases.append(project.results()["cases"][0]["seconds"])
        bare.append(_seconds(command, project.cache)[0])
    whole = _row("wall time of a cached case, from the shell, s", min(ours), min(bare), "at most 1.3")
    alone = _row("the same case in its worker, s, against the whole script", min(cases), min(bare), "at most 1.2")
    return f"{whole}\n{alone}"


def link(size: int = 1 << 30) -> str:
    """Reading a buffer in pieces against one copy into pinned memory."""
    with registry.open_device("cuda:0") as device:
        api = driver.api()
        memory = device.allocate("x", size)
        assert isinstance(memory, CudaMemory)
        pinned = api.pagelocked_empty(size, np.uint8)
        bare = ours = float("inf")
        for _ in range(4):
            began = time.perf_counter()
            api.memcpy_dtoh(pinned, memory.address)
            bare = min(bare, time.perf_counter() - began)
            began = time.perf_counter()
            for _piece in memory.read_pieces():
                pass
            ours = min(ours, time.perf_counter() - began)
    return _row("reading a GiB for a dump, GB/s", size / ours / 1e9, size / bare / 1e9, "at least 0.8")


def cards(project: Project) -> str:
    """Eight cases of about two seconds each: one card against all."""
    count = sum(name.startswith("cuda") for name in registry.available())
    project.gpuregress("run", "--device", "cuda:0", "spin/case=1", "-q", "-q")
    measured = project.results()["cases"][0]["seconds"]
    project.write_spin(int(SPIN_ROUNDS * SPIN_SECONDS / measured))
    project.gpuregress("run", "--device", "cuda:0", "spin", "-q", "-q")
    one = project.results()
    project.gpuregress("run", "--device", "cuda", "spin", "-q", "-q")
    every = project.results()
    digests = [[buffer["dump"] for case in run["cases"] for buffer in case["buffers"]] for run in (one, every)]
    same = all(Path(a).read_bytes() == Path(b).read_bytes() for a, b in zip(*digests, strict=True))
    note = f"{count} cards, the same dumps: {'yes' if same else 'NO'}"
    return _row("8 cases of 2 s each, s: 1 card / all", one["seconds"], every["seconds"], "at least 1.8 with 2", note)


def big_dump(project: Project, size: int = 4 << 30) -> str:
    """A buffer of 4 GiB: how much memory its dump needs on the host."""
    (project.root / "configs/big.yaml").write_text(
        SMALL.replace("shape: [4096]}\nlaunches", f"shape: [{size // 4}]}}\nlaunches")
        + "limits: {memory: 5GiB, timeout: 300}\n"
    )
    command = [sys.executable, "-m", "gpuregress", "-C", str(project.root), "run", "--device", "cuda:0", "big"]
    began, most = time.perf_counter(), 0.0
    with subprocess.Popen([*command, "-q", "-q"], env=_environment(project.cache)) as running:
        while running.poll() is None:
            most = max(most, _resident(running.pid))
            time.sleep(0.1)
    seconds = time.perf_counter() - began
    dumped = sum(path.stat().st_size for path in (project.root / "runs").glob("2*/dumps/big/*")) / 1e9
    what = f"a dump of {size / (1 << 30):g} GiB"
    return f"| {what} | {most:.2f} GiB of the host at most | {dumped:.1f} GB of text | {seconds:.0f} s | below 5 GiB |"


def _resident(process: int) -> float:
    """Peak host memory of a process and its children, summed, in GiB; 0 once it is gone."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        status = [Path(f"/proc/{number}/status").read_text() for number in (process, *children)]
    except OSError:
        return 0.0
    peaks = (line.split()[1] for text in status for line in text.splitlines() if line.startswith("VmHWM:"))
    return sum(map(int, peaks)) / (1 << 20)


def _environment(cache: Path) -> dict[str, str]:
    here = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join([here, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
    return {**os.environ, "GPUREGRESS_CACHE": str(cache), "PYTHONPATH": path}


def _seconds(command: list[str], cache: Path) -> tuple[float, str]:
    began = time.perf_counter()
    done = subprocess.run(command, env=_environment(cache), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return time.perf_counter() - began, done.stdout


def _row(what: str, ours: float, bare: float, wanted: str, note: str = "") -> str:
    return f"| {what} | {ours:.4g} | {bare:.4g} | {ours / bare:.3f} | {wanted} {f'({note})' if note else ''} |"


def _run(cache: Path, *, big: bool) -> None:
    print("| what | gpuregress | bare | ratio | wanted |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), cache)
        cubin = project.program()
        for job in ROUNDS:
            print(device_time(project, cubin, job), flush=True)
        print(wall_time(project, cubin), flush=True)
        print(link(), flush=True)
        print(cards(project), flush=True)
        if big:
            print(big_dump(project), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(Path(sys.argv[2]).absolute(), *sys.argv[3:])
    else:
        _run(Path(sys.argv[2]).absolute(), big="--big" in sys.argv)
