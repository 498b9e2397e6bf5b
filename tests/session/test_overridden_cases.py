"""Cases with values of `--set`: without a baseline, and no part of what nights and the history know."""

from __future__ import annotations

import json

import pytest

from gpuregress.foundation.errors import BaselineError, NothingToDo
from gpuregress.foundation.records import Case
from gpuregress.gpu.records import replace
from gpuregress.jobs.spec.overrides import of_texts
from gpuregress.report import terminal
from gpuregress.session import accepting, missing_cases
from gpuregress.session.runs import history_entry
from gpuregress.store.baselines import BaselineStore
from tests import fakes
from tests.session.bench import Bench, words


def overridden(name: str = "fake/n=8") -> Case:
    case = replace(fakes.case("double", name=name), parameters={"n": 8})
    return case.with_settings(overridden=("n",))


def test_a_baseline_under_its_name_is_not_read_and_none_is_written(bench: Bench) -> None:
    bench.run(fakes.case("double", name="fake/n=8"))
    accepting.accept(bench.project)
    before = (bench.project.baselines / "cases.yaml").read_text()
    summary = bench.run(overridden(), fakes.case("count"), parameters=of_texts(["n=8"]))
    assert words(summary) == {"fake/n=8": "new", "fake/count": "new"}
    assert "n set by --set, so no baseline" in summary.verdicts[0].reason
    with pytest.raises(BaselineError, match="fake/n=8 is not accepted: n has a value of --set"):
        accepting.accept(bench.project, ["fake/n=8"])
    assert [verdict.case for verdict in accepting.pending(bench.project).verdicts] == ["fake/count"]
    done = accepting.accept(bench.project)
    assert ([one.case for one in done.accepted], [one.case for one in done.refused]) == (["fake/count"], ["fake/n=8"])
    added = set((bench.project.baselines / "cases.yaml").read_text().splitlines()) - set(before.splitlines())
    assert [line for line in added if "fake" in line] == ['  "fake/count": any']


def test_neither_history_nor_nights_know_it(bench: Bench) -> None:
    bench.run(overridden())
    with pytest.raises(NothingToDo), history_entry.opened(bench.project):
        pass
    bench.run(overridden(), fakes.case("double"))
    with history_entry.opened(bench.project) as history:
        assert history.case_names() == ("fake/double",)
    accepting.accept(bench.project, ["fake/double"])
    assert missing_cases.expected(bench.project).cases.keys() == {"fake/double"}
    assert BaselineStore(bench.project.baselines).case_names() == ("fake/double",)


def test_results_log_and_the_command_that_repeats_it_have_the_values(bench: Bench) -> None:
    summary = bench.run(overridden(), parameters=of_texts(["n=8"]))
    folder = bench.project.runs / summary.run
    document = json.loads((folder / "results.json").read_text())
    assert document["set"] == ["n=8"]
    assert document["cases"][0]["overridden"] == ["n"]
    assert "# set: n=8\n" in (folder / "launch.log").read_text()
    assert list(terminal.how_to_accept(summary)) == []
    assert list(terminal.how_to_repeat(summary)) == ["to run it again: gpuregress run fake/n=8 --set n=8"]
