"""The files that docs/how-to/ci.md shows: what `--install` prints, and what the tools read."""

from __future__ import annotations

import re

import pytest
import yaml

from gpuregress.report.messages import installation
from tests.documents.snippets import ROOT, steps
from tests.report.messages.installation.nights import NIGHT

PAGE = "docs/how-to/ci.md"
BLOCKS = {step.argument.rpartition(" ")[2]: step.text for step in steps(PAGE) if "--install" in step.argument}


@pytest.mark.parametrize("scheduler", ["cron", "github", "gitlab"])
def test_the_page_shows_what_is_printed(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/user/.config")
    assert BLOCKS[scheduler] + "\n" == installation.plan(scheduler, NIGHT).text


@pytest.mark.parametrize("scheduler", ["github", "gitlab"])
def test_yaml_is_yaml(scheduler: str) -> None:
    assert isinstance(yaml.safe_load(BLOCKS[scheduler]), dict)


def test_jenkins_takes_the_options_that_there_are() -> None:
    text = (ROOT / PAGE).read_text()
    (block,) = re.findall(r"```groovy\n(.*?)```", text, re.DOTALL)
    assert block.count("{") == block.count("}")
    assert set(re.findall(r"--[a-z]+", block)) == {"--junit", "--html", "--report"}
    assert set(re.findall(r"nightly\.(\w+)", block)) == {"xml", "html", "sarif"}
