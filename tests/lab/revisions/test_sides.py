from __future__ import annotations

import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.jobs import plan
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import sides
from gpuregress.lab.revisions.sides import SidesRequest
from gpuregress.session import accepting
from gpuregress.store import project
from tests import fakes
from tests.lab.revisions.git_projects import commit, factors, faulting, git
from tests.session.bench import Bench
from tests.workshop import Workshop, accepted


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


CASE = "scale/n=100"


def request(shop: Workshop, *, this_job: bool = False) -> SidesRequest:
    here = project.find(shop.root)
    return SidesRequest(here, plan.make(here, []).cases, this_job=this_job, options=RunOptions("cpu"))


def values(shop: Workshop, *words: str, this_job: bool = False) -> tuple[list[str], list[tuple[str, ...]]]:
    """The first computed value of each side, and the notes."""
    before, after = words
    with sides.opened(request(shop, this_job=this_job), (before, after)) as found:
        dumps = [side.dumps(CASE)["out"].read_text().splitlines()[2] for side in found]
        return dumps, [side.notes for side in found]


def test_commits_and_the_work_tree(fake_shop: Workshop) -> None:
    factors(fake_shop, "2.0", "3.0")
    fake_shop.job(("{float32: 2.0}", "{float32: 4.0}"))
    assert values(fake_shop, "HEAD~1", "HEAD") == (["2.0", "3.0"], [(), ()])
    assert values(fake_shop, "main", "worktree") == (["3.0", "4.0"], [(), ()])
    assert values(fake_shop, "worktree", "HEAD~1")[0] == ["4.0", "2.0"]
    assert values(fake_shop, "HEAD~1", "HEAD", this_job=True)[0] == ["4.0", "4.0"]


def test_kept_dumps_come_first_and_a_tag_of_that_name_is_told(fake_shop: Workshop) -> None:
    factors(fake_shop, "2.0")
    accepted(fake_shop)
    fake_shop.job(("{float32: 2.0}", "{float32: 4.0}"))
    commit(fake_shop.root, "Factor 4")
    git(fake_shop.root, "tag", "1.4")
    found, (notes, _) = values(fake_shop, "1.4", "HEAD")
    assert found == ["2.0", "4.0"]
    assert notes == ("1.4 names both kept dumps and a git commit: the dumps were used",)
    assert values(fake_shop, "refs/tags/1.4", "baseline")[0] == ["4.0", "2.0"]


def test_a_case_that_one_commit_lacks_is_run_with_the_job_of_the_work_tree_in_both(fake_shop: Workshop) -> None:
    factors(fake_shop, "2.0", "3.0")
    fake_shop.job(("{float32: 2.0}", "{float32: 4.0}"), ("scale", "scale"), name="other")
    fake_shop.write("configs/other.yaml", "job: other\n" + (fake_shop.root / "configs/other.yaml").read_text())
    with sides.opened(request(fake_shop), ("HEAD~1", "HEAD")) as found:
        texts = [side.dumps("other/n=100")["out"].read_text().splitlines()[2] for side in found]
        own = [side.dumps(CASE)["out"].read_text().splitlines()[2] for side in found]
    assert (texts, own) == (["4.0", "4.0"], ["2.0", "3.0"])
    assert any("lacks other/n=100: run with the job of the work tree" in note for side in found for note in side.notes)


def test_a_fault_is_a_failure_and_a_dump_is_none(fake_shop: Workshop) -> None:
    factors(fake_shop, "2.0")
    faulting(fake_shop)
    commit(fake_shop.root, "Fault")
    with sides.opened(request(fake_shop), ("HEAD~1", "HEAD")) as (before, after):
        failure = after.failure(CASE)
        assert before.failure(CASE) is None
        assert failure is not None
        assert (failure.status, after.dumps(CASE)) == ("fault", {})


def test_words_that_mean_nothing_and_commits_that_cannot_be_run(fake_shop: Workshop) -> None:
    with sides.opened(request(fake_shop), ("1.4", "9")) as (before, _):
        assert before.dumps(CASE) == {}
        assert "is in no git repository that can be read: not a git repository" in before.notes[0]
    factors(fake_shop, "2.0")
    with sides.opened(request(fake_shop), ("1.4", "HEAD")) as (before, _):
        assert (before.dumps(CASE), before.notes) == ({}, ("git knows no commit '1.4'",))
    (fake_shop.root / "kernels/scale.cu").rename(fake_shop.root / "kernels/new.cu")
    commit(fake_shop.root, "Rename the kernel")
    fake_shop.job(("scale.cu", "new.cu"))
    with pytest.raises(UsageError, match=r"HEAD~1 cannot be run: configs/scale.yaml:1: source: source not found"):
        values(fake_shop, "HEAD~1", "HEAD")
