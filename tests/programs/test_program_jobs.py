"""Whole programs as jobs: run, accept, compare, and what is said when they fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.records import Source
from gpuregress.store import launch_log
from gpuregress.store.launch_log import LaunchBegin
from gpuregress.toolchain import programs
from tests.workshop import RUN, Workshop

KERNELS = r"""
__device__ int counter = 5;
extern "C" __global__ void scale(float* v, float f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] *= f;
}
extern "C" __global__ void overrun(int* v) { v[threadIdx.x] = 1; }
extern "C" __global__ void race(int* v) { v[0] = threadIdx.x; }
extern "C" __global__ void forever(volatile int* v) { while (v[0] == 0) v[1]++; }
extern "C" __global__ void count() { atomicAdd(&counter, 1); }
"""
VARIABLES = r"""
__device__ int counter = 5, counter_2 = 6, alloc1 = 7;
namespace other { __device__ int counter = 8; }
extern "C" __global__ void sum(int* v) { v[0] = counter + counter_2 + alloc1 + other::counter; }
"""
START = """
import ctypes, os, sys, time
import numpy as np
from cuda.bindings import driver

def check(answer):
    if answer[0].value:
        raise SystemExit(f"error {answer[0].value}")
    return answer[1] if len(answer) == 2 else answer[1:]

n = int(sys.argv[1])
check(driver.cuInit(0))
device = check(driver.cuDeviceGet(0))
check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(device))))
module = check(driver.cuModuleLoad(b"kernels.ptx"))

def launch(name, threads, *values):
    function = check(driver.cuModuleGetFunction(module, name.encode()))
    kinds = {int: ctypes.c_int, float: ctypes.c_float, driver.CUdeviceptr: ctypes.c_void_p}
    types = tuple(kinds[type(value)] for value in values)
    numbers = tuple(int(value) if isinstance(value, driver.CUdeviceptr) else value for value in values)
    return check(driver.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, 0, (numbers, types), 0))

def upload(values):
    memory = check(driver.cuMemAlloc(values.nbytes))
    check(driver.cuMemcpyHtoD(memory, values.ctypes.data, values.nbytes))
    return memory

"""
SCALE = """
spare = check(driver.cuMemAlloc(8))
memory = upload(np.arange(n, dtype=np.float32))
launch("scale", n, memory, 2.0, n)
launch("count", 2)
check(driver.cuCtxSynchronize())
check(driver.cuMemFree(memory))
print("done", n, os.environ["MODE"])
"""
JOB = """
program: python scripts/suite.py {n}
parameters: {n: [10, 20]}
dtypes: {alloc2: float32, counter: int32}
compare: {alloc2: {rtol: 1.0e-5}}
environment: {MODE: "quick{n}"}
"""


@pytest.fixture(autouse=True)
def _own_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `python` be the interpreter of the tests, also where its environment is not activated."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The PTX of the kernels."""
    path = tmp_path_factory.mktemp("kernels") / "suite.cu"
    path.write_text(KERNELS, encoding="utf-8")
    names = ("scale", "overrun", "race", "forever", "count")
    program = programs.compile(Source(str(path), kernels=names, options=("-lineinfo",)))
    return Path(program.ptx).read_bytes()


@pytest.fixture
def suite(tmp_path: Path, kernels: bytes) -> Workshop:
    """A project with one program and its job."""
    shop = Workshop(tmp_path)
    (tmp_path / "kernels.ptx").write_bytes(kernels)
    shop.write("scripts/suite.py", START + SCALE)
    shop.write("configs/suite.yaml", JOB)
    return shop


def change(shop: Workshop, before: str, after: str) -> None:
    path = shop.root / "scripts/suite.py"
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def body(shop: Workshop, text: str, job: str = "") -> None:
    """Let the program do something else, in one case."""
    shop.write("scripts/suite.py", START + text)
    shop.write("configs/suite.yaml", "program: [python, scripts/suite.py, 4]\n" + job)


def cases(shop: Workshop) -> list[dict[str, Any]]:
    document = json.loads((shop.root / "runs/latest/results.json").read_text(encoding="utf-8"))
    return list(document["cases"])


