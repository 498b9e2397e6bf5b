r"""Launch log: one event a line, on disk before the launch that it describes.

    # gpuregress log 1
    # device: cpu, virtual sm_90 on x86_64
    begin 17 2026-11-20T02:00:00.123Z cuda:0 reduce/n=1000,tile=128 block_sum<float><<<(8,1,1),(128,1,1),512>>>\
    (sum=<32>, x=<4000>, n=1000) constant=<1024> seed=42
    end 17 0.012 ms
    fault 18 out-of-bounds: …
    retry 19 …

(`begin` is one line; here it is folded.) Each event is one write in append mode, so several processes can share a log.
A `begin` is flushed to disk before its launch, a `fault` when it happens; an `end` goes there with the next of them,
and no crash of a process takes it. After any crash the last `begin` without an `end` names the launch to blame (after a
power cut, that may be one which had just come back). Backslashes and control characters of texts are escaped as in
Python, and so are spaces in a device's or case's name.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpuregress.foundation.errors import StorageError
from gpuregress.foundation.storage import disk_errors, read_bytes, sync_folder
from gpuregress.gpu.records import Record

if TYPE_CHECKING:  # A server of `exec` and a worker write logs, and do not need the records of cases, 50 ms with numpy.
    from gpuregress.foundation.records import Argument, Buffer, Case, Launch

VERSION = 1

_BEGIN = re.compile(
    r"begin ([0-9]{1,18}) (\S+) (\S+) (\S+) (.*?)(?: constant=<([0-9]{1,18})>)? seed=(-?[0-9]{1,40})(?: variant=(\S+))?"
    r"(?: schedule=(\S+))?"
)
_END = re.compile(r"end ([0-9]{1,18}) ([0-9]{1,18}(?:\.[0-9]{1,9})?|inf|nan) ms")
_STOP = re.compile(r"(fault|retry) ([0-9]{1,18}) (.*)")
_HEADER = re.compile(r"# ([^:]*): (.*)")
_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")


class LaunchBegin(Record):
    """The beginning of a launch.

    Attributes:
        number: of the launch, unique in this log.
        time: ISO 8601, UTC, milliseconds.
        device: `cpu` or `cuda:0`.
        case: its name.
        call: the result of `render`.
        seed: the job's.
        constant: bytes of the `__constant__` variables of the kernel's module.
        variant: the case's variant that it runs; empty: its own build.
        schedule: of `--schedule` or `--schedules`; empty: the usual one.
    """

    number: int
    time: str
    device: str
    case: str
    call: str
    seed: int
    constant: int = 0
    variant: str = ""
    schedule: str = ""

    @property
    def text(self) -> str:
        """The call, its constant memory, its seed, its variant and its schedule, as the log has them."""
        text = self.call
        if self.constant:
            text += f" constant=<{self.constant}>"
        text += f" seed={self.seed}"
        if self.variant:
            text += f" variant={self.variant}"
        if self.schedule:
            text += f" schedule={self.schedule}"
        return text


class LaunchEnd(Record):
    """The end of a launch, and its time on the device."""

    number: int
    elapsed_ms: float


class LaunchFault(Record):
    """The failure of a launch."""

    number: int
    text: str


class LaunchRetry(Record):
    """A launch that was stopped because its case runs again, with the reason."""

    number: int
    text: str


Event = LaunchBegin | LaunchEnd | LaunchFault | LaunchRetry


class Log(Record):
    """The content of a launch log.

    Attributes:
        header: fact → text: device, driver, compiler, host, gpuregress, seeds.
        events: in the order in which they were written.
        unreadable: the numbers of lines that hold no event, as a power cut can leave them; an incomplete last line
            is one of them.
    """

    header: Mapping[str, str]
    events: tuple[Event, ...]
    unreadable: tuple[int, ...] = ()

    @property
    def unfinished(self) -> tuple[LaunchBegin, ...]:
        """The launches that began and neither ended nor failed nor were stopped: those to blame for a crash."""
        open_launches: dict[int, LaunchBegin] = {}
        for event in self.events:
            if isinstance(event, LaunchBegin):
                open_launches.pop(event.number, None)
                open_launches[event.number] = event
            else:
                open_launches.pop(event.number, None)
        return tuple(open_launches.values())


class LaunchLog:
    """Writer of a launch log; every method except `end` returns when its line is on disk.

    Args:
        path: the log, made if it is not there, with the folders above it.
        durable: whether lines outlive a crash of the machine; else they outlive the end of any process.

    Raises:
        StorageError: (also from every method) no space, no permission.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self._path, self._durable = path, durable
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not path.exists()
            self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if is_new:
                sync_folder(path.parent)
            self._torn = _is_torn(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def write_header(self, facts: Mapping[str, str]) -> None:
        """Write the log's header: the facts about the run.

        Args:
            facts: `device`, `driver`, `compiler`, `host`, `gpuregress`, and every seed, each with its text.
        """
        lines = [f"# gpuregress log {VERSION}"]
        lines += [f"# {_escape(fact, ':')}: {_escape(text)}" for fact, text in facts.items()]
        self._append("\n".join(lines))

    def begin(
        self,
        number: int,
        device: str,
        case: str,
        call: str,
        seed: int,
        constant: int = 0,
        variant: str = "",
        schedule: str = "",
    ) -> None:
        """Write that a launch comes next.

        Args:
            number: of the launch, unique in this log.
            device: where.
            case: its name.
            call: the result of `render`.
            seed: the job's.
            constant: bytes of constant memory; left out where there are none.
            variant: of the case; left out where it is the case's own build.
            schedule: left out where it is the usual one.
        """
        time = f"{datetime.now(UTC).isoformat(timespec='milliseconds').removesuffix('+00:00')}Z"
        begin = LaunchBegin(
            number=number,
            time=time,
            device=_escape(device, " "),
            case=_escape(case, " "),
            call=_escape(call),
            seed=seed,
            constant=constant,
            variant=variant and _escape(variant, " "),
            schedule=schedule,
        )
        self._append(f"begin {number} {time} {begin.device} {begin.case} {begin.text}")

    def end(self, number: int, elapsed_ms: float) -> None:
        """Write that a launch ended, and its time on the device."""
        self._append(f"end {number} {elapsed_ms:.3f} ms", durable=False)

    def fault(self, number: int, text: str) -> None:
        """Write that a launch failed."""
        self._append(f"fault {number} {_escape(text)}")

    def retry(self, number: int, text: str) -> None:
        """Write that a launch was stopped, since its case runs again."""
        self._append(f"retry {number} {_escape(text)}")

    def collect(self, text: str) -> None:
        """Append the lines of a log that another host wrote.

        They are not flushed: they tell of launches that are over, and the host had flushed each before its launch.

        Args:
            text: whole lines; the last one may be cut short.
        """
        self._append(text.removesuffix("\n"), durable=False)

    def lose(self, case: str, host: str) -> None:
        """Write that the log of a case was lost with its host.

        Args:
            case: its name.
            host: for people.
        """
        self._append(f"# {_escape(f'lost log of {case}', ':')}: {_escape(f'{host} was lost, and its log with it')}")

    def _append(self, line: str, *, durable: bool = True) -> None:
        data = f"{line}\n".encode()
        if self._torn:
            data = b"\n" + data
        with disk_errors(self._path):
            written = os.write(self._descriptor, data)
            self._torn = written < len(data)
            if durable and self._durable:
                os.fdatasync(self._descriptor)
        if self._torn:
            raise StorageError(f"cannot write {self._path}: no space is left on the disk; free some and run again")


def read(path: Path) -> Log:
    """Read a launch log, also one that a crash cut off.

    Raises:
        StorageError: it cannot be read.
    """
    header: dict[str, str] = {}
    events: list[Event] = []
    unreadable: list[int] = []
    lines = read_bytes(path).decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines, 1):
        if number == len(lines):  # torn, or the end after the last line
            if line:
                unreadable.append(number)
            break
        event, fact = _parse(line), _HEADER.fullmatch(line)
        if event is not None:
            events.append(event)
        elif fact is not None:
            header[_unescape(fact[1])] = _unescape(fact[2])
        elif line and not line.startswith("# gpuregress log "):
            unreadable.append(number)
    return Log(header, tuple(events), tuple(unreadable))


