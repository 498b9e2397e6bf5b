"""The commands from end to end, on the fake device."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpuregress.foundation import storage
from tests.lab.revisions import git_projects
from tests.workshop import KERNEL, RUN, Workshop, accepted, change, results


def test_new_says_how_to_accept_and_the_command_it_names_works(fake_shop: Workshop) -> None:
    result = fake_shop.call(*RUN)
    assert result.exit_code == 1
    (line,) = re.findall(r"^to accept what is new: gpuregress (.*)$", result.stdout, re.MULTILINE)
    assert fake_shop.call(*line.split()).exit_code == 0
    assert fake_shop.call(*RUN).exit_code == 0


def test_a_difference_ends_with_table_paths_and_the_command_that_accepts(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop)
    result = fake_shop.call(*RUN)
    assert result.exit_code == 1
    out = result.stdout
    assert re.search(r"^scale/n=100 +out +99 of 100", out, re.MULTILINE)
    assert "dump      runs/" in out
    assert "baseline  baselines/scale/n=100/out.1.4" in out
    (line,) = re.findall(r"^to accept what differs: gpuregress (.*)$", out, re.MULTILINE)
    assert fake_shop.call(*line.split(), "-m", "three is right").exit_code == 0
    assert fake_shop.call(*RUN).exit_code == 0
    assert (fake_shop.root / "baselines/scale/n=100/out.1.5").is_file()


def test_results_json_is_the_contracts(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop)
    target = fake_shop.root / "out.json"
    fake_shop.call(*RUN, "--json", str(target))
    document = json.loads(target.read_text())
    assert document == results(fake_shop)
    assert {"version", "run", "device", "cases"} <= set(document)
    (case,) = document["cases"]
    assert (case["job"], case["case"], case["verdict"]) == ("scale", "scale/n=100", "differ")
    (buffer,) = case["buffers"]
    assert (buffer["name"], buffer["verdict"], buffer["differing"], buffer["of"]) == ("out", "differ", 99, 100)
    assert Path(buffer["dump"]).is_file()
    assert Path(buffer["baseline"]).is_file()
    assert buffer["worst"]["index"] == 99


def test_a_run_without_accept_changes_no_baseline(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    folder = fake_shop.root / "baselines"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    change(fake_shop)
    fake_shop.call(*RUN)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_new_only_leaves_what_differs(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop)
    fake_shop.job(("n: [100]", "n: [100, 200]"), ("{float32: 2.0}", "{float32: 3.0}"))
    fake_shop.call(*RUN)
    printed = fake_shop.call("accept", "--new-only").stdout
    assert "scale/n=200" in printed
    assert "scale/n=100" not in printed


def test_a_baseline_cut_short_is_exit_4_and_one_line(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    dump = fake_shop.root / "baselines/scale/n=100/out.1.4"
    dump.write_text(dump.read_text()[:-20])
    result = fake_shop.call(*RUN)
    assert result.exit_code == 4
    assert "out.1.4" in result.stdout


def test_a_full_disk_is_exit_4_and_the_verdict_is_still_told(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: object, **_: object) -> None:
        raise storage.explain(OSError(28, "No space left on device"), path)

    accepted(fake_shop)
    monkeypatch.setattr(storage, "write_atomic", full)
    result = fake_shop.call(*RUN)
    assert result.exit_code == 4
    assert "pass     scale/n=100" in result.stdout
    assert "no space is left" in result.stdout


def test_a_run_that_could_not_be_kept_names_no_command_that_would_fail(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: object, **_: object) -> None:
        raise storage.explain(OSError(28, "No space left on device"), path)

    assert "gpuregress accept --run" in fake_shop.call(*RUN).stdout
    monkeypatch.setattr(storage, "write_atomic", full)
    printed = fake_shop.call(*RUN).stdout
    assert "new      scale/n=100" in printed
    assert "gpuregress accept" not in printed
    assert "nothing of this run can be accepted: make room, then run it again" in printed


def test_changed_inputs_are_said_first(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.job(("fill: arange", "fill: ones"))
    result = fake_shop.call(*RUN)
    assert "changed inputs, not a regression" in result.stdout


def test_two_sources_of_one_label_are_told_apart_though_neither_is_accepted(fake_shop: Workshop) -> None:
    fake_shop.call(*RUN)
    fake_shop.write("kernels/scale.cu", KERNEL + "// changed, and still called 1.4\n")
    result = fake_shop.call(*RUN)
    assert "revision 1.4 is already recorded for another source text: this one is 1.4+" in result.stdout
    (dump,) = (fake_shop.root / "runs/latest/dumps/scale/n=100").iterdir()
    assert re.fullmatch(r"out\.1\.4\+[0-9a-f]{6}", dump.name)
    assert "already recorded" in fake_shop.call(*RUN).stdout
    fake_shop.call("accept")
    assert (fake_shop.call(*RUN, "-q").output, fake_shop.call("nightly", "--device", "cpu").output) == ("", "")
    fake_shop.write("kernels/scale.cu", KERNEL)
    assert "already recorded" not in fake_shop.call(*RUN).stdout


def cases(shop: Workshop) -> list[str]:
    return [case["case"] for case in results(shop)["cases"]]  # type: ignore[attr-defined]


def test_cases_that_other_values_leave_out_stay_due_for_a_rerun(fake_shop: Workshop) -> None:
    fake_shop.job(("launches:", "reference: {out: 'expected.py:expected'}\nlaunches:"))
    reference = "def expected(inputs, case):\n    return {} * inputs['x']\n"
    fake_shop.write("configs/expected.py", reference.format(3))
    assert fake_shop.call(*RUN, "--set", "n=[100, 200]").exit_code == 1
    fake_shop.job(("kernel: scale", "kernle: scale"), name="wrong")
    assert fake_shop.call(*RUN, "--rerun-failed").exit_code == 1
    assert cases(fake_shop) == ["scale/n=100", "scale/n=200"], "a wrong job that the last run did not have"
    (fake_shop.root / "configs/wrong.yaml").unlink()
    fake_shop.write("configs/expected.py", reference.format(2))
    again = fake_shop.call(*RUN, "--rerun-failed", "--set", "n=200")
    assert (again.exit_code, cases(fake_shop)) == (0, ["scale/n=200"])
    rest = fake_shop.call(*RUN, "--rerun-failed")
    assert (rest.exit_code, cases(fake_shop)) == (0, ["scale/n=100"])
    assert "not a case any more" not in again.output


def test_cases_of_unchanged_files_stay_due_for_a_rerun(fake_shop: Workshop) -> None:
    fake_shop.job(name="other")
    fake_shop.write(".gitignore", "runs/\n")
    git_projects.start(fake_shop.root)
    git_projects.commit(fake_shop.root, "Begin")
    assert fake_shop.call(*RUN).exit_code == 1
    fake_shop.job(("launches:", "# changed\nlaunches:"))
    fake_shop.call(*RUN, "--rerun-failed", "--changed")
    assert cases(fake_shop) == ["scale/n=100"]
    fake_shop.call(*RUN, "--rerun-failed")
    assert cases(fake_shop) == ["other/n=100", "scale/n=100"]


def test_a_name_that_means_nothing_is_reported_before_a_missing_device(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuregress.execution.device_registry.cpu_lack", lambda: "no llvmlite")
    wrong = fake_shop.call("run", "--device", "cpu", "nothing_there")
    assert (wrong.exit_code, wrong.stderr) == (2, "gpuregress: there is no job 'nothing_there'; the jobs are: scale\n")
    right = fake_shop.call("run", "--device", "cpu", "scale")
    assert (right.exit_code, right.stderr) == (4, "gpuregress: no llvmlite\n")


def test_an_unknown_name_is_reported_before_a_cluster_is_waited_for(fake_shop: Workshop) -> None:
    fake_shop.write("gpuregress.yaml", "cluster: {wait: 0.1}\n")
    unknown = fake_shop.call("run", "other", "--cluster", "tcp://127.0.0.1:9")
    assert (unknown.exit_code, "there is no job 'other'" in unknown.stderr) == (2, True)
    assert "no Dask scheduler answers" in fake_shop.call("run", "scale", "--cluster", "tcp://127.0.0.1:9").stderr
