"""What parent and worker say to each other: JSON, one object a line, over a private socket.

A kernel's printf and a library's warnings go to the worker's captured stdout and stderr, never into this channel.

Parent to worker:

    {"do": "run", "task": Task}

Worker to parent:

    {"say": "ready", "device": DeviceInfo}        once, before any task
    {"say": "refused", "message": str}            instead of `ready`: the device cannot be opened; the worker ends
    {"say": "phase", "phase": "launching"}        the case is prepared and its launches begin: its clock starts
    {"say": "phase", "phase": "saving"}           the launches are over: its clock stops
    {"say": "phase", "phase": "computing"}        functions of the user are called, under the same limit
    {"say": "phase", "phase": "preparing"}        they are over
    {"say": "phase", "phase": "checking"}         the case is run once more, under compute-sanitizer
    {"say": "outcome", "outcome": Outcome}
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Mapping
from typing import Any

Message = dict[str, Any]


class Channel:
    """One end of the private socket.

    Args:
        connection: a connected stream socket; the channel closes it.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._pending = bytearray()

    def fileno(self) -> int:
        """The descriptor, for select."""
        return self._socket.fileno()

    def send(self, message: Mapping[str, Any], timeout_s: float | None = None) -> None:
        """Writes one line.

        Args:
            message: what is said.
            timeout_s: how long the other end may leave a full socket unread; None: for ever.

        Raises:
            OSError: the other end is gone (BrokenPipeError, …), or does not read (TimeoutError).
        """
        from gpuregress.records import to_json  # noqa: PLC0415 - a worker is started before records are loaded

        self._socket.settimeout(timeout_s)
        try:
            self._socket.sendall(json.dumps(to_json(message), separators=(",", ":")).encode() + b"\n")
        finally:
            self._socket.settimeout(None)

    def receive(self) -> Message | None:
        """Waits for one line; None where the other end closed."""
        while (line := self._take_line()) is None:
            if not self._read():
                return None
        return line

    def available(self) -> tuple[list[Message], bool]:
        """All lines that are here now, and whether the other end is still there; waits for nothing."""
        self._socket.setblocking(False)
        alive = True
        with contextlib.suppress(BlockingIOError):
            while alive:
                alive = self._read()
        self._socket.setblocking(True)
        lines = []
        while (line := self._take_line()) is not None:
            lines.append(line)
        return lines, alive

    def close(self) -> None:
        """Closes this end, which tells the other one to stop."""
        self._socket.close()

    def _read(self) -> bool:
        try:
            chunk = self._socket.recv(1 << 16)
        except ConnectionResetError:
            return False
        self._pending += chunk
        return bool(chunk)

    def _take_line(self) -> Message | None:
        end = self._pending.find(b"\n")
        if end < 0:
            return None
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        message: Message = json.loads(line)
        return message
