"""What all formats have in common."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from gpuregress.cli import values
from gpuregress.foundation.records import RunSummary
from gpuregress.gpu.records import replace
from gpuregress.report import formats, terminal
from tests.report.formats.hostile import runs
from tests.report.samples import summary

ROOT = Path("/p")


def test_the_command_line_knows_every_module_of_the_folder() -> None:
    assert {"junit", "sarif", "lcov"} < set(formats.FORMATS)
    assert (*formats.FORMATS, "json", "html") == values.FORMATS


@settings(max_examples=30)
@given(runs())
def test_no_text_from_outside_is_a_command_to_a_ci_server(run: RunSummary) -> None:
    texts = {name: formats.render(name, run, ROOT) for name in formats.FORMATS}
    texts["text"] = terminal.full(run, root=ROOT)
    for name, text in texts.items():
        allowed = r"error |notice " if name == "github" else "$^"
        assert not re.search(rf"##\[|^\s*::(?!{allowed})", text, re.MULTILINE), name
        assert not re.search(r"^\s*pass  everything", text, re.MULTILINE), name


@pytest.mark.parametrize("name", formats.FORMATS)
def test_a_run_that_has_not_finished_looks_green_nowhere(name: str) -> None:
    early = replace(summary(), verdicts=(), notes=("this run has not finished",), exit_code=4)
    assert "this run has not finished" in formats.render(name, early, ROOT)
    green = replace(summary(), verdicts=(), notes=(), exit_code=0)
    assert "not finished" not in formats.render(name, green, ROOT)
