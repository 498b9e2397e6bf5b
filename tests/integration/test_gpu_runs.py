"""What only runs on GPUs do, seen from the session: the fake device stands in a GPU's slot."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from gpuregress.execution.workers.worker_process import DeviceSlot
from gpuregress.foundation.records import Case, CaseSettings, RunSummary, TimingLoop
from gpuregress.jobs.plan import Plan
from gpuregress.report.formats import junit
from gpuregress.session import device_slots, session
from gpuregress.session.run_request import Machinery, RunRequest
from gpuregress.store import launch_log
from gpuregress.store.project import Project
from tests import fakes
from tests.session.crews import in_process

UNINITIALIZED = """\
========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at double(float *)+0x70 in /a/fake.cu:41
=========     by thread (31,0,0) in block (1,0,0)
========= ERROR SUMMARY: 1 error
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    choice = device_slots.DeviceSelection(
        "cuda", "cuda:0", "", (DeviceSlot("cpu", "cuda:0", {"CUDA_VISIBLE_DEVICES": "0"}),), "sm_90"
    )
    monkeypatch.setattr(device_slots, "select", lambda *_arguments: choice)
    tool = tmp_path / "bin" / "compute-sanitizer"
    tool.parent.mkdir()
    log = "import sys; open(sys.argv[sys.argv.index('--log-file') + 1], 'w').write"
    tool.write_text(f"#!{sys.executable}\n{log}({UNINITIALIZED!r})\nraise SystemExit(86)\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent))
    return Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")


def run(project: Project, *cases: Case, **request: Any) -> RunSummary:
    machinery = Machinery((sys.executable, "-m", "tests.fake_worker"), in_process(lambda _source: fakes.program()))
    with mock.patch.object(session, "MACHINERY", machinery):
        return session.run(project, Plan(cases), RunRequest(device="cuda", **request))


def test_after_a_fault_the_case_alone_can_be_debugged(project: Project) -> None:
    summary = run(project, fakes.case("fault"), fakes.case("double"))
    fault, well = summary.verdicts
    (hint,) = [note for note in fault.notes if "cuda-gdb" in note]
    saved = Path(summary.folder) / "alone/fake/fault.json"
    assert hint.startswith("to debug this case alone: env CUDA_VISIBLE_DEVICES=0 cuda-gdb --args ")
    assert hint.endswith(f"-m gpuregress.execution.workers.alone {saved}")
    assert saved.is_file()
    assert well.status == "new"
    assert not [note for note in well.notes if "cuda-gdb" in note]


def test_the_tools_findings_are_in_every_report(project: Project) -> None:
    summary = run(project, fakes.case("double"), sanitize="initcheck")
    (verdict,) = summary.verdicts
    assert (verdict.status, verdict.exit_code) == ("fault", 3)
    message = "Uninitialized __global__ memory read of size 4 bytes, thread (31,0,0) of block (1,0,0), fake.cu:41"
    assert verdict.reason == f"uninitialized: initcheck: {message}"
    assert f"initcheck: {message}" in verdict.notes
    (entry,) = json.loads((Path(summary.folder) / "results.json").read_text())["cases"]
    assert entry["sanitizer"]["findings"][0]["kind"] == "uninitialized"
    assert message in junit.render(summary, Path("/"))


def test_numbers_in_the_log_are_unique_whatever_is_asked(project: Project) -> None:
    timed = fakes.case("double", name="fake/timed", settings=CaseSettings(timing=TimingLoop(1, 2)), repeat=2)
    summary = run(project, timed, fakes.case("double"), poison="twice")
    log = launch_log.read(Path(summary.folder) / "launch.log")
    begun = [event.number for event in log.events if isinstance(event, launch_log.LaunchBegin)]
    assert begun == list(range(1, 9))
    assert any("the median of 2 samples" in remark for remark in summary.remarks)
    assert any("out: 1 of 8 elements were never written: [7]" in remark for remark in summary.remarks)
