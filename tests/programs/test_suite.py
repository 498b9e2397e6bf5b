"""A suite of unit tests in C++ runs on the virtual GPU through the runtime library."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.programs import suites
from tests.workshop import RUN, Workshop

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["g++", "nvcc"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite, built as nvcc builds it and by g++ alone."""
    folder = tmp_path_factory.mktemp("suite")
    if shutil.which(request.param) is None:
        pytest.skip(f"there is no {request.param} to build the suite with")
    if request.param == "nvcc":
        return suites.build_with_nvcc(folder)
    include = suites.headers()
    if include is None:
        pytest.skip("NVIDIA's headers of the runtime are not installed")
    return suites.build_with_nvrtc(folder, include)


class Run:
    """A run of the suite under `gpuregress exec`.

    Args:
        program: the suite.
        tests: names of its tests; none: all.
        options: of `exec`.
        plant: whether a barrier is left out.
    """

    def __init__(self, program: Path, *tests: str, options: tuple[str, ...] = (), plant: bool = False) -> None:
        report = program.parent / "report.json"
        command = [sys.executable, "-m", "gpuregress", "exec", "--report", str(report), *options, "--"]
        if plant:
            command += ["env", "SUITE_PLANT=1"]
        self.process = subprocess.run([*command, str(program), *tests], capture_output=True, text=True, check=False)
        self.report: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))

    @property
    def incidents(self) -> list[dict[str, Any]]:
        """What was reported."""
        incidents: list[dict[str, Any]] = self.report["incidents"]
        return incidents


def test_all_pass_under_all_checks(program: Path) -> None:
    run = Run(program, options=("--check", "all"))
    assert "[ FAILED ]" not in run.process.stdout
    assert run.process.stdout.count("[ OK ]") == 21, run.process.stdout
    assert "hello from the kernel, 42" in run.process.stdout
    assert (run.process.returncode, run.incidents) == (0, []), run.process.stderr


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_separate_compilation_and_default_stream_of_each_thread(tmp_path: Path) -> None:
    program = suites.build_with_nvcc(tmp_path, "-rdc=true", "--default-stream", "per-thread")
    run = Run(program, options=("--check", "races"))
    assert run.process.stdout.count("[ OK ]") == 21, run.process.stdout
    # What the legacy stream orders in `streams_in_order`, the thread's own stream, number 2, does not.
    (finding,) = run.incidents
    assert finding["what"] == "stream-race"
    assert "read by saxpy (launch 19) in stream 2 at" in finding["message"]


def test_planted_race_is_reported_at_one_launch(program: Path) -> None:
    run = Run(program, "saxpy", "neighbours", "block_sums", options=("--check", "races"), plant=True)
    assert run.process.stdout.count("[ OK ]") == 3
    (finding,) = run.incidents
    assert (finding["kind"], finding["what"], finding["kernel"]) == ("finding", "race", "neighbours")
    source = (suites.SUITE / "kernels.cu").read_text(encoding="utf-8").splitlines()
    line = 1 + next(index for index, text in enumerate(source) if "race without the barrier" in text)
    assert f"kernels.cu:{line}" in finding["message"]
    assert "race" in run.process.stderr
    assert "neighbours" in run.process.stderr
    assert run.process.returncode == 3


def test_managed_memory_is_filled_at_once_under_a_schedule(program: Path) -> None:
    run = Run(program, "managed_memory", options=("--schedule", "reverse"))
    assert "[ OK ] managed_memory" in run.process.stdout, run.process.stdout


def test_fault_is_an_error_of_every_later_call(program: Path) -> None:
    run = Run(program, "only_fault")
    assert "cudaFree(data): an illegal memory access was encountered" in run.process.stdout
    assert run.process.stdout.count("kernels.cu") + run.process.stdout.count("!=") == 0
    (fault,) = run.incidents
    assert (fault["kind"], fault["kernel"]) == ("fault", "write_outside")
    assert "(4,0,0)" in fault["message"]
    assert run.process.returncode == 3


def test_missing_function_fails_the_run(program: Path) -> None:
    run = Run(program, "only_missing")
    assert "[ OK ] only_missing" in run.process.stdout
    assert [incident["what"] for incident in run.incidents] == ["cudaIpcGetMemHandle"]
    assert run.process.stderr.count("cudaIpcGetMemHandle") == 1
    assert (run.report["program_code"], run.process.returncode) == (0, 4)


def test_reset_loads_programs_anew(program: Path) -> None:
    run = Run(program, "only_reset")
    assert "[ OK ] only_reset" in run.process.stdout, run.process.stdout
    assert run.process.returncode == 0


@pytest.mark.parametrize(
    ("test", "later"),
    [
        ("only_unordered_launches", "read by saxpy (launch 2) in stream 4"),
        ("only_unordered_legacy", "read by saxpy (launch 2) in stream 1"),
        ("only_wrong_event", "read by saxpy (launch 2) in stream 4"),
        ("only_unordered_copy", "read by cuMemcpyDtoHAsync in stream 1"),
    ],
)
def test_race_between_streams_names_both(program: Path, test: str, later: str) -> None:
    run = Run(program, test, options=("--check", "races"))
    assert f"[ OK ] {test}" in run.process.stdout
    (finding,) = run.incidents
    assert (finding["kind"], finding["what"]) == ("finding", "stream-race")
    assert "write by saxpy (launch 1) in stream 3 at kernels.cu:" in finding["message"]
    assert later in finding["message"]
    assert run.process.returncode == 3


def test_the_suite_is_a_job(program: Path, tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    job = f"program: [{program}, neighbours]\nchecks: {{device: [races]}}\ndtypes: {{alloc*: int32}}\n"
    shop.write("configs/suite.yaml", job)
    assert shop.call(*RUN).exit_code == 1
    assert shop.call("accept").exit_code == 0
    assert shop.call(*RUN).exit_code == 0
    shop.write("configs/suite.yaml", f"{job}environment: {{SUITE_PLANT: 1}}\n")
    result = shop.call(*RUN)
    assert result.exit_code == 3
    assert re.search(r"race: neighbours.*data race.*kernels\.cu:\d+", result.stdout)
