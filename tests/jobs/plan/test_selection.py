from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import NothingToDo, UsageError
from gpuregress.jobs import plan
from gpuregress.jobs.plan import CaseFilter, CaseOverrides
from tests.jobs.plan.projects import FULL, JOB, project


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        ("reduce", 4),
        ("reduce/n=1000,tile=128", 1),
        ("reduce/n=1000*", 2),
        ("*tile=256", 4),
        ("re*", 4),
        ("configs/other.yaml", 4),
        ("configs", 8),
    ],
)
def test_selectors(selector: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = project(tmp_path, reduce=JOB, other=JOB)
    monkeypatch.chdir(tmp_path)
    assert len(plan.make(example, [selector]).cases) == count


def test_a_selector_that_names_nothing(tmp_path: Path) -> None:
    example = project(tmp_path, reduce=JOB)
    with pytest.raises(UsageError, match=r"there is no job 'reduc'; did you mean 'reduce'\?"):
        plan.make(example, ["reduc"])
    with pytest.raises(UsageError, match="there is no case 'reduce/n=100,tile=128'; did you mean"):
        plan.make(example, ["reduce/n=100,tile=128"])
    with pytest.raises(
        UsageError, match=r"there is no job file configs/redcue.yaml; did you mean 'configs/reduce.yaml'"
    ):
        plan.make(example, ["configs/redcue.yaml"])
    with pytest.raises(NothingToDo, match=r"no case matches 'x\*'"):
        plan.make(example, ["x*"])


def test_globs_tags_and_overrides(tmp_path: Path) -> None:
    example = project(tmp_path, reduce=FULL, other=JOB)
    assert len(plan.make(example, [], CaseFilter("reduce/*")).cases) == 3
    assert len(plan.make(example, [], CaseFilter("reduce/*tile=128|other")).cases) == 6
    with pytest.raises(NothingToDo, match=r"no case is left by -k REDUCE/\*"):
        plan.make(example, [], CaseFilter("REDUCE/*"))
    with pytest.raises(NothingToDo, match="no case is left by -k none, beside the other globs"):
        plan.make(example, [], CaseFilter("reduce/*|none"))
    assert {case.job for case in plan.make(example, [], CaseFilter(tags=["quick", "slow"])).cases} == {"reduce"}
    (first, *_) = plan.make(example, [], overrides=CaseOverrides(7, 1.5)).cases
    assert (first.repeat, first.limits.timeout) == (7, 1.5)
    with pytest.raises(NothingToDo, match="no case is left by --tag slow"):
        plan.make(example, [], CaseFilter(tags=["slow"]))
    with pytest.raises(UsageError, match="--repeat 0"):
        plan.make(example, [], overrides=CaseOverrides(repeat=0))


def test_no_jobs(tmp_path: Path) -> None:
    with pytest.raises(NothingToDo, match="there is no job in"):
        plan.make(project(tmp_path), [])


def test_hidden_files_are_no_jobs(tmp_path: Path) -> None:
    example = project(tmp_path, reduce=JOB)
    (tmp_path / "configs" / ".old.yaml").write_text("nonsense: 1\n")
    assert len(plan.make(example, []).cases) == 4
