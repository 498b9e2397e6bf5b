"""Message channel between parent and worker: JSON objects, one a line, over a private socket.

A kernel's printf and a library's warnings go to the worker's captured stdout and stderr, never into this channel.
Each request carries a random number, and each answer the number of its request. Messages with another number are
dropped. A process that the worker forks has no channel. Each line ends with a CRC-32 of what is before it, so that a
damaged answer is an error and is never taken, nor waited for.

Parent to worker:

    {"do": "run", "task": Task}

Worker to parent:

    {"say": "ready", "device": DeviceInfo}        once, before any task
    {"say": "refused", "message": str}            instead of `ready`: the device cannot be opened; the worker ends
    {"say": "phase", "phase": "launching"}        the case is prepared and its launches begin: its clock starts
    {"say": "phase", "phase": "trying"}           the same for code that is not optimised: its clock is shorter
    {"say": "phase", "phase": "launching the reference of"}    the same for its trusted kernels
    {"say": "phase", "phase": "saving"}           the launches are over: its clock stops
    {"say": "phase", "phase": "computing"}        functions of the user are called, under the same limit
    {"say": "phase", "phase": "preparing"}        they are over
    {"say": "phase", "phase": "checking"}         the case is run once more, under compute-sanitizer
    {"say": "outcome", "outcome": Outcome}
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import zlib
from collections.abc import Mapping
from typing import Any

from gpuregress.foundation import errors
from gpuregress.foundation.errors import (
    CodeLine,
    FaultLocation,
    GpuregressError,
    HarnessError,
    KernelFault,
    UnknownNames,
)
from gpuregress.foundation.records import from_json, to_plain

Message = dict[str, Any]


_ERROR_FACTS: dict[str, Any] = {
    "source_line": CodeLine | None,
    "log": str,
    "missing_headers": tuple[str, ...],
    "needs": str,
    "standard": str,
    "kind": str,
    "details": tuple[str, ...],
    "sticky": bool,
    "location": FaultLocation,
}
"""Attributes of errors that go with them, where an error has them, and their types."""


def encode_error(error: GpuregressError) -> Message:
    """Encode an error as a message; see `decode_error`."""
    return {
        "say": "failed",
        "error": errors.public_name(error),
        "message": str(error),
        "names": error.messages if isinstance(error, UnknownNames) else {},
        "facts": {name: getattr(error, name) for name in _ERROR_FACTS if hasattr(error, name)},
    }


def decode_error(message: Message) -> GpuregressError:
    """Return the error of a message of `encode_error`."""
    if message["names"]:
        return UnknownNames(message["names"])
    kind, text = getattr(errors, message["error"]), message["message"]
    decoded: GpuregressError = KernelFault("", text) if kind is KernelFault else kind(text)
    for name, value in message["facts"].items():
        setattr(decoded, name, from_json(_ERROR_FACTS[name], value))
    return decoded


class Channel:
    """One end of the private socket.

    Args:
        connection: a connected stream socket; the channel closes it.
        serves: this end answers requests; else it makes them.
    """

    def __init__(self, connection: socket.socket, *, serves: bool = False) -> None:
        self._socket = connection
        self._pending = bytearray()
        self._serves = serves
        self._request = ""
        if serves:
            os.register_at_fork(after_in_child=self.close)

    def fileno(self) -> int:
        """The descriptor, for select."""
        return self._socket.fileno()

    def send(self, message: Mapping[str, Any], timeout_s: float | None = None) -> None:
        """Write one line.

        Args:
            message: its keys and values.
            timeout_s: how long the other end may leave a full socket unread; None: for ever.

        Raises:
            OSError: the other end is gone (BrokenPipeError, …), or does not read (TimeoutError).
        """
        if not self._serves:
            self._request = os.urandom(8).hex()
        line = _sealed(json.dumps({**to_plain(message), "request": self._request}, separators=(",", ":")).encode())
        self._socket.settimeout(timeout_s)
        try:
            # The first line end closes half a line that user code may have written to the descriptor.
            self._socket.sendall(b"\n" + line + b"\n")
        finally:
            self._socket.settimeout(None)

    def receive(self) -> Message | None:
        """Wait for one line; None if the other end closed.

        Raises:
            HarnessError: the line was damaged.
        """
        while (line := self._take_line()) is None:
            if not self._read():
                return None
        return line

    def available(self) -> tuple[list[Message], bool]:
        """Return the lines that have arrived, and whether the other end is still open, without waiting.

        Raises:
            HarnessError: a line was damaged.
        """
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
        """Close this end, at which the other one stops."""
        self._socket.close()

    def _read(self) -> bool:
        try:
            chunk = self._socket.recv(1 << 16)
        except ConnectionResetError:
            return False
        self._pending += chunk
        return bool(chunk)

    def _take_line(self) -> Message | None:
        """The next line that belongs to the request at hand."""
        while (end := self._pending.find(b"\n")) >= 0:
            line = bytes(self._pending[:end])
            del self._pending[: end + 1]
            message = _message(line)
            if message is not None and self._is_meant(message):
                return message
            if message is None and self._is_damaged(line):
                raise HarnessError("a message between gpuregress and its worker was damaged; run the case again")
        return None

    def _is_damaged(self, line: bytes) -> bool:
        """Whether a line that is no message was one; noise of the user's code does not know the request's number."""
        if self._serves:
            return b'"request":"' in line
        return bool(self._request) and self._request.encode() in line

    def _is_meant(self, message: Message) -> bool:
        request = message.pop("request", None)
        if self._serves:
            self._request = str(request)
            return True
        return request == self._request or (request == "" and message.get("say") in _UNASKED)


def of_child(descriptor: int) -> Channel:
    """The channel of a child process; what the child starts does not inherit it.

    Args:
        descriptor: of the socket, as the child's command line has it.
    """
    os.set_inheritable(descriptor, False)
    return Channel(socket.socket(fileno=descriptor), serves=True)


_UNASKED = ("ready", "refused")
"""Messages of a worker before its first request."""


_SEAL = re.compile(rb',"check":"([0-9a-f]{8})"\}$')


def _sealed(line: bytes) -> bytes:
    return line[:-1] + b',"check":"%08x"}' % zlib.crc32(line)


def _message(line: bytes) -> Message | None:
    """Decode a line; None for other text, which a user function may write into any descriptor, and a damaged line."""
    seal = _SEAL.search(line)
    body = line
    if seal is not None:
        body = line[: seal.start()] + b"}"
        if zlib.crc32(body) != int(seal[1], 16):
            return None
    try:
        message = json.loads(body)
    except ValueError:
        return None
    if not isinstance(message, dict) or (seal is None and message.get("request")):
        return None
    return message
