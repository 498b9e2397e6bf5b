"""Pages of `report`: two runs side by side, and the trend of the nights."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.workshop import RUN, Workshop, accepted, change

NIGHT = ("nightly", "--device", "cpu", "--jobs", "1")


def test_two_runs_are_put_side_by_side(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.call(*RUN)
    change(fake_shop)
    fake_shop.call(*RUN)
    folders = [path.parent for path in (fake_shop.root / "runs").glob("*/results.json")]
    runs = sorted(folder.name for folder in folders if not folder.is_symlink())
    page = fake_shop.call("report", "--compare", *runs[-2:]).stdout
    assert "<h1>1 case: 1 fail now and did not before</h1>" in page
    assert "scale/n=100" in page
    output = fake_shop.root / "c.html"
    assert fake_shop.call("report", "--compare", *runs[-2:], "-o", str(output)).output == ""
    assert output.read_text() == page
    moved = fake_shop.root / "elsewhere" / runs[-2]
    shutil.copytree(fake_shop.root / "runs" / runs[-2], moved)
    for place in (moved, moved.parent):
        assert fake_shop.call("report", "--compare", str(place), runs[-1]).stdout == page
    shutil.copytree(fake_shop.root / "runs" / runs[-1], moved.with_name(runs[-1]))
    assert "holds 2 runs" in fake_shop.fails(2, "report", "--compare", str(moved.parent), runs[-1])
    assert "no run" in fake_shop.fails(2, "report", "--compare", runs[0], "nothing")
    assert "make a page of their own" in fake_shop.fails(2, "report", "--compare", *runs[-2:], "--trend")


def test_the_trend_has_a_row_for_each_night_with_its_commits(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> None:
        command = ["git", "-C", str(fake_shop.root), "-c", "user.name=Ada", "-c", "user.email=e", *arguments]
        subprocess.run(command, capture_output=True, check=True)

    assert "no run" in fake_shop.fails(5, "report", "--trend")
    fake_shop.write(".gitignore", "runs/\n")
    accepted(fake_shop)
    assert "no night in" in fake_shop.fails(5, "report", "--trend")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    for day in (18, 19):
        monkeypatch.setenv("GPUREGRESS_NOW", f"2026-11-{day}T12:00:00Z")
        fake_shop.call(*NIGHT)
        change(fake_shop, f"{day}.0")
        git("commit", "-qam", f"change of the {day}th")
    page = fake_shop.call("report", "--trend").stdout
    assert "2 nights on cpu, 1 of them failed; the last one has 1 failure" in page
    assert "change of the 18th (Ada)" in page
    assert "change of the 19th" not in page
    assert page.index("2026-11-19<br>") < page.index("2026-11-18<br>")
    fake_shop.job(name="other")
    (fake_shop.root / "configs/scale.yaml").unlink()
    monkeypatch.setenv("GPUREGRESS_NOW", "2026-11-20T12:00:00Z")
    fake_shop.call(*NIGHT)  # `other` is new, and the case of `scale` is missing
    page = fake_shop.call("report", "--trend").stdout
    assert "3 nights on cpu, 2 of them failed; the last one has 2 failures, 1 of them without a baseline" in page
