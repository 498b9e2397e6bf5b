from __future__ import annotations

import dataclasses
import shlex
import subprocess
from pathlib import Path

import pytest

from gpuregress.devices import registry
from gpuregress.devices.cuda import host, nvml, sanitizer
from gpuregress.errors import DeviceError, UsageError
from gpuregress.records import CaseSettings, Outcome, Program, ReferenceKernel, ResourceLimits, Source
from gpuregress.session import debugger_hint, device_slots, log_header, overrides
from gpuregress.session.device_slots import DeviceSelection
from gpuregress.session.request import Request
from gpuregress.workers.process import DeviceSlot
from gpuregress.workers.task import Task
from tests import fakes

GPU = DeviceSelection("cuda", "cuda:1", "", (DeviceSlot("cuda:0", "cuda:1", {"CUDA_VISIBLE_DEVICES": "1"}),), "sm_86")
CPU = DeviceSelection("cpu", "cpu", "", (DeviceSlot("cpu", "cpu"),))


def test_a_gpu_is_compiled_for_unless_the_job_names_an_architecture() -> None:
    kernel = ReferenceKernel(Source("/r.cu"), ())
    silent = fakes.case("double", reference_kernels={"out": kernel})
    (found,) = overrides.adapted([silent], Request(), GPU)
    assert (found.source.arch, found.reference_kernels["out"].source.arch) == ("sm_86", "sm_86")
    (kept,) = overrides.adapted([fakes.case("double", settings=CaseSettings(arch="sm_90"))], Request(), GPU)
    assert kept.source.arch == "sm_90"
    assert overrides.adapted([silent], Request(), CPU) == (silent,)


def test_what_is_asked_goes_with_each_case() -> None:
    request = Request(poison="twice", sanitize="memcheck")
    assert overrides.adapted([fakes.case("double")], request, GPU)[0].settings == CaseSettings(
        poison="twice", sanitize="memcheck"
    )
    assert overrides.adapted([fakes.case("double")], request, CPU)[0].settings == CaseSettings(poison="twice")


def test_a_missing_tool_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DeviceError, match="compute-sanitizer is not on the PATH"):
        overrides.check(Request(sanitize="memcheck"), GPU)
    assert overrides.check(Request(), GPU) == ()
    (note,) = overrides.check(Request(sanitize="memcheck"), CPU)
    assert "the cpu device checks every access itself" in note
    with pytest.raises(UsageError, match="memcheck, racecheck"):
        overrides.check(Request(sanitize="leaks"), GPU)


def test_remarks() -> None:
    ranges = [[1, 2], [4, 8], [9, 10], [11, 12], [20, 30]]
    poison = {
        "y": {
            "unwritten": {"elements": 17, "of": 100, "ranges": ranges},
            "shows": {"elements": 2, "of": 100, "first": 3},
        },
        "z": {"unwritten": None, "shows": None},
    }
    timing = {"samples_ms": [1.0, 3.0, 2.0], "median_ms": 2.0, "clock": "events on the GPU", "sm_clock": "1980 MHz"}
    outcome = Outcome("c", "done", extra={"poison_twice": poison, "timing": timing})
    lines = overrides.remarks(fakes.case("double", settings=CaseSettings(sanitize="memcheck")), outcome)
    assert lines[0] == "y: 17 of 100 elements were never written: [1], [4] to [7], [9], [11] and 1 more stretches"
    assert lines[1].startswith("y: 2 of 100 elements changed with what was there before, the first at [3]")
    assert lines[2] == "z: every element was written"
    assert lines[3] == "2 ms: the median of 3 samples, 1 to 3 ms, events on the GPU, SM clock 1980 MHz"
    assert lines[4] == "memcheck: not run, for the case did not come to its end"


def test_limits_that_nobody_can_judge_are_said() -> None:
    case = fakes.case("double", settings=CaseSettings(resources=ResourceLimits(8)))
    uncounted = Outcome("c", "done", resources={"double": {"registers": 0}})
    assert overrides.remarks(case, uncounted) == ("resources: not judged, for this device counts no registers",)
    assert overrides.remarks(case, Outcome("c", "done", resources={"double": {"registers": 8}})) == ()