def dump(shop: Workshop, case: str, buffer: str) -> list[str]:
    (path,) = (shop.root / "runs/latest/dumps" / case).glob(f"{buffer}.*")
    return path.read_text(encoding="utf-8").splitlines()


def test_a_program_is_run_logged_dumped_accepted_and_compared(suite: Workshop) -> None:
    assert suite.call(*RUN).exit_code == 1
    assert [case["verdict"] for case in cases(suite)] == ["new", "new"]
    assert dump(suite, "suite/n=10", "alloc2") == ["# gpuregress 1 float32 [10]", *(f"{2.0 * i}" for i in range(10))]
    assert dump(suite, "suite/n=10", "counter") == ["# gpuregress 1 int32 [1]", "7"]
    assert [case["output"] for case in cases(suite)] == ["done 10 quick10\n", "done 20 quick20\n"]
    log = launch_log.read(suite.root / "runs/latest/launch.log")
    begins = [event for event in log.events if isinstance(event, LaunchBegin)]
    assert [(begin.case, begin.call) for begin in begins] == [
        ("suite/n=10", "scale<<<(1,1,1),(10,1,1),0>>>(alloc2=<40>, 2, 10)"),
        ("suite/n=10", "count<<<(1,1,1),(2,1,1),0>>>()"),
        ("suite/n=20", "scale<<<(1,1,1),(20,1,1),0>>>(alloc2=<80>, 2, 20)"),
        ("suite/n=20", "count<<<(1,1,1),(2,1,1),0>>>()"),
    ]
    assert len({begin.number for begin in begins}) == 4
    refused = suite.fails(4, "accept")  # `alloc1` was never written
    assert "alloc1" in refused
    assert "--unwritten-ok" in refused
    assert suite.call("accept", "--unwritten-ok", "spare").exit_code == 0
    assert suite.call(*RUN).exit_code == 0
    change(suite, "memory, 2.0, n)", "memory, 2.0, n - 1)")
    result = suite.call(*RUN)
    assert result.exit_code == 1
    assert [case["reason"] for case in cases(suite)] == ["alloc2: 1 of 10 differ", "alloc2: 1 of 20 differ"]
    assert re.search(r"suite/n=10 +alloc2 +1 of 10 +\[9\]: 9\.0, was 18\.0", result.stdout)


def test_launches_are_timed_and_counted_as_those_of_other_jobs(suite: Workshop) -> None:
    text = """
memory = upload(np.ones(n, np.float32))
for _ in range(2):
    launch("contents", n, memory, 1.0, n)
"""
    ptx = suite.root / "kernels.ptx"  # "contents" is a key of another record, too
    ptx.write_bytes(ptx.read_bytes().replace(b"scale", b"contents"))
    body(suite, text, "repeat: 2\ndump: [alloc1]\nlimits: {instructions: 1.5}\n")
    assert suite.call(*RUN).exit_code == 1
    (case,) = cases(suite)
    assert [launch["number"] for launch in case["launches"][:2]] == [1, 2]
    assert {launch["kernel"] for launch in case["launches"]} == {"contents"}
    assert len(case["launches"]) == 4  # of two runs
    assert all(launch["elapsed_ms"] > 0 for launch in case["launches"])
    counted = case["instructions"]
    assert counted.keys() == {"contents"}
    assert suite.call("accept").exit_code == 0
    change(suite, "range(2)", "range(4)")
    assert suite.call(*RUN).exit_code == 1
    (case,) = cases(suite)
    assert case["instructions"] == {"contents": 2 * counted["contents"]}
    assert case["timing_comparison"]["status"] == "slower"
    assert "2 times as many instructions since" in suite.call("history", "suite").stdout


