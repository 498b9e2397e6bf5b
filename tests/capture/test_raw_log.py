"""Raw logs of processes become one launch log."""

from __future__ import annotations

from pathlib import Path

from gpuregress import launch_log
from gpuregress.capture import raw_log

HEAD = "cuda:0 app[7]"


def begin(number: int, time: str, call: str, process: int = 7) -> str:
    return f"begin {number} 2026-11-23T00:39:{time}Z cuda:0 app[{process}] {call} seed=0\n"


def test_processes_are_merged_by_time_and_names_become_readable(tmp_path: Path) -> None:
    saxpy = "_Z5saxpyIfEvT_PKS0_PS0_i<<<(4,1,1),(256,1,1),0>>>(0x40200000, 0x7f00, 0x7f10, 0xffffffff)"
    (tmp_path / "7.log").write_bytes(
        (begin(1, "02.465", saxpy) + "end 1 nan ms\n" + begin(2, "04.000", "k<<<(1,1,1),(1,1,1),0>>>()")).encode()
        + bytes(4096)
    )
    (tmp_path / "8.log").write_text(
        begin(1, "03.000", "_Z6packed4Args<<<(1,1,1),(1,1,1),0>>>({0x1, 0x2}, 0x3)", 8) + "fault 1 X\nbegin 2 2026"
    )
    target = tmp_path / "launch.log"
    readable = "saxpy<float><<<(4,1,1),(256,1,1),0>>>(2.5, 0x7f00, 0x7f10, -1)"
    assert raw_log.merge(tmp_path, target, {"device": "a card"}, has_ended_well=False) == (3, {2: 8})
    assert target.read_text().splitlines() == [
        "# gpuregress log 1",
        "# device: a card",
        f"begin 1 2026-11-23T00:39:02.465Z cuda:0 app[7] {readable} seed=0",
        "end 1 nan ms",
        "begin 2 2026-11-23T00:39:03.000Z cuda:0 app[8] packed<<<(1,1,1),(1,1,1),0>>>({0x1, 0x2}, 0x3) seed=0",
        "fault 2 X",
        "begin 3 2026-11-23T00:39:04.000Z cuda:0 app[7] k<<<(1,1,1),(1,1,1),0>>>() seed=0",
    ]
    read = launch_log.read(target)
    assert [one.number for one in read.unfinished] == [3]
    assert not read.unreadable


def test_a_launch_of_an_application_that_ended_well_has_ended(tmp_path: Path) -> None:
    (tmp_path / "7.log").write_text(begin(1, "02.465", "k<<<(1,1,1),(1,1,1),0>>>(0x1)"))
    raw_log.merge(tmp_path, tmp_path / "launch.log", {}, has_ended_well=True)
    assert not launch_log.read(tmp_path / "launch.log").unfinished
