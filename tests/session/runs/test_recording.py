from __future__ import annotations

import platform
from pathlib import Path

import pytest

from gpuregress.foundation import git
from gpuregress.foundation.errors import NothingToDo, RunLocked, StorageError
from gpuregress.foundation.records import Case, Program, RunSummary
from gpuregress.gpu.records import replace
from gpuregress.session import nightly
from gpuregress.session.nightly import NightTerms
from gpuregress.session.run_request import RunRequest
from gpuregress.session.runs import journal, recording, results, run_folders
from gpuregress.session.runs.recording import earlier_part
from gpuregress.store.dumps import run_names
from tests import fakes
from tests.session.bench import Bench, words
from tests.session.selections import CPU, GPU

CASES = tuple(fakes.case("double", name=f"fake/{n}") for n in range(4))


def night(bench: Bench, *cases: Case, resume: bool = False) -> RunSummary:
    bench.cases = cases
    with bench.machinery():
        return nightly.run(bench.project, RunRequest(device="cpu", jobs=1), NightTerms(resume=resume))


def cut(folder: Path, verdicts: int, torn: bytes = b"") -> None:
    """Leave of a run what a kill leaves after some verdicts."""
    path = folder / journal.FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: 1 + verdicts]) + torn)
    for name in (run_folders.RESULTS, "report.txt"):
        (folder / name).unlink(missing_ok=True)


def started(summary: RunSummary) -> list[str]:
    """The cases of the launch log, in the order of their launches."""
    text = (Path(summary.folder) / run_folders.LAUNCH_LOG).read_text()
    return [line.split()[4] for line in text.splitlines() if line.startswith("begin ")]


@pytest.mark.parametrize("torn", [b"", b'{"verdict":{"verdict":{"job"'])
def test_a_night_that_was_killed_is_continued_in_its_folder(bench: Bench, torn: bytes) -> None:
    first = night(bench, *CASES)
    cut(Path(first.folder), 2, torn)
    again = night(bench, *CASES, resume=True)
    assert (again.run, again.started, again.state) == (first.run, first.started, "finished")
    assert words(again) == {case.name: "new" for case in CASES}
    assert started(again) == ["fake/0", "fake/1", "fake/2", "fake/3", "fake/2", "fake/3"]
    assert "this night was cut short and continued: 2 cases had their verdicts before" in again.notes
    read = journal.read(Path(again.folder))
    assert (read.state, list(read.judged)) == ("finished", [case.name for case in CASES])
    assert results.document(Path(again.folder))["exit_code"] == 1
    numbers = [
        line.split()[1] for line in (Path(again.folder) / "launch.log").read_text().splitlines() if "begin" in line
    ]
    assert numbers == ["1", "2", "3", "4", "5", "6"]


def test_a_night_that_another_run_has_closed_is_continued_too(bench: Bench) -> None:
    first = night(bench, *CASES)
    cut(Path(first.folder), 3)
    bench.run(CASES[0])
    assert journal.read(Path(first.folder)).state == "cut short"
    again = night(bench, *CASES, resume=True)
    assert (again.run, words(again)["fake/3"]) == (first.run, "new")
    assert results.document(Path(again.folder))["state"] == "finished"


def test_a_case_that_changed_since_is_run_again(bench: Bench) -> None:
    first = night(bench, *CASES)
    cut(Path(first.folder), 3)
    changed = replace(CASES[1], source_digest="11")
    part = earlier_part(Path(first.folder), (CASES[0], changed, *CASES[2:]), "")
    assert list(part.kept) == ["fake/0", "fake/2"]


def test_a_case_whose_job_changed_since_is_run_again(bench: Bench) -> None:
    first = night(bench, *CASES)
    cut(Path(first.folder), 3)
    other_launch = replace(CASES[0], launches=CASES[0].launches * 2)
    other_limit = replace(CASES[1], limits=replace(CASES[1].limits, timeout=99.0))
    part = earlier_part(Path(first.folder), (other_launch, other_limit, *CASES[2:]), "")
    assert list(part.kept) == ["fake/2"]


def test_at_another_commit_every_case_is_run_again_and_the_night_is_of_that_commit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = night(bench, *CASES)
    cut(Path(first.folder), 3)
    monkeypatch.setattr(git, "work_tree_state", lambda _root: git.WorkTreeState("ab" * 20, "main"))
    again = night(bench, *CASES, resume=True)
    assert (again.run, again.commit) == (first.run, "ab" * 20)
    assert started(again)[4:] == [case.name for case in CASES]
    assert "continued at another commit: all of its cases were run again" in again.notes[0]
    read = journal.read(Path(again.folder))
    assert (read.start.commit, len(read.entries)) == ("ab" * 20, len(CASES))