def test_the_program_is_shown_and_checked(suite: Workshop) -> None:
    assert suite.call("check").stdout == "1 job, 2 cases: no errors\n"
    shown = suite.call("show", "suite/n=20").stdout
    assert "program   python scripts/suite.py 20\n" in shown
    assert f"source    {suite.root}/scripts/suite.py, revision " in shown
    assert "compare   alloc2: |actual - expected| <= 0 + 1e-05" in shown
    assert [entry["case"] for entry in json.loads(suite.call("list", "--json").stdout)] == ["suite/n=10", "suite/n=20"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("program: ./build/suite", "program: program not found: {root}/build/suite; build it first"),
        ("program: there-is-none 4", "program: no program 'there-is-none' is on the PATH"),
        ("program: python scripts/suite.py {m}", "program: .*unknown .*'m'"),
        ("program: python 'scripts", "program: cannot be split into words .*: give a list"),
        ("program: python a.py\nsource: a.cu", "source: is for jobs with launches, and this one has a program"),
        ("program: python a.py\nbuffers: {x: {dtype: int32, shape: [1]}}", "buffers: .*as dtypes: {{alloc1: float32}}"),
        ("program: python a.py\nsources: [no/*.cu]", r"sources\[0\]: no file is called {root}/configs/no/\*\.cu"),
        ("program: python a.py\ncompare: {alloc*: {ulp: 2}}", r"compare\.alloc\*\.ulp: .*uint8.*`dtypes`"),
        ("program: python a.py\nchecks: {alloc1: [finite]}", r"checks\.alloc1: .*device: \[races\]"),
        (
            "program: python a.py\nenvironment: {LD_LIBRARY_PATH: x}",
            "environment.LD_LIBRARY_PATH: is set by gpuregress",
        ),
        ("program: python a.py\ndevices: [cuda]", "devices: .*virtual GPU alone"),
        ("program: python a.py\nexpect: {fault: race, kernel: k}", r"expect\.kernel: .*before it runs"),
        ("program: python a.py\nlimits: {memory: 1GiB}", r"limits\.memory: is for launches"),
        ("program: python a.py\nrepeat: {seeds: 3}", r"repeat\.seeds: a program chooses its own inputs"),
        ("program: []", "program: expected a command"),
        ("dumps: exit", "dumps: is for a job with `program`"),
    ],
)
def test_a_wrong_job_is_explained_at_its_key(suite: Workshop, text: str, message: str) -> None:
    suite.write("configs/suite.yaml", f"{text}\n")
    pattern = rf"suite\.yaml:\d+: {message.format(root=re.escape(str(suite.root)))}"
    assert re.search(pattern, suite.fails(2, "check")), suite.fails(2, "check")


def test_a_fault_names_kernel_buffer_thread_and_line(suite: Workshop) -> None:
    body(suite, 'launch("overrun", 8, check(driver.cuMemAlloc(16)))')
    assert suite.call(*RUN).exit_code == 3
    (case,) = cases(suite)
    assert case["verdict"] == "fault"
    assert re.search(r"overrun: out-of-bounds.* alloc1\[16\].*thread \(4,0,0\).*suite\.cu:7.*launch 1", case["reason"])
    assert "fault 1 out-of-bounds" in (suite.root / "runs/latest/launch.log").read_text(encoding="utf-8")
    body(suite, 'launch("overrun", 8, check(driver.cuMemAlloc(16)))', "expect: {fault: out-of-bounds}\n")
    assert suite.call(*RUN).exit_code == 0


def test_indices_of_a_fault_count_elements_of_the_given_type(suite: Workshop) -> None:
    body(suite, 'launch("overrun", 8, check(driver.cuMemAlloc(16)))', "dtypes: {alloc*: int32}\n")
    assert suite.call(*RUN).exit_code == 3
    assert "alloc1[4] (alloc1 has 4)" in cases(suite)[0]["reason"]


def test_an_executable_that_is_older_than_its_sources_is_told(suite: Workshop) -> None:
    program = suite.write("build/suite", "#!/bin/sh\n")
    program.chmod(0o755)
    suite.write("src/suite.cu", "")
    suite.write("configs/suite.yaml", "program: ./build/suite\nsources: [../src/*.cu]\n")
    os.utime(program, (1, 1))
    assert f"suite: {program} is older than suite.cu: build it again" in suite.call("check").stderr
    os.utime(program)
    assert suite.call("check").stderr == ""


