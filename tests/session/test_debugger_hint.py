from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from gpuregress.foundation.records import Task
from gpuregress.session import execution
from tests import fakes
from tests.session.selections import GPU


def test_the_command_for_the_debugger_runs_the_case(tmp_path: Path) -> None:
    task = Task(fakes.case("double", name="fake/n=1,m=2"), fakes.program(), "/l", 1, "/d", device_label="cuda:1")
    message = execution.debugger_command(task, tmp_path, GPU.slots[0].environment)
    words = shlex.split(message.partition(": ")[2])
    assert words[:4] == ["env", "CUDA_VISIBLE_DEVICES=1", "cuda-gdb", "--args"]
    assert words[-1] == str(tmp_path / "alone/fake/n=1,m=2.json")
    done = subprocess.run([*words[4:-1], "--device", "cpu", words[-1]], capture_output=True, text=True, check=False)
    assert done.returncode == 4  # the cpu device opens the case, and finds that a fake has no PTX
    assert "fake/n=1,m=2: error: the cpu device runs PTX" in done.stdout
