"""The log's lines are the contract's, on disk before the launch, and readable after any crash."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import Argument, Buffer, Launch
from gpuregress.gpu.records import replace
from gpuregress.store import launch_log
from gpuregress.store.launch_log import Event, LaunchBegin, LaunchEnd, LaunchFault, LaunchLog, LaunchRetry

CALL = "block_sum<float><<<(8,1,1),(128,1,1),512>>>(sum=<32>, x=<4000>, n=1000)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "launch.log"


def test_a_launch_reads_as_in_the_contract() -> None:
    args = (
        Argument("buffer", buffer="sum"),
        Argument("buffer", buffer="x"),
        Argument("scalar", dtype="int32", data="e8030000", text="1000", label="n"),
    )
    buffers = {"sum": Buffer("sum", "float32", (8,)), "x": Buffer("x", "float32", (1000,))}
    assert launch_log.render(Launch("block_sum<float>", (8, 1, 1), (128, 1, 1), 512, args), buffers) == CALL


def test_other_arguments() -> None:
    fields = (Argument("buffer", buffer="m"), Argument("scalar", dtype="float32", text="0.5"))
    args = (Argument("null"), Argument("struct", fields=fields), Argument("scalar", dtype="int32", text="3"))
    buffers = {"m": Buffer("m", "{id:int8,v:double2}", (2, 3))}
    text = launch_log.render(Launch("k", (1, 2, 3), (4, 5, 6), 0, args), buffers)
    assert text == "k<<<(1,2,3),(4,5,6),0>>>(null, {m=<192>, 0.5}, 3)"


def test_constant_memory_stands_before_the_seed(path: Path) -> None:
    log = LaunchLog(path)
    log.begin(1, "cpu", "c", CALL, 42, 1024)
    log.begin(2, "cpu", "c", CALL, 42)
    log.close()
    first, second = path.read_text().splitlines()
    assert first.endswith(f" {CALL} constant=<1024> seed=42")
    assert second.endswith(f" {CALL} seed=42")
    found = [event for event in launch_log.read(path).events if isinstance(event, LaunchBegin)]
    assert [(event.call, event.constant, event.seed) for event in found] == [(CALL, 1024, 42), (CALL, 0, 42)]


def test_the_variant_stands_after_the_seed(path: Path) -> None:
    with closing(LaunchLog(path)) as log:
        log.begin(1, "cpu", "c", CALL, 42, variant="fmad=off,arch=sm_90")
    assert path.read_text().endswith(f" {CALL} seed=42 variant=fmad=off,arch=sm_90\n")
    (begin,) = launch_log.read(path).unfinished
    assert (begin.call, begin.variant) == (CALL, "fmad=off,arch=sm_90")


def test_the_schedule_stands_last(path: Path) -> None:
    with closing(LaunchLog(path)) as log:
        log.begin(1, "cpu", "c", CALL, 42, variant="fmad=off", schedule="blocks:1,0+copies:issue")
        log.begin(2, "cpu", "c", CALL, 42, schedule="reverse")
    first, second = launch_log.read(path).unfinished
    assert (first.variant, first.schedule) == ("fmad=off", "blocks:1,0+copies:issue")
    assert (second.variant, second.schedule, second.text) == ("", "reverse", f"{CALL} seed=42 schedule=reverse")


def test_a_launch_that_was_stopped_to_run_again_is_not_to_blame(path: Path) -> None:
    with closing(LaunchLog(path)) as log:
        log.begin(1, "cpu", "c", CALL, 0)
        log.retry(1, "slow")
    assert path.read_text().endswith("retry 1 slow\n")
    assert not launch_log.read(path).unfinished


def test_the_lines_are_the_contracts(path: Path) -> None:
    log = LaunchLog(path)
    log.write_header({"device": "cuda:0", "seed reduce": "42"})
    log.begin(17, "cuda:0", "reduce/n=1000,tile=128", CALL, 42)
    log.end(17, 0.0123)
    log.begin(18, "cuda:0", "reduce/n=1000,tile=128", CALL, 42)
    log.fault(18, "out-of-bounds: x[1000]")
    log.close()
    lines = path.read_text().split("\n")
    assert lines[:3] == ["# gpuregress log 1", "# device: cuda:0", "# seed reduce: 42"]
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    assert re.fullmatch(rf"begin 17 {time} cuda:0 reduce/n=1000,tile=128 {re.escape(CALL)} seed=42", lines[3])
    assert lines[4] == "end 17 0.012 ms"
    assert lines[6:] == ["fault 18 out-of-bounds: x[1000]", ""]
    actual = launch_log.read(path)
    assert actual.header == {"device": "cuda:0", "seed reduce": "42"}
    assert (actual.unfinished, actual.unreadable) == ((), ())


def test_a_begin_and_a_fault_are_on_disk_before_the_call_returns_and_an_end_with_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fdatasync

    def fdatasync(descriptor: int) -> None:
        real(descriptor)
        synced.append(" ".join(line.split()[0] for line in path.read_text().splitlines()))

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    log = LaunchLog(path)
    log.begin(1, "cpu", "c", "k", 0)
    log.end(1, 1.0)
    assert path.read_text().splitlines()[-1] == "end 1 1.000 ms"
    log.begin(2, "cpu", "c", "k", 0)
    log.fault(2, "x")
    assert synced == ["begin", "begin end begin", "begin end begin fault"]


def test_unfinished_names_what_is_to_blame(path: Path) -> None:
    log = LaunchLog(path)
    for number in (1, 2, 3):
        log.begin(number, "cpu", "c", f"k{number}", 0)
    log.end(2, 1.0)
    log.fault(1, "trap")
    assert [begin.call for begin in launch_log.read(path).unfinished] == ["k3"]
    log.begin(1, "cpu", "c", "again", 0)
    assert [begin.call for begin in launch_log.read(path).unfinished] == ["k3", "again"]


def test_of_two_launches_of_one_number_the_later_one_is_to_blame(path: Path) -> None:
    """A worker that dies takes its launch's number with it, and the next one begins anew."""
    with closing(LaunchLog(path)) as log:
        for number, call in ((1, "lost"), (2, "other"), (1, "again")):
            log.begin(number, "cpu", "c", call, 0)
    assert [begin.call for begin in launch_log.read(path).unfinished] == ["other", "again"]


