"""Contents of a program's buffers, which its server writes to files for the job that runs the program.

A buffer is called by the order of its allocation, `alloc1`, or by the variable that it is. Those of a second process
that uses the GPU have `p2_` before their names. Processes are counted in the order in which they were started: which of
two that run side by side is the first to use the GPU is chance. The launch log and messages are written before all
processes are known, and count them as they come.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import field

from gpuregress.foundation.records import MOST_PROCESSES, in_set, pattern_of
from gpuregress.foundation.wording import free_name
from gpuregress.gpu.demangle import demangle
from gpuregress.gpu.records import MutableRecord, Record, replace
from gpuregress.programs.environment import ProgramCase
from gpuregress.programs.process_log import ProcessLog
from gpuregress.programs.records import PROCESS_FILES, BufferContents, ProcessReport, read_lines
from gpuregress.virtual_gpu.runtime.memory import Region

POISON = 0x7FFD
"""The 16-bit word that fills memory which the program allocates, as outputs of other jobs."""
MOST_POISONED = 1 << 30
"""Bytes of an allocation up to which it is poisoned: a larger one is perhaps a pool of which little is used."""
MOST_FILES = 10_000
"""Contents of buffers that one process may leave."""
_OF_PROGRAM = (1, 2)
"""Kinds of allocations that are buffers: device and managed memory. Pinned and registered memory is the host's."""
_MADE_BY_COMPILERS = ("$", "NumbaEnv")
"""What the names of variables have in them that no source declares."""
_NAME = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII)
_OF_OTHERS = re.compile(r"alloc\d+|(?:sync|p)\d+_\w+")
"""Names that other buffers have: memory, and what is in a set or of a further process."""


class LiveBuffer(Record):
    """A buffer that exists.

    Attributes:
        name: in its process.
        position: among all buffers of the process.
        region: its memory.
        is_poisoned: whether it held the poison before the program wrote to it.
    """

    name: str
    position: int
    region: Region
    is_poisoned: bool


