"""The records kept are those above the threshold, in any order; the rest of the buffer is untouched."""

from __future__ import annotations

import numpy as np

from tests.kernels.recorded import Recorded, assert_sees_changes, each_case, load


def check(run: Recorded) -> None:
    score = run.inputs["score"]
    (ids,) = np.nonzero(score > np.float32(0.75))
    (count,) = run.outputs["count"].tolist()
    assert count == ids.size
    kept = run.outputs["kept"]
    assert sorted(kept["id"][:count].tolist()) == ids.tolist()
    assert np.array_equal(kept["score"][:count], score[kept["id"][:count]])
    assert not np.any(kept["id"][count:])
    assert not np.any(kept["score"][count:])


@each_case("compact")
def test_baseline_is_right(name: str) -> None:
    check(load(name))


@each_case("compact")
def test_oracle_sees_a_wrong_element(name: str) -> None:
    assert_sees_changes(check, load(name))