def test_a_torn_last_line(path: Path) -> None:
    log = LaunchLog(path)
    log.begin(1, "cpu", "c", "k", 0)
    log.close()
    with path.open("ab") as file:
        file.write(b"end 1 0.0")
    actual = launch_log.read(path)
    assert [begin.number for begin in actual.unfinished] == [1]
    assert actual.unreadable == (2,)
    LaunchLog(path).begin(2, "cpu", "c", "k", 0)
    actual = launch_log.read(path)
    assert [begin.number for begin in actual.unfinished] == [1, 2]
    assert actual.unreadable == (2,)


def test_no_part_of_a_line_is_an_event(path: Path) -> None:
    """Cut anywhere, also where what is left looks whole: a seed of 42 is not one of 4."""
    with closing(LaunchLog(path)) as log:
        log.begin(1, "cpu", "c", "k", 42)
        log.fault(1, "out-of-bounds: x[1000]")
    begin, fault, _ = path.read_bytes().split(b"\n")
    for line in (begin, fault):
        for size in range(1, len(line) + 1):
            path.write_bytes(line[:size])
            actual = launch_log.read(path)
            assert (actual.events, actual.unreadable) == ((), (1,)), line[:size]


def test_zeros_as_a_power_cut_leaves_them(path: Path) -> None:
    LaunchLog(path).begin(1, "cpu", "c", "k", 0)
    with path.open("ab") as file:
        file.write(b"\0" * 100)
    assert [begin.number for begin in launch_log.read(path).unfinished] == [1]


texts = st.text(max_size=20)
LINES = settings(max_examples=40)  # each is a flush to disk
events = st.one_of(
    st.builds(
        LaunchBegin,
        st.integers(0, 2**40),
        st.just(""),
        texts,
        texts,
        texts,
        st.integers(-(2**63), 2**64),
        st.integers(0, 2**40),
        texts,
    ),
    st.builds(LaunchEnd, st.integers(0, 2**40), st.integers(0, 10**9).map(lambda thousandths: thousandths / 1000)),
    st.builds(LaunchFault, st.integers(0, 2**40), texts),
    st.builds(LaunchRetry, st.integers(0, 2**40), texts),
)


