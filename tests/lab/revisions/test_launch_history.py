from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.records import BufferVerdict, Case, Comparison
from gpuregress.lab.revisions import launch_history
from gpuregress.lab.revisions.launch_history import CaseResults
from gpuregress.store.project import find
from tests.judge.test_launch_slice import chain

CASE = chain(("t", "x"), ("y", "t"), ("y", "x"))


def run(root: Path, name: str, *states: str, case: Case = CASE) -> dict[str, Path]:
    """Write the folder of a run that dumped `t` after its first launch and `y` after the others; its dumps."""
    for number, state in enumerate(states, 1):
        folder = root / "runs" / name / "launches" / f"{number:04d}" / case.name
        folder.mkdir(parents=True)
        (folder / f"{'t' if number == 1 else 'y'}.{name}").write_text(state)
    final = root / "runs" / name / "dumps" / case.name / f"y.{name}"
    final.parent.mkdir(parents=True)
    final.write_text(states[-1])
    return {"y": final}


def message(root: Path, expected: dict[str, Path], actual: dict[str, Path]) -> str:
    (root / "configs").mkdir(exist_ok=True)
    failed = Comparison("y", "baseline", "", same=False, identical=False, of=8, differing=1)
    buffers = (BufferVerdict("y", "differ", comparisons=(failed,)),)
    (found,) = launch_history.with_first_wrong(
        find(root),
        CASE,
        (CaseResults(expected), CaseResults(actual)),
        buffers,
        lambda before, after, _name: before.read_text() != after.read_text(),
    )
    named = found.comparisons[0].first_wrong
    return named.message if named is not None else ""


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (
            ("t1", "bad", "worse"),
            "first wrong after launch 2 (double, fake.cu); the buffers it was given were the same",
        ),
        (("t1", "y2", "bad"), "first wrong after launch 3 (double, fake.cu); the buffers it was given were the same"),
        (
            ("bad", "worse", "worst"),
            (
                "first wrong after launch 1 (double, fake.cu); the buffers it was given were the same"
                "; the difference is in t, which y may not depend on; y differs since launch 2 (double, fake.cu)"
            ),
        ),
    ],
)
def test_dumps_of_every_launch_name_the_first_wrong_one(states: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    before, after = run(tmp_path, "old", "t1", "y2", "y3"), run(tmp_path, "new", *states)
    assert message(tmp_path, before, after) == expected


def test_a_dump_that_is_missing_names_none(tmp_path: Path) -> None:
    before, after = run(tmp_path, "old", "t1", "y2", "y3"), run(tmp_path, "new", "t1", "bad", "worse")
    (tmp_path / "runs" / "new" / "launches" / "0002" / CASE.name / "y.new").unlink()
    assert message(tmp_path, before, after) == ""


def test_runs_that_kept_nothing_name_none(tmp_path: Path) -> None:
    dumps = {}
    for name in ("old", "new"):
        dumps[name] = tmp_path / "runs" / name / "dumps" / CASE.name / f"y.{name}"
        dumps[name].parent.mkdir(parents=True)
        dumps[name].write_text(name)
    assert message(tmp_path, {"y": dumps["old"]}, {"y": dumps["new"]}) == ""
