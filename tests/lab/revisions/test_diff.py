from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import NothingToDo
from gpuregress.jobs import plan
from gpuregress.jobs.plan import Plan
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.revisions import diff
from gpuregress.lab.revisions.diff import Differences
from gpuregress.session import accepting
from gpuregress.store import project
from tests import fakes
from tests.lab.revisions.git_projects import commit, everything, factors, faulting
from tests.session.bench import Bench
from tests.workshop import Workshop


def test_two_files_are_compared_to_the_bit(tmp_path: Path) -> None:
    first, second = tmp_path / "x.1", tmp_path / "x.2"
    first.write_text("# gpuregress 1 float32 [2]\n1.0\n2.0\n")
    second.write_text("# gpuregress 1 float32 [2]\n1.0\n2.5\n")
    same, changed = diff.compare_files(first, first), diff.compare_files(first, second)
    assert (same.exit_code, changed.exit_code) == (0, 1)
    (comparison,) = changed.verdicts[0].buffers[0].comparisons
    assert (comparison.differing, comparison.of) == (1, 2)


def test_revisions_are_found_in_baselines_and_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    case = fakes.case("count")
    monkeypatch.setattr(plan, "make", lambda *_arguments: Plan((case,)))
    bench.run(case)
    accepting.accept(bench.project)
    bench.run(fakes.case("count", "count", name=case.name, revision="1.5"))
    actual = diff.compare_revisions(bench.project, "baseline", "1.5")
    assert (actual.verdicts[0].status, actual.exit_code) == ("differ", 1)
    assert diff.compare_revisions(bench.project, "1.4", "baseline").exit_code == 0
    with pytest.raises(NothingToDo, match=r"dumps of both 1.4 and 9; there are dumps of: 1.4, 1.5"):
        diff.compare_revisions(bench.project, "1.4", "9")


def test_two_commits_and_the_work_tree(fake_shop: Workshop) -> None:
    factors(fake_shop, "2.0", "3.0")
    before = everything(fake_shop.root)
    differ = compared(fake_shop, "HEAD~1", "HEAD")
    (verdict,) = differ.verdicts
    assert (differ.exit_code, verdict.reason) == (1, "out: not the same in HEAD~1 and HEAD")
    assert (verdict.buffers[0].dump, verdict.buffers[0].baseline) == ("", "")
    assert compared(fake_shop, "HEAD", "worktree").exit_code == 0
    assert everything(fake_shop.root) == before


def test_an_unknown_word_runs_nothing(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    factors(fake_shop, "2.0")
    monkeypatch.setattr("gpuregress.session.session.run", None)
    with pytest.raises(NothingToDo, match=r"dumps of both v1 and worktree; .*: none; git knows no commit 'v1'"):
        compared(fake_shop, "v1", "worktree")


def test_a_fault_on_one_side_on_both_and_as_expected(fake_shop: Workshop) -> None:
    factors(fake_shop, "2.0")
    faulting(fake_shop)
    commit(fake_shop.root, "Fault")
    fault = compared(fake_shop, "HEAD~1", "HEAD")
    assert (fault.verdicts[0].status, fault.exit_code) == ("fault", 3)
    assert fault.verdicts[0].reason.startswith("HEAD: fault: out-of-bounds")
    assert compared(fake_shop, "HEAD", "worktree").verdicts[0].reason.count("fault: out-of-bounds") == 2
    fake_shop.write(
        "configs/scale.yaml", (fake_shop.root / "configs/scale.yaml").read_text() + "expect: {fault: out-of-bounds}\n"
    )
    commit(fake_shop.root, "Expect it")
    assert compared(fake_shop, "HEAD", "worktree").exit_code == 0
    ended = compared(fake_shop, "HEAD~2", "HEAD")
    assert (ended.verdicts[0].status, ended.exit_code) == ("differ", 1)
    assert ended.verdicts[0].reason.endswith("HEAD~2: it ran to its end")
    with pytest.raises(NothingToDo):
        compared(fake_shop, "baseline", "HEAD")


def compared(shop: Workshop, before: str, after: str) -> Differences:
    return diff.compare_revisions(project.find(shop.root), before, after, options=RunOptions("cpu"))