def test_dynamic_checks_find_a_race_in_a_program(suite: Workshop) -> None:
    body(suite, 'launch("race", 64, check(driver.cuMemAlloc(4)))')
    assert suite.call(*RUN).exit_code == 1
    assert suite.call(*RUN, "--check", "races").exit_code == 3
    assert "race" in cases(suite)[0]["reason"]
    body(suite, 'launch("race", 64, check(driver.cuMemAlloc(4)))', "checks: {device: [races]}\n")
    assert suite.call(*RUN).exit_code == 3


def test_a_race_between_streams_is_a_race_of_the_case(suite: Workshop) -> None:
    text = """
memory = upload(np.ones(4, np.float32))
function = check(driver.cuModuleGetFunction(module, b"scale"))
values = (int(memory), 2.0, 4), (ctypes.c_void_p, ctypes.c_float, ctypes.c_int)
for _ in range(2):
    stream = check(driver.cuStreamCreate(1))
    check(driver.cuLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, stream, values, 0))
"""
    body(suite, text, "checks: {device: [races]}\n")
    assert suite.call(*RUN).exit_code == 3
    assert re.match(r"race: scale: race between streams on alloc1\[byte 0\]", cases(suite)[0]["reason"])


def test_a_program_that_fails_shows_its_code_and_its_last_lines(suite: Workshop) -> None:
    body(suite, 'upload(np.ones(4))\nprint("the mean is off", file=sys.stderr)\nsys.exit(7)')
    result = suite.call(*RUN)
    assert result.exit_code == 3
    assert cases(suite)[0]["reason"] == "the program ended with exit code 7"
    assert "the mean is off" in result.stdout


def test_a_program_that_cannot_be_started_is_an_error_of_the_user(suite: Workshop) -> None:
    suite.write("configs/suite.yaml", "program: ./scripts/suite.py\n")  # it has no right to be executed
    assert suite.call(*RUN).exit_code == 3
    assert "suite.py cannot be started: Permission denied" in cases(suite)[0]["reason"]


def test_a_program_that_hangs_in_a_kernel_is_killed_at_its_limit(suite: Workshop) -> None:
    job = "limits: {timeout: 4}\n"
    body(suite, 'launch("forever", 1, upload(np.zeros(2, np.int32)))', job)
    assert suite.call(*RUN).exit_code == 3
    (case,) = cases(suite)
    assert case["verdict"] == "timeout"
    assert "killed at its limit of 4 s in forever<<<" in case["reason"]


def test_a_missing_function_is_an_error_of_the_harness(suite: Workshop) -> None:
    body(suite, "upload(np.ones(4))\ndriver.cuIpcGetMemHandle(0)")
    assert suite.call(*RUN).exit_code == 4
    assert "cuIpcGetMemHandle" in cases(suite)[0]["reason"]


def test_a_program_without_a_buffer_or_without_the_gpu_cannot_pass(suite: Workshop) -> None:
    body(suite, "", "dump: [alloc9]\n")
    assert suite.call(*RUN).exit_code == 3
    assert "no buffer alloc9" in cases(suite)[0]["reason"]
    suite.write("scripts/suite.py", "print('skipped')\n")
    assert suite.call(*RUN).exit_code == 3
    assert "no process of the program used the GPU" in cases(suite)[0]["reason"]


def test_each_synchronisation_after_a_launch_gives_a_numbered_set(suite: Workshop) -> None:
    text = """
memory = upload(np.arange(n, dtype=np.float32))
launch("scale", n, memory, 2.0, n)
check(driver.cuCtxSynchronize())
check(driver.cuCtxSynchronize())
launch("scale", n, memory, 3.0, n)
values = np.zeros(n, np.float32)
check(driver.cuMemcpyDtoH(values.ctypes.data, memory, values.nbytes))
"""
    job = "dumps: synchronize\ndump: [alloc*]\ndtypes: {alloc1: float32}\ncompare: {alloc1: {atol: 0.5}}\n"
    body(suite, text, job)
    assert suite.call(*RUN).exit_code == 1
    assert [buffer["name"] for buffer in cases(suite)[0]["buffers"]] == ["sync1_alloc1", "sync2_alloc1"]
    assert dump(suite, "suite", "sync1_alloc1")[1:] == ["0.0", "2.0", "4.0", "6.0"]
    assert dump(suite, "suite", "sync2_alloc1")[1:] == ["0.0", "6.0", "12.0", "18.0"]
    assert suite.call("accept").exit_code == 0
    body(suite, text.replace("2.0, n)", "2.1, n)"), job)  # 0.3 too much after the first launch, 0.9 after the second
    assert suite.call(*RUN).exit_code == 1
    statuses = {buffer["name"]: buffer["verdict"] for buffer in cases(suite)[0]["buffers"]}
    assert statuses == {"sync1_alloc1": "pass", "sync2_alloc1": "differ"}


