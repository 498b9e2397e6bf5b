"""Jobs named on the command line, of which one is wrong."""

from __future__ import annotations

import json

from tests.workshop import Workshop


def test_a_wrong_job_stops_only_itself(shop: Workshop) -> None:
    shop.job(name="other")
    shop.job(("source:", "sauce: 1\nsource:"))
    result = shop.call("run", "scale", "other")
    assert result.exit_code == 2
    assert "error    scale" in result.stdout
    assert "configs/scale.yaml:" in result.stdout
    assert "new      other" in result.stdout
    document = json.loads((shop.root / "runs/latest/results.json").read_text())
    assert [case["verdict"] for case in document["cases"] if case["case"] == "scale"] == ["error"]


def test_a_job_that_contradicts_its_kernel_stops_only_itself(shop: Workshop) -> None:
    shop.job(name="other")
    shop.job(("kernel: scale", "kernel: scalle"))
    result = shop.call("run", "other", "scale")
    assert result.exit_code == 2
    assert "has no kernel 'scalle'" in result.stdout
    assert "new      other" in result.stdout


def test_nothing_is_run_where_all_named_jobs_are_wrong(shop: Workshop) -> None:
    shop.job(("kernel: scale", "kernel: scalle"))
    shop.job(("kernel: scale", "kernel: scalle"), name="other")
    output = shop.fails(2, "run", "scale", "other")
    assert output.count("has no kernel 'scalle'") == 2
    assert not (shop.root / "runs/latest").exists()
    shop.job(("source:", "sauce: 1\nsource:"))
    shop.job(("source:", "sauce: 1\nsource:"), name="other")
    assert shop.fails(2, "run", "scale", "other").count("sauce") == 2
