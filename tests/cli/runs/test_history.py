"""`gpuregress history`: the runs, and one case through them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from tests.workshop import RUN, Workshop, accepted, change, two_differ


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


def test_the_results_of_a_case_are_told_with_all_that_is_known(fake_shop: Workshop) -> None:
    two_differ(fake_shop)
    (first, second) = json.loads(fake_shop.call("history", "scale/n=100", "--json").stdout)
    assert (first["verdict"], second["verdict"]) == ("new", "differ")
    assert first["host"]
    assert first.keys() >= {"commit", "branch", "compiler", "samples", "tolerance_share", "registers", "model", "cause"}
    lines = fake_shop.call("history", "scale").stdout.splitlines()
    assert [line for line in lines if line.startswith("scale")] == ["scale/n=100", "scale/n=200"]


def test_failing_cases_and_since_when(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.call(*RUN)
    assert "no case fails" in fake_shop.call("history", "--failing").stdout
    change(fake_shop)
    fake_shop.call(*RUN)
    fake_shop.call(*RUN)
    assert "scale/n=100  differ" in fake_shop.call("history", "--failing").stdout
    (one,) = json.loads(fake_shop.call("history", "--failing", "--json").stdout)
    runs = json.loads(fake_shop.call("history", "--json").stdout)
    assert (one["case"], one["failures"], one["since"]["run"]) == ("scale/n=100", 2, runs[2]["run"])
    assert len(fake_shop.call("history", "--failing", "--csv").stdout.splitlines()) == 5


def test_a_line_of_csv_for_each_case_of_each_run(fake_shop: Workshop) -> None:
    two_differ(fake_shop)
    rows = list(csv.DictReader(io.StringIO(fake_shop.call("history", "--csv").stdout)))
    assert [(row["case"], row["verdict"]) for row in rows] == [
        ("scale/n=100", "new"),
        ("scale/n=200", "new"),
        ("scale/n=100", "differ"),
        ("scale/n=200", "differ"),
    ]
    assert len(fake_shop.call("history", "--csv", "-n", "1").stdout.splitlines()) == 3
    assert "exclude each other" in fake_shop.fails(2, "history", "--csv", "--json")


def test_removed_cases_are_hidden(fake_shop: Workshop) -> None:
    two_differ(fake_shop)
    change(fake_shop)
    assert "1 case that no job has any more: --removed shows them" in fake_shop.call("history").stdout
    assert "scale/n=200" not in fake_shop.call("history").stdout
    assert "scale/n=200" in fake_shop.call("history", "--removed").stdout
    assert "scale/n=200" in fake_shop.call("history", "scale/n=200").stdout


def test_a_period(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    assert "[n]" in fake_shop.call("history", "--since", "1h").stdout
    assert "has ended since 2999-01-01" in fake_shop.fails(5, "history", "--since", "2999-01-01")
    assert "expected a date" in fake_shop.fails(2, "history", "--since", "soon")


def test_runs_of_another_project_are_imported(fake_shop: Workshop, tmp_path: Path) -> None:
    accepted(fake_shop)
    runs = tmp_path / "taken"
    (fake_shop.root / "runs").rename(runs)
    assert "imported: 1 case\n" in fake_shop.call("history", "import", str(runs)).stdout
    assert "is in the history already" in fake_shop.call("history", "import", str(runs)).stdout
    assert "[n]" in fake_shop.call("history").stdout
    assert "at least one, and no options" in fake_shop.fails(2, "history", "import")
    assert "at least one, and no options" in fake_shop.fails(2, "history", "import", str(runs), "--json")
    next(runs.glob("2*/verdicts.jsonl")).write_text("{}")
    assert "edited or cut short" in fake_shop.fails(4, "history", "import", str(runs))