def test_buffers_of_a_second_process_have_names_of_their_own(suite: Workshop) -> None:
    text = """
if len(sys.argv) == 2:
    import subprocess
    memory = upload(np.ones(4, np.float32))
    subprocess.run([sys.executable, __file__, "2", "child"], check=True)
else:
    launch("scale", n, upload(np.ones(2, np.float32)), 3.0, n)
"""
    body(suite, text, "dtypes: {'*alloc*': float32}\ndump: ['*alloc*']\n")
    assert suite.call(*RUN).exit_code == 1
    assert dump(suite, "suite", "alloc1")[1:] == ["1.0"] * 4
    assert dump(suite, "suite", "p2_alloc1")[1:] == ["3.0"] * 2
    begin = launch_log.read(suite.root / "runs/latest/launch.log").events[0]
    assert isinstance(begin, LaunchBegin)
    assert begin.call == "scale<<<(1,1,1),(2,1,1),0>>>(p2_alloc1=<8>, 3, 2)"


def test_processes_are_counted_as_they_were_started(suite: Workshop) -> None:
    text = """
import subprocess, sys, time
from pathlib import Path
if len(sys.argv) == 2:
    words = [sys.executable, __file__, "4"]
    sys.exit(any([child.wait() for child in [subprocess.Popen([*words, name]) for name in ("slow", "quick")]]))
while sys.argv[2] == "slow" and not Path("done").exists():
    time.sleep(0.01)
"""
    done = 'upload(np.full(2, len(sys.argv[2]), np.int32))\nPath("done").touch()\n'
    shop = suite
    shop.write("scripts/suite.py", text + START + done)
    job = "program: [python, scripts/suite.py, 4]\ndtypes: {'*alloc*': int32}\n"
    shop.write("configs/suite.yaml", job)
    assert shop.call(*RUN).exit_code == 1
    assert dump(shop, "suite", "alloc1")[1:] == ["4"] * 2
    assert dump(shop, "suite", "p2_alloc1")[1:] == ["5"] * 2
    shop.write("configs/suite.yaml", f"{job}dump: [p2_alloc1]\n")
    assert shop.call(*RUN).exit_code == 1
    assert [buffer["name"] for buffer in cases(shop)[0]["buffers"]] == ["p2_alloc1"]
    assert dump(shop, "suite", "p2_alloc1")[1:] == ["5"] * 2


def test_a_virtual_gpu_that_was_killed_is_no_result(suite: Workshop) -> None:
    text = """
check(driver.cuMemFree(upload(np.ones(2, np.float32))))
upload(np.ones(4, np.float32))
from tests.programs.test_exec import servers_of
for server in servers_of(os.getpid()):
    os.kill(server, 9)
    while os.path.exists(f"/proc/{server}"):
        time.sleep(0.01)
"""
    body(suite, text, f"environment: {{PYTHONPATH: {Path(__file__).parents[2]}}}\n")
    assert suite.call(*RUN).exit_code == 4
    assert "suite.py" in cases(suite)[0]["reason"]
    assert "was killed" in cases(suite)[0]["reason"]


def test_a_program_that_does_not_wait_for_its_launch_is_an_error(suite: Workshop) -> None:
    text = """
import threading
memory = upload(np.zeros(4, np.int32))
context = check(driver.cuCtxGetCurrent())

def work():
    driver.cuCtxSetCurrent(context)
    launch("forever", 1, memory)

threading.Thread(target=work, daemon=True).start()
while download(memory) == 0:
    time.sleep(0.01)
os._exit(0)
"""
    seen = """
from pathlib import Path
def download(_memory):
    logs = Path("runs").glob("*/launch.log")
    return any("forever<<<" in log.read_text() for log in logs)
"""
    body(suite, seen + text)
    assert suite.call(*RUN).exit_code == 3
    assert cases(suite)[0]["reason"].startswith("forever still ran when the program ended")


