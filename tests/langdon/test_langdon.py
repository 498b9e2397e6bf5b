"""Langdon's bugs: each kernel runs as it should be, is accepted, is broken, and must be found and named rightly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gpuregress.execution.workers import watchdog
from tests.workshop import Workshop

ROOT = Path(__file__).parents[2]
JOBS = sorted(path.stem for path in (ROOT / "configs" / "langdon").glob("*.yaml"))
RUN = ("run", "--device", "cpu", "--jobs", "1")


def shop(root: Path, job: str) -> Workshop:
    """A project with one of the jobs, its fixed kernel accepted."""
    made = Workshop(root)
    made.write("kernels/langdon.cu", (ROOT / "kernels/langdon.cu").read_text())
    made.write("configs/reference/langdon.py", (ROOT / "configs/reference/langdon.py").read_text())
    made.write(f"configs/langdon/{job}.yaml", (ROOT / f"configs/langdon/{job}.yaml").read_text())
    fixed = made.call(*RUN)
    assert fixed.exit_code == 0, fixed.output
    assert made.call("accept", "--new-only").exit_code == 0
    shutil.rmtree(made.root / "runs")
    return made


def broken(root: Path, job: str, *, keep_judges: bool = False, fails: bool = True) -> dict[str, dict[str, Any]]:
    """The verdicts of the broken kernel, by case: against the accepted results, and the job's judges if kept."""
    made = shop(root, job)
    path = f"configs/langdon/{job}.yaml"
    text = (made.root / path).read_text()
    assert "{BROKEN: 0}" in text
    text = text.replace("{BROKEN: 0}", "{BROKEN: 1}")
    if not keep_judges:
        text = without(without(text, "reference:"), "checks:")
    made.write(path, text)
    result = made.call(*RUN)
    assert result.exit_code in ((1, 3) if fails else (0,)), result.output
    document = json.loads((made.root / "runs/latest/results.json").read_text())
    return {case["case"]: case for case in document["cases"]}


def without(text: str, key: str) -> str:
    """A job without one of its top-level keys."""
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        inside = line.startswith(key) or (inside and line.startswith(" "))
        kept += [] if inside else [line]
    return "".join(kept)


def patterns(case: dict[str, Any]) -> list[str]:
    comparisons = case["buffers"][0]["comparisons"]
    (actual,) = [one for one in comparisons if one["against"] == "baseline"]
    return [finding["pattern"] for finding in actual["findings"]]


def findings(case: dict[str, Any]) -> str:
    return "\n".join(case["buffers"][0]["findings"])


@pytest.mark.parametrize("job", JOBS)
def test_the_fixed_kernel_is_as_its_trusted_reference(job: str) -> None:
    text = (ROOT / f"configs/langdon/{job}.yaml").read_text()
    assert "reference:" in text
    assert "{BROKEN: 0}" in text


def test_missing_threads_leave_elements_that_were_never_written(tmp_path: Path) -> None:
    cases = broken(tmp_path, "copy")
    assert cases["langdon_copy/tile=48"]["verdict"] == "pass"
    wrong = cases["langdon_copy/tile=64"]
    assert wrong["buffers"][0]["differing"] == 160
    assert patterns(wrong)[0] == "never written"


def test_overlapping_arrays_change_one_warp_of_each_block(tmp_path: Path) -> None:
    for name, case in broken(tmp_path, "overlap").items():
        last = int(name.partition("block=")[2]) // 32 - 1
        assert patterns(case)[0] == "warp"
        assert f"one warp of each block: warp {last}" in findings(case)


def test_a_warp_that_is_trusted_to_run_in_lockstep_is_told(tmp_path: Path) -> None:
    for case in broken(tmp_path, "lockstep", fails=False).values():
        assert case["verdict"] == "pass"  # as on a card, where the warp stays together
        assert "without __syncwarp" in str(case["exchanges"])


def test_a_signed_shift_is_named(tmp_path: Path) -> None:
    for case in broken(tmp_path, "hash").values():
        assert patterns(case)[0] == "signed shift"


def test_a_place_outside_of_the_table_fails_the_check_whatever_the_baseline_holds(tmp_path: Path) -> None:
    for case in broken(tmp_path, "hash", keep_judges=True).values():
        failed = [one["message"] for one in case["buffers"][0]["comparisons"] if one["against"] == "check"]
        assert "range" in failed[0]


def test_a_stride_of_zero_is_stopped_and_the_launch_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "TRYING_S", 0.2)
    cases = broken(tmp_path, "stride")
    assert cases["langdon_stride/n=20"]["verdict"] == "timeout"
    assert "strided<<<(1,1,1),(64,1,1),0>>>(out=<256>, x=<80>, n=20)" in cases["langdon_stride/n=20"]["reason"]
    assert cases["langdon_stride/n=64"]["verdict"] == "pass"


def test_a_launch_without_threads_is_refused_with_its_line(tmp_path: Path) -> None:
    made = shop(tmp_path, "no_threads")
    path = "configs/langdon/no_threads.yaml"
    text = (made.root / path).read_text().replace("ceil(n / 32)", "n // 32")
    made.write(path, text)
    line = 1 + next(number for number, row in enumerate(text.splitlines()) if "n // 32]" in row)
    printed = made.fails(2, *RUN)
    assert f"no_threads.yaml:{line}: launches[0].block[0]: 'n // 32' is 0" in printed
    assert not (made.root / "runs").exists()


def test_a_score_above_a_hundred_percent_fails_its_check(tmp_path: Path) -> None:
    for case in broken(tmp_path, "score", keep_judges=True).values():
        assert case["verdict"] == "differ"
        failed = [one for one in case["buffers"][0]["comparisons"] if one["against"] == "check" and not one["same"]]
        assert "are outside [0, 100]" in failed[0]["message"]


def test_a_counter_that_loses_races_is_short_of_the_sum(tmp_path: Path) -> None:
    for name, case in broken(tmp_path, "counter", keep_judges=True).items():
        blocks = int(name.partition("blocks=")[2])
        failed = [one for one in case["buffers"][0]["comparisons"] if one["against"] == "check" and not one["same"]]
        assert str(blocks) in failed[0]["message"]
        assert str(96 * blocks) in failed[0]["message"]
