"""Whole programs on the virtual GPU, through `gpuregress exec`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpuregress.foundation.records import Source
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchBegin, LaunchEnd, LaunchFault
from gpuregress.toolchain import programs
from tests.programs import declared_functions

KERNELS = r"""
extern "C" __global__ void scale(float* v, float f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] *= f;
}
extern "C" __global__ void overrun(int* v) { v[threadIdx.x] = 1; }
extern "C" __global__ void race(int* v) { v[0] = threadIdx.x; }
extern "C" __global__ void ranks(unsigned* v) {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    v[blockIdx.x] = rank;
}
extern "C" __global__ void copy(int* to, const int* from) { to[threadIdx.x] = from[threadIdx.x]; }
extern "C" __global__ void forever(volatile int* v) { while (v[0] == 0) v[1]++; }
__device__ int* kept;
extern "C" __global__ void allocate() { kept = (int*)malloc(4); }
extern "C" __global__ void store(int n) { kept[0] = n; }
__device__ int counter = 5;
__global__ void count() { atomicAdd(&counter, 1); printf("counted %d\n", counter); }
"""
BY_ADDRESS = r"""
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int thrice(int x) { return 3 * x; }
__device__ int (*chosen)(int) = thrice;
extern "C" __global__ void choose() { chosen = twice; }
extern "C" __global__ void apply(int* v) { v[0] = chosen(5); }
"""
HEAD = r".version 8.0\n.target sm_90\n.address_size 64\n"
PROGRAM = """
import ctypes, os, sys
import numpy as np
from cuda.bindings import driver, nvrtc

def check(answer):
    if answer[0].value:
        raise SystemExit(f"error {answer[0].value}")
    return answer[1] if len(answer) == 2 else answer[1:]

check(driver.cuInit(0))
device = check(driver.cuDeviceGet(0))
context = check(driver.cuDevicePrimaryCtxRetain(device))
check(driver.cuCtxSetCurrent(context))
module = check(driver.cuModuleLoad(os.environ["KERNELS"].encode()))

def launch(name, threads, *values):
    function = check(driver.cuModuleGetFunction(module, name.encode()))
    kinds = {int: ctypes.c_int, float: ctypes.c_float, driver.CUdeviceptr: ctypes.c_void_p}
    types = tuple(kinds[type(value)] for value in values)
    numbers = tuple(int(value) if isinstance(value, driver.CUdeviceptr) else value for value in values)
    return driver.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, 0, (numbers, types), 0)

"""


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The PTX of the kernels."""
    path = tmp_path_factory.mktemp("kernels") / "kernels.cu"
    path.write_text(KERNELS, encoding="utf-8")
    names = ("scale", "overrun", "race", "ranks", "copy", "forever", "count", "allocate", "store")
    return Path(programs.compile(Source(str(path), kernels=names, arch="sm_90")).ptx)


