from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuregress.execution.workers import compile_child
from gpuregress.execution.workers.channel import Channel
from gpuregress.foundation.records import Program, Source
from gpuregress.toolchain import programs


@pytest.fixture
def parent() -> Iterator[Channel]:
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=compile_child.main, args=(os.dup(theirs.fileno()),), daemon=True)
    theirs.close()
    thread.start()
    channel = Channel(ours)
    yield channel
    channel.close()
    thread.join(20)
    assert not thread.is_alive(), "it outlives its channel"


def ask(parent: Channel, path: Path) -> dict[str, Any]:
    settings = {"cubin": False, "again": False, "precompiled": "", "processes": 1}
    parent.send({"do": "compile", "sources": [Source(str(path))], **settings})
    answer = parent.receive()
    assert answer is not None
    return answer


def test_errors_come_back_with_their_class(parent: Channel, tmp_path: Path) -> None:
    answer = ask(parent, tmp_path / "none.cu")
    assert (answer["say"], answer["error"], answer["names"]) == ("failed", "CompileError", {})
    assert "cannot read" in answer["message"]


def test_a_bug_ends_one_compilation_only(
    parent: Channel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_source: Source) -> Program:
        raise RuntimeError("a bug")

    def exhausted(_source: Source) -> Program:
        raise MemoryError

    monkeypatch.setattr(programs, "compile", broken)
    assert ask(parent, tmp_path)["message"] == "an error inside gpuregress: RuntimeError: a bug"
    monkeypatch.setattr(programs, "compile", exhausted)
    assert ask(parent, tmp_path)["message"].endswith("there is not enough memory to compile it")
    assert "RuntimeError: a bug" in capsys.readouterr().err
