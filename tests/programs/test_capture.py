"""Jobs of the launches of whole programs, through `gpuregress exec --capture`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpuregress.foundation.records import Source
from gpuregress.toolchain import programs
from tests.programs import suites
from tests.programs.test_exec import PROGRAM

KERNELS = r"""
struct Part { float* values; int n; float factor; };
extern "C" __global__ void scale(float* v, float f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] *= f;
}
extern "C" __global__ void scale_part(Part part) {
    if (threadIdx.x < part.n) part.values[threadIdx.x] *= part.factor;
}
__device__ int counter = 5;
__device__ int limit = 100;
__device__ int start = 3;
extern "C" __global__ void count(int* seen) { seen[0] = start + min(limit, atomicAdd(&counter, 1)); }
extern "C" __global__ void follow(float** rows) { rows[threadIdx.x][0] = 1; }
extern "C" __global__ void sample(cudaTextureObject_t t, float* v) { if (t) v[0] = tex1Dfetch<float>(t, 0); }
extern "C" __global__ void overrun(int* v) { v[threadIdx.x] = 1; }
extern "C" __global__ void __launch_bounds__(16) narrow(int* v) { v[threadIdx.x] = 1; }
"""
FILLED = """
def filled(count):
    values = np.arange(count, dtype=np.float32)
    memory = check(driver.cuMemAlloc(values.nbytes))
    check(driver.cuMemcpyHtoD(memory, values.ctypes.data, values.nbytes))
    return memory

"""


class Project:
    """A project that gets the jobs of a program in Python.

    Args:
        root: its folder.
        kernels: the PTX.
    """

    def __init__(self, root: Path, kernels: Path) -> None:
        self.root = root
        self.environment = {**os.environ, "KERNELS": str(kernels)}

    def capture(self, body: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Capture the launches of a program with this body."""
        path = self.root / "program.py"
        path.write_text(PROGRAM + FILLED + body, encoding="utf-8")
        return self.call("exec", "--capture", *options, "--", sys.executable, str(path))

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of gpuregress in the project."""
        command = [sys.executable, "-m", "gpuregress", *arguments]
        return subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, timeout=120, check=False
        )

    def job(self, name: str) -> str:
        """The text of a job."""
        return (self.root / f"configs/{name}.yaml").read_text(encoding="utf-8")

    @property
    def jobs(self) -> list[str]:
        """The names of all jobs."""
        return sorted(path.stem for path in self.root.glob("configs/*.yaml"))


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The PTX of the kernels."""
    path = tmp_path_factory.mktemp("kernels") / "kernels.cu"
    path.write_text(KERNELS, encoding="utf-8")
    names = ("scale", "scale_part", "count", "follow", "sample", "overrun", "narrow")
    return Path(programs.compile(Source(str(path), kernels=names, arch="sm_90")).ptx)


@pytest.fixture
def project(tmp_path: Path, kernels: Path) -> Project:
    """An empty project."""
    return Project(tmp_path, kernels)


def test_captured_jobs_pass_and_say_whose_result_they_expect(project: Project) -> None:
    done = project.capture("""
memory = filled(1000)
check(launch("scale", 32, driver.CUdeviceptr(int(memory) + 64), 2.5, 20))
check(launch("scale", 32, memory, 3.0, 32))
sys.exit(7)
""")
    assert done.returncode == 7, done.stderr  # the program's own
    assert done.stderr.splitlines() == [
        "gpuregress: configs/scale.yaml: launch 1, scale: a replay gives the same bits",
        "gpuregress: to replay: gpuregress run configs/scale.yaml",
    ]
    job = project.job("scale")
    assert job.startswith("# Captured by gpuregress exec --capture: launch 1 of ")
    assert "program.py on the virtual GPU (sm_90)\n" in job
    assert "# the virtual GPU's own result, no evidence that it is right; every bit must be equal\n" in job
    assert "shape: [20]" in job  # what the kernel touched of 1000
    assert ", {float32: 2.5}, {int32: 20}]\n" in job
    run = project.call("run", "--device", "cpu")
    assert run.returncode == 0, run.stdout
    assert "scale" in run.stdout
    assert "as its reference, without a baseline" in run.stdout
    expected = next((project.root / "captured/scale").glob("*.after.bin"))
    expected.write_bytes(b"\1" + expected.read_bytes()[1:])
    assert project.call("run", "--device", "cpu").returncode == 1


