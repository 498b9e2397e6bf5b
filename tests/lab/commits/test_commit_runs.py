from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuregress.foundation.errors import UsageError
from gpuregress.foundation.records import RunSummary
from gpuregress.gpu.records import replace
from gpuregress.jobs import plan
from gpuregress.lab.commits import borrowed_job, commit_runs, repository
from gpuregress.lab.commits.commit_runs import CommitRuns, CommitUnusable, RunOptions
from gpuregress.session.accepting import accept
from gpuregress.store import project
from tests.lab.commits.git_projects import commit, everything, factors, start
from tests.workshop import RUN, Workshop

CPU = RunOptions("cpu")
CASE = "scale/n=100"


@pytest.fixture
def commits(fake_shop: Workshop) -> list[str]:
    return factors(fake_shop, "2.0", "3.0")


@pytest.fixture
def runs(fake_shop: Workshop, commits: list[str]) -> Iterator[CommitRuns]:
    with commit_runs.opened(repository.require(fake_shop.root), project.find(fake_shop.root), CPU) as opened:
        yield opened


def first_value(summary: RunSummary) -> str:
    (verdict,) = summary.verdicts
    assert verdict.outcome is not None
    return Path(verdict.outcome.dumps[0].path).read_text().splitlines()[2]


def test_each_commit_runs_with_its_own_job(fake_shop: Workshop, commits: list[str], runs: CommitRuns) -> None:
    before = everything(fake_shop.root)
    assert [first_value(runs.run(name, [CASE])) for name in commits] == ["2.0", "3.0"]
    assert runs.case_names(commits[0], ["scale", "other"]) == {CASE}
    assert everything(fake_shop.root) == before


def test_inputs_of_earlier_runs_are_those_of_the_work_tree(
    fake_shop: Workshop, commits: list[str], runs: CommitRuns
) -> None:
    assert fake_shop.call(*RUN, "scale").exit_code == 1
    text = (fake_shop.root / "configs/scale.yaml").read_text()
    fake_shop.write("configs/next.yaml", text.replace("arange", '{file: "run:latest/scale/n={n}/out"}'))
    later = commit(fake_shop.root, "Add a job on the results of the first")
    assert [first_value(runs.run(name, ["next/n=100"])) for name in (later, later)] == ["9.0", "9.0"]


def test_a_borrowed_job_runs_in_every_commit(fake_shop: Workshop, commits: list[str], runs: CommitRuns) -> None:
    fake_shop.job(("{float32: 2.0}", "{float32: 5.0}"))
    runs.borrowed = borrowed_job.files(
        repository.require(fake_shop.root), plan.make(project.find(fake_shop.root), []).cases
    )
    assert [first_value(runs.run(name, [CASE])) for name in commits] == ["5.0", "5.0"]
    runs.borrowed = {}
    assert first_value(runs.run(commits[1], [CASE])) == "3.0"


def test_results_are_judged_against_the_given_baselines(commits: list[str], runs: CommitRuns) -> None:
    first = runs.run(commits[0], [CASE])
    assert [one.status for one in first.verdicts] == ["new"]
    there = runs.switch(commits[0])
    accepted = there.runs.with_name("accepted")
    accept.accept(replace(there, baselines=accepted))
    statuses = [runs.run(name, [CASE], accepted).verdicts[0].status for name in commits]
    assert statuses == ["pass", "differ"]


def test_a_commit_without_the_case_or_with_a_wrong_job(fake_shop: Workshop, commits: list[str]) -> None:
    fake_shop.write("configs/scale.yaml", "source: ../kernels/scale.cu\nbufers: {}\n")
    wrong = commit(fake_shop.root, "Break the job")
    (fake_shop.root / "configs/scale.yaml").unlink()
    gone = commit(fake_shop.root, "Remove the job")
    fake_shop.write("configs/other.yaml", "")
    here = project.find(fake_shop.root)
    with commit_runs.opened(repository.require(fake_shop.root), here, CPU) as runs:
        with pytest.raises(CommitUnusable, match=r"(?m)^configs/scale.yaml:2: bufers: unknown key"):
            runs.run(wrong, [CASE])
        with pytest.raises(CommitUnusable, match="it has no project"):
            runs.run(gone, [CASE])
        assert runs.case_names(wrong, ["scale"]) == frozenset()
        assert runs.case_names(gone, ["scale"]) == frozenset()
        assert first_value(runs.run(commits[0], [CASE])) == "2.0"


def test_a_project_outside_the_repository(fake_shop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    start(other)
    name = commit(other, "x")
    here = project.find(fake_shop.root)
    with commit_runs.opened(repository.require(other), here, CPU) as runs, pytest.raises(UsageError, match="outside"):
        runs.run(name, [CASE])
