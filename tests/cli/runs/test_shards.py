"""`gpuregress run --shard` and `gpuregress report --merge`: no case is lost between hosts, and no part is the whole."""

from __future__ import annotations

import fcntl
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.workshop import RUN, Workshop, accepted, results

SIZES = ("n: [100]", "n: [100, 200, 300, 400, 500]")


@pytest.fixture
def project(fake_shop: Workshop) -> Workshop:
    """Five cases with baselines."""
    fake_shop.job(SIZES)
    return accepted(fake_shop)


def shard(shop: Workshop, number: int, count: int, code: int = 0) -> dict[str, Any]:
    done = shop.call(*RUN, "--shard", f"{number}/{count}")
    assert done.exit_code == code, done.output
    return results(shop)


def cases(document: dict[str, Any]) -> set[str]:
    return {case["case"] for case in document["cases"]}


def merged(shop: Workshop, *documents: dict[str, Any], code: int = 0) -> dict[str, Any]:
    target = shop.root / "merged.json"
    done = shop.call("report", "--merge", *(one["run"] for one in documents), "--report", f"json={target}")
    assert done.exit_code == code, done.output
    document: dict[str, Any] = json.loads(target.read_text())
    return document


def test_shards_have_each_case_once_whatever_their_histories_hold(project: Workshop) -> None:
    documents = [shard(project, number, 3) for number in (1, 2, 3)]  # the history grows from one to the next
    (project.root / "runs/history.sqlite").unlink()
    documents[1] = shard(project, 2, 3)
    parts = [cases(document) for document in documents]
    assert sorted(name for part in parts for name in part) == [f"scale/n={n}" for n in (100, 200, 300, 400, 500)]
    assert {len(part) for part in parts} == {1, 2}
    assert all(cases(document) | set(document["shard"]["left_out"]) == set.union(*parts) for document in documents)
    whole = merged(project, *documents)
    assert (cases(whole), whole["exit_code"], whole["missing"]) == (set.union(*parts), 0, [])
    assert [run["shard"] for run in whole["merged"]] == [[1, 3], [2, 3], [3, 3]]


def test_committed_times_balance_the_shards(project: Workshop) -> None:
    assert project.call("history", "--times").exit_code == 0
    path = project.root / "baselines/times.json"
    times = json.loads(path.read_text())
    assert set(times) == {f"scale/n={n}" for n in (100, 200, 300, 400, 500)}
    assert all(seconds > 0 for seconds in times.values())
    path.write_text(json.dumps({"scale/n=300": 9.0, "scale/n=100": 1.0, "scale/n=200": 1.0, "scale/n=400": 1.0}))
    assert cases(shard(project, 1, 2)) == {"scale/n=300"}
    path.write_text('{"scale/n=300": 9.0')
    assert "baselines/times.json: edited or cut short" in project.fails(4, *RUN, "--shard", "1/2")


@pytest.mark.parametrize("seconds", ["9" * 401, "1e308", "-1", "true", "NaN"])
def test_times_that_are_none_are_refused(project: Workshop, seconds: str) -> None:
    times = ", ".join(f'"scale/n={n}": {seconds}' for n in (100, 200, 300))
    project.write("baselines/times.json", f"{{{times}}}")
    assert "baselines/times.json: edited or cut short" in project.fails(4, *RUN, "--shard", "1/2")


def test_times_of_other_hosts_are_kept(fake_shop: Workshop) -> None:
    fake_shop.job(SIZES)
    path = fake_shop.write("baselines/times.json", '{"scale/n=300": 9.0, "scale/n=900": 9.0}')
    assert fake_shop.call(*RUN, "scale/n=100").exit_code == 1
    assert "of 2 cases, 1 of them as before" in fake_shop.call("history", "--times").output
    times = json.loads(path.read_text())
    assert (sorted(times), times["scale/n=300"]) == (["scale/n=100", "scale/n=300"], 9.0)
    path.write_text("{")
    assert "the times of 1 case;" in fake_shop.call("history", "--times").output


