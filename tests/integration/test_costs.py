"""Costs from a job's `cost:` to the verdict: accepted, equal, greater with the line, and named by `profile`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workshop import RUN, Workshop

COST = "devices: [cpu]\ncost: {sectors: 1.05, instructions: 1.1}\n"


def test_a_greater_cost_is_a_difference_that_names_the_line(shop: Workshop) -> None:
    job = shop.job()
    job.write_text(job.read_text() + COST)
    first = shop.call(*RUN)
    assert "no costs were accepted" in first.output
    assert shop.call("accept", "--all", "-m", "first").exit_code == 0
    again = shop.call(*RUN)
    assert (again.exit_code, "cost:" in again.output) == (0, False)
    kernel = shop.root / "kernels" / "scale.cu"
    kernel.write_text("\n" + kernel.read_text().replace("a * x[i]", "a * x[i * 7 % n] + 0 * x[i * 5 % n]"))
    worse = shop.call(*RUN)
    assert worse.exit_code == 1
    assert "scale.cu:6: " in worse.output
    assert "sectors for each request; neighbouring threads no longer read neighbouring addresses" in worse.output


@pytest.mark.parametrize("bad", ["sectors: 0.9", "passes: 2"])
def test_a_wrong_cost_is_told_with_its_line(shop: Workshop, bad: str) -> None:
    job: Path = shop.job()
    job.write_text(job.read_text() + f"cost: {{{bad}}}\n")
    result = shop.call("check")
    assert result.exit_code == 2
    assert f"scale.yaml:12: cost.{bad.partition(':')[0]}" in result.output
