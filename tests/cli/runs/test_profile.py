"""Command `gpuregress profile`: its text, its JSON, its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpuregress.cli import main
from gpuregress.gpu.records import replace
from gpuregress.lab import profile
from gpuregress.lab.profile import ProfileResult
from tests.report.samples import summary
from tests.report.test_cost_report import costs


@pytest.fixture(autouse=True)
def profiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    monkeypatch.chdir(tmp_path)
    asked: dict[str, Any] = {"a/n=1": costs(), "a/n=2": costs()}
    monkeypatch.setattr(profile, "profile", lambda *_arguments, **_more: ProfileResult(summary(), asked))


def test_each_case_is_printed_with_the_exit_code_of_the_run() -> None:
    result = CliRunner().invoke(main, ["profile", "a"])
    assert result.output.startswith("a/n=1\ninstructions: 10 by warps")
    assert "\n\na/n=2\n" in result.output
    assert result.exit_code == summary().exit_code


def test_a_case_that_was_not_counted_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = replace(summary(), state="interrupted")
    monkeypatch.setattr(profile, "profile", lambda *_arguments, **_more: ProfileResult(cut, {}))
    result = CliRunner().invoke(main, ["profile", "a"])
    assert ": not counted: " in result.stderr
    assert result.stderr.endswith("\ninterrupted\n")
    assert result.exit_code == cut.exit_code


def test_files_are_written(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["profile", "a", "--json", "-", "--html", "page.html"])
    assert json.loads(result.stdout)["cases"].keys() == {"a/n=1", "a/n=2"}
    assert "<html" in (tmp_path / "page.html").read_text()