def test_structs_and_variables_are_captured(project: Project) -> None:
    done = project.capture(
        """
class Part(ctypes.Structure):
    _fields_ = [("values", ctypes.c_void_p), ("n", ctypes.c_int), ("factor", ctypes.c_float)]

memory = filled(16)
limit, size = check(driver.cuModuleGetGlobal(module, b"limit"))
check(driver.cuMemcpyHtoD(limit, np.full(1, 6, np.int32).ctypes.data, size))
for _ in range(3):
    check(launch("count", 1, memory))
function = check(driver.cuModuleGetFunction(module, b"scale_part"))
part = Part(int(memory), 4, 0.5)
pointers = (ctypes.c_void_p * 1)(ctypes.addressof(part))
check(driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, ctypes.addressof(pointers), 0))
""",
        "--nth",
        "1",
    )
    assert done.stderr.count("a replay gives the same bits") == 2, done.stderr
    assert "symbol: limit}" in project.job("count")
    assert "symbol: counter}" in project.job("count")
    assert "{struct: [arg0_0, {uint32: 4}, {uint32: 1056964608}]}" in project.job("scale_part")
    assert "start" not in project.job("count")  # Its PTX has this value.
    run = project.call("run", "--device", "cpu")
    assert run.returncode == 0, run.stdout


def test_launches_are_chosen_by_name_and_number(project: Project) -> None:
    body = """
memory = filled(32)
for _ in range(4):
    check(launch("scale", 32, memory, 2.0, 32))
    check(launch("count", 1, memory))
"""
    assert "launch 3, " in project.capture(body, "--kernel", "sc*", "--nth", "2", "--replay", "0").stderr
    assert project.jobs == ["scale"]
    project.capture(body, "--kernel", "scale", "--every", "3", "--replay", "0")
    assert project.jobs == ["scale", "scale-launch1", "scale-launch4"]
    done = project.capture(body, "--kernel", "nothing")
    assert (done.returncode, done.stderr) == (
        0,
        "gpuregress: no launch was kept: none matches --kernel, --nth, --every or --max\n",
    )


def test_what_no_job_can_say_is_named_in_one_line_each(project: Project) -> None:
    done = project.capture(
        """
memory = filled(32)
rows = check(driver.cuMemAlloc(16))
check(driver.cuMemcpyHtoD(rows, np.full(2, int(memory), np.uint64).ctypes.data, 16))
check(launch("follow", 2, rows))
check(launch("sample", 1, driver.CUdeviceptr(0), memory))
assert launch("narrow", 32, memory)[0].value
large = filled(100_000)
check(launch("scale", 1024, large, 2.0, 100_000))
launch("overrun", 33, memory)
""",
        "--max-bytes",
        "1KiB",
    )
    assert done.returncode == 3
    lines = [line.removeprefix("gpuregress: ") for line in done.stderr.splitlines()]
    refused = {line.split(": ")[1]: line for line in lines if line.startswith("not captured: ")}
    assert set(refused) == {"follow", "sample", "narrow", "scale"}
    assert "holds addresses of device memory" in refused["follow"]
    assert "texture or surface objects" in refused["sample"]
    assert "__launch_bounds__" in refused["narrow"]
    assert "more of its 390.6 KiB of memory than --max-bytes allows" in refused["scale"]
    assert project.jobs == ["overrun"]  # The fault is what its job shows.
    assert "reference" not in project.job("overrun")
    assert "out-of-bounds write" in project.call("run", "--device", "cpu").stdout