@LINES
@given(st.dictionaries(texts, texts, max_size=3), st.lists(events, max_size=8))
def test_whatever_is_written_reads_back(head: dict[str, str], written: list[Event]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "launch.log"
        log = LaunchLog(path)
        log.write_header(head)
        for event in written:
            if isinstance(event, LaunchBegin):
                log.begin(event.number, event.device, event.case, event.call, event.seed, event.constant, event.variant)
            elif isinstance(event, LaunchRetry):
                log.retry(event.number, event.text)
            elif isinstance(event, LaunchEnd):
                log.end(event.number, event.elapsed_ms)
            else:
                log.fault(event.number, event.text)
        log.close()
        actual = launch_log.read(path)
        assert len(path.read_text().splitlines()) == 1 + len(head) + len(written)
    assert actual.header == head
    assert actual.unreadable == ()
    untimed = [replace(e, time="") if isinstance(e, LaunchBegin) else e for e in actual.events]
    assert untimed == written


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "launch.log"
        path.write_bytes(data)
        actual = launch_log.read(path)
    assert len(actual.events) + len(actual.unreadable) <= data.count(b"\n") + 1


WRITER = """
import sys, pathlib
from gpuregress.store.launch_log import LaunchLog, LaunchRetry
log, first = LaunchLog(pathlib.Path(sys.argv[1])), int(sys.argv[2])
for number in range(first, first + 200):
    log.begin(number, "cpu", "case", "k" * 300, 1)
    log.end(number, 0.5)
"""


def test_several_processes_share_a_log(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(1000 * n)]) for n in range(3)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    actual = launch_log.read(path)
    assert (len(actual.events), actual.unreadable, actual.unfinished) == (1200, (), ())


def test_a_full_disk() -> None:
    log = LaunchLog(Path("/dev/full"))
    with pytest.raises(StorageError, match="no space is left on the disk; free some"):
        log.begin(1, "cpu", "c", "k", 0)
    log.close()


@pytest.mark.parametrize(
    "line",
    [
        f"begin {'1' * 5000} t cpu c k<<<1>>>() seed=1",
        f"begin 1 t cpu c k<<<1>>>() seed={'1' * 5000}",
        f"end {'1' * 5000} 1.0 ms",
        f"end 1 {'1' * 5000} ms",
        f"fault {'1' * 5000} x",
    ],
)
def test_numbers_that_nobody_writes_are_unreadable(tmp_path: Path, line: str) -> None:
    (tmp_path / "log").write_text(line + "\n")
    assert launch_log.read(tmp_path / "log").unreadable == (1,)


def test_an_escape_of_no_character_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("fault 1 \\Uffffffff\n")
    assert launch_log.read(tmp_path / "log").events == (launch_log.LaunchFault(1, "\\Uffffffff"),)


def test_lines_of_other_hosts_are_collected_and_lost_ones_are_told(tmp_path: Path) -> None:
    with closing(LaunchLog(tmp_path / "there.log")) as log:
        log.begin(7, "cpu@node1", "reduce/n=8", "sum<<<>>>()", 1)
        log.end(7, 0.5)
    with closing(LaunchLog(tmp_path / "here.log")) as log:
        log.write_header({"device": "cpu"})
        log.collect((tmp_path / "there.log").read_text())
        log.collect("begin 8 2026-11-20T02:00:00.123Z cpu@node1 reduce/n=9 sum<<<>>>() seed=1\nend 8")
        log.lose("reduce/n=10", "node2 (tcp://node2:1)")
    read = launch_log.read(tmp_path / "here.log")
    assert [(event.number, event.device) for event in read.events if isinstance(event, LaunchBegin)] == [
        (7, "cpu@node1"),
        (8, "cpu@node1"),
    ]
    assert [event.number for event in read.unfinished] == [8]
    assert read.header["lost log of reduce/n=10"] == "node2 (tcp://node2:1) was lost, and its log with it"