def test_a_group_that_must_agree_is_run_again_as_a_whole(bench: Bench) -> None:
    def member(n: int) -> Case:
        case = fakes.case("double", name=f"fake/block={n}", parameters={"block": n})
        return replace(case, settings=replace(case.settings, agree=("block",)))

    group = (member(1), member(2))
    first = night(bench, *group, CASES[0])
    lines = (Path(first.folder) / journal.FILE).read_bytes().splitlines(keepends=True)
    kept = [line for line in lines[1:-1] if b"fake/block=2" not in line.partition(b'"outcome"')[0]]
    (Path(first.folder) / journal.FILE).write_bytes(b"".join([lines[0], *kept]))
    (Path(first.folder) / run_folders.RESULTS).unlink()
    assert list(earlier_part(Path(first.folder), (*group, CASES[0]), "").kept) == ["fake/0"]


def test_a_night_that_has_finished_is_not_continued(bench: Bench) -> None:
    with pytest.raises(NothingToDo, match="there is no night"):
        night(bench, *CASES, resume=True)
    finished = night(bench, *CASES)
    with pytest.raises(NothingToDo, match=f"{finished.run}, has finished"):
        night(bench, *CASES, resume=True)


def test_a_night_that_goes_on_is_not_continued(bench: Bench) -> None:
    first = night(bench, *CASES)
    cut(Path(first.folder), 1)
    start = journal.read(Path(first.folder)).start
    writer = journal.JournalWriter(Path(first.folder), start, is_new=False)
    try:
        with pytest.raises(RunLocked, match="goes on"):
            journal.JournalWriter(Path(first.folder), start, is_new=False)
    finally:
        writer.close()


def test_cases_that_came_since_are_run_and_those_that_are_gone_have_no_verdict(bench: Bench) -> None:
    first = night(bench, *CASES[:3])
    cut(Path(first.folder), 1)
    again = night(bench, *CASES[1:], resume=True)
    assert list(words(again)) == ["fake/1", "fake/2", "fake/3"]
    read = journal.read(Path(again.folder))
    assert (read.start.cases, list(read.judged)) == (("fake/1", "fake/2", "fake/3"), ["fake/1", "fake/2", "fake/3"])


def test_only_the_last_runs_are_kept(bench: Bench) -> None:
    names = [bench.run(fakes.case("double")).run for _ in range(5)]
    kept = [folder.name for folder in run_names.every(bench.project.runs)]
    assert len(kept) == 3
    assert names[-1] in kept


def test_a_runs_folder_that_cannot_be_made_is_a_storage_error(bench: Bench) -> None:
    bench.project.runs.write_text("in the way")
    with pytest.raises(StorageError, match="runs"):
        bench.run(fakes.case("double"))


def test_the_head_tells_the_programs_compiler_and_the_card() -> None:
    card = {"name": "NVIDIA X", "uuid": "GPU-1", "driver": "580.1", "throttle": "none"}
    program = replace(fakes.program(), compiler="nvrtc 13.5.37")
    devices = replace(GPU, cards={"cuda:1": card})
    actual = recording.log_header([fakes.case("double")], devices, [program, program])
    assert actual["compiler"] == "nvrtc 13.5.37"
    assert actual["cuda:1"] == "NVIDIA X, GPU-1, driver 580.1, clocks not held back"
    assert actual["seed of fake"] == "42"
    assert "seed of fake.x" in actual
    assert "seed of fake.out" not in actual


def test_the_system_is_named_without_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert recording.log_header([], CPU, [])["host"].split(", ")[1] == platform.platform()
    monkeypatch.setattr(platform, "system", lambda: "Plan 9")
    monkeypatch.setattr(platform, "platform", lambda: "Plan-9")
    assert recording.log_header([], CPU, [])["host"].split(", ")[1] == "Plan-9"


def _program(compiler: str) -> Program:
    return replace(fakes.program(), compiler=compiler)


def test_several_compilers_are_all_named() -> None:
    actual = recording.log_header([], CPU, [_program("nvrtc 13.5.37"), _program("ptx as given")])
    assert actual["compiler"] == "nvrtc 13.5.37, ptx as given"


def test_cases_of_other_seeds_have_lines_of_their_own() -> None:
    first = fakes.case("double", name="fake/n=1")
    second = replace(first, name="fake/n=2", seed=7)
    actual = recording.log_header([first, second], CPU, [])
    assert (actual["seed of fake/n=1"], actual["seed of fake/n=2"]) == ("42", "7")
    assert {"seed of fake/n=1.x", "seed of fake/n=2.x"} <= actual.keys()
    assert "seed of fake" not in actual