class BufferDumps(MutableRecord):
    """Writer of a process's buffers.

    Args:
        case: of the job that runs the program; None: nothing is written.
        folder: for the files.
        log: of the process, which lists what is written.
    """

    case: ProgramCase | None
    folder: Path
    log: ProcessLog
    _live: dict[int, LiveBuffer] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _positions: int = 0
    _allocations: int = 0
    _sets: int = 0
    _files: int = 0

    def name_of_next(self, kind: int) -> str:
        """Return the name of the buffer that comes next; "" where memory of this kind is none, or none is wanted."""
        if self.case is None or kind not in _OF_PROGRAM:
            return ""
        return of_process(f"alloc{self._allocations + 1}", self.log.process)

    def allocated(self, region: Region, kind: int) -> None:
        """Poison memory that the program has allocated, and take it for a buffer."""
        if not self.name_of_next(kind):
            return
        self._allocations += 1
        is_poisoned = region.size <= MOST_POISONED
        if is_poisoned:
            even = region.size & ~1
            region.data[:even].view(np.uint16)[:] = POISON
            region.data[even:] = POISON & 0xFF
        self._add(f"alloc{self._allocations}", region, is_poisoned=is_poisoned)

    def loaded(self, variables: Mapping[str, Region]) -> None:
        """Take the variables of a module for buffers."""
        if self.case is None:
            return
        for symbol, region in variables.items():
            name = (demangle(symbol) or symbol).rpartition("::")[2]
            is_made = any(mark in symbol for mark in _MADE_BY_COMPILERS)
            if is_made or not _NAME.fullmatch(name) or not region.size:
                continue
            self._add(self._free_name(name), region, is_poisoned=False)

    def _free_name(self, variable: str) -> str:
        """Return a name that no other buffer has or will have: `x`, or `x_2` of a second variable `x`."""
        stem = f"variable_{variable}" if _OF_OTHERS.fullmatch(variable) else variable
        name = free_name(stem, self._names)
        self._names.add(name)
        return name

    def freed(self, region: Region) -> None:
        """Write a buffer that is about to be freed."""
        buffer = self._live.pop(region.address, None)
        if buffer is not None and self.case is not None and self.case.dumps == "exit":
            self._write(buffer, 0)

    def synchronized(self) -> None:
        """Write all buffers, for the program waits for the device."""
        if self.case is None or self.case.dumps != "synchronize":
            return
        self._sets += 1
        for buffer in self._live.values():
            self._write(buffer, self._sets)

    def ended(self) -> None:
        """Write the buffers that exist when the program ends."""
        for address in tuple(self._live):
            self.freed(self._live[address].region)

    def _add(self, name: str, region: Region, *, is_poisoned: bool) -> None:
        assert self.case is not None
        self._positions += 1
        pattern = pattern_of(of_process(name, self.log.process), self.case.sizes)
        if pattern is not None:
            region.itemsize = self.case.sizes[pattern]
        if self._may_be_wanted(name):
            self._live[region.address] = LiveBuffer(name, self._positions, region, is_poisoned)

    def _may_be_wanted(self, name: str) -> bool:
        """Whether a buffer is dumped if this is the process that a pattern means."""
        assert self.case is not None
        if pattern_of(name, self.case.dump) is not None:
            return True
        of_others = [pattern for pattern in self.case.dump if pattern.startswith(("p", "*", "?", "["))]
        numbers = range(2, MOST_PROCESSES + 1) if of_others else ()
        return any(pattern_of(of_process(name, number), of_others) is not None for number in numbers)

    def _write(self, buffer: LiveBuffer, number: int) -> None:
        self._files += 1
        if self._files > MOST_FILES:
            what = f"more than {MOST_FILES:,} contents of buffers: name those that are wanted, as dump: [alloc1]"
            self.log.lose("buffers", what)
            return
        path = self.folder / f"buffer-{self.log.process}-{self._files}"
        try:
            buffer.region.data.tofile(path)
        except OSError as error:
            self.log.lose("buffers", f"{buffer.name} cannot be written to {path}: {error.strerror or error}")
            return
        self.log.list_contents(
            BufferContents(
                buffer=buffer.name,
                contents=path.name,
                set=number,
                process=self.log.process,
                position=buffer.position,
                is_poisoned=buffer.is_poisoned,
            )
        )


def of_process(name: str, number: int) -> str:
    """Name a buffer of a process by the number of the process."""
    return name if number == 1 else f"p{number}_{name}"


def read(folder: Path, wanted: Sequence[str]) -> tuple[BufferContents, ...]:
    """Read what all processes of a program have written, in the order of sets, processes and allocations.

    Args:
        folder: of the run.
        wanted: names and patterns of the buffers that are dumped.

    Returns:
        the contents, with the names by which the job calls the buffers.

    Raises:
        StorageError: a list cannot be read.
    """
    listed, places = [], []
    for path in folder.glob(PROCESS_FILES):
        place, contents_of_process = _read_process(path)
        listed += contents_of_process
        places.append(place)
    numbers = {place[2]: number for number, place in enumerate(sorted(places), 1)}
    contents = []
    for one in sorted(listed, key=lambda one: (one.set, numbers[one.process], one.position)):
        name = of_process(one.buffer, numbers[one.process])
        if one.set:
            name = in_set(name, one.set)
        if pattern_of(name, wanted) is not None:
            contents.append(replace(one, buffer=name))
    return tuple(contents)


def _read_process(path: Path) -> tuple[tuple[int, int, int], list[BufferContents]]:
    """The place of a process among all (its start, its id, its number as it came), and what it has written."""
    number = int(path.stem.rpartition("-")[2])
    place, contents = (0, 0, number), []
    for record in read_lines(path):
        if isinstance(record, BufferContents):
            contents.append(record)
        elif isinstance(record, ProcessReport):
            place = record.started, record.process, number
    return place, contents