@pytest.mark.parametrize("start", ["sleep 600", "setsid sleep 600"])
@pytest.mark.parametrize("is_killed", [True, False])
def test_a_killed_run_and_a_limit_leave_no_process_of_a_program(
    suite: Workshop, start: str, *, is_killed: bool
) -> None:
    suite.write("scripts/suite.sh", f"{start} & echo $! > started; mv started child; wait\n")
    suite.write(
        "configs/suite.yaml", f"program: [sh, scripts/suite.sh]\nlimits: {{timeout: {600 if is_killed else 1}}}\n"
    )
    child, temporary = suite.root / "child", suite.root / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "gpuregress", *RUN]
    with subprocess.Popen(command, cwd=suite.root, env=environment) as process:
        while not child.exists():  # The test's deadline fails it.
            time.sleep(0.01)
        if is_killed:
            process.kill()
    while Path("/proc", child.read_text().strip()).exists() or [*temporary.glob("gpuregress-scratch-*/lib")]:
        time.sleep(0.01)


NO_FOLDER = """
import pathlib, tempfile
from gpuregress.execution.runner import whole_programs
from gpuregress.foundation.records import WholeProgram
from tests import fakes
tempfile.tempdir = "/dev/null"
task = fakes.task(fakes.case("double"), pathlib.Path())
program = WholeProgram(("true",), "/")
print(whole_programs.run(fakes.FakeDevice.info, task, program, lambda _: None, lambda *_: None).message)
"""


def test_a_run_that_cannot_make_its_folder_is_an_error() -> None:
    """The process leads its group, as a worker does, which is killed where a program is left."""
    command = [sys.executable, "-c", NO_FOLDER]
    done = subprocess.run(command, capture_output=True, text=True, check=False, start_new_session=True)
    assert (done.returncode, done.stdout[:12]) == (0, "cannot write"), done.stderr


def test_each_variable_has_a_name_of_its_own(suite: Workshop) -> None:
    path = suite.write("variables.cu", VARIABLES)
    program = programs.compile(Source(str(path), kernels=("sum",)))
    (suite.root / "kernels.ptx").write_bytes(Path(program.ptx).read_bytes())
    body(suite, """launch("sum", 1, upload(np.zeros(1, np.int32)))\n""", "dtypes: {'*': int32}\n")
    assert suite.call(*RUN).exit_code == 1
    names = [buffer["name"] for buffer in cases(suite)[0]["buffers"]]
    values = {name: dump(suite, "suite", name)[1:] for name in names}
    variables = {"counter": ["5"], "counter_2": ["6"], "variable_alloc1": ["7"], "counter_3": ["8"]}
    assert values == {**variables, "alloc1": ["26"]}


def test_refused_launches_and_names_of_no_buffer_are_reported(suite: Workshop) -> None:
    text = """
function = check(driver.cuModuleGetFunction(module, b"overrun"))
driver.cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, 0, ((int(upload(np.ones(4))),), (ctypes.c_void_p,)), 0)
"""
    body(suite, text, "dtypes: {'aloc*': float32}\ncompare: {'*': {atol: 1}, output: {}}\n")
    result = suite.call(*RUN)
    assert result.exit_code == 1
    assert "suite: launch refused: overrun cannot be launched on cpu: block 2048" in result.output
    assert "suite: dtypes: no buffer is called aloc*; there are counter, alloc1" in result.output
    assert "suite: compare: no buffer is called output;" in result.output
    assert "called *" not in result.output


