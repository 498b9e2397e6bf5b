"""`gpuregress history`: the runs, and one case through them."""

from __future__ import annotations

import json

from tests.workshop import RUN, Workshop, accepted


def test_the_history_outlives_the_runs_it_tells_of(fake_shop: Workshop) -> None:
    fake_shop.write("gpuregress.yaml", "retention: {runs: 1}\n")
    for _ in range(3):
        fake_shop.call(*RUN)
    assert len([path for path in (fake_shop.root / "runs").iterdir() if path.name.startswith("2")]) < 3
    assert len(json.loads(fake_shop.call("history", "scale", "--json").stdout)) == 3
    assert "[nnn]" in fake_shop.call("history").stdout
    assert "no run in the history has a case 'shale'" in fake_shop.fails(5, "history", "shale")


def test_a_damaged_history_stops_no_run(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.write("runs/history.sqlite", "no database\n" * 1000)
    result = fake_shop.call(*RUN)
    assert result.exit_code == 0
    assert "history.sqlite was damaged; it is kept as" in result.stdout
    assert "[.]" in fake_shop.call("history").stdout


def test_a_history_that_cannot_be_written_stops_no_run(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    (fake_shop.root / "runs/history.sqlite").unlink()
    (fake_shop.root / "runs/history.sqlite").mkdir()
    result = fake_shop.call(*RUN)
    assert result.exit_code == 0
    assert "this run is not in the history" in result.stdout


def test_runs_and_one_case_through_them(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    assert "1 new" in fake_shop.call("history").stdout
    assert "new" in fake_shop.call("history", "scale/n=100").stdout
