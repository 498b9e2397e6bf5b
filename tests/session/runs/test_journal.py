from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.records import (
    BufferVerdict,
    Comparison,
    Element,
    MadeOf,
    Outcome,
    Verdict,
    from_json,
    to_json,
)
from gpuregress.gpu.records import replace
from gpuregress.session.runs import journal
from gpuregress.session.runs.journal import JournalEnd, JournalEntry, JournalStart
from tests import fakes

START = JournalStart(1, "R", "2026-11-20T02:00:00Z", "cpu", "run", "1", journal.process(), ("a", "b", "c"))
END = JournalEnd("finished", 1.5, 1, ("note",), "00")


def entry(case: str, status: Any = "pass") -> JournalEntry:
    return JournalEntry(Verdict("j", case, status))


def written(folder: Path, *entries: JournalEntry, end: JournalEnd | None = None, start: JournalStart = START) -> Path:
    writer = journal.JournalWriter(folder, start)
    for one in entries:
        writer.add(one)
    if end is not None:
        writer.end(end)
    writer.close()
    return folder / journal.FILE


texts = st.text(max_size=20)
numbers = st.floats(allow_nan=False)
elements = st.builds(Element, st.integers(), texts, texts, texts, st.none() | numbers, st.none() | numbers)
comparisons = st.builds(
    Comparison, texts, texts, texts, st.booleans(), st.booleans(), st.integers(), worst=st.none() | elements
)
buffers = st.builds(BufferVerdict, texts, st.sampled_from(["pass", "differ"]), comparisons=st.tuples(comparisons))
verdicts = st.builds(
    Verdict,
    job=texts,
    case=texts,
    status=st.sampled_from(["pass", "differ", "new", "error"]),
    reason=texts,
    seconds=numbers,
    buffers=st.lists(buffers, max_size=2).map(tuple),
    notes=st.lists(texts, max_size=2).map(tuple),
    outcome=st.none() | st.builds(Outcome, texts, st.sampled_from(["done", "error"]), output=texts),
)


@given(verdicts)
def test_an_entry_comes_back_from_its_line(verdict: Verdict) -> None:
    case = replace(fakes.case("double"), launches=())
    made_of = MadeOf("s", {"x": "0"}, 1, "nvrtc", ("-a",), "pinned", "sm_90", "cpu", "none", ("k<<<1>>>",))
    before = JournalEntry(verdict, case, made_of)
    assert from_json(JournalEntry, json.loads(json.dumps(to_json(before)))) == before


def test_infinities_and_nan_come_back(tmp_path: Path) -> None:
    worst = Element(0, "", "inf", "nan", math.inf, math.nan)
    compared = Comparison("x", "baseline", "r", same=False, identical=False, of=1, worst=worst)
    written(
        tmp_path,
        JournalEntry(Verdict("j", "a", "differ", buffers=(BufferVerdict("x", "differ", "", "", (compared,)),))),
    )
    (actual,) = journal.read(tmp_path).entries
    back = actual.verdict.buffers[0].comparisons[0].worst
    assert back is not None
    assert back.absolute == math.inf
    assert back.relative is not None
    assert math.isnan(back.relative)


def test_what_was_written_is_read_and_the_end_alone_too(tmp_path: Path) -> None:
    written(tmp_path, entry("a"), entry("b", "differ"), end=END)
    read = journal.read(tmp_path)
    assert (read.start, read.end, read.state) == (START, END, "finished")
    assert [one.verdict.status for one in read.entries] == ["pass", "differ"]
    assert journal.end_of(tmp_path) == END


def test_an_end_that_is_longer_than_a_block_is_found(tmp_path: Path) -> None:
    end = replace(END, notes=("x" * 200_000,))
    written(tmp_path, entry("a"), end=end)
    assert journal.end_of(tmp_path) == end