class Program:
    """A program in Python with the kernels, and what `gpuregress exec` makes of it.

    Args:
        folder: for its file, its report and its log.
        kernels: the PTX.
    """

    def __init__(self, folder: Path, kernels: Path) -> None:
        self.path, self.report_path, self.log_path = folder / "program.py", folder / "report.json", folder / "log"
        self.environment = {**os.environ, "KERNELS": str(kernels)}

    def command(self, body: str, *options: str) -> list[str]:
        """The command that runs a body behind the preamble."""
        self.path.write_text(PROGRAM + body, encoding="utf-8")
        files = ("--report", str(self.report_path), "--log", str(self.log_path))
        return [sys.executable, "-m", "gpuregress", "exec", *files, *options, "--", sys.executable, str(self.path)]

    def run(self, body: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        command = self.command(body, *options)
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    @property
    def incidents(self) -> list[dict[str, object]]:
        """Those of the report."""
        return list(json.loads(self.report_path.read_text(encoding="utf-8"))["incidents"])


@pytest.fixture
def program(tmp_path: Path, kernels: Path) -> Program:
    """A program in a folder of its own."""
    return Program(tmp_path, kernels)


def test_a_program_runs_and_keeps_its_exit_code(program: Program) -> None:
    done = program.run("""
name = check(driver.cuDeviceGetName(64, device)).rstrip(b"\\0").decode()
values = np.arange(32, dtype=np.float32)
memory = check(driver.cuMemAlloc(values.nbytes))
check(driver.cuMemcpyHtoD(memory, values.ctypes.data, values.nbytes))
check(launch("scale", 32, memory, 2.0, 31))
check(driver.cuMemcpyDtoH(values.ctypes.data, memory, values.nbytes))
check(launch("_Z5countv", 2))
address, size = check(driver.cuModuleGetGlobal(module, b"counter"))
counter = np.zeros(1, np.int32)
check(driver.cuMemcpyDtoH(counter.ctypes.data, address, size))
print(name, values[30], values[31], counter[0])
sys.exit(7)
""")
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout.splitlines()[0].startswith("counted ")
    # Nothing that this device prints or measures can be taken for a card's.
    assert "virtual" in done.stdout
    assert done.stdout.splitlines()[-1].endswith(" 60.0 31.0 7")
    log = launch_log.read(program.log_path)
    begins = [event for event in log.events if isinstance(event, LaunchBegin)]
    assert [begin.call for begin in begins] == [
        "scale<<<(1,1,1),(32,1,1),0>>>(cuMemAlloc #1=<128>, 2, 31)",
        "count<<<(1,1,1),(2,1,1),0>>>()",
    ]
    assert sum(isinstance(event, LaunchEnd) for event in log.events) == 2


def test_kernels_of_a_module_share_its_variables_and_functions(program: Program, tmp_path: Path) -> None:
    source = tmp_path / "by_address.cu"
    source.write_text(BY_ADDRESS, encoding="utf-8")
    program.environment["KERNELS"] = programs.compile(
        Source(str(source), kernels=("choose", "apply"), arch="sm_90")
    ).ptx
    done = program.run("""
memory = check(driver.cuMemAlloc(4))
value = np.zeros(1, np.int32)
for _ in range(2):
    check(launch("apply", 1, memory))
    check(driver.cuMemcpyDtoH(value.ctypes.data, memory, 4))
    print(value[0])
    check(launch("choose", 1))
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "15\n10\n", "")


def test_a_kernel_that_cannot_run_here_leaves_the_others(program: Program, tmp_path: Path) -> None:
    text = Path(program.environment["KERNELS"]).read_text(encoding="utf-8")
    unknown = ".visible .entry unknown() { .reg .pred %p<2>; .reg .b64 %rd<2>; istypep.texref %p1, %rd1; ret; }"
    (tmp_path / "unknown.ptx").write_text(f"{text}\n{unknown}\n", encoding="utf-8")
    program.environment["KERNELS"] = str(tmp_path / "unknown.ptx")
    done = program.run("""
check(launch("scale", 32, check(driver.cuMemAlloc(128)), 2.0, 32))
print(driver.cuModuleGetFunction(module, b"unknown")[0].value)
""")
    assert (done.returncode, done.stdout) == (3, "801\n"), done.stderr
    assert [incident["kind"] for incident in program.incidents] == ["unsupported"]


def test_a_fault_is_sticky_and_decides_the_exit_code(program: Program) -> None:
    done = program.run("""
small = check(driver.cuMemAlloc(16))
print([*launch("overrun", 8, small)][0].value, driver.cuCtxSynchronize()[0].value, driver.cuMemAlloc(16)[0].value)
""")
    assert done.returncode == 3
    assert done.stdout == "0 700 700\n"
    assert "out-of-bounds write of 4 bytes at cuMemAlloc #1[16]" in done.stderr
    assert "kernels.cu:6" in done.stderr
    (incident,) = program.incidents
    assert (incident["kind"], incident["what"], incident["kernel"]) == ("fault", "out-of-bounds", "overrun")
    (fault,) = [event for event in launch_log.read(program.log_path).events if isinstance(event, LaunchFault)]
    assert fault.number == 1


def test_no_fault_is_lost_where_a_program_does_not_wait(program: Program) -> None:
    done = program.run("""
function = check(driver.cuModuleGetFunction(module, b"overrun"))
large, small = (int(check(driver.cuMemAlloc(size))) for size in (32, 16))
for memory in [*[large] * 1000, small]:
    check(driver.cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, 0, ((memory,), (ctypes.c_void_p,)), 0))
os._exit(0)
""")
    assert done.returncode == 3


@pytest.mark.parametrize(
    ("body", "checks", "what"),
    [
        ('check(launch("race", 64, check(driver.cuMemAlloc(4))))', "races", "race"),
        (
            'check(launch("copy", 4, check(driver.cuMemAlloc(16)), check(driver.cuMemAlloc(16))))',
            "all",
            "uninitialized",
        ),
        (
            """
source = check(driver.cuMemAlloc(16))
check(driver.cuMemcpyHtoD(source, np.zeros(3, np.int32).ctypes.data, 12))
check(launch("copy", THREADS, check(driver.cuMemAlloc(16)), source))
""",
            "uninitialized",
            "uninitialized",
        ),
    ],
)
def test_findings_decide_the_exit_code(program: Program, body: str, checks: str, what: str) -> None:
    done = program.run(body.replace("THREADS", "4"), "--check", checks)
    assert done.returncode == 3, done.stderr
    assert {incident["what"] for incident in program.incidents} == {what}
    if "THREADS" in body:  # What the program has copied there counts as written, and no more.
        assert program.run(body.replace("THREADS", "3"), "--check", checks).returncode == 0


def test_what_checks_do_not_watch_is_noted_and_leaves_the_exit_code(program: Program) -> None:
    body = """
check(launch("allocate", 1))
check(launch("store", 1, 7))
check(launch("store", 1, 8))
check(driver.cuCtxSynchronize())
"""
    done = program.run(body, "--check", "races")
    assert done.returncode == 0, done.stderr
    (note,) = program.incidents
    assert (note["kind"], note["what"], note["kernel"]) == ("note", "unwatched", "store")
    assert "store: races of memory from malloc are not watched" in done.stderr
    assert program.run(body).stderr == ""


def test_a_missing_function_decides_the_exit_code(program: Program) -> None:
    done = program.run("print(driver.cuIpcGetMemHandle(0)[0].value)")
    assert (done.returncode, done.stdout) == (4, "801\n")
    assert done.stderr.startswith("gpuregress: not supported: cuIpcGetMemHandle\n")
    assert [incident["what"] for incident in program.incidents] == ["cuIpcGetMemHandle"]


def test_the_findings_of_children_count(program: Program) -> None:
    program.path.write_text(PROGRAM + 'launch("overrun", 8, check(driver.cuMemAlloc(16)))', encoding="utf-8")
    files = ("--report", str(program.report_path))
    shell = f"{sys.executable} {program.path}; {sys.executable} -c 'import os; os.wait'; exit 0"
    command = [sys.executable, "-m", "gpuregress", "exec", *files, "--", "bash", "-c", shell]
    done = subprocess.run(command, env=program.environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3, done.stderr
    assert len(program.incidents) == 1


def test_memory_of_every_kind(program: Program) -> None:
    done = program.run("""
managed = check(driver.cuMemAllocManaged(64, 1))
pinned = check(driver.cuMemHostAlloc(64, 0))
here = np.ctypeslib.as_array((ctypes.c_int * 16).from_address(int(managed)))
there = np.ctypeslib.as_array((ctypes.c_int * 16).from_address(pinned))
here[:] = np.arange(16)
check(launch("copy", 16, driver.CUdeviceptr(pinned), managed))
assert there.tolist() == list(range(16))
assert int(check(driver.cuMemHostGetDevicePointer(pinned, 0))) == pinned
mine = np.full(16, 7, np.int32)
check(driver.cuMemHostRegister(mine.ctypes.data, mine.nbytes, 0))
check(launch("copy", 16, check(driver.cuMemHostGetDevicePointer(mine.ctypes.data, 0)), managed))
assert mine.tolist() == list(range(16))
check(driver.cuMemHostUnregister(mine.ctypes.data))
memory = check(driver.cuMemAlloc(64))
data = np.zeros(17, np.int32).ctypes.data
assert driver.cuMemcpyHtoD(memory, data, 65)[0].value == 1
assert driver.cuMemcpyHtoD(driver.CUdeviceptr(int(memory) + 4), data, 64)[0].value == 1
assert driver.cuMemcpyHtoD(driver.CUdeviceptr(int(memory) - 4), data, 4)[0].value == 1
check(driver.cuMemFree(memory))
assert driver.cuMemcpyHtoD(memory, data, 4)[0].value == 1
child = os.fork()
if child == 0:
    os._exit(driver.cuMemAlloc(64)[0].value)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
check(launch("copy", 16, managed, driver.CUdeviceptr(pinned)))
launch("overrun", 17, managed)
""")
    assert "out-of-bounds write of 4 bytes at cuMemAllocManaged #1[64]" in done.stderr
    assert (done.returncode, done.stdout) == (3, "")


CLUSTERS = """
function = check(driver.cuModuleGetFunction(module, b"ranks"))
memory = check(driver.cuMemAlloc(64))
config = driver.CUlaunchConfig()
config.gridDimX, config.gridDimY, config.gridDimZ = 16, 1, 1
config.blockDimX = config.blockDimY = config.blockDimZ = 1
attribute = driver.CUlaunchAttribute()
attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION

def launch_ranks(*size):
    attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = size
    config.attrs, config.numAttrs = [attribute], 1
    return driver.cuLaunchKernelEx(config, function, ((int(memory),), (ctypes.c_void_p,)), 0)[0].value

def ranks():
    values = np.zeros(16, np.uint32)
    check(driver.cuMemcpyDtoH(values.ctypes.data, memory, 64))
    return values.tolist()

"""


def test_a_cluster_that_only_the_launch_tells(program: Program) -> None:
    done = program.run(CLUSTERS + "print(launch_ranks(4, 0, 1), launch_ranks(4, 1, 1), ranks())")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"1 0 {4 * [0, 1, 2, 3]}\n", "")


def test_clusters_of_more_than_eight_blocks_need_the_attribute(program: Program) -> None:
    done = program.run(f"""{CLUSTERS}
print(launch_ranks(16, 1, 1))
attribute_id = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
check(driver.cuFuncSetAttribute(function, attribute_id, 1))
print(launch_ranks(16, 1, 1), ranks())
""")
    assert (done.returncode, done.stdout) == (0, f"1\n0 {list(range(16))}\n")
    assert [incident["kind"] for incident in program.incidents] == ["refused"]  # A GPU refuses the first one, too.


@pytest.mark.parametrize(
    ("image", "kind", "code"),
    [
        (r'b"\x7fELF" + bytes(60)', "missing", 4),
        ('b".version 9.0\\n.target sm_90\\n.address_size 64\\n.future;"', "missing", 4),
        ('b"no image"', "refused", 0),
        (f'b"{HEAD}.entry k() {{ .reg .b64 %rd<3>; add.f32 %rd1, %rd1, %rd2; ret; }}"', "refused", 0),
    ],
)
def test_an_image_that_only_the_virtual_gpu_refuses_is_no_success(
    program: Program, image: str, kind: str, code: int
) -> None:
    done = program.run(f"assert driver.cuModuleLoadData({image} + bytes(1))[0].value")
    assert done.returncode == code, done.stderr
    assert [(incident["kind"], incident["what"]) for incident in program.incidents] == [(kind, "image")]


GRAPHS = """
stream, other = (check(driver.cuStreamCreate(flag)) for flag in (0, 1))
fork, join = (check(driver.cuEventCreate(0)) for _ in range(2))
modes = driver.CUstreamCaptureMode
memory = check(driver.cuMemAlloc(16))
host = np.zeros(4, np.float32)

def scale(stream, factor, threads=4):
    function = check(driver.cuModuleGetFunction(module, b"scale"))
    values = (int(memory), factor, 4), (ctypes.c_void_p, ctypes.c_float, ctypes.c_int)
    return driver.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, values, 0)

