"""Annotations and the step's summary, as a step of GitHub Actions has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.workshop import RUN, Workshop, accepted, change


@pytest.fixture
def step(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the step's summary."""
    path = fake_shop.root / "summary.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    (fake_shop.root / ".git").mkdir()
    return path


def commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("::")]


def test_a_step_is_annotated_without_an_option(fake_shop: Workshop, step: Path) -> None:
    accepted(fake_shop)
    step.unlink()
    change(fake_shop)
    printed = fake_shop.call(*RUN)
    (line,) = commands(printed.stdout)
    assert line.startswith("::error file=kernels/scale.cu,line=2,title=differ scale/n=100::out: ")
    assert step.read_text().startswith("## ❌ gpuregress\n")
    assert "| differ | <code>scale/n=100</code> |" in step.read_text()


def test_a_green_step_has_a_summary_and_no_annotation(fake_shop: Workshop, step: Path) -> None:
    accepted(fake_shop)
    step.unlink()
    printed = fake_shop.call("nightly", "--device", "cpu")
    assert (printed.exit_code, printed.output) == (0, "")
    assert step.read_text().startswith("## ✅ gpuregress\n")


def test_a_wrong_job_is_annotated_at_its_line(fake_shop: Workshop, step: Path) -> None:
    fake_shop.job(("parameters:", "parametres:"))
    printed = fake_shop.call(*RUN)
    assert printed.exit_code == 2
    first, *_ = commands(printed.stdout)
    assert first.startswith(
        "::error file=configs/scale.yaml,line=2,title=gpuregress::configs/scale.yaml:2: parametres: "
    )
    assert "❌" in step.read_text()


def test_a_wrong_command_line_is_annotated(fake_shop: Workshop, step: Path) -> None:
    printed = fake_shop.call(*RUN, "--nonsense")
    assert printed.exit_code == 2
    assert any("No such option" in line for line in commands(printed.stderr))


def test_a_report_on_stdout_stays_alone_there(fake_shop: Workshop, step: Path) -> None:
    printed = fake_shop.call(*RUN, "--json", "-")
    assert json.loads(printed.stdout)["cases"]
    assert len(commands(printed.stderr)) == 1


def test_annotations_that_were_asked_for_are_not_repeated(fake_shop: Workshop, step: Path) -> None:
    printed = fake_shop.call(*RUN, "--report", "github=-")
    assert len(commands(printed.stdout)) == 1
    assert commands(printed.stderr) == []


def test_elsewhere_nothing_is_annotated(fake_shop: Workshop) -> None:
    assert commands(fake_shop.call(*RUN).output) == []


def test_a_summary_that_cannot_be_written_is_said(
    fake_shop: Workshop, step: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(fake_shop.root))
    printed = fake_shop.call(*RUN)
    assert printed.exit_code == 1
    assert "the step's summary is not written: Is a directory" in printed.stderr
