from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.foundation.errors import JobErrors
from gpuregress.foundation.records import Case
from gpuregress.jobs.plan import variations
from tests.jobs.plan.projects import JOB, only, project

PLAIN = JOB
ONE = "reduce/n=1000,tile=128"


def planned(tmp_path: Path, more: str) -> Case:
    return only(project(tmp_path, reduce=PLAIN + more), ONE)


def test_each_seed_has_its_own_fills(tmp_path: Path) -> None:
    case = planned(tmp_path, "checks: {sum: [finite]}\nrepeat: {seeds: 3}\nseed: 42\n")
    assert [one.seed for one in case.seeds] == [43, 44]
    assert case.repeat == 1
    first, second = case.seeds
    assert set(first.fills) == {"x"}
    own = case.buffers["x"].fill
    assert own is not None
    assert len({own.seed, first.fills["x"].seed, second.fills["x"].seed}) == 3
    assert first.launches == ()
    assert variations.describe(case) == "3 seeds, 42 to 44"
    other = case.with_seed(first)
    assert (other.seed, other.buffers["x"].fill, other.seeds) == (43, first.fills["x"], ())
    assert case.launch_numbers == 3 * len(case.launches)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("repeat: {seeds: 1}\nchecks: {sum: [finite]}\n", "repeat.seeds: is 1: seeds must be at least 2"),
        ("repeat: {seeds: 3}\n", "repeat.seeds: needs a rule with `statistics` in compare, or checks"),
        (
            "checks: {device: [races]}\nrepeat: {seeds: 3}\n",
            "or checks of a buffer: else no result of a seed is judged",
        ),
    ],
)
def test_seeds_that_judge_nothing_are_refused(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(JobErrors) as caught:
        planned(tmp_path, more)
    assert said in str(caught.value)


def test_a_seed_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    text = PLAIN.replace("fill: {normal: {std: 2.0}}", "fill: ones") + "repeat: {seeds: 3}\nchecks: {sum: [finite]}\n"
    assert "fill: ones" in text
    with pytest.raises(JobErrors) as caught:
        only(project(tmp_path, reduce=text), ONE)
    assert "changes nothing: no buffer has a random fill" in str(caught.value)