def render(launch: Launch, buffers: Mapping[str, Buffer], source: str = "") -> str:
    """Render a launch as one line: `block_sum<float><<<(8,1,1),(128,1,1),512>>>(sum=<32>, x=<4000>, n=1000)`.

    Where the case has several sources, ` in two.cu` follows.

    Args:
        launch: its kernel, geometry and arguments.
        buffers: the case's, whose sizes in bytes stand for them.
        source: the name of the kernel's source, "" where the case has only one.
    """
    args = ", ".join(_argument(argument, buffers) for argument in launch.args)
    call = f"{launch.kernel}<<<{_dim3(launch.grid)},{_dim3(launch.block)},{launch.shared}>>>({args})"
    if source:
        call += f" in {source}"
    return call


def call_of(case: Case, launch: Launch) -> str:
    """Render a launch of a case as one line, with its source where the case has several."""
    return render(launch, case.buffers, case.source_names[launch.source] if case.other_sources else "")


def calls_of(case: Case) -> tuple[str, ...]:
    """Render the launches of a case, repeats of one line once."""
    return tuple(dict.fromkeys(call_of(case, launch) for launch in dict.fromkeys(case.launches)))


def _argument(argument: Argument, buffers: Mapping[str, Buffer]) -> str:
    if argument.kind == "buffer":
        name = argument.buffer
        if argument.offset:
            name += f"+{argument.offset}"
        return f"{name}=<{buffers[argument.buffer].size}>"
    text = argument.text
    if argument.kind == "struct":
        members = [_argument(field, buffers) for field in argument.fields if not _is_padding(field)]
        text = "{" + ", ".join(members) + "}"
    elif argument.kind == "null":
        text = "null"
    if argument.label:
        return f"{argument.label}={text}"
    return text


