from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuregress.execution.workers import alone
from gpuregress.foundation import storage
from gpuregress.foundation.records import CaseSettings, ResourceLimits, Task, TimingLoop, to_json
from tests import fakes


def task(kernel: str, **changes: Any) -> Task:
    return fakes.task(fakes.case(kernel, **changes), Path("/nowhere"), 5, device_label="cuda:0")


def save(wanted: Task, path: Path) -> None:
    storage.write_atomic(path, json.dumps(to_json(wanted.alone())).encode())


def test_a_saved_task_runs_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "a" / "task.json"
    settings = CaseSettings(
        timing=TimingLoop(1, 1),
        sanitize="memcheck",
        resources=ResourceLimits(spills=0),
        twins=("cpu",),
        schedules=("forward", "reversed"),
        retries=2,
    )
    save(task("double", repeat=3, settings=settings), saved)
    assert json.loads(saved.read_text())["case"]["settings"] == {
        "resources": {"spills": 0},
        "launch_digests": "off",
    }
    assert alone.main(["--device", "cpu", str(saved)], fakes.open_device) == 0
    assert capsys.readouterr().out == "fake/double: ran to its end\n"


def test_its_fault_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(task("fault"), tmp_path / "task.json")
    assert alone.main([str(tmp_path / "task.json")], fakes.open_device) == 3
    assert "out-of-bounds: out-of-bounds read of 4 bytes" in capsys.readouterr().out


def test_a_file_that_is_no_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "task.json").write_text("{}")
    assert alone.main([str(tmp_path / "task.json")], fakes.open_device) == 4
    assert capsys.readouterr().err.startswith("gpuregress: ")
