from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuregress.foundation.errors import BaselineError, Interrupted, NothingToDo, StorageError, UsageError
from gpuregress.foundation.records import MadeOf, Observations, Outcome, Verdict
from gpuregress.gpu.records import replace
from gpuregress.session import accepting, repository
from gpuregress.session.accepting import select_cases
from gpuregress.session.runs import results
from gpuregress.session.runs.results import FinishedCase
from gpuregress.store.baselines import AcceptBatch, BaselineStore
from tests import fakes
from tests.lab.revisions import git_projects
from tests.session.bench import Bench, words


def test_new_then_accepted_then_pass(bench: Bench) -> None:
    first = bench.run(fakes.case("double"))
    assert (words(first), first.exit_code) == ({"fake/double": "new"}, 1)
    accepted = accepting.accept(bench.project, (), accepting.Terms("first"))
    assert [one.case for one in accepted.accepted] == ["fake/double"]
    second = bench.run(fakes.case("double"))
    assert (words(second), second.exit_code) == ({"fake/double": "pass"}, 0)
    with pytest.raises(NothingToDo, match="nothing to accept"):
        accepting.accept(bench.project)


def test_a_name_in_latin_1_is_no_obstacle(bench: Bench) -> None:
    root = bench.project.root
    root.mkdir(exist_ok=True)
    git_projects.start(root)
    git_projects.git(root, "checkout", "-q", "-b", os.fsdecode(b"f\xfcr"))
    with (root / ".git/config").open("ab") as config:
        config.write(b"[user]\nname = J\xf6rg\n")
    git_projects.commit(root, "One")
    content = git_projects.git(root, "cat-file", "commit", "HEAD").encode().replace(b"A. Author", b"J\xf6rg")
    (root / "commit").write_bytes(content)  # `git commit` would write UTF-8; not every program does
    theirs = git_projects.git(root, "hash-object", "-t", "commit", "-w", "commit").strip()
    summary = bench.run(fakes.case("double"))
    accepting.accept(bench.project)
    assert (summary.branch, accepting.user_name(root)) == (
        "f\N{REPLACEMENT CHARACTER}r",
        "J\N{REPLACEMENT CHARACTER}rg",
    )
    assert repository.require(root).commit(theirs).author == "J\N{REPLACEMENT CHARACTER}rg"


def test_a_disk_that_fills_while_accepting_says_what_was_accepted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.run(fakes.case("double"), fakes.case("count"), fakes.case("noise"))
    real, done = AcceptBatch.commit, list[int]()

    def filling(batch: AcceptBatch) -> None:
        if len(done) == 2:
            raise StorageError("no space is left")
        done.append(len(batch))
        real(batch)

    monkeypatch.setattr(accepting, "BATCH", 1)
    monkeypatch.setattr(AcceptBatch, "commit", filling)
    with pytest.raises(StorageError, match=r"no space is left; fake/.* and 1 more had been accepted"):
        accepting.accept(bench.project)
    monkeypatch.undo()
    assert len(BaselineStore(bench.project.baselines).case_names()) == 2
    assert not list(bench.project.baselines.rglob(".gpuregress-tmp-*"))


def test_a_case_that_faulted_is_not_accepted_and_the_others_are(bench: Bench) -> None:
    bench.run(fakes.case("fault"), fakes.case("double"))
    done = accepting.accept(bench.project)
    assert [one.case for one in done.accepted] == ["fake/double"]
    assert [one.case for one in done.refused] == ["fake/fault"]


def test_an_interrupt_after_a_batch_says_how_many_cases_are_accepted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.run(fakes.case("double"), fakes.case("count"), fakes.case("noise"))
    real, done = AcceptBatch.commit, list[int]()

    def interrupting(batch: AcceptBatch) -> None:
        real(batch)
        done.append(1)
        if len(done) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(accepting, "BATCH", 1)
    monkeypatch.setattr(AcceptBatch, "commit", interrupting)
    with pytest.raises(Interrupted, match=r"interrupted; fake/double and 1 more had been accepted .*\(2 of 3 cases\)"):
        accepting.accept(bench.project)
    monkeypatch.undo()
    assert BaselineStore(bench.project.baselines).case_names() == ("fake/count", "fake/double")


