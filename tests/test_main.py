"""The entry point: interrupts, the module path and what it loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_interrupted_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    run = subprocess.run(
        [sys.executable, "-m", "gpuregress", "--help"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "gpuregress: interrupted\n")


def test_a_module_in_the_users_folder_does_not_stand_in_for_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise RuntimeError('the wrong one')\n")
    run = subprocess.run(
        [sys.executable, "-m", "gpuregress", "--help"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_closed_streams_are_opened_before_the_first_worker_starts() -> None:
    """Else its channel would have the number of stdin or stdout."""
    code = "import os, sys\nfrom gpuregress import __main__ as main\n"
    code += "main.worker_spawn.begin = lambda *_: os._exit(os.dup(2))\nsys.argv = ['gpuregress', 'run']\nmain.run()"
    run = subprocess.run(["bash", "-c", 'exec "$@" <&- >&-', "sh", sys.executable, "-c", code], check=False)
    assert run.returncode == 3  # the first free descriptor


def test_help_is_quick_to_import() -> None:
    """`--help` loads no command, and none of the heavy packages."""
    code = "import sys; from gpuregress.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "heavy = {'numpy', 'rich', 'llvmlite', 'gpuregress.cli.run', 'gpuregress.cli.jobs'}\n"
    code += "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