def test_cases_that_must_agree_stay_together(fake_shop: Workshop) -> None:
    fake_shop.job(
        ("n: [100]\n", "n: [100, 200]\n  block: [32, 64, 128]\nagree: [block]\n"),
        ("block: [32]", "block: [block]"),
        ("ceil(n / 32)", "ceil(n / block)"),
    )
    part = cases(shard(fake_shop, 1, 4))
    assert len(part) == 3
    assert len({name.partition(",")[0] for name in part}) == 1


def test_a_part_is_not_taken_for_the_whole(project: Workshop) -> None:
    page = project.root / "page.html"
    done = project.call(*RUN, "--shard", "1/2", "--html", str(page), "--report", "junit=" + str(project.root / "j.xml"))
    assert re.search(r"^shard 1 of 2: 3 cases in", done.output, re.MULTILINE)
    assert "the other 2 were left out" in done.output
    assert "no case any more" not in done.output  # of the baselines of the other shard
    assert "Shard 1 of 2, which leaves out 2 cases: " in page.read_text()
    quiet = project.call(*RUN, "-q", "--shard", "1/2")
    assert "the other 2 were left out" in quiet.output


def test_a_missing_shard_is_reported_and_fails(project: Workshop) -> None:
    first, third = shard(project, 1, 3), shard(project, 3, 3)
    document = merged(project, first, third, code=4)
    left = set(first["shard"]["left_out"]) - cases(third)
    assert set(document["unfinished"]) == left
    (missing,) = document["missing"]
    assert missing["lines"][0].startswith(f"shard 2 of 3 missing: no result of {len(left)} case")
    junit = project.root / "junit.xml"
    assert project.call("report", "--merge", first["run"], third["run"], "--report", f"junit={junit}").exit_code == 4
    assert "shard 2 of 3 missing" in junit.read_text()


def test_overlapping_runs_are_refused(project: Workshop) -> None:
    first, again = shard(project, 1, 2), shard(project, 1, 2)
    assert "overlap: both have scale/n=" in project.fails(2, "report", "--merge", first["run"], again["run"])
    assert "overlap" in project.fails(2, "report", "--merge", first["run"], first["run"])


def test_shards_of_different_splits_are_refused(project: Workshop) -> None:
    first = shard(project, 1, 2)
    project.job(("n: [100]", "n: [600]"), name="other")
    project.job(("n: [100]", "n: [700, 800]"), name="scale")
    second = shard(project, 2, 2, code=1)
    assert cases(first).isdisjoint(cases(second))
    assert "different splits" in project.fails(2, "report", "--merge", first["run"], second["run"])


def cut_short(shop: Workshop, document: dict[str, Any]) -> str:
    """Takes the last verdict and the end from a run, as a kill does; its only unfinished case."""
    folder = shop.root / "runs" / document["run"]
    (folder / "results.json").unlink()
    *lines, last, _ = (folder / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "verdicts.jsonl").write_bytes(b"".join(lines))
    name: str = json.loads(last)["verdict"]["verdict"]["case"]
    return name


def test_the_cases_of_a_shard_that_was_cut_short_are_named(fake_shop: Workshop) -> None:
    fake_shop.job(SIZES)
    first, second = shard(fake_shop, 1, 2, code=1), shard(fake_shop, 2, 2, code=1)
    name = cut_short(fake_shop, first)
    with (fake_shop.root / "runs" / first["run"] / "verdicts.jsonl").open() as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)  # as its process holds it
        done = fake_shop.call("report", "--merge", first["run"], second["run"], "--report", "junit=-")
    assert f"(shard 1 of 2) is running: no result of 1 case, {name}" in done.stderr
    assert (done.exit_code, f'name="{name}"' in done.stdout) == (4, True)
    page, junit = fake_shop.root / "p.html", fake_shop.root / "j.xml"
    files = ("--report", f"html={page}", "--report", f"junit={junit}")
    done = fake_shop.call("report", "--merge", first["run"], second["run"], *files)
    assert done.exit_code == 4
    assert f"(shard 1 of 2) was cut short: no result of 1 case, {name}" in done.output
    assert f'name="{name}"' in junit.read_text()
    assert "Cut short, 4 of 4 cases new, 1 without a result" in page.read_text()
    assert fake_shop.call("report", first["run"], "-o", str(page)).exit_code == 0
    title = "Shard 1 of 2, which leaves out 2 cases, was cut short: 2 of 2 cases new, 1 without a result"
    assert title in page.read_text()


