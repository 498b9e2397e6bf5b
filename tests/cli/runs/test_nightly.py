"""The unattended run: it names every failure, is silent when all is well, and no broken job costs the night."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpuregress.cli import main
from gpuregress.foundation import storage
from gpuregress.foundation.errors import Interrupted, StorageError
from gpuregress.foundation.records import RunSummary
from gpuregress.jobs.plan import case_planning
from gpuregress.session import session
from tests import workshop
from tests.lab.revisions import git_projects
from tests.workshop import JOB, KERNEL, RUN, Workshop, accepted


def night(shop: Workshop, *more: str) -> Result:
    return shop.call("nightly", "--device", "cpu", *more)


def accept_all(shop: Workshop) -> None:
    shop.call(*RUN)
    shop.call("accept", "-m", "right")


def failures(path: Path) -> dict[str, str]:
    """The test cases of a JUnit file that failed, with what is said of them."""
    actual = {}
    for case in ET.parse(path).getroot().iter("testcase"):
        for result in (*case.findall("failure"), *case.findall("error")):
            actual[case.attrib["name"]] = f"{result.attrib['message']}\n{result.text or ''}"
    return actual


# --- broken jobs ------------------------------------------------------------------------------------------------------

BROKEN = {
    "yaml": ("x: [", "bad", "configs/bad.yaml:"),
    "key": (JOB.replace("parameters:", "parametres:"), "bad", "configs/bad.yaml:2: parametres:"),
    "source": (JOB.replace("scale.cu", "gone.cu"), "bad", "configs/bad.yaml:1: source:"),
    "signature": (JOB.replace("{float32: 2.0}", "{float64: 2.0}"), "bad", "configs/bad.yaml:11: launches[0].args"),
    "kernel": (JOB.replace("kernel: scale", "kernel: skale"), "bad", "configs/bad.yaml:8: launches[0].kernel"),
    "empty": ("", "bad", "configs/bad.yaml: the file is empty"),
    "bytes": ("\0", "bad", "configs/bad.yaml"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_job_is_an_error_and_the_others_run(fake_shop: Workshop, kind: str) -> None:
    accept_all(fake_shop)
    junit, page, document = (fake_shop.root / name for name in ("n.xml", "n.html", "n.json"))
    assert night(fake_shop, "--junit", str(junit)).exit_code == 0
    text, name, printed = BROKEN[kind]
    fake_shop.write("configs/bad.yaml", text)
    broken = night(fake_shop, "--junit", str(junit), "--html", str(page), "--json", str(document))
    assert broken.exit_code == 4, broken.output
    assert f"error    {name}  {printed}" in broken.stdout
    assert {case["case"]: case["verdict"] for case in json.loads(document.read_text())["cases"]} == {
        "bad": "error",
        "scale/n=100": "pass",
    }
    assert json.loads((fake_shop.root / "runs/latest/results.json").read_text()) == json.loads(document.read_text())
    assert list(failures(junit)) == ["bad"]
    assert "1 of 2 cases failed" in page.read_text()
    assert fake_shop.call(*RUN).exit_code == 2


def test_of_two_jobs_with_one_name_neither_runs(fake_shop: Workshop) -> None:
    accept_all(fake_shop)
    fake_shop.write("configs/other/scale.yaml", JOB.replace("../", "../../"))
    broken = night(fake_shop)
    assert broken.exit_code == 4
    assert "is also the name of the job in" in broken.stdout
    assert "pass" not in json.loads((fake_shop.root / "runs/latest/results.json").read_text())["cases"][0]["verdict"]


def test_a_folder_and_a_dangling_link_in_a_jobs_place_are_errors(fake_shop: Workshop) -> None:
    accept_all(fake_shop)
    (fake_shop.root / "configs/scale.yml").mkdir()
    (fake_shop.root / "configs/gone.yaml").symlink_to("nowhere.yaml")
    broken = night(fake_shop)
    assert broken.exit_code == 4
    assert "error    configs/scale.yml  configs/scale.yml: is a folder, not a job file" in broken.stdout
    assert "error    gone  configs/gone.yaml: is a link to a missing file, not a job file" in broken.stdout
    assert "1 pass" in broken.stdout


def test_a_night_does_not_wait_for_the_writer_of_a_pipe(fake_shop: Workshop) -> None:
    accept_all(fake_shop)
    os.mkfifo(fake_shop.root / "configs/pipe.yaml")
    os.mkfifo(fake_shop.root / "configs/scale.yml")
    broken = night(fake_shop)
    assert broken.exit_code == 4
    assert "error    pipe  configs/pipe.yaml: cannot be read: not a regular file" in broken.stdout
    assert "is also the name of the job in" in broken.stdout


def test_the_cases_of_a_broken_job_are_neither_missing_nor_forgotten(fake_shop: Workshop) -> None:
    accept_all(fake_shop)
    night(fake_shop)
    job = fake_shop.root / "configs/scale.yaml"
    whole = job.read_text()
    job.write_text("x: [")
    broken = night(fake_shop)
    assert (broken.exit_code, "missing" in broken.stdout, "vanished" in broken.stdout) == (4, False, False)
    job.unlink()
    fake_shop.write("configs/b.yaml", whole)
    assert "scale/n=100 vanished since the last nightly run" in night(fake_shop).stdout


@pytest.mark.parametrize("error", [StorageError("the disk is gone"), ZeroDivisionError("a bug")])
def test_a_job_that_breaks_the_planning_costs_only_itself(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    accept_all(fake_shop)
    fake_shop.job(name="bad")
    plan = case_planning.of_job

    def break_down(path: Path, *more: Any) -> Any:
        if path.stem == "bad":
            raise error
        return plan(path, *more)

    monkeypatch.setattr(case_planning, "of_job", break_down)
    broken = night(fake_shop)
    assert broken.exit_code == 4
    printed = str(error)
    if not isinstance(error, StorageError):
        printed = "an error inside gpuregress (ZeroDivisionError: a bug); please report it"
    assert f"error    bad  configs/bad.yaml: cannot be planned: {printed}" in broken.stdout
    assert "1 pass, 1 error" in broken.stdout


def test_when_every_job_is_broken_every_one_is_reported(fake_shop: Workshop) -> None:
    fake_shop.write("configs/scale.yaml", "x: [")
    broken = night(fake_shop)
    assert broken.exit_code == 4
    assert "error    scale" in broken.stdout


# --- what is gone -----------------------------------------------------------------------------------------------------


def test_a_vanished_case_fails_every_night_until_it_is_pruned(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    accept_all(fake_shop)
    fake_shop.job(("n: [100]", "n: [100, 200, 300]"))  # 300 never had a baseline
    night(fake_shop)
    fake_shop.job()
    for _ in range(3):
        gone = night(fake_shop)
        assert gone.exit_code == 1
        (row,) = (line for line in gone.stdout.splitlines() if line.startswith("missing  2 cases of scale"))
        assert "scale/n=300 vanished since" in row
        assert "  scale/n=300, scale/n=200" in gone.stdout.splitlines()
    pruned = fake_shop.call("accept", "--prune")
    assert "removed the baseline scale/n=200" in pruned.stdout
    assert "forgot scale/n=300" in pruned.stdout
    assert (night(fake_shop).exit_code, night(fake_shop).output) == (0, "")


def test_a_case_that_comes_back_is_well_again(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    accept_all(fake_shop)
    night(fake_shop)
    fake_shop.job()
    assert [night(fake_shop).exit_code for _ in range(2)] == [1, 1]
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    assert (night(fake_shop).exit_code, night(fake_shop).output) == (0, "")


@pytest.mark.parametrize("configs", ["empty", "gone"])
def test_a_clone_whose_jobs_are_gone_fails_every_night(fake_shop: Workshop, configs: str) -> None:
    accept_all(fake_shop)
    shutil.rmtree(fake_shop.root / "runs")
    (fake_shop.root / "configs/scale.yaml").unlink()
    if configs == "gone":
        (fake_shop.root / "configs").rmdir()
    junit = fake_shop.root / "n.xml"
    for _ in range(2):
        gone = night(fake_shop, "--junit", str(junit))
        assert gone.exit_code == 1, gone.output
        assert "the baseline scale/n=100 has no case any more" in gone.stdout
        assert "1 missing (run " in gone.stdout
        assert list(failures(junit)) == ["scale/n=100"]
    assert fake_shop.call("accept", "--prune").exit_code == 0
    assert night(fake_shop).exit_code == (5 if configs == "empty" else 2)


def test_what_is_missing_is_in_every_report(fake_shop: Workshop) -> None:
    fake_shop.job(("n: [100]", "n: [100, 200]"))
    accept_all(fake_shop)
    fake_shop.job()
    page, document = (fake_shop.root / name for name in ("n.html", "n.json"))
    assert night(fake_shop, "--html", str(page), "--json", str(document)).exit_code == 1
    printed = "the baseline scale/n=200 has no case any more (`gpuregress accept --prune` removes it)"
    assert json.loads(document.read_text())["missing"] == [{"case": "scale/n=200", "lines": [printed]}]
    assert "1 missing" in page.read_text()
    assert printed in (fake_shop.root / "runs/latest/report.txt").read_text()


# --- what is printed --------------------------------------------------------------------------------------------------


def test_standing_remarks_of_cases_that_pass_are_not_printed(fake_shop: Workshop) -> None:
    accept_all(fake_shop)
    fake_shop.job(("launches:", "timing: {samples: 2, warmup: 1}\nlaunches:"))
    assert night(fake_shop).output == ""
    assert "the median of 2 samples" in (fake_shop.root / "runs/latest/report.txt").read_text()
    assert "the median of 2 samples" in fake_shop.call(*RUN).stdout


def test_failures_come_before_notes_and_notes_are_folded(fake_shop: Workshop) -> None:
    sizes = ", ".join(map(str, range(100, 142)))
    timing = ("launches:", "timing: {samples: 2, warmup: 1}\nlaunches:")
    fake_shop.job(("n: [100]", f"n: [{sizes}]"), timing)
    fake_shop.write("kernels/bad.cu", KERNEL.replace("a * x[i]", "nonsense"))
    fake_shop.job(("scale.cu", "bad.cu"), name="wrong")
    accept_all(fake_shop)
    lines = fake_shop.call(*RUN).stdout.splitlines()
    notes = [line for line in lines if line.startswith("note: ")]
    assert 0 < len(notes) < 10
    assert any(line.startswith("… and") and "more notes (all 42 in runs/" in line for line in lines)
    assert lines.index("error wrong/n=100") < lines.index(notes[0])
    text = (fake_shop.root / "runs/latest/report.txt").read_text()
    assert text.count("note: scale/") == 42
    screen = night(fake_shop).stdout.splitlines()
    assert screen[0].startswith("1 new failure")
    assert [line.startswith("error    wrong/n=100") for line in screen].count(True) == 1
    assert len(screen) == 5


def test_of_many_failures_every_job_is_named(fake_shop: Workshop) -> None:
    sizes = ", ".join(map(str, range(100, 160)))
    fake_shop.job(("n: [100]", f"n: [{sizes}]"), name="aaa")
    fake_shop.job(name="zzz")
    screen = night(fake_shop).stdout.splitlines()
    assert len(screen) < 10
    assert any(line.startswith("new      62 cases of aaa, scale, zzz; as aaa/n=100: ") for line in screen)


def test_a_run_of_an_earlier_gpuregress_is_not_told_every_night(fake_shop: Workshop) -> None:
    accept_all(fake_shop)
    (fake_shop.root / "runs/20261101T020000Z-0001/dumps").mkdir(parents=True)
    silent = night(fake_shop)
    assert (silent.exit_code, silent.output) == (0, "")


# --- reports that an earlier run left ---------------------------------------------------------------------------------

EARLY = {
    "job": (2, ("bad",), "configs/bad.yaml"),
    "option": (2, ("--nonsense",), "No such option"),
    "value": (2, ("--repeat", "0"), "repeat"),
    "device": (4, ("--device", "cuda:99"), "cuda"),
    "selector": (2, ("nobody",), "there is no job 'nobody'"),
    "nothing": (5, ("-k", "nobody*"), "no case is left"),
}


@pytest.mark.parametrize("kind", EARLY)
def test_a_green_report_does_not_stay_when_the_run_fails_early(fake_shop: Workshop, kind: str) -> None:
    accept_all(fake_shop)
    targets = {name: fake_shop.root / f"out.{name}" for name in ("json", "junit", "html")}
    options = [word for name, path in targets.items() for word in (f"--{name}", str(path))]
    assert fake_shop.call(*RUN, *options).exit_code == 0
    assert failures(targets["junit"]) == {}
    if kind == "job":
        fake_shop.write("configs/bad.yaml", "x: [")
    code, more, printed = EARLY[kind]
    fake_shop.fails(code, *RUN, *options, *more)
    assert printed in failures(targets["junit"])["the run"]
    document = json.loads(targets["json"].read_text())
    assert (document["exit_code"], document["cases"], printed in "\n".join(document["notes"])) == (code, [], True)
    assert f"The run failed: exit code {code}" in targets["html"].read_text()


@pytest.mark.parametrize("form", ["-C {}", "-C{}", "--directory {}", "--directory={}"])
def test_a_green_report_does_not_stay_wherever_the_project_is(fake_shop: Workshop, form: str) -> None:
    junit = fake_shop.root / "n.xml"
    accept_all(fake_shop)
    assert night(fake_shop, "--junit", str(junit)).exit_code == 0
    where = form.format(fake_shop.root).split()
    assert CliRunner().invoke(main, [*where, "nightly", "--junit", str(junit), "--nonsense"]).exit_code == 2
    assert "No such option" in failures(junit)["the run"]


def test_the_report_of_a_night_that_finds_the_lock_taken_is_not_green(fake_shop: Workshop) -> None:
    junit = fake_shop.root / "n.xml"
    with storage.lock(fake_shop.root / "runs" / ".nightly.lock"):
        assert night(fake_shop, "--junit", str(junit)).exit_code == 75
    assert "is locked by" in failures(junit)["the run"]


def test_a_report_is_not_green_while_the_run_goes_on(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    junit, document = fake_shop.root / "n.xml", fake_shop.root / "n.json"
    seen: list[dict[str, str]] = []
    states: list[str] = []
    run = session.run

    def look(*arguments: Any, **options: Any) -> RunSummary:
        seen.append(failures(junit))
        states.append(json.loads(document.read_text())["state"])
        return run(*arguments, **options)

    accept_all(fake_shop)
    monkeypatch.setattr(session, "run", look)
    assert night(fake_shop, "--junit", str(junit), "--json", str(document)).exit_code == 0
    assert "this run has not finished" in seen[0]["the run"]
    assert failures(junit) == {}
    assert (states, json.loads(document.read_text())["state"]) == (["running"], "finished")


def test_the_report_of_a_night_that_is_interrupted_early_says_so(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = fake_shop.root / "n.json"

    def interrupted(*_arguments: Any, **_options: Any) -> RunSummary:
        raise Interrupted("interrupted")

    monkeypatch.setattr(session, "run", interrupted)
    assert night(fake_shop, "--json", str(document)).exit_code == 130
    read = json.loads(document.read_text())
    assert (read["state"], read["interrupted"], read["exit_code"]) == ("interrupted", True, 130)


def test_a_report_that_cannot_be_written_hides_no_verdict(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    run = session.run

    def lose(*arguments: Any, **options: Any) -> RunSummary:
        shutil.rmtree(fake_shop.root / "reports")
        fake_shop.write("reports", "a file")
        return run(*arguments, **options)

    monkeypatch.setattr(session, "run", lose)
    junit, document = fake_shop.root / "reports/n.xml", fake_shop.root / "n.json"
    printed = night(fake_shop, "--junit", str(junit), "--json", str(document))
    assert printed.exit_code == 4
    assert "new      scale/n=100" in printed.stdout
    assert "a part of the path is a file" in printed.stderr
    assert json.loads(document.read_text())["cases"]


def test_each_morning_begins_with_what_is_new_and_the_work_tree_stays_clean(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> str:
        settings = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(fake_shop.root), *settings, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def morning(day: int) -> tuple[int, str]:
        monkeypatch.setenv("GPUREGRESS_NOW", f"2026-11-{day}T12:00:00Z")
        told = night(fake_shop)
        assert git("status", "--porcelain") == ""
        return told.exit_code, told.stdout.partition("\n")[0]

    git("init", "-q")
    accept_all(fake_shop)
    git("add", "-A")
    git("commit", "-qm", "first")
    first = git("rev-parse", "HEAD")[:7]
    assert morning(18) == (0, "")
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    git("commit", "-qam", "bug")
    fake_shop.write("README.md", "Kernels\n")
    git("add", "README.md")
    git("commit", "-qm", "readme")
    readme = git("rev-parse", "HEAD")[:7]
    assert morning(19) == (1, f"1 new failure: scale — 2 commits since {first}")
    assert morning(20) == (1, f"1 still failing: scale (since 19 Nov, {first}..{readme})")
    workshop.idle(fake_shop)
    git("commit", "-qam", "another")
    assert morning(21) == (1, "1 failing differently: scale")
    fake_shop.write("kernels/scale.cu", KERNEL)
    fake_shop.job()
    git("commit", "-qam", "fix")
    assert morning(22) == (0, "1 fixed: scale")
    assert morning(23) == (0, "")


def test_the_commits_that_touch_a_file_of_the_case_are_suspects(fake_shop: Workshop) -> None:
    def told() -> list[str]:
        return night(fake_shop).stdout.splitlines()

    fake_shop.write("gpuregress.yaml", "")
    fake_shop.write(".gitignore", "runs/\n")
    fake_shop.write("kernels/scale.cu", f'#include "factor.cuh"\n{KERNEL}')
    fake_shop.write("kernels/factor.cuh", "// twice\n")
    accept_all(fake_shop)
    git_projects.start(fake_shop.root)
    first = git_projects.commit(fake_shop.root, "Accept")[:7]
    assert told() == []
    fake_shop.write("kernels/factor.cuh", "// three times\n")
    touching = git_projects.commit(fake_shop.root, "Take three")[:7]
    fake_shop.write("README.md", "Kernels\n")
    git_projects.commit(fake_shop.root, "Add a README")
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))  # it is not committed
    lines = told()
    assert lines[0] == f"1 new failure: scale — 2 commits since {first}, changed work tree"
    uncommitted = "uncommitted changes of configs/scale.yaml"
    suspects = f"  suspects: {uncommitted}; {touching} Take three (A. Author); 1 other commit since {first}"
    assert suspects in lines
    assert suspects in told(), "also on the next morning"
    assert not any(line.startswith("culprit") for line in night(fake_shop, "--bisect", "1").stdout.splitlines())
    fake_shop.job()
    assert told()[0] == "1 fixed: scale"
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    assert any(line.startswith(f"  suspects: {uncommitted}; no commit since ") for line in told())


def test_where_the_commit_of_the_last_passing_night_is_gone_an_earlier_one_begins_the_range(
    fake_shop: Workshop,
) -> None:
    root = fake_shop.root
    fake_shop.write(".gitignore", "runs/\n")
    accept_all(fake_shop)
    git_projects.start(root)
    good = git_projects.commit(root, "Accept")[:7]
    assert night(fake_shop).output == ""
    fake_shop.write("README.md", "Kernels\n")
    gone = git_projects.commit(root, "Add a README")[:7]
    assert night(fake_shop).output == ""
    git_projects.git(root, "reset", "-q", "--hard", good)
    git_projects.git(root, "reflog", "expire", "--expire=now", "--all")
    git_projects.git(root, "prune", "--expire=now")
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    bad = git_projects.commit(root, "Take three")[:7]
    told = night(fake_shop).stdout
    assert f"1 new failure: scale — 1 commit since {good}\n" in told
    assert f"  suspects: {bad} Take three (A. Author); {gone}, on which it passed later, is gone from git\n" in told


def test_suspects_are_as_sure_as_the_files_of_the_case(fake_shop: Workshop) -> None:
    def told() -> list[str]:
        return [line.strip() for line in night(fake_shop).stdout.splitlines()]

    root = fake_shop.root
    fake_shop.write(".gitignore", "runs/\n")
    fake_shop.write("pyproject.toml", "[tool.gpuregress]\n")
    fake_shop.write("kernels/factor.cuh", "// twice\n")
    include = '#if __has_include("factor.cuh")\n#include "factor.cuh"\n#endif\n#include "../vendor/both.cuh"\n'
    git_projects.start(root / "vendor")
    fake_shop.write("vendor/both.cuh", "// a header\n")
    git_projects.commit(root / "vendor", "Begin")
    fake_shop.write("kernels/scale.cu", f"{include}{KERNEL}")
    accept_all(fake_shop)
    git_projects.start(root)
    git_projects.git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "./vendor", "vendor")
    good = git_projects.commit(root, "Accept")
    assert told() == []
    fake_shop.write("vendor/README.md", "A library\n")
    git_projects.commit(root / "vendor", "Describe it")
    library = git_projects.commit(root, "Take a library")[:7]
    (root / "kernels/factor.cuh").unlink()
    gone = git_projects.commit(root, "Remove a header")[:7]
    fake_shop.write("pyproject.toml", "[tool.gpuregress]\nlimits = {timeout = 20}\n")
    settings = git_projects.commit(root, "Set a limit")[:7]
    fake_shop.write("README.md", "Kernels\n")
    git_projects.commit(root, "Add a README")
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    subjects = (f"{settings} Set a limit", f"{gone} Remove a header", f"{library} Take a library")
    named = ", ".join(f"{subject} (A. Author)" for subject in subjects)
    uncommitted = "uncommitted changes of configs/scale.yaml"
    assert f"suspects: {uncommitted}; {named}; 1 other commit since {good[:7]}" in told()


def test_suspects_are_no_surer_than_git(fake_shop: Workshop) -> None:
    def told() -> list[str]:
        lines = [line.strip() for line in night(fake_shop).stdout.splitlines()]
        return [line for line in lines if "suspects" in line or "new failure" in line]

    root = fake_shop.root
    fake_shop.write(".gitignore", "runs/\n")
    accept_all(fake_shop)
    git_projects.start(root)
    old = git_projects.commit(root, "Accept")
    fake_shop.write("kernels/scale.cu", f"#define HEADER <both.cuh>\n#if 0\n#include HEADER\n#endif\n{KERNEL}")
    good = git_projects.commit(root, "Include by a macro")
    accept_all(fake_shop)
    assert told() == []
    git_projects.git(root, "checkout", "-q", "--detach", old)
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    beside = f"{good[:7]} is not in the history of {old[:7]}, which lacks 1 commit of it"
    first, suspects = told()
    assert first == f"1 new failure: scale — {beside}, changed work tree"
    assert suspects.startswith("suspects: uncommitted changes of configs/scale.yaml; no commit since")
    assert beside in suspects
    fake_shop.job()
    git_projects.git(root, "checkout", "-q", "main")
    assert told() == []
    fake_shop.write("README.md", "Kernels\n")
    git_projects.commit(root, "Add a README")
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    perhaps = f"perhaps the one commit since {good[:7]}: not all its files are known (scale.cu:3"
    assert any(line.startswith(f"suspects: uncommitted changes of configs/scale.yaml; {perhaps}") for line in told())


def test_suspects_are_unknown_where_git_lacks_a_tree(fake_shop: Workshop) -> None:
    root = fake_shop.root
    fake_shop.write(".gitignore", "runs/\n")
    accept_all(fake_shop)
    git_projects.start(root)
    git_projects.commit(root, "Accept")
    assert night(fake_shop).stdout == ""
    tree = git_projects.git(root, "rev-parse", "HEAD^{tree}").strip()
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    git_projects.commit(root, "Take three")
    (root / ".git/objects" / tree[:2] / tree[2:]).unlink()  # as in a partial clone
    told = night(fake_shop, "--bisect", "1").stdout
    assert told.splitlines()[0] == "1 new failure: scale"
    assert "  suspects: unknown, because git cannot compare the commits" in told
    assert "culprit of scale/n=100: not searched: git cannot compare the commits" in told


def test_the_culprits_of_new_failures_are_searched_within_a_time(fake_shop: Workshop) -> None:
    def told(*values: str, minutes: str) -> list[str]:
        for value in values:
            fake_shop.job(("{float32: 2.0}", f"{{float32: {value}}}"))
            git_projects.commit(fake_shop.root, f"Factor {value}")
        screen = night(fake_shop, "--bisect", minutes).stdout.splitlines()
        return [line for line in screen if line.startswith("culprit of scale/n=100: ")]

    fake_shop.write("gpuregress.yaml", "")
    fake_shop.write(".gitignore", "runs/\n")
    accept_all(fake_shop)
    git_projects.start(fake_shop.root)
    assert told("2.0", minutes="1") == []
    (line,) = told("3.0", "4.0", minutes="1")
    assert re.search(r": [0-9a-f]+ Factor 3\.0 \(A\. Author\), after 3 commits, [\d.]+ s$", line)
    assert told("2.0", minutes="1") == []
    assert len(told("3.0", minutes="1")) == 1, "a job that is changed back and forth is not flaky"
    fake_shop.job()  # it is not committed
    assert night(fake_shop).stdout.splitlines()[0] == "1 fixed: scale"
    git_projects.git(fake_shop.root, "checkout", "-q", ".")
    assert night(fake_shop).stdout.startswith("1 new failure"), "nor is one that is changed in the work tree"


def test_the_exit_code_of_a_night_is_kept_where_its_reader_leaves(shop: Workshop) -> None:
    shop.job(("kernel: scale", "kernel: skale"))
    command = [sys.executable, "-m", "gpuregress", "nightly", "--device", "cpu"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, cwd=shop.root, stdout=writer, stderr=subprocess.PIPE, check=False, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (4, "")


def test_a_night_with_a_deadline_names_what_had_no_turn(fake_shop: Workshop) -> None:
    accept_all(fake_shop)
    late = night(fake_shop, "--deadline", "1ms")
    assert late.exit_code == 1
    assert late.stdout.splitlines()[:2] == ["1 not started", "not started before the deadline: scale/n=100"]
    assert night(fake_shop, "--deadline", "6h").output == ""
    assert night(fake_shop, "--deadline", "soon").exit_code == 2


# --- the history ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["locked", "folder", "foreign", "later", "pipe"])
def test_trouble_with_the_history_is_said_and_changes_no_verdict(
    fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr("gpuregress.store.history.database.BUSY_S", 0.0)
    accept_all(fake_shop)
    path = fake_shop.root / "runs/history.sqlite"
    if what != "locked":
        path.unlink()
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    with contextlib.closing(sqlite3.connect(":memory:" if what in ("folder", "pipe") else path)) as database:
        database.executescript({"foreign": "CREATE TABLE runs (x)", "later": "PRAGMA user_version = 9"}.get(what, ""))
        if what == "locked":
            database.execute("BEGIN EXCLUSIVE")
        printed = night(fake_shop)
        assert (printed.exit_code, "note: this run is not in the history: " in printed.stdout) == (0, True)
        assert "this run is not in the history" in fake_shop.call(*RUN, "-q").stdout


# --- cron -------------------------------------------------------------------------------------------------------------


def test_the_crontab_line_works_as_it_is(tmp_path: Path) -> None:
    root = tmp_path / "a project, 100% ours"
    shop = workshop.make(root)
    printed = shop.call("nightly", "--help").stdout
    (line,) = [line for line in printed.splitlines() if line.startswith("0 2 * * *")]
    assert line == shop.call("nightly", "--install", "cron").stdout.removesuffix("\n")
    assert re.search(r"(?<!\\)%", line) is None
    command = line.split(maxsplit=5)[5].replace(r"\%", "%")
    cron = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "SHELL": "/bin/sh"}
    done = subprocess.run(["/bin/sh", "-c", command], cwd="/", env=cron, capture_output=True, text=True, check=False)
    assert "new      scale/n=100" in done.stdout  # cron mails it
    assert (done.stderr, (root / "runs/nightly.log").read_text()) == ("", done.stdout)


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
    printed = fake_shop.call("nightly", "--device", "cpu")
    assert printed.exit_code == 1
    assert "the baseline scale/n=200 has no case any more" in printed.stdout
    quiet = fake_shop.call("run", "--device", "cpu", "-q")
    assert "the baseline scale/n=200 has no case any more" in quiet.stdout


def test_nightly_whose_memory_is_damaged_says_so(fake_shop: Workshop) -> None:
    accepted(fake_shop)
    fake_shop.call("nightly", "--device", "cpu")
    fake_shop.write("runs/nightly.json", '{"cases": ["sca')
    printed = fake_shop.call("nightly", "--device", "cpu")
    assert printed.exit_code == 1
    assert "whether a case vanished since the last nightly run is not known" in printed.stdout
    assert fake_shop.call("nightly", "--device", "cpu").output == ""


def test_nightly_that_finds_the_lock_taken_is_75(fake_shop: Workshop) -> None:
    (fake_shop.root / "runs").mkdir()
    with storage.lock(fake_shop.root / "runs" / ".nightly.lock"):
        assert "locked" in fake_shop.fails(75, "nightly")
