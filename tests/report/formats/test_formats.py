"""What all formats have in common."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from gpuregress.cli import values
from gpuregress.report import formats
from tests.report.samples import summary

ROOT = Path("/p")


def test_the_command_line_knows_the_formats() -> None:
    assert (*formats.FORMATS, "json", "html") == values.FORMATS


@pytest.mark.parametrize("name", formats.FORMATS)
def test_a_run_that_has_not_finished_looks_green_nowhere(name: str) -> None:
    early = dataclasses.replace(summary(), verdicts=(), notes=("this run has not finished",), exit_code=4)
    assert "this run has not finished" in formats.render(name, early, ROOT)
    green = dataclasses.replace(summary(), verdicts=(), notes=(), exit_code=0)
    assert "not finished" not in formats.render(name, green, ROOT)