def test_whoever_holds_the_journal_is_alive_and_else_was_cut_short(tmp_path: Path) -> None:
    writer = journal.JournalWriter(tmp_path, START)
    assert journal.read(tmp_path).state == "running"
    assert journal.is_running(tmp_path)
    writer.close()
    assert journal.read(tmp_path).state == "cut short"
    assert not journal.is_running(tmp_path)
    assert journal.end_of(tmp_path) is None


def test_a_killed_process_holds_nothing_and_a_child_of_it_neither(tmp_path: Path) -> None:
    code = (
        "import os, signal, subprocess, sys\nfrom pathlib import Path\n"
        "from tests.session.runs import test_journal as t\n"
        "writer = t.journal.JournalWriter(Path(sys.argv[1]), t.START)\n"
        "writer.add(t.entry('a'))\n"
        "subprocess.Popen(['sleep', '30'], start_new_session=True, stdout=subprocess.DEVNULL)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, cwd=Path(__file__).parents[3])
    read = journal.read(tmp_path)
    assert (read.state, read.unfinished) == ("cut short", ("b", "c"))


def test_a_run_on_another_host_is_alive_until_it_is_silent_for_long(tmp_path: Path) -> None:
    other = replace(START, process=journal.Process(1, "elsewhere", "another boot"))
    path = written(tmp_path, start=other)
    assert journal.read(tmp_path).state == "running"
    assert journal.read(tmp_path).process == "process 1 on elsewhere"
    os.utime(path, (0, 0))
    assert journal.read(tmp_path).state == "cut short"


def test_after_a_restart_of_this_machine_nothing_runs(tmp_path: Path) -> None:
    written(tmp_path, start=replace(START, process=replace(START.process, boot="an earlier boot")))
    assert journal.read(tmp_path).state == "cut short"


@given(st.data())
def test_a_journal_cut_anywhere_gives_the_verdicts_before(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / journal.FILE
    path.unlink(missing_ok=True)
    whole = written(tmp_path, entry("a"), entry("b"), entry("c")).read_bytes()
    first = whole.index(b"\n") + 1
    length = data.draw(st.integers(first, len(whole)))
    path.write_bytes(whole[:length] + data.draw(st.sampled_from([b"", b"\0" * 64])))
    read = journal.read(tmp_path)
    assert len(read.entries) >= whole[:length].count(b"\n") - 1
    assert set(read.judged) | set(read.unfinished) == {"a", "b", "c"}


@given(st.data())
def test_a_damaged_journal_is_an_error_or_a_journal(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / journal.FILE
    path.unlink(missing_ok=True)
    whole = written(tmp_path, entry("a"), entry("b"), end=END).read_bytes()
    begin = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(begin, min(len(whole), begin + 40)))
    path.write_bytes(whole[:begin] + data.draw(st.binary(max_size=20)) + whole[end:])
    journal.end_of(tmp_path)
    message = ""
    try:
        read = journal.read(tmp_path)
    except StorageError as error:
        message = str(error)
    assert f"{path}: edited or cut short" in message or read.start.version == 1


@pytest.mark.parametrize("line", [b"{}", b'{"verdict": {}}', b'{"verdict": {"verdict": 0}}', b'{"x": 1}', b"[", b"1"])
def test_a_run_that_is_over_has_no_unreadable_line(tmp_path: Path, line: bytes) -> None:
    path = written(tmp_path, entry("a"), end=END)
    start, *rest = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([start, line, *rest]))
    with pytest.raises(StorageError, match="edited or cut short"):
        journal.read(tmp_path)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_has_no_end_and_is_not_waited_for(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / journal.FILE)
    assert journal.end_of(tmp_path) is None
    with pytest.raises(StorageError, match="edited or cut short"):
        journal.read(tmp_path)


def test_no_journal_says_who_has_none(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"has no verdicts\.jsonl: it was removed"):
        journal.read(tmp_path)


def test_a_disk_that_refuses_is_tried_again_with_the_next_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = journal.JournalWriter(tmp_path, START)
    write, room = journal.os.write, [20]  # type: ignore[attr-defined] # the module's own os

    def little(descriptor: int, data: bytearray) -> int:
        if not room[0]:
            raise OSError(28, "full")
        taken = min(room[0], len(data))
        room[0] -= taken
        return int(write(descriptor, bytes(data[:taken])))

    monkeypatch.setattr("gpuregress.session.runs.journal.os.write", little)
    for name in "ab":
        with pytest.raises(StorageError, match="no space is left"):
            writer.add(entry(name))
    room[0] = 1 << 20
    writer.add(entry("c"))
    writer.close()
    assert list(journal.read(tmp_path).judged) == ["a", "b", "c"]


def test_the_end_of_a_run_that_was_cut_short_is_written_once_after_a_torn_line(tmp_path: Path) -> None:
    path = written(tmp_path, entry("a"))
    with path.open("ab") as file:
        file.write(b'{"verdict": {"ver')
    read, end = journal.read(tmp_path), replace(END, state="cut short")
    assert journal.close_cut_short(read, end)
    assert not journal.close_cut_short(read, end)
    again = journal.read(tmp_path)
    assert (again.state, list(again.judged), again.end) == ("cut short", ["a"], end)


def test_all_that_has_not_passed_is_owed(tmp_path: Path) -> None:
    start = replace(START, cases=("a", "b", "c", "d"), owed=("d", "z"))
    written(tmp_path, entry("a"), entry("b", "differ"), entry("c", "skip"), entry("d", "skip"), start=start)
    assert journal.read(tmp_path).not_passed == ("b", "d", "z")


@pytest.mark.parametrize("end", [END, replace(END, state="cut short")])
def test_any_changed_byte_of_a_run_that_is_over_is_an_error(tmp_path: Path, end: JournalEnd) -> None:
    path = written(tmp_path, entry("a"), entry("b", "differ"), end=end)
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        if at < whole.index(b'\n{"end"'):  # without that line break there is no end either
            with pytest.raises(StorageError, match="edited or cut short"):
                journal.read(tmp_path)
        else:  # as if it had been cut off before the end was written
            assert journal.read(tmp_path).end is None


def test_results_without_an_end_of_the_journal_are_an_error(tmp_path: Path) -> None:
    written(tmp_path, entry("a"))
    assert journal.read(tmp_path).state == "cut short"
    (tmp_path / journal.RESULTS).touch()
    with pytest.raises(StorageError, match="edited or cut short"):
        journal.read(tmp_path)


def test_lines_that_are_gone_twice_or_in_another_order_are_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, entry("a"), entry("b", "differ"), end=END)
    start, first, second, end = path.read_bytes().splitlines(keepends=True)
    for lines in ([start, first, end], [start, second, first, end], [start, first, first, second, end]):
        path.write_bytes(b"".join(lines))
        with pytest.raises(StorageError, match="edited or cut short"):
            journal.read(tmp_path)


def test_a_changed_verdict_of_a_run_that_was_cut_short_counts_as_not_run(tmp_path: Path) -> None:
    path = written(tmp_path, entry("a"), entry("b"))
    path.write_bytes(path.read_bytes().replace(b'"case":"a"', b'"case":"c"'))
    assert list(journal.read(tmp_path).judged) == ["b"]


def test_lines_without_their_digests_are_no_lines(tmp_path: Path) -> None:
    path = written(tmp_path, entry("a"), end=END)
    for seals in (rb',"digest":"[0-9a-f]{32}"', rb'(,"before":"[0-9a-f]{32}")?,"digest":"[0-9a-f]{32}"'):
        intact = path.read_bytes()
        path.write_bytes(re.sub(seals, b"", intact))
        with pytest.raises(StorageError, match="edited or cut short"):
            journal.read(tmp_path)
        path.write_bytes(intact)
