from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuregress.records import from_json
from gpuregress.workers.messages import Channel
from gpuregress.workers.task import Task
from tests import fakes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def channels() -> tuple[Channel, Channel]:
    ours, theirs = socket.socketpair()
    return Channel(ours), Channel(theirs)


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=5))
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
    ours.sendall(b'ady"}\n{"say"')
    assert channel.available() == ([{"say": "ready"}], True)
    ours.close()
    assert channel.available() == ([], False)
    channel.close()


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
