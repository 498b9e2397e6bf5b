"""Raw logs of processes become one launch log."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpuregress.lab.capture import raw_log
from gpuregress.lab.capture.raw_log import (
    MergedLog,
    RawBegin,
    RawEnd,
    RawEvent,
    RawExit,
    RawFunction,
    RawShape,
    RawText,
)
from gpuregress.store import launch_log

SHAPE = RawShape((4, 1, 1), (256, 1, 1), 0, 0)
SAXPY = RawFunction("_Z5saxpyIfEvT_PKS0_PS0_i", ((0, 4), (8, 8), (16, 8), (24, 4)))
PACKED = RawFunction("_Z6packed4Args", ((0, 16), (16, 4)))


def begin(number: int, second: float, function: RawFunction, values: bytes = b"", shape: RawShape = SHAPE) -> RawBegin:
    start = datetime(2026, 11, 23, 0, 39, tzinfo=UTC).timestamp()
    return RawBegin(number, round((start + second) * 1000) * 1_000_000, "app[7]", function, shape, values)


def record(kind: int, word: int, body: bytes) -> bytes:
    padded = body + bytes(-len(body) % 8)
    return struct.pack("<HHI", 8 + len(padded), kind, word) + padded


def written(events: Sequence[RawEvent]) -> bytes:
    """The events as `launch_log.c` writes them."""
    data, time_ns, process = b"", 0, ""
    functions: dict[RawFunction, int] = {}
    shapes: dict[RawFunction, RawShape] = {}
    for event in events:
        if isinstance(event, RawBegin):
            if event.process != process:
                process = event.process
                data += record(1, len(process), bytes(8) + process.encode())
            if event.function not in functions:
                functions[event.function] = len(functions) + 1
                name, rows = event.function.name.encode(), event.function.parameters
                words = [len(rows), len(name), *(word for row in rows for word in row)]
                data += record(2, functions[event.function], struct.pack(f"<{len(words)}I", *words) + name)
            number = functions[event.function]
            if event.time_ns != time_ns:
                time_ns = event.time_ns
                data += record(3, 0, struct.pack("<Q", time_ns))
            if event.shape != shapes.get(event.function):
                shapes[event.function] = event.shape
                row = (*event.shape.grid, *event.shape.block, event.shape.shared, event.shape.device)
                data += record(4, number, struct.pack("<8I", *row))
            data += record(5, number, struct.pack("<Q", event.number) + event.values)
        elif isinstance(event, RawEnd):
            data += record(6, 0, struct.pack("<QQd", event.first, event.last, event.elapsed_ms))
        elif isinstance(event, RawText):
            text = event.text.encode()
            data += record(7 if event.kind == "fault" else 8, len(text), struct.pack("<Q", event.number) + text)
        else:
            data += record(9, event.status, b"")
    return data


_WORD = st.integers(0, (1 << 32) - 1)
_SIZE = st.tuples(_WORD, _WORD, _WORD)
_FUNCTIONS = st.builds(
    RawFunction,
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20),
    st.lists(st.tuples(_WORD, _WORD), max_size=3).map(tuple),
)
_EVENTS = st.one_of(
    st.builds(
        RawBegin,
        st.integers(1, 1 << 40),
        st.integers(1, 1 << 62),
        st.sampled_from(["a[1]", "b[2]"]),
        _FUNCTIONS,
        st.builds(RawShape, _SIZE, _SIZE, _WORD, _WORD),
        st.binary(max_size=24).map(lambda data: data[: len(data) // 8 * 8]),
    ),
    st.builds(RawEnd, st.integers(1, 99), st.integers(1, 99), st.floats(0, 1e9)),
    st.builds(RawText, st.integers(1, 99), st.sampled_from(["fault", "retry"]), st.text(max_size=20)),
    st.builds(RawExit, st.integers(0, 255)),
)


@given(st.lists(_EVENTS, max_size=8), st.integers(0, 60))
def test_whole_records_are_read_whatever_follows_them(events: list[RawEvent], cut: int) -> None:
    data = written(events)
    assert list(raw_log.read(data + bytes(64))) == events
    assert list(raw_log.read(data[: len(data) - cut])) == events[: len(list(raw_log.read(data[: len(data) - cut])))]


@given(st.binary(max_size=200))
def test_other_bytes_are_read_without_an_error(data: bytes) -> None:
    list(raw_log.read(data))


def test_processes_are_merged_by_time_and_names_become_readable(tmp_path: Path) -> None:
    values = struct.pack("<f4xQQi4x", 2.5, 0x7F00, 0x7F10, -1)
    once = RawShape((1, 1, 1), (1, 1, 1), 64, 1)
    (tmp_path / "7.log").write_bytes(
        written([begin(1, 2.465, SAXPY, values), RawEnd(1, 1, 0.5), begin(2, 4, RawFunction("k", ()), shape=once)])
        + bytes(4096)
    )
    (tmp_path / "8.log").write_bytes(
        written([begin(1, 3, PACKED, struct.pack("<QQI4x", 1, 2, 3), once), RawText(1, "fault", "X")]) + b"\x50\0\5\0"
    )
    target = tmp_path / "launch.log"
    assert raw_log.merge(tmp_path, target, {"device": "a card"}, ended_well=None) == MergedLog(3, (7,))
    readable = "saxpy<float><<<(4,1,1),(256,1,1),0>>>(2.5, 0x7f00, 0x7f10, -1)"
    assert target.read_text().splitlines() == [
        "# gpuregress log 1",
        "# device: a card",
        f"begin 1 2026-11-23T00:39:02.465Z cuda:0 app[7] {readable} seed=0",
        "end 1 0.500 ms",
        "begin 2 2026-11-23T00:39:03.000Z cuda:1 app[7] packed<<<(1,1,1),(1,1,1),64>>>({0x1, 0x2}, 0x3) seed=0",
        "fault 2 X",
        "begin 3 2026-11-23T00:39:04.000Z cuda:1 app[7] k<<<(1,1,1),(1,1,1),64>>>() seed=0",
    ]
    read = launch_log.read(target)
    assert [one.number for one in read.unfinished] == [3]
    assert not read.unreadable


def test_launches_of_a_process_that_ended_well_have_ended(tmp_path: Path) -> None:
    launches: list[RawEvent] = [begin(1, 1, PACKED), begin(2, 2, PACKED), begin(3, 2, PACKED), RawEnd(1, 2, 0.25)]
    (tmp_path / "7.log").write_bytes(written([*launches, RawExit(0)]))
    (tmp_path / "8.log").write_bytes(written([*launches, RawExit(1)]))
    (tmp_path / "9.log").write_bytes(written(launches))
    (tmp_path / "10.log").write_bytes(written(launches))
    (tmp_path / "10000010.log").write_bytes(b"")  # the program that process 10 became
    merged = raw_log.merge(tmp_path, tmp_path / "launch.log", {}, ended_well=9)
    assert merged == MergedLog(12, (8,))
    assert len(launch_log.read(tmp_path / "launch.log").unfinished) == 1


def test_parameters_behind_the_logged_bytes_are_left_out(tmp_path: Path) -> None:
    wide = RawFunction("k", ((0, 264), (264, 8), (272, 8)))
    (tmp_path / "7.log").write_bytes(written([begin(1, 1, wide, bytes(264) + b"\1" + bytes(7))]))
    raw_log.merge(tmp_path, tmp_path / "launch.log", {}, ended_well=7)
    assert "0x0, ...}, 0x1, ...) seed=0" in (tmp_path / "launch.log").read_text()
