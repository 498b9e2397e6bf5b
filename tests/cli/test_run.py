"""The commands from end to end, on the fake device."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gpuregress import storage
from tests.cli.workshop import KERNEL, Workshop

RUN = ("run", "--device", "cpu", "--jobs", "1")


def change(shop: Workshop, factor: str = "3.0", revision: str = "1.5") -> None:
    """A new revision of the kernel, whose job passes another factor."""
    shop.write("kernels/scale.cu", KERNEL.replace("1.4", revision))
    shop.job(("{float32: 2.0}", f"{{float32: {factor}}}"))


def results(shop: Workshop) -> dict[str, object]:
    document: dict[str, object] = json.loads((shop.root / "runs/latest/results.json").read_text())
    return document


def accepted(shop: Workshop) -> Workshop:
    assert shop.call(*RUN).exit_code == 1
    assert shop.call("accept").exit_code == 0
    return shop


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


def test_json_on_stdout_is_nothing_but_json(fake_shop: Workshop) -> None:
    result = fake_shop.call(*RUN, "--json", "-")
    assert json.loads(result.stdout)["version"] == 1
    assert "scale/n=100" in result.stderr


def test_junit_has_a_suite_a_job_and_a_case_a_case(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    target = fake_shop.root / "junit.xml"
    fake_shop.call(*RUN, "--junit", str(target))
    root = ET.parse(target).getroot()
    (suite,) = root.iter("testsuite")
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("scale", "2", "2")
    assert [case.get("name") for case in suite.iter("testcase")] == ["scale/n=100", "scale/n=200"]


def test_html_stands_alone(fake_shop: Workshop) -> None:
    target = fake_shop.root / "page.html"
    fake_shop.call(*RUN, "--html", str(target))
    page = target.read_text()
    assert "scale/n=100" in page
    assert not re.search(r"https?://|<script|<link", page)
    again = fake_shop.call("report")
    assert again.exit_code == 0
    assert "scale/n=100" in again.stdout


def test_quiet_says_nothing_when_all_is_well(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    assert fake_shop.call(*RUN, "-q").output == ""
    change(fake_shop)
    assert "differ" in fake_shop.call(*RUN, "-q").stdout


def test_quiet_names_what_went_wrong_and_why(fake_shop: Workshop) -> None:
    """An error has no table and no details of its own: its reason stands in the case's line, or nowhere."""
    fake_shop.write("kernels/scale.cu", KERNEL.replace("int i", "integer i"))
    said = fake_shop.call(*RUN, "-q").stdout
    assert re.search(r"^error +scale/n=100 .*integer", said, re.MULTILINE)


def test_accepting_leaves_nothing_but_baselines_beside_them(fake_shop: Workshop) -> None:
    """What stands there is committed: no lock, no temporary file."""
    accepted(fake_shop)
    assert [path.name for path in (fake_shop.root / "baselines").iterdir()] == ["scale"]
    fake_shop.job(("n: [100]", "n: [200]"))
    fake_shop.call("accept", "--prune")
    assert not list((fake_shop.root / "baselines").iterdir())


