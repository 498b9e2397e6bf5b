"""Reader of the records of captured launches.

The injection library writes them on a GPU, and `gpuregress.programs.launch_capture` on the virtual GPU.

A process writes `PID.jsonl`, one event a line, and files beside it: `PID.log` (the raw launch log), `PID.N.R.before`
and `PID.N.R.after` (region R of launch N), `PID.imageI.cubin` and `PID.imageI.given` (its modules), `PID.maps` (the
files that it had mapped). A process may die at any moment, so a last line that is cut short is left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from gpuregress.foundation.errors import HarnessError
from gpuregress.foundation.records import Dim3
from gpuregress.foundation.storage import read_bytes
from gpuregress.gpu.records import Record


class RawParameter(Record):
    """A parameter of a launch: its offset in the parameter space, and its bytes."""

    offset: int
    data: bytes


class Pointer(Record):
    """An address in the parameters that lies in an allocation.

    Attributes:
        at: byte of the parameter space.
        address: on the device.
        region: number of the region that it points to.
    """

    at: int
    address: int
    region: int


class CapturedRegion(Record):
    """A stretch of memory, with its contents around the launch.

    Attributes:
        base: address of the allocation or variable.
        size: bytes of it.
        start: address of the part that was kept.
        length: bytes of that part.
        memory: `device`, `managed` or `host`.
        symbol: mangled name of a variable; "" for an allocation.
        before: file of the contents before the launch; None where they could not be read.
        after: file of the contents after it; None where it did not end well.
        holds: an address of device memory that was found in the contents, 0 where none was.
        is_initial: of a variable, whether the contents before the launch are those that its module gives it; None: not
            known.
    """

    base: int
    size: int
    start: int
    length: int
    memory: str
    symbol: str
    before: Path | None
    after: Path | None
    holds: int = 0
    is_initial: bool | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all of it was kept."""
        return self.length == self.size


class CapturedLaunch(Record):
    """A chosen launch.

    Attributes:
        process: its number, the name of the process's files.
        number: of the launch in its process's log.
        kernel: mangled name.
        occurrence: the how manieth launch of this kernel, from 1.
        grid: blocks.
        block: threads of a block.
        cluster: blocks of a cluster, (1, 1, 1) where the launch asked for none.
        shared: dynamic shared memory, bytes.
        parameters: in order.
        pointers: in order of their place.
        regions: by number.
        cubin: file of the module's machine code, or None.
        given: file of what the program gave the driver (PTX, fatbin, cubin), or None.
        error: name of the error with which the launch ended; "" where it ended well.
        finished: whether the process lived to see its end.
        given_up: whether it was not waited for any longer.
    """

    process: int
    number: int
    kernel: str
    occurrence: int
    grid: Dim3
    block: Dim3
    cluster: Dim3
    shared: int
    parameters: tuple[RawParameter, ...]
    pointers: tuple[Pointer, ...]
    regions: tuple[CapturedRegion, ...]
    cubin: Path | None
    given: Path | None
    error: str
    finished: bool
    given_up: bool = False


class CapturedProcess(Record):
    """A process of the application that used the GPU.

    Attributes:
        number: its process id.
        command: its command line.
        device: name of its first GPU.
        architecture: `sm_90`.
        driver: CUDA version of the driver, as `13.0`.
        launches: the chosen ones, in order.
        refused: mangled kernel → why its launches cannot be captured.
        problems: what the library could not do, in words.
        mapped: the files that it had mapped.
        is_virtual: whether the GPU was the virtual one, so that results are no evidence.
    """

    number: int
    command: tuple[str, ...]
    device: str
    architecture: str
    driver: str
    launches: tuple[CapturedLaunch, ...]
    refused: Mapping[str, str]
    problems: tuple[str, ...]
    mapped: tuple[Path, ...]
    is_virtual: bool = False


def read_folder(folder: Path) -> tuple[CapturedProcess, ...]:
    """Read the records of all processes.

    Args:
        folder: that the library wrote to.

    Raises:
        HarnessError: a record is not what the library writes.
        StorageError: a file cannot be read.
    """
    numbers = sorted(int(path.stem) for path in folder.glob("*.jsonl") if path.stem.isdecimal())
    return tuple(_read_process(folder, number) for number in numbers)


def _read_process(folder: Path, number: int) -> CapturedProcess:
    path = folder / f"{number}.jsonl"
    events = _events(path)
    try:
        return _process(folder, number, events)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise HarnessError(f"{path} is not a record of a capture ({type(error).__name__}: {error})") from error