def test_repeats_of_a_program_are_compared_with_its_first_run(suite: Workshop) -> None:
    # Each run adds a line to a file, and so has other results than the one before.
    text = "runs = open('count').read() if os.path.exists('count') else ''\nopen('count', 'w').write(runs + 'x')\n"
    body(suite, f"{text}upload(np.arange(n, dtype=np.float32) + len(runs))", "repeat: 2\ndtypes: {alloc1: float32}\n")
    result = suite.call(*RUN)
    assert result.exit_code == 1
    assert (cases(suite)[0]["verdict"], (suite.root / "count").read_text()) == ("differ", "xx")
    assert re.search(r"alloc1.*repeat.*4 of 4", cases(suite)[0]["reason"])
    body(suite, f"{text}upload(np.ones(1 + len(runs)))", "repeat: 2\n")
    assert suite.call(*RUN).exit_code == 3
    assert "run 2 of the program left another alloc1" in cases(suite)[0]["reason"]
    # As many elements, but six bytes are no float32.
    (suite.root / "count").unlink()
    body(suite, f"{text}upload(np.ones(6, np.uint8 if runs else np.float32))", "repeat: 2\ndtypes: {alloc1: float32}\n")
    assert suite.call(*RUN).exit_code == 3
    assert "run 2 of the program left another alloc1" in cases(suite)[0]["reason"]
    body(suite, "upload(np.ones(4))")
    assert suite.call(*RUN, "--repeat", "3").exit_code == 1
    assert cases(suite)[0]["verdict"] == "new"


def test_schedules_run_unordered_streams_in_another_order(suite: Workshop) -> None:
    text = """
memory = upload(np.ones(n, np.float32))
function = check(driver.cuModuleGetFunction(module, b"scale"))
streams = [check(driver.cuStreamCreate(1)) for _ in range(2)]
event = check(driver.cuEventCreate(0))
for stream in streams:
    values = (int(memory), 2.0, n), (ctypes.c_void_p, ctypes.c_float, ctypes.c_int)
    check(driver.cuLaunchKernel(function, 1, 1, 1, n, 1, 1, 0, stream, values, 0))
    check(driver.cuEventRecord(event, stream))
    check(driver.cuStreamWaitEvent(streams[1], event, 0))
check(driver.cuMemsetD32Async(memory, 0x3F800000, 1, streams[1]))
check(driver.cuCtxSynchronize())
"""
    job = "dtypes: {alloc1: float32}\ndump: [alloc1]\nschedules: 3\n"
    body(suite, text, job)
    suite.call(*RUN)
    assert suite.call("accept").exit_code == 0
    result = suite.call(*RUN, "-v")
    assert result.exit_code == 0, result.output
    assert len(launch_log.read(suite.root / "runs/latest/launch.log").events) == 4 * 2 * 2  # with `by-warp`
    change(suite, "    check(driver.cuStreamWaitEvent(streams[1], event, 0))\n", "")
    assert suite.call(*RUN).exit_code == 1
    (case,) = cases(suite)
    assert "the schedules forward and reverse give different results: alloc1[0] is 1.0 and 2.0" in case["reason"]
    assert suite.call(*RUN, "--schedule", "forward").exit_code == 0


def test_a_failure_under_one_schedule_alone_differs(suite: Workshop) -> None:
    text = """
pinned = check(driver.cuMemHostAlloc(4, 0))
ctypes.c_int.from_address(pinned).value = 7
check(driver.cuMemcpyHtoDAsync(upload(np.ones(1, np.int32)), pinned, 4, check(driver.cuStreamCreate(1))))
memory = check(driver.cuMemAllocManaged(4, 1))
check(driver.cuMemcpyDtoDAsync(memory, pinned, 4, 0))
sys.exit(0 if ctypes.c_int.from_address(int(memory)).value == 7 else "the copy is missing")
"""
    body(suite, text, "schedules: 2\n")
    assert suite.call(*RUN).exit_code == 1, cases(suite)[0]["reason"]
    (case,) = cases(suite)
    assert case["verdict"] == "differ"
    assert "forward runs to its end, reverse does not: the program ended with exit code 1" in case["reason"]


def test_a_buffer_that_is_gone_differs(suite: Workshop) -> None:
    body(suite, "upload(np.ones(4))\nupload(np.ones(2))")
    suite.call(*RUN)
    assert suite.call("accept").exit_code == 0
    body(suite, "upload(np.ones(4))")
    assert suite.call(*RUN).exit_code == 1
    assert "alloc2: its baseline is there" in cases(suite)[0]["reason"]