@pytest.mark.parametrize("file", ["kernels/scale.h", "configs/scale.yaml", "gpuregress.yaml", "baselines"])
def test_shards_of_different_files_are_refused(project: Workshop, file: str) -> None:
    """Two hosts have one commit and another work tree: the whole passes on neither."""
    project.write("kernels/scale.cu", '#include "scale.h"\n' + (project.root / "kernels/scale.cu").read_text())
    project.write("kernels/scale.h", "")
    first = shard(project, 1, 2)
    for path in [project.root / file, *(project.root / file).rglob("baseline.yaml")]:
        if not path.is_dir():
            path.write_text((path.read_text() if path.exists() else "") + "\n")
    second = project.call(*RUN, "--shard", "2/2")
    assert second.exit_code in (0, 4)
    message = project.fails(2, "report", "--merge", first["run"], str(results(project)["run"]))
    assert "shards of different code: the files of " + ("the project" if "gpu" in file else "scale") in message


def test_runs_of_one_job_of_different_sources_are_refused(project: Workshop) -> None:
    documents = []
    for name in ("scale/n=100", "scale/n=200"):
        assert project.call(*RUN, name).exit_code == 0
        documents.append(results(project))
        (project.root / "kernels/scale.cu").write_text((project.root / "kernels/scale.cu").read_text() + "\n")
    first, second = (str(document["run"]) for document in documents)
    assert "the kernel of scale, or a file that it includes" in project.fails(2, "report", "--merge", first, second)


def test_shards_with_different_options_are_refused_and_other_runs_noted(project: Workshop) -> None:
    first = shard(project, 1, 2)
    assert project.call(*RUN, "--shard", "2/2", "--poison", "twice").exit_code == 0
    message = project.fails(2, "report", "--merge", first["run"], str(results(project)["run"]))
    assert "runs of different options cannot be merged" in message
    assert "--poison twice" in message
    documents = []
    for options in (("scale/n=100",), ("scale/n=200", "--poison", "twice")):
        assert project.call(*RUN, *options).exit_code == 0
        documents.append(results(project))
    whole = merged(project, *documents)
    assert any("judged with different options" in note for note in whole["notes"])
    assert any("is no commit's" in note for note in whole["notes"])


