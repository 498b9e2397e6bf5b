from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import BaselineError, Interrupted, NothingToDo, StorageError
from gpuregress.foundation.records import Observations
from gpuregress.gpu.records import replace
from gpuregress.session.accepting import accept
from gpuregress.session.runs import results
from gpuregress.session.runs.results import FinishedCase
from gpuregress.store.baselines import AcceptBatch, BaselineStore
from tests import fakes
from tests.session.bench import Bench, words


def test_new_then_accepted_then_pass(bench: Bench) -> None:
    first = bench.run(fakes.case("double"))
    assert (words(first), first.exit_code) == ({"fake/double": "new"}, 1)
    accepted = accept.accept(bench.project, (), accept.Terms("first"))
    assert [one.case for one in accepted.accepted] == ["fake/double"]
    second = bench.run(fakes.case("double"))
    assert (words(second), second.exit_code) == ({"fake/double": "pass"}, 0)
    with pytest.raises(NothingToDo, match="nothing to accept"):
        accept.accept(bench.project)


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

    monkeypatch.setattr(accept, "BATCH", 1)
    monkeypatch.setattr(AcceptBatch, "commit", filling)
    with pytest.raises(StorageError, match=r"no space is left; fake/.* and 1 more had been accepted"):
        accept.accept(bench.project)
    monkeypatch.undo()
    assert len(BaselineStore(bench.project.baselines).case_names()) == 2
    assert not list(bench.project.baselines.rglob(".gpuregress-tmp-*"))


def test_a_case_that_faulted_is_not_accepted_and_the_others_are(bench: Bench) -> None:
    bench.run(fakes.case("fault"), fakes.case("double"))
    done = accept.accept(bench.project)
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

    monkeypatch.setattr(accept, "BATCH", 1)
    monkeypatch.setattr(AcceptBatch, "commit", interrupting)
    with pytest.raises(Interrupted, match=r"interrupted; fake/double and 1 more had been accepted .*\(2 of 3 cases\)"):
        accept.accept(bench.project)
    monkeypatch.undo()
    assert BaselineStore(bench.project.baselines).case_names() == ("fake/count", "fake/double")


def test_an_interrupt_before_the_first_batch_stays_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run(fakes.case("double"))
    monkeypatch.setattr(AcceptBatch, "commit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        accept.accept(bench.project)


def interrupt(_batch: AcceptBatch) -> None:
    raise KeyboardInterrupt


def test_results_that_were_edited_are_not_accepted(bench: Bench) -> None:
    summary = bench.run(fakes.case("double"))
    path = Path(summary.folder) / "results.json"
    path.write_text(path.read_text().replace("new", "pass"))
    with pytest.raises(StorageError, match="edited or cut short"):
        accept.accept(bench.project)


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
            accept.accept(bench.project, selectors)
