from __future__ import annotations

from gpuregress.lab.revisions import sides
from gpuregress.session import accepting
from tests import fakes
from tests.session.bench import Bench


def test_baselines_come_before_runs_and_new_runs_before_old_ones(bench: Bench) -> None:
    case = fakes.case("count")
    bench.run(case)
    assert sides.find_dumps(bench.project, case, sides.BASELINE) == {}
    assert bench.project.runs in sides.find_dumps(bench.project, case, "1.4")["out"].parents
    accepting.accept(bench.project)
    bench.run(fakes.case("count", revision="1.5"))
    newest = bench.run(fakes.case("count", revision="1.5"))
    assert bench.project.baselines in sides.find_dumps(bench.project, case, "1.4")["out"].parents
    assert bench.project.baselines in sides.find_dumps(bench.project, case, sides.BASELINE)["out"].parents
    assert newest.run in str(sides.find_dumps(bench.project, case, "1.5")["out"])
    assert set(sides.revisions(bench.project, case)) == {"1.4", "1.5"}


def test_words_that_are_no_name_of_a_file_have_no_dumps(bench: Bench) -> None:
    case = fakes.case("count")
    bench.run(case)
    for word in ("HEAD~2", "", "x" * 5000, "a\0b", "refs/tags/1.4"):
        assert sides.find_dumps(bench.project, case, word) == {}