def test_the_worst_exit_code_is_kept_and_runs_of_other_hosts_are_read_from_their_folders(
    project: Workshop, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project.job(SIZES, ("{float32: 2.0}", "{float32: 2.0 + n % 200 // 100}"))  # wrong for 100, 300 and 500
    first = shard(project, 1, 2, code=1)
    second = shard(project, 2, 2)
    away = tmp_path / "artifacts"
    shutil.move(project.root / "runs" / first["run"], away / "shard1")  # a run itself is the artifact
    shutil.move(project.root / "runs" / second["run"], away / "shard2/runs" / second["run"])
    shutil.copytree(away / "shard2/runs" / second["run"], away / "shard2/runs/latest")
    done = project.call("report", "--merge", str(away), "--json")
    assert done.exit_code == 1
    document = json.loads(done.stdout)
    assert (len(document["cases"]), document["exit_code"]) == (5, 1)
    assert re.search(r"5 cases in .* 2 pass, 3 differ", done.stderr)
    elsewhere = Workshop(tmp_path_factory.mktemp("elsewhere"))  # a host that has the artifacts alone
    assert elsewhere.call("report", "--merge", str(away), "--json").stdout == done.stdout
    assert elsewhere.call("report", "--compare", str(away / "shard1"), str(away / "shard2")).exit_code == 0
    assert "there is no project" in elsewhere.fails(2, "report", "--merge", str(away), first["run"])
    assert list(elsewhere.root.iterdir()) == []


def test_a_run_whose_journal_is_lacking_is_not_left_out(project: Workshop, tmp_path: Path) -> None:
    for name in ("scale/n=100", "scale/n=200"):
        assert project.call(*RUN, name).exit_code == 0
    runs = tmp_path / "artifacts/runs"
    shutil.copytree(project.root / "runs", runs)
    first, *_ = sorted(runs.glob("2*"))
    (first / "verdicts.jsonl").unlink()
    assert f"{first} has no verdicts.jsonl" in project.fails(4, "report", "--merge", str(tmp_path / "artifacts"))
    printed = project.call("history", "import", str(runs))
    assert printed.exit_code == 4
    assert f"{first} has no verdicts.jsonl" in printed.stderr
    assert "is in the history already" in printed.stdout


def test_hosts_may_reach_the_project_by_a_symbolic_link(project: Workshop, tmp_path: Path) -> None:
    project.write("kernels/scale.cu", '#include "scale.h"\n' + (project.root / "kernels/scale.cu").read_text())
    project.write("kernels/scale.h", "")
    (tmp_path / "link").symlink_to(project.root)
    documents = [shard(project, 1, 2), shard(Workshop(tmp_path / "link"), 2, 2)]
    assert len(cases(merged(project, *documents))) == 5


def test_the_clones_of_shards_may_be_in_any_folder(project: Workshop, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The build's compile_commands.json names absolute files, also outside of the project."""
    project.write("gpuregress.yaml", "compile: {commands: build/commands.json}")
    away = tmp_path_factory.mktemp("other clone")
    shutil.copytree(project.root, away, ignore=shutil.ignore_patterns("runs"), dirs_exist_ok=True)
    documents = []
    for number, root in enumerate((project.root, away), 1):
        file = f"{root}/kernels/scale.cu"
        header = tmp_path_factory.mktemp("made") / "config.h"
        header.write_text("")
        command = ["nvcc", "-include", str(header), "-c", file]
        entry = {"directory": str(root), "file": file, "arguments": command}
        (root / "build").mkdir()
        (root / "build/commands.json").write_text(json.dumps([entry]))
        documents.append(shard(Workshop(root), number, 2))
    target = away / "runs" / documents[1]["run"]
    done = project.call("report", "--merge", documents[0]["run"], str(target), "--json")
    assert (done.exit_code, len(json.loads(done.stdout)["cases"])) == (0, 5)


def test_a_shard_that_has_only_a_wrong_job_is_not_missing(project: Workshop) -> None:
    project.job(("buffers:", "bufers:"), name="wrong")
    documents = [shard(project, number, 6, code=2) for number in range(1, 7)]
    assert {len(document["cases"]) for document in documents} == {1, 2}
    whole = merged(project, *documents, code=2)
    assert (len(whole["cases"]), whole["missing"]) == (6, [])


def test_a_shard_without_a_case_passes_and_all_of_nothing_does_not(project: Workshop) -> None:
    documents = [shard(project, number, 6) for number in range(1, 7)]
    assert [len(document["cases"]) for document in documents] == [1, 1, 1, 1, 1, 0]
    assert len(merged(project, *documents)["cases"]) == 5
    project.job(SIZES, ("source:", "devices: [cuda]\nsource:"))
    nothing = [shard(project, number, 2, code=5) for number in (1, 2)]
    assert merged(project, *nothing, code=5)["exit_code"] == 5


def test_known_failures_alone_pass_as_in_one_run(project: Workshop) -> None:
    known = "known_failing: {until: 2999-01-01, why: a bug}\nchecks: {out: [{range: [-2, -1]}]}\nsource:"
    project.job(SIZES, ("source:", known))
    documents = [shard(project, number, 2) for number in (1, 2)]
    assert {case["verdict"] for document in documents for case in document["cases"]} == {"skip"}
    assert merged(project, *documents)["exit_code"] == 0


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2", ""])
def test_a_shard_that_there_is_not_is_refused(project: Workshop, text: str) -> None:
    message = project.fails(2, *RUN, "--shard", text)
    assert "is not a shard" in message
    assert "the first of 0" not in message


def test_the_failures_of_the_last_run_are_no_part(project: Workshop) -> None:
    assert "exclude each other" in project.fails(2, *RUN, "--shard", "1/2", "--rerun-failed")