def test_a_job_of_a_gpu_is_left_and_an_own_one_is_replaced(project: Project) -> None:
    body = 'check(launch("scale", 32, filled(32), 2.0, 32))'
    project.capture(body, "--replay", "0")
    assert "{float32: 3.0}" not in project.job("scale")
    project.capture(body.replace("2.0", "3.0"), "--replay", "0")
    assert "{float32: 3.0}" in project.job("scale")
    path = project.root / "configs/scale.yaml"
    path.write_text("# Captured by gpuregress capture: launch 1 of ./app on an H200\n", encoding="utf-8")
    done = project.capture(body, "--replay", "0")
    assert "was not written by exec --capture, and was not changed" in done.stderr
    assert path.read_text(encoding="utf-8").endswith("on an H200\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--nth", "2"), "--nth says what --capture keeps: add --capture, or leave it out"),
        (("--capture", "--nth", "2", "--max", "3"), "--nth and --max are both given"),
        (("--capture", "--source", "nowhere.cu"), "there is no file nowhere.cu"),
    ],
)
def test_wrong_options_end_before_the_program_starts(project: Project, options: tuple[str, ...], message: str) -> None:
    done = project.call("exec", *options, "--", "touch", "started")
    assert done.returncode == 2
    assert message in done.stderr
    assert not (project.root / "started").exists()


def test_the_users_source_gives_names_and_types(project: Project) -> None:
    (project.root / "kernels.cu").write_text(KERNELS, encoding="utf-8")
    project.capture('check(launch("scale", 32, filled(32), 2.0, 32))', "--source", "kernels.cu")
    assert "source: ../kernels.cu\n" in project.job("scale")
    assert "  v: {dtype: float32, shape: [32], " in project.job("scale")
    run = project.call("run", "--device", "cpu")
    assert run.returncode == 0, run.stdout


@pytest.mark.slow
def test_arrays_of_numba_keep_their_types(project: Project) -> None:
    path = project.root / "program.py"
    path.write_text(
        """
import numpy as np
from numba import cuda

@cuda.jit
def add_rows(sums, matrix):
    row = cuda.grid(1)
    if row < matrix.shape[0]:
        for column in range(matrix.shape[1]):
            sums[row] += matrix[row, column]

sums = cuda.to_device(np.zeros(50))
add_rows[2, 32](sums, cuda.to_device(np.arange(150, dtype=np.int32).reshape(50, 3)))
""",
        encoding="utf-8",
    )
    done = project.call("exec", "--capture", "--kernel", "add_rows", "--", sys.executable, str(path))
    assert "configs/add_rows.yaml: launch 1, __main__::add_rows: a replay gives the same bits" in done.stderr
    job = project.job("add_rows")
    assert "  array0: {dtype: float64, shape: [50], " in job
    assert "  array1: {dtype: int32, shape: [150], " in job
    run = project.call("run", "--device", "cpu")
    assert run.returncode == 0, run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["g++", "nvcc"])
def test_launches_of_a_program_in_cpp_become_jobs(project: Project, compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler} to build the suite with")
    include = suites.headers()
    if compiler == "nvcc":
        program = suites.build_with_nvcc(project.root)
    elif include is None:
        pytest.skip("NVIDIA's headers of the runtime are not installed")
    else:
        program = suites.build_with_nvrtc(project.root, include)
    tests = ("saxpy", "pitched_rows", "constant_memory", "managed_memory", "structure_argument", "texture")
    done = project.call("exec", "--capture", "--", str(program), *tests)
    assert done.returncode == 0, done.stderr
    assert project.jobs == ["add_to_managed", "clamp", "saxpy", "scale_by_constant", "transpose"]
    assert done.stderr.count("a replay gives the same bits") == 5, done.stderr
    assert "not captured: sample_texture: it uses texture or surface objects" in done.stderr
    run = project.call("run", "--device", "cpu")
    assert run.returncode == 0, run.stdout
