from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuregress.execution.workers import early_start
from gpuregress.foundation import late_site


def _run(code: str, path: list[str]) -> list[str]:
    """The lines that code prints in a Python without `site`, with this module path."""
    start = f"from gpuregress.foundation import late_site; late_site.postpone({path!r})\n"
    command = [sys.executable, "-S", "-P", "-c", f"import sys; sys.path[:] = {path!r}\n{start}{code}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_hooks_run_before_code_of_a_user_and_once(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text("def prefix(inputs, case):\n    return exit\n")  # `site` defines it
    code = (
        "import builtins\nfrom gpuregress.foundation import usermodules\n"
        "print(hasattr(builtins, 'exit'), 'site' in sys.modules)\n"
        f"usermodules.load({str(tmp_path / 'user.py') + ':prefix'!r})\n"
        "print(hasattr(builtins, 'exit'), 'site' in sys.modules)\n"
        "late_site.complete()\nprint(len(sys.path) == len(set(sys.path)))"
    )
    assert _run(code, late_site.module_path()) == ["False False", "True True", "True"]


def test_nothing_is_completed_where_nothing_was_postponed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("site.main", None)
    late_site.complete()


def test_the_folder_of_the_script_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "gpuregress")])
    monkeypatch.setattr(sys, "path", [str(tmp_path), "relative", "", "/usr/lib"])
    assert late_site.module_path() == ["/usr/lib"]
    monkeypatch.setattr(sys, "path", ["/usr/lib", str(tmp_path)])
    assert late_site.module_path() == ["/usr/lib", str(tmp_path)]


def test_a_worker_starts_without_site(tmp_path: Path) -> None:
    with (tmp_path / "printed.txt").open("wb") as sink:
        started = early_start.start("cuda:99", {"CUDA_VISIBLE_DEVICES": ""}, sink.fileno())
    answer = started.connection.makefile().read()
    started.end()
    assert '"say":"refused"' in answer, (tmp_path / "printed.txt").read_text()
    assert late_site.VARIABLE not in os.environ


def test_a_folder_of_a_user_does_not_shadow_python_s_modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("raise RuntimeError")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert _run("import random\nprint(random.random() < 1)", late_site.module_path()) == ["True"]