def begin(mode=modes.CU_STREAM_CAPTURE_MODE_GLOBAL):
    check(driver.cuStreamBeginCapture(stream, mode))

"""


def test_a_captured_graph_runs_when_it_is_launched(program: Program) -> None:
    done = program.run(f"""{GRAPHS}
begin()
check(driver.cuMemsetD32Async(memory, 0x3F800000, 4, stream))
check(driver.cuEventRecord(fork, stream))
check(driver.cuStreamWaitEvent(other, fork, 0))
check(scale(other, 3.0))
check(driver.cuEventRecord(join, other))
check(driver.cuStreamWaitEvent(stream, join, 0))
check(driver.cuMemcpyDtoHAsync(host.ctypes.data, memory, 16, stream))
print(check(driver.cuStreamIsCapturing(other)).value, end=" ")
graph = check(driver.cuStreamEndCapture(stream))
print(check(driver.cuStreamIsCapturing(other)).value, host[0], check(driver.cuGraphGetNodes(graph, 8))[1])
instance = check(driver.cuGraphInstantiate(graph, 0))
check(driver.cuGraphDestroy(graph))
for _ in range(2):
    check(driver.cuGraphLaunch(instance, stream))
    check(driver.cuStreamSynchronize(stream))
    print(host)
begin()
own = check(driver.cuMemAllocAsync(16, stream))
check(driver.cuMemsetD32Async(own, 0x40000000, 4, stream))
check(driver.cuMemcpyDtoHAsync(host.ctypes.data, own, 16, stream))
check(driver.cuMemFreeAsync(own, stream))
update = check(driver.cuStreamEndCapture(stream))
print(driver.cuGraphExecUpdate(instance, update)[0].value)
other_instance = check(driver.cuGraphInstantiate(update, 0))
check(driver.cuGraphDestroy(update))
check(driver.cuGraphLaunch(other_instance, stream))
check(driver.cuStreamSynchronize(stream))
attribute = driver.CUgraphMem_attribute.CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT
print(host, int(check(driver.cuDeviceGetGraphMemAttribute(device, attribute))), end=" ")
check(driver.cuGraphExecDestroy(other_instance))
print(int(check(driver.cuDeviceGetGraphMemAttribute(device, attribute))))
""")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1 0 0.0 3\n[3. 3. 3. 3.]\n[3. 3. 3. 3.]\n910\n[2. 2. 2. 2.] 16 0\n"
    assert sum(isinstance(event, LaunchEnd) for event in launch_log.read(program.log_path).events) == 2


def test_calls_that_end_a_capture_without_a_graph(program: Program) -> None:
    """The numbers are those of an H200."""
    done = program.run(f"""{GRAPHS}
