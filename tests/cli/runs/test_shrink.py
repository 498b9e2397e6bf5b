"""`gpuregress shrink` on the fake device."""

from __future__ import annotations

import json

import pytest

from tests.workshop import Workshop


def failing(shop: Workshop) -> None:
    shop.job()
    text = (shop.root / "configs/scale.yaml").read_text()
    shop.write("configs/scale.yaml", text + "checks: {out: [{range: [0, 100]}]}\n")


def test_the_job_is_on_stdout_and_its_making_on_stderr(fake_shop: Workshop) -> None:
    failing(fake_shop)
    result = fake_shop.call("shrink", "scale", "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("# The smallest job found by `gpuregress shrink` that fails like scale/n=100:\n")
    assert "n: 100 → 63\n" in result.stderr
    assert "smaller jobs run in" in result.stderr
    small = fake_shop.write("configs/small.yaml", result.stdout)
    assert fake_shop.call("run", "--device", "cpu", str(small)).exit_code == 1


@pytest.mark.slow
def test_a_file_and_json(fake_shop: Workshop) -> None:
    failing(fake_shop)
    target = fake_shop.root / "configs/small.yaml"
    result = fake_shop.call("shrink", "scale", "--device", "cpu", "-o", str(target), "--json", "--limit", "1min")
    document = json.loads(result.stdout)
    assert (document["path"], document["job"]) == (str(target), target.read_text())
    assert document["changes"] == ["n: 100 → 52", "the constant 32: 32 → 1"]
    assert "already exists" in fake_shop.fails(2, "shrink", "scale", "-o", str(target))


def test_a_case_that_passes(fake_shop: Workshop) -> None:
    assert "does not fail" in fake_shop.fails(5, "shrink", "scale", "--device", "cpu")