def test_an_interrupt_before_the_first_batch_stays_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run(fakes.case("double"))
    monkeypatch.setattr(AcceptBatch, "commit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        accepting.accept(bench.project)


def interrupt(_batch: AcceptBatch) -> None:
    raise KeyboardInterrupt


def test_results_that_were_edited_are_not_accepted(bench: Bench) -> None:
    summary = bench.run(fakes.case("double"))
    path = Path(summary.folder) / "results.json"
    path.write_text(path.read_text().replace("new", "pass"))
    with pytest.raises(StorageError, match="edited or cut short"):
        accepting.accept(bench.project)


def test_results_of_another_schedule_are_not_accepted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    read = results.read_cases

    def reversed_cases(folder: Path) -> dict[str, FinishedCase]:
        seen = Observations(schedule="reverse")
        return {
            name: replace(one, outcome=replace(one.outcome, observations=seen)) for name, one in read(folder).items()
        }

    bench.run(fakes.case("double"))
    monkeypatch.setattr(results, "read_cases", reversed_cases)
    for selectors in ((), ("fake/double",)):
        with pytest.raises(BaselineError, match="fake/double is not accepted: it ran with --schedule reverse"):
            accepting.accept(bench.project, selectors)


VERDICTS = (Verdict("a", "a/n=1", "new"), Verdict("a", "a/n=2", "pass"), Verdict("b", "b/n=1", "differ"))


def names(*selectors: str) -> list[str]:
    case = fakes.case("double", name="b/n=1", path="/project/configs/b.yaml")
    finished = {"b/n=1": FinishedCase(case, VERDICTS[2], Outcome("b/n=1", "done"), MadeOf("00"))}
    return [one.case for one in select_cases(VERDICTS, finished, selectors)]


@pytest.mark.parametrize(
    ("selectors", "selected"),
    [
        ((), ["a/n=1", "a/n=2", "b/n=1"]),
        (("a",), ["a/n=1", "a/n=2"]),
        (("b/n=1", "a/n=1"), ["b/n=1", "a/n=1"]),
        (("*/n=1",), ["a/n=1", "b/n=1"]),
        (("/project/configs/b.yaml",), ["b/n=1"]),
        (("a/n=1", "a"), ["a/n=1", "a/n=2"]),
    ],
)
def test_cases_are_selected_by_name_job_glob_and_file(selectors: tuple[str, ...], selected: list[str]) -> None:
    assert names(*selectors) == selected


def test_a_selector_without_a_case_names_those_that_ran() -> None:
    with pytest.raises(UsageError, match="no case of that run is called 'c'; it ran: a/n=1, a/n=2, b/n=1"):
        names("a", "c")


def undecided(bench: Bench) -> list[str]:
    return [verdict.case for verdict in accepting.pending(bench.project).verdicts]


def test_what_is_accepted_or_rejected_is_not_pending(bench: Bench) -> None:
    bench.run(fakes.case("double"), fakes.case("count"), fakes.case("noise"), fakes.case("fault"))
    assert undecided(bench) == ["fake/double", "fake/count", "fake/noise"]
    accepting.accept(bench.project, ["fake/double"])
    (rejection,) = accepting.reject(bench.project, ["fake/count"], why="wrong")
    assert (rejection.case, rejection.buffer, rejection.why) == ("fake/count", "out", "wrong")
    assert undecided(bench) == ["fake/noise"]
    assert [one.case for one in accepting.take_back(bench.project, ["fake"])] == ["fake/count"]
    assert undecided(bench) == ["fake/count", "fake/noise"]
    with pytest.raises(UsageError, match="fake/double is not rejected"):
        accepting.take_back(bench.project, ["fake/double"])


def test_a_run_without_anything_to_decide_says_so(bench: Bench) -> None:
    bench.run(fakes.case("double"), fakes.case("fault"))
    accepting.accept(bench.project)
    with pytest.raises(NothingToDo, match="nothing to decide"):
        accepting.pending(bench.project)
    with pytest.raises(BaselineError, match=r"nothing to reject: .* \(fake/fault: fault\)"):
        accepting.reject(bench.project, ["fake/fault"])
