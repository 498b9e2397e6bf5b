from __future__ import annotations

from gpuregress.lab.commits import kept_dumps
from gpuregress.session.accepting import accept
from tests import fakes
from tests.session.bench import Bench


def test_baselines_come_before_runs_and_new_runs_before_old_ones(bench: Bench) -> None:
    case = fakes.case("count")
    bench.run(case)
    assert kept_dumps.find(bench.project, case, kept_dumps.BASELINE) == {}
    assert bench.project.runs in kept_dumps.find(bench.project, case, "1.4")["out"].parents
    accept.accept(bench.project)
    bench.run(fakes.case("count", revision="1.5"))
    newest = bench.run(fakes.case("count", revision="1.5"))
    assert bench.project.baselines in kept_dumps.find(bench.project, case, "1.4")["out"].parents
    assert bench.project.baselines in kept_dumps.find(bench.project, case, kept_dumps.BASELINE)["out"].parents
    assert newest.run in str(kept_dumps.find(bench.project, case, "1.5")["out"])
    assert set(kept_dumps.revisions(bench.project, case)) == {"1.4", "1.5"}


def test_words_that_are_no_name_of_a_file_have_no_dumps(bench: Bench) -> None:
    case = fakes.case("count")
    bench.run(case)
    for word in ("HEAD~2", "", "x" * 5000, "a\0b", "refs/tags/1.4"):
        assert kept_dumps.find(bench.project, case, word) == {}
