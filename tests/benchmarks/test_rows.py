from __future__ import annotations

import pytest

from benchmarks.rows import Row, machine, median_seconds, missing, table


@pytest.mark.parametrize(("ratio", "verdict"), [(2.0, "ok"), (1.0, "ok"), (0.99, "MISSED"), (None, "")])
def test_goal_is_met_or_missed(ratio: float | None, verdict: str) -> None:
    assert Row("x", "1 s", "2 s", ratio, 1).verdict == verdict


def test_no_goal_cannot_be_missed() -> None:
    assert not Row("x", "1 s", "2 s", 0.1).verdict


def test_table_is_aligned_and_complete() -> None:
    lines = table(
        [
            Row("saxpy", "400 M/s", "g++: 2000 M/s", 0.2, 0.2),
            Row("long name", "1 ms", "", 12_345.6),
            missing("y", "no z"),
        ]
    ).splitlines()
    assert lines[0].split() == ["what", "gpuregress", "beside", "it", "ratio", "goal"]
    assert lines[1].split() == ["saxpy", "400", "M/s", "g++:", "2000", "M/s", "0.2", "0.2", "ok"]
    assert "12,346" in lines[2]
    assert lines[3].endswith("not measured: no z")
    assert lines[0].index("gpuregress") == lines[1].index("400 M/s") == lines[2].index("1 ms")


def test_warm_up_runs_do_not_count() -> None:
    calls: list[None] = []
    median_seconds(lambda: calls.append(None), repeats=3, warmup=2)
    assert len(calls) == 5


def test_machine_says_how_many_cores() -> None:
    assert "cores" in machine()