def _events(path: Path) -> list[dict[str, Any]]:
    events = []
    lines = read_bytes(path).split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line) if line.strip() else None
        except ValueError as error:
            if number == len(lines):  # cut short: the process died while it wrote
                break
            raise HarnessError(f"{path}:{number} is not a record of a capture ({error})") from error
        if isinstance(event, dict):
            events.append(event)
        elif event is not None:
            raise HarnessError(f"{path}:{number} is not a record of a capture: {line[:60]!r}")
    return events


def _process(folder: Path, number: int, events: list[dict[str, Any]]) -> CapturedProcess:
    of_kind: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        of_kind.setdefault(str(event["event"]), []).append(event)
    about = of_kind.get("process", [{}])[0]
    ends = {int(event["number"]): str(event["result"]) for event in of_kind.get("after", ())}
    given_up = {int(event["number"]) for event in of_kind.get("given up", ())}
    version = int(about.get("version", 0))
    maps = folder / f"{number}.maps"
    refused = of_kind.get("refused", ())
    not_run = {int(event["number"]) for event in refused if "number" in event}
    return CapturedProcess(
        number=number,
        command=tuple(_bytes_text(str(word)) for word in about.get("command", ())),
        device=str(about.get("device", "")),
        architecture=str(about.get("architecture", "")),
        driver=f"{version // 1000}.{version % 1000 // 10}" if version else "",
        launches=tuple(
            _launch(folder, number, event, ends, given_up)
            for event in of_kind.get("before", ())
            if int(event["number"]) not in not_run
        ),
        refused={str(event["kernel"]): str(event["reason"]) for event in refused},
        problems=tuple(str(event["problem"]) for event in of_kind.get("problem", ())),
        mapped=_mapped(maps) if maps.exists() else (),
        is_virtual=bool(about.get("virtual", False)),
    )


def _launch(
    folder: Path, process: int, event: dict[str, Any], ends: Mapping[int, str], given_up: Collection[int]
) -> CapturedLaunch:
    number = int(event["number"])
    image = f"{process}.image{int(event['image'])}"
    is_good = ends.get(number) == ""
    regions = tuple(
        _region(folder, f"{process}.{number}.{at}", item, is_good=is_good) for at, item in enumerate(event["regions"])
    )
    pointers = tuple(Pointer(int(item["at"]), int(item["address"]), int(item["region"])) for item in event["pointers"])
    if any(not 0 <= pointer.region < len(regions) for pointer in pointers):
        raise ValueError(f"launch {number} has a pointer without a region")
    return CapturedLaunch(
        process=process,
        number=number,
        kernel=str(event["kernel"]),
        occurrence=int(event["occurrence"]),
        grid=_dim3(event["grid"]),
        block=_dim3(event["block"]),
        cluster=_dim3(event["cluster"]),
        shared=int(event["shared"]),
        parameters=tuple(
            RawParameter(int(item["offset"]), bytes.fromhex(item["data"])) for item in event["parameters"]
        ),
        pointers=pointers,
        regions=regions,
        cubin=_existing(folder / f"{image}.cubin"),
        given=_existing(folder / f"{image}.given"),
        error=ends.get(number, ""),
        finished=number in ends,
        given_up=number in given_up,
    )


def _region(folder: Path, stem: str, item: dict[str, Any], *, is_good: bool) -> CapturedRegion:
    is_kept = bool(item["kept"])
    return CapturedRegion(
        base=int(item["base"]),
        size=int(item["size"]),
        start=int(item["start"]),
        length=int(item["length"]),
        memory=str(item["memory"]),
        symbol=str(item["symbol"] or ""),
        before=_existing(folder / f"{stem}.before") if is_kept else None,
        after=_existing(folder / f"{stem}.after") if is_kept and is_good else None,
        holds=int(item.get("holds", 0)),
        is_initial=item.get("initial"),
    )


def _bytes_text(text: str) -> str:
    """Text whose letters stand for the bytes of UTF-8."""
    return text.encode("latin-1", "replace").decode("utf-8", "replace")


def _dim3(values: list[int]) -> Dim3:
    x, y, z = (int(value) for value in values)
    return x, y, z


def _existing(path: Path) -> Path | None:
    return path if path.exists() else None


def _mapped(path: Path) -> tuple[Path, ...]:
    names = read_bytes(path).decode("utf-8", "surrogateescape").splitlines()
    return tuple(Path(name) for name in dict.fromkeys(names) if name.startswith("/"))
