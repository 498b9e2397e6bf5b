"""Bisection on the fake device: jobs of commits pass other factors to a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import NothingToDo, UsageError
from gpuregress.foundation.records import Status, Verdict
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import bisect
from gpuregress.lab.revisions.bisect import Bisection
from gpuregress.store import project
from tests.lab.revisions.git_projects import commit, everything, factors, faulting, git, start
from tests.workshop import KERNEL, Workshop


def search(shop: Workshop, good: str, bad: str, *, case: str = "scale", this_job: bool = False) -> Bisection:
    here = project.find(shop.root)
    return bisect.bisect(here, case, good, bad, this_job=this_job, options=RunOptions("cpu"))


def test_the_first_commit_whose_result_differs(fake_shop: Workshop) -> None:
    hashes = factors(fake_shop, "2.0", "2.0", "2.0", "3.0", "3.0", "4.0")
    fake_shop.write("kernels/scale.cu", KERNEL + "// not committed\n")
    before = everything(fake_shop.root)
    found = search(fake_shop, "HEAD~5", "HEAD")
    assert (found.first_bad.hash, found.first_bad.subject, found.changed) == (
        *(hashes[3], "Commit 3"),
        ("configs/scale.yaml",),
    )
    assert (found.possible, found.exit_code, found.cases) == ((), 0, ("scale/n=100",))
    tested = [one.commit.hash for one in found.tested]
    assert len(tested) == len(set(tested)) <= 5
    (verdict,) = found.verdicts
    assert verdict.status == "differ"
    (compared,) = (one for one in verdict.buffers[0].comparisons if not one.same)
    assert (compared.differing, verdict.buffers[0].dump) == (99, "")
    assert everything(fake_shop.root) == before


def test_commits_that_cannot_be_judged_are_skipped(fake_shop: Workshop) -> None:
    factors(fake_shop, "2.0", "2.0")
    fake_shop.write("kernels/scale.cu", f"{KERNEL}\nno C++\n")
    broken = commit(fake_shop.root, "Break the source")
    fake_shop.write("kernels/scale.cu", KERNEL)
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    bad = commit(fake_shop.root, "Factor 3")
    commit(fake_shop.root, "Nothing")
    found = search(fake_shop, "HEAD~4", "HEAD")
    assert (found.first_bad.hash, [one.hash for one in found.possible], found.exit_code) == (bad, [broken], 1)
    (skipped,) = (one for one in found.tested if one.state == "skip")
    assert "error" in skipped.reason
    assert search(fake_shop, "HEAD~4", "HEAD~1").first_bad.hash == bad


def test_a_bug_on_a_merged_branch(fake_shop: Workshop) -> None:
    hashes = factors(fake_shop, "2.0", "2.0")
    git(fake_shop.root, "checkout", "-q", "-b", "side", hashes[0])
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    bad = commit(fake_shop.root, "Factor 3")
    commit(fake_shop.root, "Nothing")
    git(fake_shop.root, "checkout", "-q", "main")
    fake_shop.write("other", "x")
    commit(fake_shop.root, "Other")
    git(fake_shop.root, "merge", "-q", "-m", "Merge", "side")
    assert search(fake_shop, hashes[1], "HEAD").first_bad.hash == bad


def test_a_good_commit_of_another_branch(fake_shop: Workshop) -> None:
    hashes = factors(fake_shop, "2.0", "3.0")
    git(fake_shop.root, "checkout", "-q", "-b", "side", hashes[0])
    commit(fake_shop.root, "Side")
    assert search(fake_shop, "side", "main").first_bad.hash == hashes[1]
    fake_shop.job(("{float32: 2.0}", "{float32: 3.0}"))
    commit(fake_shop.root, "Factor 3")
    git(fake_shop.root, "checkout", "-q", "-b", "late", hashes[0])
    commit(fake_shop.root, "Late")
    with pytest.raises(UsageError, match="the result differs already at"):
        search(fake_shop, "side", "late")


def test_a_fault_is_bad(fake_shop: Workshop) -> None:
    factors(fake_shop, "2.0")
    faulting(fake_shop)
    bad = commit(fake_shop.root, "Fault")
    commit(fake_shop.root, "Nothing")
    found = search(fake_shop, "HEAD~2", "HEAD")
    assert (found.first_bad.hash, found.verdicts[0].status) == (bad, "fault")


def test_the_job_of_the_work_tree_on_request_and_where_an_end_lacks_the_case(fake_shop: Workshop) -> None:
    factors(fake_shop, "2.0", "3.0")
    assert search(fake_shop, "HEAD~1", "HEAD").notes == ()
    with pytest.raises(NothingToDo, match="no bad commit"):
        search(fake_shop, "HEAD~1", "HEAD", this_job=True)
    fake_shop.write("configs/later.yaml", (fake_shop.root / "configs/scale.yaml").read_text())
    with pytest.raises(NothingToDo, match="no bad commit"):
        search(fake_shop, "HEAD~1", "HEAD", case="later")


@pytest.mark.parametrize(
    ("statuses", "state", "reason"),
    [
        (("pass", "skip", "new"), "good", ""),
        (("error", "pass", "differ"), "bad", "differ 2: why"),
        (("timeout",), "bad", "timeout 0: why"),
        (("pass", "error"), "skip", "error 1: why"),
        (("skip", "skip"), "skip", "skip 0: why"),
        ((), "good", ""),
    ],
)
def test_the_state_of_a_commit(statuses: tuple[Status, ...], state: str, reason: str) -> None:
    verdicts = [Verdict("job", str(number), status, "why") for number, status in enumerate(statuses)]
    assert bisect._judged(verdicts, "result") == (state, reason)


def test_ends_that_are_not_what_they_should_be(fake_shop: Workshop, tmp_path: Path) -> None:
    factors(fake_shop, "2.0", "2.0", "3.0")
    with pytest.raises(NothingToDo, match=r"the result of .* is that of .*: there is no bad commit"):
        search(fake_shop, "HEAD~2", "HEAD~1")
    with pytest.raises(UsageError, match="name the good commit first"):
        search(fake_shop, "HEAD", "HEAD~2")
    with pytest.raises(UsageError, match="git knows no commit 'v9'"):
        search(fake_shop, "v9", "HEAD")
    fake_shop.write(
        "configs/scale.yaml", (fake_shop.root / "configs/scale.yaml").read_text() + "checks: {out: [unique]}\n"
    )
    commit(fake_shop.root, "Check")
    fake_shop.job(("fill: arange", "fill: zeros"))
    text = (fake_shop.root / "configs/scale.yaml").read_text()
    fake_shop.write("configs/scale.yaml", text + "checks: {out: [unique]}\n")
    commit(fake_shop.root, "Zeros")
    commit(fake_shop.root, "Nothing")
    with pytest.raises(UsageError, match=r"the good commit .* is not good: differ scale/n=100: out: check"):
        search(fake_shop, "HEAD~1", "HEAD")


def test_cases_that_must_agree_are_run_together(fake_shop: Workshop) -> None:
    start(fake_shop.root)
    for factor in ("2.0", "block / 16"):
        fake_shop.job(("n: [100]", "n: [100]\n  block: [32, 64]"), ("{float32: 2.0}", f"{{float32: {factor}}}"))
        text = (fake_shop.root / "configs/scale.yaml").read_text()
        fake_shop.write("configs/scale.yaml", text + "agree: [block]\n")
        commit(fake_shop.root, factor)
    found = search(fake_shop, "HEAD~1", "HEAD")
    assert found.cases == ("scale/n=100,block=32", "scale/n=100,block=64")
    assert [one.case for one in found.verdicts] == ["scale/n=100,block=64"]
