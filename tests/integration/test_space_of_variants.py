"""A small space of a tiled convolution on the CPU device: what its cases share, and what a planted bug looks like."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import space
from gpuregress.store import launch_log
from tests.workshop import Workshop

RUN = ("run", "--device", "cpu", "--jobs", "2")
FEW = (
    ("tile_x: [1, 2, 3, 4, 5]", "tile_x: [2, 4]"),
    ("tile_y: [1, 2, 3, 4, 5]", "tile_y: [1]"),
    ("block_x: [8, 16, 32, 64, 128]", "block_x: [8, 16, 32, 64]"),
    ("block_y: [2, 4, 8, 16]", "block_y: [2]"),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """The space with a bug, after one run."""
    root = tmp_path_factory.mktemp("space")
    space.make(root, space.job(64, *FEW, ("PAD: pad}", "PAD: pad, PLANTED: 1}")))
    made = Workshop(root)
    result = made.call(*RUN, "--html", str(root / "page.html"), "--junit", str(root / "junit.xml"))
    assert result.exit_code == 1, result.output
    (root / "printed.txt").write_text(result.stdout)
    return made


def results(shop: Workshop) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((shop.root / "runs/latest/results.json").read_text())
    return document


def files(folder: Path) -> Counter[int]:
    """Inode → number of its names."""
    return Counter(path.stat().st_ino for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_one_line_names_the_values_of_a_planted_bug_and_one_case_is_shown_in_full(shop: Workshop) -> None:
    printed = (shop.root / "printed.txt").read_text()
    assert f"space: {space.PLANTED}\n" in printed
    assert "the one with the smallest parameters is space/tile_x=4,tile_y=1,block_x=32,block_y=2,pad=0" in printed
    assert printed.count("\ndiffer space/") == 1
    assert "… and 3 more (3 of space), all in full in runs/" in printed


def test_the_json_document_has_the_conditions_and_the_grid(shop: Workshop) -> None:
    document = results(shop)
    (made,) = document["parameter_spaces"]
    (group,) = made["failures"]
    assert [[one["text"] for one in box] for box in group["alternatives"]] == [["tile_x = 4", "block_x > 16"]]
    assert (len(group["cases"]), group["covered"], group["exceptions"], group["compared"]) == (4, 4, 0, 12)
    assert made["grid"]["rows"] == [[{"pass": 2}, {"pass": 2}]] * 2 + [[{"pass": 2}, {"differ": 2}]] * 2
    assert [*document["cases"][0]["parameters"]] == ["tile_x", "tile_y", "block_x", "block_y", "pad"]


def test_the_page_has_a_grid_and_folds_what_is_alike(shop: Workshop) -> None:
    page = (shop.root / "page.html").read_text()
    assert space.PLANTED.replace(">", "&gt;") in page
    assert page.count(">2 differ</td>") == 2
    assert page.count(">2 pass</td>") == 6
    assert "1 more like it" in page
    assert space.PLANTED.replace(">", "&gt;") in (shop.root / "junit.xml").read_text()


def test_the_trusted_kernel_ran_once_for_all_cases_and_workers(shop: Workshop) -> None:
    log = launch_log.read(shop.root / "runs/latest/launch.log")
    begun = [event for event in log.events if isinstance(event, launch_log.LaunchBegin)]
    assert Counter(event.call.partition("<")[0] for event in begun) == {"convolve": 16, "naive": 1}


def test_identical_dumps_are_stored_once_by_each_worker_and_nothing_else_is_left(shop: Workshop) -> None:
    run = (shop.root / "runs/latest").resolve()
    names = files(run / "dumps") + files(run / "references")
    assert sum(names.values()) == 16 + 16
    assert len(names) <= 2 * 2  # two contents; two workers may each write one before the other has entered it
    assert sorted(path.name for path in run.iterdir()) == [
        "dumps",
        "launch.log",
        "references",
        "report.txt",
        "results.json",
        "verdicts.jsonl",
    ]


def test_a_baseline_shares_no_file_with_a_run(shop: Workshop) -> None:
    assert shop.call("accept", "--all", "-m", "as they are").exit_code == 0
    baselines = files(shop.root / "baselines")
    assert not baselines.keys() & files(shop.root / "runs").keys()
    assert set(baselines.values()) == {1}
    dump = next((shop.root / "baselines").rglob("out.*"))
    assert dump.stat().st_mode & 0o200


PYTHON = """\
from pathlib import Path

def doubled(inputs, case):
    with (Path(__file__).parent / "calls.txt").open("a") as calls:
        calls.write(f"{case.parameters['n']}\\n")
    return inputs["x"] * 2

def of_its_tile(inputs, case):
    with (Path(__file__).parent / "calls.txt").open("a") as calls:
        calls.write("tile\\n")
    return inputs["x"] * 2 + 0 * case.parameters["tile"]
"""
SCALED = """\
source: ../kernels/scaled.cu
parameters: {n: [64, 100], tile: [1, 2, 3, 4]}
buffers:
  x: {dtype: float32, shape: [n], fill: {uniform: {low: 1, high: 2}}}
  out: {dtype: float32, shape: [n]}
  more: {dtype: float32, shape: [n]}
launches: [{kernel: scaled, grid: [1], block: [n], args: [out, more, x]}]
reference: {out: reference.py:doubled, more: reference.py:of_its_tile}
"""


def test_a_python_reference_is_called_once_for_cases_that_look_the_same_to_it(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    kernel = "{ out[threadIdx.x] = more[threadIdx.x] = 2 * x[threadIdx.x]; }"
    shop.write("kernels/scaled.cu", f"__global__ void scaled(float *out, float *more, const float *x) {kernel}")
    shop.write("configs/scaled.yaml", SCALED)
    shop.write("configs/reference.py", PYTHON)
    result = shop.call(*RUN)
    assert result.exit_code == 0, result.output
    calls = Counter((tmp_path / "configs/calls.txt").read_text().split())
    assert calls == {"64": 1, "100": 1, "tile": 8}
    assert shop.call(*RUN).exit_code == 0  # nothing is kept for the next run
    assert (tmp_path / "configs/calls.txt").read_text().count("64") == 2