def results(*calls):
    begin()
    numbers = [call()[0].value for call in calls]
    return *numbers, driver.cuStreamEndCapture(stream)[0].value

print(
    results(lambda: driver.cuStreamSynchronize(stream), lambda: scale(stream, 1.0)),
    results(lambda: driver.cuMemcpyDtoH(host.ctypes.data, memory, 16)),
    results(lambda: scale(stream, 1.0, 2048), lambda: scale(stream, 1.0)),
    results(lambda: scale(0, 1.0)),
    results(lambda: driver.cuStreamSynchronize(other)),
    results(lambda: driver.cuMemAlloc(16)),
    results(lambda: driver.cuEventRecord(fork, stream), lambda: driver.cuStreamWaitEvent(other, fork, 0)),
    results(
        lambda: driver.cuEventRecord(fork, stream),
        lambda: driver.cuStreamWaitEvent(other, fork, 0),
        lambda: scale(other, 1.0),
    ),
    results(lambda: driver.cuStreamEndCapture(other)),
    check(driver.cuEventRecord(join, other)),
    results(lambda: driver.cuStreamWaitEvent(stream, join, 0)),
)
""")
    assert done.returncode == 0, done.stderr
    assert "block 2048" in done.stderr
    assert done.stdout == (
        "(900, 901, 901) (906, 901) (1, 901, 901) (906, 901) (900, 901) (900, 901) (0, 0, 0) (0, 0, 0, 904) "
        "(401, 0) () (905, 901)\n"
    )


def test_pools_of_managed_and_host_memory(program: Program) -> None:
    done = program.run("""
