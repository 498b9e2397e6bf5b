"""Sessions of pytest in processes of their own, with our plugin as an installed package has it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import preloaded

ROOT = Path(__file__).parents[2]
_METADATA = "Metadata-Version: 2.1\nName: gpuregress-of-tests\nVersion: 0\n"
_ENTRY = "[pytest11]\ngpuregress = gpuregress.pytest_plugin\n"


def entry_point(folder: Path) -> Path:
    """Make a folder for PYTHONPATH that announces the plugin, whatever is installed."""
    info = folder / "entry/gpuregress_of_tests-0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(_METADATA)
    (info / "entry_points.txt").write_text(_ENTRY)
    return info.parent


def run(folder: Path, scratch: Path, *arguments: str, fake: bool = True, fresh: bool = False) -> tuple[int, str]:
    """Run pytest in a folder; its exit code and output.

    Args:
        folder: where.
        scratch: a folder outside of it.
        arguments: of the command line.
        fake: cases run on the fake device.
        fresh: in a process that has loaded nothing before.
    """
    paths = os.pathsep.join([str(entry_point(scratch)), str(ROOT)])
    more = ["-p", "tests.pytest_plugin.fake_device", "--gpuregress-device", "cpu"] if fake else []
    command = ["-m", "pytest", "-p", "no:cacheprovider", f"--basetemp={scratch / 'base'}", *more]
    environment = {**os.environ, "PYTHONPATH": paths}
    command += [*preloaded.PYTEST_OPTIONS, *arguments]
    if fresh:
        whole = [sys.executable, *command]
        done = subprocess.run(
            whole, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        return done.returncode, done.stdout + done.stderr
    code, printed, errors = preloaded.run(command, folder, environment, 300)
    return code, printed + errors