def test_a_run_without_accept_changes_no_baseline(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    folder = fake_shop.root / "baselines"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    change(fake_shop)
    fake_shop.call(*RUN)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_diff_of_two_revisions_under_the_rules_and_raw(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop, factor="2.000001")
    fake_shop.call(*RUN)
    assert fake_shop.call("diff", "1.4", "1.5").exit_code == 1
    fake_shop.write(
        "configs/scale.yaml", (fake_shop.root / "configs/scale.yaml").read_text() + "compare: {out: {rtol: 1.0e-5}}\n"
    )
    assert fake_shop.call("diff", "1.4", "1.5").exit_code == 0
    raw = fake_shop.call("diff", "--raw", "--json", "1.4", "1.5")
    assert raw.exit_code == 1
    assert json.loads(raw.stdout)["cases"][0]["buffers"][0]["of"] == 100
    assert "1.4" in fake_shop.fails(5, "diff", "1.4", "9.9")


def test_diff_of_two_files(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    dump = fake_shop.root / "baselines/scale/n=100/out.1.4"
    other = fake_shop.write("other", dump.read_text().replace("\n2.0\n", "\n2.5\n"))
    assert fake_shop.call("diff", "--raw", str(dump), str(dump)).exit_code == 0
    assert "1 of 100" in fake_shop.call("diff", "--raw", str(dump), str(other)).stdout


def test_log_shows_the_launches(fake_shop: Workshop) -> None:
    fake_shop.call(*RUN)
    shown = fake_shop.call("log").stdout
    assert re.search(
        r"^begin 1 \S+Z cpu scale/n=100 scale<<<\(4,1,1\),\(32,1,1\),0>>>\(.*n=100\) seed=\d+$", shown, re.MULTILINE
    )
    assert re.search(r"^end 1 0\.500 ms$", shown, re.MULTILINE)
    assert json.loads(fake_shop.call("log", "--json").stdout)["unfinished"] == []


def test_a_hanging_kernel_is_named_by_the_log(fake_shop: Workshop) -> None:
    fake_shop.write("kernels/scale.cu", KERNEL.replace("void scale", "void slow"))
    fake_shop.job(("kernel: scale", "kernel: slow"))
    assert fake_shop.call(*RUN, "--timeout", "0.2").exit_code == 3
    shown = fake_shop.call("log", "--blame").stdout
    assert "never came back: launch 1 on cpu, scale/n=100: slow<<<" in shown


def test_accept_refuses_what_did_not_run_to_its_end(fake_shop: Workshop) -> None:
    fake_shop.write("kernels/scale.cu", KERNEL.replace("void scale", "void slow"))
    fake_shop.job(("kernel: scale", "kernel: slow"))
    fake_shop.call(*RUN, "--timeout", "0.2")
    assert "timeout" in fake_shop.fails(4, "accept")
    assert not (fake_shop.root / "baselines").exists()


def test_new_only_leaves_what_differs(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    change(fake_shop)
    fake_shop.job(("n: [100]", "n: [100, 200]"), ("{float32: 2.0}", "{float32: 3.0}"))
    fake_shop.call(*RUN)
    said = fake_shop.call("accept", "--new-only").stdout
    assert "scale/n=200" in said
    assert "scale/n=100" not in said


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
    said = fake_shop.call(*RUN).stdout
    assert "new      scale/n=100" in said
    assert "gpuregress accept" not in said
    assert "nothing of this run can be accepted: make room, then run it again" in said


def test_changed_inputs_are_said_first(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.job(("fill: arange", "fill: ones"))
    result = fake_shop.call(*RUN)
    assert "changed inputs, not a regression" in result.stdout


def test_list_history_and_show(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    assert json.loads(fake_shop.call("list", "--json").stdout)[0]["baseline_revision"] == "1.4"
    assert "1 new" in fake_shop.call("history").stdout
    assert "new" in fake_shop.call("history", "scale/n=100").stdout
    assert "scale<<<(4,1,1),(32,1,1),0>>>" in fake_shop.call("show", "scale/n=100").stdout
    assert ".visible .entry scale" in fake_shop.call("show", "scale", "--ptx").stdout


def test_nightly_is_silent_when_all_is_well(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    quiet = fake_shop.call("nightly", "--device", "cpu")
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_nightly_says_what_differs_and_what_vanished(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    accepted(fake_shop)
    assert fake_shop.call("nightly", "--device", "cpu").exit_code == 0
    fake_shop.job()
    gone = fake_shop.call("nightly", "--device", "cpu")
    assert gone.exit_code == 1
    assert "scale/n=200 vanished" in gone.stdout


def test_what_nightly_says_is_what_stays_of_the_run(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    accepted(fake_shop)
    fake_shop.call("nightly", "--device", "cpu")
    fake_shop.job()
    fake_shop.call("nightly", "--device", "cpu")
    document = json.loads((fake_shop.root / "runs/latest/results.json").read_text())
    assert document["exit_code"] == 1
    assert document["notes"][0] == "scale/n=200 vanished since the last nightly run"
    (last,) = json.loads(fake_shop.call("history", "--last", "1", "--json").stdout)
    assert (last["kind"], last["exit"], last["cases"]) == ("nightly", 1, "1 pass")


def test_nightly_says_aloud_that_a_baseline_has_no_case(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    accepted(fake_shop)
    fake_shop.job()
    said = fake_shop.call("nightly", "--device", "cpu")
    assert said.exit_code == 1
    assert "the baseline scale/n=200 has no case any more" in said.stdout
    quiet = fake_shop.call("run", "--device", "cpu", "-q")
    assert "the baseline scale/n=200 has no case any more" in quiet.stdout


def test_nightly_whose_memory_is_damaged_says_so(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.call("nightly", "--device", "cpu")
    fake_shop.write("runs/nightly.json", '{"cases": ["sca')
    said = fake_shop.call("nightly", "--device", "cpu")
    assert said.exit_code == 1
    assert "whether a case vanished since the last nightly run is not known" in said.stdout
    assert fake_shop.call("nightly", "--device", "cpu").output == ""


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


def test_nightly_that_finds_the_lock_taken_is_75(fake_shop: Workshop) -> None:
    (fake_shop.root / "runs").mkdir()
    with storage.lock(fake_shop.root / "runs" / ".nightly.lock"):
        assert "locked" in fake_shop.fails(75, "nightly")


def test_prune_removes_only_baselines_without_a_case(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    accepted(fake_shop)
    fake_shop.job()
    assert "scale/n=200" in fake_shop.call("accept", "--prune").stdout
    assert (fake_shop.root / "baselines/scale/n=100").is_dir()
    assert not (fake_shop.root / "baselines/scale/n=200").exists()


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