@pytest.mark.parametrize(
    ("problem", "findings", "lines"),
    [
        ("it ended with exit code 1", [], ["racecheck: it ended with exit code 1"]),
        ("", [], ["racecheck: nothing found"]),
        ("", ["a", "b"], ["racecheck: a", "racecheck: b"]),
        (
            "",
            list("abcdefg"),
            [*(f"racecheck: {w}" for w in "abcde"), "racecheck: 2 more findings are in results.json"],
        ),
    ],
)
def test_what_the_tool_found(problem: str, findings: list[str], lines: list[str]) -> None:
    told = {"tool": "racecheck", "problem": problem, "findings": [{"text": text} for text in findings]}
    outcome = Outcome("c", "done", extra={"sanitizer": told})
    assert list(overrides.remarks(fakes.case("double", settings=CaseSettings(sanitize="racecheck")), outcome)) == lines


def test_every_tool_has_a_way_to_be_asked_for() -> None:
    assert set(sanitizer.TOOLS) == {"memcheck", "racecheck", "initcheck", "synccheck"}


def test_the_command_for_the_debugger_runs_the_case(tmp_path: Path) -> None:
    task = Task(fakes.case("double", name="fake/n=1,m=2"), fakes.program(), "/l", 1, "/d", place="cuda:1")
    said = debugger_hint.command(task, tmp_path, GPU.slots[0].environment)
    words = shlex.split(said.partition(": ")[2])
    assert words[:4] == ["env", "CUDA_VISIBLE_DEVICES=1", "cuda-gdb", "--args"]
    assert words[-1] == str(tmp_path / "alone/fake/n=1,m=2.json")
    done = subprocess.run([*words[4:-1], "--device", "cpu", words[-1]], capture_output=True, text=True, check=False)
    assert done.returncode == 4  # the cpu device opens the case, and finds that a fake has no PTX
    assert "fake/n=1,m=2: error: the cpu device runs PTX" in done.stdout


def test_the_head_tells_the_programs_compiler_and_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = ({"uuid": "GPU-0"}, {"name": "NVIDIA X", "uuid": "GPU-1", "driver": "580.1", "throttle": "none"})
    monkeypatch.setattr(nvml, "cards", lambda: cards)
    program = dataclasses.replace(fakes.program(), compiler="nvrtc 13.5.37")
    found = log_header.facts([fakes.case("double")], GPU, [program, program])
    assert found["compiler"] == "nvrtc 13.5.37"
    assert found["cuda:1"] == "NVIDIA X, GPU-1, driver 580.1, clocks not held back"
    assert found["seed of fake"] == "42"
    assert "seed of fake.x" in found
    assert "seed of fake.out" not in found
    by_uuid = dataclasses.replace(GPU, slots=(DeviceSlot("cuda:0", "cuda:0", {"CUDA_VISIBLE_DEVICES": "GPU-1"}),))
    assert found["cuda:1"] == log_header.facts([], by_uuid, [])["cuda:0"]


def test_cards_of_another_architecture_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "available", lambda: ("cpu", "cuda:0", "cuda:1", "cuda:2"))
    monkeypatch.setattr(host, "architectures", lambda: {"cuda:0": "sm_90", "cuda:1": "sm_80", "cuda:2": "sm_90"})
    choice = device_slots.choose("cuda")
    assert [slot.label for slot in choice.slots] == ["cuda:0", "cuda:2"]
    assert (choice.arch, choice.why) == ("sm_90", "cuda:1 is left out: not sm_90 as cuda:0")
    assert device_slots.choose("cuda:1").arch == "sm_80"
    assert len(device_slots.choose("cuda", jobs=4).slots) == 4


def _program(compiler: str) -> Program:
    return dataclasses.replace(fakes.program(), compiler=compiler)


def test_several_compilers_are_all_named() -> None:
    found = log_header.facts([], CPU, [_program("nvrtc 13.5.37"), _program("ptx as given")])
    assert found["compiler"] == "nvrtc 13.5.37, ptx as given"
