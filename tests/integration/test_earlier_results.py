"""Inputs from earlier results, from end to end: the output of one job is the input of the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.workshop import JOB, RUN, Workshop

NEXT = (
    JOB.replace("fill: arange", 'fill: {file: "ORIGIN"}')
    .replace("n: [100]", "n: [100, 50]")
    .replace("{float32: 2.0}", "{float32: 10.0}")
)


@pytest.fixture
def shop(fake_shop: Workshop) -> Workshop:
    fake_shop.job(("n: [100]", "n: [100, 50]"))
    assert fake_shop.call(*RUN, "scale").exit_code == 1
    assert fake_shop.call("accept", "scale", "-m", "right").exit_code == 0
    return fake_shop


def second(shop: Workshop, case: str = "next/n=50") -> list[str]:
    (dump,) = Path(shop.root / "runs/latest/dumps" / case).glob("out.*")
    return dump.read_text().splitlines()[1:3]


@pytest.mark.parametrize("origin", ["baseline:scale/n={n}/out", "run:latest/scale/n={n}/out"])
def test_the_output_of_a_job_is_the_input_of_the_next(shop: Workshop, origin: str) -> None:
    shop.write("configs/next.yaml", NEXT.replace("ORIGIN", origin))
    result = shop.call(*RUN, "next")
    assert result.exit_code == 1, result.output
    assert second(shop) == ["0.0", "20.0"]
    assert "file (path " in shop.call("show", "next/n=50").stdout or origin.startswith("run"), "the case is shown"


def test_an_earlier_run_is_an_input_again_and_again(shop: Workshop) -> None:
    shop.write("configs/next.yaml", NEXT.replace("ORIGIN", "run:latest/scale/n={n}/out"))
    for _ in range(2):
        assert shop.call(*RUN, "next").exit_code == 1
        assert second(shop) == ["0.0", "20.0"]
    assert shop.call("calibrate", "next", "--device", "cpu").exit_code == 0


@pytest.mark.parametrize("form", ["fill", "reference"])
def test_an_edited_dump_of_a_run_is_no_input(shop: Workshop, form: str) -> None:
    text = NEXT.replace("ORIGIN", "run:latest/scale/n={n}/out")
    if form == "reference":
        text = JOB.replace("n: [100]", "n: [100, 50]") + 'reference: {out: {file: "run:latest/scale/n={n}/out"}}\n'
    shop.write("configs/next.yaml", text)
    (dump,) = (shop.root / "runs/latest/dumps/scale/n=50").resolve().glob("out.*")
    lines = dump.read_text().splitlines()
    lines[2] = "3.0"
    dump.chmod(0o644)
    dump.write_text("\n".join([*lines, ""]))
    result = shop.call(*RUN, "next")
    assert result.exit_code == 4
    assert f"{dump}: edited or cut short since it was written; run the case again" in result.stdout
    assert "next/n=100 " in result.stdout  # the case whose input is well runs
    assert f"{dump}: edited" in shop.fails(4, *RUN, "next/n=50")


def test_another_baseline_is_another_input(shop: Workshop) -> None:
    shop.write("configs/next.yaml", NEXT.replace("ORIGIN", "baseline:scale/n={n}/out"))
    shop.call(*RUN, "next")
    assert shop.call("accept", "next", "-m", "right").exit_code == 0
    shop.job(("n: [100]", "n: [100, 50]"), ("{float32: 2.0}", "{float32: 3.0}"))
    assert shop.call(*RUN, "scale").exit_code == 1
    assert shop.call("accept", "scale", "-m", "three is meant").exit_code == 0
    result = shop.call(*RUN, "next")
    assert result.exit_code == 1
    assert second(shop) == ["0.0", "30.0"]
    cases = json.loads((shop.root / "runs/latest/results.json").read_text())["cases"]
    assert all(case["reason"].startswith("changed inputs, not a regression") for case in cases)
    assert all("inputs of x changed" in case["changes"] for case in cases)


def test_what_was_not_accepted_or_does_not_fit_is_an_error_of_the_job(shop: Workshop) -> None:
    shop.write("configs/next.yaml", NEXT.replace("ORIGIN", "baseline:scale/n={2 * n}/out"))
    said = shop.fails(2, *RUN, "next")
    assert "next.yaml:5: buffers.x.fill.file: 'baseline:scale/n=200/out': no baseline of case 'scale/n=200'" in said
    assert "did you mean 'scale/n=100'?" in said
    shop.write("configs/next.yaml", NEXT.replace("ORIGIN", "baseline:scale/n=100/out"))
    assert "out.1.4 holds float32 [100]; expected [50] of float32 (in case n=50)" in shop.fails(2, *RUN, "next")
