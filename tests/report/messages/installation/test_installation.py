from __future__ import annotations

import pytest

from gpuregress.cli import nightly
from gpuregress.report.messages import installation
from tests.report.messages.installation.nights import NIGHT


def test_the_command_line_knows_the_schedulers() -> None:
    assert nightly.SCHEDULERS == installation.SCHEDULERS


@pytest.mark.parametrize("name", installation.SCHEDULERS)
def test_each_scheduler_has_lines_and_says_what_is_left_to_do(name: str) -> None:
    plan = installation.plan(name, NIGHT)
    assert "gpuregress nightly" in plan.text
    assert plan.text.endswith("\n")
    assert plan.todo
    assert plan.after
