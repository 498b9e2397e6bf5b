"""Fuzzing on the fake device; a real kernel with a planted bug is in docs/how-to/fuzzing.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuregress.foundation.errors import Interrupted, JobErrors, UsageError
from gpuregress.foundation.records import BoundCount, BranchCount, Coverage, FileCoverage, LoopCount
from gpuregress.lab.experiment import RunOptions
from gpuregress.lab.fuzzing import fuzz
from gpuregress.lab.fuzzing.candidates import Candidate
from gpuregress.lab.fuzzing.findings import FuzzTrials
from gpuregress.lab.fuzzing.fuzz import Corpus, FuzzReport, FuzzRequest, features
from gpuregress.store import project
from tests.lab.revisions.git_projects import everything
from tests.workshop import RUN, Workshop

CHECK = "checks: {out: [{range: [0, 198]}]}\n"


def fuzzed(shop: Workshop, **request: Any) -> FuzzReport:
    return fuzz.fuzz(project.find(shop.root), FuzzRequest("scale", **request), options=RunOptions("cpu"))


def judged(shop: Workshop, more: str = CHECK, *changes: tuple[str, str]) -> None:
    path = shop.job(*changes)
    path.write_text(path.read_text() + more)


def test_a_failure_becomes_a_job(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "SHRINK_S", 0.0)
    judged(fake_shop)
    report = fuzzed(fake_shop, keep=("x",), limit=6)
    (found,) = report.failures
    assert (report.tried, found.inputs, found.grade, found.path) == (6, "n=101", "own", "configs/fuzz/scale-1.yaml")
    assert "\nparameters:\n  n: [101]\n" in found.text
    assert (fake_shop.root / found.path).read_text() == found.text
    result = fake_shop.call(*RUN, str(fake_shop.root / found.path))
    assert (result.exit_code, "differ   scale-fuzz-1/n=101" in result.output) == (1, True)


def test_nothing_is_written_where_nothing_fails(fake_shop: Workshop) -> None:
    judged(fake_shop, "reference: {out: 'r.py:f'}\n")
    fake_shop.write("configs/r.py", "def f(inputs, case):\n    return 2 * inputs['x']\n")
    before = everything(fake_shop.root)
    report = fuzzed(fake_shop, limit=20)
    assert (report.failures, report.tried, report.judged_by) == (
        (),
        20,
        ("the reference of out", "2 schedules", "faults"),
    )
    assert report.infeasible > 0
    assert everything(fake_shop.root) == before


def test_without_a_reference_it_says_what_is_not_noticed(fake_shop: Workshop) -> None:
    report = fuzzed(fake_shop, limit=2)
    assert report.notes == (
        "the job has no reference that follows its inputs: wrong numbers are not noticed, only faults",
    )


@pytest.mark.parametrize(
    ("more", "changes", "request_", "words"),
    [
        ("checks: {out: [{range: [0, 1]}]}\n", (), {}, "scale/n=100 fails as it is: out: check"),
        ("expect: {fault: out-of-bounds}\n", (), {}, "scale expects a fault"),
        ("", (), {"keep": ("m",)}, "no parameter or buffer 'm' to keep: it has n, x, out"),
        ("", (), {"keep": ("n", "x")}, "scale has nothing to change"),
    ],
)
def test_jobs_that_cannot_be_fuzzed(
    fake_shop: Workshop, more: str, changes: tuple[tuple[str, str], ...], request_: dict[str, Any], words: str
) -> None:
    judged(fake_shop, more, *changes)
    with pytest.raises(UsageError, match=words):
        fuzzed(fake_shop, **request_)


def test_what_the_job_keeps_stays(fake_shop: Workshop) -> None:
    path = fake_shop.root / "configs/scale.yaml"
    path.write_text(path.read_text() + "fuzz: {keep: [n, x]}\n")
    with pytest.raises(UsageError, match="scale has nothing to change"):
        fuzzed(fake_shop)
    path.write_text(path.read_text().replace("[n, x]", "[n, z]"))
    with pytest.raises(JobErrors, match=r"fuzz.keep\[1\]: unknown parameter or buffer 'z'"):
        fuzzed(fake_shop)


def test_an_interruption_keeps_what_was_found(fake_shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(fake_shop)
    monkeypatch.setattr(fuzz, "SHRINK_S", 0.0)
    run, batches = FuzzTrials.run, []

    def interrupted(trials: FuzzTrials, batch: Any) -> Any:
        batches.append(batch)
        if len(batches) > 2:
            raise Interrupted("interrupted")
        return run(trials, batch)

    monkeypatch.setattr(FuzzTrials, "run", interrupted)
    report = fuzzed(fake_shop, keep=("x",))
    assert report.interrupted
    assert [Path(one.path).name for one in report.failures] == ["scale-1.yaml"]


def coverage(*lines: tuple[int, int], taken: int = 0) -> Coverage:
    branches = (BranchCount(3, 1, taken, 2),)
    loops = (LoopCount(5, 1, None, 1, 0),)
    return Coverage((FileCoverage("k.cu", lines, branches, loops, (BoundCount(6, 1, "lt", "i", "n", 1, 0, 9),)),))


def test_features_of_what_was_reached() -> None:
    assert set(features(coverage((1, 2), (2, 0)))) == {
        ("k.cu", "line", 1),
        ("k.cu", "branch", 3, 1, "branch", "", 1),
        ("k.cu", "loop", 5, 1, 0, "once"),
        ("k.cu", "bound", 6, 1, "i", "n", 0),
    }


def test_only_what_reaches_something_new_is_kept() -> None:
    corpus, first, other = Corpus(), Candidate(0), Candidate(1)
    assert corpus.add(first, coverage((1, 2)))
    assert not corpus.add(other, coverage((1, 7)))
    assert corpus.inputs == [first]
    assert corpus.add(other, coverage((1, 1), taken=1))
    assert corpus.inputs == [first, other]


def test_without_coverage_the_first_is_kept() -> None:
    corpus = Corpus()
    assert not corpus.add(Candidate(0), None)
    assert not corpus.add(Candidate(1), None)
    assert corpus.inputs == [Candidate(0)]