def _is_padding(argument: Argument) -> bool:
    """Tell whether an argument is zeros between the members of a structure that are given by name."""
    return argument.kind == "scalar" and not argument.text


def _dim3(size: tuple[int, int, int]) -> str:
    return f"({size[0]},{size[1]},{size[2]})"


def _parse(line: str) -> Event | None:
    if match := _BEGIN.fullmatch(line):
        number, time, device, case, call, constant, seed, variant, schedule = match.groups("")
        return LaunchBegin(
            number=int(number),
            time=time,
            device=_unescape(device),
            case=_unescape(case),
            call=_unescape(call),
            seed=int(seed),
            constant=int(constant or 0),
            variant=_unescape(variant),
            schedule=schedule,
        )
    if match := _END.fullmatch(line):
        return LaunchEnd(int(match[1]), float(match[2]))
    if match := _STOP.fullmatch(line):
        kind = LaunchFault if match[1] == "fault" else LaunchRetry
        return kind(int(match[2]), _unescape(match[3]))
    return None


def _escape(text: str, also: str = "") -> str:
    if not text and also == " ":  # a word that would not be there
        return "\\e"
    if text.isprintable() and "\\" not in text and (not also or also not in text):
        return text
    return "".join(_escaped(letter, also) for letter in text)


def _escaped(letter: str, also: str) -> str:
    if letter == "\\":
        return "\\\\"
    if letter.isprintable() and letter not in also:  # no control character, line break or lone surrogate is printable
        return letter
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"


def _unescape(text: str) -> str:
    def letter(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code:
            number = int(code, 16)
            return chr(number) if number <= sys.maxunicode else match[0]
        return {"e": "", "\\": "\\"}.get(match[4], match[0])

    return _ESCAPED.sub(letter, text)


def _is_torn(descriptor: int) -> bool:
    """Whether the last line is incomplete, as a crash leaves it."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