stream = check(driver.cuStreamCreate(1))
kinds, places = driver.CUmemAllocationType, driver.CUmemLocationType
managed = kinds.CU_MEM_ALLOCATION_TYPE_MANAGED, places.CU_MEM_LOCATION_TYPE_DEVICE
pinned = kinds.CU_MEM_ALLOCATION_TYPE_PINNED, places.CU_MEM_LOCATION_TYPE_HOST
for kind, place in (managed, pinned):
    properties = driver.CUmemPoolProps()
    properties.allocType, properties.location.type = kind, place
    pool = check(driver.cuMemPoolCreate(properties))
    memory = check(driver.cuMemAllocFromPoolAsync(16, pool, stream))
    values = np.frombuffer((ctypes.c_float * 4).from_address(int(memory)), np.float32)
    values[:] = range(4)
    check(launch("scale", 4, memory, 2.0, 4))
    print(values)
    check(driver.cuMemFreeAsync(memory, stream))
    check(driver.cuMemPoolDestroy(pool))
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, 2 * "[0. 2. 4. 6.]\n", "")


def test_a_static_runtime_is_recognised_before_the_start(tmp_path: Path) -> None:
    """A file with kernels that names no libcudart, as `nvcc` links it unless it is told otherwise."""
    source, path = tmp_path / "program.c", tmp_path / "program"
    source.write_text(
        '__attribute__((section(".nv_fatbin"))) const char kernels[64] = {1};\n'
        "int main(void) { return kernels[0] + 4; }\n",
        encoding="utf-8",
    )
    subprocess.run(["cc", str(source), "-o", str(path)], check=True)
    command = [sys.executable, "-m", "gpuregress", "exec", "--", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "-cudart shared" in done.stderr
    assert "CUDA_RUNTIME_LIBRARY=Shared" in done.stderr


def test_a_signal_ends_the_program_as_in_a_shell(program: Program) -> None:
    assert program.run("import signal; os.kill(os.getpid(), signal.SIGTERM)").returncode == 128 + signal.SIGTERM


def servers_of(client: int) -> list[int]:
    """Ids of the server processes of a process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"gpuregress.programs.server" in b" ".join(words) and str(client).encode() in words:
            found.append(int(path.parent.name))
    return found


def _start(program: Program, body: str) -> tuple[subprocess.Popen[str], int]:
    command = program.command("print(os.getpid(), flush=True)\n" + body)
    process = subprocess.Popen(
        command,
        env=program.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_a_killed_program_leaves_no_server(program: Program) -> None:
    process, client = _start(program, "memory = check(driver.cuMemAlloc(16)); launch('forever', 1, memory)")
    while not program.log_path.exists() or "begin" not in program.log_path.read_text(encoding="utf-8"):
        time.sleep(0.02)
    assert len(servers_of(client)) == 1
    os.kill(client, signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGKILL
    while servers_of(client):  # The test's deadline fails it.
        time.sleep(0.02)
    assert launch_log.read(program.log_path).events[-1].number == 1


def test_a_killed_server_ends_the_use_of_the_device(program: Program) -> None:
    process, client = _start(program, "sys.stdin.readline()\nprint(driver.cuMemAlloc(16)[0].value)")
    (server,) = servers_of(client)
    os.kill(server, signal.SIGKILL)
    out, err = process.communicate("\n", timeout=30)
    assert (process.returncode, out) == (4, "999\n")
    assert "the virtual GPU's server process has ended" in err


def test_the_table_of_functions_is_that_of_the_headers() -> None:
    table = declared_functions.TABLE.read_text(encoding="utf-8")
    assert table == declared_functions.table(declared_functions.folder())
