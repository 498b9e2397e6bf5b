from __future__ import annotations

import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.execution.workers.channel import Channel, decode_error, encode_error
from gpuregress.foundation.errors import (
    CodeLine,
    CompileError,
    FaultLocation,
    GpuregressError,
    HarnessError,
    KernelFault,
    UnsupportedError,
)
from gpuregress.foundation.records import Task, from_json
from gpuregress.virtual_gpu.ptx.lexer import PtxError
from tests import fakes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def channels() -> tuple[Channel, Channel]:
    """The end that asks, and the one that answers."""
    ours, theirs = socket.socketpair()
    return Channel(ours), Channel(theirs, serves=True)


# Python 3.12 warns of a fork beside threads; the child here only writes.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@given(st.lists(st.dictionaries(st.text().filter(lambda key: key != "request"), JSON, max_size=3), max_size=5))
def test_what_is_sent_is_received_in_order(messages: list[dict[str, object]]) -> None:
    left, right = channels()
    for message in messages:
        left.send(message)
    left.close()
    assert [right.receive() for _ in messages] == messages
    assert right.receive() is None
    right.close()


def test_a_line_that_comes_in_pieces_is_one_message() -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(theirs)
    ours.sendall(b'{"say": "re')
    assert channel.available() == ([], True)
    ours.sendall(b'ady", "request": ""}\n{"say"')
    assert channel.available() == ([{"say": "ready"}], True)
    ours.close()
    assert channel.available() == ([], False)
    channel.close()


@pytest.mark.parametrize(
    "error",
    [
        UnsupportedError("no such instruction", source_line=CodeLine("a.cuh", 3, (("k.cu", 9),))),
        CompileError("it does not compile"),
        CompileError("it needs a header", log="a.cu(1): error: b", missing_headers=("a.h",), standard="c++20"),
        PtxError("expected a type", 7),
        KernelFault("trap", "in k", details=("a", "b"), sticky=True, location=FaultLocation("x", 3, thread=(1, 2, 3))),
    ],
)
def test_an_error_survives_the_wire(error: GpuregressError) -> None:
    left, right = channels()
    left.send(encode_error(error))
    message = right.receive()
    left.close()
    right.close()
    assert message is not None
    decoded = decode_error(message)
    assert str(decoded) == str(error)
    assert {name: getattr(error, name) for name in vars(decoded)} == vars(decoded)
    assert isinstance(error, type(decoded))


def test_a_task_survives_the_wire() -> None:
    left, right = channels()
    task = Task(fakes.case("double"), fakes.program(), "/log", 17, "/dumps", {"out": {"ab": "/file"}}, "cuda:3")
    left.send({"do": "run", "task": task})
    message = right.receive()
    assert message is not None
    assert from_json(Task, message["task"]) == task
    left.close()
    right.close()


def test_sending_to_a_closed_end_is_an_os_error() -> None:
    left, right = channels()
    right.close()
    with pytest.raises(OSError, match=r"pipe|reset"):
        left.send({"say": "ready"})
    left.close()


def test_an_answer_to_an_earlier_request_is_dropped() -> None:
    parent, child = channels()
    parent.send({"do": "first"})
    assert child.receive() == {"do": "first"}
    child.send({"say": "first"})
    parent.send({"do": "second"})
    child.send({"say": "first again"})
    assert parent.available() == ([], True)
    assert child.receive() == {"do": "second"}
    child.send({"say": "second"})
    assert parent.available() == ([{"say": "second"}], True)
    for end in (parent, child):
        end.close()


@pytest.mark.parametrize(
    "line",
    [b"noise", b"noise\n", b'{"say": "outcome"}\n', b'{"say": "outcome", "request": ""}\n', b"[1]\n", b"\xff\0\n"],
)
def test_what_nobody_asked_for_is_dropped_and_loses_no_answer(line: bytes) -> None:
    ours, theirs = socket.socketpair()
    parent, child = Channel(ours), Channel(theirs, serves=True)
    parent.send({"do": "run"})
    child.receive()
    theirs.sendall(line)
    child.send({"say": "phase"})
    assert parent.available() == ([{"say": "phase"}], True)
    for end in (parent, child):
        end.close()


def test_a_forked_process_has_no_channel() -> None:
    parent, child = channels()
    parent.send({"do": "run"})
    child.receive()
    forked = os.fork()
    if forked == 0:
        try:
            child.send({"say": "outcome"})
        finally:
            os._exit(0)
    os.waitpid(forked, 0)
    assert parent.available() == ([], True)
    for end in (parent, child):
        end.close()


@pytest.mark.parametrize("at", [3, 20, -12, -4])
def test_a_damaged_answer_is_an_error_and_not_waited_for(at: int) -> None:
    ours, theirs = socket.socketpair()
    parent, child = Channel(ours), Channel(theirs, serves=True)
    parent.send({"do": "run"})
    assert child.receive() == {"do": "run"}
    child.send({"say": "outcome", "value": 12345})
    line = bytearray(ours.recv(1 << 16).strip(b"\n"))
    line[at] ^= 1
    theirs.sendall(bytes(line) + b"\n")
    with pytest.raises(HarnessError, match="was damaged"):
        parent.available()
    for end in (parent, child):
        end.close()


def test_a_damaged_request_is_an_error_of_its_reader() -> None:
    ours, theirs = socket.socketpair()
    child = Channel(theirs, serves=True)
    ours.sendall(b'{"do": "run", "request":"00", "check":"00000000"}\n')
    with pytest.raises(HarnessError, match="was damaged"):
        child.receive()
    ours.close()
    child.close()
