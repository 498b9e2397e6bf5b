"""Replays in a process of their own, with its limit."""

from __future__ import annotations

from pathlib import Path

from gpuregress.lab.capture.replay import launch as replay
from gpuregress.lab.capture.replay.launch import Replay, Request

REQUEST = Request("gone.ptx", "k", (1, 1, 1), (1, 1, 1), 0, (), (), (), ())


def test_a_replay_without_time_is_not_made() -> None:
    assert "no time" in replay.run(REQUEST, 0).problem
    assert "takes more than 0.01 s" in replay.run(REQUEST, 0.01).problem


def test_bits_are_equal_only_where_they_are_known() -> None:
    assert Replay(differing=(0, 0)).is_equal
    assert not Replay(differing=(0, -1)).is_equal
    assert not Replay(differing=(0, 3)).is_equal
    assert not Replay("no PTX").is_equal


def test_an_answer_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    path.write_text(
        '{"problem": "", "is_fault": false, "read": [[[0, 4]]], "written": [[]], "differing": [0], "first": [-1]}'
    )
    assert replay.read_answer(path) == Replay(read=(((0, 4),),), written=((),), differing=(0,), first=(-1,))
