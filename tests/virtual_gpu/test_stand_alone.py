"""The virtual GPU runs with the rest of the package made unimportable, and its README says what it does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_ONLY = """\
import importlib.abc
import sys

class Refusal(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        room = name.partition(".")[2].partition(".")[0]
        if name.startswith("gpuregress.") and room not in ("gpu", "virtual_gpu"):
            raise ImportError(f"{name} is imported")

sys.meta_path.insert(0, Refusal())
"""
_ALL_MODULES = """\
import importlib
import pkgutil
import gpuregress.gpu, gpuregress.virtual_gpu

for room in (gpuregress.gpu, gpuregress.virtual_gpu):
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        importlib.import_module(module.name)
"""


def _blocks() -> dict[str, str]:
    """Kind -> text of the code blocks of the README."""
    text = (ROOT / "gpuregress/virtual_gpu/README.md").read_text()
    return dict(re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL))


def _run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _ONLY + program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_example_of_its_readme_runs_alone(tmp_path: Path) -> None:
    blocks = _blocks()
    (tmp_path / "scale.ptx").write_text(blocks["ptx"])
    done = _run(blocks["python"], tmp_path)
    assert (done.stdout, done.stderr) == (blocks["text"], "")
    assert "thread (4, 0, 0), line 4" in done.stdout


def test_all_of_its_modules_are_imported_alone(tmp_path: Path) -> None:
    done = _run(_ALL_MODULES, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("room", ["foundation.errors", "toolchain", "api.kernel"])
def test_other_rooms_are_refused(tmp_path: Path, room: str) -> None:
    done = _run(f"import gpuregress.{room}", tmp_path)
    assert done.returncode != 0
    assert f"gpuregress.{room.partition('.')[0]} is imported" in done.stderr
