"""Use of a tolerance and the commit of a run, from the comparison to the terminal, results.json and the history."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from typing import Any

import pytest

from tests.workshop import RUN, Workshop, accepted, results

RULE = ("launches:", "compare: {out: {rtol: 1e-3}}\nlaunches:")


def run_with(shop: Workshop, factor: str, *options: str) -> str:
    shop.job(RULE, ("{float32: 2.0}", f"{{float32: {factor}}}"))
    return shop.call(*RUN, *options).stdout


def only_case(shop: Workshop) -> dict[str, Any]:
    document: Any = results(shop)
    (case,) = document["cases"]
    return dict(case)


def test_the_use_of_a_tolerance_is_told_everywhere(fake_shop: Workshop) -> None:
    fake_shop.job(RULE)
    accepted(fake_shop)
    assert "tolerance" not in run_with(fake_shop, "2.0004")
    assert "20 % of its tolerance used" in run_with(fake_shop, "2.0004", "-v")
    previous = (fake_shop.root / "runs/latest").resolve().name
    text = run_with(fake_shop, "2.0018")
    assert "s  90 % of its tolerance used" in text
    note = f"scale/n=100: 90 % of its tolerance used; 20 % in the previous run, {previous}"
    assert f"note: {note}" in text
    assert "90 % of its tolerance used; 20 %" not in run_with(fake_shop, "2.0018")  # said once
    assert "rule: |actual - expected| <= 0 + 0.001 * |expected| (up to 150 % of it)" in run_with(fake_shop, "2.003")
    case = only_case(fake_shop)
    assert case["tolerance_share"] == pytest.approx(1.5, abs=0.01)
    assert case["buffers"][0]["comparisons"][0]["tolerance_share"] == case["tolerance_share"]
    rows = csv.DictReader(io.StringIO(fake_shop.call("history", "--csv").stdout))
    shares = [float(row["tolerance_share"] or -1) for row in rows]
    assert shares == pytest.approx([-1, 0.2, 0.2, 0.9, 0.9, 1.5], abs=0.01)


def test_an_exact_rule_has_no_share(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    assert "tolerance" not in fake_shop.call(*RUN, "-v").stdout
    case = only_case(fake_shop)
    assert case["tolerance_share"] is None


def test_a_run_keeps_its_commit(fake_shop: Workshop) -> None:
    git = ("git", "-C", str(fake_shop.root), "-c", "user.name=N", "-c", "user.email=e@x")
    for command in (("init", "-q", "-b", "trunk"), ("add", "-A"), ("commit", "-q", "-m", "Add a job")):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    fake_shop.call(*RUN)
    kept = results(fake_shop)
    assert (kept["commit"], kept["branch"], kept["dirty"]) == (commit, "trunk", False)
    assert kept["host"]
    fake_shop.write("configs/scale.yaml", "# changed\n" + (fake_shop.root / "configs/scale.yaml").read_text())
    fake_shop.call(*RUN)
    runs = json.loads(fake_shop.call("history", "--json").stdout)
    assert [(run["commit"], run["branch"], run["dirty"]) for run in runs] == [
        (commit, "trunk", False),
        (commit, "trunk", True),
    ]
    assert f"{commit[:7]}+" in fake_shop.call("history").stdout
    assert len(json.loads(fake_shop.call("history", "--since", commit[:8], "--json").stdout)) == 2
